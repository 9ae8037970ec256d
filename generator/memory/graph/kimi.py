"""Graphs of Kimi Linear and its kin: blocks of delta attention, some of latent attention between them.

Source: llama.cpp src/models/kimi-linear.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph.builder import Builder
from generator.memory.graph.decoder import Inputs
from generator.memory.graph.delta_attention import delta_attention
from generator.memory.graph.latent_attention import latent_attention
from generator.memory.graph.stack import feed_forward_part, stack
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
        return latent_attention(b, inputs.of(il), cur, il, None, in_heads=b.opt("attn_k_b", il) is None, rotated_first=True)

    b.finish(stack(b, cur, out_ids, attention, feed_forward_part(b, normalised=True)))


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType({"kimi-linear": kimi_linear})
"""Architectures and what makes their graph."""
