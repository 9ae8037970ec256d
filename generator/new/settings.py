"""The settings of a new recipe, as the solver finds them: everything on the card with a context as long as fits, else an offload.

**Whole**: of the settings with everything on the card, those with the longest context up to LONGEST, then as `solve.goals` has it.
**Offload**, where that leaves less than a usable context: at that context, the fewest bytes in system memory for a token. Where memory is
unified there is nowhere to offload to. Cache types are f16 or q8_0, K and V alike, and the micro-batch is the engine's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from generator.memory.architectures import layers_of
from generator.memory.budget import Policy
from generator.memory.settings import Settings
from generator.solve.goals import Goal, Order
from generator.solve.grid import Depth, Grid, Point, attention, cache_pairs, contexts, depths
from generator.solve.question import WITHOUT_RECIPE, budget_of
from generator.solve.search import best
from generator.solve.space import Quant, Space
from generator.specs import Card

LONGEST = 131_072
"""Tokens of context beyond which a recipe is not made longer by itself."""

ENOUGH_WITH_EXPERTS, ENOUGH = 32_768, 8_192
"""Tokens of context for which part of a model is offloaded, if need be: experts in system memory cost little, whole layers much."""

_CACHES = (("f16", "f16"), ("q8_0", "q8_0"))
_MICRO_BATCH = 512
_DEFAULTS: dict[str, object] = {"type_k": "f16", "type_v": "f16", "n_ubatch": _MICRO_BATCH}


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings as a recipe writes them; whether they fit, and in a few words how they were chosen."""

    settings: dict[str, object]
    fits: bool
    why: str


def choose(quant: Quant, card: Card, usable: int, build: str) -> Choice:
    """Choose settings for a quant on a card of which `usable` bytes can be used, at a build of the engine.

    What fits does so at the upper end of an estimate too (see `solve.footprint`).
    Raises UnsupportedArchitecture, and InputError for a header without a context length.
    """
    model = quant.model
    layers_of(model, build)
    settings = Settings.from_recipe(WITHOUT_RECIPE)
    flash = attention(model, settings, card.backend, build)
    settings = replace(settings, flash_attn="on" if flash == "on" else "off")
    pairs = tuple(pair for pair in cache_pairs(model, settings, card.backend, build) if pair in _CACHES)
    trained, deep = int(model.number("context_length")), depths(model, settings)
    lengths = [length for length in contexts(trained) if length <= LONGEST]
    enough = min(trained, ENOUGH_WITH_EXPERTS if model.experts() else ENOUGH)

    def space(searched: Sequence[int], steps: Sequence[Depth]) -> Space:
        grid = Grid(tuple(searched), pairs, (_MICRO_BATCH,), tuple(steps))
        budget = budget_of(None, settings, usable)
        base = {**WITHOUT_RECIPE, "flash_attn": flash}
        return Space([quant], grid, base, budget, policy=Policy.ENGINE, backend=card.backend, build=build)

    whole = space(lengths if card.unified else [length for length in lengths if length >= enough], deep[:1])
    if point := best(Order(whole, Goal.LONGEST_CONTEXT)):
        return Choice(_written(whole, point), fits=True, why="everything on the card, and the longest context with which it fits there")
    if card.unified:
        point = Point(0, whole.grid.contexts[0], pairs[-1], _MICRO_BATCH, 0)
        return Choice(_written(whole, point), fits=False, why="it does not fit, with the shortest context either")
    parts = space([enough], deep)
    if point := best(Order(parts, Goal.FASTEST)):
        return Choice(_written(parts, point), fits=True, why="the least in system memory with which this context fits")
    point = Point(0, enough, pairs[-1], _MICRO_BATCH, len(deep) - 1)
    return Choice(_written(parts, point), fits=False, why="it does not fit, with everything in system memory either")


def _written(space: Space, point: Point) -> dict[str, object]:
    """Give a point's settings in the order a recipe has them, without those that are the engine's own."""
    found = {name: value for name, value in space.written(point).items() if _DEFAULTS.get(name) != value}
    order = ("n_gpu_layers", "n_cpu_moe", "n_parallel", "n_ctx", "type_k", "type_v", "flash_attn")
    return {name: found[name] for name in order if name in found}
