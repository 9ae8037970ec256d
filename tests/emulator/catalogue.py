"""The world as a catalogue believes it to be: a scenario in which a re-check finds nothing changed.

Everything the catalogue asks (`generator.claims.questions`) gets the answer it already has; what it does not ask but names as a source
is there too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit

from generator.catalog import Catalog
from generator.claims.questions import Question, questions
from generator.facts import Fact, Lock
from generator.gguf.shards import shard_names
from generator.specs import Citation, Engine, Issue, Model, Spec
from tests.emulator.gguf import header_bytes, plain_header
from tests.emulator.hub_state import HubFile, Repository
from tests.emulator.scenario import Page, Scenario, day

EARLIEST = day("2026-08-01")
"""When what has no date of its own was made."""

SIBLING = 2**20
"""Bytes of each file of a sharded set but the first, which has the rest of what is known of all together."""

_THREAD_URL = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(issues|pull)/(\d+)")
_BUILD_FACTS = ("newest_build", "newest_build_published", "latest_release")
_FOUND_ELSEWHERE = frozenset({"github.com", "api.github.com", "huggingface.co"})


def scenario_from_catalogue(catalog: Catalog) -> Scenario:
    """Give a scenario in which every source says what the catalogue says of it."""
    scenario = Scenario()
    specs: list[Spec] = []
    for ref in catalog.issues():
        specs.append(catalog.issue(ref))
        _add_thread(scenario, catalog.issue(ref))
    for names in catalog.engines():
        specs.append(catalog.engine(*names))
        _add_engine(scenario, catalog.engine(*names))
    for name in catalog.models():
        specs.append(catalog.model(name))
        lock = catalog.lock(name) if catalog.lock_path(name).exists() else Lock(name)
        _add_model(scenario, catalog.model(name), lock)
    specs += [catalog.card(name) for name in catalog.cards()]
    asked = questions(catalog, catalog.recipes())
    _add_pages(scenario, specs, [each for each in asked if each.ask.kind == "web"])
    _answer(scenario, asked)
    return scenario


def _answer(scenario: Scenario, asked: Iterable[Question]) -> None:
    """Make each question's answer the value that its fact has."""
    by_kind: dict[str, list[Question]] = {}
    for question in asked:
        by_kind.setdefault(question.ask.kind, []).append(question)
    makers: Mapping[str, Callable[[Scenario, list[Question]], None]] = {
        "github_thread": _threads,
        "github_release": _releases,
        "github_search": _searches,
        "hub_repository": _repositories,
        "hub_card": _card_words,
        "hub_search": _found_repositories,
    }
    for kind, make in makers.items():
        make(scenario, by_kind.get(kind, []))


# --- threads -------------------------------------------------------------------------------------


def _add_thread(scenario: Scenario, issue: Issue) -> None:
    """Add a thread with its title, state, labels, comments and days, as far as its spec has them."""
    facts = {fact.key.removeprefix(f"{issue.prefix}."): fact for fact in issue.facts}
    state = str(facts["state"].value)
    opened = _moment(facts["opened"].value) if "opened" in facts else EARLIEST
    days = [_moment(fact.value) for name, fact in facts.items() if name in {"latest_comment", "record_updated", "updated", "closed"}]
    closed = _moment(facts["closed"].value) if "closed" in facts else max([opened, *days])
    scenario.tracker(issue.tracker).thread(
        issue.number,
        str(facts["title"].value),
        kind=issue.kind,
        state=state,
        reason="completed" if state == "closed" and issue.kind == "issue" else None,
        labels=list(_texts(facts["labels"].value)) if "labels" in facts else [],
        comments=_whole(facts["comments"].value) if "comments" in facts else 0,
        opened=opened,
        updated=max([opened, *days]),
        closed=None if state == "open" else closed,
    )


def _threads(scenario: Scenario, asked: list[Question]) -> None:
    """Let threads say what was locked of them, where that is more than the spec has."""
    for question in asked:
        thread = scenario.trackers[question.ask["repository"]].threads[int(question.ask["number"])]
        value, name = question.fact.value, question.ask["field"]
        if value is None:
            continue
        if name in {"opened", "closed", "updated"}:
            setattr(thread, name, _moment(value))
        else:
            setattr(thread, name, list(_texts(value)) if name == "labels" else value)


def _add_other_thread(scenario: Scenario, url: str) -> None:
    """Add an open thread that a fact names as its source and no spec describes."""
    found = _THREAD_URL.match(url)
    if found and int(found[3]) not in scenario.tracker(found[1]).threads:
        kind = "issue" if found[2] == "issues" else "pull_request"
        scenario.tracker(found[1]).thread(int(found[3]), "A thread that a fact names as its source", kind=kind, opened=EARLIEST)


# --- releases, searches and source ---------------------------------------------------------------


