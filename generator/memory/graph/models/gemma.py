"""Graphs of gemma3n and gemma4: embeddings for each block, and blocks that read the caches of earlier ones.

Source: llama.cpp src/models/gemma3n.cpp and gemma4.cpp; src/llama-model.cpp, `create_memory`, for which cache such a block reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import attend
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder import Inputs, rope_factors
from generator.memory.graph.tensor import Tensor
from generator.memory.windows import shared_from

# --- what both have --------------------------------------------------------------------------------


def _block_inputs(b: Builder, embedded: Tensor) -> Tensor:
    """Give the embeddings of each block, [length, tokens, blocks]: looked up by token, and a projection of the embedded ones added."""
    n, weight = b.n_tokens, b.w("per_layer_proj_norm")
    length = weight.ne[0]
    looked_up = ops.get_rows(b.w("per_layer_token_embd"), b.input("inp_per_layer_tokens", "I32", n))
    looked_up = b.expand(ops.scale(ops.reshape(looked_up, length, b.n_layer, n), "inp_per_layer_selected"))
    projected = ops.scale(ops.mul_mat(b.w("per_layer_model_proj"), embedded))
    projected = b.normed(ops.reshape(projected, length, b.n_layer, n), weight, label="per_layer_proj")
    both = ops.scale(ops.add(projected, looked_up), "inp_per_layer")
    return ops.cont(ops.permute(both, 0, 2, 1, 3))


def _slice(stacked: Tensor) -> Tensor:
    """One of the matrices that lie one after the other."""
    return ops.view_2d(stacked, stacked.ne[0], stacked.ne[1], stacked.nb[1])


def _rest(stacked: Tensor) -> Tensor:
    """All of them but the first."""
    return ops.view_3d(stacked, stacked.ne[0], stacked.ne[1], stacked.ne[2] - 1, stacked.nb[1], stacked.nb[2])


class Attention:
    """The attention of blocks with a norm of V and, from some block on, without K and V of their own."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.positions = b.positions()
        self.inputs = Inputs(b)
        end = shared_from(b.model)
        self.end = b.n_layer if end is None else int(end)
        self.copies_fused = b.arch == "gemma4"

    def of(self, read: Tensor, il: int, factors: Tensor | None) -> Tensor:
        """Give what a block's attention makes of what it reads."""
        b = self.b
        heads, heads_kv, head = b.of_block("attention.head_count", il), b.heads_kv(il), b.head("key", il)
        fused = b.linear("attn_qkv", read, il, "wqkv") if b.opt("attn_qkv", il) is not None else None

        def projected(name: str, count: int, label: str) -> Tensor:
            if fused is None:
                return ops.reshape(b.linear(name, read, il, label), head, count, b.n_tokens)
            if not (self.copies_fused or il >= self.end):
                return ops.view_3d(fused, head, count, b.n_tokens, fused.nb[0] * head, fused.nb[1], label)
            made = ops.cont(ops.view_2d(fused, count * head, b.n_tokens, fused.nb[1]), name=label)
            return ops.reshape(made, head, count, b.n_tokens)

        q = b.norm(projected("attn_q", heads, "Qcur"), "attn_q_norm", il, label="Qcur_normed")
        q = ops.rope(q, self.positions, factors, "Qcur_pos")
        if il >= self.end:
            owner = self.end - (2 if il in b.windowed else 1)
            return attend(
                *(b, self.inputs.of(owner), q, None, None, il),
                owner=owner,
                head_k=head,
                head_v=b.head("value", il),
                heads=heads_kv,
                window_order=True,
            )
        given = projected("attn_k", heads_kv, "Kcur")
        if fused is None and b.opt("attn_v", il) is None:
            v = ops.reshape(given.src[0], head, heads_kv, b.n_tokens)
        else:
            v = projected("attn_v", heads_kv, "Vcur")
        k = ops.rope(b.norm(given, "attn_k_norm", il, label="Kcur_normed"), self.positions, factors, "Kcur_pos")
        return attend(b, self.inputs.of(il), q, k, ops.rms_norm(v, "Vcur_normed"), il, window_order=True)


