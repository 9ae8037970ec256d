"""Graphs of models with short convolutions: LFM2, dense and with experts.

Source: llama.cpp src/models/lfm2.cpp and lfm2moe.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import attend
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder import Inputs, qkv
from generator.memory.graph.models.mamba import store_last_inputs
from generator.memory.graph.states import StateInput, by_sequence, held_state, read_state
from generator.memory.graph.tensor import Tensor


def lfm2(b: Builder) -> None:
    """A short convolution or attention, then a dense part or experts."""
    cur = b.embedding()
    inputs = Inputs(b, rotated=not b.windowed)  # of a hybrid with windows nothing is rotated (`build_inp_mem_hybrid_iswa`)
    states, positions, out_ids = StateInput(b), b.positions(), b.out_ids()
    dense_blocks = b.number("leading_dense_block_count", 0) if b.arch == "lfm2moe" else b.n_layer
    for il in b.blocks:
        residual, cur = cur, b.norm(cur, "attn_norm", il)
        cur = _attention(b, inputs, cur, positions, il) if b.heads_kv(il) else _convolution(b, states, cur, il)
        cur, residual = b.kept(il, out_ids, cur, residual)
        after = ops.add(residual, cur)
        cur = b.norm(after, "ffn_norm", il)
        if il < dense_blocks:
            cur = feed_forward.dense(b, cur, il)
        else:
            cur = feed_forward.experts(b, cur, il, gating=feed_forward.stated_gating(b, "softmax"))
        cur = ops.add(after, cur, "l_out")
    b.logits(b.norm(cur, "token_embd_norm", label="result_norm"))


def _attention(b: Builder, inputs: Inputs, cur: Tensor, positions: Tensor, il: int) -> Tensor:
    q, k, v = qkv(b, cur, il)
    q, k = ops.rope(q, positions), ops.rope(k, positions)
    return attend(b, inputs.of(il), q, k, v, il, window_order=bool(b.windowed))


def _convolution(b: Builder, given: StateInput, cur: Tensor, il: int) -> Tensor:
    """A gated convolution over the last tokens."""
    kept, sequences = b.number("shortconv.l_cache") - 1, b.batch.sequences
    mixed = b.linear("shortconv.in_proj", by_sequence(b, cur, cur.ne[0]), il)
    width = mixed.ne[0] // 3
    gate, after, x = (ops.view_3d(mixed, width, *mixed.ne[1:3], *mixed.nb[1:3]) for _ in range(3))
    held = held_state(b, "r", il, kept * b.n_embd)
    inputs = ops.transpose(ops.mul(gate, x))
    state = ops.reshape(read_state(b, given, held), kept, b.n_embd, sequences)
    inputs = ops.concat(state, inputs, 0)
    store_last_inputs(b, inputs, kept, held)
    made = ops.mul(after, ops.ssm_conv(inputs, b.w("shortconv.conv", il), "conv"))
    out = b.linear("shortconv.out_proj", made, il)
    return ops.reshape(out, out.ne[0], b.n_tokens)


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(dict.fromkeys(("lfm2", "lfm2moe"), lfm2))
"""Architectures and what makes their graph."""
