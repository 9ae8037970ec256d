"""Whatever a tracker does to the threads of a recipe, to all of them at once: the page can be built, and says so of each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from generator.catalog import Catalog
from generator.specs import Issue
from tests.emulator import Thread
from tests.night.conftest import FIRST
from tests.night.test_report import HOSTILE
from tests.night.world import TRACKER, World

NIGHT = FIRST + timedelta(days=1)


def reopen(_world: World, thread: Thread, now: datetime) -> None:
    thread.reopen(now)


def close(_world: World, thread: Thread, now: datetime) -> None:
    thread.close(now, "duplicate")


def merge(_world: World, thread: Thread, now: datetime) -> None:
    thread.kind = "pull_request"
    thread.merge(now)


def delete(_world: World, thread: Thread, _now: datetime) -> None:
    thread.deleted = True


def transfer(world: World, thread: Thread, now: datetime) -> None:
    world.scenario.transfer((TRACKER, thread.number), ("ggml-org/ggml", 100_000 + thread.number), now)


def retitle(_world: World, thread: Thread, _now: datetime) -> None:
    thread.title = HOSTILE[thread.number % len(HOSTILE)] + f" {thread.number} times 12 GiB"


def discuss(_world: World, thread: Thread, now: datetime) -> None:
    for _ in range(1234):
        thread.comment(now)
    thread.label("need feedback", now)


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (reopen, "open"),
        (close, "closed"),
        (merge, "merged"),
        (delete, "gone from the tracker"),
        (transfer, "moved to `ggml-org/ggml#1{number:05d}`"),
        (retitle, ""),
        (discuss, ""),
    ],
)
def test_the_page_is_built_whatever_happens(world: World, happens: Callable[[World, Thread, datetime], None], words: str) -> None:
    for thread in list(world.scenario.trackers[TRACKER].threads.values()):
        happens(world, thread, NIGHT)
    morning = world.night(NIGHT)
    assert morning.report["failed"] == []
    assert morning.code == 3
    catalog = Catalog.open(world.root)
    issues = [catalog.issue(ref) for ref in catalog.threads("llama.cpp")]
    named = [issue for issue in issues if f"[#{issue.number}](" in morning.page]  # some only where another one is closed
    assert len(named) > 20
    for issue in named:
        assert words.format(number=issue.number) in said_of(morning.page, issue)


def said_of(page: str, issue: Issue) -> str:
    """Give what stands on the page between a thread and the day on which it was checked, where it is first named."""
    after = page.partition(f"[#{issue.number}](")[2]
    return after.partition("checked [")[0]
