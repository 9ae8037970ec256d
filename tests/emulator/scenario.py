"""A scenario: everything the emulated sites hold at one moment, and what goes wrong with them. Tests change it between nights."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.emulator.faults import Fault
from tests.emulator.github_state import Tracker
from tests.emulator.hub_state import Repository

HUB_TOKEN = "hf_" + "t" * 34
GITHUB_TOKEN = "ghp_" + "T" * 36


@dataclass
class Page:
    """A web page under its address. With a `location` it redirects there (`status` 301, 302, …)."""

    body: str | bytes = ""
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    location: str = ""
    modified: datetime | None = None

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        return self.body.encode() if isinstance(self.body, str) else self.body


@dataclass
class Scenario:
    """The state of the Hub, of GitHub and of web pages, by name or address; tokens that are accepted; faults, the first that meets wins.

    `moved_repositories` and `moved_trackers` give the new name of what was renamed or transferred.
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    trackers: dict[str, Tracker] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)
    moved_repositories: dict[str, str] = field(default_factory=dict)
    moved_trackers: dict[str, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    hub_tokens: set[str] = field(default_factory=lambda: {HUB_TOKEN})
    github_tokens: set[str] = field(default_factory=lambda: {GITHUB_TOKEN})

    def copy(self) -> Scenario:
        """Give a scenario of its own with the same state."""
        return deepcopy(self)

    def repository(self, name: str) -> Repository:
        """Give the repository of a name, a new one where there is none."""
        return self.repositories.setdefault(name, Repository(name))

    def tracker(self, name: str) -> Tracker:
        """Give the tracker of a name, a new one where there is none."""
        return self.trackers.setdefault(name, Tracker(name))

    def rename_repository(self, old: str, new: str) -> None:
        """Rename a repository on the Hub; its old name redirects."""
        self.repositories[new] = self.repositories.pop(old)
        self.repositories[new].name = new
        self.moved_repositories[old] = new

    def rename_tracker(self, old: str, new: str) -> None:
        """Rename a repository on GitHub; its old name redirects."""
        self.trackers[new] = self.trackers.pop(old)
        self.trackers[new].name = new
        self.moved_trackers[old] = new

    def transfer(self, source: tuple[str, int], target: tuple[str, int], when: datetime) -> None:
        """Transfer an issue to another repository, where it has another number; the old address redirects."""
        name, number = source
        thread = self.trackers[name].threads[number]
        moved = deepcopy(thread)
        moved.number, moved.updated = target[1], when
        self.tracker(target[0]).threads[target[1]] = moved
        thread.moved_to = target


def day(text: str) -> datetime:
    """Give a moment in UTC from `2026-08-31` or `2026-08-31T05:39:28Z`."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
