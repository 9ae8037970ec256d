"""Draft heads of models with windows, against what the engine (v0.5.0, an RPC device) said of the same headers."""

from __future__ import annotations

import pytest

from generator.memory.plan import make_plan
from generator.memory.settings import parse_flags
from tests.memory.graph.headers.compact import Header, model_of
from tests.memory.graph.headers.sliding_window_drafts import COHERE2MOE_DRAFT, MIMO2_DRAFT, STEP35_DRAFT

ON, OFF, UNIFIED = (
    "-ngl 99 -c 8192 -fa on -np 3 --spec-type draft-mtp --spec-draft-n-max 5",
    "-ngl 99 -c 8192 -fa off -np 3 --spec-type draft-mtp",
    "-ngl 3 -c 8192 -fa on -np 4 -kvu --spec-type draft-mtp -ctkd q8_0 -ctvd q8_0",
)


@pytest.mark.parametrize(
    ("header", "flags", "buffers", "draft"),
    [
        (COHERE2MOE_DRAFT, ON, (25_496_320, 8_688_416), (19_711_648, 5_002_912)),
        (COHERE2MOE_DRAFT, OFF, (116_104_352, 15_246_528), (111_899_776, 8_938_624)),
        (COHERE2MOE_DRAFT, UNIFIED, (21_506_112, 27_807_808), (21_065_760, 10_580_000)),
        (STEP35_DRAFT, ON, (20_768_512, 8_163_104), (17_870_976, 5_265_568)),
        (STEP35_DRAFT, OFF, (115_053_728, 14_195_904), (49_385_568, 7_362_688)),
        (STEP35_DRAFT, UNIFIED, (19_408_960, 25_710_656), (17_393_696, 6_909_984)),
        (MIMO2_DRAFT, ON, (18_404_608, 7_900_448), (17_608_320, 5_002_912)),
        (MIMO2_DRAFT, OFF, (115_579_040, 13_670_592), (41_505_888, 6_837_376)),
        (MIMO2_DRAFT, UNIFIED, (14_690_368, 25_186_368), (18_966_560, 5_337_120)),
    ],
)
def test_a_draft_head_has_buffers_of_its_own(header: Header, flags: str, buffers: tuple[int, int], draft: tuple[int, int]) -> None:
    plan = make_plan(model_of(header), parse_flags(flags, "llama-server"), build="v0.5.0")
    assert (plan.gpus[0].compute, plan.host.compute) == buffers
    assert plan.draft is not None
    assert tuple(int(buffer.size) for buffer in plan.draft.buffers) == draft


def test_the_engine_loads_parts_of_some_draft_heads_in_any_run() -> None:
    """What llama-fit-params said of the device's weights, in MiB, is without the rest of the draft head's block."""
    with_head, without = (
        make_plan(model_of(STEP35_DRAFT), parse_flags("-ngl 99 -c 8192 -np 1" + draft, "llama-server"), build="v0.5.0").gpus[0].weights
        for draft in (" --spec-type draft-mtp", "")
    )
    skipped = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "nextn")
    rest = [tensor for tensor in model_of(STEP35_DRAFT).blocks[4] if tensor.name.split(".")[2] in skipped]
    assert with_head - without == sum(int(tensor.size) for tensor in rest)
