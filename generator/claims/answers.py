"""Asking sources: from questions to answers, grouped so that each source is asked as seldom as it can be.

One tree for all files of a repository, one batch for all threads, one page for all its patterns. A source that fails answers
nothing for its own questions and stops no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from generator.claims.questions import Question
from generator.errors import GenError
from generator.facts import Ask
from generator.sources.engine_source import find
from generator.sources.errors import SourceDenied, SourceError, SourceLimited, SourceMoved, SourceNotFound
from generator.sources.github import GitHub, Thread
from generator.sources.hub import Hub
from generator.sources.web import Web


class Outcome(StrEnum):
    """How a question ended.

    VALUE: the source answered and was compared. GONE: it says there is no such thing. DENIED: it wants more rights. LIMITED: a
    budget or rate limit stopped us. UNREACHABLE: it could not be asked, or answered nonsense.
    """

    VALUE = "value"
    GONE = "gone"
    DENIED = "denied"
    LIMITED = "limited"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a source said: a value where it answered, where it was read in the end, and the words of a failure.

    `final` is a source saying that a thing was deleted, not only that it is not there; `moved_to` its new name.
    """

    key: str
    outcome: Outcome
    value: object = None
    url: str = ""
    revision: str = ""
    detail: str = ""
    final: bool = False
    moved_to: str = ""


@dataclass(frozen=True, slots=True)
class Live:
    """The sources of one run."""

    hub: Hub
    github: GitHub
    web: Web


Group = Callable[[], Iterator[Answer]]


def answers(questions: Iterable[Question], live: Live, executor: Executor) -> Iterator[Answer]:
    """Ask every question, groups in parallel; give the answers of a group as soon as it has them, in no order."""
    running = [executor.submit(_all, group, asked) for group, asked in _groups(list(questions), live)]
    for future in as_completed(running):
        yield from future.result()


def _all(group: Group, asked: Sequence[Question]) -> list[Answer]:
    """Run one group; where the group as a whole fails, that is the answer to each of its questions."""
    try:
        return list(group())
    except SourceError as error:
        return [_failed(question.key, error) for question in asked]


def _failed(key: str, error: GenError) -> Answer:
    if isinstance(error, SourceNotFound):
        return Answer(key, Outcome.GONE, url=error.url, detail=error.problem, final=error.gone)
    if isinstance(error, SourceDenied):
        return Answer(key, Outcome.DENIED, url=error.url, detail=error.problem)
    if isinstance(error, SourceLimited):
        return Answer(key, Outcome.LIMITED, url=error.url, detail=error.problem)
    return Answer(key, Outcome.UNREACHABLE, detail=error.problem)


def _groups(asked: list[Question], live: Live) -> Iterator[tuple[Group, list[Question]]]:
    by_kind: dict[tuple[str, ...], list[Question]] = {}
    for question in asked:
        by_kind.setdefault(_together(question.ask), []).append(question)
    makers: Mapping[str, Callable[[list[Question], Live], Iterator[Answer]]] = {
        "github_thread": _threads,
        "github_search": _counts,
        "github_release": _releases,
        "github_source": _source,
        "hub_file": _files,
        "hub_repository": _repository,
        "hub_card": _card_words,
        "hub_search": _search,
        "web": _page,
    }
    for (kind, *_), group in by_kind.items():
        yield _bound(makers[kind], group, live), group


def _bound(make: Callable[[list[Question], Live], Iterator[Answer]], group: list[Question], live: Live) -> Group:
    return lambda: make(group, live)


def _together(ask: Ask) -> tuple[str, ...]:
    """Give what questions must share to be asked as one."""
    shared = {
        "github_thread": (),
        "github_search": (),
        "github_release": ("repository",),
        "github_source": ("repository", "ref", "path"),
        "hub_file": ("repository",),
        "hub_repository": ("repository",),
        "hub_card": ("repository",),
        "hub_search": ("query",),
        "web": ("address",),
    }[ask.kind]
    return (ask.kind, *(ask[name] for name in shared))


# --- GitHub --------------------------------------------------------------------------------------


def _threads(asked: list[Question], live: Live) -> Iterator[Answer]:
    wanted = dict.fromkeys((question.ask["repository"], int(question.ask["number"])) for question in asked)
    found = live.github.threads(list(wanted))
    moved = {ref: _followed(live, error) for ref, error in found.items() if isinstance(error, SourceMoved)}
    for question in asked:
        ref = question.ask["repository"], int(question.ask["number"])
        thread = moved.get(ref, found[ref])
        if isinstance(thread, SourceError):
            yield _failed(question.key, thread)
        else:
            new_name = f"{thread.repository}#{thread.number}" if ref in moved else ""
            value = _thread_field(thread, question.ask["field"])
            yield Answer(question.key, Outcome.VALUE, value, thread.url, moved_to=new_name)


