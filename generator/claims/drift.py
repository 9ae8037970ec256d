"""Drift: one object for each fact whose source no longer says what the lock does.

A drift knows what changed, since when it was last known otherwise, and which claims and numbers on which pages it moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import IntEnum, StrEnum
from typing import Any


class Kind(StrEnum):
    """What happened to a fact."""

    CHANGED = "changed"
    CLOSED = "closed"
    MERGED = "merged"
    REOPENED = "reopened"
    LABELLED = "labelled"
    RETITLED = "retitled"
    RESIZED = "resized"
    REHASHED = "rehashed"
    MOVED = "moved"
    GONE = "gone"
    RETURNED = "returned"
    GATED = "gated"
    UNGATED = "no longer gated"
    PUBLISHED = "published"
    LINE_MOVED = "line moved"
    LINE_LOST = "line lost"
    FIRST = "first read"


class Weight(IntEnum):
    """How bad a drift is for a reader, the worst first."""

    COMMAND = 0
    WARNING = 1
    NUMBER = 2
    CLAIM = 3
    WORDS = 4
    DATE = 5


WORDS = {
    Weight.COMMAND: "moves the command or what it rests on",
    Weight.WARNING: "changes a red warning",
    Weight.NUMBER: "moves a number",
    Weight.CLAIM: "changes a claim",
    Weight.WORDS: "changes wording",
    Weight.DATE: "adds what was not known before",
}


@dataclass(frozen=True, slots=True)
class Touched:
    """What a drift moves on one page: numbers (key -> old and new display) and claims by id."""

    page: str
    numbers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    claims: tuple[str, ...] = ()


COMMAND = "command"
"""The severity of what the command itself rests on: the model's own file."""

_OF_A_WARNING = frozenset({Kind.CLOSED, Kind.MERGED, Kind.REOPENED, Kind.GONE, Kind.RETURNED, Kind.MOVED})
_OF_A_DOWNLOAD = frozenset({Kind.MOVED, Kind.GATED, Kind.UNGATED})


@dataclass(frozen=True, slots=True)
class Drift:
    """A fact that changed: `subject` its key, `old` and `new` its values, `since` the last day on which the old one was read.

    `found` is the day on which the new one was first read. `severity` is that of the thread (red, amber, note), or COMMAND.
    """

    kind: Kind
    subject: str
    old: object
    new: object
    since: date | None
    found: date
    source: str = ""
    detail: str = ""
    severity: str = ""
    touched: tuple[Touched, ...] = ()

    @property
    def weight(self) -> Weight:
        """How bad it is."""
        numbers = {key for touched in self.touched for key in touched.numbers}
        claims = any(touched.claims for touched in self.touched)
        if self.kind is Kind.FIRST and not numbers and not claims:
            return Weight.DATE
        if self.severity == COMMAND or (self.kind in _OF_A_DOWNLOAD and self.subject.startswith("model.")):
            return Weight.COMMAND
        if any(key.startswith(("settings.", "fallback.")) for key in numbers):
            return Weight.COMMAND
        if self.severity == "red" and self.kind in _OF_A_WARNING:
            return Weight.WARNING
        if numbers:
            return Weight.NUMBER
        return Weight.CLAIM if claims else Weight.WORDS

    @property
    def advice(self) -> str:
        """What a person has to do that no program does; empty where merging is enough."""
        if self.severity == COMMAND and self.kind in {Kind.RESIZED, Kind.REHASHED}:
            return "The locked header is that of the file before: read it again with `gen lock`."
        if self.severity == COMMAND and self.kind is Kind.GONE:
            return "The recipe's file is gone: name another one in the model's spec."
        if self.kind is Kind.MOVED and self.subject.startswith("model."):
            return "Name the new repository in the model's spec."
        if self.kind is Kind.LINE_LOST:
            return "Read the engine's source at this build again, and correct the citation."
        return ""

    def as_dict(self) -> dict[str, object]:
        """Give the drift for machines."""
        return {
            "kind": str(self.kind),
            "subject": self.subject,
            "old": self.old,
            "new": self.new,
            "since": self.since.isoformat() if self.since else None,
            "found": self.found.isoformat(),
            "source": self.source,
            "detail": self.detail,
            "severity": self.severity,
            "weight": self.weight.name.lower(),
            "advice": self.advice,
            "touched": [
                {
                    "page": touched.page,
                    "numbers": {key: list(pair) for key, pair in touched.numbers.items()},
                    "claims": list(touched.claims),
                }
                for touched in self.touched
            ],
        }

    @staticmethod
    def from_dict(rows: Mapping[str, Any]) -> Drift:
        """Read back what `as_dict` gave. Raises KeyError, TypeError, ValueError, AttributeError for anything else."""
        touched = [
            Touched(str(row["page"]), {key: (old, new) for key, (old, new) in row["numbers"].items()}, tuple(row["claims"]))
            for row in rows["touched"]
        ]
        return Drift(
            Kind(rows["kind"]),
            str(rows["subject"]),
            rows["old"],
            rows["new"],
            date.fromisoformat(rows["since"]) if rows["since"] else None,
            date.fromisoformat(rows["found"]),
            str(rows["source"]),
            str(rows["detail"]),
            str(rows["severity"]),
            tuple(touched),
        )

    def explain(self) -> str:
        """Say the drift in one sentence for people."""
        since = f" (was so on {self.since.isoformat()})" if self.since else ""
        match self.kind:
            case Kind.FIRST:
                return f"{self.subject} was read for the first time: {said(self.new)}"
            case Kind.GONE | Kind.LINE_LOST:
                return f"{self.subject} is gone{since}: {self.detail or said(self.old)}"
            case Kind.RETURNED:
                return f"{self.subject} is there again: {said(self.new)}"
            case Kind.MOVED:
                return f"{self.subject}: {said(self.old)} moved to {said(self.new)}{since}"
            case _:
                return f"{self.subject} {self.kind}: {said(self.old)} → {said(self.new)}{since}"


def said(value: object) -> str:
    """Give a value as a report shows it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
