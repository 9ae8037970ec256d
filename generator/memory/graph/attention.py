"""Attention: projections, what is written to and read from a cache, and the attention itself.

Source: llama.cpp src/llama-graph.cpp (`build_qkv`, `build_attn`, `build_attn_mha`) and src/llama-kv-cache.cpp (`cpy_k`, `get_k` and so on).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generator.memory.graph import ops
from generator.memory.graph.builder import Builder, CacheView, hadamard
from generator.memory.graph.tensor import Tensor, row_size


@dataclass(slots=True)
class AttentionInput:
    """What the host fills in for one cache: where rows go, who sees whom, and the rotations of quantised rows."""

    cache: CacheView
    k_idxs: Tensor
    v_idxs: Tensor | None
    mask: Tensor
    k_rotation: Tensor | None
    v_rotation: Tensor | None


def attention_input(
    b: Builder, cache: CacheView, *, values: bool = True, mask_flash: bool | None = None, rotated: bool = True
) -> AttentionInput:
    """Make the inputs of one cache (`build_attn_inp_kv`); without `values` those of a cache of K alone, which is not rotated."""
    n, flash = b.n_tokens, b.batch.flash if mask_flash is None else mask_flash
    k_idxs = b.input("attn_inp_k_idxs", "I64", n)
    v_idxs = None
    if values:
        v_idxs = b.input("attn_inp_v_idxs", "I64", n * cache.widest_value if cache.transposed else n)
    in_f32 = b.batch.masks_in_f32 or not flash
    streams = 1 if cache.streams == 1 or b.batch.sequences == 1 else cache.streams
    mask = b.input("attn_inp_kq_mask", "F32" if in_f32 else "F16", cache.cells, n if streams == 1 else n // streams, 1, streams)
    if flash and in_f32:
        mask = ops.cast(mask, "F16", "attn_inp_kq_mask")
    rotations = [
        b.input(f"attn_inp_{part}_rot", "F32", size, size) if size and rotated else None
        for part, size in (("k", cache.rotates_keys if values else 0), ("v", cache.rotates_values if values else 0))
    ]
    return AttentionInput(cache, k_idxs, v_idxs, mask, *rotations)


def write_k(b: Builder, given: AttentionInput, k: Tensor, il: int) -> Tensor:
    """Store the rows of K of a micro-batch (`cpy_k`)."""
    cache = given.cache
    row = k.ne[0] * k.ne[1]
    held = b.held(f"{cache.label}cache_k", il, cache.type_k, cache.keys[il], cache.cells, cache.streams)
    rows = ops.view_2d(k, row, k.ne[2], k.nb[2])
    if cache.streams > 1:
        held = ops.reshape(held, row, cache.cells * cache.streams)
    return ops.set_rows(held, rows, given.k_idxs)


def write_v(b: Builder, given: AttentionInput, v: Tensor, il: int) -> Tensor:
    """Store the rows of V of a micro-batch (`cpy_v`)."""
    cache = given.cache
    assert given.v_idxs is not None
    held = _v_of(b, cache, il)
    row, tokens = v.ne[0] * v.ne[1], v.ne[2]
    if not cache.transposed:
        rows = ops.view_2d(v, row, tokens, v.nb[2])
        if cache.streams > 1:
            held = ops.reshape(held, row, cache.cells * cache.streams)
        return ops.set_rows(held, rows, given.v_idxs)
    rows = ops.reshape(v, row, tokens) if row_size(v.type, row) == v.nb[2] else ops.cont(v, row, tokens)
    if row < held.ne[0]:
        rows = ops.pad(rows, held.ne[0] - row)
    return ops.set_rows(ops.reshape(held, 1, held.elements), ops.reshape(rows, 1, rows.elements), given.v_idxs)


def _v_of(b: Builder, cache: CacheView, il: int) -> Tensor:
    assert cache.values is not None
    width = cache.widest_value if cache.transposed else cache.values[il]
    return b.held(f"{cache.label}cache_v", il, cache.type_v, width, cache.cells, cache.streams)


def read_k(b: Builder, cache: CacheView, il: int, head: int, heads: int) -> Tensor:
    """Give all rows of K that a micro-batch may look at (`get_k`)."""
    held = b.held(f"{cache.label}cache_k", il, cache.type_k, cache.keys[il], cache.cells, cache.streams)
    row = row_size(held.type, held.ne[0])
    return ops.view_4d(held, (head, heads, cache.cells, cache.streams), row_size(held.type, head), row, row * cache.cells)


def read_v(b: Builder, cache: CacheView, il: int, head: int, heads: int) -> Tensor:
    """Give all rows of V that a micro-batch may look at (`get_v`)."""
    held = _v_of(b, cache, il)
    width, cells = held.ne[0], cache.cells
    if not cache.transposed:
        row = row_size(held.type, width)
        return ops.view_4d(held, (head, heads, cells, cache.streams), row_size(held.type, head), row, row * cells)
    size = row_size(held.type, cells)
    return ops.view_4d(held, (cells, heads, head, cache.streams), size * head, size, row_size(held.type, cells * width))


def attend(
    b: Builder,
    given: AttentionInput,
    q: Tensor,
    k: Tensor | None,
    v: Tensor | None,
    il: int,
    *,
    out: str | None = "attn_output",
    owner: int | None = None,
    head_k: int | None = None,
    head_v: int | None = None,
    heads: int | None = None,
    sinks: Tensor | None = None,
    bias: Tensor | None = None,
    v_mla: Tensor | None = None,
    window_order: bool = False,
) -> Tensor:
    """Store K and V, attend, and project (`build_attn`). Without `k` and `v` the cache of block `owner` is read.

    `window_order` is the order of models that have a cache with a window, where K comes before V.
    """
    cache = given.cache
    if given.k_rotation is not None:
        q = hadamard(q, given.k_rotation)
        k = None if k is None else hadamard(k, given.k_rotation)
    if given.v_rotation is not None and v is not None:
        v = hadamard(v, given.v_rotation)
    for part in (q, k, v) if window_order else (q, v, k):
        if part is not None:
            b.expand(part)
    if k is not None:
        b.expand(write_k(b, given, k, il))
        head_k, heads = k.ne[0], k.ne[1]
    if v is not None and cache.values is not None:
        b.expand(write_v(b, given, v, il))
    if v is not None and head_v is None:
        head_v = v.ne[0]
    held_by = il if owner is None else owner
    assert head_k is not None and head_v is not None and heads is not None
    keys = read_k(b, cache, held_by, head_k, heads)
    values = ops.view_4d(keys, (head_v, *keys.ne[1:]), *keys.nb[1:]) if cache.values is None else read_v(b, cache, held_by, head_v, heads)
    cur = heads_attend(b, q, keys, values, given.mask, il, sinks=sinks, bias=bias, v_mla=v_mla)
    if given.v_rotation is not None:
        cur = hadamard(cur, given.v_rotation)
    return cur if out is None else b.linear_with_bias(out, cur, il, "attn_out")


def heads_attend(
    b: Builder,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor,
    il: int,
    *,
    sinks: Tensor | None = None,
    bias: Tensor | None = None,
    v_mla: Tensor | None = None,
) -> Tensor:
    """Attention of all heads (`build_attn_mha`): in one operation with flash attention, else by way of scores in F32."""
    transposed = v.nb[1] > v.nb[2]
    streams = k.ne[3]
    each = q.ne[2] // streams
    q = ops.view_4d(q, (q.ne[0], q.ne[1], each, streams), q.nb[1], q.nb[2], q.nb[2] * each)
    q, k, v = (ops.permute(part, 0, 2, 1, 3) for part in (q, k, v))
    if b.batch.flash and bias is None:
        if transposed:
            v = ops.transpose(v)
        k = ops.cast(k, "F16") if k.type == "F32" else k
        v = ops.cast(v, "F16") if v.type == "F32" else v
        cur = ops.flash_attn(q, k, v, mask, sinks, f"fattn-{il}")
        if v_mla is not None:
            cur = ops.mul_mat(v_mla, ops.permute(cur, 0, 2, 1, 3), "fattn_mla")
            cur = ops.cont(ops.permute(cur, 0, 2, 1, 3))
        cur = ops.reshape(cur, cur.ne[0] * cur.ne[1], cur.ne[2] * cur.ne[3])
    else:
        kq = _scores(b, q, k, bias)
        kq = ops.soft_max(kq, mask, sinks, "kq_soft_max")
        if not transposed:
            v = ops.cont(ops.transpose(v), name="v_cont")
        kqv = ops.mul_mat(v, kq, "kqv")
        if v_mla is not None:
            kqv = ops.mul_mat(v_mla, kqv, "kqv_mla")
        cur = ops.permute(kqv, 0, 2, 1, 3)
        cur = ops.cont(cur, cur.ne[0] * cur.ne[1], cur.ne[2] * cur.ne[3], name="kqv_out")
        cur.pinned = b.attention_device
    return b.expand(cur)


def _scores(b: Builder, q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
    kq = ops.mul_mat(k, q, "kq")
    if b.arch == "grok":
        kq = ops.scale(ops.unary(ops.scale(kq), "kq_tanh"), "kq_scaled")
    if b.soft_caps_scores:
        kq = ops.scale(ops.unary(ops.scale(kq, "kq_scaled_1"), "kq_tanh"), "kq_scaled_2")
    return kq if bias is None else ops.add(kq, bias, "kq_plus_kq_b")


PARTS = (("attn_q", "Qcur"), ("attn_k", "Kcur"), ("attn_v", "Vcur"))
"""The matrices of Q, K and V where there are three, and what is computed with each."""


def project(b: Builder, cur: Tensor, il: int, heads: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Q, K and V of a micro-batch, from one matrix or from three (`build_qkv`): [length, heads, tokens] each.

    `heads` are the length and the number of the heads of Q, K and V.
    """
    n, clamped = b.n_tokens, bool(b.real("attention.clamp_kqv"))
    if b.opt("attn_qkv", il) is not None:
        qkv = _fused(b, cur, il)
        if clamped:
            qkv = ops.clamp(qkv, "wqkv_clamped")
        if b.arch == "openelm":
            qkv = ops.reshape(qkv, heads[0][0], sum(count for _, count in heads), n, name="wqkv")
        across = qkv.nb[2 if b.arch == "openelm" else 1]
        q, k, v = (
            ops.view_3d(qkv, head, count, n, row_size(qkv.type, head), across, label)
            for (_, label), (head, count) in zip(PARTS, heads, strict=True)
        )
        return q, k, v
    rows = [b.linear_with_bias(name, cur, il, label) for name, label in PARTS]
    if clamped:
        rows = [ops.clamp(part, f"{label}_clamped") for part, (_, label) in zip(rows, PARTS, strict=True)]
    q, k, v = (ops.reshape(part, head, count, n, name=label) for part, (_, label), (head, count) in zip(rows, PARTS, heads, strict=True))
    return q, k, v


def project_flat(b: Builder, cur: Tensor, il: int, heads: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Q, K and V of a micro-batch as whole rows (`build_qkv` that does not reshape): [length x heads, tokens] each."""
    if b.opt("attn_qkv", il) is None:
        q, k, v = (b.linear_with_bias(name, cur, il, label) for name, label in PARTS)
        return q, k, v
    qkv = _fused(b, cur, il)
    q, k, v = (
        ops.cont(ops.view_2d(qkv, head * count, b.n_tokens, qkv.nb[1]), name=label)
        for (_, label), (head, count) in zip(PARTS, heads, strict=True)
    )
    return q, k, v


def _fused(b: Builder, cur: Tensor, il: int) -> Tensor:
    """Q, K and V from one matrix, with one bias or three."""
    qkv = b.linear("attn_qkv", cur, il, "wqkv")
    fused, *biases = (b.bias(name, il) for name in ("attn_qkv", "attn_q", "attn_k", "attn_v"))
    if fused is not None:
        return ops.add(qkv, fused, "wqkv_b")
    q, k, v = biases
    if q is None or k is None or v is None:
        return qkv
    return ops.add(qkv, ops.concat(ops.concat(q, k, 0), v, 0), "wqkv_b")
