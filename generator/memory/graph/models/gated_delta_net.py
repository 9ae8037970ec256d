"""Graphs of models with gated delta nets, and what those share with models of delta attention (KDA).

Source: llama.cpp src/models/delta-net-base.cpp, qwen35.cpp, qwen35moe.cpp and qwen3next.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import AttentionInput, attend, project_flat
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder import Inputs
from generator.memory.graph.states import StateInput, by_sequence, held_state, read_state, state_widths
from generator.memory.graph.tensor import Tensor, row_size

# --- parts -----------------------------------------------------------------------------------------


def after_ends(b: Builder, given: StateInput, held: Tensor, rows: Tensor, steps: int, *, copied: bool = False) -> Tensor:
    """The last `steps` tokens before, kept in a state, and those of a micro-batch, whose end is kept again (`build_conv_state`).

    `rows` is [channels, tokens of a sequence, sequences]. For a draft that may be taken back, the ends of its last tokens are kept too;
    they are `copied` before where the state is written from a copy.
    """
    channels, sequences = rows.ne[0], b.batch.sequences
    before = ops.reshape(read_state(b, given, held), steps, channels, sequences)
    inputs = ops.concat(before, ops.transpose(rows), 0, "conv_input")
    for _ in range(1 + b.batch.rollback):
        end = ops.view_3d(inputs, steps, channels, sequences, inputs.nb[1], inputs.nb[2])
        end = ops.cont(end) if copied else end
        b.expand(ops.cpy(end, ops.view_2d(held, steps * channels, sequences, held.nb[1])))
    return inputs


def delta(b: Builder, held: Tensor, parts: tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor], *, flat: bool = False) -> Tensor:
    """A gated delta net of Q, K, V, gate, beta and state, whose new state is kept (`build_recurrent_attn`), in one run where `flat`."""
    v, state, copies = parts[2], parts[5], 1 + b.batch.rollback
    length, heads, tokens, sequences = v.ne
    made = ops.gated_delta_net(*parts, copies)
    size, element = length * length * heads, row_size(made.type, 1)
    row = element * length * heads
    out = ops.view_4d(made, v.ne, element * length, row, row * tokens, name="attn_output")
    if copies > 1:
        written = min(tokens, copies)
        new = ops.view_3d(made, size, sequences, written, element * size, element * size * sequences)
        into = ops.view_3d(held, size, sequences, written, held.nb[1], b.batch.state_rows * held.nb[1])
    else:
        new = ops.view_4d(made, state.ne, element * length, element * length**2, element * size, name="new_state")
        into = ops.view_1d(held, held.ne[0] * sequences) if flat else ops.view_2d(held, held.ne[0], sequences, held.nb[1])
    b.expand(ops.cpy(new, into))
    return out


def unit_length(cur: Tensor) -> Tensor:
    """Rows of length 1 (`build_gdn_l2_norm`)."""
    return ops.scale(ops.rms_norm(cur))


# --- Qwen3-Next and Qwen3.5 ------------------------------------------------------------------------


def qwen(b: Builder) -> None:
    """Blocks of a gated delta net, every few blocks one of gated attention; dense, or experts with a shared one behind a gate."""
    cur = b.embedding()
    recurrent = StateInput(b)
    inputs = Inputs(b)
    positions = b.positions(1 if b.arch == "qwen3next" else 4)
    for il in b.blocks:
        residual = cur
        cur = b.expand(b.norm(cur, "attn_norm", il))
        if il in b.caches:
            cur = gated_attention(b, inputs.of(il), cur, positions, il, reshaped=b.arch == "qwen3next")
        else:
            cur = delta_net(b, recurrent, cur, il)
        after = ops.add(cur, residual, "attn_residual")
        cur = ops.add(feed(b, b.norm(after, "post_attention_norm", il), il), after, "l_out")
    b.finish_whole(cur, b.out_ids())


def gated_attention(b: Builder, given: AttentionInput, cur: Tensor, positions: Tensor, il: int, *, reshaped: bool) -> Tensor:
    """Attention whose Q comes with a gate for what comes out (`build_layer_attn`); they are taken from heads if `reshaped`."""
    n, heads, heads_kv = b.n_tokens, b.of_block("attention.head_count", il), b.heads_kv(il)
    head = b.head("value", il)
    both, k, v = project_flat(b, cur, il, ((head * 2, heads), (head, heads_kv), (head, heads_kv)))
    if reshaped:
        both = ops.reshape(both, head * 2, heads, n)
    length = row_size(both.type, head * 2)
    q, gate = (ops.view_3d(both, head, heads, n, length, length * heads) for _ in range(2))
    q = b.norm(q, "attn_q_norm", il)
    k = b.norm(ops.reshape(k, head, heads_kv, n), "attn_k_norm", il)
    v = ops.reshape(v, head, heads_kv, n, name="Vcur")
    cur = attend(b, given, ops.rope(q, positions, name="Qcur"), ops.rope(k, positions, name="Kcur"), v, il, out=None)
    cur = ops.mul(cur, ops.unary(ops.cont(gate, head * heads, n)), "attn_gated")
    return b.linear("attn_output", cur, il)


def delta_net(b: Builder, given: StateInput, cur: Tensor, il: int) -> Tensor:
    """A gated delta net (`build_layer_attn_linear`)."""
    heads = b.w("ssm_dt", il, "bias").ne[0]
    head, heads_k = b.number("ssm.state_size"), b.number("ssm.group_count")
    head_v = b.number("ssm.inner_size") // heads
    mixed, z = _mixed(b, cur, il, head, heads_k, head_v * heads // heads_k)
    beta, alpha = _beta_and_alpha(b, cur, il, heads, heads_k)
    gate = ops.mul(ops.unary(ops.add(alpha, b.w("ssm_dt", il, "bias"))), b.w("ssm_a", il, ""), "gate")
    r, s = state_widths(b, il)
    kernel = b.w("ssm_conv1d", il)
    inputs = after_ends(b, given, held_state(b, "r", il, r), mixed, kernel.ne[0] - 1, copied=b.arch == "qwen4exp")
    held = held_state(b, "s", il, s)
    state = ops.reshape(read_state(b, given, held), head_v, head_v, heads, b.batch.sequences)
    mixed = ops.unary(ops.ssm_conv(inputs, kernel), "conv_output_silu")
    tokens, sequences = mixed.ne[1:3]
    q, k, v = (
        ops.view_4d(mixed, (length, count, tokens, sequences), row_size(mixed.type, length), mixed.nb[1], mixed.nb[2])
        for length, count in ((head, heads_k), (head, heads_k), (head_v, heads))
    )
    q, k = unit_length(q), unit_length(k)
    if b.arch == "qwen3next" and heads_k != heads:
        q, k = (_repeated(part, heads) for part in (q, k))
    out = delta(b, held, (q, k, v, by_sequence(b, gate, 1, heads), beta, state))
    normed = b.norm(out, "ssm_norm", il)
    out = ops.mul(normed, ops.unary(by_sequence(b, z, head_v, heads)))
    cur = b.linear("ssm_out", by_sequence(b, out, head_v * heads), il, "linear_attn_out")
    return ops.reshape(cur, b.n_embd, b.n_tokens)


def _mixed(b: Builder, cur: Tensor, il: int, head: int, groups: int, width: int) -> tuple[Tensor, Tensor]:
    """Q, K and V of the delta net together, and z (`build_qkvz`): from two matrices, or mixed group by group in one."""
    if b.opt("attn_qkv", il) is not None:
        scale = b.arch != "qwen3next"
        mixed = b.linear("attn_qkv", cur, il, scale=scale)
        return by_sequence(b, mixed, mixed.ne[0]), b.linear("attn_gate", cur, il, "z", scale=scale)
    mixed = by_sequence(b, b.linear("ssm_in", cur, il, scale=False), 2 * head + 2 * width, groups)
    parts = [ops.view_4d(mixed, (length, *mixed.ne[1:]), *mixed.nb[1:]) for length in (head, head, width, width)]
    q, k, v = (ops.cont(part, part.ne[0] * groups, *part.ne[2:]) for part in parts[:3])
    return ops.concat(ops.concat(q, k, 0), v, 0, "qkv_mixed"), ops.cont(parts[3], name="z")


def _beta_and_alpha(b: Builder, cur: Tensor, il: int, heads: int, groups: int) -> tuple[Tensor, Tensor]:
    """How much is written, and how much is kept before its bias: from two matrices, or mixed group by group in one."""
    if b.opt("ssm_ba", il) is None:
        beta = ops.unary(by_sequence(b, b.linear("ssm_beta", cur, il), 1, heads), "beta_sigmoid")
        return beta, by_sequence(b, b.linear("ssm_alpha", cur, il), heads)
    mixed = by_sequence(b, b.linear("ssm_ba", cur, il, scale=False), 2 * heads // groups, groups)
    beta, alpha = (ops.view_4d(mixed, (heads // groups, *mixed.ne[1:]), *mixed.nb[1:]) for _ in range(2))
    beta = ops.unary(ops.cont(beta))
    return by_sequence(b, beta, 1, heads), ops.cont(alpha, heads, *alpha.ne[2:])


def _repeated(cur: Tensor, heads: int) -> Tensor:
    """Each head as often as there are heads of V for it."""
    length, count, tokens, sequences = cur.ne
    each = ops.reshape(cur, length, 1, count, tokens * sequences)
    return ops.reshape(ops.repeat(each, length, heads // count, count, tokens * sequences), length, heads, tokens, sequences)


def feed(b: Builder, cur: Tensor, il: int) -> Tensor:
    """The feed-forward part (`build_layer_ffn`): dense, or experts with a shared one behind a gate of its own."""
    if b.opt("ffn_gate_inp", il) is None:
        return feed_forward.dense(b, cur, il)
    made = feed_forward.experts(b, cur, il)
    if b.opt("ffn_up_shexp", il) is None:
        return made
    shared = feed_forward.dense(b, cur, il, suffix="_shexp")
    gate = ops.unary(b.linear("ffn_gate_inp_shexp", cur, il, scale=False), "shared_expert_gate_sigmoid")
    return ops.add(made, ops.mul(shared, gate), "ffn_out")


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(dict.fromkeys(("qwen35", "qwen35moe", "qwen3next"), qwen))
"""Architectures and what makes their graph."""
