"""All graphs of a model: which manners there are, and a trace of each, made of as few blocks as show them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from generator.memory.rows import is_latent
from generator.planner.encode import Encoder, Graph
from generator.planner.symbols import Conditions
from generator.planner.trace import FLOAT, QUANTISED, WHOLE, Manner, Traced, trace

USUAL: Mapping[str, int] = {"N": 171, "S": 3, "O": 3, "C0": 20, "C1": 7, "C2": 9, "C3": 11}
"""What symbols are while a graph is traced: several tokens of several sequences, and no two alike."""

ONE_SEQUENCE: Mapping[str, int] = {**USUAL, "S": 1, "O": 1}
ONE_TOKEN: Mapping[str, int] = {**USUAL, "N": 1}
ONE_OF_ONE: Mapping[str, int] = {**USUAL, "N": 1, "S": 1, "O": 1}


@dataclass(frozen=True, slots=True)
class Variant:
    """One graph of a manner, and the conditions it holds under."""

    graph: Graph
    conditions: Conditions


class Family:
    """Traces of one model. The first is made of all blocks; it tells which blocks stand for the others."""

    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self.encoder = Encoder()
        self.whole = self.encoder.encoded(trace(traced, FIRST, USUAL))
        self.shown: list[int] | None = None
        for shown in self._representatives():
            self.few = self.encoder.encoded(trace(traced, FIRST, USUAL, shown))
            if set(self.few.segments) >= set(self.whole.segments):
                self.shown = shown
                break

    def _representatives(self) -> Iterator[list[int]]:
        """Give blocks that may stand for all: those in whose segments something comes up first and the last, then their neighbours too."""
        first: dict[int, int] = {}
        for segment, block in zip(self.whole.segments, self.whole.blocks, strict=True):
            first.setdefault(segment, block)
        count = int(self.traced.model.loaded_blocks)
        found = {block for block in first.values() if block >= 0} | {count - 1}
        near = {block + 1 for block in found} | {count - 2}
        for shown in (found, {block for block in found | near if 0 <= block < count}):
            if len(shown) < count:
                yield sorted(shown)

    def variants(self, manner: Manner) -> list[Variant]:
        """Give the graphs of a manner: the usual one, and others for one token or one sequence where that one does not hold."""
        found: list[Variant] = []
        for values in (USUAL, *(() if manner.split else (ONE_SEQUENCE,)), ONE_TOKEN, *(() if manner.split else (ONE_OF_ONE,))):
            if not any(variant.conditions.hold(values) for variant in found):
                found.append(self._variant(manner, values))
        return found

    def _variant(self, manner: Manner, values: Mapping[str, int]) -> Variant:
        if self.shown is not None:
            made = trace(self.traced, manner, values, self.shown)
            graph = self._spread(self.encoder.encoded(made))
            if graph is not None:
                return Variant(graph, made.conditions)
        made = trace(self.traced, manner, values)
        return Variant(self.encoder.encoded(made), made.conditions)

    def _spread(self, few: Graph) -> Graph | None:
        """Give the graph of all blocks from one of a few; None where blocks that were alike are not any more."""
        if few.blocks != self.few.blocks:
            return None
        stands_for: dict[int, int] = {}
        for first, now in zip(self.few.segments, few.segments, strict=True):
            if stands_for.setdefault(first, now) != now:
                return None
        return replace(few, segments=tuple(stands_for[segment] for segment in self.whole.segments), blocks=self.whole.blocks)


FIRST = Manner(flash=True, transposed=False, keys=QUANTISED, values=QUANTISED, split=True)
"""The manner whose graph is made of all blocks: the one in which most of them differ."""


def manners(traced: Traced) -> Iterator[Manner]:
    """Give the manners that settings may come to."""
    alike = is_latent(traced.model)
    kinds = (FLOAT, QUANTISED, WHOLE)
    for split in (False, True):
        for keys in kinds:
            for values in kinds:
                if not alike or keys == values:
                    yield Manner(flash=True, transposed=False, keys=keys, values=values, split=split)
        for keys in (FLOAT, QUANTISED):
            if alike and keys == QUANTISED:
                continue
            for transposed in (True, False):
                yield Manner(flash=False, transposed=transposed, keys=keys, values=FLOAT, split=split)
