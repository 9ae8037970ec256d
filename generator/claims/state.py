"""The uncommitted state of re-checking: when each fact was last asked and answered, and how often it was missing.

Dates that tick every night belong here and not in a lock, so that a reviewed diff shows values that changed. The file is written
whole after each group of answers; a crash loses at most what was not written, and never a lock.

With each answer its digest is kept. A date speaks for a fact only where the fact still is what was answered: while a change waits
in an unmerged branch, or was found by a run that did not live to write its lock, the fact is due again, and its page keeps the old day.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from generator.facts import Fact, write_whole

FORMAT = 2
STATE_FOLDER = ".gen"
"""Where a project folder keeps what is not committed."""

VANISHED_AFTER = 3
"""Nights of 404 after which a thing is taken to be gone."""

GRACE = timedelta(hours=6)
"""How much sooner than its period a fact may be asked again: schedules start late, and a nightly run must stay nightly."""

_GONE = "gone"
"""What stands for the digest of the answer that there is no such thing any more."""


@dataclass(slots=True)
class Asked:
    """One fact's history: last asked and last answered (UTC), and the nights on which it was missing since then.

    `said` is the digest of the last answer and `first` the day on which it was first given; `was` is the digest of the answer before
    that, and `until` the last day on which that was given.
    """

    asked: datetime | None = None
    answered: datetime | None = None
    said: str = ""
    first: date | None = None
    was: str = ""
    until: date | None = None
    outcome: str = ""
    detail: str = ""
    missing: list[date] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        """Give it for JSON, without what is empty."""
        rows: dict[str, object] = {
            "asked": self.asked.isoformat() if self.asked else "",
            "answered": self.answered.isoformat() if self.answered else "",
            "said": self.said,
            "first": self.first.isoformat() if self.first else "",
            "was": self.was,
            "until": self.until.isoformat() if self.until else "",
            "outcome": self.outcome,
            "detail": self.detail,
            "missing": [day.isoformat() for day in self.missing],
        }
        return {key: value for key, value in rows.items() if value}

    @staticmethod
    def from_dict(rows: Mapping[str, object]) -> Asked:
        """Read back what `as_dict` gave."""
        missing = rows.get("missing", [])
        assert isinstance(missing, list)
        return Asked(
            asked=_moment(rows.get("asked")),
            answered=_moment(rows.get("answered")),
            said=str(rows.get("said", "")),
            first=_day(rows.get("first")),
            was=str(rows.get("was", "")),
            until=_day(rows.get("until")),
            outcome=str(rows.get("outcome", "")),
            detail=str(rows.get("detail", "")),
            missing=[date.fromisoformat(str(day)) for day in missing],
        )


@dataclass(slots=True)
class State:
    """What is remembered between nights, by the key of a fact."""

    path: Path
    facts: dict[str, Asked] = field(default_factory=dict)

    @staticmethod
    def read(path: Path) -> State:
        """Read the state; a file that is missing or unreadable is an empty one, since nothing in it is worth stopping for."""
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
            if rows["format"] != FORMAT:
                return State(path)
            return State(path, {key: Asked.from_dict(value) for key, value in rows["facts"].items()})
        except (OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError):
            return State(path)

    def write(self) -> None:
        """Write the state whole."""
        rows = {"format": FORMAT, "facts": {key: self.facts[key].as_dict() for key in sorted(self.facts)}}
        write_whole(self.path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")

    def of(self, key: str) -> Asked:
        """Give the history of a fact, new where there is none."""
        return self.facts.setdefault(key, Asked())

    def due(self, fact: Fact, period: timedelta, now: datetime) -> bool:
        """Tell whether a fact is to be asked: its period is over, or it is not what its source last answered."""
        history = self.facts.get(fact.key)
        if history is None or history.answered is None or history.said != _known(fact):
            return True
        return now - history.answered >= period - GRACE

    def note_answer(self, key: str, value: object, now: datetime) -> Asked:
        """Remember what a source answered; give the history before it."""
        return self._note(key, digest(value), now)

    def note_gone(self, key: str, now: datetime) -> None:
        """Remember that a source answered, and that by its answer the thing is gone."""
        before = self._note(key, _GONE, now)
        self.facts[key].missing = before.missing

    def _note(self, key: str, said: str, now: datetime) -> Asked:
        before = self.facts.get(key, Asked())
        after = Asked(now, now, said, now.date(), before.said, before.answered.date() if before.answered else None, "value")
        if before.said == said:
            after.first, after.was, after.until = before.first, before.was, before.until
        self.facts[key] = after
        return before

    def note_failure(self, key: str, now: datetime, outcome: str, detail: str, *, missing: bool) -> int:
        """Remember a failure; give on how many nights in a row the thing has been missing (0 for any other failure)."""
        history = self.of(key)
        history.asked, history.outcome, history.detail = now, outcome, detail
        if missing and (not history.missing or history.missing[-1] != now.date()):
            history.missing.append(now.date())
        return len(history.missing) if missing else 0

    def answered_on(self, fact: Fact) -> date | None:
        """Give the day on which a fact's source last answered what the fact says; None where it last answered something else."""
        history = self.facts.get(fact.key)
        return history.answered.date() if history and history.answered and history.said == _known(fact) else None

    def dated(self, fact: Fact) -> Fact:
        """Give a fact with the day on which its source last answered it, where that is later than the fact's own."""
        day = self.answered_on(fact)
        return replace(fact, checked=day) if day and fact.checked and day > fact.checked else fact

    def first_said(self, key: str) -> date | None:
        """Give the day on which a fact's source first answered what it last answered."""
        return self.facts[key].first if key in self.facts else None

    def so_until(self, fact: Fact) -> date | None:
        """Give the last day on which a fact was so: that of its own check, or of a later night that found it unchanged."""
        history = self.facts.get(fact.key)
        before = history.until if history and history.was == _known(fact) else None
        return max((day for day in (self.answered_on(fact), before, fact.checked) if day), default=None)


def comparable(value: object) -> object:
    """Give a value as it is compared: the order of a list does not matter."""
    return sorted(map(str, value)) if isinstance(value, list | tuple) else value


def digest(value: object) -> str:
    """Give what an answer is remembered by."""
    return sha256(json.dumps(comparable(value), sort_keys=True, default=str).encode()).hexdigest()[:16]


def _known(fact: Fact) -> str:
    return _GONE if fact.status == "gone" else digest(fact.value)


def _moment(value: object) -> datetime | None:
    return datetime.fromisoformat(str(value)).astimezone(UTC) if value else None


def _day(value: object) -> date | None:
    return date.fromisoformat(str(value)) if value else None
