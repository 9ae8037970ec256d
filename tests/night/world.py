"""A project folder and the sources around it, for nights that are played through the command line."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime
from difflib import ndiff
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from generator import cli, nightly
from generator.claims.answers import Live
from generator.sources.session import Session
from tests.emulator import Clock, Emulator, Exchange, Scenario

PAGE = "site/guides/apodex-mini/rtx-5070.md"
LEDGER = "site/guides/apodex-mini/rtx-5070/guide.json"
PLANNER = "site/guides/apodex-mini/rtx-5070/planner.json"
THREADS = "recipes/issues/llama.cpp/threads.lock.json"
MODEL = "recipes/models/apodex-mini/model.lock.json"
CHANGES = {"site/changes.json", "site/changes.md", "site/changes.atom"}
TRACKER = "ggml-org/llama.cpp"
HUB = "bartowski/apodex_Apodex-1.1-mini-GGUF"

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Done:
    """What a command gave back: exit code, what it printed, and what it complained of."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Morning:
    """A night of `gen nightly`: what it said, and the reviewed files before and after it, by path."""

    now: datetime
    done: Done = field(repr=False)
    markdown: str = field(repr=False)
    report: Mapping[str, Any] = field(repr=False)
    before: Files = field(repr=False)
    after: Files = field(repr=False)
    state: Mapping[str, Mapping[str, Any]] = field(repr=False)
    requests: tuple[Exchange, ...] = field(repr=False)

    @property
    def code(self) -> int:
        """The exit code."""
        return self.done.code

    @property
    def changed(self) -> set[str]:
        """The files of recipes/ and site/ that are not what they were."""
        return {path for path in {*self.before, *self.after} if self.before.get(path) != self.after.get(path)}

    @property
    def drifts(self) -> dict[str, Mapping[str, Any]]:
        """The drift of the report in JSON, by subject."""
        return {row["subject"]: row for row in self.report["drifts"]}

    @property
    def unanswered(self) -> dict[str, Mapping[str, Any]]:
        """What could not be asked, by fact."""
        return {row["fact"]: row for row in self.report["unanswered"]}

    def locked(self, path: str) -> dict[str, Mapping[str, Any]]:
        """Give the facts of a lock that are not what they were, as they are now."""
        before, after = (_facts(files.get(path)) for files in (self.before, self.after))
        assert before.keys() <= after.keys()
        return {key: fact for key, fact in after.items() if before.get(key) != fact}

    def fact(self, path: str, key: str) -> Mapping[str, Any]:
        """Give a fact of a lock as it is after the night."""
        return _facts(self.after[path])[key]

    @cached_property
    def page(self) -> str:
        """The page after the night."""
        return self.after[PAGE].decode()

    @cached_property
    def page_before(self) -> str:
        """The page before the night."""
        return self.before[PAGE].decode()

    @property
    def new_lines(self) -> list[str]:
        """The lines of the page that were not there before; a line that changed is one of them."""
        return [row[2:] for row in ndiff(self.page_before.splitlines(), self.page.splitlines()) if row.startswith("+ ")]

    @property
    def lost_lines(self) -> list[str]:
        """The lines of the page that are not there any more, or not as they were."""
        return [row[2:] for row in ndiff(self.page_before.splitlines(), self.page.splitlines()) if row.startswith("- ")]

    @property
    def claims(self) -> dict[str, tuple[Any, Any]]:
        """The claims of the ledger that are not what they were, before and after."""
        return _moved(*(json.loads(files[LEDGER])["claims"] for files in (self.before, self.after)))

    @property
    def numbers(self) -> dict[str, tuple[Any, Any]]:
        """The numbers of the ledger that are not what they were, before and after."""
        return _moved(*(json.loads(files[LEDGER])["numbers"] for files in (self.before, self.after)))


class World:
    """A project folder whose sources are the emulator's. `scenario` is what they hold, for a test to change."""

    def __init__(self, root: Path, emulator: Emulator, clock: Clock, patch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.emulator = emulator
        self.clock = clock
        self._patch = patch
        patch.setenv("GEN_ROOT", str(root))
        self.tokens(given=True)
        opened = nightly.open_live

        def open_live(folder: Path) -> tuple[Live, Session]:
            live, session = opened(folder)
            session._clock, session._sleep = clock, clock.sleep
            emulator.mount(session._http)
            return live, session

        patch.setattr(nightly, "open_live", open_live)

    @property
    def scenario(self) -> Scenario:
        """What the sources hold now."""
        return self.emulator.scenario

    def tokens(self, *, given: bool) -> None:
        """Have tokens from now on, or none."""
        for name, value in self.emulator.environment(tokens=given).items():
            self._patch.setenv(name, value)

    def gen(self, *words: str) -> Done:
        """Run a command in this process."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = cli.main(words)
        return Done(code, out.getvalue(), err.getvalue())

    def night(self, now: datetime, *words: str) -> Morning:
        """Run `gen nightly` at a moment."""
        self.clock.go_to(now)
        self.emulator.reset_log()
        report = self.root.parent / f"{self.root.name}-report.md"
        before = self.files()
        moment = now.strftime("%Y-%m-%dT%H:%M")
        done = self.gen("nightly", "--now", moment, "--report", str(report), "--site-url", "https://guides.example/", *words)
        return Morning(
            now=now,
            done=done,
            markdown=report.read_text(encoding="utf-8"),
            report=json.loads(report.with_suffix(".json").read_text(encoding="utf-8")),
            before=before,
            after=self.files(),
            state=self.state(),
            requests=tuple(self.emulator.requests),
        )

    def files(self) -> dict[str, bytes]:
        """Give what is reviewed, as it is now."""
        return files_of(self.root)

    def state(self) -> dict[str, Mapping[str, Any]]:
        """Give the state of re-checking, by fact."""
        path = self.root / ".gen" / "state.json"
        return dict(json.loads(path.read_text(encoding="utf-8"))["facts"]) if path.exists() else {}


def files_of(root: Path) -> dict[str, bytes]:
    """Give the files of a project that are committed and reviewed, by path."""
    every = (path for folder in ("recipes", "site") for path in (root / folder).rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in every}


def _facts(lock: bytes | None) -> dict[str, Mapping[str, Any]]:
    return dict(json.loads(lock)["facts"]) if lock else {}


def _moved(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {key: (before.get(key), after.get(key)) for key in {*before, *after} if before.get(key) != after.get(key)}
