"""The nightly re-check from end to end: ask, compare, write locks, build pages, tell what moved.

Every step leaves whole files behind, and can be begun again: drift that was found is kept in the state folder until its pages are
written and its report is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path

from generator.build import Guide, build_guide, write_guide
from generator.catalog import Catalog
from generator.claims.answers import Live
from generator.claims.drift import Drift, Kind, Touched
from generator.claims.questions import questions
from generator.claims.recheck import Night, Progress, recheck, write_locks
from generator.claims.state import STATE_FOLDER, State
from generator.errors import GenError
from generator.facts import write_whole
from generator.guide.ledger import Ledger
from generator.publish.report import Report
from generator.sources.github import GitHub
from generator.sources.hub import Hub
from generator.sources.session import Session
from generator.sources.validators import Validators
from generator.sources.web import Web

WORKERS = 8
"""How many groups of questions are asked at once."""

Pairs = Iterable[tuple[str, str]]


@dataclass(slots=True)
class Pages:
    """Guides by recipe as they were built, and those that could not be, with the error's words."""

    guides: dict[tuple[str, str], Guide] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    @staticmethod
    def built(root: Path, pairs: Pairs) -> Pages:
        """Build the guides of recipes from what is on disk now; one that fails does not stop the others."""
        pages = Pages()
        catalog = Catalog.open(root)
        for pair in pairs:
            try:
                pages.guides[pair] = build_guide(catalog, *pair)
            except GenError as error:
                pages.failed[pair] = str(error)
        return pages


def open_live(root: Path) -> tuple[Live, Session]:
    """Give the live sources of a run, sharing one session with its budgets and what it remembers of answers."""
    session = Session(Validators(root / STATE_FOLDER / "answers"))
    return Live(Hub(session), GitHub(session), Web(session)), session


def check(
    root: Path,
    pairs: Pairs,
    live: Live,
    *,
    now: datetime,
    everything: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> Report:
    """Ask what is due, write state and locks, and report; pages are left as they are. Raises what reading the catalogue raises."""
    wanted = list(pairs)
    catalog = Catalog.open(root)
    state = State.read(root / STATE_FOLDER / "state.json")
    asked = questions(catalog, wanted)
    with ThreadPoolExecutor(WORKERS) as executor:
        night = recheck(asked, live, state, executor, now=now, everything=everything, progress=progress)
    pending = _Pending.read(root)
    pending.add(night.drifts)
    write_locks(night)
    after = Pages.built(root, wanted)
    return _report(night, pending.drifts, root, after, severities(catalog, wanted))


def nightly(
    root: Path,
    live: Live,
    *,
    now: datetime,
    base_url: str,
    everything: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> Report:
    """Check every recipe, write the pages that changed and the list of changes; give the report."""
    from generator.publish.changes import record

    pairs = Catalog.open(root).recipes()
    report = check(root, pairs, live, now=now, everything=everything, progress=progress)
    for guide in Pages.built(root, pairs).guides.values():
        write_guide(guide, root / "site")
    record(root / "site", report.drifts, base_url)
    return report


def settled(root: Path) -> None:
    """Forget the drift that was kept: its report is made."""
    (root / STATE_FOLDER / "pending.json").unlink(missing_ok=True)


def severities(catalog: Catalog, pairs: Pairs) -> dict[str, str]:
    """Give how bad each thread of these recipes is, by the prefix of its facts."""
    issues = {ref: catalog.issue(ref) for pair in pairs for ref in catalog.threads(catalog.recipe(*pair))}
    return {issue.prefix: issue.severity for issue in issues.values()}


# --- what a drift touches ------------------------------------------------------------------------


def _report(night: Night, drifts: Iterable[Drift], root: Path, after: Pages, severity: Mapping[str, str]) -> Report:
    committed = {pair: _committed_numbers(root, *pair) for pair in after.guides}
    told = [replace(drift, touched=_touched(drift, committed, after), severity=severity.get(_owner(drift.subject), "")) for drift in drifts]
    told.sort(key=lambda drift: (drift.weight, drift.subject))
    failed = [(f"site/guides/{model}/{card}.md", error) for (model, card), error in after.failed.items()]
    return Report(night.now, night.asked, night.answered, night.not_due, told, night.unanswered, failed)


def _owner(key: str) -> str:
    return key.rpartition(".")[0]


Numbers = Mapping[str, Mapping[str, object]]
"""Numbers of a committed `guide.json`, by key."""


def _committed_numbers(root: Path, model: str, card: str) -> Numbers:
    """Give the numbers that readers have now; none where the page was never built, or was edited beyond reading."""
    try:
        rows = json.loads((root / "site" / "guides" / model / card / "guide.json").read_text(encoding="utf-8"))
        return dict(rows["numbers"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _touched(drift: Drift, committed: Mapping[tuple[str, str], Numbers], after: Pages) -> tuple[Touched, ...]:
    """Give what a drift moves on each page: numbers that follow from it and changed, claims that rest on it."""
    found = []
    for pair, guide in after.guides.items():
        numbers = _moved_numbers(drift.subject, committed[pair], guide.ledger)
        claims = tuple(claim.id for claim in guide.ledger.claims.values() if drift.subject in claim.predicate.keys)
        if numbers or claims:
            found.append(Touched(guide.page, numbers, claims))
    return tuple(found)


def _moved_numbers(subject: str, old: Numbers, new: Ledger) -> dict[str, tuple[str, str]]:
    """Give the rows that follow from a fact and no longer have the committed value, with both as they are shown."""
    moved = {}
    for key in _resting_on(subject, new):
        if key in old and key in new.rows and old[key]["value"] != new.rows[key].as_dict()["value"]:
            moved[key] = (str(old[key]["display"]), new.rows[key].display)
    return dict(sorted(moved.items()))


def _resting_on(subject: str, ledger: Ledger) -> set[str]:
    """Give the keys of the rows that follow from a fact, itself included; rows are in an order in which inputs come first."""
    resting = {subject}
    for row in ledger.rows.values():
        if resting & set(row.inputs):
            resting.add(row.key)
    return resting


# --- drift that is not yet told ------------------------------------------------------------------


@dataclass(slots=True)
class _Pending:
    """Drift found by earlier runs whose report was not made: kept on disk from before the locks are written."""

    path: Path
    drifts: list[Drift]

    @staticmethod
    def read(root: Path) -> _Pending:
        path = root / STATE_FOLDER / "pending.json"
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
            return _Pending(path, [_drift(row) for row in rows])
        except (OSError, ValueError, KeyError, TypeError):
            return _Pending(path, [])

    def add(self, drifts: Iterable[Drift]) -> None:
        """Keep more drift; of one fact the newest."""
        kept = {drift.subject: drift for drift in self.drifts} | {drift.subject: drift for drift in drifts}
        self.drifts = list(kept.values())
        if self.drifts:
            write_whole(self.path, json.dumps([drift.as_dict() for drift in self.drifts], ensure_ascii=False) + "\n")


def _drift(row: Mapping[str, object]) -> Drift:
    since = row["since"]
    return Drift(
        Kind(str(row["kind"])),
        str(row["subject"]),
        row["old"],
        row["new"],
        date.fromisoformat(str(since)) if since else None,
        date.fromisoformat(str(row["found"])),
        str(row["source"]),
        str(row["detail"]),
    )
