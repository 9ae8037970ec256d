"""Compute buffers of models with latent attention and their kin, against what the engine (v0.5.0, an RPC device) said of them."""

from __future__ import annotations

import pytest

from generator.memory.architectures import layers_of
from generator.memory.plan import make_plan
from generator.memory.settings import parse_flags
from tests.memory.graph.headers.compact import Header, model_of
from tests.memory.graph.headers.deepseek import (
    DEEPSEEK2,
    DEEPSEEK2_OCR,
    DEEPSEEK2_UNCOMPRESSED,
    DEEPSEEK4,
    GLM_DSA,
    HUNYUAN3,
    MINICPM3,
    MISTRAL4,
    PLM,
)


@pytest.mark.parametrize(
    ("header", "flags", "device", "host"),
    [
        (DEEPSEEK2, "-ngl 99 -c 32768 -fa on -np 1", 68_167_680, 37_761_024),
        (DEEPSEEK2, "-ngl 99 -c 300 -fa off -np 1", 28_268_448, 3_079_264),
        (DEEPSEEK2, "-ngl 3 -c 8192 -fa off -np 3", 128_711_776, 129_764_480),
        (DEEPSEEK2, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 35_426_272, 8_400_896),
        (DEEPSEEK2_UNCOMPRESSED, "-ngl 99 -c 32768 -fa on -np 1", 54_538_240, 37_763_072),
        (DEEPSEEK2_UNCOMPRESSED, "-ngl 99 -c 300 -fa off -np 1", 15_364_832, 5_535_648),
        (DEEPSEEK2_UNCOMPRESSED, "-ngl 3 -c 8192 -fa off -np 3", 68_824_128, 70_927_456),
        (DEEPSEEK2_UNCOMPRESSED, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 42_764_288, 11_581_440),
        (MISTRAL4, "-ngl 99 -c 32768 -fa on -np 1", 63_971_328, 37_758_976),
        (MISTRAL4, "-ngl 99 -c 300 -fa off -np 1", 28_267_232, 3_078_048),
        (MISTRAL4, "-ngl 3 -c 8192 -fa off -np 3", 128_709_696, 130_813_024),
        (MISTRAL4, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 35_424_224, 8_398_848),
        (GLM_DSA, "-ngl 99 -c 32768 -fa on -np 1", 170_995_712, 71_383_040),
        (GLM_DSA, "-ngl 99 -c 300 -fa off -np 1", 32_328_768, 3_453_184),
        (GLM_DSA, "-ngl 3 -c 8192 -fa off -np 3", 132_912_192, 137_974_400),
        (GLM_DSA, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 55_707_648, 12_662_784),
        (DEEPSEEK4, "-ngl 99 -c 32768 -fa on -np 1", 98_663_328, 22_117_280),
        (DEEPSEEK4, "-ngl 99 -c 300 -fa off -np 1", 53_691_104, 3_924_704),
        (DEEPSEEK4, "-ngl 3 -c 8192 -fa off -np 3", 81_472_672, 126_487_616),
        (DEEPSEEK4, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 74_942_464, 12_681_824),
        (MINICPM3, "-ngl 99 -c 32768 -fa on -np 1", 61_091_840, 38_811_648),
        (MINICPM3, "-ngl 99 -c 300 -fa off -np 1", 24_273_632, 6_764_448),
        (MINICPM3, "-ngl 3 -c 8192 -fa off -np 3", 140_791_872, 143_420_512),
        (MINICPM3, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 46_221_312, 13_400_064),
        (PLM, "-ngl 99 -c 300 -fa off -np 1", 14_136_032, 5_535_648),
        (PLM, "-ngl 3 -c 8192 -fa off -np 3", 66_722_880, 68_826_208),
        (DEEPSEEK2_OCR, "-ngl 99 -c 32768 -fa on -np 1", 52_514_816, 37_763_072),
        (DEEPSEEK2_OCR, "-ngl 99 -c 300 -fa off -np 1", 16_363_232, 5_535_648),
        (DEEPSEEK2_OCR, "-ngl 3 -c 8192 -fa off -np 3", 64_621_632, 66_724_960),
        (DEEPSEEK2_OCR, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 37_308_416, 10_582_016),
        (HUNYUAN3, "-ngl 99 -c 32768 -fa on -np 1", 54_538_240, 37_763_072),
        (HUNYUAN3, "-ngl 99 -c 300 -fa off -np 1", 20_280_032, 4_306_848),
        (HUNYUAN3, "-ngl 3 -c 8192 -fa off -np 3", 115_051_584, 115_053_664),
        (HUNYUAN3, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 30_230_528, 8_484_864),
    ],
)
def test_buffers_are_those_the_engine_says(header: Header, flags: str, device: int, host: int) -> None:
    plan = make_plan(model_of(header), parse_flags(flags, "llama-fit-params"), build="v0.5.0")
    assert (plan.gpus[0].compute, plan.host.compute) == (device, host)


@pytest.mark.parametrize(
    ("flags", "buffers", "draft"),
    [
        ("-ngl 99 -c 8192 -fa on -np 3 --spec-type draft-mtp", (83_637_280, 6_941_728), (53_325_408, 11_302_528)),
        ("-ngl 99 -c 8192 -fa off -np 1 --spec-type draft-mtp --spec-draft-n-max 5", (165_777_088, 12_684_992), (79_173_664, 12_066_848)),
        (
            "-ngl 3 -c 8192 -fa on -np 4 -kvu --spec-type draft-mtp -ctkd q8_0 -ctvd q8_0",
            (55_359_552, 92_442_656),
            (54_532_128, 12_591_136),
        ),
    ],
)
def test_a_draft_head_has_buffers_of_its_own(flags: str, buffers: tuple[int, int], draft: tuple[int, int]) -> None:
    """The model's own then restores and keeps states for each token that a draft may be taken back by."""
    plan = make_plan(model_of(DEEPSEEK4), parse_flags(flags, "llama-server"), build="v0.5.0")
    assert (plan.gpus[0].compute, plan.host.compute) == buffers
    assert plan.draft is not None
    assert tuple(int(buffer.size) for buffer in plan.draft.buffers) == draft


def test_a_draft_head_of_compressed_caches_keeps_keys_and_values_of_a_window() -> None:
    """The engine logs 1 layer of 768 cells for each of 3 sequences, 2.25 MiB of K and as much of V."""
    (cache,) = layers_of(model_of(DEEPSEEK4), "v0.5.0").draft
    assert cache.blocks == (5,)
    assert cache.values is not None
    assert (int(cache.keys[5]), int(cache.values[5])) == (512, 512)
    assert cache.window is not None


def test_indexers_of_a_long_trained_context_are_shared_where_the_header_lists_none() -> None:
    """The engine gives one to the first three blocks and every fourth after them (GLM 5.2); to all where the header trained on less."""
    architecture, hyperparameters, lines = GLM_DSA
    _, shared = layers_of(model_of(GLM_DSA)).caches
    _, own = layers_of(model_of((architecture, {**hyperparameters, "context_length": 202752}, lines))).caches
    assert (shared.blocks, own.blocks) == ((0, 1, 2), (0, 1, 2, 3, 4, 5))
