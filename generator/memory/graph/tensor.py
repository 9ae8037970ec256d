"""A tensor of a compute graph: its shape and strides, what it is made of, and what it takes.

Source: llama.cpp ggml/src/ggml.c (`ggml_new_tensor_impl`, `ggml_nbytes`, `ggml_are_same_layout`). Shapes are four whole numbers,
innermost first, as the engine has them; strides and sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from generator.gguf.types import block
from generator.quantity import Quantity

Shape = tuple[int, int, int, int]

NONE, VIEW = "NONE", "VIEW"
"""Operations without one: a tensor that is given, and one that is another's memory seen otherwise."""

VIEWS = frozenset({VIEW, "RESHAPE", "PERMUTE", "TRANSPOSE"})
"""Operations that compute nothing (ggml/src/ggml-backend.cpp, `ggml_is_view_op`)."""

IN_PLACE = frozenset(
    {
        *("FILL", "SCALE", "DIAG_MASK_ZERO", "DIAG_MASK_INF", "ADD", "ADD_ID", "ADD1", "SUB", "MUL", "DIV", "SQR", "SQRT", "LOG"),
        *("UNARY", "ROPE", "ROPE_BACK", "SILU_BACK", "RMS_NORM", "RMS_NORM_BACK", "CLAMP", "SOFT_MAX", "SOFT_MAX_BACK"),
    }
)
"""Operations that may write over an operand (ggml/src/ggml-alloc.c, `ggml_op_can_inplace`)."""


class Count(int):
    """A whole number that knows what it counts, so that a shape made of it does: `quantity` gives the number with its derivation."""

    quantity: Callable[[], Quantity]

    @staticmethod
    def of(quantity: Quantity) -> Count:
        """Give the count of a quantity."""
        made = Count(int(quantity))
        made.quantity = lambda: quantity
        return made

    @staticmethod
    def lazily(value: int, quantity: Callable[[], Quantity]) -> Count:
        """Give a count whose quantity is made when it is asked for."""
        made = Count(value)
        made.quantity = quantity
        return made


class Tensor:
    """One tensor. `home` is the device that already holds it (a weight, a cache), None for one that the graph has to make room for.

    `view` is the tensor whose memory it shows, `dense` tells that it was made without gaps. `is_weight` are those of the model,
    `is_input` those the host fills in, `is_output` those that stay until they are read, and `pinned` is the device a tensor is computed
    on whatever the scheduler would choose. The scheduler sets `device`; the allocator keeps its own account in the rest.
    """

    __slots__ = (
        *(
            "dense",
            "device",
            "home",
            "is_input",
            "is_output",
            "is_weight",
            "name",
            "nb",
            "ne",
            "op",
            "pinned",
            "seen",
            "src",
            "type",
            "view",
        ),
        *("address", "children", "held", "place", "size", "views"),
    )

    address: int
    children: int
    held: bool
    place: int
    size: int
    views: int

    def __init__(self, op: str, kind: str, ne: Shape, src: tuple[Tensor, ...] = (), name: str = "", nb: Shape | None = None) -> None:
        self.op, self.type, self.ne, self.src, self.name = op, kind, ne, src, name
        self.dense = nb is None
        self.nb = strides(kind, ne) if nb is None else nb
        self.view: Tensor | None = None
        self.home: int | None = None
        self.is_weight = self.is_input = self.is_output = self.seen = False
        self.pinned: int | None = None
        self.device: int | None = None
        self.children = self.views = 0
        self.held = False

    @property
    def nbytes(self) -> int:
        """Bytes from its first element to its last, 0 where it has none."""
        if self.dense:
            return self.nb[3] * self.ne[3]
        if 0 in self.ne:
            return 0
        per_block, block_bytes = block(self.type)
        if per_block == 1:
            return block_bytes + sum((count - 1) * stride for count, stride in zip(self.ne, self.nb, strict=True))
        rest = sum((count - 1) * stride for count, stride in zip(self.ne[1:], self.nb[1:], strict=True))
        return self.ne[0] * self.nb[0] // per_block + rest

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.ne)

    @property
    def rows(self) -> int:
        """Number of rows (`ggml_nrows`)."""
        return self.ne[1] * self.ne[2] * self.ne[3]

    @property
    def is_contiguous(self) -> bool:
        """Tell whether its elements lie one after the other; the stride of a dimension of one does not matter."""
        dense = strides(self.type, self.ne)
        return all(stride == wanted or count == 1 for count, stride, wanted in zip(self.ne, self.nb, dense, strict=True))

    def has_layout_of(self, other: Tensor) -> bool:
        """Tell whether type, shape and strides are the same."""
        return self.type == other.type and self.ne == other.ne and self.nb == other.nb

    def __repr__(self) -> str:
        return f"{self.op} {self.name} {self.type}{list(self.ne)}"


def element_bytes(kind: str) -> int:
    """Give the bytes of an element of a type, of a block where elements come in blocks (`ggml_type_size`)."""
    return block(kind)[1]


def strides(kind: str, ne: Shape) -> Shape:
    """Give the strides in bytes of a tensor without gaps."""
    per_block, block_bytes = block(kind)
    row = block_bytes * (ne[0] // per_block)
    plane = row * ne[1]
    return (block_bytes, row, plane, plane * ne[2])


def row_size(kind: str, elements: int) -> int:
    """Give the bytes of a row (`ggml_row_size`)."""
    per_block, block_bytes = block(kind)
    return block_bytes * elements // per_block


def given(name: str, kind: str, *ne: int) -> Tensor:
    """Give a tensor that nothing computes."""
    return Tensor(NONE, kind, shape(*ne), (), name)


def shape(*ne: int) -> Shape:
    """Give a shape of four from up to four."""
    a, b, c, d = (*ne, 1, 1, 1)[:4]
    return (a, b, c, d)
