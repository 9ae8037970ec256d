"""Predicates over facts: one or more comparisons, evaluated without evaluating any code.

    issue.llama.cpp.26609.state == "open"
    card.memory_bandwidth is not_published
    model.ollama_tag == false and model.ollama_tag is ok

A comparison is a fact's key, an operator (== != < <= > >= contains, or `is` with a status) and a JSON literal or a status.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from generator.errors import InputError
from generator.facts import STATUSES, Facts

_KEY_AND_OPERATOR = re.compile(r"\s*(?P<key>[a-z0-9][\w.@/+#-]*)\s+(?P<operator>==|!=|<=|>=|<|>|contains|is)\s+")
_STATUS = re.compile(r"\S+")
_AND = re.compile(r"\s+and\b")


def _equal(left: object, right: object) -> bool:
    """Tell whether two values are the same; true is not 1."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "contains": operator.contains,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of a fact with a literal; `operator` is a key of the table above, or `is` for a status."""

    key: str
    operator: str
    literal: object

    def holds(self, facts: Facts) -> bool:
        """Tell whether it is true of the facts; nothing but a status is true of a value that is not known.

        Raises InputError where the two cannot be compared.
        """
        fact = facts[self.key]
        if self.operator == "is":
            return fact.status == self.literal
        if fact.value is None:
            return False
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
        comparison, end = _comparison(text, 0)
        comparisons = [comparison]
        while text[end:].strip():
            joint = _AND.match(text, end)
            if joint is None:
                raise InputError(f"'{text[end:].strip()}' does not continue a predicate", remedy="join comparisons with `and`")
            comparison, end = _comparison(text, joint.end())
            comparisons.append(comparison)
        return Predicate(text, tuple(comparisons))

    def holds(self, facts: Facts) -> bool:
        """Tell whether every comparison is true of the facts."""
        return all(comparison.holds(facts) for comparison in self.comparisons)

    @property
    def keys(self) -> tuple[str, ...]:
        """The facts that it rests on."""
        return tuple(dict.fromkeys(comparison.key for comparison in self.comparisons))


def _comparison(text: str, begin: int) -> tuple[Comparison, int]:
    """Read the comparison that starts at `begin`; give it and where it ends. A literal may hold any words, `and` among them."""
    match = _KEY_AND_OPERATOR.match(text, begin)
    if match is None:
        raise InputError(f"'{text[begin:].strip()}' is no predicate", remedy='write: fact.key == "value", or fact.key is not_published')
    key, name = match["key"], match["operator"]
    if name == "is":
        status = _STATUS.match(text, match.end())
        if status is None or status[0] not in STATUSES:
            raise InputError(f"'{text[match.end() :].strip()}' is no status", remedy=f"statuses: {' '.join(STATUSES)}")
        return Comparison(key, name, status[0]), status.end()
    try:
        literal, end = json.JSONDecoder().raw_decode(text, match.end())
    except ValueError as error:
        raise InputError(f"'{text[match.end() :].strip()}' is no JSON literal", remedy='text in double quotes: "open"') from error
    return Comparison(key, name, literal), end
