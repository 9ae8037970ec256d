from __future__ import annotations

import pytest

from generator.memory.budget import Policy, Pool, clears_by, fits
from generator.quantity import BYTE, TOKEN, Quantity, UnitError, shown


def gib(amount: int) -> Quantity:
    return Quantity.constant(amount * 2**30, BYTE)


POOL = Pool.of(gib(11), gib(1))


def test_the_ceiling_is_what_the_reserve_leaves_of_the_usable_memory() -> None:
    assert shown(POOL.ceiling, "GiB", 1) == "10.0 GiB"
    assert POOL.ceiling.recomputed() == 10 * 2**30


@pytest.mark.parametrize(("total", "word"), [(0, True), (10 * 2**30 - 1, True), (10 * 2**30, True), (10 * 2**30 + 1, False)])
def test_a_total_fits_up_to_the_ceiling_and_not_a_byte_beyond(total: int, word: bool) -> None:
    amount = Quantity.constant(total, BYTE)
    assert fits(amount, POOL) is word
    assert int(clears_by(amount, POOL)) == 10 * 2**30 - total


def test_only_sizes_make_a_pool() -> None:
    with pytest.raises(UnitError):
        Pool.of(gib(11), Quantity.constant(1, TOKEN))


def test_policies_are_called_as_recipes_call_them() -> None:
    assert {str(policy) for policy in Policy} == {"engine", "published"}