# --- gemma4 ----------------------------------------------------------------------------------------


def gemma4(b: Builder) -> None:
    """Make the graph of a gemma4."""
    cur = ops.scale(b.embedding(), "inp_scaled")
    attention = Attention(b)
    each = _block_inputs(b, cur) if b.opt("per_layer_token_embd") is not None else None
    for il in b.blocks:
        cur = _gemma4_block(b, attention, cur, each, il)
    b.finish_whole(cur, b.out_ids(), scaled=3 * bool(b.real("final_logit_softcapping", 1.0)))


def _gemma4_block(b: Builder, attention: Attention, inp: Tensor, each: Tensor | None, il: int) -> Tensor:
    read = b.norm(inp, "attn_norm", il)
    factors = rope_factors(b, il) if il not in b.windowed else None
    cur = b.norm(attention.of(read, il, factors), "post_attention_norm", il)
    after = ops.add(cur, inp, "attn_out")
    made = _gemma4_dense(b, after, il) if b.opt("ffn_gate_inp", il) is None else _gemma4_experts(b, after, il)
    cur = ops.add(b.norm(made, "post_ffw_norm", il), after)
    if each is not None:
        gated = ops.mul(ops.unary(b.linear("inp_gate", cur, il)), _slice(each))
        cur = ops.add(cur, b.norm(b.linear("proj", gated, il), "post_norm", il, label="per_layer_embd_out"))
    scale = b.opt("layer_output_scale", il)
    return cur if scale is None else ops.mul(cur, scale, "out_scaled")


def _gemma4_dense(b: Builder, after: Tensor, il: int) -> Tensor:
    return feed_forward.dense(b, b.norm(after, "ffn_norm", il), il)


def _gemma4_experts(b: Builder, after: Tensor, il: int) -> Tensor:
    """A dense part and experts side by side; who is chosen follows from what comes out of the attention."""
    dense = b.norm(_gemma4_dense(b, after, il), "post_ffw_norm_1", il, label="ffn_mlp")
    read = b.norm(after, "pre_ffw_norm_2", il, label="ffn_norm_2")
    factor = b.opt("ffn_gate_inp", il, "scale")
    assert factor is not None
    logits = b.linear("ffn_gate_inp", ops.mul(ops.scale(ops.rms_norm(after)), factor), il, "ffn_moe_logits", scale=False)
    chosen = feed_forward.experts(b, read, il, scaled=False, logits=logits)
    return ops.add(dense, b.norm(chosen, "post_ffw_norm_2", il, label="ffn_moe"), "ffn_moe_combined")


# --- gemma3n ---------------------------------------------------------------------------------------

SPARSE_BLOCKS = 10
"""Blocks at the start whose gates let only the largest elements through (src/models/models.h, `n_layer_sparsity`)."""


def gemma3n(b: Builder) -> None:
    """Make the graph of a gemma3n: several streams of embeddings, of which a block computes one and predicts the others."""
    inp = ops.scale(b.embedding(), "inp_scaled")
    attention = Attention(b)
    each = _block_inputs(b, inp)
    others = b.w("altup_proj").ne[2]
    made = ops.mul_mat(b.w("altup_proj"), ops.repeat(inp, inp.ne[0], inp.ne[1], others))
    cur = ops.concat(inp, _as_long_as(made, inp), 2, "inp_stacked")
    for il in b.blocks:
        cur = _gemma3n_block(b, attention, cur, each, il)
    b.finish(ops.get_rows(_merged(b, cur), b.out_ids()), scaled=3)


def _merged(b: Builder, stacked: Tensor) -> Tensor:
    """The mean of the streams, all brought to the length of the first."""
    magnitude = _magnitude(_slice(stacked))
    made = ops.mul_mat(b.w("altup_unembd_proj"), _rest(stacked))
    made = ops.div(ops.mul(made, magnitude), _magnitude(made), "altup_unembd")
    cur = _slice(stacked)
    for _ in range(made.ne[2]):
        cur = ops.add(cur, _slice(made))
    return ops.scale(cur, "unembd_merged")


