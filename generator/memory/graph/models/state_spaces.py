"""Graphs of models with state spaces (Mamba), most of them with attention in some blocks.

Source: llama.cpp src/models/mamba.cpp, mamba2.cpp, jamba.cpp, granite-hybrid.cpp, nemotron-h.cpp, falcon-h1.cpp and plamo2.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import attend
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder import Inputs, qkv, rotated
from generator.memory.graph.models.mamba import mamba, mamba2, plamo2
from generator.memory.graph.states import StateInput
from generator.memory.graph.tensor import Tensor


def pure(b: Builder) -> None:
    """Nothing but state spaces (src/models/mamba.cpp, mamba2.cpp)."""
    mixer = mamba2 if b.arch == "mamba2" else mamba
    cur = b.embedding()
    states, out_ids = StateInput(b), b.out_ids()
    for il in b.blocks:
        residual = cur
        cur = mixer(b, states, b.norm(cur, "attn_norm", il), il)
        cur, residual = b.kept(il, out_ids, cur, residual)
        cur = ops.add(cur, residual, "l_out")
    b.finish(cur)


def jamba(b: Builder) -> None:
    """Mamba, attention without positions in some blocks, and a dense part or experts behind either (src/models/jamba.cpp)."""
    cur = b.embedding()
    states, inputs, out_ids = StateInput(b), Inputs(b), b.out_ids()
    for il in b.blocks:
        residual, cur = cur, b.norm(cur, "attn_norm", il)
        cur = attend(b, inputs.of(il), *qkv(b, cur, il), il) if b.heads_kv(il) else mamba(b, states, cur, il)
        cur, residual = b.kept(il, out_ids, cur, residual)
        after = ops.add(residual, cur, "ffn_inp")
        cur = b.norm(after, "ffn_norm", il)
        cur = feed_forward.dense(b, cur, il) if b.opt("ffn_gate_inp", il) is None else feed_forward.experts(b, cur, il, normalised=False)
        cur = ops.add(after, cur, "l_out")
    b.finish(cur)


def granite_hybrid(b: Builder) -> None:
    """Mamba-2, attention in some blocks, and a dense part or experts behind either (src/models/granite-hybrid.cpp)."""
    cur = b.embedding()
    states, inputs, out_ids = StateInput(b), Inputs(b), b.out_ids()
    positions = b.positions() if b.flag("rope.scaling.finetuned", default=True) else None
    for il in b.blocks:
        residual, cur = cur, b.norm(cur, "attn_norm", il)
        cur = attend(b, inputs.of(il), *rotated(b, cur, positions, il), il) if b.heads_kv(il) else mamba2(b, states, cur, il)
        cur, residual = b.kept(il, out_ids, cur, residual)
        after = ops.add(_scaled(b, cur), residual, "ffn_inp")
        cur = _granite_feed_forward(b, b.norm(after, "ffn_norm", il), il)
        cur = ops.add(_scaled(b, cur), after, "l_out")
    b.finish(cur, scaled=1 if b.real("logit_scale") else 0)


def _granite_feed_forward(b: Builder, cur: Tensor, il: int) -> Tensor:
    if b.opt("ffn_gate_inp", il) is None:
        return feed_forward.dense(b, cur, il)
    routed = feed_forward.experts(b, cur, il)
    if b.opt("ffn_up_shexp", il) is None:
        return routed
    return ops.add(routed, feed_forward.dense(b, cur, il, suffix="_shexp"), "ffn_out")


def _scaled(b: Builder, cur: Tensor) -> Tensor:
    return ops.scale(cur) if b.real("residual_scale") else cur


def nemotron_h(b: Builder) -> None:
    """A block is Mamba-2, attention without positions, or a feed-forward part (src/models/nemotron-h.cpp)."""
    cur = b.embedding()
    states, inputs, out_ids = StateInput(b), Inputs(b), b.out_ids()
    for il in b.blocks:
        residual, cur = cur, b.norm(cur, "attn_norm", il)
        if b.opt("ssm_in", il) is not None:
            cur = mamba2(b, states, cur, il)
        elif b.heads_kv(il):
            cur = attend(b, inputs.of(il), *qkv(b, cur, il), il)
        else:
            cur = nemotron_feed_forward(b, cur, il)
        cur = ops.add(cur, residual, "nemotron_h_block_out")
    b.finish_whole(cur, out_ids)


def nemotron_feed_forward(b: Builder, cur: Tensor, il: int) -> Tensor:
    """Experts behind a narrower matrix, or a dense part; both square a relu."""
    if b.opt("ffn_gate_inp", il) is None:
        return feed_forward.dense(b, cur, il, steps=2)
    down, up = b.opt("ffn_latent_down", il), b.opt("ffn_latent_up", il)
    routed = feed_forward.experts(
        b,
        cur if down is None else ops.mul_mat(down, cur),
        il,
        gating="sigmoid",
        normalised=b.flag("expert_weights_norm"),
        unit="relu_sqr",
        logits=b.linear("ffn_gate_inp", cur, il, "ffn_moe_logits"),
    )
    if up is not None:
        routed = ops.mul_mat(up, routed)
    return ops.add(routed, feed_forward.dense(b, cur, il, suffix="_shexp", steps=2), "ffn_out")


def falcon_h1(b: Builder) -> None:
    """Every block has attention and Mamba-2 beside each other (src/models/falcon-h1.cpp)."""
    cur = b.embedding()
    positions, states, inputs, out_ids = b.positions(), StateInput(b), Inputs(b), b.out_ids()
    for il in b.blocks:
        residual = cur
        attended = attend(b, inputs.of(il), *rotated(b, b.norm(cur, "attn_norm", il), positions, il), il)
        scanned = mamba2(b, states, b.norm(residual, "attn_norm", il), il)
        (after,) = b.kept(il, out_ids, ops.add(ops.add(attended, scanned), residual, "layer_out"))
        cur = ops.add(feed_forward.dense(b, b.norm(after, "ffn_norm", il), il), after, "l_out")
    b.finish(cur)


def plamo2_model(b: Builder) -> None:
    """PLaMo-2: a state space or attention, a dense part, each with a norm before and after (src/models/plamo2.cpp)."""
    cur = b.embedding()
    positions, states, inputs, out_ids = b.positions(), StateInput(b), Inputs(b), b.out_ids()
    for il in b.blocks:
        residual, cur = cur, b.norm(cur, "attn_norm", il)
        cur = attend(b, inputs.of(il), *rotated(b, cur, positions, il), il) if b.heads_kv(il) else plamo2(b, states, cur, il)
        cur, residual = b.kept(il, out_ids, cur, residual)
        residual = ops.add(b.norm(cur, "post_attention_norm", il), residual, "attn_residual")
        cur = feed_forward.dense(b, b.norm(residual, "ffn_norm", il), il, gate="fused")
        cur = ops.add(b.norm(cur, "post_ffw_norm", il), residual, "ffn_residual")
    b.finish(cur)


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(
    {
        **dict.fromkeys(("mamba", "mamba2"), pure),
        "jamba": jamba,
        "granitehybrid": granite_hybrid,
        **dict.fromkeys(("nemotron_h", "nemotron_h_moe"), nemotron_h),
        "falcon-h1": falcon_h1,
        "plamo2": plamo2_model,
    }
)
"""Architectures and what makes their graph."""
