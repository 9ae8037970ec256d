"""Whether a thread of a tracker is about a guide: its scope, held against what the guide's reader has and does.

A scope says nothing of what it leaves out. Every part that it does state has to match, so that a page reports what can reach its
reader and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from generator.memory.builds import Build, Builds
from generator.memory.flags import all_flags
from generator.specs import Applies


@dataclass(frozen=True, slots=True)
class Situation:
    """What a guide's reader has and does: model architecture, card, build, flags of the page's commands, and words (see `specs.WORDS`)."""

    architecture: str
    backend: str
    card: str
    compute_capability: str
    build: str
    words: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()

    def meets(self, condition: str) -> bool:
        """Tell whether a condition holds: a word, a backend or an architecture, or one of these after `not`."""
        negated, word = condition.startswith("not "), condition.removeprefix("not ")
        return (word in self.words or word in {self.backend, self.architecture}) is not negated


def outside(applies: Applies, here: Situation) -> tuple[str, ...]:
    """Give the parts of a scope that a situation is outside of, in the words of the front matter; none where the thread applies."""
    found = []
    for name, wanted, own in (
        ("architectures", applies.architectures, here.architecture),
        ("backends", applies.backends, here.backend),
        ("cards", applies.cards, here.card),
        ("compute_capabilities", applies.compute_capabilities, here.compute_capability),
    ):
        if wanted and own not in wanted:
            found.append(name)
    if Build.named(here.build) not in Builds(applies.from_build or None, applies.before_build or None):
        found.append("builds")
    if applies.flags and all(here.flags.isdisjoint(_spellings(flag)) for flag in applies.flags):
        found.append("flags")
    if not all(map(here.meets, applies.techniques)):
        found.append("techniques")
    return tuple(found)


def nearness(applies: Applies, here: Situation) -> int:
    """Give how particular a thread that applies is to a situation: its own card before its generation, its architecture, and all others."""
    if here.card in applies.cards:
        return 3
    if here.compute_capability and here.compute_capability in applies.compute_capabilities:
        return 2
    return 1 if here.architecture in applies.architectures else 0


@cache
def _spellings(flag: str) -> frozenset[str]:
    """Give a flag under all its names; one that the engine does not have yet under its own."""
    groups = (group for each in all_flags() for group in (each.names, each.negated) if flag in group)
    return frozenset({flag}.union(*groups))
