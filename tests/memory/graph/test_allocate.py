"""Where tensors are put: small graphs whose every move is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from generator.memory.graph import ops
from generator.memory.graph.allocate import Arena, Peak, allocate
from generator.memory.graph.tensor import NONE, Tensor
from generator.memory.graph.tensor import given as leaf_named

KIB = 1024


def leaf(name: str, elements: int) -> Tensor:
    made = leaf_named(name, "F32", elements)
    made.is_input = True
    return made


def weight(name: str, *ne: int) -> Tensor:
    made = leaf_named(name, "F32", *ne)
    made.home, made.is_weight = 0, True
    return made


def peak(leafs: list[Tensor], nodes: list[Tensor], alignment: int = 32) -> Peak:
    for tensor in (*leafs, *nodes):
        tensor.device = 0
    return allocate(leafs, nodes, [alignment], lambda tensor: tensor.nbytes)[0]


def names(found: Peak) -> list[str]:
    return sorted(tensor.name for tensor, _ in found.held)


def test_room_is_given_back_when_nothing_reads_a_tensor_any_more() -> None:
    # x 4 KiB, a = W x 4 KiB (x is free), b = W a 4 KiB takes the place of x: two at a time
    x, w = leaf("x", KIB), weight("W", KIB, KIB)
    a = ops.mul_mat(w, x, "a")
    b = ops.mul_mat(w, a, "b")
    assert peak([x, w], [a, b]).size == 2 * 4 * KIB


def test_an_operation_of_one_element_writes_over_its_operand() -> None:
    x, w = leaf("x", KIB), weight("W", KIB, KIB)
    a = ops.mul_mat(w, x, "a")
    b = ops.unary(a, "b")
    found = peak([x, w], [a, b])
    assert found.size == 2 * 4 * KIB  # x and a; b is where a was


def test_an_operand_that_is_read_again_is_not_written_over() -> None:
    x, w = leaf("x", KIB), weight("W", KIB, KIB)
    a = ops.mul_mat(w, x, "a")
    b = ops.unary(a, "b")
    c = ops.add(b, a, "c")
    found = peak([x, w], [a, b, c])
    assert found.size == 2 * 4 * KIB  # x is free by the time b needs room
    assert names(found) == ["a", "x"]


def test_a_view_keeps_what_it_shows() -> None:
    x, w = leaf("x", KIB), weight("W", KIB, KIB)
    a = ops.mul_mat(w, x, "a")
    half = ops.view_1d(a, KIB // 2, "half")
    b = ops.mul_mat(w, ops.cont(x), "b")
    c = ops.mul_mat(weight("V", KIB // 2, KIB), half, "c")
    nodes = [a, half, b.src[1], b, c]
    assert names(peak([x, w], nodes)) == ["", "a", "x"]  # x while it is copied, and a for its half; b then takes the place of x


def test_an_output_is_never_given_back() -> None:
    x, w = leaf("x", KIB), weight("W", KIB, KIB)
    a = ops.mul_mat(w, x, "a")
    a.is_output = True
    b = ops.mul_mat(w, a, "b")
    c = ops.mul_mat(w, b, "c")
    assert names(peak([x, w], [a, b, c])) == ["a", "b", "c"]


def test_the_smallest_gap_that_is_large_enough_is_taken() -> None:
    arena = Arena(1)
    first, wall, second, end = arena.take(100), arena.take(1), arena.take(50), arena.take(1)
    assert (first, wall, second, end) == (0, 100, 101, 151)
    arena.give_back(first, 100)
    arena.give_back(second, 50)
    assert arena.take(40) == second
    assert arena.take(60) == first
    assert arena.take(60) == 152  # nothing is left that is large enough


def test_neighbouring_gaps_become_one() -> None:
    arena = Arena(1)
    parts = [arena.take(10) for _ in range(4)]
    for address in (parts[0], parts[2], parts[1]):
        arena.give_back(address, 10)
    assert arena.take(30) == 0
    assert arena.highest == 40


def test_sizes_are_whole_units_of_alignment() -> None:
    x = leaf("x", 1)
    assert peak([x], [], alignment=128).size == 128


moves = st.lists(st.tuples(st.integers(1, 300), st.integers(0, 20)), min_size=1, max_size=60)


@given(moves)
def test_no_two_tensors_overlap_and_the_peak_is_the_highest_end(wanted: list[tuple[int, int]]) -> None:
    arena, held, highest = Arena(1), list[tuple[int, int]](), 0
    for size, drop in wanted:
        address = arena.take(size)
        assert all(address + size <= other or other + length <= address for other, length in held)
        held.append((address, size))
        highest = max(highest, address + size)
        if drop < len(held):
            arena.give_back(*held.pop(drop))
    assert arena.highest == highest
    for address, size in held:
        arena.give_back(address, size)
    assert len(arena.gaps) == 1 and arena.gaps[0][0] == 0


def test_a_dependency_keeps_a_tensor_until_then() -> None:
    x, w = leaf("x", KIB), weight("W", KIB, KIB)
    a = ops.mul_mat(w, x, "a")
    b = ops.mul_mat(w, a, "b")
    c = ops.mul_mat(w, b, "c")
    kept = Tensor(NONE, "F32", a.ne, (a,), "kept", a.nb)
    kept.view = a
    assert peak([x, w], [a, b, c, kept]).size == 3 * 4 * KIB
