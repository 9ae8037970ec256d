"""`kill -9` at any point of a night: whole files, no date without its answer, and the next run finishes the work and tells the drift.

Half of the kills come at a moment of chance, half with the writing of a file. GEN_KILLS says how many there are: each takes seconds.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from generator.catalog import Catalog
from generator.claims.questions import questions
from generator.claims.state import State
from generator.facts import Fact, Lock
from tests.emulator import Emulator
from tests.night.conftest import FIRST, Settled
from tests.night.test_week import FILE, NEW_SIZE
from tests.night.world import HUB, LEDGER, PAGE, TRACKER, files_of

KILLS = int(os.environ.get("GEN_KILLS", "25"))
ROOT = Path(__file__).resolve().parents[2]
NIGHT = FIRST + timedelta(days=1)
DRIFT = {"issue.llama.cpp.26609.state", "issue.llama.cpp.27756.state", "issue.llama.cpp.27872.labels", "file.q4_k_m.size"}


class Runner:
    """Runs commands in processes that can be killed."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        self._emulator = emulator
        self._folder = folder
        environment = {**os.environ, **emulator.environment(), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "tests.night.forked"]
        self._server = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def run(self, root: Path, *words: str, after: float | None = None, write: tuple[int, str] | None = None) -> int:
        """Run a command on a project; kill it after some seconds, or with a write. Give its exit status, negative for a kill."""
        self._emulator.budgets.refill()
        places = {"huggingface.co": self._emulator.hub_endpoint, "api.github.com": self._emulator.github_api}
        places[""] = self._emulator.web("https://").rstrip("/")
        asked = {"words": words, "root": str(root), "log": str(self.log), "kill": write, "places": places}
        assert self._server.stdin
        self._server.stdin.write(json.dumps(asked) + "\n")
        pid = self._answer()
        if after is not None:
            time.sleep(after)
            with suppress(ProcessLookupError):  # it may have been faster
                os.kill(pid, signal.SIGKILL)
        return self._answer()

    @property
    def log(self) -> Path:
        """Where the last command printed."""
        return self._folder / "log"

    def _answer(self) -> int:
        assert self._server.stdout
        return int(self._server.stdout.readline())

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin
        self._server.stdin.close()
        self._server.wait(timeout=30)
        if self._server.stdout:
            self._server.stdout.close()


@dataclass(frozen=True)
class Reference:
    """What a night comes to that nobody kills: its files before and after, its facts, its seconds and how many files it writes."""

    evening: Path
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    facts: Mapping[str, Fact]
    seconds: float
    writes: int


