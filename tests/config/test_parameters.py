from __future__ import annotations

from math import prod

import pytest

from generator.config.parameters import WORDS, parameters_of
from generator.quantity import PARAMETER, Operation, Quantity
from tests.config.heads import HEADS, config_of, facts_of_config, header

QWEN36 = config_of(header("qwen35moe-iq4xs"))
"""The shape of Qwen3.6-35B-A3B: 40 blocks of width 2048, 256 experts of 512 of which 8 are used, 248320 words."""


def billions(count: Quantity) -> float:
    assert count.unit == PARAMETER
    return float(count.number) / 1e9


def test_counts_are_those_that_a_published_guide_derives() -> None:
    # its total, 34.69 G, is the size of a 16-bit file by two, header and 32-bit parts included: the total is not compared
    found = parameters_of("qwen35moe", facts_of_config(QWEN36))
    assert round(billions(found.routed_experts), 2) == 32.21
    assert round(billions(found.active_experts), 3) == 1.007
    assert round(billions(found.embeddings), 2) == 1.02
    assert round(billions(found.shared_expert), 2) == 0.13
    assert round(billions(found.router), 2) == 0.02


def test_counts_by_hand() -> None:
    found = parameters_of("qwen35moe", facts_of_config(QWEN36))
    assert int(found.routed_experts) == 40 * 256 * 3 * 2048 * 512
    assert int(found.active_experts) == 40 * 8 * 3 * 2048 * 512
    assert int(found.shared_expert) == 40 * (3 * 2048 * 512 + 2048)
    assert int(found.router) == 40 * 2048 * 256
    assert int(found.embeddings) == 2 * 248320 * 2048
    assert int(found.feed_forward) == 0
    assert int(found.draft_head) == 0


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("qwen35moe-iq4xs", 34.66),  # https://github.com/ggml-org/llama.cpp/pull/21304
        ("qwen35moe-mtp", 35.51),  # https://github.com/ggml-org/llama.cpp/issues/27171
        ("gpt-oss-20b", 20.91),  # https://github.com/ikawrakow/ik_llama.cpp/issues/822
        ("nemotron-h-moe-30b", 31.58),  # https://github.com/ggml-org/llama.cpp/issues/20570
    ],
)
def test_the_total_is_what_the_engine_prints_of_the_model(name: str, printed: float) -> None:
    model = header(name)
    assert round(billions(parameters_of(model.architecture, facts_of_config(config_of(model))).total), 2) == printed


@pytest.mark.parametrize("name", HEADS)
def test_the_total_is_that_of_the_models_own_header_and_the_sum_of_the_kinds(name: str) -> None:
    model = header(name)
    found = parameters_of(model.architecture, facts_of_config(config_of(model)))
    elements = sum(prod(tensor.shape) for tensor in model.tensors if tensor.name != "rope_freqs.weight" or name != "llama31-8b")
    assert int(found.total) == elements == sum(int(getattr(found, kind)) for kind in WORDS)
    assert int(found.routed_experts) + int(found.draft_head) >= sum(prod(each.shape) for each in model.experts())


def test_a_draft_head_is_counted_apart() -> None:
    without, with_head = (
        parameters_of("qwen35moe", facts_of_config(config_of(header(name)))) for name in ("qwen35moe-iq4xs", "qwen35moe-mtp")
    )
    assert int(with_head.routed_experts) == int(without.routed_experts)
    assert int(with_head.total) - int(without.total) == int(with_head.draft_head)


def test_a_dense_model_has_no_experts_to_choose_from() -> None:
    found = parameters_of("qwen3", facts_of_config(config_of(header("qwen3-8b"))))
    assert int(found.feed_forward) == 36 * 3 * 4096 * 12288
    assert int(found.routed_experts) == int(found.active_experts) == int(found.shared_expert) == int(found.router) == 0


def test_a_count_knows_the_values_that_it_follows_from_and_follows_again() -> None:
    facts = facts_of_config(QWEN36)
    found = parameters_of("qwen35moe", facts)
    keys = {each.key for each in found.routed_experts.inputs()}
    assert {"config.block_count", "config.expert_count", "config.expert_feed_forward_length"} <= keys
    for count in (found.total, found.active_experts, found.attention_and_norms):
        assert count.recomputed() == count.value
    derivation = found.routed_experts.derivation
    assert isinstance(derivation, Operation)
    doubled = [2 * each.number if each.key == "config.expert_count" else each.value for each in derivation.operands]
    assert derivation.evaluate(doubled) == 2 * int(found.routed_experts)
    assert [found.total.key, found.active_experts.key, found.router.key] == ["params.total", "params.active_experts", "params.router"]
