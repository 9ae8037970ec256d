from __future__ import annotations

from typing import Any

import pytest

from generator.config.estimate import Estimate, estimated
from generator.errors import InputError, UnknownNameError
from generator.facts import Fact, Facts, Source
from generator.memory.plan import Plan, make_plan
from generator.memory.settings import parse_flags
from tests.config.heads import DAY, HEADS, QUANTS, config_of, facts_of_config, header

BASE = Source("https://huggingface.co/example/base")


def estimate(name: str, quant: str, *, size: object = None, unit: str = "B", **changed: Any) -> Estimate:
    config = facts_of_config({**config_of(header(name)), **changed})
    sizes = [] if size is None else [Fact(f"file.{quant.lower()}.size", size, unit, source=Source("https://example.org/files"))]
    return estimated(header(name).architecture, Facts([*config, *sizes]), quant, BASE, where="model.yml")


def of_file(name: str) -> Estimate:
    return estimate(name, QUANTS[name], size=sum(int(tensor.size) for tensor in header(name).tensors))


def planned(model: Any, flags: str) -> Plan:
    return make_plan(model, parse_flags(flags, "llama-server"), gpus=1, build="b10666")


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("flags", ["-ngl 99 -c 16384 -np 2", "-ngl 9 -c 4096 -fa on"])
def test_cache_and_state_are_those_of_the_models_own_header(name: str, flags: str) -> None:
    real, guess = planned(header(name), flags), planned(of_file(name).model, flags)
    for here, there in zip((real.host, *real.gpus), (guess.host, *guess.gpus), strict=True):
        assert (here.kv, here.recurrent) == (there.kv, there.recurrent)


@pytest.mark.parametrize("name", HEADS)
def test_working_buffers_are_near_those_of_the_models_own_header(name: str) -> None:
    flags = "-ngl 99 -c 16384 -np 1 -fa on"
    real, guess = planned(header(name), flags), planned(of_file(name).model, flags)
    assert guess.unknown_graph is None
    assert abs(int(guess.gpus[0].compute) - int(real.gpus[0].compute)) <= int(real.gpus[0].compute) // 100


def test_a_model_says_that_it_is_no_header() -> None:
    found = of_file("qwen3moe-30b-a3b")
    for fact in (found.model.metadata_fact, found.model.tensors_fact):
        assert isinstance(fact, Fact)
        assert (fact.origin, fact.source, fact.checked) == ("reconstructed", BASE, DAY)
    assert getattr(found.model.tensors_fact, "note", "") == "bytes of the file shared out over the parameters of the published shape"
    assert "qwen3moe.tied_embeddings" not in found.model.metadata
    assert int(found.parameters.total) == 30532122624  # tests/data: 579 tensors of this many elements
    assert found.size.value == sum(int(tensor.size) for tensor in found.model.tensors)


def test_a_printed_size_is_taken_to_the_next_byte() -> None:
    found = estimate("qwen35moe-iq4xs", "Q4_K_M", size=19.02, unit="GiB")
    assert sum(int(tensor.size) for tensor in found.model.tensors) == 20422569493  # 19.02 x 2^30 is 20422569492.48


def test_a_converted_file_is_as_large_as_what_the_converter_writes() -> None:
    facts = Facts(facts_of_config(config_of(header("qwen35-4b-tied"))))
    found = estimated("qwen35", facts, "Q8_0", BASE, where="model.yml", is_converted=True)
    assert found.size.value == 4471435264  # bytes of tensors in the header of that very file
    assert (found.size.key, found.size.origin, found.size.source) == ("file.q8_0.size", "reconstructed", BASE)


@pytest.mark.parametrize("quant", ["Q4_K_M", "Q8_0"])
def test_a_size_that_is_not_known_is_asked_for(quant: str) -> None:
    with pytest.raises(InputError, match=f"the size of the {quant} file is not known") as caught:
        estimate("qwen3-8b", quant)
    assert (caught.value.where, f"`size` under quants.{quant}" in caught.value.remedy) == ("model.yml", True)


def test_a_size_that_is_too_small_names_the_file() -> None:
    with pytest.raises(InputError, match=r"5,000 bytes are no size of a Q4_K_M file") as caught:
        estimate("qwen3-8b", "Q4_K_M", size=5000)
    assert caught.value.where == "model.yml"


def test_a_value_that_is_not_published_is_missing() -> None:
    facts = [Fact("config.vocab_size", None, status="not_published") if each.key == "config.vocab_size" else each for each in SHAPE]
    with pytest.raises(InputError, match=r"config\.vocab_size is not known"):
        estimated("qwen3", Facts([*facts, SIZE]), "Q4_K_M", BASE, where="model.yml")


def test_an_architecture_without_rules_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no architecture whose shapes are known"):
        estimated("rwkv7", Facts([*SHAPE, SIZE]), "Q4_K_M", BASE, where="model.yml")


SHAPE = facts_of_config(config_of(header("qwen3-8b")))
SIZE = Fact("file.q4_k_m.size", 5027783488, "B")
