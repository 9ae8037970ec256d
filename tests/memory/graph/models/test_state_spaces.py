"""Compute buffers of models with a recurrent state, against what the engine (v0.5.0, an RPC device) said of the same headers."""

from __future__ import annotations

import pytest

from generator.memory.plan import make_plan
from generator.memory.settings import parse_flags
from tests.memory.graph.headers.compact import Header, model_of
from tests.memory.graph.headers.rwkv import ARWKV7, ARWKV7_GATED, RWKV6, RWKV6_QWEN2, RWKV6_UNFUSED, RWKV7
from tests.memory.graph.headers.state_spaces import (
    CODESTRAL_MAMBA,
    FALCON_H1,
    FALCON_MAMBA,
    GRANITE,
    GRANITE_DENSE,
    JAMBA,
    LFM2,
    LFM2_MOE,
    LFM2_WINDOW,
    NEMOTRON,
    NEMOTRON_LATENT,
    PLAMO2,
)

PADDING = 1024
"""Bytes that the alignment of tensors may make: that device aligns them to 32 bytes, not 128."""


@pytest.mark.parametrize(
    ("header", "flags", "device", "host"),
    [
        (FALCON_MAMBA, "-ngl 99 -c 32768 -fa on -np 1", 149_948_448, 16_781_344),
        (FALCON_MAMBA, "-ngl 99 -c 300 -fa off -np 1", 87_860_448, 9_832_864),
        (FALCON_MAMBA, "-ngl 5 -c 32768 -fa off -np 3", 158_369_824, 111_431_744),
        (FALCON_MAMBA, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 201_326_624, 25_365_536),
        (CODESTRAL_MAMBA, "-ngl 99 -c 32768 -fa on -np 1", 118_073_376, 16_781_344),
        (CODESTRAL_MAMBA, "-ngl 99 -c 300 -fa off -np 1", 80_780_512, 9_832_864),
        (CODESTRAL_MAMBA, "-ngl 5 -c 32768 -fa off -np 3", 122_700_320, 139_661_888),
        (CODESTRAL_MAMBA, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 147_308_576, 29_608_992),
        (JAMBA, "-ngl 99 -c 32768 -fa on -np 1", 144_703_520, 44_052_512),
        (JAMBA, "-ngl 99 -c 300 -fa off -np 1", 86_634_048, 7_992_064),
        (JAMBA, "-ngl 5 -c 32768 -fa off -np 3", 547_243_040, 95_799_392),
        (JAMBA, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 213_516_320, 22_114_336),
        (GRANITE, "-ngl 99 -c 32768 -fa on -np 1", 268_447_776, 41_957_408),
        (GRANITE, "-ngl 99 -c 300 -fa off -np 1", 132_100_864, 6_764_480),
        (GRANITE, "-ngl 5 -c 32768 -fa off -np 3", 776_957_056, 768_541_824),
        (GRANITE, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 209_715_200, 17_452_064),
        (GRANITE_DENSE, "-ngl 99 -c 32768 -fa on -np 1", 213_909_504, 41_955_360),
        (GRANITE_DENSE, "-ngl 99 -c 300 -fa off -np 1", 122_880_000, 6_763_264),
        (GRANITE_DENSE, "-ngl 5 -c 32768 -fa off -np 3", 817_253_408, 96_297_056),
        (GRANITE_DENSE, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 209_715_200, 18_919_456),
        (NEMOTRON, "-ngl 99 -c 32768 -fa on -np 1", 286_785_568, 51_916_832),
        (NEMOTRON, "-ngl 99 -c 300 -fa off -np 1", 171_114_048, 13_828_864),
        (NEMOTRON, "-ngl 5 -c 32768 -fa off -np 3", 1_071_897_632, 188_924_000),
        (NEMOTRON, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 286_785_536, 38_923_296),
        (NEMOTRON_LATENT, "-ngl 99 -c 32768 -fa on -np 1", 71_477_280, 37_761_056),
        (NEMOTRON_LATENT, "-ngl 99 -c 300 -fa off -np 1", 40_861_248, 3_691_264),
        (NEMOTRON_LATENT, "-ngl 5 -c 32768 -fa off -np 3", 69_883_904, 212_759_648),
        (NEMOTRON_LATENT, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 73_924_640, 14_871_584),
        (FALCON_H1, "-ngl 99 -c 32768 -fa on -np 1", 193_142_816, 54_540_320),
        (FALCON_H1, "-ngl 99 -c 300 -fa off -np 1", 101_927_168, 14_137_280),
        (FALCON_H1, "-ngl 5 -c 32768 -fa off -np 3", 785_349_728, 856_835_328),
        (FALCON_H1, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 191_113_216, 44_258_336),
        (PLAMO2, "-ngl 99 -c 32768 -fa on -np 1", 276_115_488, 41_957_408),
        (PLAMO2, "-ngl 99 -c 300 -fa off -np 1", 122_457_600, 6_764_480),
        (PLAMO2, "-ngl 5 -c 32768 -fa off -np 3", 821_455_904, 779_048_064),
        (PLAMO2, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 331_106_336, 27_359_264),
        (LFM2, "-ngl 99 -c 32768 -fa on -np 1", 142_606_368, 41_957_408),
        (LFM2, "-ngl 99 -c 300 -fa off -np 1", 85_406_464, 6_764_480),
        (LFM2, "-ngl 5 -c 32768 -fa off -np 3", 764_386_400, 768_541_824),
        (LFM2, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 142_641_152, 18_921_504),
        (LFM2_WINDOW, "-ngl 99 -c 32768 -fa on -np 1", 147_861_536, 9_451_552),
        (LFM2_WINDOW, "-ngl 99 -c 300 -fa off -np 1", 85_406_464, 6_764_480),
        (LFM2_WINDOW, "-ngl 5 -c 32768 -fa off -np 3", 146_866_208, 92_465_280),
        (LFM2_WINDOW, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 150_079_488, 15_743_008),
        (LFM2_MOE, "-ngl 99 -c 32768 -fa on -np 1", 142_606_368, 41_957_408),
        (LFM2_MOE, "-ngl 99 -c 300 -fa off -np 1", 85_406_464, 6_764_480),
        (LFM2_MOE, "-ngl 5 -c 32768 -fa off -np 3", 768_547_968, 768_541_824),
        (LFM2_MOE, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 142_641_152, 12_662_816),
        (RWKV6, "-ngl 99 -c 32768 -fa on -np 1", 142_606_336, 8_392_736),
        (RWKV6, "-ngl 99 -c 300 -fa off -np 1", 83_558_400, 4_917_664),
        (RWKV6, "-ngl 5 -c 32768 -fa off -np 3", 138_412_032, 62_033_984),
        (RWKV6, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 138_412_032, 9_474_080),
        (RWKV6_UNFUSED, "-ngl 99 -c 32768 -fa on -np 1", 142_606_336, 16_781_344),
        (RWKV6_UNFUSED, "-ngl 99 -c 300 -fa off -np 1", 83_558_400, 9_832_864),
        (RWKV6_UNFUSED, "-ngl 5 -c 32768 -fa off -np 3", 142_606_336, 132_468_800),
        (RWKV6_UNFUSED, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 142_606_336, 18_944_032),
        (RWKV6_QWEN2, "-ngl 99 -c 32768 -fa on -np 1", 332_400_672, 20_975_648),
        (RWKV6_QWEN2, "-ngl 99 -c 300 -fa off -np 1", 194_766_048, 12_290_464),
        (RWKV6_QWEN2, "-ngl 5 -c 32768 -fa off -np 3", 332_398_592, 209_649_728),
        (RWKV6_QWEN2, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 332_400_640, 26_259_488),
        (RWKV7, "-ngl 99 -c 32768 -fa on -np 1", 135_790_592, 3_149_856),
        (RWKV7, "-ngl 99 -c 300 -fa off -np 1", 79_564_800, 1_845_664),
        (RWKV7, "-ngl 5 -c 32768 -fa off -np 3", 137_363_456, 31_276_352),
        (RWKV7, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 135_790_592, 3_555_360),
        (ARWKV7, "-ngl 99 -c 32768 -fa on -np 1", 442_501_152, 14_684_192),
        (ARWKV7, "-ngl 99 -c 300 -fa off -np 1", 259_278_048, 8_604_064),
        (ARWKV7, "-ngl 5 -c 32768 -fa off -np 3", 326_107_136, 179_079_488),
        (ARWKV7, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 326_109_184, 16_547_872),
        (ARWKV7_GATED, "-ngl 99 -c 32768 -fa on -np 1", 372_508_704, 6_295_584),
        (ARWKV7_GATED, "-ngl 99 -c 300 -fa off -np 1", 218_266_848, 3_688_864),
        (ARWKV7_GATED, "-ngl 5 -c 32768 -fa off -np 3", 375_672_864, 86_581_568),
        (ARWKV7_GATED, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 317_456_384, 7_094_304),
    ],
)
def test_buffers_are_those_of_the_engine(header: Header, flags: str, device: int, host: int) -> None:
    plan = make_plan(model_of(header), parse_flags(flags, "llama-fit-params"), build="v0.5.0")
    assert 0 <= plan.gpus[0].compute - device < PADDING
    assert plan.host.compute == host


