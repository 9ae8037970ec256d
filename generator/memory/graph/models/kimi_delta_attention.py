"""Delta attention (KDA): a gated delta net with a gate for each element of K, and short convolutions of Q, K and V apart.

Source: llama.cpp src/models/kimi-linear.cpp, kimi-k3.cpp and bailingmoe3.cpp.
"""

from __future__ import annotations

from generator.memory.graph import ops
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.gated_delta_net import delta, unit_length
from generator.memory.graph.states import StateInput, by_sequence, held_state, read_state, state_widths
from generator.memory.graph.tensor import Tensor, row_size


def delta_attention(b: Builder, given: StateInput, cur: Tensor, il: int) -> Tensor:
    """Delta attention of one block."""
    head, heads, n = b.number("kda.head_dim"), b.of_block("attention.head_count", 0), b.n_tokens
    r, s = state_widths(b, il)
    ends = held_state(b, "r", il, r)
    before = read_state(b, given, ends)
    q, k, v = (
        by_sequence(b, _convolved(b, ends, before, rows, name, il), head, heads) for name, rows in _projected(b, cur, il, head * heads)
    )
    gate = by_sequence(b, _gate(b, cur, il, head, heads), head, heads)
    beta = ops.unary(by_sequence(b, b.linear("ssm_beta", cur, il, scale=False), 1, heads), "kda_beta")
    held = held_state(b, "s", il, s)
    state = ops.reshape(read_state(b, given, held), head, head, heads, b.batch.sequences)
    out = delta(b, held, (unit_length(q), unit_length(k), v, gate, beta, state), flat=b.arch == "kimi-linear")
    out = ops.reshape(ops.cont(out), head, heads, n)
    out = ops.mul(b.norm(out, "ssm_norm", il), ops.unary(ops.reshape(_out_gate(b, cur, il), head, heads, n)))
    return b.linear("attn_output", ops.cont(out, head * heads, n), il, scale=False)


def _projected(b: Builder, cur: Tensor, il: int, width: int) -> list[tuple[str, Tensor]]:
    """Q, K and V as rows of tokens: from three matrices or from one."""
    if b.opt("attn_qkv", il) is None:
        return [(part, b.linear(f"attn_{part}", cur, il, scale=False)) for part in "qkv"]
    both = b.linear("attn_qkv", cur, il, scale=False)
    return [(part, ops.cont(ops.view_2d(both, width, b.n_tokens, both.nb[1]))) for part in "qkv"]


def _convolved(b: Builder, ends: Tensor, before: Tensor, rows: Tensor, part: str, il: int) -> Tensor:
    """The short convolution of Q, K or V, whose end is kept: once more for each token that a draft can be taken back by."""
    kernel = b.w(f"ssm_conv1d_{part}", il)
    width, sequences = rows.ne[0], b.batch.sequences
    steps = kernel.ne[0] - 1
    of_channel, of_sequence = row_size(ends.type, steps), ends.nb[1]
    seen = ops.view_3d(before, steps, width, sequences, of_channel, of_sequence)
    inputs = ops.concat(seen, ops.transpose(by_sequence(b, rows, width)), 0, "conv_input")
    for _ in range(1 + b.batch.rollback):
        end = ops.view_3d(inputs, steps, width, sequences, inputs.nb[1], inputs.nb[2])
        b.expand(ops.cpy(end, ops.view_3d(ends, steps, width, sequences, of_channel, of_sequence)))
    made = ops.ssm_conv(inputs, ops.reshape(kernel, steps + 1, width))
    return ops.unary(ops.reshape(made, width, b.n_tokens))


def _gate(b: Builder, cur: Tensor, il: int, head: int, heads: int) -> Tensor:
    """How much of the state is kept, element by element: [length, heads, tokens]. It may have a lower bound."""
    gate = b.linear("ssm_f_a", cur, il, scale=False)
    short = b.opt("ssm_f_b", il) is not None
    if short:
        gate = b.linear("ssm_f_b", gate, il, scale=False)
    gate = ops.add(gate, b.w("ssm_dt", il, "bias"))
    factor = ops.reshape(b.w("ssm_a", il, ""), 1, heads, 1)
    if not b.model.has("kda.gate_lower_bound"):
        return ops.mul(ops.reshape(ops.unary(gate), head, heads, b.n_tokens), factor, "kda_g1")
    gate = ops.mul(ops.reshape(gate, head, heads, b.n_tokens), factor)
    return ops.scale(ops.unary(ops.scale(gate) if short else gate), "kda_g1")


def _out_gate(b: Builder, cur: Tensor, il: int) -> Tensor:
    """The gate of what comes out, from one matrix or by way of a short row."""
    if b.arch in {"kimi-linear", "kimi-k3"}:
        cur = ops.reshape(by_sequence(b, cur, cur.ne[0]), cur.ne[0], b.n_tokens)
    if b.opt("ssm_g", il) is not None:
        return b.linear("ssm_g", cur, il, scale=False)
    gate = b.linear("ssm_g_a", cur, il, scale=False)
    return gate if b.opt("ssm_g_b", il) is None else b.linear("ssm_g_b", gate, il, scale=False)
