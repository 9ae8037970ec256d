"""Graphs of the draft heads of models with windows.

Source: llama.cpp src/models/cohere2moe.cpp, step35.cpp and mimo2.cpp (`graph_mtp`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph import ops
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.drafts import joined, last_norm, logits
from generator.memory.graph.models.sliding_window import Run, attention, feed_forward_part


def _parallel(b: Builder) -> None:
    """A block whose feed-forward part reads what the attention read; rows without logits are dropped after the last norm."""
    run, il = Run(b), b.n_layer
    inp = joined(b, il, kind=run.norm)
    read = b.norm(inp, "attn_norm", il, kind=run.norm)
    by_attention = attention(run, read, il)
    cur = ops.add(ops.add(feed_forward_part(run, read, il), inp), by_attention, "mtp_post_ffn")
    cur = last_norm(b, cur, "nextn.shared_head_norm", kind=run.norm, label="mtp_shared_head_norm")
    cur.is_output = True
    logits(b, run.rows(cur), il, scaled=bool(b.real("logit_scale")))


def _serial(b: Builder) -> None:
    """One part after the other; rows without logits are dropped before the last norm."""
    run, il = Run(b), b.n_layer
    inp = joined(b, il)
    after = ops.add(attention(run, b.norm(inp, "attn_norm", il), il), inp, "mtp_ffn_inp")
    cur = run.rows(ops.add(feed_forward_part(run, b.norm(after, "ffn_norm", il), il), after, "mtp_post_ffn"))
    cur.is_output = True
    logits(b, last_norm(b, cur, "nextn.shared_head_norm", "layer_output_norm", kind=run.norm, label="mtp_shared_head_norm"), il)


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType({"cohere2moe": _parallel, "step35": _serial, "mimo2": _serial})
"""Architectures and what makes the graph of their draft head."""
