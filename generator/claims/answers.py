"""Asking sources: from questions to answers, grouped so that each source is asked as seldom as it can be.

One tree for all files of a repository, one batch for all threads, one page for all its patterns. A source that fails answers
nothing for its own questions and stops no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import PurePosixPath
from unicodedata import category

from generator.claims.questions import Question
from generator.errors import GenError
from generator.facts import Ask
from generator.gguf import shard_names
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
    """What a source said: a value where it answered, the address for people that stands for it, and the words of a failure.

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
        return [_legible(answer) for answer in group()]
    except GenError as error:
        return [_failed(question.key, error) for question in asked]


def _legible(answer: Answer) -> Answer:
    """Give an answer whose words hold nothing that no file, feed or terminal should: control characters, halves of pairs."""
    value = answer.value
    if isinstance(value, str):
        value = _plain(value)
    elif isinstance(value, list):
        value = [_plain(item) if isinstance(item, str) else item for item in value]
    return replace(answer, value=value, moved_to=_plain(answer.moved_to), detail=_plain(answer.detail))


def _plain(text: str) -> str:
    return "".join("\N{REPLACEMENT CHARACTER}" if category(character) in {"Cc", "Cs"} else character for character in text)


def _failed(key: str, error: GenError) -> Answer:
    if isinstance(error, SourceNotFound):
        return Answer(key, Outcome.GONE, detail=error.problem, final=error.gone)
    if isinstance(error, SourceDenied):
        return Answer(key, Outcome.DENIED, detail=error.problem)
    if isinstance(error, SourceLimited):
        return Answer(key, Outcome.LIMITED, detail=error.problem)
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
            yield Answer(question.key, Outcome.VALUE, value, _url(question), moved_to=new_name)


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
            count = live.github.count(query)
        except SourceError as error:
            yield _failed(question.key, error)
            continue
        yield _emptied(question) if question.fact.value and not count else Answer(question.key, Outcome.VALUE, count, _url(question))


def _emptied(question: Question) -> Answer:
    """Answer that a source which found something before finds nothing at all: that is its failure, not an update."""
    return Answer(question.key, Outcome.UNREACHABLE, url=_url(question), detail="the search finds nothing at all, where it found something")


def _url(question: Question) -> str:
    return question.fact.source.url


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
        yield Answer(question.key, Outcome.VALUE, value, _url(question))


def _source(asked: list[Question], live: Live) -> Iterator[Answer]:
    first = asked[0].ask
    text = live.github.file(first["repository"], first["ref"], first["path"])
    for question in asked:
        parts = dict(question.ask.parts)
        near = int(parts["near"]) if "near" in parts else None
        found = find(text, parts["pattern"], near)
        if found is None:
            detail = f"{parts['pattern']!r} is not in {parts['path']} at {parts['ref']}"
            yield Answer(question.key, Outcome.GONE, url=_url(question), detail=detail, final=True)
        else:
            yield Answer(question.key, Outcome.VALUE, found.line, _url(question))


# --- the Hub -------------------------------------------------------------------------------------


def _files(asked: list[Question], live: Live) -> Iterator[Answer]:
    tree = live.hub.tree(asked[0].ask["repository"])
    moved_to = tree.repo if tree.repo != asked[0].ask["repository"] else ""
    for question in asked:
        path = PurePosixPath(question.ask["file"])
        names = [str(path.with_name(name)) for name in shard_names(path.name)]
        files = [tree.files[name] for name in names if name in tree.files]
        url = _url(question)
        if len(files) < len(names):
            missing = next(name for name in names if name not in tree.files)
            detail = f"{missing} is not in {tree.repo} at {tree.commit[:12]}"
            yield Answer(question.key, Outcome.GONE, url=url, detail=detail)
        else:
            value = sum(file.size for file in files) if question.ask["field"] == "size" else files[0].sha256
            yield Answer(question.key, Outcome.VALUE, value, url, tree.commit, moved_to=moved_to)


def _repository(asked: list[Question], live: Live) -> Iterator[Answer]:
    info = live.hub.info(asked[0].ask["repository"])
    values: Mapping[str, object] = {
        "modified": info.last_modified.isoformat(),
        "pipeline": info.pipeline,
        "gated": info.gated,
    }
    for question in asked:
        yield Answer(question.key, Outcome.VALUE, values[question.ask["field"]], _url(question), info.commit)


def _card_words(asked: list[Question], live: Live) -> Iterator[Answer]:
    repository = asked[0].ask["repository"]
    text = live.hub.card(repository)
    for question in asked:
        if text is None:
            yield Answer(question.key, Outcome.GONE, url=_url(question), detail=f"{repository} has no model card")
        else:
            count = sum(text.lower().count(word.lower()) for word in question.ask["words"].split("|"))
            yield Answer(question.key, Outcome.VALUE, count, _url(question))


def _search(asked: list[Question], live: Live) -> Iterator[Answer]:
    """Ask which repositories there are, and read their cards, where questions are about those, as far as they may be read."""
    repositories = live.hub.search(asked[0].ask["query"])
    if not repositories and any(question.fact.value for question in asked):
        yield from map(_emptied, asked)
        return
    counts = {"repositories": len(repositories), "namespaces": len({name.partition("/")[0] for name in repositories})}
    about_cards = [question for question in asked if question.ask["count"] not in counts]
    for question in asked:
        if question not in about_cards:
            yield Answer(question.key, Outcome.VALUE, counts[question.ask["count"]], _url(question))
    try:
        cards = [card for name in repositories if about_cards and (card := _readable(live, name)) is not None]
    except SourceError as error:
        yield from (_failed(question.key, error) for question in about_cards)
        return
    if not cards and any(question.fact.value for question in about_cards):
        yield from map(_emptied, about_cards)
        return
    for question in about_cards:
        words = question.ask["words"].split("|") if question.ask["count"] == "naming" else []
        count = sum(any(word in card for word in words) for card in cards) if words else len(cards)
        yield Answer(question.key, Outcome.VALUE, count, _url(question))


def _readable(live: Live, repository: str) -> str | None:
    try:
        return live.hub.card(repository)
    except SourceDenied:
        return None


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
        parts = dict(question.ask.parts)
        if "control" in parts and not page.count(parts["control"]):
            detail = f"the page does not say {parts['control']!r}, so it is not the one that was meant"
            yield Answer(question.key, Outcome.UNREACHABLE, url=address, detail=detail)
        elif "pattern" not in parts:
            yield Answer(question.key, Outcome.VALUE, value=True, url=address)
        else:
            # A fact that is not published stays so while its words are not on the page.
            yield Answer(question.key, Outcome.VALUE, page.count(parts["pattern"]) or None, address, page.sha256)
