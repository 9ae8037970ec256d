"""Headers that no graph can be made of: the plan says so and why, and nothing else ever comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from math import prod
from pkgutil import iter_modules

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.errors import GenError
from generator.facts import Fact
from generator.gguf.types import block
from generator.memory.graph import ops
from generator.memory.graph.tensor import Tensor
from generator.memory.graph.tensor import given as tensor
from generator.memory.graph.unknown import UnknownGraphError, of_header
from generator.memory.model import Model
from generator.memory.plan import Plan, make_plan
from generator.memory.settings import parse_flags
from tests.memory.graph import headers
from tests.memory.graph.headers import decoder, delta_nets
from tests.memory.graph.headers.compact import Header, model_of

Row = list[object]

MODULES = [import_module(f"{headers.__name__}.{module.name}") for module in iter_modules(headers.__path__)]

HEADERS: dict[str, Header] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, tuple) and len(value) == 3
}


def rows_of(model: Model) -> list[Row]:
    return [[one.name, one.type, list(one.shape), int(one.size)] for one in model.tensors]


def rebuilt(metadata: Mapping[str, object], rows: list[Row]) -> Model:
    return Model.build(
        metadata, rows, Fact("header.metadata", dict(metadata), origin="header"), Fact("header.tensors", rows, origin="header")
    )


def planned(model: Model, flags: str = "-ngl 99 -c 4096 -np 1") -> Plan:
    return make_plan(model, parse_flags(flags, "llama-server"))


def changed(header: Header, **values: object) -> Model:
    """Give a model with other hyperparameters; a dot of their names is written as two underscores."""
    model = model_of(header)
    new = {f"{model.architecture}.{name.replace('__', '.')}": value for name, value in values.items()}
    return rebuilt({**model.metadata, **new}, rows_of(model))


def test_a_missing_tensor_is_named_and_the_margin_stands_for_compute() -> None:
    model = model_of(decoder.QWEN2)
    plan = planned(rebuilt(model.metadata, [row for row in rows_of(model) if row[0] != "blk.1.attn_q.weight"]))
    assert plan.unknown_graph == "the header has no 'blk.1.attn_q.weight'"
    assert (plan.gpus[0].compute, plan.host.compute) == (2**30, 0)


def test_a_model_without_an_embedding_has_no_head_either() -> None:
    model = model_of(decoder.QWEN2)
    outside = {"token_embd.weight", "output.weight"}
    plan = planned(rebuilt(model.metadata, [row for row in rows_of(model) if row[0] not in outside]))
    assert plan.unknown_graph == "the header has no 'token_embd.weight'"


def test_matrices_that_have_no_product_are_named_with_their_shapes() -> None:
    model, rows = model_of(decoder.QWEN2), []
    for name, kind, shape, size in rows_of(model):
        assert isinstance(shape, list)
        rows.append([name, kind, shape[::-1] if name == "blk.0.ffn_down.weight" else shape, size])
    reason = planned(rebuilt(model.metadata, rows)).unknown_graph
    assert reason is not None
    assert "'blk.0.ffn_down.weight' [" in reason
    assert reason.endswith("do not go together in mul_mat")


def test_hyperparameters_that_contradict_the_tensors_are_no_graph() -> None:
    reason = planned(changed(decoder.QWEN2, attention__head_count_kv=0)).unknown_graph
    assert reason is not None
    assert "reshape" in reason or "do not fit together" in reason


def test_blocks_that_look_up_are_among_those_there_are() -> None:
    with pytest.raises(GenError, match=r"'qwen4exp\.ple\.layers' names block 256, and the header states \d+ blocks"):
        planned(changed(delta_nets.QWEN4, ple__layers=(0, 256)))


def test_a_draft_head_without_a_graph_says_so_too() -> None:
    model = model_of(delta_nets.QWEN35)
    heads = int(model.draft_blocks)
    assert heads  # else the test says nothing
    rows = [row for row in rows_of(model) if not str(row[0]).endswith("nextn.eh_proj.weight")]
    plan = planned(rebuilt(model.metadata, rows), "-ngl 99 -c 4096 -np 1 --spec-type draft-mtp")
    assert plan.unknown_graph is None
    assert plan.draft is not None
    assert plan.draft.buffers == ()
    assert plan.draft.unknown_graph == f"the header has no 'blk.{int(model.loaded_blocks)}.nextn.eh_proj.weight'"


def test_whatever_else_goes_wrong_says_where() -> None:
    with pytest.raises(UnknownGraphError, match=r"do not fit together \(ZeroDivisionError in test_unknown, line \d+\)"), of_header():
        _ = 1 // 0


def test_an_error_of_ours_is_left_as_it_is() -> None:
    with pytest.raises(GenError, match="as it is"), of_header():
        raise GenError("as it is")


def f32(*shape: int) -> Tensor:
    return tensor("t", "F32", *shape)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ops.mul_mat(f32(8, 4), f32(7, 2)),
        lambda: ops.mul_mat(f32(8, 4, 3), f32(8, 2, 4)),
        lambda: ops.mul_mat_id(f32(8, 4, 2), f32(7, 1, 5), f32(2, 5)),
        lambda: ops.mul_mat_id(f32(8, 4, 2), f32(8, 1, 5), f32(2, 6)),
        lambda: ops.add(f32(8, 4), f32(3)),
        lambda: ops.get_rows(f32(8, 4, 2), f32(3, 5)),
        lambda: ops.set_rows(f32(8, 4), f32(7, 2), f32(2)),
        lambda: ops.cpy(f32(8), f32(7)),
        lambda: ops.cont(f32(8, 4), 8, 5),
        lambda: ops.concat(f32(8, 4), f32(8, 5), 0),
        lambda: ops.repeat(f32(3), 8),
        lambda: ops.argsort_top_k(f32(8, 4), 9),
        lambda: ops.top_k(f32(8, 4), 9),
        lambda: ops.glu(f32(8, 4), f32(8, 5)),
        lambda: ops.flash_attn(f32(64, 5, 8), f32(32, 9, 2), f32(64, 9, 2), None),
        lambda: ops.ssm_conv(f32(8, 4), f32(4, 5)),
        lambda: ops.reshape(f32(8, 4), 8, 5),
        lambda: ops.view_1d(f32(8), 9),
        lambda: ops.view_1d(f32(8), -1),
    ],
)
def test_operands_are_held_to_what_the_engine_asserts(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(UnknownGraphError):
        wrong()


def test_a_misfit_is_shown_with_names_and_shapes() -> None:
    with pytest.raises(UnknownGraphError, match=r"^'up' \[8, 4\] and 'norm' \[7, 2\] do not go together in mul_mat$"):
        ops.mul_mat(tensor("up", "F32", 8, 4), tensor("norm", "F32", 7, 2))


# --- whatever a header says ------------------------------------------------------------------------

NUMBERS = st.sampled_from([0, 1, 2, 3, 7, 8, 64, 100, 128, 513, 4096, 2**31 - 1, 2**32 - 1, 2**62, -1])
VALUES = st.one_of(NUMBERS, st.sampled_from([True, 1.5, float("nan"), float("inf"), "", "x"]), st.lists(NUMBERS, max_size=9).map(tuple))
LENGTHS = st.sampled_from([0, 1, 2, 32, 256, 1024, 2**20, 2**40])
FLAGS = (
    *("", "-ngl 99 -c 4096 -np 1", "-ngl 99 -c 4096 -fa off -np 3", "-ngl 2 -c 8192", "-nkvo -ngl 99 -c 2048 --swa-full"),
    *("-ngl 99 -ncmoe 3 -c 4096 -ctk q8_0 -ctv q8_0", "-ngl 99 -c 4096 -np 2 -kvu", "--spec-type draft-mtp -ngl 99 -c 4096"),
)


@given(st.data())
@settings(max_examples=150)
def test_any_header_gives_a_plan_or_an_error_of_ours(data: st.DataObject) -> None:
    model = model_of(HEADERS[data.draw(st.sampled_from(sorted(HEADERS)))])
    metadata, rows = dict(model.metadata), rows_of(model)
    for _ in range(data.draw(st.integers(1, 3))):
        _change(data, metadata, rows, f"{model.architecture}.")
    try:
        plan = planned(rebuilt(metadata, rows), data.draw(st.sampled_from(FLAGS)))
    except GenError:
        return
    for device in (plan.host, *plan.gpus):
        assert min(device.weights, device.kv, device.recurrent, device.compute) >= 0


def _change(data: st.DataObject, metadata: dict[str, object], rows: list[Row], prefix: str) -> None:
    keys = sorted(key for key in metadata if key.startswith(prefix))
    what = data.draw(st.sampled_from(["value", "no key", "no tensor", "shape", "name"]))
    if what == "value":
        metadata[data.draw(st.sampled_from(keys))] = data.draw(VALUES)
    elif what == "no key":
        del metadata[data.draw(st.sampled_from(keys))]
    else:
        row = rows[data.draw(st.integers(0, len(rows) - 1))]
        if what == "no tensor":
            rows.remove(row)
        elif what == "name":
            row[0] = rows[data.draw(st.integers(0, len(rows) - 1))][0]
        else:
            per_block, block_bytes = block(str(row[1]))
            shape = data.draw(st.lists(LENGTHS, min_size=1, max_size=4))
            shape[0] -= shape[0] % per_block
            row[2], row[3] = shape, prod(shape) // per_block * block_bytes
