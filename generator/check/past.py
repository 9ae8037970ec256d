"""What a sequence's past takes on the card at a context, and what a token reads of it, by the memory rules of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generator.memory import kv_cache, recurrent
from generator.memory.architectures import layers_of
from generator.memory.context import context_of
from generator.memory.layers import Cache, Layers
from generator.memory.model import Model
from generator.memory.settings import Settings
from generator.quantity import BYTE, BYTE_PER_TOKEN, ONE, Quantity, smallest, total


@dataclass(frozen=True, slots=True)
class Past:
    """The caches and states of a model at a build, with a pair of cache types."""

    model: Model
    layers: Layers
    caches: tuple[str, str]

    @staticmethod
    def of(model: Model, build: str, caches: tuple[str, str]) -> Past:
        """Give what a model keeps. Raises UnsupportedArchitecture."""
        return Past(model, layers_of(model, build), caches)

    def growth(self) -> Quantity:
        """Give the bytes that a token more of context adds."""
        rows = [_per_token(cache, self._row(cache)) for cache in self.layers.caches if cache.window is None]
        if not rows:
            return Quantity.constant(0, BYTE_PER_TOKEN, "no cache grows with the context")
        return rows[0] if len(rows) == 1 else total(rows, unit=BYTE_PER_TOKEN, words="sum over the caches that grow with the context")

    def held(self, context: Quantity, growth: Quantity) -> Quantity:
        """Give the bytes of all caches at a context; `growth` is the named number of a model with one cache for all of it."""
        if self.one_cache:
            return growth * context
        settings = Settings.from_recipe({"n_ctx": int(context), "n_parallel": 1, "type_k": self.caches[0], "type_v": self.caches[1]})
        cells = context_of(self.model, settings)
        sizes = [self._row(cache) * kv_cache.cells_of(cache, cells) for cache in self.layers.caches]
        return _sum(sizes)

    def read(self, context: Quantity, held: Quantity) -> Quantity:
        """Give the bytes that a token reads of full caches: all of them, but of a window no further than it goes."""
        if self.one_cache:
            return held
        sizes = []
        for cache in self.layers.caches:
            seen = context if cache.window is None else smallest([context, cache.window])
            sizes.append(_per_token(cache, self._row(cache)) * seen)
        return _sum(sizes)

    def state(self) -> Quantity:
        """Give the bytes of the states that recurrent blocks keep for a sequence."""
        sizes = [
            recurrent.bytes_per_block(state) * Quantity.constant(len(state.blocks), ONE, "blocks that keep a state")
            for state in self.layers.states
        ]
        return _sum(sizes)

    @property
    def one_cache(self) -> bool:
        """Tell whether there is one cache, with cells for the whole context."""
        caches = self.layers.caches
        return len(caches) == 1 and caches[0].window is None and caches[0].ratio is None

    def _row(self, cache: Cache) -> Quantity:
        return kv_cache.bytes_per_token(cache, cache.blocks, *self.caches)


def _per_token(cache: Cache, row: Quantity) -> Quantity:
    return row if cache.ratio is None else row / cache.ratio


def _sum(sizes: Sequence[Quantity]) -> Quantity:
    if not sizes:
        return Quantity.constant(0, BYTE, "none is kept")
    return sizes[0] if len(sizes) == 1 else total(sizes, words="sum over the blocks")
