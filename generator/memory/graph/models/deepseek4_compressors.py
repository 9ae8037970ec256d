"""Compressors: rows of a cache that stand for several tokens each, and the states they are made from.

A compressor keeps the last tokens' rows and scores in its state. A row of the cache is the mean of the tokens it stands for, weighted by
the scores; where rows overlap, each stands for the tokens of the one before as well.

Source: llama.cpp src/models/deepseek4.cpp (`build_overlap_compressed_kv_from_state` and so on), src/llama-kv-cache-dsv4.cpp
(`dsv4_build_reserve_comp_plan`, `llama_dsv4_comp_state`), src/llama-graph.cpp (`build_inp_dsv4`).
"""

from __future__ import annotations

from generator.memory.architectures import COARSE
from generator.memory.graph import ops
from generator.memory.graph.attention import AttentionInput, write_k
from generator.memory.graph.builder import Builder, CacheView, hadamard
from generator.memory.graph.tensor import Tensor


class Compressor:
    """One kind of compressor, with its inputs: `ratio` tokens a row of `head` elements, of the weights named `name`."""

    def __init__(self, b: Builder, name: str, cache: CacheView, ratio: int, head: int, mask: str, *, rotation: int) -> None:
        self.b, self.name, self.cache, self.ratio, self.head = b, name, cache, ratio, head
        self.overlaps = ratio < COARSE
        self.width, self.state = (2 * head, 2 * ratio) if self.overlaps else (head, ratio)
        n, back, streams = b.n_tokens, b.batch.rollback, cache.streams
        self.rows = self.state * streams
        self.planes = 1 + back
        blocks = n // ratio + b.batch.sequences
        self.positions = self._places("state_pos", n)
        self.kept = [self._places(f"state_persist_{end}_idxs", min(n, self.rows)) for end in ("src", "dst")]
        self.restored = [self._places(f"state_restore_{end}_idxs", self.rows) for end in ("src", "dst")] if back else []
        self.noted = [self._places(f"state_snapshot_{end}_idxs", back * self.rows) for end in ("src", "dst")] if back else []
        self.read = self._places("state_read_idxs", (2 if self.overlaps else 1) * ratio * blocks)
        self.block_positions = self._places("state_write_pos", blocks)
        self.mask = b.input(f"{name}_kq_mask", mask, cache.cells, n // streams, 1, streams)
        self.rotation = b.input("attn_inp_k_rot", "F32", rotation, rotation) if rotation else None
        self.inputs = AttentionInput(cache, b.input("state_write_idxs", "I64", blocks), None, self.mask, None, None)

    def _places(self, name: str, count: int) -> Tensor:
        return self.b.input(f"{self.name}_{name}", "I32", count)

    def store(self, cur: Tensor, il: int) -> None:
        """Make and store the rows that a micro-batch completes, and what its state keeps."""
        b = self.b
        new = (b.linear(f"{self.name}_kv", cur, il, "state_kv"), self._scored(cur, il))
        old = self._before(il)
        bases = [ops.view_2d(part, part.ne[0], self.rows, part.nb[1]) for part in old]
        values, scores = (ops.concat(base, part, 1) for base, part in zip(bases, new, strict=True))
        row = self._rotated_in(self._overlapping(values, scores) if self.overlaps else self._separate(values, scores), il)
        if self.rotation is not None:
            row = hadamard(row, self.rotation)
        b.expand(write_k(b, self.inputs, row, il))
        if self.noted:
            for part, before, current in zip(PARTS, old, new, strict=True):
                b.expand(self._set(part, ops.get_rows(ops.concat(before, current, 1), self.noted[0]), self.noted[1], il))
        for part, current in zip(PARTS, new, strict=True):
            b.expand(self._set(part, ops.get_rows(current, self.kept[0]), self.kept[1], il))

    def _scored(self, cur: Tensor, il: int) -> Tensor:
        scores = self.b.linear(f"{self.name}_gate", cur, il, "state_score")
        return ops.add(scores, ops.get_rows(self.b.w(f"{self.name}_ape", il), self.positions), "state_score_ape")

    def _all(self, part: str, il: int) -> Tensor:
        kept = self.b.held(f"{self.cache.label}state_{part}", il, "F32", self.width, self.state, self.cache.streams * self.planes)
        return ops.view_2d(kept, self.width, self.rows * self.planes, kept.nb[1])

    def _set(self, part: str, rows: Tensor, places: Tensor, il: int) -> Tensor:
        return ops.set_rows(self._all(part, il), rows, places)

    def _before(self, il: int) -> list[Tensor]:
        """The state before a micro-batch, taken back first where drafts can be."""
        old = [self._all(part, il) for part in PARTS]
        if not self.restored:
            return old
        return [self._set(part, ops.get_rows(kept, self.restored[0]), self.restored[1], il) for part, kept in zip(PARTS, old, strict=True)]

    def _separate(self, values: Tensor, scores: Tensor) -> Tensor:
        blocks = self.block_positions.ne[0]
        parts = [ops.reshape(ops.get_rows(part, self.read), self.head, self.ratio, blocks) for part in (values, scores)]
        return _mean(*parts)

    def _overlapping(self, values: Tensor, scores: Tensor) -> Tensor:
        """Each row of the state has two halves: the first for the row that follows, the second for its own."""
        blocks = self.block_positions.ne[0]
        rows = [ops.get_rows(_with_empty_row(part), self.read) for part in (values, scores)]

        def half(part: Tensor) -> Tensor:
            seen = ops.cont(ops.view_2d(part, self.head, self.ratio * blocks, part.nb[1]))
            return ops.reshape(seen, self.head, self.ratio, blocks)

        return _mean(*(ops.concat(half(part), half(part), 1) for part in rows))

    def _rotated_in(self, made: Tensor, il: int) -> Tensor:
        return ops.rope(self.b.norm(made, f"{self.name}_norm", il), self.block_positions, name="state_compress")


PARTS = ("kv", "score")
"""The two tensors of a state."""


def _with_empty_row(state: Tensor) -> Tensor:
    empty = ops.reshape(ops.scale(ops.view_1d(state, state.ne[0])), state.ne[0], 1)
    return ops.concat(state, empty, 1)


def _mean(values: Tensor, scores: Tensor) -> Tensor:
    """The mean of the tokens of each row, weighted by their scores."""
    values, scores = (ops.cont(ops.permute(part, 1, 0, 2, 3)) for part in (values, scores))
    total = ops.sum_rows(ops.mul(values, ops.soft_max(scores)))
    return ops.cont(ops.permute(total, 1, 0, 2, 3))
