"""Claims: sentences whose truth rests on facts, with the predicate that can be evaluated again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from generator.claims.predicates import Predicate
from generator.facts import Fact, Facts, Source


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence on a page, the predicate it rests on, and whether that held when its facts were last checked.

    `scope` says what it covers (architectures, backends, cards, builds, techniques); a key left out means any.
    `checked` is the oldest check among its facts; None where one was never checked.
    """

    id: str
    text: str
    predicate: Predicate
    holds: bool
    facts: tuple[Fact, ...]
    scope: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @staticmethod
    def of(id: str, text: str, predicate: str, facts: Facts, scope: Mapping[str, tuple[str, ...]] | None = None) -> Claim:
        """Evaluate a claim over facts. Raises InputError for a bad predicate, UnknownNameError for a fact that is not there."""
        parsed = Predicate.parse(predicate)
        return Claim(id, text, parsed, parsed.holds(facts), tuple(facts[key] for key in parsed.keys), scope or {})

    @property
    def checked(self) -> date | None:
        """The oldest check among the facts."""
        dates = [fact.checked for fact in self.facts]
        return None if None in dates or not dates else min(day for day in dates if day)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where the facts were read."""
        return tuple(dict.fromkeys(fact.source for fact in self.facts))

    def as_dict(self) -> dict[str, object]:
        """Give the claim for the ledger."""
        return {
            "text": self.text,
            "predicate": self.predicate.text,
            "holds": self.holds,
            "scope": {key: list(values) for key, values in self.scope.items()},
            "sources": [source.as_dict() for source in dict.fromkeys(fact.source.read_on(fact.checked) for fact in self.facts)],
            "checked": self.checked.isoformat() if self.checked else None,
            "status": "ok" if all(fact.status in {"ok", "changed", "not_published"} for fact in self.facts) else "overdue",
        }
