"""Graphs of Kimi Linear, Ling 3 and Kimi K3: blocks of delta attention, some of latent attention between them.

Source: llama.cpp src/models/kimi-linear.cpp, bailingmoe3.cpp and kimi-k3.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import AttentionInput
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder import Inputs
from generator.memory.graph.models.kimi_delta_attention import delta_attention
from generator.memory.graph.models.latent_attention import Manner, latent_attention
from generator.memory.graph.models.stack import feed_forward_part, stack
from generator.memory.graph.states import StateInput
from generator.memory.graph.tensor import Tensor


def kimi_linear(b: Builder) -> None:
    """Kimi Linear, which rotates nothing."""
    cur = b.embedding()
    states, inputs, out_ids = StateInput(b), Inputs(b), b.out_ids()

    def attention(cur: Tensor, il: int) -> Tensor:
        b.expand(cur)
        if il not in b.caches:
            return delta_attention(b, states, cur, il)
        return _unrotated(b, inputs.of(il), cur, il, "attn_output")

    b.finish(stack(b, cur, out_ids, attention, feed_forward_part(b, normalised=True)))


def bailing3(b: Builder) -> None:
    """Ling 3, whose latent attention has a gate a head. A draft head reads all tokens, so those that are kept are chosen last."""
    cur = b.embedding()
    states, inputs, out_ids = StateInput(b), Inputs(b), b.out_ids()
    positions = b.positions(4 if b.uses_mrope else 1)

    def attention(cur: Tensor, il: int) -> Tensor:
        if il not in b.caches:
            return delta_attention(b, states, cur, il)
        return gated_by_head(b, inputs.of(il), cur, positions, il)

    cur = stack(b, cur, out_ids, attention, lambda cur, il: limited(b, cur, il), whole=True)
    b.finish_whole(cur, out_ids)


def gated_by_head(b: Builder, given: AttentionInput, cur: Tensor, positions: Tensor, il: int) -> Tensor:
    """Latent attention with a gate a head."""
    heads, n = b.of_block("attention.head_count", il), b.n_tokens
    made = latent_attention(b, given, cur, il, Manner(positions, out=None))
    head = made.ne[0] // heads
    gate = ops.unary(ops.reshape(b.linear("attn_gate", cur, il, scale=False), 1, heads, n))
    made = ops.mul(ops.reshape(made, head, heads, n), gate)
    return b.linear("attn_output", ops.cont(made, head * heads, n), il, scale=False)


def limited(b: Builder, cur: Tensor, il: int) -> Tensor:
    """A feed-forward part whose units may be limited, block by block."""
    shared = feed_forward.limits(b, "swiglu_clamp_shexp", il)
    if b.opt("ffn_gate_inp", il) is None:
        return feed_forward.dense(b, cur, il, clamped=shared)
    gating, clamped = feed_forward.stated_gating(b, "sigmoid"), feed_forward.limits(b, "swiglu_clamp_exp", il)
    made = feed_forward.experts(b, cur, il, gating=gating, normalised=b.flag("expert_weights_norm"), clamped=clamped)
    return ops.add(made, feed_forward.dense(b, cur, il, suffix="_shexp", clamped=shared), "ffn_out")


def _unrotated(b: Builder, given: AttentionInput, cur: Tensor, il: int, out: str | None) -> Tensor:
    """Latent attention without rotation; where K and V are made for each head, K starts with what is the same for all."""
    manner = Manner(None, out=out, in_heads=b.opt("attn_k_b", il) is None, rotated_first=True)
    return latent_attention(b, given, cur, il, manner)


# --- Kimi K3 ---------------------------------------------------------------------------------------


class _Checkpoints:
    """Earlier states of the residual stream that each part may read again (`res_push`, `res_mix`)."""

    def __init__(self, b: Builder) -> None:
        self._b = b
        self._kept: Tensor | None = None

    def keep(self, cur: Tensor) -> None:
        """Keep the stream as it is."""
        one = ops.reshape(cur, cur.ne[0], 1, cur.ne[1])
        self._kept = one if self._kept is None else ops.concat(self._kept, one, 1)

    def mixed(self, cur: Tensor, scores: Tensor | None) -> Tensor:
        """The stream and what was kept, by how well each fits."""
        kept, n = self._kept, cur.ne[1]
        if kept is None or scores is None:
            return cur
        count = kept.ne[1]
        of_kept = ops.reshape(ops.sum_rows(ops.mul(ops.rms_norm(kept), scores)), count, n)
        of_cur = ops.sum_rows(ops.mul(ops.rms_norm(cur), scores))
        shares = ops.soft_max(ops.concat(of_kept, of_cur, 0), name="res_probs")
        for_kept, for_cur = (ops.cont(ops.view_2d(shares, rows, n, shares.nb[1])) for rows in (count, 1))
        return ops.add(ops.hc_pre(kept, for_kept), ops.mul(cur, for_cur))


def kimi_k3(b: Builder) -> None:
    """Kimi K3: checkpoints of the residual stream, gated latent attention, and experts that work on shorter rows."""
    stream = b.embedding()
    states, inputs, out_ids = StateInput(b), Inputs(b), b.out_ids()
    kept, every = _Checkpoints(b), b.number("attn_res.block_size", 0)
    for il in b.blocks:
        cur = kept.mixed(stream, b.opt("attn_res_score", il))
        restarts = bool(every) and il % every == 0
        if restarts:
            kept.keep(stream)
        cur = b.expand(b.norm(cur, "attn_norm", il))
        cur = _gated_latent(b, inputs.of(il), cur, il) if il in b.caches else delta_attention(b, states, cur, il)
        stream = cur if restarts else ops.add(stream, cur, "prefix_sum_attn")
        cur = b.norm(kept.mixed(stream, b.opt("ffn_res_score", il)), "ffn_norm", il)
        cur = _situ_dense(b, cur, il) if b.opt("ffn_gate_inp", il) is None else _short_experts(b, cur, il)
        stream = ops.add(stream, cur, "l_out")
    cur = kept.mixed(stream, b.opt("output_res_score"))
    b.finish(ops.get_rows(cur, out_ids))


def _gated_latent(b: Builder, given: AttentionInput, cur: Tensor, il: int) -> Tensor:
    made = _unrotated(b, given, cur, il, None)
    if b.opt("attn_gate", il) is not None:
        made = ops.mul(made, ops.unary(b.linear("attn_gate", cur, il, scale=False)), "mla_gated")
    return b.linear("attn_output", made, il, scale=False)


def _situ_dense(b: Builder, cur: Tensor, il: int, suffix: str = "") -> Tensor:
    """A dense part with Kimi K3's unit."""
    gate, up = (b.linear(f"ffn_{part}{suffix}", cur, il, scale=False) for part in ("gate", "up"))
    made = feed_forward.situ(gate, up, limited=b.real("activation.situ_linear_beta") > 0)
    return b.linear(f"ffn_down{suffix}", made, il, scale=False)


def _short_experts(b: Builder, cur: Tensor, il: int) -> Tensor:
    """Experts on rows that are made shorter before and longer after; the shared one works on the whole row."""
    short = cur if b.opt("ffn_routed_down", il) is None else b.linear("ffn_routed_down", cur, il, scale=False)
    made = feed_forward.experts(
        b,
        short,
        il,
        gating=feed_forward.stated_gating(b, "sigmoid"),
        normalised=b.flag("expert_weights_norm"),
        unit="situ",
        logits=b.linear("ffn_gate_inp", cur, il, scale=False),
    )
    made = b.norm_if_any(made, "ffn_routed_norm", il)
    if b.opt("ffn_routed_up", il) is not None:
        made = b.linear("ffn_routed_up", made, il, scale=False)
    return made if b.opt("ffn_gate_shexp", il) is None else ops.add(made, _situ_dense(b, cur, il, "_shexp"), "ffn_out")


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(
    {"kimi-linear": kimi_linear, "bailingmoe3": bailing3, "kimi-k3": kimi_k3}
)
"""Architectures and what makes their graph."""
