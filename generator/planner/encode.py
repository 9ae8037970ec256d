"""Traced graphs as rows of whole numbers, in which what is alike is written once.

A graph is cut into segments: a new one begins where a tensor of another block's is read first. A row is one tensor: operation, type, shape
and strides, flags, and operands, each of them by what it is to this row; so blocks of a kind come to the same rows, and the same segment.
An operand is a number whose rest by 4 says what the rest of it means:

0. so many tensors before (0 is the tensor itself)
1. one of the tensors that any block may read, in the order they were made
2. a weight, by its role: of the segment's block, or `/name` for one outside of blocks, `@name` for one that each device has, `!` for the
   head that is the embedding once more
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from generator.memory.graph.tensor import NONE, Tensor
from generator.planner.symbols import Symbol, UncoveredError
from generator.planner.trace import TIED_HEAD, Trace

INPUT, OUTPUT, PINNED, HELD, GLOBAL, VIEW_OF = 1, 2, 4, 8, 16, 32
"""Flags of a row; from `VIEW_OF` up, which operand's memory it shows, counted from 1."""

_WEIGHT = re.compile(r"blk\.(\d+)\.(.*)")


@dataclass(slots=True)
class Table:
    """Things by number, in the order they came up."""

    numbers: dict[object, int] = field(default_factory=dict)

    def number(self, thing: object) -> int:
        """Give the number of a thing, a new one for a new thing."""
        return self.numbers.setdefault(thing, len(self.numbers))

    @property
    def things(self) -> list[object]:
        """The things in order."""
        return list(self.numbers)


@dataclass(frozen=True, slots=True)
class _Cut:
    """A trace cut into segments: the block of each, and where it begins and ends; the first is of no block (-1)."""

    blocks: tuple[int, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph as segments, and the block that each is of."""

    segments: tuple[int, ...]
    blocks: tuple[int, ...]


class Encoder:
    """The tables that all graphs of a model share."""

    def __init__(self) -> None:
        self.terms, self.shapes, self.rows, self.segments = Table(), Table(), Table(), Table()
        self.operations, self.types, self.roles = Table(), Table(), Table()
        self._shapes: dict[tuple[object, ...], int] = {}
        self.shapes.number(())

    def encoded(self, trace: Trace) -> Graph:
        """Give a trace as segments by their numbers.

        Any block may read what comes of inputs alone.
        """
        tensors = trace.tensors
        cut = _cut(tensors)
        places: dict[int, int] = {}
        shared: dict[int, int] = {}
        made: list[int] = []
        begin = 0
        for block, end in zip(cut.blocks, cut.ends, strict=True):
            rows = []
            for place in range(begin, end):
                tensor = tensors[place]
                places[id(tensor)] = place
                flags = _flags(tensor, block)
                if tensor.is_input or (tensor.src and all(id(operand) in shared for operand in tensor.src if operand is not tensor)):
                    flags += GLOBAL
                if flags & GLOBAL:
                    shared[id(tensor)] = len(shared)
                operands = [self._operand(operand, place, places, shared) for operand in tensor.src]
                kept = (self.operations.number(tensor.op), self.types.number(tensor.type))
                sizes = (self._shape(tensor.ne), 0 if tensor.dense else self._shape(tensor.nb))
                rows.append(self.rows.number((*kept, *sizes, flags, *operands)))
            made.append(self.segments.number(tuple(rows)))
            begin = end
        return Graph(tuple(made), cut.blocks)

    def _operand(self, operand: Tensor, place: int, places: Mapping[int, int], shared: Mapping[int, int]) -> int:
        if operand.is_weight:
            return 4 * self.roles.number(role_of(operand)) + 2
        if id(operand) in shared:
            return 4 * shared[id(operand)] + 1
        return 4 * (place - places[id(operand)])

    def _shape(self, numbers: Sequence[int]) -> int:
        key = tuple(number.polynomial if type(number) is Symbol else int(number) for number in numbers)
        if key not in self._shapes:
            self._shapes[key] = self.shapes.number(tuple(self.term(number) for number in numbers))
        return self._shapes[key]

    def term(self, number: int) -> int:
        """Give the number of a term: a polynomial's text, or a number."""
        return self.terms.number(number.polynomial.text if isinstance(number, Symbol) else int(number))


def _flags(tensor: Tensor, block: int) -> int:
    flags = INPUT * tensor.is_input + OUTPUT * tensor.is_output + PINNED * (tensor.pinned is not None)
    if tensor.home is not None:
        if tensor.home != block:
            raise UncoveredError(f"{tensor.name} is read first by block {block}")
        flags += HELD
    return flags if tensor.view is None else flags + VIEW_OF * (1 + _shown(tensor))


def role_of(weight: Tensor) -> str:
    """Give what a weight is to the block that reads it."""
    if weight.home == TIED_HEAD:
        return "!"
    found = _WEIGHT.fullmatch(weight.name)
    if found is not None:
        return found[2]
    return f"{'/' if weight.home is not None and weight.home < 0 else '@'}{weight.name}"


def _shown(tensor: Tensor) -> int:
    """Give which operand's memory a view shows."""
    for index, operand in enumerate(tensor.src):
        if tensor.view is (operand.view or operand):
            return index
    raise UncoveredError(f"{tensor!r} shows what it does not read")


def _cut(tensors: Sequence[Tensor]) -> _Cut:
    """Cut a trace where a tensor of another block is read first."""
    blocks, ends = [-1], [0]
    for place, tensor in enumerate(tensors):
        named = {block for each in (tensor, *tensor.src) if (block := _block_of(each)) is not None}
        if len(named) > 1:
            raise UncoveredError(f"{tensor!r} is of several blocks")
        for block in named:
            if block != blocks[-1]:
                ends[-1] = place
                blocks.append(block)
                ends.append(place)
    ends[-1] = len(tensors)
    return _Cut(tuple(blocks), tuple(ends))


def _block_of(tensor: Tensor) -> int | None:
    """Give the block that a weight or a cache is of."""
    if tensor.is_weight:
        if tensor.home is not None and tensor.home >= 0:
            return tensor.home
        found = _WEIGHT.fullmatch(tensor.name)
        return int(found[1]) if found else None
    return tensor.home if tensor.op == NONE else None
