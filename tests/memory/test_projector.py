from __future__ import annotations

import pytest

from generator.errors import RefusedSettings
from generator.memory.plan import make_plan
from generator.memory.settings import parse_flags
from tests.memory.models import build, dense, named

PROJECTOR = build(named("clip", {"block_count": 1}), [("v.blk.0.attn_q.weight", 3_000), ("mm.0.weight", 1_000)])


@pytest.mark.parametrize(
    ("flags", "gpus", "device"),
    [
        ("-ngl 99", 1, 0),
        ("-ngl 99 --no-mmproj-offload", 1, -1),
        ("-ngl 0", 1, 0),  # layers and projector go their own ways
        ("-ngl 99", 0, -1),
        ("-ngl 99 --mmproj-device CUDA1", 2, 1),
    ],
)
def test_a_projector_is_on_one_device_whole(flags: str, gpus: int, device: int) -> None:
    plan = make_plan(dense(), parse_flags(f"-c 256 {flags}", "llama-server"), gpus=gpus, projector=PROJECTOR)
    assert plan.projector is not None
    assert (int(plan.projector.weights), plan.projector.device) == (4_000, device)
    without = make_plan(dense(), parse_flags(f"-c 256 {flags}", "llama-server"), gpus=gpus)
    assert without.projector is None
    assert [part.total for part in plan.gpus] == [part.total for part in without.gpus]


def test_a_device_for_it_that_is_not_here_is_refused() -> None:
    with pytest.raises(RefusedSettings, match="there is no device 'CUDA4' here"):
        make_plan(dense(), parse_flags("-c 256 -ngl 99 --mmproj-device CUDA4", "llama-server"), projector=PROJECTOR)
