"""A graph traced: made once by the architecture's own function, of symbols in place of what settings decide.

What changes which operations there are is a `Manner`, and each has a trace of its own: flash attention or not, V transposed or not, types
of K and V that are quantised or not, sequences that share one stream or have one each. Sizes stay symbols: `N` tokens of each of `S`
sequences, `O` rows of logits, `256*C0`, `256*C1`, … cells of each cache, and `k` and `v`, the bytes of a block of K's and of V's type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generator.gguf.types import SizedType, block
from generator.memory.context import CELL_PADDING
from generator.memory.graph.buffers import rotates, rotation_of_keys
from generator.memory.graph.builder import SMALLEST_ROTATION, Batch, Builder, CacheView
from generator.memory.graph.registry import graph_of
from generator.memory.graph.tensor import Tensor
from generator.memory.layers import Cache, Layers
from generator.memory.model import Model
from generator.planner.symbols import Conditions, Symbol, noting

FLOAT, QUANTISED, WHOLE = "f16", "q8_0", "f32"
"""Cache types that stand for their kind: of sixteen bits, in blocks of 32, and the one that is copied to sixteen bits first."""

ORDINARY, TIED_HEAD = -1, -2
"""Homes of weights while a graph is traced; those from 0 up are layers, of weights that each device has for itself."""


@dataclass(frozen=True, slots=True)
class Manner:
    """What decides which operations a graph has."""

    flash: bool
    transposed: bool
    keys: str
    values: str
    split: bool

    @property
    def name(self) -> str:
        """Its name in the data of a page: attention, kinds of K and V, streams."""
        attention = "f" if self.flash else "t" if self.transposed else "u"
        kinds = {FLOAT: "h", QUANTISED: "q", WHOLE: "w"}
        return f"{attention}{kinds[self.keys]}{kinds[self.values]}{'s' if self.split else 'u'}"


@dataclass(frozen=True, slots=True)
class Trace:
    """A traced graph: tensors in the order they are computed, leafs that are no weights among them, and the conditions it holds under."""

    tensors: tuple[Tensor, ...]
    conditions: Conditions


class _Builder(Builder):
    """A builder that keeps leafs and nodes in one order."""

    def __init__(self, model: Model, batch: Batch, caches: dict[int, CacheView]) -> None:
        super().__init__(model, batch, caches, lambda name: TIED_HEAD if name == "output" else ORDINARY, int, int)
        self.order: list[Tensor] = []

    def add(self, tensor: Tensor) -> None:
        super().add(tensor)
        if not tensor.is_weight:
            self.order.append(tensor)


@dataclass(frozen=True, slots=True)
class Traced:
    """What is traced: a model whose blocks keep `layers`; masks that are made in F32; attention pinned to the host with its caches."""

    model: Model
    layers: Layers
    masks_in_f32: bool
    on_host: bool


def trace(traced: Traced, manner: Manner, values: Mapping[str, int], blocks: Sequence[int] | None = None) -> Trace:
    """Trace the graph of a manner with these values of the symbols, of some blocks only where those are named.

    Raises what making a graph does, and UncoveredError.
    """
    model, layers = traced.model, traced.layers
    with noting() as conditions:
        sequences = Symbol.named("S", values["S"])
        batch = Batch(
            Symbol.named("N", values["N"]) * sequences,
            sequences,
            Symbol.named("O", values["O"]),
            not manner.split,
            manner.flash,
            traced.masks_in_f32,
            state_rows=sequences,
        )
        made = [_view(model, cache, index, manner, sequences, values) for index, cache in enumerate(layers.caches)]
        views = {il: view for cache, view in zip(layers.caches, made, strict=True) for il in cache.blocks}
        builder = _Builder(model, batch, views)
        builder.every_cache = tuple(made)
        builder.attention_device = 0 if traced.on_host else None
        if blocks is not None:
            builder.blocks = blocks
        graph_of(model.architecture)(builder)
    return Trace(tuple(builder.order), conditions)


def _view(model: Model, cache: Cache, index: int, manner: Manner, sequences: int, values: Mapping[str, int]) -> CacheView:
    streams = sequences if cache.per_sequence or manner.split else 1
    return CacheView(
        Symbol.named(f"C{index}", values[f"C{index}"]) * CELL_PADDING,
        streams,
        kind_of("k", manner.keys),
        kind_of("v", manner.values),
        {il: int(row) for il, row in cache.keys.items()},
        None if cache.values is None else {il: int(row) for il, row in cache.values.items()},
        transposed=manner.transposed,
        widest_value=0 if cache.widest_value is None else int(cache.widest_value),
        rotates_keys=rotation_of_keys(model, cache, manner.keys),
        rotates_values=SMALLEST_ROTATION if cache.values is not None and rotates(model, manner.values, "value") else 0,
    )


def kind_of(part: str, representative: str) -> str:
    """Give the type of K (`k`) or V (`v`) for a kind: a name of its own where it stands for several."""
    if representative == WHOLE:
        return "F32"
    elements, size = block(representative)
    return SizedType.of(f"{part.upper()}{elements}", elements, Symbol.named(part, size))
