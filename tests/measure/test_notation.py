from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.measure.notation import LONGEST, expanded

WHOLE = st.integers(-(10**6), 10**6)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("[0, 0, 8]", [0, 0, 8]),
        ("[6144]*2 + [12288]*3", [6144, 6144, 12288, 12288, 12288]),
        ("[256, 512]*2", [256, 512, 256, 512]),
        ("[8, 8, 1] repeated (7)", [8, 8, 1, 8, 8, 1, 8]),
        ("[true, false] repeated (3)", [True, False, True]),
    ],
)
def test_what_a_person_wrote_is_the_list_it_stands_for(text: str, items: list[object]) -> None:
    assert expanded(text) == items


@pytest.mark.parametrize(
    "text", ["", "8", "[]", "[8", "[a, b]", "[1] + ", "2 at layers 5, 12; 0 elsewhere (52)", "[0, 8, ...] (40)", "[1.5]"]
)
def test_anything_else_is_no_list(text: str) -> None:
    assert expanded(text) is None


@pytest.mark.parametrize("text", ["[1]*999999", f"[1] repeated ({LONGEST + 1})", "[1]*4096 + [1]"])
def test_a_list_of_absurd_length_is_not_built(text: str) -> None:
    assert expanded(text) is None


@given(st.lists(st.tuples(st.lists(WHOLE, min_size=1, max_size=5), st.integers(0, 9)), min_size=1, max_size=5))
def test_sums_of_repeated_lists_are_python_s_own(parts: list[tuple[list[int], int]]) -> None:
    text = " + ".join(f"{items}*{times}" for items, times in parts)
    assert expanded(text) == [item for items, times in parts for item in items * times]


@given(st.text(max_size=60))
def test_any_text_is_a_list_or_none(text: str) -> None:
    found = expanded(text)
    assert found is None or all(isinstance(item, int) for item in found)
