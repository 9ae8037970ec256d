"""The data that a guide's planner works with in the browser, from the guide's own subject."""

from __future__ import annotations

import json

from generator.facts import Fact
from generator.guide.context import Sources
from generator.guide.numbers.subject import Subject
from generator.guide.working import excess_of
from generator.memory.compute import declared_reserve
from generator.planner.data import Run, Speed, planner_data
from generator.planner.symbols import UncoveredError
from generator.quantity import ONE, Quantity
from generator.specs.recipe import MemoryKind
from generator.traffic.decode import memory_bandwidth


def planner_json(sources: Sources, subject: Subject) -> str | None:
    """Give the data of a guide as JSON; None where the recipe does what the planner does not cover."""
    recipe, card, facts = sources.recipe, sources.card, subject.facts
    excess = excess_of(facts)
    run = Run(
        f"{recipe.model}/{recipe.page}",
        recipe.settings,
        recipe.build,
        subject.backend,
        subject.gpus,
        str(subject.policy),
        card.name,
        int(facts["card.usable"].quantity()),
        int(declared_reserve()),
        _speed(subject),
        None if excess is None else int(excess),
        _estimate(subject),
    )
    try:
        return json.dumps(planner_data(subject.model, run), ensure_ascii=False, separators=(",", ":")) + "\n"
    except UncoveredError:
        return None


def _speed(subject: Subject) -> Speed:
    rate = subject.facts["card.memory_bandwidth"] if "card.memory_bandwidth" in subject.facts else None
    kinds = tuple((kind.name, int(_rate(kind))) for kind in subject.recipe.memory_kinds)
    known = None if rate is None or not rate.known else int(rate.quantity())
    return Speed(known, kinds, tuple(subject.recipe.depths), subject.unified)


def _rate(kind: MemoryKind) -> Quantity:
    transfers = Fact("transfers", kind.transfers, "MT/s", "declared").quantity()
    return memory_bandwidth(transfers, Quantity.constant(kind.channels, ONE, "channels"))


def _estimate(subject: Subject) -> tuple[int, int, int] | None:
    """Give by how many percent experts and the rest of an estimated table may be off, and the bytes of its file."""
    if not subject.estimated:
        return None
    experts, rest = (subject.facts[f"estimate.{name}"].value for name in ("experts", "rest"))
    assert isinstance(experts, int) and isinstance(rest, int)
    return experts, rest, int(subject.facts[f"file.{subject.prefix}.size"].quantity().rounded_up())