def _as_long_as(made: Tensor, model: Tensor) -> Tensor:
    return ops.div(ops.mul(made, _magnitude(model)), _magnitude(made))


def _magnitude(x: Tensor) -> Tensor:
    return ops.sqrt(ops.sum_rows(ops.sqr(x)))


def _gemma3n_block(b: Builder, attention: Attention, inp: Tensor, each: Tensor, il: int) -> Tensor:
    predictions = _predicted(b, inp, il)
    active = _slice(predictions)
    read = b.norm(active, "attn_norm", il)
    laurel = b.norm(b.linear("laurel_r", b.linear("laurel_l", read, il), il), "laurel_post_norm", il)
    laurel = ops.add(laurel, read, "laurel_out")
    cur = b.norm(attention.of(read, il, None), "post_attention_norm", il)
    both = ops.scale(ops.add(ops.add(cur, active, "attn_gated"), laurel), "attn_laurel")
    cur = _gemma3n_feed_forward(b, b.norm(both, "ffn_norm", il), il)
    cur = ops.add(b.norm(cur, "post_ffw_norm", il), both, "attn_ffw_laurel_gated")
    corrected = _corrected(b, predictions, cur, il)
    first = ops.mul(_slice(corrected), b.w("altup_correct_scale", il))
    first = ops.mul(ops.unary(b.linear("inp_gate", first, il)), _slice(each))
    first = b.norm(b.linear("proj", first, il), "post_norm", il, label="first_prediction_out")
    return ops.concat(_slice(corrected), ops.add(_rest(corrected), first), 2, "l_out")


def _gemma3n_feed_forward(b: Builder, read: Tensor, il: int) -> Tensor:
    up, gate = b.linear("ffn_up", read, il), b.linear("ffn_gate", read, il)
    if il < SPARSE_BLOCKS:
        mean = ops.mean(gate)
        deviation = ops.sqrt(ops.scale(ops.sum_rows(ops.sqr(ops.sub(gate, mean)))))
        gate = ops.unary(ops.sub(gate, ops.add(mean, ops.scale(deviation))))
    return b.linear("ffn_down", ops.mul(up, ops.unary(gate)), il, "ffn_out")


def _modalities(b: Builder, x: Tensor, il: int) -> Tensor:
    read = ops.scale(b.norm(x, "altup_router_norm", il))
    return ops.unary(ops.mul_mat(b.w("altup_router", il), read), "modalities")


def _predicted(b: Builder, cur: Tensor, il: int) -> Tensor:
    """All streams as the block's router foresees them (`altup_predict`)."""
    streams = cur.ne[2]
    factors = b.linear("altup_predict_coef", _modalities(b, _slice(cur), il), il)
    factors = ops.reshape(factors, streams, streams, b.n_tokens)
    made = ops.mul_mat(ops.cont(ops.permute(cur, 1, 2, 0, 3)), factors)
    return ops.add(ops.cont(ops.permute(made, 0, 2, 1, 3)), cur, "predictions")


def _corrected(b: Builder, predictions: Tensor, computed: Tensor, il: int) -> Tensor:
    """All streams corrected by what the computed one turned out to be (`altup_correct`)."""
    modalities = _modalities(b, computed, il)
    news = ops.sub(computed, _slice(predictions), "innovation")
    factors = ops.scale(b.linear("altup_correct_coef", modalities, il), "all_coefs")
    factors = ops.cont(ops.transpose(factors), 1, b.n_tokens, factors.ne[0])
    spread = ops.repeat(news, news.ne[0], news.ne[1], predictions.ne[2])
    return ops.add(ops.mul(spread, factors), predictions, "corrected")


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType({"gemma3n": gemma3n, "gemma4": gemma4})
"""Architectures and what makes their graph."""
