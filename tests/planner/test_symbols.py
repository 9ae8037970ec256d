"""A symbol gives, for other values of its variables, what plain numbers would have given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.memory.graph.tensor import Count
from generator.planner.symbols import RELATIONS, Symbol, UncoveredError, constant, noting

NAMES = ("N", "S", "k")
values = st.fixed_dictionaries({name: st.integers(1, 5000) for name in NAMES})

FORMS: Mapping[str, Callable[[int, int, int], int]] = {
    "a shape": lambda n, s, _: 2048 * n * s,
    "strides": lambda n, s, k: k * (4096 // 32) * n * (s + 3),
    "a share of tokens": lambda n, s, _: (n * s) // s + 3,
    "a rest": lambda n, s, _: (n * s) % n + s,
    "a difference": lambda n, s, k: n * s * k - n * k,
    "from the left": lambda n, s, k: Count(7) * n + 3 - s + Count(2) * k,
    "the least": lambda n, s, k: min(1, n) * s * k,
}


@pytest.mark.parametrize("name", FORMS)
@given(first=values, second=values)
def test_arithmetic_is_that_of_numbers_wherever_the_conditions_hold(name: str, first: dict[str, int], second: dict[str, int]) -> None:
    form = FORMS[name]
    with noting() as conditions:
        traced = form(*(Symbol.named(each, first[each]) for each in NAMES))
    polynomial = traced.polynomial if isinstance(traced, Symbol) else constant(traced)
    assert int(traced) == form(*(first[each] for each in NAMES))
    if conditions.hold(second):
        assert polynomial.at(second) == form(*(second[each] for each in NAMES))


@given(first=values, second=values, limit=st.integers(1, 5000))
def test_a_comparison_holds_for_others_where_it_comes_out_the_same(first: dict[str, int], second: dict[str, int], limit: int) -> None:
    with noting() as conditions:
        found = Symbol.named("N", first["N"]) * Symbol.named("S", first["S"]) > limit
    assert found is (first["N"] * first["S"] > limit)
    if conditions.hold(second):
        assert (second["N"] * second["S"] > limit) is found


def test_what_is_so_for_any_size_is_no_condition() -> None:
    n, s = Symbol.named("N", 5), Symbol.named("S", 3)
    with noting() as conditions:
        assert n > 0 and n >= 1 and not n < 1 and n * s == s * n and n * 7 + s > 7
    assert not conditions.noted


def test_a_division_that_may_not_come_out_even_is_not_guessed() -> None:
    with pytest.raises(UncoveredError):
        Symbol.named("N", 64) // 32


def test_relations_are_those_that_the_scripts_read() -> None:
    assert set(RELATIONS) == {"=", ">"}
    random = Random(1)
    assert all(RELATIONS[">"](number) is (number > 0) for number in (random.randint(-5, 5) for _ in range(20)))
