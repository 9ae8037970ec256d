"""The stack of blocks that most models of the DeepSeek family share: attention and a feed-forward part, each behind a norm.

Source: llama.cpp src/models/deepseek2.cpp.
"""

from __future__ import annotations

from collections.abc import Callable

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.builder import Builder
from generator.memory.graph.tensor import Tensor

Part = Callable[[Tensor, int], Tensor]


def stack(b: Builder, cur: Tensor, out_ids: Tensor, attention: Part, feed: Part, *, whole: bool = False, scaled: bool = False) -> Tensor:
    """Give what comes out of all blocks.

    The last one goes on with the tokens whose logits are kept, unless `whole`. `scaled` multiplies what each part adds.
    """
    for il in b.blocks:
        residual = cur
        cur = attention(b.norm(cur, "attn_norm", il), il)
        if not whole:
            cur, residual = b.kept(il, out_ids, cur, residual)
        after = ops.add(ops.scale(cur, "hidden_scaled") if scaled else cur, residual, "ffn_inp")
        cur = feed(b.norm(after, "ffn_norm", il), il)
        cur = ops.add(ops.scale(cur, "hidden_scaled_ffn") if scaled else cur, after, "l_out")
    return cur


def feed_forward_part(b: Builder, *, gating: str = "softmax", normalised: bool | None = None) -> Part:
    """Give the feed-forward part of a block: a mixture of experts where the file has a router, else a dense one."""

    def part(cur: Tensor, il: int) -> Tensor:
        if b.opt("ffn_gate_inp", il) is None:
            return feed_forward.dense(b, cur, il)
        return mixture(b, cur, il, gating=gating, normalised=normalised)

    return part


def mixture(b: Builder, cur: Tensor, il: int, *, gating: str = "softmax", normalised: bool | None = None) -> Tensor:
    """A mixture of experts, and the shared expert where the file has one.

    `gating` is how experts are weighted where the header does not say; `normalised` overrides what it says about their sum.
    """
    named = feed_forward.stated_gating(b, gating)
    divided = b.flag("expert_weights_norm") if normalised is None else normalised
    made = feed_forward.experts(b, cur, il, gating=named, normalised=divided)
    if b.opt("ffn_up_shexp", il) is None:
        return made
    return ops.add(made, feed_forward.dense(b, cur, il, suffix="_shexp"), "ffn_out")
