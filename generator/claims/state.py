"""The uncommitted state of re-checking: when each fact was last asked and answered, and how often it was missing.

Dates that tick every night belong here and not in a lock, so that a reviewed diff shows values that changed. The file is written
whole after each group of answers; a crash loses at most what was not written, and never a lock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from generator.facts import write_whole

FORMAT = 1
STATE_FOLDER = ".gen"
"""Where a project folder keeps what is not committed."""

VANISHED_AFTER = 3
"""Nights of 404 after which a thing is taken to be gone."""


@dataclass(slots=True)
class Asked:
    """One fact's history: last asked and last answered (UTC), and the nights on which it was missing since then."""

    asked: datetime | None = None
    answered: datetime | None = None
    outcome: str = ""
    detail: str = ""
    missing: list[date] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        """Give it for JSON, without what is empty."""
        rows: dict[str, object] = {
            "asked": self.asked.isoformat() if self.asked else "",
            "answered": self.answered.isoformat() if self.answered else "",
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

    def due(self, key: str, period: timedelta, now: datetime) -> bool:
        """Tell whether a fact is to be asked: an hour's grace keeps a nightly run nightly."""
        answered = self.facts[key].answered if key in self.facts else None
        return answered is None or now - answered >= period - timedelta(hours=1)

    def note_answer(self, key: str, now: datetime) -> None:
        """Remember that a source answered."""
        self.facts[key] = Asked(now, now, "value")

    def note_failure(self, key: str, now: datetime, outcome: str, detail: str, *, missing: bool) -> int:
        """Remember a failure; give on how many nights in a row the thing has been missing (0 for any other failure)."""
        history = self.of(key)
        history.asked, history.outcome, history.detail = now, outcome, detail
        if missing and (not history.missing or history.missing[-1] != now.date()):
            history.missing.append(now.date())
        return len(history.missing) if missing else 0

    def answered_on(self, key: str) -> date | None:
        """Give the day a fact's source last answered."""
        answered = self.facts[key].answered if key in self.facts else None
        return answered.date() if answered else None


def _moment(value: object) -> datetime | None:
    return datetime.fromisoformat(str(value)).astimezone(UTC) if value else None
