"""Predicates over facts: one or more comparisons, evaluated without evaluating any code.

    issue.llama.cpp.26609.state == "open"
    card.memory_bandwidth is not_published
    model.ollama_tag == false and model.ollama_tag is ok

A comparison is a fact's key, an operator (== != < <= > >= contains, or `is` with a status) and a JSON literal or a status.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from generator.errors import InputError
from generator.facts import STATUSES, Facts

_COMPARISON = re.compile(r"\s*(?P<key>[a-z0-9][\w.@/+#-]*)\s+(?P<operator>==|!=|<=|>=|<|>|contains|is)\s+(?P<literal>.+?)\s*")

_OPERATORS: dict[str, Callable[[object, object], bool]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,  # type: ignore[operator]
    "<=": lambda left, right: left <= right,  # type: ignore[operator]
    ">": lambda left, right: left > right,  # type: ignore[operator]
    ">=": lambda left, right: left >= right,  # type: ignore[operator]
    "contains": lambda left, right: right in left,  # type: ignore[operator]
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of a fact with a literal; `operator` is a key of the table above, or `is` for a status."""

    key: str
    operator: str
    literal: object

    def holds(self, facts: Facts) -> bool:
        """Tell whether it is true of the facts. Raises InputError where the two cannot be compared."""
        fact = facts[self.key]
        if self.operator == "is":
            return fact.status == self.literal
        try:
            return _OPERATORS[self.operator](fact.value, self.literal)
        except TypeError as error:
            raise InputError(f"fact '{self.key}' is {fact.value!r}: it cannot be compared with {self.literal!r}") from error


@dataclass(frozen=True, slots=True)
class Predicate:
    """Comparisons that must all be true."""

    text: str
    comparisons: tuple[Comparison, ...]

    @staticmethod
    def parse(text: str) -> Predicate:
        """Read a predicate. Raises InputError where it is not of the form above."""
        return Predicate(text, tuple(_comparison(part) for part in re.split(r"\s+and\s+", text)))

    def holds(self, facts: Facts) -> bool:
        """Tell whether every comparison is true of the facts."""
        return all(comparison.holds(facts) for comparison in self.comparisons)

    @property
    def keys(self) -> tuple[str, ...]:
        """The facts that it rests on."""
        return tuple(dict.fromkeys(comparison.key for comparison in self.comparisons))


def _comparison(text: str) -> Comparison:
    match = _COMPARISON.fullmatch(text)
    if match is None:
        raise InputError(f"'{text}' is no predicate", remedy='write: fact.key == "value", or fact.key is not_published')
    if match["operator"] == "is":
        if match["literal"] not in STATUSES:
            raise InputError(f"'{match['literal']}' is no status", remedy=f"statuses: {' '.join(STATUSES)}")
        return Comparison(match["key"], "is", match["literal"])
    try:
        return Comparison(match["key"], match["operator"], json.loads(match["literal"]))
    except ValueError as error:
        raise InputError(f"'{match['literal']}' is no JSON literal", remedy='text in double quotes: "open"') from error
