"""Which device computes what, and what is copied there first."""

from __future__ import annotations

from generator.memory.graph import ops
from generator.memory.graph.schedule import MIN_OFFLOADED_BATCH, Devices, Schedule, schedule
from generator.memory.graph.tensor import NONE, Tensor, given

GPU, HOST = 0, 1


def weight(name: str, home: int, width: int = 64) -> Tensor:
    made = given(name, "F32", width, width)
    made.home, made.is_weight = home, True
    return made


def batch(rows: int) -> Tensor:
    made = given("x", "F32", 64, rows)
    made.is_input = True
    return made


def run(leafs: list[Tensor], nodes: list[Tensor], **settings: object) -> Schedule:
    return schedule(leafs, nodes, Devices(HOST, **settings))  # type: ignore[arg-type]


def copies(planned: Schedule) -> list[tuple[str, int | None]]:
    return [(node.name, node.device) for node in planned.nodes if node.op == NONE and node.view is None]


def test_a_product_is_computed_where_its_weight_is_and_inputs_are_copied_there() -> None:
    x, w = batch(1), weight("W", GPU)
    y = ops.mul_mat(w, x, "y")
    planned = run([x, w], [y])
    assert (x.device, y.device) == (HOST, GPU)
    assert copies(planned) == [("x", GPU)]


def test_a_device_takes_over_a_product_with_many_rows_and_is_brought_the_weight() -> None:
    x, w = batch(MIN_OFFLOADED_BATCH), weight("W", HOST)
    y = ops.mul_mat(w, x, "y")
    assert copies(run([x, w], [y])) == [("W", GPU), ("x", GPU)]
    assert y.device == GPU


def test_it_does_not_for_fewer_rows_nor_where_it_is_told_not_to() -> None:
    for rows, offloads in ((MIN_OFFLOADED_BATCH - 1, True), (MIN_OFFLOADED_BATCH, False)):
        x, w = batch(rows), weight("W", HOST)
        y = ops.mul_mat(w, x, "y")
        assert copies(run([x, w], [y], offloads=offloads)) == []
        assert y.device == HOST


def test_what_has_no_weight_goes_with_its_neighbours_on_the_device() -> None:
    x, w = batch(1), weight("W", GPU)
    before, between, after = ops.unary(x, "before"), ops.mul_mat(w, ops.unary(x), "between"), None
    after = ops.unary(between, "after")
    run([x, w], [before, between.src[1], between, after])
    assert [node.device for node in (before, between, after)] == [GPU, GPU, GPU]


def test_a_tensor_is_copied_once_for_all_that_read_it() -> None:
    x, w, v = batch(1), weight("W", GPU), weight("V", GPU)
    first, second = ops.mul_mat(w, x, "first"), ops.mul_mat(v, x, "second")
    planned = run([x, w, v], [first, second])
    assert copies(planned) == [("x", GPU)]
    assert first.src[1] is second.src[1]


def test_weights_that_are_brought_come_one_part_after_the_other() -> None:
    x, w, v = batch(64), weight("W", HOST), weight("V", HOST)
    first = ops.mul_mat(w, x, "first")
    second = ops.mul_mat(v, first, "second")
    planned = run([x, w, v], [first, second])
    order = [node.name for node in planned.nodes if node.op != NONE or node.view is None]
    assert order == ["W", "x", "first", "V", "second"]  # V is brought when W can go


def test_what_a_device_does_not_compute_is_left_to_the_host() -> None:
    x, w = batch(1), weight("W", GPU)
    odd = ops.unary(ops.mul_mat(w, x, "y"), "odd")
    last = ops.mul_mat(w, odd, "last")
    planned = run([x, w], [odd.src[0], odd, last], computes=lambda device, node: device == HOST or node.name != "odd")
    assert (odd.device, last.device) == (HOST, GPU)
    assert copies(planned) == [("x", GPU), ("y", HOST), ("odd", GPU)]


def test_a_pipeline_keeps_every_input_and_every_copy_several_times() -> None:
    x, w = batch(1), weight("W", GPU)
    y = ops.mul_mat(w, x, "y")
    planned = run([x, w], [y], copies=4)
    kept = [leaf for leaf in planned.leafs if leaf.name == "x" and leaf.is_output]
    assert len([leaf for leaf in kept if leaf.device == HOST]) == 5  # the input among the leafs of the graph as well
    assert len([leaf for leaf in kept if leaf.device == GPU]) == 4