def _followed(live: Live, moved: SourceMoved) -> Thread | SourceError:
    ref = moved.repository, moved.number
    return live.github.threads([ref])[ref]


def _thread_field(thread: Thread, name: str) -> object:
    value = getattr(thread, name)
    if isinstance(value, tuple):
        return sorted(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


def _counts(asked: list[Question], live: Live) -> Iterator[Answer]:
    for question in asked:
        query = f"repo:{question.ask['repository']} {question.ask['query']}"
        try:
            yield Answer(question.key, Outcome.VALUE, live.github.count(query), question.fact.source.url)
        except SourceError as error:
            yield _failed(question.key, error)


def _releases(asked: list[Question], live: Live) -> Iterator[Answer]:
    repository = asked[0].ask["repository"]
    newest = cache(lambda: live.github.newest_build(repository))
    for question in asked:
        field = question.ask["field"]
        if field == "latest":
            value: object = live.github.latest_release(repository)
        else:
            tag, published = newest()
            value = tag if field == "newest_build" else published.isoformat()
        yield Answer(question.key, Outcome.VALUE, value, question.fact.source.url)


def _source(asked: list[Question], live: Live) -> Iterator[Answer]:
    first = asked[0].ask
    text = live.github.file(first["repository"], first["ref"], first["path"])
    for question in asked:
        parts = dict(question.ask.parts)
        near = int(parts["near"]) if "near" in parts else None
        found = find(text, parts["pattern"], near)
        if found is None:
            detail = f"{parts['pattern']!r} is not in {parts['path']} at {parts['ref']}"
            yield Answer(question.key, Outcome.GONE, url=question.fact.source.url, detail=detail, final=True)
        else:
            yield Answer(question.key, Outcome.VALUE, found.line, question.fact.source.url)


# --- the Hub -------------------------------------------------------------------------------------


def _files(asked: list[Question], live: Live) -> Iterator[Answer]:
    tree = live.hub.tree(asked[0].ask["repository"])
    moved_to = tree.repo if tree.repo != asked[0].ask["repository"] else ""
    for question in asked:
        file = tree.files.get(question.ask["file"])
        url = question.fact.source.url
        if file is None:
            detail = f"{question.ask['file']} is not in {tree.repo} at {tree.commit[:12]}"
            yield Answer(question.key, Outcome.GONE, url=url, detail=detail)
        else:
            value = file.size if question.ask["field"] == "size" else file.sha256
            yield Answer(question.key, Outcome.VALUE, value, url, tree.commit, moved_to=moved_to)


def _repository(asked: list[Question], live: Live) -> Iterator[Answer]:
    info = live.hub.info(asked[0].ask["repository"])
    values: Mapping[str, object] = {
        "modified": info.last_modified.isoformat(),
        "pipeline": info.pipeline,
        "gated": info.gated,
    }
    for question in asked:
        yield Answer(question.key, Outcome.VALUE, values[question.ask["field"]], question.fact.source.url, info.commit)


def _card_words(asked: list[Question], live: Live) -> Iterator[Answer]:
    text = live.hub.card(asked[0].ask["repository"]) or ""
    for question in asked:
        count = sum(text.lower().count(word.lower()) for word in question.ask["words"].split("|"))
        yield Answer(question.key, Outcome.VALUE, count, question.fact.source.url)


def _search(asked: list[Question], live: Live) -> Iterator[Answer]:
    repositories = live.hub.search(asked[0].ask["query"])
    cards = cache(lambda: [card for name in repositories if (card := live.hub.card(name)) is not None])
    for question in asked:
        count = question.ask["count"]
        if count == "repositories":
            value = len(repositories)
        elif count == "namespaces":
            value = len({name.partition("/")[0] for name in repositories})
        elif count == "cards":
            value = len(cards())
        else:
            words = question.ask["words"].split("|")
            value = sum(any(word in card for word in words) for card in cards())
        yield Answer(question.key, Outcome.VALUE, value, question.fact.source.url)


# --- pages ---------------------------------------------------------------------------------------


def _page(asked: list[Question], live: Live) -> Iterator[Answer]:
    """A question without a pattern asks whether the page is there: then its absence is an answer, not a failure."""
    address = asked[0].ask["address"]
    try:
        page = live.web.page(address)
    except SourceNotFound as error:
        for question in asked:
            if "pattern" in dict(question.ask.parts):
                yield _failed(question.key, error)
            else:
                yield Answer(question.key, Outcome.VALUE, value=False, url=address)
        return
    for question in asked:
        pattern = dict(question.ask.parts).get("pattern")
        if pattern is None:
            yield Answer(question.key, Outcome.VALUE, value=True, url=address)
        else:
            # A fact that is not published stays so while its words are not on the page.
            count = page.count(pattern)
            yield Answer(question.key, Outcome.VALUE, count or None, address, page.sha256)
