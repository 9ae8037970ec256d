"""A token in two tiers: what holds whatever the numbers are."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.check.decode import Bandwidths, Beside, Token, token
from generator.check.split import Split
from generator.errors import InputError
from generator.quantity import BYTE, BYTE_PER_SECOND, Quantity

MIB = 2**20


def size(mib: int) -> Quantity:
    return Quantity.constant(mib * MIB, BYTE, "a size")


def rate(megabytes: int) -> Quantity:
    return Quantity.constant(megabytes * 10**6, BYTE_PER_SECOND, "a bandwidth")


def made(cache: int, *, dense: int = 1400, experts: int = 18000, card: int = 360_000, host: int = 65_000) -> Token | None:
    split = Split(size(experts), size(dense), size(experts // 32), size(dense * 4 // 5))
    beside = Beside(size(11264), size(cache), size(cache), size(63), size(700))
    return token(split, beside, Bandwidths(rate(card), rate(host)))


@given(st.integers(0, 12_000), st.integers(1, 4_000))
def test_the_ceiling_falls_with_the_context(cache: int, more: int) -> None:
    short, long = made(cache), made(cache + more)
    if long is not None:
        assert short is not None
        assert short.ceiling.number > long.ceiling.number


@given(st.integers(0, 10_000), st.integers(1_000, 900_000), st.integers(1, 100_000))
def test_faster_memory_never_lowers_the_ceiling(cache: int, rate_of: int, more: int) -> None:
    for name in ("card", "host"):
        slow, fast = made(cache, **{name: rate_of}), made(cache, **{name: rate_of + more})
        assert slow is not None
        assert fast is not None
        assert slow.ceiling <= fast.ceiling


@given(st.integers(0, 12_000), st.integers(1, 12_000), st.integers(0, 40_000))
def test_parts_add_up_and_the_share_on_the_card_is_one_at_the_most(cache: int, dense: int, experts: int) -> None:
    found = made(cache, dense=dense, experts=experts)
    if found is None:
        assert cache + 63 + 700 > 11264
        return
    assert found.time.number == sum(Fraction(part.number) for part in found.parts.values())
    assert found.resident is None or 0 <= found.resident.number <= 1
    assert all(part.number >= 0 for part in found.parts.values())


def test_what_fits_whole_is_read_from_the_card_alone() -> None:
    found = made(100, experts=4000)
    assert found is not None
    assert list(found.parts) == ["dense", "experts_card", "cache"]
    assert found.resident is not None
    assert found.resident.number == 1


def test_experts_give_way_before_anything_else_does() -> None:
    found = made(100, dense=12_000)
    assert found is not None
    assert found.resident is not None
    assert found.resident.number == 0
    assert found.dense_resident is not None
    assert found.dense_resident.number == Fraction(11264 - 100 - 63 - 700, 12_000)


def test_system_memory_of_unknown_speed_is_no_obstacle_where_nothing_waits_there() -> None:
    split = Split(size(0), size(1400), size(0), size(1000))
    beside = Beside(size(11264), size(100), size(100), size(0), size(700))
    assert token(split, beside, Bandwidths(rate(1000), None)) is not None
    with pytest.raises(InputError, match=r"give `bandwidths\.host`"):
        token(Split(size(0), size(14000), size(0), size(1000)), beside, Bandwidths(rate(1000), None))
