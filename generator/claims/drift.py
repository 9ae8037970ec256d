"""Drift: one object for each fact whose source no longer says what the lock does.

A drift knows what changed, since when it was last known otherwise, and which claims and numbers on which pages it moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import IntEnum, StrEnum


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
    GATED = "gated"
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
    Weight.DATE: "changes nothing a reader sees",
}


@dataclass(frozen=True, slots=True)
class Touched:
    """What a drift moves on one page: numbers (key -> old and new display) and claims by id."""

    page: str
    numbers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drift:
    """A fact that changed: `subject` its key, `old` and `new` its values, `since` the day the old one was last read."""

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
        if any(key.startswith(("settings.", "fallback.")) for key in numbers) or self.subject.endswith(".moved_to"):
            return Weight.COMMAND
        if self.severity == "red" and self.kind in {Kind.CLOSED, Kind.MERGED, Kind.REOPENED, Kind.GONE, Kind.MOVED}:
            return Weight.WARNING
        if numbers:
            return Weight.NUMBER
        if any(touched.claims for touched in self.touched):
            return Weight.CLAIM
        return Weight.DATE if self.kind is Kind.FIRST else Weight.WORDS

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
            "weight": self.weight.name.lower(),
            "touched": [
                {
                    "page": touched.page,
                    "numbers": {key: list(pair) for key, pair in touched.numbers.items()},
                    "claims": list(touched.claims),
                }
                for touched in self.touched
            ],
        }

    def explain(self) -> str:
        """Say the drift in one sentence for people."""
        since = f" (was so on {self.since.isoformat()})" if self.since else ""
        match self.kind:
            case Kind.FIRST:
                return f"{self.subject} was read for the first time: {said(self.new)}"
            case Kind.GONE | Kind.LINE_LOST:
                return f"{self.subject} is gone{since}: {self.detail or said(self.old)}"
            case Kind.MOVED:
                return f"{self.subject} moved to {said(self.new)}{since}"
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
