"""The nightly re-check from end to end: ask, compare, write locks, build pages, tell what moved.

Every step leaves whole files behind, and can be begun again: drift that was found is kept in the state folder, with what it touches,
from before the locks are written until it is in the list of changes and its report is made.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from generator.build import write_files
from generator.catalog import Catalog
from generator.claims import Claim
from generator.claims.answers import Live
from generator.claims.drift import COMMAND, Drift, Kind, Touched
from generator.claims.questions import questions
from generator.claims.recheck import Night, Progress, recheck, write_locks
from generator.claims.state import STATE_FOLDER, State, comparable
from generator.errors import GenError
from generator.facts import Fact, write_whole
from generator.guide.ledger import Ledger
from generator.guide.page import Page
from generator.pages import build_page
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
    """Guides and checks by model and name as they were built, and those that could not be, with the error's words."""

    built: dict[tuple[str, str], Page] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    @staticmethod
    def build(root: Path, pairs: Pairs) -> Pages:
        """Build the pages from what is on disk now; one that fails does not stop the others."""
        pages = Pages()
        catalog = Catalog.open(root)
        for pair in pairs:
            try:
                pages.built[pair] = build_page(catalog, *pair)
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
    report, _ = _checked(root, pairs, live, now=now, everything=everything, progress=progress)
    return replace(report, drifts=[drift for drift in report.drifts if drift.subject not in _Pending.read(root).told])