@pytest.mark.parametrize(
    ("flags", "device", "host", "draft_device", "draft_host"),
    [
        ("-ngl 99 -c 8192 -fa on -np 3", 60.1834, 6.7732, 10.7789, 6.7731),
        ("-ngl 99 -c 8192 -fa off -np 1", 151.0040, 21.0059, 151.0039, 21.0059),
        ("-ngl 99 -c 8192 -fa off -np 4 -kvu", 151.0040, 21.0060, 151.0039, 21.0059),
        ("-ngl 99 -c 8192 -fa off -np 1 -nkvo", 58.1094, 150.0059, 8.0000, 149.0059),
    ],
)
def test_a_state_that_can_be_taken_back_and_a_draft_head(
    flags: str, device: float, host: float, draft_device: float, draft_host: float
) -> None:
    """A server's own log of a run, in MiB."""
    settings = parse_flags(f"{flags} --spec-type draft-mtp --spec-draft-n-max 5", "llama-server")
    plan = make_plan(model_of(NEMOTRON_LATENT), settings, build="v0.5.0")
    assert plan.draft is not None
    made = [plan.gpus[0].compute, plan.host.compute, *(int(buffer.size) for buffer in plan.draft.buffers)]
    assert [size / 2**20 for size in made] == pytest.approx([device, host, draft_device, draft_host], abs=0.001)
