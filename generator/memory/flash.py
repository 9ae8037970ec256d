"""Flash attention as the engine settles it: -fa auto is on where every layer's device computes it, else off.

Where auto comes to off, the cache has been laid out for flash attention before: V is not transposed, and is turned anew for each layer.

Source: llama.cpp src/llama-context.cpp, `resolve_fused_ops`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from generator.gguf.types import block
from generator.memory.backends import attends
from generator.memory.layers import Layers
from generator.memory.model import Model
from generator.memory.placement import HOST, Placement
from generator.memory.rows import head_length, is_latent, kv_heads
from generator.memory.settings import Settings
from generator.memory.windows import windowed_blocks

INCAPABLE = frozenset({"grok"})
"""Architectures that never attend with flash attention (src/llama-context.cpp, `llama_init_from_model`)."""


def settled(model: Model, settings: Settings) -> Settings:
    """Give the settings with flash attention switched off where the engine does so whatever is asked."""
    return replace(settings, flash_attn="off") if model.architecture in INCAPABLE else settings


def leaves_a_choice(settings: Settings) -> bool:
    """Tell whether flash attention is the engine's to choose; a quantised V needs it (`llama_init_from_model`)."""
    return settings.flash_attn == "auto" and block(settings.type_v)[0] == 1


def is_on(model: Model, layers: Layers, settings: Settings, placement: Placement, backend: str, build: str | None) -> bool:
    """Tell whether a run attends with flash attention, by what the devices of its layers compute."""
    if not leaves_a_choice(settings):
        return settings.flash_attn != "off"
    blocks = [il for il in layers.attention.blocks if placement.layer_devices[il] != HOST]
    types = (settings.type_k, settings.type_v)
    return all(attends(backend, *lengths, types, build) for lengths in heads_of_blocks(model, blocks))


def heads_of(model: Model, layers: Layers) -> set[tuple[int, int, int]]:
    """Give what flash attention is about in a model's blocks: lengths of K and V, and query heads a head of K."""
    return set(heads_of_blocks(model, layers.attention.blocks))


def heads_of_blocks(model: Model, blocks: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    """Give the same block by block."""
    windowed = windowed_blocks(model)
    for il in blocks:
        key = int(head_length(model, "key", windowed=il in windowed))
        value = int(head_length(model, "value", windowed=il in windowed))
        if is_latent(model):
            value = int(model.number("attention.kv_lora_rank", value))
        heads, shared = int(model.per_block("attention.head_count", il)), int(kv_heads(model, il))
        yield key, value, heads // max(shared, 1)
