"""How the engine rounds a context: cells, streams, batch and micro-batch.

Source: llama.cpp src/llama-context.cpp, constructor of `llama_context` (padding, `n_ctx_seq`, `n_batch`, `n_ubatch`),
and tools/server/server.cpp for what llama-server makes of an automatic slot count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generator.errors import RefusedSettings
from generator.memory.model import Model
from generator.memory.settings import FIT_FULL_CONTEXT, Settings
from generator.quantity import ONE, TOKEN, Quantity, Value, derived, smallest

CELL_PADDING = 256
"""Contexts are rounded up to a multiple of this many cells (src/llama-context.cpp, GGML_PAD of n_ctx and n_ctx_seq)."""

MAX_SEQUENCES = 256
"""LLAMA_MAX_SEQ, src/llama-cparams.h."""

SERVER_AUTO_SLOTS = 4
"""Slots llama-server takes when the count is automatic; it then unifies the cache (tools/server/server.cpp)."""


@dataclass(frozen=True, slots=True)
class Context:
    """A context as the engine rounds it.

    `asked` is the requested length in tokens (the trained one when 0 was asked for), `cells` the cells of one stream,
    `streams` how many of them there are, `n_batch` and `n_ubatch` tokens after the engine's clamping.
    """

    asked: Quantity
    cells: Quantity
    streams: Quantity
    sequences: Quantity
    n_batch: Quantity
    n_ubatch: Quantity

    @property
    def total_cells(self) -> Quantity:
        """Cells of all streams together, in tokens."""
        return self.cells * self.streams


def context_of(model: Model, settings: Settings) -> Context:
    """Give the rounded context. Raises RefusedSettings where the engine allows no such number of sequences."""
    sequences, unified = sequences_of(settings)
    if sequences > MAX_SEQUENCES:
        raise RefusedSettings(
            f"{sequences} sequences are more than the engine allows ({MAX_SEQUENCES})",
            rule="too many sequences",
            where="-np",
            remedy="lower -np",
        )
    asked = _asked(model, settings, sequences)
    padded = asked.rounded_up(CELL_PADDING)
    streams = Quantity.constant(1 if unified else sequences, ONE, "streams of the cache")
    each = padded if unified or sequences == 1 else _share(padded, sequences)
    batch = smallest([asked, Quantity.constant(settings.n_batch, TOKEN, "-b").named("settings.n_batch")])
    micro = smallest([batch, Quantity.constant(settings.n_ubatch or settings.n_batch, TOKEN, "-ub").named("settings.n_ubatch")])
    return Context(asked, each, streams, Quantity.constant(sequences, ONE, "-np"), batch, micro)


def _asked(model: Model, settings: Settings, sequences: int) -> Quantity:
    """Give the context asked for: by -c, else by --kv-unified-per-slot unless -c 0 was given, else the trained one."""
    if settings.n_ctx:
        return Quantity.constant(settings.n_ctx, TOKEN, "-c")
    if settings.kv_unified_per_slot > 0 and settings.fit_ctx != FIT_FULL_CONTEXT:
        each = Quantity.constant(settings.kv_unified_per_slot, TOKEN, "--kv-unified-per-slot")
        return each * Quantity.constant(sequences, ONE, "-np")
    return model.number("context_length") * Quantity.constant(1, TOKEN, "one token a position")


def sequences_of(settings: Settings) -> tuple[int, bool]:
    """Give the number of sequences and whether they share one unified cache."""
    if settings.n_parallel is None:
        return (SERVER_AUTO_SLOTS, True) if settings.program == "llama-server" else (1, bool(settings.kv_unified))
    return settings.n_parallel, bool(settings.kv_unified)


def _share(padded: Quantity, sequences: int) -> Quantity:
    """The engine divides in whole numbers before it pads again."""
    each = int(padded) // sequences
    count = Quantity.constant(sequences, ONE, "-np")
    share = derived(each, TOKEN, (padded, count), _whole_share, "cells divided by sequences, in whole numbers")
    return share.rounded_up(CELL_PADDING)


def _whole_share(values: Sequence[Value]) -> Value:
    cells, count = values
    assert isinstance(cells, int) and isinstance(count, int)
    return cells // count
