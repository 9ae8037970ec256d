"""How many tensors the engine makes room for in a graph; it ends where a graph has more.

Few tensors in the file and many operations a block come to that: weights that are fused, quantised caches and several sequences.

Source: llama.cpp src/llama-context.cpp, `graph_max_nodes`; ggml/src/ggml.c, `ggml_hash_size` and `ggml_new_object`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from generator.errors import RefusedSettings
from generator.memory.builds import Builds
from generator.memory.graph.tensor import Tensor

ROOM_BY_TENSORS = Builds(since="v0.4.0")
"""Builds that this is known of."""

LARGE_GRAPHS = frozenset({"kimi-k3", "glm5-next"})
MIDDLING_GRAPHS = frozenset(
    {
        "qwen3next",
        "kimi-linear",
        "bailingmoe3",
        "qwen35",
        "qwen35moe",
        "qwen4exp",
        "deepseek4",
        "nanbeige",
        "minimax-01",
        "minimax-m3",
        "hy_v4",
    }
)
"""Architectures that are given more room."""

TABLES = (1031, 2053, 4099, 8209, 16411, 32771, 65537, 131101, 262147, 524309, 1048583, 2097169, 4194319)
"""Places of the scheduler's tables."""


def refuse_larger_graphs(architecture: str, leafs: Sequence[Tensor], nodes: Sequence[Tensor], loaded: int, tokens: int) -> None:
    """Raise RefusedSettings for a graph that is larger than the engine makes room for, of a file of which so many tensors are loaded."""
    room = _room(architecture, loaded, tokens)
    made = len(nodes) + sum(1 for leaf in leafs if leaf.home is None)
    places = TABLES[min(bisect_left(TABLES, room), len(TABLES) - 1)]
    if made <= room and len(nodes) + len(leafs) <= places:
        return
    raise RefusedSettings(
        f"the graph has {len(nodes)} operations on {len(leafs)} tensors, and the engine ends where these are more than {places}, or where "
        f"it makes more than {room}",
        rule="graph larger than its room",
        remedy="give -ctk and -ctv f16, or -np 1",
    )


def _room(architecture: str, loaded: int, tokens: int) -> int:
    if architecture in LARGE_GRAPHS:
        return max(tokens * 160, 64 * loaded)
    if architecture in MIDDLING_GRAPHS:
        return max(tokens * 40, 32 * loaded)
    return max(1024, 8 * loaded)
