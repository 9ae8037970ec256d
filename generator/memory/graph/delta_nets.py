"""Graphs of models with gated delta nets and delta attention (KDA).

Source: llama.cpp src/models/<name>.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph.builder import Builder

GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType({})
"""Architectures and what makes their graph."""
