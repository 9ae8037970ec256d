"""Sliding windows: which blocks see only the last tokens, and how many.

Source: llama.cpp src/models/<name>.cpp, `load_arch_hparams` (`n_swa`, `load_swa_pattern`), src/llama-hparams.cpp, `set_swa_pattern`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generator.memory.model import Model
from generator.quantity import ONE, TOKEN, Quantity

PATTERN = "attention.sliding_window_pattern"
WINDOW = "attention.sliding_window"


@dataclass(frozen=True, slots=True)
class Windows:
    """How an architecture takes windows: every `period`-th block sees everything, the last of each period or the first.

    Without a period the header must list the blocks; 0 gives every block a window. `default` is the window where the header states
    none, `fixed` one that replaces what it states.
    """

    period: int | None
    dense_first: bool = False
    default: int | None = None
    fixed: int | None = None
    blocks: int | None = None


ARCHITECTURES: Mapping[str, Windows] = MappingProxyType(
    {
        "afmoe": Windows(4, default=0),
        "cohere2": Windows(4),
        "cohere2moe": Windows(4, dense_first=True),
        "exaone4": Windows(4, default=4096, blocks=64),
        "exaone-moe": Windows(4),
        "gemma2": Windows(2, default=4096),
        "gemma3": Windows(6, default=0),
        "gemma3n": Windows(5),
        "gemma4": Windows(None),
        "gpt-oss": Windows(2),
        "granite_swa": Windows(None),
        "laguna": Windows(4, dense_first=True, default=0),
        "lfm2": Windows(0, default=0),
        "llama4": Windows(4, default=8192, fixed=8192),
        "maple": Windows(None),
        "mellum": Windows(4, default=0),
        "mimo2": Windows(None),
        "muse-glimmer": Windows(4),
        "olmo2": Windows(4, default=0),
        "plamo3": Windows(8, default=0),
        "smallthinker": Windows(4, dense_first=True, default=0, fixed=4096),
        "spark2_5": Windows(None),
        "step35": Windows(None),
    }
)
"""Architectures that read a window; llama4's is a chunk. Others ignore it (phi3 reads it and switches it off)."""


def window_of(model: Model) -> Quantity | None:
    """Give the window in tokens, None where every block sees everything. Raises InputError where a header must state it."""
    rule = ARCHITECTURES.get(model.architecture)
    if rule is None or rule.blocks not in {None, int(model.loaded_blocks)}:
        return None
    window = model.number(WINDOW, rule.default)
    if not int(window):
        return None
    if rule.fixed is not None:
        return Quantity.constant(rule.fixed, TOKEN, "the engine's window for this architecture")
    return window * Quantity.constant(1, TOKEN, "one token a position")


def windowed_blocks(model: Model) -> frozenset[int]:
    """Give the blocks that have a window. Raises InputError where a header must list them and does not."""
    if window_of(model) is None:
        return frozenset()
    rule = ARCHITECTURES[model.architecture]
    listed = model.raw(PATTERN) if rule.period is None or model.has(PATTERN) else 0
    if isinstance(listed, list | tuple):
        return frozenset(block for block in range(min(int(model.block_count), len(listed))) if int(model.per_block(PATTERN, block)))
    period = int(model.number(PATTERN, rule.period))
    dense = 0 if rule.dense_first else period - 1
    return frozenset(block for block in range(int(model.loaded_blocks)) if not period or block % period != dense)


def all_windowed(model: Model) -> Quantity:
    """Give the window of an architecture whose every block has one."""
    return model.number(WINDOW) * Quantity.constant(1, TOKEN, "one token a position")


def shared_from(model: Model) -> Quantity | None:
    """Give the block from which on blocks read the caches of earlier ones; None where each has its own.

    Source: src/models/gemma4.cpp (`shared_kv_layers`) and gemma3n.cpp (block 20), `n_layer_kv_from_start`.
    """
    if model.architecture == "gemma4":
        return model.block_count - model.number("attention.shared_kv_layers", 0)
    if model.architecture == "gemma3n":
        return Quantity.constant(20, ONE, "blocks with a cache of their own (src/models/gemma3n.cpp)")
    return None
