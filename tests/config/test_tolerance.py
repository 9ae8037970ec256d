"""The declared tolerance against tables that are known: how far the bytes of each part are from what is estimated of it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import pytest

from generator.config.geometry import Geometry
from generator.config.shapes import shapes_of
from generator.config.sharing import shared_out
from generator.config.tolerance import tolerance_of
from generator.memory.model import Model, Tensor
from tests.config.heads import HEADS, QUANTS, config_of, header

Sizes = dict[str, int]


def estimate(model: Model, quant: str, size: int) -> Sizes:
    return {each.name: each.size for each in shared_out(shapes_of(Geometry(model.architecture, config_of(model))), quant, size)}


def sums(model: Model, rest: list[Tensor]) -> Iterator[list[Tensor]]:
    """Give what pages add up of other weights: all, all but the embedding, and the half of the blocks or more with the head."""
    yield rest
    yield [tensor for tensor in rest if not tensor.is_input]
    for first in range(int(model.loaded_blocks) // 2):
        yield [tensor for tensor in rest if not tensor.is_input and (tensor.block is None or tensor.block >= first)]


def experts_off(model: Model, real: Sizes, guess: Sizes) -> float:
    """Give how far experts of a run of blocks from either end are off, in percent of all experts."""
    experts = [tensor for tensor in model.tensors if tensor.routed_expert]
    blocks = range(int(model.block_count) + 1)
    runs = [[each for each in experts if (each.block or 0) < edge] for edge in blocks]
    runs += [[each for each in experts if (each.block or 0) >= edge] for edge in blocks]
    whole = sum(guess[each.name] for each in experts)
    return max(abs(sum(real[each.name] - guess[each.name] for each in run)) for run in runs) * 100 / whole if experts else 0


def rest_off(model: Model, real: Sizes, guess: Sizes) -> float:
    """Give how far sums of other weights are off, in percent of themselves."""
    rest = [tensor for tensor in model.tensors if not tensor.routed_expert and tensor.name in guess]
    ratios = [sum(real[each.name] for each in some) / sum(guess[each.name] for each in some) for some in sums(model, rest)]
    return max(abs(ratio - 1) for ratio in ratios) * 100


def measured(name: str) -> tuple[float, float]:
    model = header(name)
    real = {tensor.name: int(tensor.size) for tensor in model.tensors}
    guess = estimate(model, QUANTS[name], sum(real.values()))
    return experts_off(model, real, guess), rest_off(model, real, guess)


@pytest.mark.parametrize("name", HEADS)
def test_no_known_table_is_further_off_than_is_declared(name: str) -> None:
    declared = tolerance_of(QUANTS[name], mixture=bool(header(name).experts()))
    experts, rest = measured(name)
    assert experts <= float(declared.experts.quantity().number) * 100
    assert rest <= float(declared.rest.quantity().number) * 100


def test_the_usual_mixtures_need_most_of_what_is_declared() -> None:
    usual = [measured(name) for name in HEADS if QUANTS[name] == "Q4_K_M"]
    assert max(experts for experts, _ in usual) > 2
    assert max(rest for _, rest in usual) > 10


def test_a_publishers_own_mixture_is_as_far_off_as_a_log_shows_one_to_be() -> None:
    # Qwen3.6-35B-A3B-UD-Q4_K_M.gguf, 22134528992 bytes; a log of it prints f32 361, q8_0 251, q4_K 80, q5_K 37, q6_K 4 tensors and
    # 515.31 MiB for the embedding, which is Q8_0 then. Of 372 quantised ones 120 are experts: the 80 gates and ups, the 40 downs. So
    # three downs and the head are the q6_K; 60 matrices that other files of this shape quantise are in 32 bits: alpha and beta.
    # https://github.com/hogeheer499-commits/strix-halo-guide/blob/3aa373c60dda9543039dcb1aed1f9d4e6eb4961e/data/raw/2026-05-03/filled-kv-decode-128k/qwen36-35b-a3b-128k-f16-f16.log
    model = header("qwen35moe-iq4xs")
    size = 22134528992
    bits = {"F32": 32.0, "Q8_0": 8.5, "Q4_K": 4.5, "Q5_K": 5.5, "Q6_K": 6.5625}

    def kind(tensor: Tensor) -> str:
        if tensor.type == "F32" or ".ssm_alpha." in tensor.name or ".ssm_beta." in tensor.name:
            return "F32"
        if tensor.routed_expert:
            return "Q4_K" if "_down_" not in tensor.name else "Q6_K" if tensor.block in {0, 1, 39} else "Q5_K"
        return "Q6_K" if tensor.name == "output.weight" else "Q8_0"

    kinds = [kind(tensor) for tensor in model.tensors]
    assert {each: kinds.count(each) for each in bits} == {"F32": 361, "Q8_0": 251, "Q4_K": 80, "Q5_K": 37, "Q6_K": 4}
    real = {tensor.name: int(prod(tensor.shape) * bits[each] / 8) for tensor, each in zip(model.tensors, kinds, strict=True)}
    assert 0 < size - sum(real.values()) < 12_000_000  # the header with its vocabulary: 10992032 bytes in a file of the same family
    guess = estimate(model, "UD-Q4_K_M", size)
    declared = tolerance_of("UD-Q4_K_M", mixture=True)
    assert 4 < experts_off(model, real, guess) <= float(declared.experts.quantity().number) * 100
    assert 30 < rest_off(model, real, guess) <= float(declared.rest.quantity().number) * 100


@pytest.mark.parametrize("quant", ["Q4_K_M", "Q8_0", "MXFP4", "IQ2_M", "Q3_K", "IQ1_S", "UD-Q4_K_XL"])
def test_a_tolerance_says_what_it_rests_on(quant: str) -> None:
    for fact in (tolerance_of(quant, mixture=True).experts, tolerance_of(quant, mixture=True).rest):
        assert (fact.origin, fact.unit) == ("declared", "%")
        assert len(fact.note) > 20


@pytest.mark.parametrize("quant", ["IQ2_M", "IQ3_S", "IQ1_M", "TQ1_0"])
def test_files_of_few_bits_are_no_usual_mixtures_whatever_their_last_letter(quant: str) -> None:
    assert tolerance_of(quant, mixture=True).rest.value == tolerance_of("IQ2_XXS", mixture=True).rest.value


def test_a_tolerance_in_words_speaks_of_experts_where_there_are_any() -> None:
    found = tolerance_of("Q8_0", mixture=True)
    assert found.words(mixture=True) == "routed experts within 1 % of all of them, other weights within 1 %"
    assert found.words(mixture=False) == "weights within 1 %"
