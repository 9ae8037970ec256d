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
from generator.claims.state import VANISHED_AFTER, State, comparable
from generator.facts import Ask, Fact, Lock, Source

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
    """One run of the re-check: what was asked and answered, what drifted, and what could not be asked.

    `changed` are the facts to lock, by lock. `moved` are answers from a new place, by the lock that is to name it: they are noted when
    it does, so that the move is found again where it was not written. `unwritten` are locks that could not be, with the reason.
    """

    now: datetime
    asked: int = 0
    answered: int = 0
    not_due: int = 0
    drifts: list[Drift] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)
    changed: dict[Path, list[Fact]] = field(default_factory=dict)
    moved: dict[Path, list[tuple[str, object]]] = field(default_factory=dict)
    unwritten: dict[Path, str] = field(default_factory=dict)


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
        if everything or state.due(question.fact, PERIODS[question.ask.kind], now):
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


def write_locks(night: Night, state: State) -> list[Path]:
    """Write the locks whose facts changed; give those whose content is new. One that cannot be written stops no other."""
    written = []
    for path, facts in night.changed.items():
        try:
            lock = Lock.read(path) if path.exists() else Lock(_subject(path))
            if lock.updated(facts, night.now.date()).write(path):
                written.append(path)
        except OSError as error:
            night.unwritten[path] = error.strerror or type(error).__name__
            continue
        for key, value in night.moved.get(path, ()):
            state.note_answer(key, value, night.now)
    state.write()
    return written


def _subject(path: Path) -> str:
    """Give what a new lock is of: a model by its name, anything else by its folder and name."""
    name = path.name.removesuffix(".lock.json")
    return path.parent.name if name == "model" else f"{path.parent.name}/{name}"


def _take(night: Night, question: Question, answer: Answer, state: State) -> None:
    """Take one answer: compare it, or note the failure."""
    if answer.outcome is Outcome.VALUE:
        night.answered += 1
        _compare(night, question, answer, state)
        return
    missing = answer.outcome is Outcome.GONE
    nights = state.note_failure(question.key, night.now, str(answer.outcome), answer.detail, missing=missing)
    if missing and question.identifies is not None and (answer.final or nights >= VANISHED_AFTER):
        night.answered += 1
        if question.identifies:
            _gone(night, question, answer, state)
        return
    night.unanswered.append(Unanswered(question.fact, answer.outcome, answer.detail, nights))


def _gone(night: Night, question: Question, answer: Answer, state: State) -> None:
    """Take a thing for gone, and tell it once. It keeps its last value, of the day on which that was last read.

    A thread is dated by the answer that it is gone, for that is what a page says of it.
    """
    fact, today = question.fact, night.now.date()
    until = state.so_until(fact)
    state.note_gone(question.key, night.now)
    if fact.status == "gone":
        return
    kind = Kind.LINE_LOST if question.ask.kind == "github_source" else Kind.GONE
    night.drifts.append(_drift(kind, question, None, night, answer, state))
    checked = today if question.ask.kind == "github_thread" else until
    note = f"gone by {today.isoformat()}: {answer.detail}"
    night.changed.setdefault(question.lock, []).append(replace(fact, status="gone", checked=checked, note=note, ask=None))


def _compare(night: Night, question: Question, answer: Answer, state: State) -> None:
    fact = question.fact
    before = state.of(question.key).answered
    moved = question.ask.kind in _TELL_MOVES and answer.moved_to != question.moved_to
    if moved:
        _moved(night, question, answer, state)
    else:
        state.note_answer(question.key, answer.value, night.now)
    old, new = comparable(fact.value), comparable(answer.value)
    same = old == new and fact.status not in {"gone", "unreachable"}
    state_of_moved = moved and question.ask.kind == "github_thread" and question.identifies
    if not same or state_of_moved:  # a page says in one sentence, of one day, that a thread moved and what state it is in
        night.changed.setdefault(question.lock, []).append(_fresh(night, question, answer))
    if same:
        return
    unread = fact.value is None and fact.status == "ok" and fact.origin != "fetched" and before is None
    night.drifts.append(_drift(Kind.FIRST if unread else _kind(question, new), question, answer.value, night, answer, state))


def _fresh(night: Night, question: Question, answer: Answer) -> Fact:
    """Give a fact as its source has it now."""
    fact, kind = question.fact, question.ask.kind
    return replace(
        fact,
        value=answer.value,
        status="not_published" if answer.value is None and kind == "web" else "ok",
        origin="fetched",
        checked=night.now.date(),
        source=_source(fact, answer, night),
        note="" if kind == "github_thread" or fact.status == "gone" else fact.note,
        ask=None,
    )


def _moved(night: Night, question: Question, answer: Answer, state: State) -> None:
    """Note that a thread or repository has a new name, or its old one again, once for all its facts."""
    key = question.moved.key
    night.moved.setdefault(question.lock, []).append((question.key, answer.value))
    if any(drift.subject == key for drift in night.drifts):
        return
    source = _source(question.fact, answer, night)
    fact = Fact(key, answer.moved_to or None, origin="fetched", source=source, checked=night.now.date())
    night.changed.setdefault(question.lock, []).append(fact)
    state.note_answer(key, fact.value, night.now)
    found = state.first_said(key) or night.now.date()
    name = _name(question.ask)
    old, new = question.moved_to or name, answer.moved_to or name
    night.drifts.append(Drift(Kind.MOVED, key, old, new, state.so_until(question.fact), found, answer.url))


def _name(ask: Ask) -> str:
    return f"{ask['repository']}#{ask['number']}" if ask.kind == "github_thread" else ask["repository"]


_TELL_MOVES = ("github_thread", "hub_file")
"""The kinds of questions whose answers say what a thing is called now."""


def _kind(question: Question, new: object) -> Kind:
    name = question.key.rpartition(".")[2]
    if question.fact.status == "gone":
        return Kind.RETURNED
    if question.ask.kind == "github_thread":
        by_state = {"closed": Kind.CLOSED, "merged": Kind.MERGED, "open": Kind.REOPENED}
        return {"state": by_state.get(str(new), Kind.CHANGED), "labels": Kind.LABELLED, "title": Kind.RETITLED}.get(name, Kind.CHANGED)
    if question.ask.kind == "github_source":
        return Kind.LINE_MOVED if question.fact.value is not None else Kind.FIRST
    if question.ask.kind == "hub_file":
        return Kind.RESIZED if name == "size" else Kind.REHASHED
    if name == "gated":
        return Kind.GATED if new else Kind.UNGATED
    return Kind.PUBLISHED if question.fact.status == "not_published" else Kind.CHANGED


def _drift(kind: Kind, question: Question, new: object, night: Night, answer: Answer, state: State) -> Drift:
    fact = question.fact
    found = state.first_said(question.key) or night.now.date()
    source = answer.url or fact.source.url
    return Drift(kind, question.key, fact.value, new, state.so_until(fact), found, source, answer.detail)


def _source(fact: Fact, answer: Answer, night: Night) -> Source:
    return Source(answer.url or fact.source.url, fact.source.purl, fact.source.title, answer.revision, retrieved=night.now.date())