def nightly(
    root: Path,
    live: Live,
    *,
    now: datetime,
    base_url: str,
    everything: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> Report:
    """Check every page of the catalogue, write the pages that changed and the list of changes; give the report."""
    from generator.method import method_pages
    from generator.publish.changes import record

    report, pages = _checked(root, Catalog.open(root).pages(), live, now=now, everything=everything, progress=progress)
    for page in pages.built.values():
        write_files(page.files, root / "site")
    if not pages.failed:
        write_files(method_pages(pages.built.values(), root / "templates"), root / "site")
    record(root / "site", report.drifts, base_url)
    return report


def reported(root: Path, report: Report, *, recorded: bool) -> None:
    """Remember that a report was made: its drift is not told by `check` again, and where it is `recorded` by no one."""
    pending = _Pending.read(root)
    if recorded:
        pending.path.unlink(missing_ok=True)
    else:
        pending.told |= {drift.subject for drift in report.drifts}
        pending.write()


def _checked(root: Path, pairs: Pairs, live: Live, *, now: datetime, everything: bool, progress: Progress) -> tuple[Report, Pages]:
    """Give the report, and the pages as they are after it."""
    wanted = list(pairs)
    catalog = Catalog.open(root)
    _sweep(root)
    state = State.read(root / STATE_FOLDER / "state.json")
    asked = questions(catalog, wanted)
    with ThreadPoolExecutor(WORKERS) as executor:
        night = recheck(asked, live, state, executor, now=now, everything=everything, progress=progress)
    pending = _Pending.read(root)
    pending.drop({question.key: question.fact for question in asked} | {question.moved.key: question.moved for question in asked})
    pending.add(night.drifts)
    pending.write()
    write_locks(night, state)
    after = Pages.build(root, wanted)
    committed = {pair: _committed(root / "site" / page.ledger_path) for pair, page in after.built.items()}
    severity = severities(catalog, wanted)
    pending.touch(lambda drift: _touched(drift, committed, after), severity)
    pending.write()
    drifts = sorted(pending.drifts, key=lambda drift: (drift.weight, drift.subject))
    return Report(now, night.asked, night.answered, night.not_due, drifts, night.unanswered, _failed(catalog, night, after)), after


def _failed(catalog: Catalog, night: Night, after: Pages) -> list[tuple[str, str]]:
    """Give what is our own fault: locks that could not be written, pages that could not be built."""
    locks = [(path.relative_to(catalog.root).as_posix(), reason) for path, reason in sorted(night.unwritten.items())]
    checks = set(catalog.checks())
    pages = [("checks" if pair in checks else "guides", pair, error) for pair, error in after.failed.items()]
    return locks + [(f"site/{folder}/{model}/{name}.md", error) for folder, (model, name), error in pages]


def severities(catalog: Catalog, pairs: Pairs) -> dict[str, str]:
    """Give how bad it is when a fact moves, by the prefix of its key: of each thread of these pages, and of each recipe's own file."""
    wanted = set(pairs)
    recipes = [catalog.recipe(*pair) for pair in catalog.recipes() if pair in wanted]
    checks = [catalog.check_of(*pair) for pair in catalog.checks() if pair in wanted]
    refs = dict.fromkeys(ref for recipe in recipes for ref in catalog.threads(recipe.engine))
    refs |= dict.fromkeys(ref for check in checks for ref in check.threads)
    files = {f"file.{recipe.quant.lower()}": COMMAND for recipe in recipes}
    return files | {issue.prefix: issue.severity for issue in map(catalog.issue, refs)}


# --- what a drift touches ------------------------------------------------------------------------


def _owner(key: str) -> str:
    return key.rpartition(".")[0]


Rows = Mapping[str, Mapping[str, object]]
"""Numbers, or claims, of a committed ledger, by key."""


def _committed(ledger: Path) -> tuple[Rows, Rows]:
    """Give the numbers and claims that readers have now; none where the page was never built, or was edited beyond reading."""
    try:
        rows = json.loads(ledger.read_text(encoding="utf-8"))
        return dict(rows["numbers"]), dict(rows["claims"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}, {}


def _touched(drift: Drift, committed: Mapping[tuple[str, str], tuple[Rows, Rows]], after: Pages) -> list[Touched]:
    """Give what a drift moves on each page: numbers that follow from it and changed, claims that rest on it or now say something else."""
    found = []
    for pair, guide in after.built.items():
        old_numbers, old_claims = committed[pair]
        numbers = _moved_numbers(drift.subject, old_numbers, guide.ledger)
        claims = tuple(claim.id for claim in guide.ledger.claims.values() if _concerns(drift, claim, old_claims))
        if numbers or claims:
            found.append(Touched(guide.page, numbers, claims))
    return found


def _concerns(drift: Drift, claim: Claim, old: Rows) -> bool:
    """Tell whether a claim rests on a fact, or is worded by it and has other words than the committed one."""
    if drift.subject in claim.predicate.keys:
        return True
    worded = drift.subject.endswith((".kind", ".reason", ".moved_to")) and f"{_owner(drift.subject)}.state" in claim.predicate.keys
    return worded and claim.id in old and old[claim.id].get("text") != claim.text


def _moved_numbers(subject: str, old: Rows, new: Ledger) -> dict[str, tuple[str, str]]:
    """Give the rows that follow from a fact and no longer have the committed value, with both as they are shown."""
    moved = {}
    for key in _resting_on(subject, new):
        row = new.rows[key].as_dict() if key in new.rows else {}
        if key in old and row and old[key]["value"] != row["value"]:
            shown = "display" if old[key]["display"] != row["display"] else "value"
            moved[key] = (str(old[key][shown]), str(row[shown]))
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
    """Drift whose report was not made, or that is not in the list of changes: kept on disk from before the locks are written.

    `told` are the facts of which a report was made already.
    """

    path: Path
    drifts: list[Drift]
    told: set[str]

    @staticmethod
    def read(root: Path) -> _Pending:
        path = root / STATE_FOLDER / "pending.json"
        try:
            rows: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return _Pending(path, [Drift.from_dict(row) for row in rows["drifts"]], set(rows["told"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return _Pending(path, [], set())

    def drop(self, known: Mapping[str, Fact]) -> None:
        """Forget drift that no lock has: the run that found it did not live to write it. What is still so is found again."""
        self.drifts = [drift for drift in self.drifts if drift.subject not in known or _is_locked(drift, known[drift.subject])]

    def add(self, drifts: Sequence[Drift]) -> None:
        """Keep more drift."""
        self.drifts += drifts
        self.told -= {drift.subject for drift in drifts}

    def touch(self, touched: Callable[[Drift], list[Touched]], severity: Mapping[str, str]) -> None:
        """Note what each drift touches beside what an earlier run found that it does, whose pages may have been written since."""
        self.drifts = [
            replace(drift, touched=_merged(drift.touched, touched(drift)), severity=severity.get(_owner(drift.subject), drift.severity))
            for drift in self.drifts
        ]

    def write(self) -> None:
        if self.drifts or self.path.exists():
            rows = {"drifts": [drift.as_dict() for drift in self.drifts], "told": sorted(self.told)}
            write_whole(self.path, json.dumps(rows, ensure_ascii=False) + "\n")


def _merged(before: Iterable[Touched], now: Iterable[Touched]) -> tuple[Touched, ...]:
    pages = {touched.page: touched for touched in before}
    for touched in now:
        old = pages.get(touched.page, Touched(touched.page))
        numbers = {**touched.numbers, **{key: (was, touched.numbers.get(key, ("", new))[1]) for key, (was, new) in old.numbers.items()}}
        claims = tuple(dict.fromkeys([*old.claims, *touched.claims]))
        pages[touched.page] = Touched(touched.page, numbers, claims)
    return tuple(pages.values())


def _is_locked(drift: Drift, fact: Fact) -> bool:
    """Tell whether a fact is what a drift says that it has become."""
    if drift.kind in {Kind.GONE, Kind.LINE_LOST, Kind.RETURNED}:
        return (fact.status == "gone") != (drift.kind is Kind.RETURNED)
    return comparable(fact.value) != comparable(drift.old)


# --- what a killed run left ----------------------------------------------------------------------

_UNFINISHED = re.compile(r"\..+\.[a-z0-9_]{8}")
_HOUR = 3600


def _sweep(root: Path) -> None:
    """Delete files that a run was writing when it was killed, an hour ago or more: nobody reads them, and no run is that slow."""
    for folder in ("recipes", "site", STATE_FOLDER):
        for path in (root / folder).rglob(".*"):
            if _UNFINISHED.fullmatch(path.name) and path.is_file() and time.time() - path.stat().st_mtime > _HOUR:
                path.unlink(missing_ok=True)
