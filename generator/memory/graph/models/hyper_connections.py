"""Hyper-connections: several residual streams that each part of a block reads as one and writes back to all.

What a part reads, how streams are mixed and what is written back are one operation each where the device of a block knows it.

Source: llama.cpp src/models/deepseek4.cpp (`build_hc_pre`, `build_hc_post`, `build_hc_head`, `build_hc_sinkhorn`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from generator.memory.graph import ops
from generator.memory.graph.builder import Builder
from generator.memory.graph.tensor import Tensor, given


@dataclass(frozen=True, slots=True)
class Fused:
    """Which of the three are one operation (src/llama-context.cpp, `resolve_fused_ops`)."""

    read: bool
    mix: bool
    write: bool

    @staticmethod
    def of(b: Builder) -> Fused:
        """Tell which a graph has: those that the devices of all blocks compute."""
        return Fused(*(f"DSV4_HC_{step}" not in b.missing for step in ("PRE", "COMB", "POST")))


@dataclass(frozen=True, slots=True)
class Streams:
    """The residual streams at the start of a part, what the part writes to each of them, and how they are mixed."""

    residual: Tensor
    written: Tensor
    mixed: Tensor


def started(b: Builder, cur: Tensor) -> Tensor:
    """Give the streams that a model starts with: each is the embedded tokens."""
    single = ops.reshape(cur, b.n_embd, 1, b.n_tokens)
    return ops.repeat(single, b.n_embd, b.number("hyper_connection.count"), b.n_tokens, name="hc_init")


def read(b: Builder, streams: Tensor, part: str, il: int, fused: Fused) -> tuple[Tensor, Streams]:
    """Give what a part of a block reads, and what is needed to write back what it gives."""
    count, n = streams.ne[1], streams.ne[2]
    scale, base = b.w(f"hc_{part}_scale", il), b.w(f"hc_{part}_base", il)
    mixes = _mixes(b.w(f"hc_{part}_fn", il), streams, "hc_mixes")
    scales = [ops.view_1d(scale, 1) for _ in range(2)]
    bases = [ops.view_1d(base, count) for _ in range(2)]
    weights = _affine(ops.view_2d(mixes, count, n, mixes.nb[1]), scales[0], bases[0])
    weights = ops.scale(ops.unary(weights), "hc_pre")
    written = _affine(ops.view_2d(mixes, count, n, mixes.nb[1]), scales[1], bases[1])
    written = ops.scale(ops.unary(written), "hc_post")
    mixed = ops.hc_comb(mixes, scale, base, count, "hc_comb") if fused.mix else _balanced(b, mixes, scale, base, count)
    return _weighted(streams, weights, fused=fused.read), Streams(streams, written, mixed)


def write(b: Builder, cur: Tensor, streams: Streams, fused: Fused) -> Tensor:
    """Give the streams after a part of a block."""
    if fused.write:
        return ops.hc_post(cur, streams.residual, streams.written, streams.mixed, "hc_post")
    count, n = streams.residual.ne[1], cur.ne[1]
    out: Tensor | None = None
    for _ in range(count):
        made = ops.mul(cur, ops.view_2d(streams.written, 1, n, streams.written.nb[1]))
        for _ in range(count):
            old = ops.view_2d(streams.residual, b.n_embd, n, streams.residual.nb[2])
            made = ops.add(made, ops.mul(old, ops.view_2d(streams.mixed, 1, n, streams.mixed.nb[2])))
        made = ops.reshape(made, b.n_embd, 1, n)
        out = made if out is None else ops.concat(out, made, 1)
    assert out is not None
    return out


def rows_kept(streams: Tensor, out_ids: Tensor, label: str = "") -> Tensor:
    """Give the streams of the tokens whose logits are kept, one row a token."""
    width, count, n = streams.ne[:3]
    return ops.get_rows(ops.reshape(streams, width * count, n), out_ids, label)


def taken_apart(rows: Tensor, streams: Tensor) -> Tensor:
    """Give rows of all streams as [width, streams, tokens] again, like those they were taken from."""
    return ops.reshape(rows, *streams.ne[:2], rows.ne[1])


def joined(b: Builder, streams: Tensor) -> Tensor:
    """Give the streams as one, for the output."""
    mixes = _mixes(b.w("output_hc_fn"), streams, "hc_head_mixes")
    weights = ops.scale(ops.unary(_affine(mixes, b.w("output_hc_scale"), b.w("output_hc_base"))), "hc_head_pre")
    return _weighted(streams, weights, fused=False)


def _mixes(matrix: Tensor, streams: Tensor, label: str) -> Tensor:
    flat = ops.reshape(streams, streams.ne[0] * streams.ne[1], streams.ne[2])
    return ops.mul_mat(matrix, ops.rms_norm(flat), label)


def _affine(cur: Tensor, scale: Tensor, base: Tensor) -> Tensor:
    return ops.add(ops.mul(cur, scale), base)


def _weighted(streams: Tensor, weights: Tensor, *, fused: bool) -> Tensor:
    """The streams added up by their weights."""
    if fused:
        return ops.hc_pre(streams, weights, "hc_pre")
    width, count, n = streams.ne[:3]
    each = [ops.mul(ops.view_2d(streams, width, n, streams.nb[2]), ops.view_2d(weights, 1, n, weights.nb[1])) for _ in range(count)]
    return reduce(ops.add, each)


def _balanced(b: Builder, mixes: Tensor, scale: Tensor, base: Tensor, count: int) -> Tensor:
    """How streams are mixed, with rows and columns that each add up to one (Sinkhorn)."""
    n = mixes.ne[1]
    made = ops.view_2d(mixes, count * count, n, mixes.nb[1])
    made = _affine(made, ops.view_1d(scale, 1), ops.view_1d(base, count * count))
    made = ops.soft_max(ops.reshape(made, count, count, n))
    tiny = ops.fill(given("", "F32", 1))
    made = _columns(ops.add(made, tiny), tiny)
    for _ in range(b.number("hyper_connection.sinkhorn_iterations") - 1):
        made = ops.div(made, ops.add(ops.sum_rows(made), tiny))
        made = _columns(made, tiny)
    return made


def _columns(made: Tensor, tiny: Tensor) -> Tensor:
    total = ops.add(ops.sum_rows(ops.cont(ops.permute(made, 1, 0, 2, 3))), tiny)
    return ops.div(made, ops.permute(total, 1, 0, 2, 3))
