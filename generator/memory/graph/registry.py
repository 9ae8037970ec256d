"""Which function makes the graph of an architecture, and of its draft head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph.builder import Builder
from generator.memory.graph.models import (
    decoder_variants,
    deepseek,
    deepseek4,
    deepseek_sparse,
    drafts,
    gated_delta_net,
    gemma,
    glm5_next,
    kimi,
    lfm2,
    minimax,
    qwen4,
    rwkv,
    sliding_window,
    sliding_window_drafts,
    state_spaces,
)
from generator.memory.graph.models.decoder import decoder
from generator.memory.graph.unknown import UnknownGraphError

Graph = Callable[[Builder], None]

GRAPHS: Mapping[str, Graph] = MappingProxyType(
    {
        **decoder_variants.GRAPHS,
        **sliding_window.GRAPHS,
        **gemma.GRAPHS,
        **deepseek.GRAPHS,
        **deepseek_sparse.GRAPHS,
        **deepseek4.GRAPHS,
        **gated_delta_net.GRAPHS,
        **kimi.GRAPHS,
        **minimax.GRAPHS,
        **qwen4.GRAPHS,
        **glm5_next.GRAPHS,
        **state_spaces.GRAPHS,
        **lfm2.GRAPHS,
        **rwkv.GRAPHS,
    }
)
"""Architectures with a graph of their own; the others are plain decoders."""

DRAFTS: Mapping[str, Graph] = MappingProxyType({**drafts.GRAPHS, **sliding_window_drafts.GRAPHS, **deepseek4.DRAFTS})
"""Architectures whose draft head is known."""


def graph_of(architecture: str) -> Graph:
    """Give what makes the graph of an architecture."""
    return GRAPHS.get(architecture, decoder)


def draft_graph_of(architecture: str) -> Graph:
    """Give what makes the graph of an architecture's draft head. Raises UnknownGraphError where that is not known."""
    found = DRAFTS.get(architecture)
    if found is None:
        raise UnknownGraphError(f"no graph is written here for a draft head of {architecture}")
    return found
