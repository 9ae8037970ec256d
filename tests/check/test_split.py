"""How far the split of a file may be off, against what tensor tables of the same shape say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.catalog import Catalog
from generator.check.numbers import Worked
from generator.check.params import Counts
from generator.check.split import by_parameters, ends
from generator.errors import InputError
from generator.planning import model_of_lock
from generator.quantity import BYTE, Quantity
from tests.check.conftest import ROOT


def file_of(size: int) -> Quantity:
    return Quantity.constant(size, BYTE, "a file")


def test_every_split_adds_up_to_the_file_and_lies_between_the_ends(claim: Worked) -> None:
    counts = claim.counts

    @given(st.integers(19_512_000_000, 40_000_000_000))
    def holds(size: int) -> None:
        _between_the_ends(size, counts)

    holds()


def _between_the_ends(size: int, counts: Counts) -> None:
    file = file_of(size)
    stated, found = by_parameters(file, counts), ends(file, counts, "Q4_K", where="")
    least, most = found["dense_least"], found["dense_most"]
    for split in (stated, least, most):
        assert split.experts.number + split.dense.number == size
    assert least.dense <= stated.dense
    assert stated.dense <= most.dense
    assert least.dense_read <= stated.dense_read
    assert stated.dense_read <= most.dense_read


def test_the_ends_are_what_the_smallest_type_leaves(claim: Worked) -> None:
    found = ends(file_of(20_422_569_492), claim.counts, "Q4_K", where="")
    dense, routed, embedding = claim.counts.dense.number, 32_212_254_720, 248320 * 2048
    assert float(found["dense_least"].dense) == pytest.approx(dense * 4.5 / 8)  # 144 bytes for 256 parameters
    assert float(found["dense_most"].dense) == pytest.approx(20_422_569_492 - routed * 4.5 / 8)
    assert float(found["dense_most"].dense_read) == pytest.approx(20_422_569_492 - routed * 4.5 / 8 - embedding * 4.5 / 8)


def test_a_file_without_room_for_its_parameters_is_refused(claim: Worked) -> None:
    with pytest.raises(InputError, match="smaller than all its parameters at Q4_K"):
        ends(file_of(19_000_000_000), claim.counts, "Q4_K", where="")


def test_the_tensor_table_of_a_file_of_this_kind_lies_between_the_ends(claim: Worked) -> None:
    """A file of the same mixture and quant, by another hand: its table says what is routed experts and what is not."""
    lock = Catalog.open(ROOT).lock("apodex-mini")
    model = model_of_lock(lock, "Q4_K_M")
    loaded = list(model.loaded(draft_head=False))
    experts = sum(int(tensor.size) for tensor in loaded if tensor.routed_expert)
    rest = sum(int(tensor.size) for tensor in loaded if not tensor.routed_expert)
    smallest = min(int(tensor.size) * 8 / _elements(tensor.shape) for tensor in loaded)
    assert smallest == 4.5  # bits of Q4_K, the smallest type in that file
    found = ends(file_of(experts + rest), claim.counts, "Q4_K", where="")
    assert found["dense_least"].dense.number <= rest <= found["dense_most"].dense.number


def _elements(shape: tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count
