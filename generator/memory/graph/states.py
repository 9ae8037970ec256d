"""Recurrent state in a graph: the rows of the sequences of a micro-batch, read before and written after a block.

Source: llama.cpp src/llama-graph.cpp (`build_rs_inp`, `build_rs`), src/llama-memory-recurrent.cpp (the worst case is a full memory:
as many rows as sequences, and once more as many for each token that a draft can be taken back by).
"""

from __future__ import annotations

from collections.abc import Callable

from generator.memory.graph import ops
from generator.memory.graph.builder import Builder
from generator.memory.graph.tensor import Count, Tensor
from generator.memory.states import state_of


class StateInput:
    """Which rows a micro-batch reads (`build_rs_inp`): `main` those of its sequences, `extra` those that are only moved."""

    __slots__ = ("copy", "extra", "main")

    def __init__(self, b: Builder) -> None:
        rows, sequences = b.batch.state_rows, b.batch.sequences
        self.copy = b.input("rs_s_copy", "I32", rows)
        self.main = ops.view_1d(self.copy, sequences)
        self.extra = ops.view_1d(self.copy, rows - sequences)


def state_widths(b: Builder, il: int) -> tuple[int, int]:
    """Give the elements of a row of both parts of a block's state, r and s."""
    state = state_of(b.model, (il,))[0]
    return Count.of(state.r), Count.of(state.s)


def held_state(b: Builder, part: str, il: int, elements: int) -> Tensor:
    """Give the memory of a block's state, `part` r (of convolutions) or s: a row a sequence, and its copies for a draft."""
    return b.held(f"cache_{part}", il, "F32", elements, b.batch.state_rows * (1 + b.batch.rollback))


def read_state(b: Builder, given: StateInput, held: Tensor, get_rows: Callable[[Tensor, Tensor], Tensor] = ops.get_rows) -> Tensor:
    """Give the rows of the sequences (`build_rs`); one row is cleared first, and rows of other sequences are moved.

    `get_rows` takes the state and the numbers of rows where an operation reads them by itself.
    """
    elements = held.ne[0]
    states = ops.reshape(held, elements, held.ne[1])
    b.expand(ops.in_place(ops.scale, ops.view_1d(states, elements)))
    rows = b.expand(get_rows(states, given.main))
    moved = ops.get_rows(states, given.extra)
    b.expand(ops.cpy(moved, ops.view_2d(held, elements, b.batch.state_rows - b.batch.sequences, held.nb[1])))
    return rows


def by_sequence(b: Builder, cur: Tensor, *ne: int) -> Tensor:
    """Give rows of tokens as [..., tokens of a sequence, sequences]."""
    return ops.reshape(cur, *ne, b.batch.tokens // b.batch.sequences, b.batch.sequences)