def _add_engine(scenario: Scenario, engine: Engine) -> None:
    """Publish the pinned build, with every cited line where it is cited."""
    tracker = scenario.tracker(engine.repository)
    paths = {citation.path for citation in engine.citations.values()}
    files = {path: _source([each for each in engine.citations.values() if each.path == path]) for path in paths}
    tracker.release(engine.build, EARLIEST, files=files)
    known = {name: engine.facts[f"engine.{name}"].value for name in _BUILD_FACTS if f"engine.{name}" in engine.facts}
    _publish_builds(scenario, engine.repository, *(known.get(name) for name in _BUILD_FACTS))


def _source(citations: list[Citation]) -> bytes:
    """Write a file that has each citation's pattern in its line; one without a line at the pin, in a line of its own."""
    lines: dict[int, list[str]] = {}
    placed = sorted(citations, key=lambda each: (each.line is None, each.line or 0))
    for citation in placed:
        line = citation.line or (citation.read_elsewhere.line if citation.read_elsewhere else 1)
        while citation.line is None and line in lines:
            line += 1
        lines.setdefault(line, []).append(_text_of(citation))
    rows = ["  ".join(lines.get(number, ["//"])) for number in range(1, max(lines) + 4)]
    return ("\n".join(rows) + "\n").encode()


def _text_of(citation: Citation) -> str:
    return citation.quote if citation.pattern in citation.quote and "\n" not in citation.quote else citation.pattern


def _releases(scenario: Scenario, asked: list[Question]) -> None:
    for repository in {question.ask["repository"] for question in asked}:
        known = {question.ask["field"]: question.fact.value for question in asked if question.ask["repository"] == repository}
        _publish_builds(scenario, repository, *(known.get(name) for name in ("newest_build", "newest_build_published", "latest")))


def _publish_builds(scenario: Scenario, repository: str, newest: object, published: object, latest: object) -> None:
    """Publish the newest build, a prerelease as they all are, with the source of the pin; and what the tracker calls its latest release."""
    tracker = scenario.tracker(repository)
    if newest and str(newest) not in tracker.tags:
        pinned = tracker.at(tracker.branch)
        files = dict(pinned.files) if pinned else {}
        tracker.release(str(newest), _moment(published or EARLIEST.date()) + timedelta(hours=5, minutes=39, seconds=28), files=files)
    if latest and str(latest) not in tracker.tags:
        tracker.release(str(latest), EARLIEST - timedelta(days=30), prerelease=False)


def _searches(scenario: Scenario, asked: list[Question]) -> None:
    for question in asked:
        scenario.tracker(question.ask["repository"]).searches[question.ask["query"].lower()] = _whole(question.fact.value)


# --- the Hub -------------------------------------------------------------------------------------


def _add_model(scenario: Scenario, model: Model, lock: Lock) -> None:
    """Add the repository of the quantised files, those with the headers the lock has, and the base model's."""
    changes: dict[str, bytes | str | HubFile | None] = {".gitattributes": "*.gguf filter=lfs diff=lfs merge=lfs -text\n"}
    changes["README.md"] = _card(model.repository, model.licence)
    for quant in model.quants.values():
        prefix = f"header.{quant.name.lower()}"
        if f"{prefix}.tensors" in lock.facts:
            content = header_bytes(lock.facts[f"{prefix}.metadata"].value, lock.facts[f"{prefix}.tensors"].value)
        else:
            content = plain_header(model.architecture)
        locked = {name: lock.facts[f"file.{quant.name.lower()}.{name}"] for name in ("size", "sha256") if _has(lock, quant.name, name)}
        size = _whole(locked["size"].value) if "size" in locked else _size(quant.size, len(content))
        sha256 = str(locked["sha256"].value or "") if "sha256" in locked else ""
        first, *others = shard_names(quant.file)
        changes |= {other: HubFile(plain_header(model.architecture), SIBLING, lfs=True) for other in others}
        changes[first] = HubFile(content, size - SIBLING * len(others), lfs=True, sha256=sha256)
    if model.projector and model.projector.file:
        projector = plain_header("clip")
        changes[model.projector.file] = HubFile(projector, _size(model.projector.size, len(projector)), lfs=True)
    repository = scenario.repository(model.repository)
    repository.library, repository.labels, repository.card = "gguf", ["gguf"], {"license": model.licence.lower(), "base_model": model.base}
    repository.commit(changes, EARLIEST)
    if model.base:
        base = {"README.md": _card(model.base, model.licence), "config.json": f'{{"model_type": "{model.architecture}"}}\n'}
        scenario.repository(model.base).commit(base, EARLIEST)


def _has(lock: Lock, quant: str, name: str) -> bool:
    return f"file.{quant.lower()}.{name}" in lock.facts


def _size(fact: Fact | None, default: int) -> int:
    return int(fact.quantity()) if fact is not None and fact.known else default


def _card(name: str, licence: str) -> str:
    return f"---\nlicense: {licence.lower()}\n---\n\n# {name}\n\nA model card.\n"


def _held(scenario: Scenario, name: str) -> Repository:
    """Give a repository, made up where there is none."""
    repository = scenario.repository(name)
    if not repository.commits:
        repository.commit({"README.md": _card(name, "apache-2.0")}, EARLIEST)
    return repository


