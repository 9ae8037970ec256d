"""The graph of MiniMax-01: blocks of lightning attention, which keeps a square matrix a head, and some of usual attention.

Source: llama.cpp src/models/minimax-01.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import attend
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder import Inputs, qkv
from generator.memory.graph.states import StateInput, held_state, read_state, state_widths
from generator.memory.graph.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Decays:
    """How fast each head forgets: by itself, and for Q, K and pairs of the tokens of a micro-batch."""

    slopes: Tensor
    of_q: Tensor
    of_k: Tensor
    of_pairs: Tensor

    @staticmethod
    def of(b: Builder, heads: int) -> Decays:
        """Make the inputs."""
        sequences = b.batch.sequences
        tokens = b.n_tokens // sequences
        of_q, of_k = (b.input(f"{part}_decay_exp", "F32", 1, heads, tokens, sequences) for part in "qk")
        return Decays(b.input("slopes", "F32", heads), of_q, of_k, b.input("diag_decay_exp", "F32", tokens, tokens, heads, sequences))


def minimax(b: Builder) -> None:
    """What is added to each part is its normed input, scaled."""
    cur = b.embedding()
    states, inputs, positions, out_ids = StateInput(b), Inputs(b), b.positions(), b.out_ids()
    decays = Decays.of(b, b.of_block("attention.head_count", 0))
    for il in b.blocks:
        residual = b.norm(cur, "attn_norm", il)
        if il in b.caches:
            q, k, v = qkv(b, residual, il)
            cur = attend(b, inputs.of(il), ops.rope(q, positions), ops.rope(k, positions), v, il)
        else:
            cur = _lightning(b, states, decays, residual, il)
        cur, residual = b.kept(il, out_ids, cur, residual)
        after = ops.add(cur, ops.scale(residual), "ffn_inp")
        residual = b.norm(after, "ffn_norm", il)
        cur = ops.add(feed_forward.experts(b, residual, il), ops.scale(residual), "l_out")
    b.finish(cur)


def _lightning(b: Builder, given: StateInput, decays: Decays, cur: Tensor, il: int) -> Tensor:
    """Lightning attention of one block; the state of its convolution is empty."""
    heads, head, sequences = b.of_block("attention.head_count", il), b.head("key", il), b.batch.sequences
    r, s = state_widths(b, il)
    read_state(b, given, held_state(b, "r", il, r))
    tokens = b.n_tokens // sequences
    cur = ops.reshape(cur, cur.ne[0], tokens, 1, sequences)
    made = ops.reshape(ops.unary(b.linear("attn_qkv", cur, il, scale=False)), head * 3, heads, tokens, sequences)
    q, k, v = (ops.view_4d(made, (head, *made.ne[1:]), *made.nb[1:]) for _ in range(3))
    held = held_state(b, "s", il, s)
    old = ops.reshape(read_state(b, given, held), head, head, heads, sequences)
    v = ops.cont(ops.permute(v, 1, 2, 0, 3))
    mixed = b.expand(_attended(decays, old, q, k, v))
    b.expand(ops.cpy(_remembered(decays, old, k, v, heads), ops.view_1d(held, s * sequences)))
    mixed = ops.cont(ops.permute(mixed, 0, 2, 1, 3))
    mixed = ops.reshape(mixed, head * heads, tokens, 1, sequences)
    gate = ops.unary(b.linear("attn_gate", cur, il, scale=False))
    made = ops.mul(gate, b.norm(mixed, "attn_norm_2", il))
    made = b.linear("attn_output", made, il, scale=False)
    return ops.reshape(made, made.ne[0], b.n_tokens)


def _attended(decays: Decays, old: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """What tokens read from the state and from each other."""
    faded = ops.permute(ops.mul(q, ops.unary(ops.scale(decays.of_q))), 0, 2, 1, 3)
    from_state = ops.mul_mat(old, faded)
    scores = ops.mul_mat(ops.permute(k, 0, 2, 1, 3), ops.permute(q, 0, 2, 1, 3))
    scores = ops.mul(scores, ops.unary(ops.scale(decays.of_pairs)))
    return ops.add(from_state, ops.mul_mat(v, scores), "qkv")


def _remembered(decays: Decays, old: Tensor, k: Tensor, v: Tensor, heads: int) -> Tensor:
    """The new state."""
    share = ops.reshape(ops.unary(ops.scale(ops.scale(decays.slopes))), 1, 1, heads)
    kept = ops.mul(old, share)
    k = ops.mul(k, ops.unary(ops.scale(decays.of_k)))
    return ops.add(kept, ops.mul_mat(ops.cont(ops.permute(k, 1, 2, 0, 3)), v), "kv_new")


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType({"minimax-01": minimax})
"""Architectures and what makes their graph."""