@pytest.fixture(scope="module")
def runner(settled: Settled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    settled.emulator.scenario = scenario = settled.scenario.copy()
    settled.clock.go_to(NIGHT)
    threads = scenario.trackers[TRACKER].threads
    threads[26609].close(NIGHT)
    threads[27756].deleted = True
    threads[27872].label("stale", NIGHT)
    repository = scenario.repositories[HUB]
    repository.commit({FILE: replace(repository.files[FILE], size=NEW_SIZE, sha256="")}, NIGHT)
    running = Runner(settled.emulator, tmp_path_factory.mktemp("runner"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def reference(settled: Settled, runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    root = copied(settled.root, tmp_path_factory.mktemp("reference"))
    started = time.monotonic()
    assert runner.run(root, *nightly(root)) == 3, runner.log.read_text()
    seconds = time.monotonic() - started
    writes = int(Path(f"{runner.log}.writes").read_text())
    return Reference(settled.root, files_of(settled.root), files_of(root), known(root), seconds, writes)


def copied(root: Path, folder: Path) -> Path:
    shutil.copytree(root, folder / "root")
    return folder / "root"


def nightly(root: Path) -> list[str]:
    return ["nightly", "--now", moment(), "--report", str(root.parent / "report.md"), "--site-url", "https://guides.example/"]


def moment() -> str:
    return NIGHT.strftime("%Y-%m-%dT%H:%M")


def known(root: Path) -> dict[str, Fact]:
    """Give every fact that is asked, as the project has it now."""
    catalog = Catalog.open(root)
    return {question.key: question.fact for question in questions(catalog, catalog.recipes())}


def said(fact: Fact) -> object:
    return (list(fact.value) if isinstance(fact.value, tuple) else fact.value), fact.status


def assert_whole(root: Path, reference: Reference) -> None:
    """Every file is what it was in the evening or what a whole night makes of it, and can be read."""
    for path, content in finished(root).items():
        assert content in {reference.before.get(path), reference.after.get(path)}, path
    for file in (file for file in root.rglob("*.json") if not is_unfinished(file)):
        json.loads(file.read_text(encoding="utf-8"))
        if file.name.endswith(".lock.json"):
            Lock.read(file)
    ET.parse(root / "site" / "changes.atom")
    Catalog.open(root).check()


def assert_dates_are_earned(root: Path, reference: Reference) -> None:
    """A date of this night stands only beside what the source says this night."""
    state = State.read(root / ".gen" / "state.json")
    for key, fact in known(root).items():
        if NIGHT.date() in {state.answered_on(fact), fact.checked}:
            assert said(fact) == said(reference.facts[key]), key


def finished(root: Path) -> dict[str, bytes]:
    return {path: content for path, content in files_of(root).items() if not is_unfinished(Path(path))}


def is_unfinished(path: Path) -> bool:
    """Tell whether a file is one that was being written: nobody looks for it."""
    return path.name.startswith(".")


def told(report: Path) -> set[str]:
    """Give what a report tells, if it was made."""
    return {row["subject"] for row in json.loads(report.read_text(encoding="utf-8"))["drifts"]} if report.exists() else set()


def deaths(reference: Reference) -> list[tuple[int, str]]:
    """Give every way to die with a write, in an order of chance that is always the same."""
    every = [(number, when) for number in range(1, reference.writes + 1) for when in ("before", "after")]
    random.Random(0).shuffle(every)
    return every


@pytest.mark.parametrize("number", range(KILLS))
def test_a_night_that_was_killed_is_finished_by_the_next_run(number: int, runner: Runner, reference: Reference, tmp_path: Path) -> None:
    root = copied(reference.evening, tmp_path)
    words = ["check", "--json", "--now", moment()] if number % 5 == 4 else nightly(root)
    if number % 2:
        status = runner.run(root, *words, after=random.Random(number).uniform(0, reference.seconds))
    else:
        every = deaths(reference)
        status = runner.run(root, *words, write=every[number // 2 % len(every)])
    assert status in {-signal.SIGKILL, 3}
    assert_whole(root, reference)
    assert_dates_are_earned(root, reference)
    before = told(tmp_path / "report.json") if words[0] == "nightly" else set()
    age(root)

    status = runner.run(root, *nightly(root))
    after = told(tmp_path / "report.json")
    assert before | after >= DRIFT
    assert status == (3 if after else 0), runner.log.read_text()
    assert files_of(root) == reference.after  # what was being written is swept away, too
    assert not (root / ".gen" / "pending.json").exists()


def age(root: Path) -> None:
    """Let two hours pass for what the killed run left half written."""
    for path in root.rglob(".*"):
        if path.is_file():
            os.utime(path, (time.time() - 7200,) * 2)


@pytest.mark.parametrize("number", range(max(KILLS // 5, 4)))
def test_a_build_that_was_killed_is_finished_by_the_next_one(number: int, runner: Runner, reference: Reference, tmp_path: Path) -> None:
    root = copied(reference.evening, tmp_path)
    for path in (path for path in reference.after if path.endswith(".lock.json")):
        (root / path).write_bytes(reference.after[path])
    if number % 2:
        status = runner.run(root, "build", "--all", after=random.Random(number).uniform(0, reference.seconds))
    else:
        status = runner.run(root, "build", "--all", write=(number // 4 % 2 + 1, ("before", "after")[number // 2 % 2]))
    assert status in {-signal.SIGKILL, 0}
    for path in (PAGE, LEDGER):
        assert (root / path).read_bytes() in {reference.before[path], reference.after[path]}
    assert runner.run(root, "build", "--all") == 0
    assert {path: (root / path).read_bytes() for path in (PAGE, LEDGER)} == {path: reference.after[path] for path in (PAGE, LEDGER)}


def test_two_runs_at_once_leave_what_one_leaves(settled: Settled, runner: Runner, reference: Reference, tmp_path: Path) -> None:
    root = copied(reference.evening, tmp_path)
    other = Runner(settled.emulator, tmp_path)
    with ThreadPoolExecutor(2) as executor:
        runs = [executor.submit(each.run, root, *nightly(root)) for each in (runner, other)]
        codes = [run.result() for run in runs]
    other.close()
    assert set(codes) <= {0, 3}
    assert 3 in codes
    assert_whole(root, reference)
    assert_dates_are_earned(root, reference)
    assert runner.run(root, *nightly(root)) in {0, 3}
    assert finished(root) == reference.after


def test_the_night_of_the_kills_has_drift_in_two_locks_and_writes_in_every_step(reference: Reference) -> None:
    """Otherwise none of the above would say much."""
    changed = {path for path in reference.after if reference.before.get(path) != reference.after[path]}
    assert {path.rpartition("/")[2] for path in changed} == {
        "threads.lock.json", "model.lock.json", "rtx-5070.md", "guide.json", "changes.json", "changes.md", "changes.atom"
    }  # fmt: skip
    # the state at least thrice, what is pending twice, seven files above, the report twice
    assert reference.writes >= 3 + 2 + 7 + 2
