"""Re-asking every fact that is due, and what follows: dates in the state, values in the locks, drift in the report.

Nothing here concludes from silence. A source that is down, wants more rights or has stopped us leaves value and date alone.
A thing is gone when its source says so for good, or after three nights of not being there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from generator.claims.answers import Answer, Live, Outcome, answers
from generator.claims.drift import Drift, Kind
from generator.claims.questions import PERIODS, Question
from generator.claims.state import VANISHED_AFTER, State
from generator.facts import Fact, Lock, Source

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A fact that could not be asked: it keeps its value and its old date."""

    fact: Fact
    outcome: Outcome
    detail: str
    nights: int = 0


@dataclass(slots=True)
class Night:
    """One run of the re-check: what was asked and answered, what drifted, and what could not be asked."""

    now: datetime
    asked: int = 0
    answered: int = 0
    not_due: int = 0
    drifts: list[Drift] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)
    changed: dict[Path, list[Fact]] = field(default_factory=dict)


def recheck(
    questions: Iterable[Question],
    live: Live,
    state: State,
    executor: Executor,
    *,
    now: datetime,
    everything: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> Night:
    """Ask what is due and compare; locks are not written here (`write_locks`), the state is, as answers come in."""
    night = Night(now)
    due: dict[str, Question] = {}
    for question in questions:
        if everything or state.due(question.key, PERIODS[question.ask.kind], now):
            due[question.key] = question
        else:
            night.not_due += 1
    night.asked = len(due)
    for done, answer in enumerate(answers(due.values(), live, executor), 1):
        _take(night, due[answer.key], answer, state)
        progress(done, len(due))
        if done % 50 == 0:
            state.write()
    state.write()
    night.drifts.sort(key=lambda drift: (drift.weight, drift.subject))
    night.unanswered.sort(key=lambda each: each.fact.key)
    return night


def write_locks(night: Night) -> list[Path]:
    """Write the locks whose facts changed; give those whose content is new."""
    written = []
    for path, facts in night.changed.items():
        lock = Lock.read(path) if path.exists() else Lock(_subject(path))
        if lock.updated(facts, night.now.date()).write(path):
            written.append(path)
    return written


def _subject(path: Path) -> str:
    return f"{path.parent.name}/{path.name.removesuffix('.lock.json')}"


def _take(night: Night, question: Question, answer: Answer, state: State) -> None:
    """Take one answer: compare it, or note the failure."""
    fact, today = question.fact, night.now.date()
    if answer.outcome is Outcome.VALUE:
        state.note_answer(question.key, night.now)
        night.answered += 1
        _compare(night, question, answer)
        return
    missing = answer.outcome is Outcome.GONE
    nights = state.note_failure(question.key, night.now, str(answer.outcome), answer.detail, missing=missing)
    if missing and (answer.final or nights >= VANISHED_AFTER):
        if fact.status != "gone" and fact.known:
            kind = Kind.LINE_LOST if question.ask.kind == "github_source" else Kind.GONE
            night.drifts.append(_drift(kind, question, fact.value, None, night, answer))
            gone = replace(
                fact, status="gone", origin="fetched", checked=today, source=_source(fact, answer, night), note=answer.detail, ask=None
            )
            night.changed.setdefault(question.lock, []).append(gone)
        return
    night.unanswered.append(Unanswered(fact, answer.outcome, answer.detail, nights))


def _compare(night: Night, question: Question, answer: Answer) -> None:
    fact, today = question.fact, night.now.date()
    if answer.moved_to and answer.moved_to != question.moved_to:
        _moved(night, question, answer)
    old, new = _comparable(fact.value), _comparable(answer.value)
    if fact.status == "not_published" and new is None:
        return
    if old == new and fact.status not in {"gone", "unreachable"}:
        return
    fresh = replace(
        fact,
        value=answer.value,
        status="ok" if answer.value is not None else "not_published",
        origin="fetched",
        checked=today,
        source=_source(fact, answer, night),
        ask=None,
    )
    night.changed.setdefault(question.lock, []).append(fresh)
    first = fact.value is None and fact.status == "ok"
    night.drifts.append(_drift(Kind.FIRST if first else _kind(question, old, new), question, fact.value, answer.value, night, answer))


def _moved(night: Night, question: Question, answer: Answer) -> None:
    """Note that a thread or repository has a new name, once for all its facts."""
    key = f"{question.key.rpartition('.')[0]}.moved_to"
    if any(drift.subject == key for drift in night.drifts):
        return
    fact = Fact(key, answer.moved_to, origin="fetched", source=_source(question.fact, answer, night), checked=night.now.date())
    night.changed.setdefault(question.lock, []).append(fact)
    drift = Drift(Kind.MOVED, key, question.fact.source.url, answer.moved_to, question.fact.checked, night.now.date(), answer.url)
    night.drifts.append(drift)


def _kind(question: Question, old: object, new: object) -> Kind:
    name = question.key.rpartition(".")[2]
    if question.ask.kind == "github_thread":
        by_state = {"closed": Kind.CLOSED, "merged": Kind.MERGED, "open": Kind.REOPENED}
        return {"state": by_state.get(str(new), Kind.CHANGED), "labels": Kind.LABELLED, "title": Kind.RETITLED}.get(name, Kind.CHANGED)
    if question.ask.kind == "github_source":
        return Kind.LINE_MOVED if old is not None else Kind.FIRST
    if question.ask.kind == "hub_file":
        return Kind.RESIZED if name == "size" else Kind.REHASHED
    if name == "gated":
        return Kind.GATED
    return Kind.PUBLISHED if question.fact.status == "not_published" else Kind.CHANGED


def _drift(kind: Kind, question: Question, old: object, new: object, night: Night, answer: Answer) -> Drift:
    source = answer.url or question.fact.source.url
    return Drift(kind, question.key, old, new, question.fact.checked, night.now.date(), source, answer.detail)


def _source(fact: Fact, answer: Answer, night: Night) -> Source:
    return Source(answer.url or fact.source.url, fact.source.purl, fact.source.title, answer.revision, retrieved=night.now.date())


def _comparable(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, list | tuple) else value
