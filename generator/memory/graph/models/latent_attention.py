"""Latent attention (MLA): K and V of all heads come from one short row, the latent.

Where the file has the two matrices that lead from the latent to K and to V, Q is taken to the latent instead: attention then has one
head of K, and a cache keeps the latent alone. Without them K and V are made for each head and cached as usual.

Source: llama.cpp src/models/deepseek2.cpp, deepseek32.cpp and kimi-linear.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from generator.memory.graph import ops
from generator.memory.graph.attention import AttentionInput, attend
from generator.memory.graph.builder import Builder
from generator.memory.graph.tensor import Tensor, row_size
from generator.memory.rows import head_length, is_latent


@dataclass(frozen=True, slots=True)
class Heads:
    """The lengths of latent attention in a block: of a head of K and of V, of its rotated part, of the latent, and the heads."""

    key: int
    value: int
    rotated: int
    latent: int
    count: int

    @property
    def plain(self) -> int:
        """The part of a head of K that is not rotated."""
        return self.key - self.rotated

    @staticmethod
    def of(b: Builder, il: int) -> Heads:
        """Read the lengths of a block from the header."""
        own = "_mla" if is_latent(b.model) else ""
        key, value = (b.number(f"attention.{part}_length{own}", int(head_length(b.model, part))) for part in ("key", "value"))
        rotated = b.number("rope.dimension_count", int(head_length(b.model, "key")))
        return Heads(key, value, rotated, b.number("attention.kv_lora_rank"), b.of_block("attention.head_count", il))


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model's latent attention is done.

    Without `positions` nothing is rotated. `q` is Q where it was made before, `factors` those of the rotation, `scale` a factor of each
    token's Q. Without `out` what heads give is not projected. `in_heads` has Q taken apart from rows of heads, `rotated_first` has K
    start with its rotated part where it is made for each head, `flat_values` has V in one row a token there.
    """

    positions: Tensor | None
    q: Tensor | None = None
    factors: Tensor | None = None
    scale: Tensor | None = None
    out: str | None = "attn_output"
    in_heads: bool = False
    rotated_first: bool = False
    flat_values: bool = False

    def rotated(self, cur: Tensor, label: str) -> Tensor:
        """Give rows with their positions rotated in."""
        return cur if self.positions is None else ops.rope(cur, self.positions, self.factors, label)

    def scaled(self, q: Tensor) -> Tensor:
        """Give Q with each token's factor."""
        return q if self.scale is None else ops.mul(q, self.scale, "Qcur_attn_temp_scaled")


@dataclass(frozen=True, slots=True)
class Latent:
    """The rows of a micro-batch that latent attention starts from: Q of all heads, the latent, and the rotated part of K."""

    q: Tensor
    latent: Tensor
    rotated_key: Tensor


def latent_attention(b: Builder, given: AttentionInput, cur: Tensor, il: int, manner: Manner) -> Tensor:
    """Latent attention of one block: what heads give, projected unless the manner says otherwise."""
    heads = Heads.of(b, il)
    q = queries(b, cur, il) if manner.q is None else manner.q
    if manner.in_heads:
        q = ops.reshape(q, heads.key, heads.count, b.n_tokens, name="q")
    rows = latent_rows(b, cur, il, heads, q, manner)
    if b.opt("attn_k_b", il) is not None:
        return absorbed(b, given, rows, il, heads, manner)
    return expanded(b, given, rows, il, heads, manner)


def queries(b: Builder, cur: Tensor, il: int) -> Tensor:
    """Q of all heads, from one matrix or by way of a short row."""
    if b.opt("attn_q", il) is not None:
        return b.linear("attn_q", cur, il, "q")
    return queries_of(b, short_query(b, cur, il), il)


def queries_of(b: Builder, short: Tensor, il: int) -> Tensor:
    """Q of all heads, of a short row that was made before."""
    return b.linear("attn_q_b", short, il, "q")


def short_query(b: Builder, cur: Tensor, il: int) -> Tensor:
    """The short row that Q is made of."""
    return b.norm(b.linear("attn_q_a", cur, il, "qr"), "attn_q_a_norm", il)


def latent_rows(b: Builder, cur: Tensor, il: int, heads: Heads, q: Tensor, manner: Manner) -> Latent:
    """The latent and the rotated part of K, from one matrix."""
    both = b.linear("attn_kv_a_mqa", cur, il, "kv_cmpr_pe")
    row = both.nb[1]
    latent = ops.view_2d(both, heads.latent, b.n_tokens, row, "kv_cmpr")
    rotated = manner.rotated(ops.view_3d(both, heads.rotated, 1, b.n_tokens, row, row, "k_pe"), "k_pe")
    return Latent(q, b.norm(latent, "attn_kv_a_norm", il), rotated)


def absorbed(b: Builder, given: AttentionInput, rows: Latent, il: int, heads: Heads, manner: Manner) -> Tensor:
    """Attention on the latent itself: Q is taken to it, and what heads give is taken from it to V."""
    n, row = b.n_tokens, row_size(rows.q.type, heads.key)
    plain = ops.view_3d(rows.q, heads.plain, heads.count, n, row, row * heads.count, "q_nope")
    rotated = manner.rotated(ops.view_3d(rows.q, heads.rotated, heads.count, n, row, row * heads.count, "q_pe"), "q_pe")
    taken = ops.mul_mat(b.w("attn_k_b", il), ops.permute(plain, 0, 2, 1, 3), "q_nope_absorbed")
    q = ops.concat(ops.permute(taken, 0, 2, 1, 3), rotated, 0, "Qcur")
    latent = ops.reshape(rows.latent, heads.latent, 1, n, name="kv_cmpr_reshape")
    k = ops.concat(latent, rows.rotated_key, 0, "Kcur")
    return attend(b, given, manner.scaled(q), k, latent, il, out=manner.out, v_mla=b.w("attn_v_b", il))


def expanded(b: Builder, given: AttentionInput, rows: Latent, il: int, heads: Heads, manner: Manner) -> Tensor:
    """Attention with K and V made for each head."""
    n = b.n_tokens
    both = b.linear("attn_kv_b", rows.latent, il, "kv")
    row = row_size(both.type, heads.plain + heads.value)
    plain = ops.view_3d(both, heads.plain, heads.count, n, row, row * heads.count, "k_nope_view")
    v = ops.cont(ops.view_3d(both, heads.value, heads.count, n, row, row * heads.count, "Vcur_view"), name="Vcur_cont")
    if manner.flat_values:
        v = ops.view_2d(v, heads.value * heads.count, n, row_size(v.type, heads.value * heads.count))
    q = manner.scaled(manner.rotated(rows.q, "Qcur"))
    rotated = ops.repeat(rows.rotated_key, heads.rotated, heads.count, n)
    k = ops.concat(*((rotated, plain) if manner.rotated_first else (plain, rotated)), 0, "Kcur")
    return attend(b, given, q, k, v, il, out=manner.out, head_v=heads.value)
