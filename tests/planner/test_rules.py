"""Rules that stand in the scripts as well as in Python are the same rules."""

from __future__ import annotations

import pytest

from generator.memory.backends import ATTENDED_BY_VULKAN, EQUAL_HEADS, GROUPED_HEADS, attends
from generator.memory.graph.schedule import MIN_OFFLOADED_BATCH
from generator.memory.graph.tensor import IN_PLACE, VIEWS
from tests.planner.conftest import ROOT, Ask

pytestmark = pytest.mark.browser

PAGE = "llama-3.1-8b/rtx-3070"
LENGTHS = sorted({*EQUAL_HEADS, *GROUPED_HEADS, *(value for value, _ in GROUPED_HEADS.values()), 36, 48, 160, 200})


@pytest.mark.parametrize("backend", ["cuda", "rocm", "vulkan", "sycl", "metal", "rpc"])
@pytest.mark.parametrize(("paired", "build"), [(True, "b10666"), (False, "v0.5.0")])
def test_flash_attention_is_computed_for_the_same_heads_and_types(ask: Ask, backend: str, paired: bool, build: str) -> None:
    names = sorted(ATTENDED_BY_VULKAN)
    pairs = [(type_k, type_v) for type_k in names for type_v in names]
    cases = [
        (key, value, group, types)
        for key in LENGTHS
        for value in {key, 64, 128, 256, 512}
        for group in (1, 2, 8, 32)
        for types in pairs[::7]
    ]
    cases += [(128, 128, 4, types) for types in pairs]
    body = (
        f"return given.map(([key, value, group, types]) => planner.attends('{backend}', key, value, group, types, {str(paired).lower()}));"
    )
    wanted = [attends(backend, key, value, group, types, build) for key, value, group, types in cases]
    assert ask(PAGE, body, [[key, value, group, list(types)] for key, value, group, types in cases]) == wanted


def test_the_same_operations_are_views_and_may_write_over_an_operand(ask: Ask) -> None:
    assert set(ask(PAGE, "return [...planner.VIEWS];", None)) == VIEWS
    assert set(ask(PAGE, "return [...planner.IN_PLACE];", None)) == IN_PLACE


def test_devices_take_over_from_the_same_number_of_rows_on() -> None:
    script = (ROOT / "site" / "assets" / "planner" / "schedule.js").read_text(encoding="utf-8")
    assert f"const MIN_OFFLOADED_BATCH = {MIN_OFFLOADED_BATCH};" in script
