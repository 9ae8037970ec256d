"""What the blocks of a model keep between tokens: caches of K and V rows, and states of a fixed size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from generator.quantity import Quantity, Value


@dataclass(frozen=True, slots=True)
class Choice:
    """Some blocks and what they follow from: `evaluate` gives them again from the values of `inputs`, `words` say how."""

    blocks: tuple[int, ...]
    inputs: tuple[Quantity, ...]
    words: str
    evaluate: Callable[[Sequence[Value]], tuple[int, ...]]

    @staticmethod
    def of(inputs: Sequence[Quantity], words: str, evaluate: Callable[[Sequence[Value]], tuple[int, ...]]) -> Choice:
        """Give the choice that a rule makes of its inputs."""
        return Choice(evaluate([quantity.value for quantity in inputs]), tuple(inputs), words, evaluate)


@dataclass(frozen=True, slots=True)
class Cache:
    """One attention cache: the elements of a K row and of a V row of each block that owns rows in it, and what cells it has.

    A cache without `values` keeps K only. `widest_value` is the row every V is padded to without flash attention. Cells are
    those of the context, unless `window` (tokens) or `ratio` (tokens a cell) says otherwise; `per_sequence` is a cache that
    has a stream a sequence even where the others are unified, `picks_tokens` that of an indexer.
    """

    keys: Mapping[int, Quantity]
    values: Mapping[int, Quantity] | None
    widest_value: Quantity | None = None
    window: Quantity | None = None
    ratio: Quantity | None = None
    per_sequence: bool = False
    picks_tokens: bool = False

    @property
    def blocks(self) -> tuple[int, ...]:
        """The blocks that own rows."""
        return tuple(self.keys)


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """Elements of the fixed state that each of some blocks keeps for one sequence: convolution `r` and state `s`, in F32."""

    blocks: tuple[int, ...]
    r: Quantity
    s: Quantity


@dataclass(frozen=True, slots=True)
class Layers:
    """What each loaded block keeps: `caches` and `states` of a normal run, `draft` the caches of a draft head's own context.

    `attention` are the blocks that cache, `rolls_back` tells whether copies of a state are kept for a draft.
    """

    attention: Choice
    caches: tuple[Cache, ...]
    states: tuple[RecurrentState, ...] = ()
    draft: tuple[Cache, ...] = ()
    rolls_back: bool = False

    @property
    def recurrent(self) -> tuple[int, ...]:
        """The blocks that keep a state."""
        return tuple(sorted({block for state in self.states for block in state.blocks}))

    @property
    def draft_attention(self) -> tuple[int, ...]:
        """The blocks of the draft head that cache."""
        return tuple(block for cache in self.draft for block in cache.blocks)
