from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.config.geometry import Geometry
from generator.config.shapes import Shape, shapes_of
from generator.config.sharing import converted, shared_out, stays_float
from generator.errors import InputError
from tests.config.heads import HEADS, QUANTS, config_of, header

SMALL: list[Shape] = [
    ("token_embd.weight", (512, 1000)),
    ("output.weight", (512, 1000)),
    ("output_norm.weight", (512,)),
    ("blk.0.attn_q.weight", (512, 512)),
    ("blk.0.ffn_gate_inp.weight", (512, 4)),
    ("blk.0.ffn_up_exps.weight", (512, 256, 4)),
]


def sizes(table: list[tuple[str, tuple[int, ...]]], quant: str, size: int) -> dict[str, int]:
    return {each.name: each.size for each in shared_out(table, quant, size)}


def test_what_has_a_type_of_its_own_keeps_it_and_the_rest_shares_by_parameters() -> None:
    # the head: 512000 elements at 210 bytes a block of 256; in 32 bits: a norm of 512 and a router of 2048
    known = 512000 // 256 * 210 + 4 * (512 + 2048)
    # left to share: 512000 of the embedding, 262144 of a matrix, 524288 of the experts
    left = 512000 + 262144 + 524288
    shared = sizes(SMALL, "Q4_K_M", known + left)
    assert shared == {
        "token_embd.weight": 512000,
        "output.weight": 420000,
        "output_norm.weight": 2048,
        "blk.0.attn_q.weight": 262144,
        "blk.0.ffn_gate_inp.weight": 8192,
        "blk.0.ffn_up_exps.weight": 524288,
    }


def test_a_tied_embedding_is_the_head_of_a_mixture() -> None:
    tied = [each for each in SMALL if each[0] != "output.weight"]
    assert sizes(tied, "Q4_K_M", 2_000_000)["token_embd.weight"] == 420000


def test_experts_in_a_format_take_what_it_takes_and_the_rest_what_is_left() -> None:
    # MXFP4: 17 bytes for 32 elements
    shared = sizes(SMALL, "MXFP4", 2_000_000)
    assert shared["blk.0.ffn_up_exps.weight"] == 524288 // 32 * 17
    assert sum(shared.values()) == 2_000_000


def test_the_converter_writes_eight_bits_and_a_scale_for_matrices_and_32_bits_for_the_rest() -> None:
    table = {each.name: (each.type, each.size) for each in converted(SMALL, "Q8_0")}
    assert table["output.weight"] == ("Q8_0", 512000 // 32 * 34)
    assert table["blk.0.ffn_gate_inp.weight"] == ("F32", 4 * 2048)
    assert table["output_norm.weight"] == ("F32", 4 * 512)


def test_the_converter_reproduces_a_known_file_of_its_making_to_the_byte() -> None:
    model = header("qwen35-4b-tied")
    table = converted(shapes_of(Geometry(model.architecture, config_of(model))), "Q8_0")
    assert {each.name: (each.type, each.size) for each in table} == {each.name: (each.type, int(each.size)) for each in model.tensors}


@pytest.mark.parametrize("name", HEADS)
def test_what_stays_in_32_bits_is_what_every_header_has_in_32_bits(name: str) -> None:
    tensors = header(name).tensors
    assert {each.name for each in tensors if stays_float(each.name, each.shape)} == {each.name for each in tensors if each.type == "F32"}


@pytest.mark.parametrize("name", HEADS)
def test_a_table_adds_up_to_the_file(name: str) -> None:
    model = header(name)
    size = sum(int(tensor.size) for tensor in model.tensors) + 12_345_678
    table = shared_out(shapes_of(Geometry(model.architecture, config_of(model))), QUANTS[name], size)
    assert sum(each.size for each in table) == size
    assert min(each.size for each in table) > 0


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=20), st.integers(1, 10**12))
def test_shares_are_whole_add_up_and_are_their_part_but_for_what_rounding_leaves(rows: list[int], size: int) -> None:
    shapes: list[Shape] = [(f"blk.{index}.attn_q.weight", (32, count)) for index, count in enumerate(rows)]
    first, *others = shared_out(shapes, "Q4_0", size)
    assert first.size + sum(each.size for each in others) == size
    assert [each.size for each in others] == [size * count // sum(rows) for count in rows[1:]]
    assert 0 <= first.size - size * rows[0] // sum(rows) < len(rows)


@pytest.mark.parametrize("name", HEADS)
def test_experts_of_one_shape_have_one_size(name: str) -> None:
    model = header(name)
    size = sum(int(tensor.size) for tensor in model.tensors)
    table = shared_out(shapes_of(Geometry(model.architecture, config_of(model))), QUANTS[name], size)
    kinds = {(each.name.split(".", 2)[2], each.shape, each.size) for each in table if "_exps.weight" in each.name}
    assert len(kinds) == len({(kind, shape) for kind, shape, _ in kinds})


@pytest.mark.parametrize(("quant", "size"), [("Q4_K_M", 1000), ("Q4_K_M", 420000 + 10240), ("MXFP4", 278528)])
def test_a_size_without_room_for_the_shape_is_refused(quant: str, size: int) -> None:
    with pytest.raises(InputError, match=f"{size:,} bytes are no size of a {quant} file of this shape"):
        shared_out(SMALL, quant, size)


@pytest.mark.parametrize(
    ("quant", "row", "kind"),
    [
        ("Q4_K_M", 512, "Q4_K"),
        ("UD-Q4_K_XL", 512, "Q4_K"),
        ("Q4_K_M", 96, "Q8_0"),  # 256 does not divide the row, 32 does
        ("Q4_K_M", 100, "F16"),
        ("IQ4_XS", 512, "IQ4_XS"),
        ("IQ2_M", 512, "IQ2_XXS"),
        ("BF16", 512, "BF16"),
        ("Q4_0", 512, "Q4_0"),
    ],
)
def test_a_tensor_stands_in_a_graph_by_the_type_its_quant_is_called_after(quant: str, row: int, kind: str) -> None:
    table = [*SMALL, ("blk.0.attn_k.weight", (row, 64))]
    assert shared_out(table, quant, 10**7)[-1].type == kind