def _repositories(scenario: Scenario, asked: list[Question]) -> None:
    for question in asked:
        repository, value = _held(scenario, question.ask["repository"]), question.fact.value
        if question.ask["field"] == "modified" and value:
            repository.commit({}, _moment(value), "Update metadata")
        elif question.ask["field"] == "pipeline" and value:
            repository.pipeline = str(value)
        elif question.ask["field"] == "gated":
            repository.gated = "auto" if value is True else str(value or "")


def _card_words(scenario: Scenario, asked: list[Question]) -> None:
    for question in asked:
        repository = _held(scenario, question.ask["repository"])
        word = question.ask["words"].partition("|")[0]
        text = repository.files["README.md"].content.decode() + f"{word}\n" * _whole(question.fact.value or 0)
        repository.commit({"README.md": text}, repository.modified, "Update README.md")


def _found_repositories(scenario: Scenario, asked: list[Question]) -> None:
    for query in dict.fromkeys(question.ask["query"] for question in asked):
        counts = {_counted(question): _whole(question.fact.value or 0) for question in asked if question.ask["query"] == query}
        _fill(scenario, query, counts)


def _counted(question: Question) -> str:
    return question.ask["words"] if question.ask["count"] == "naming" else question.ask["count"]


def _fill(scenario: Scenario, query: str, counts: Mapping[str, int]) -> None:
    """Make a query find as many repositories, of as many namespaces, with as many cards, of which so many name certain words."""
    words = query.lower().split()
    found = [name for name in scenario.repositories if all(word in name.lower() for word in words)]
    added: list[Repository] = []
    while len(found) < counts.get("repositories", len(found)):
        spaces = list(dict.fromkeys(name.partition("/")[0] for name in found))
        new = len(spaces) < counts.get("namespaces", 1)
        owner = f"publisher-{'abcdefghijklmnopqrstuvwxyz'[len(added) % 26]}" if new else spaces[len(added) % len(spaces)]
        name = f"{owner}/{'-'.join(query.split())}-copy-{'abcdefghijklmnopqrstuvwxyz'[len(added) % 26]}"
        added.append(_held(scenario, name))
        found.append(name)
    cards = counts.get("cards", len(found))
    for repository in added[len(added) - (len(found) - cards) :] if cards < len(found) else []:
        repository.commit({"README.md": None, ".gitattributes": ""}, EARLIEST, "No card")
    carded = [repository for repository in added if "README.md" in repository.files]
    for naming in counts.keys() - {"repositories", "namespaces", "cards"}:
        for repository in carded[: counts[naming]]:
            text = repository.files["README.md"].content.decode() + f"\nRuns on {naming.partition('|')[0]}.\n"
            repository.commit({"README.md": text}, EARLIEST)


# --- pages ---------------------------------------------------------------------------------------


def _add_pages(scenario: Scenario, specs: Iterable[Spec], asked: list[Question]) -> None:
    """Add a page for each address that facts name or questions ask, with the facts' values and no word that is not published there."""
    lines: dict[str, list[str]] = {question.ask["address"]: [] for question in asked}
    for spec in specs:
        for fact in spec.facts:
            url = fact.source.url
            _add_other_thread(scenario, url)
            if not fact.known or not url.startswith("https://") or urlsplit(url).netloc in _FOUND_ELSEWHERE:
                continue
            beside = [each.ask["address"] for each in asked if each.key in spec.facts and _same_site(each.ask["address"], url)]
            for address in dict.fromkeys([url, *beside]):
                lines.setdefault(address, []).append(_shown(fact))
    for question in asked:
        pattern = dict(question.ask.parts).get("pattern")
        if pattern is not None:
            _publish(lines[question.ask["address"]], pattern, question.fact)
    absent = {question.ask["address"] for question in asked if question.fact.value is False}
    for url, rows in lines.items():
        if url not in absent:
            body = "".join(f"<li>{row}</li>\n" for row in rows)
            scenario.pages[url] = Page(
                f"<!DOCTYPE html>\n<html><head><title>Specifications</title></head><body><ul>\n{body}</ul></body></html>\n"
            )


def _publish(rows: list[str], pattern: str, fact: Fact) -> None:
    """Let a page have a pattern as often as the fact says, or nowhere where the source publishes none."""
    rows[:] = [row for row in rows if pattern.lower() not in row.lower()]
    rows += [pattern] * (_whole(fact.value) if isinstance(fact.value, int) else 0)


def _same_site(one: str, other: str) -> bool:
    return urlsplit(one).netloc == urlsplit(other).netloc


def _shown(fact: Fact) -> str:
    return f"{fact.key.rpartition('.')[2].replace('_', ' ')}: {fact.value} {fact.unit}".strip()


# --- values --------------------------------------------------------------------------------------


def _moment(value: object) -> datetime:
    return day(value.isoformat() if isinstance(value, date) else str(value))


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return int(value)


def _texts(value: object) -> Iterable[str]:
    return map(str, value) if isinstance(value, list | tuple) else [str(value)]
