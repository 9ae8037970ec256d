"""Scenarios from folders: `scenario.yml`, and beside it the files it names.

    hub:
      tokens: [hf_...]
      moved: {old/name: new/name}
      repositories:
        owner/name:
          gated: auto                      # any field of Repository but its commits and tags
          tags: {v1: 1}                    # the first commit
          commits:
            - {date: 2026-08-26, title: Upload, files: {README.md: {text: "# Card"}, old.txt: null,
               model.gguf: {from: model.head, size: 21864082336, lfs: true}}}
    github:
      tokens: [ghp_...]
      moved: {old/name: new/name}
      trackers:
        owner/name:
          branch: master                   # any field of Tracker but the following
          searches: {qwen35moe: 273}
          threads: {7: {title: A crash, state: closed, reason: completed, moved_to: [other/name, 9]}}   # fields of Thread
          releases: [{tag: b100, published: 2026-08-01}]                                                # fields of Release
          tags: {b100: {date: 2026-08-01, source: b100}}                    # fields of Tag, with the folder of its files
    pages: {"https://example.org/": {text: "..."}}                          # fields of Page, with `text` or `from`
    faults: [{kind: status, host: hub}]                                     # fields of Fault

Laid over another scenario, a folder changes what it names and leaves the rest: a night is a folder of what happened in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date, datetime
from pathlib import Path
from typing import Any

import yaml

from tests.emulator.faults import Fault
from tests.emulator.github_state import Release, Tag, Thread, Tracker
from tests.emulator.hub_state import HubFile, Repository, hub_file
from tests.emulator.scenario import Page, Scenario, day

Rows = dict[str, Any]

_MOMENTS = frozenset({"date", "created", "opened", "updated", "closed", "published", "modified"})


def load_scenario(folder: Path, onto: Scenario | None = None) -> Scenario:
    """Give the scenario of a folder, or `onto` with what the folder changes in it. Raises ValueError for a name that means nothing."""
    rows = yaml.safe_load((folder / "scenario.yml").read_text(encoding="utf-8")) or {}
    scenario = onto.copy() if onto else Scenario()
    readers: Mapping[str, Callable[[Scenario, Any, Path], None]] = {"hub": _hub, "github": _github, "pages": _pages, "faults": _faults}
    for name, value in rows.items():
        _known(name, readers, "scenario")
        readers[name](scenario, value, folder)
    return scenario


def _hub(scenario: Scenario, rows: Rows, folder: Path) -> None:
    for name, value in rows.items():
        _known(name, {"tokens", "moved", "repositories"}, "hub")
        if name == "tokens":
            scenario.hub_tokens = set(value)
        elif name == "moved":
            for old, new in value.items():
                scenario.rename_repository(old, new)
        else:
            for repository, changes in value.items():
                _repository(scenario.repository(repository), dict(changes or {}), folder)


def _repository(repository: Repository, rows: Rows, folder: Path) -> None:
    for commit in rows.pop("commits", []):
        changes = {path: _file(path, value, folder) for path, value in commit.get("files", {}).items()}
        repository.commit(changes, _moment(commit["date"]), commit.get("title", "Upload files"))
    for tag, number in rows.pop("tags", {}).items():
        repository.tags[tag] = repository.commits[number - 1].id
    if "readers" in rows:
        rows["readers"] = set(rows["readers"])
    _change(repository, rows)


def _file(path: str, value: Rows | None, folder: Path) -> HubFile | None:
    if value is None:
        return None
    content = _content(value, folder)
    rest = {name: each for name, each in value.items() if name not in {"text", "from"}}
    return HubFile(content, **{"lfs": hub_file(path, content).lfs, **rest})


def _github(scenario: Scenario, rows: Rows, folder: Path) -> None:
    for name, value in rows.items():
        _known(name, {"tokens", "moved", "trackers"}, "github")
        if name == "tokens":
            scenario.github_tokens = set(value)
        elif name == "moved":
            for old, new in value.items():
                scenario.rename_tracker(old, new)
        else:
            for tracker, changes in value.items():
                _tracker(scenario.tracker(tracker), dict(changes or {}), folder)


def _tracker(tracker: Tracker, rows: Rows, folder: Path) -> None:
    tracker.searches |= rows.pop("searches", {})
    for number, changes in rows.pop("threads", {}).items():
        thread = tracker.threads.setdefault(number, Thread(number))
        _change(thread, {name: tuple(each) if name == "moved_to" else each for name, each in (changes or {}).items()})
    for tag, changes in rows.pop("tags", {}).items():
        given = dict(changes or {})
        source = folder / given.pop("source") if "source" in given else None
        made = Tag(tag, **{name: _value(name, each) for name, each in given.items()})
        if source:
            made.files = {path.relative_to(source).as_posix(): path.read_bytes() for path in source.rglob("*") if path.is_file()}
        tracker.tags[tag] = made
    for release in rows.pop("releases", []):
        made_release = Release(**{name: _value(name, each) for name, each in release.items()})
        tracker.releases.append(made_release)
        tracker.tags.setdefault(made_release.tag, Tag(made_release.tag, made_release.published))
    _change(tracker, rows)


def _pages(scenario: Scenario, rows: Rows, folder: Path) -> None:
    for url, value in rows.items():
        if value is None:
            scenario.pages.pop(url, None)
            continue
        rest = {name: _value(name, each) for name, each in value.items() if name not in {"text", "from"}}
        scenario.pages[url] = Page(_content(value, folder), **rest)


def _faults(scenario: Scenario, rows: list[Rows], _folder: Path) -> None:
    scenario.faults = [Fault(**row) for row in rows]


def _content(value: Rows, folder: Path) -> bytes:
    return (folder / value["from"]).read_bytes() if "from" in value else str(value.get("text", "")).encode()


def _change(target: Repository | Tracker | Thread, rows: Rows) -> None:
    known = {each.name for each in fields(target)}
    for name, value in rows.items():
        _known(name, known, type(target).__name__)
        setattr(target, name, _value(name, value))


def _value(name: str, value: Any) -> Any:
    return _moment(value) if name in _MOMENTS and value is not None else value


def _moment(value: date | str) -> datetime:
    return day(value.isoformat() if isinstance(value, date) else value)


def _known(name: str, names: object, owner: str) -> None:
    if name not in names:  # type: ignore[operator]  # any container of names
        raise ValueError(f"{owner} has no {name!r}")
