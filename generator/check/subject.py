"""What a check is about: its spec, the model's shape, the card, and every fact in reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from generator.config.estimate import estimated
from generator.errors import InputError
from generator.facts import Facts, Source
from generator.memory.model import Model as Shape
from generator.specs import Card, Engine, Issue, Model
from generator.specs.check import Check


@dataclass(frozen=True, slots=True)
class Subject:
    """The specs of a check, and the facts of all of them.

    `usable` is the key of what a run can use of the card's memory.
    """

    check: Check
    model: Model
    card: Card
    engine: Engine
    issues: Mapping[str, Issue]
    facts: Facts

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"{self.model.title} on {self.card.title}: {self.check.about}"

    @property
    def usable(self) -> str:
        """The key of what a run can use of the card's memory: the check's own fact where it has one."""
        return "check.usable" if "check.usable" in self.facts else "card.usable"

    @property
    def claimed_context(self) -> int | None:
        """The context of the claim in tokens; None where it names none."""
        return int(self.facts["claim.context"].quantity()) if "claim.context" in self.facts else None

    @property
    def contexts(self) -> tuple[int, ...]:
        """The contexts of the check, rising, the claim's among them."""
        return tuple(sorted({*self.check.contexts, *([self.claimed_context] if self.claimed_context else [])}))

    def shape(self) -> Shape:
        """Give the model as the memory rules see it, from its published configuration. Raises InputError where that is not known."""
        if not self.facts.under("config"):
            raise InputError(f"the shape of '{self.model.name}' is not known", where=self.model.file, remedy="give `config`")
        published = self.check.file_of_quant
        known = self.facts[published.key]
        size = int(known.quantity().rounded_up())
        own = replace(known, key=f"file.{published.name.lower()}.size", value=size, unit="B")
        source = Source("", title=f"config in {self.model.file}, each value with its source")
        facts = self.facts.merged([own])
        return estimated(self.model.architecture, facts, published.name, source, where=self.model.file).model
