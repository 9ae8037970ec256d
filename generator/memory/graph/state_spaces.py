"""Graphs of models with state spaces (Mamba), RWKV and short convolutions.

Source: llama.cpp src/models/<name>.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph.builder import Builder

GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType({})
"""Architectures and what makes their graph."""
