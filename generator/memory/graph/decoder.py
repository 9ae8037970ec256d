"""The graph of a plain decoder: blocks of attention and feed-forward, each behind a norm and added to what came in.

What a file has decides most of it: norms of Q and K, norms after a part, biases, experts, shared experts. What an architecture's name
decides is in `Shape`, one entry an architecture. Source: llama.cpp src/models/<name>.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import AttentionInput, attend, attention_input, project
from generator.memory.graph.builder import Builder
from generator.memory.graph.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Shape:
    """How an architecture's decoder differs from the plain one.

    `norm` is rms or layer. `gating` and `normalised` say how experts are weighted. `parallel` has the feed-forward part read what the
    attention read. `rotates` tells whether positions are rotated in. `unit` is the unit of experts, `steps` the operations of one
    element of a dense part without a gate.
    """

    norm: str = "rms"
    gating: str = "softmax"
    normalised: bool = True
    parallel: bool = False
    rotates: bool = True
    unit: str = "glu"
    steps: int = 1
    gate: str = "parallel"
    caps_logits: bool = False


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "llama": Shape(),
        "mistral3": Shape(),
        "qwen3": Shape(),
        "qwen3moe": Shape(),
        "phi3": Shape(gate="fused"),
    }
)


def decoder(b: Builder) -> None:
    """Make the graph of a plain decoder."""
    shape = SHAPES.get(b.arch, Shape())
    cur = b.embedding()
    positions = b.positions()
    inputs = Inputs(b)
    out_ids = b.out_ids()
    for il in range(b.n_layer):
        cur = _block(b, shape, cur, positions, inputs, out_ids if il == b.n_layer - 1 else None, il)
    b.finish(cur, norm=shape.norm)


class Inputs:
    """The inputs of every cache, by the blocks that have rows in it."""

    def __init__(self, b: Builder) -> None:
        made: dict[int, AttentionInput] = {}
        for cache in dict.fromkeys(b.caches.values()):
            made[id(cache)] = attention_input(b, cache, values=cache.values is not None)
        self._of = {block: made[id(cache)] for block, cache in b.caches.items()}

    def of(self, il: int) -> AttentionInput:
        """Give the inputs of the cache that a block reads."""
        return self._of[il]


def _block(b: Builder, shape: Shape, inp: Tensor, positions: Tensor, inputs: Inputs, out_ids: Tensor | None, il: int) -> Tensor:
    residual = inp
    cur = b.norm(inp, "attn_norm", il, kind=shape.norm)
    q, k, v = qkv(b, cur, il)
    if shape.rotates:
        factors = rope_factors(b, il)
        q, k = ops.rope(q, positions, factors, "Qcur"), ops.rope(k, positions, factors, "Kcur")
    cur = attend(b, inputs.of(il), q, k, v, il)
    if out_ids is not None:
        cur, residual = ops.get_rows(cur, out_ids), ops.get_rows(residual, out_ids)
    after = ops.add(cur, residual, "ffn_inp")
    cur = b.norm(after, "ffn_norm", il, kind=shape.norm)
    if b.opt("ffn_gate_inp", il) is not None:
        cur = feed_forward.experts(b, cur, il, gating=shape.gating, normalised=shape.normalised, unit=shape.unit)
    else:
        cur = feed_forward.dense(b, cur, il, gate=shape.gate, steps=shape.steps)
    return ops.add(cur, after, "l_out")


def qkv(b: Builder, cur: Tensor, il: int) -> tuple[Tensor, Tensor, Tensor]:
    """Q, K and V with the norms that the file has for them."""
    heads, heads_kv = b.of_block("attention.head_count", il), b.heads_kv(il)
    head_k, head_v = b.head("key", il), b.head("value", il)
    q, k, v = project(b, cur, il, head_k, heads, head_k, heads_kv, head_v, heads_kv)
    if b.opt("attn_q_norm", il) is not None:
        q = b.norm(q, "attn_q_norm", il, label="Qcur_normed")
    if b.opt("attn_k_norm", il) is not None:
        k = b.norm(k, "attn_k_norm", il, label="Kcur_normed")
    return q, k, v


def rope_factors(b: Builder, il: int) -> Tensor | None:
    """The factors of rotation that a file may have: the same for every block."""
    return b.shared("rope_freqs", il)
