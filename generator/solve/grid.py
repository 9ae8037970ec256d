"""The grid: the settings a solver may choose between, and one point of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from generator.errors import RefusedSettings
from generator.gguf.types import block
from generator.memory.architectures import layers_of
from generator.memory.backends import reads
from generator.memory.flash import is_on, settled
from generator.memory.ladder import Caches
from generator.memory.model import Model
from generator.memory.placement import place
from generator.memory.refusals import FLOATS, refuse
from generator.memory.settings import Settings

SHORTEST = 4096
"""Tokens of the shortest context that is tried (of a model trained for less: its own)."""

MICRO_BATCHES = (512, 1024, 2048, 256)
"""Micro-batches in tokens, the engine's default first."""

CACHES: tuple[Caches, ...] = (("f16", "f16"), ("q8_0", "f16"), ("q8_0", "q8_0"), ("q4_0", "q4_0"))
"""Pairs of cache types of K and V, the most precise first. `bf16` would take as much as `f16`, `f32` twice as much for nothing."""


class Depth(NamedTuple):
    """How far a model is offloaded: layers on the card, counted from the last, and blocks whose experts stay on the host."""

    n_gpu_layers: int
    n_cpu_moe: int


@dataclass(frozen=True, slots=True)
class Grid:
    """The axes: contexts in tokens, rising; pairs of cache types, the most precise first; micro-batches; depths, the shallowest first."""

    contexts: tuple[int, ...]
    caches: tuple[Caches, ...]
    micro_batches: tuple[int, ...]
    depths: tuple[Depth, ...]


class Point(NamedTuple):
    """One point: a quant and a depth by their places in the space, and the settings as they are."""

    quant: int
    n_ctx: int
    caches: Caches
    n_ubatch: int
    depth: int


@cache
def precision(caches: Caches) -> Fraction:
    """Give the bits that an element of K and one of V are kept in, together: the more the better."""
    return sum((Fraction(size * 8, elements) for elements, size in map(block, caches)), Fraction())


def contexts(trained: int) -> tuple[int, ...]:
    """Give 2^k and 3·2^k tokens from SHORTEST up to the trained length, and that length itself."""
    found = {trained}
    for first in (SHORTEST, SHORTEST // 2 * 3):
        length = first
        while length < trained:
            found.add(length)
            length *= 2
    return tuple(sorted(found))


def depths(model: Model, settings: Settings) -> tuple[Depth, ...]:
    """Give the depths of offload: one block's experts after another, then whole layers, from the first block on.

    A model without routed experts has the second part only.
    """
    layers = int(model.block_count) + 1
    deepest = int(model.block_count if settings.loads_draft_head else model.loaded_blocks) if model.experts() else 0
    by_expert = [Depth(layers, blocks) for blocks in range(deepest + 1)]
    return (*by_expert, *(Depth(on_card, deepest) for on_card in range(layers - 1, -1, -1)))


def attention(model: Model, settings: Settings, backend: str, build: str | None) -> str:
    """Give what -fa is to be: as the settings say, and for auto what the engine would make of it with an unquantised cache."""
    given = settled(model, settings).flash_attn
    if given != "auto":
        return given
    return "on" if _attends(model, settings, ("f16", "f16"), backend, build) else "off"


def cache_pairs(model: Model, settings: Settings, backend: str, build: str | None) -> tuple[Caches, ...]:
    """Give the pairs of cache types that the engine takes under settings with -fa on or off, on a default build of the backend."""
    return tuple(pair for pair in CACHES if _takes(model, settings, pair, backend, build))


def _takes(model: Model, settings: Settings, pair: Caches, backend: str, build: str | None) -> bool:
    try:
        refuse(model, replace(settings, type_k=pair[0], type_v=pair[1]))
    except RefusedSettings:
        return False
    if settings.flash_attn == "off":
        return pair[1] in FLOATS
    return reads(backend, pair, build) and _attends(model, settings, pair, backend, build)


def _attends(model: Model, settings: Settings, pair: Caches, backend: str, build: str | None) -> bool:
    """Tell whether the backend computes flash attention over caches of these types, with every layer on the card."""
    automatic = replace(settings, type_k=pair[0], type_v=pair[1], n_gpu_layers="all", flash_attn="auto")
    placement = place(model, automatic, 1, draft_head=automatic.loads_draft_head, backend=backend)
    return is_on(model, layers_of(model, build), automatic, placement, backend, build)


def points(grid: Grid, quants: int) -> Iterator[Point]:
    """Give every point, the quants' order first."""
    for quant in range(quants):
        for n_ctx in grid.contexts:
            for caches in grid.caches:
                for n_ubatch in grid.micro_batches:
                    for depth in range(len(grid.depths)):
                        yield Point(quant, n_ctx, caches, n_ubatch, depth)
