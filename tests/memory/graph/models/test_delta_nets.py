"""Compute buffers of models with delta nets and their kin, against what the engine (v0.5.0, an RPC device) said of the same headers."""

from __future__ import annotations

import pytest

from generator.memory.plan import make_plan
from generator.memory.settings import parse_flags
from tests.memory.graph.headers.compact import Header, model_of
from tests.memory.graph.headers.delta_nets import (
    GLM5_NEXT,
    KIMI_K3,
    KIMI_LINEAR,
    KIMI_LINEAR_UNCOMPRESSED,
    LING3,
    MINIMAX,
    QWEN3NEXT,
    QWEN4,
    QWEN35,
)


@pytest.mark.parametrize(
    ("header", "program", "flags", "device", "host"),
    [
        (QWEN35, "llama-fit-params", "-ngl 99 -c 32768 -fa on -np 1", 92_489_760, 41_963_552),
        (QWEN35, "llama-fit-params", "-ngl 99 -c 300 -fa off -np 1", 45_166_848, 6_768_064),
        (QWEN35, "llama-fit-params", "-ngl 5 -c 32768 -fa off -np 4", 320_878_624, 325_074_976),
        (QWEN35, "llama-fit-params", "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -nkvo", 78_383_104, 25_644_064),
        (QWEN3NEXT, "llama-fit-params", "-ngl 99 -c 32768 -fa on -np 1", 124_104_736, 41_957_408),
        (QWEN3NEXT, "llama-fit-params", "-ngl 99 -c 300 -fa off -np 1", 62_366_464, 6_764_480),
        (QWEN3NEXT, "llama-fit-params", "-ngl 5 -c 32768 -fa off -np 4", 325_068_832, 329_525_280),
        (QWEN3NEXT, "llama-fit-params", "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -nkvo", 103_548_928, 25_637_920),
        (KIMI_LINEAR, "llama-fit-params", "-ngl 99 -c 32768 -fa on -np 1", 131_602_464, 42_999_840),
        (KIMI_LINEAR, "llama-fit-params", "-ngl 99 -c 300 -fa off -np 1", 58_064_448, 6_148_864),
        (KIMI_LINEAR, "llama-fit-params", "-ngl 5 -c 32768 -fa off -np 4", 651_696_160, 656_416_800),
        (KIMI_LINEAR, "llama-fit-params", "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 102_531_072, 67_968_032),
        (KIMI_LINEAR_UNCOMPRESSED, "llama-fit-params", "-ngl 99 -c 32768 -fa on -np 1", 108_013_600, 43_003_936),
        (KIMI_LINEAR_UNCOMPRESSED, "llama-fit-params", "-ngl 99 -c 300 -fa off -np 1", 54_070_848, 15_979_264),
        (KIMI_LINEAR_UNCOMPRESSED, "llama-fit-params", "-ngl 5 -c 32768 -fa off -np 4", 597_170_208, 601_890_848),
        (KIMI_LINEAR_UNCOMPRESSED, "llama-fit-params", "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -nkvo", 164_642_816, 29_913_120),
        (LING3, "llama-fit-params", "-ngl 99 -c 32768 -fa on -np 1", 101_726_240, 44_056_608),
        (LING3, "llama-fit-params", "-ngl 99 -c 300 -fa off -np 1", 48_238_848, 6_768_064),
        (LING3, "llama-fit-params", "-ngl 5 -c 32768 -fa off -np 4", 456_663_072, 459_292_704),
        (LING3, "llama-fit-params", "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 89_137_152, 20_184_096),
        (KIMI_K3, "llama-fit-params", "-ngl 99 -c 32768 -fa on -np 1", 145_758_240, 42_999_840),
        (KIMI_K3, "llama-fit-params", "-ngl 99 -c 300 -fa off -np 1", 66_358_848, 6_148_864),
        (KIMI_K3, "llama-fit-params", "-ngl 5 -c 32768 -fa off -np 4", 666_378_240, 660_086_816),
        (KIMI_K3, "llama-fit-params", "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0 -nkvo", 116_396_032, 22_420_512),
        (MINIMAX, "llama-fit-params", "-ngl 99 -c 32768 -fa on -np 1", 190_984_352, 79_837_344),
        (MINIMAX, "llama-fit-params", "-ngl 99 -c 300 -fa off -np 1", 70_530_944, 20_819_008),
        (MINIMAX, "llama-fit-params", "-ngl 5 -c 32768 -fa off -np 4", 591_540_384, 113_387_680),
        (MINIMAX, "llama-fit-params", "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -nkvo", 109_183_104, 37_959_840),
        (QWEN35, "llama-server", "-ngl 99 -c 8192 -fa on -np 3 --spec-type draft-mtp --spec-draft-n-max 5", 108_484_320, 11_312_896),
        (LING3, "llama-server", "-ngl 99 -c 8192 -fa on -np 3 --spec-type draft-mtp --spec-draft-n-max 5", 74_325_696, 13_410_016),
        (QWEN4, "llama-fit-params", "-ngl 99 -c 32768 -fa on -np 1", 294_029_344, 63_348_768),
        (QWEN4, "llama-fit-params", "-ngl 99 -c 300 -fa off -np 1", 63_748_704, 9_397_408),
        (QWEN4, "llama-fit-params", "-ngl 5 -c 32768 -fa off -np 4", 409_370_656, 396_929_056),
        (QWEN4, "llama-fit-params", "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -nkvo", 109_850_624, 19_275_808),
        (GLM5_NEXT, "llama-fit-params", "-ngl 99 -c 32768 -fa on -np 1", 177_272_096, 54_977_824),
        (GLM5_NEXT, "llama-fit-params", "-ngl 99 -c 300 -fa off -np 1", 40_857_600, 6_587_808),
        (GLM5_NEXT, "llama-fit-params", "-ngl 5 -c 32768 -fa off -np 4", 575_486_752, 407_616_800),
    ],
)
def test_buffers_are_those_of_the_engine(header: Header, program: str, flags: str, device: int, host: int) -> None:
    plan = make_plan(model_of(header), parse_flags(flags, program), build="v0.5.0")
    assert (plan.gpus[0].compute, plan.host.compute) == (device, host)


@pytest.mark.parametrize(
    ("header", "flags", "device", "host"),
    [
        (QWEN35, "-ngl 99 -c 8192 -fa off -np 3 --spec-type draft-mtp", 133_966_944, 16_299_136),
        (QWEN35, "-ngl 3 -c 8192 -fa on -np 4 -kvu --spec-type draft-mtp -ctkd q8_0 -ctvd q8_0", 54_820_896, 17_074_208),
        (LING3, "-ngl 99 -c 8192 -fa off -np 3 --spec-type draft-mtp", 188_599_392, 16_299_136),
        (LING3, "-ngl 3 -c 8192 -fa on -np 4 -kvu --spec-type draft-mtp -ctkd q8_0 -ctvd q8_0", 75_509_792, 18_888_736),
    ],
)
def test_a_draft_head_has_buffers_of_its_own(header: Header, flags: str, device: int, host: int) -> None:
    plan = make_plan(model_of(header), parse_flags(flags, "llama-server"), build="v0.5.0")
    assert plan.draft is not None
    assert tuple(int(buffer.size) for buffer in plan.draft.buffers) == (device, host)
