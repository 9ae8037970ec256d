"""The graph of a draft head's own context: one more block that reads the token and the hidden state of the model before it.

Source: llama.cpp src/models/qwen35.cpp, qwen35moe.cpp, qwen3next.cpp, bailingmoe3.cpp, glm4-moe.cpp, deepseek2.cpp, deepseek32.cpp,
glm-dsa.cpp, hy-v3.cpp and nemotron-h-moe.cpp (`graph_mtp`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generator.memory.graph import ops
from generator.memory.graph.attention import AttentionInput, attend
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder import Inputs, qkv, rope_factors
from generator.memory.graph.models.gated_delta_net import feed, gated_attention
from generator.memory.graph.models.kimi import gated_by_head, limited
from generator.memory.graph.models.latent_attention import Manner, latent_attention
from generator.memory.graph.models.stack import feed_forward_part
from generator.memory.graph.models.state_spaces import nemotron_feed_forward
from generator.memory.graph.tensor import Tensor
from generator.memory.graph.unknown import UnknownGraphError


@dataclass(frozen=True, slots=True)
class Head:
    """How an architecture's draft head differs: its attention, its feed-forward part and the norm before that, and its last norm.

    `crops` tells where the tokens whose logits are kept are chosen: after the attention, after the sum that follows it, or last.
    `each` are the positions of a token.
    """

    attention: Callable[[Builder, AttentionInput, Tensor, Tensor, int], Tensor]
    feed: Callable[[Builder, Tensor, int], Tensor]
    feed_norm: str = "post_attention_norm"
    last_norm: str = "nextn.shared_head_norm"
    crops: str = "last"
    last_kind: str = "rms"
    each: Callable[[Builder], int] = lambda _: 1


def draft(b: Builder) -> None:
    """Make the graph of a model's draft head. Raises UnknownGraphError for one without a cache."""
    head, il = HEADS[b.arch], b.n_layer
    if il not in b.caches:
        raise UnknownGraphError(f"the draft head of {b.arch} has no cache of its own")
    inputs, out_ids, positions = Inputs(b), b.out_ids(), b.positions(head.each(b))
    residual = joined(b, il)
    cur = head.attention(b, inputs.of(il), b.norm(residual, "attn_norm", il), positions, il)
    if head.crops == "attention":
        cur, residual = ops.get_rows(cur, out_ids), ops.get_rows(residual, out_ids)
    after = ops.add(cur, residual, "mtp_ffn_inp")
    if head.crops == "sum":
        after = ops.get_rows(after, out_ids)
    cur = ops.add(head.feed(b, b.norm(after, head.feed_norm, il), il), after, "mtp_post_ffn")
    cur = last_norm(b, cur, head.last_norm, kind=head.last_kind, label="h_nextn")
    cur.is_output = True
    logits(b, ops.get_rows(cur, out_ids) if head.crops == "last" else cur, il)


def joined(b: Builder, il: int, *, kind: str = "rms") -> Tensor:
    """The token and the hidden state before it, made one, behind norms of a kind."""
    token = embedded(b, il)
    hidden = b.input("mtp_h_input", "F32", b.n_embd, b.n_tokens)
    parts = ops.concat(b.norm(token, "nextn.enorm", il, kind=kind), b.norm(hidden, "nextn.hnorm", il, kind=kind), 0, "mtp_concat")
    return b.linear("nextn.eh_proj", parts, il, "mtp_eh_proj")


def embedded(b: Builder, il: int) -> Tensor:
    """The token, by a matrix of the draft head's own where the file has one."""
    matrix = b.opt("nextn.embed_tokens", il) or b.w("token_embd")
    return ops.get_rows(matrix, b.input("inp_tokens", "I32", b.n_tokens), "mtp_tok_embd")


def last_norm(b: Builder, cur: Tensor, *names: str, label: str, kind: str = "rms") -> Tensor:
    """What is given behind the first norm of these that the draft head has, else behind the model's own."""
    weights = (b.opt(name, b.n_layer) for name in names)
    own = next((weight for weight in weights if weight is not None), None)
    return b.normed(cur, b.w("output_norm") if own is None else own, kind=kind, label=label)


def logits(b: Builder, cur: Tensor, il: int, *, scaled: bool = False) -> None:
    """The logits of what is given, by a matrix of the draft head's own where the file has one."""
    own = b.opt("nextn.shared_head_head", il)
    made = ops.mul_mat(b.head_matrix() if own is None else own, cur, "result_output")
    scale = b.opt("output", None, "scale") if own is None else b.opt("nextn.shared_head_head", il, "scale")
    made = made if scale is None else ops.mul(made, scale, "result_output")
    made = ops.scale(made, "result_output") if scaled else made
    made.is_output = True
    b.expand(made)


def _gated(b: Builder, given: AttentionInput, cur: Tensor, positions: Tensor, il: int) -> Tensor:
    return gated_attention(b, given, cur, positions, il, reshaped=False)


def _latent(b: Builder, given: AttentionInput, cur: Tensor, positions: Tensor, il: int) -> Tensor:
    return latent_attention(b, given, cur, il, Manner(positions))


def _usual(b: Builder, given: AttentionInput, cur: Tensor, positions: Tensor, il: int) -> Tensor:
    q, k, v = qkv(b, cur, il)
    factors = rope_factors(b, il) if b.arch == "hy_v3" else None
    return attend(b, given, ops.rope(q, positions, factors), ops.rope(k, positions, factors), v, il)


def _without_positions(b: Builder, given: AttentionInput, cur: Tensor, _: Tensor, il: int) -> Tensor:
    return attend(b, given, *qkv(b, cur, il), il)


def _experts(b: Builder, cur: Tensor, il: int) -> Tensor:
    return feed_forward_part(b)(cur, il)


_QWEN35 = Head(_gated, feed, each=lambda _: 4)
_LATENT = Head(_latent, _experts, feed_norm="ffn_norm")

HEADS: Mapping[str, Head] = MappingProxyType(
    {
        **dict.fromkeys(("qwen35", "qwen35moe"), _QWEN35),
        "qwen3next": Head(_gated, feed, crops="attention"),
        "bailingmoe3": Head(
            gated_by_head, limited, feed_norm="ffn_norm", last_norm="layer_output_norm", each=lambda b: 4 if b.uses_mrope else 1
        ),
        "nemotron_h_moe": Head(_without_positions, nemotron_feed_forward, crops="sum", last_kind="layer"),
        "glm4moe": Head(_usual, _experts),
        "hy_v3": Head(_usual, _experts, feed_norm="ffn_norm"),
        **dict.fromkeys(("deepseek2", "deepseek32", "glm-dsa"), _LATENT),
    }
)
"""How the draft head of each architecture differs."""

GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(dict.fromkeys(HEADS, draft))
"""Architectures and what makes the graph of their draft head."""
