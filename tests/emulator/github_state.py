"""What the emulated GitHub holds: threads, releases, tags with the source at them, and searches."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha1

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def object_id(*parts: object) -> str:
    """Give a git object id that stands for these parts."""
    return sha1("\n".join(map(str, parts)).encode(), usedforsecurity=False).hexdigest()


def number_of(*parts: object) -> int:
    """Give a database id that stands for these parts."""
    return int(object_id(*parts)[:8], 16)


@dataclass
class Thread:
    """An issue, pull request or discussion. `reason` is why an issue was closed, `moved_to` where it was transferred."""

    number: int
    title: str = ""
    kind: str = "issue"
    state: str = "open"
    reason: str | None = None
    labels: list[str] = field(default_factory=list)
    comments: int = 0
    opened: datetime = EPOCH
    updated: datetime = EPOCH
    closed: datetime | None = None
    author: str = "reporter"
    body: str = ""
    moved_to: tuple[str, int] | None = None
    deleted: bool = False

    def close(self, when: datetime, reason: str | None = "completed") -> None:
        """Close the thread: an issue for a reason (completed, not_planned, duplicate), a pull request without merging."""
        self.state, self.closed, self.updated = "closed", when, when
        self.reason = reason if self.kind == "issue" else None

    def merge(self, when: datetime) -> None:
        """Merge the pull request."""
        assert self.kind == "pull_request"
        self.state, self.closed, self.updated = "merged", when, when

    def reopen(self, when: datetime) -> None:
        """Open the thread again."""
        self.state, self.closed, self.updated = "open", None, when
        self.reason = "reopened" if self.kind == "issue" else None

    def label(self, name: str, when: datetime) -> None:
        """Add a label."""
        self.labels.append(name)
        self.updated = when

    def comment(self, when: datetime) -> None:
        """Add a comment."""
        self.comments += 1
        self.updated = when


@dataclass
class Release:
    """A release. GitHub's `latest` is the newest that is no prerelease."""

    tag: str
    published: datetime
    prerelease: bool = True
    name: str = ""
    body: str = ""


@dataclass
class Tag:
    """A tag: the commit it names, and the files at it. An annotated tag is an object of its own that names the commit."""

    name: str
    date: datetime = EPOCH
    files: dict[str, bytes] = field(default_factory=dict)
    annotated: bool = False
    message: str = ""
    commit: str = ""

    def __post_init__(self) -> None:
        self.commit = self.commit or object_id("commit", self.name, self.date)

    @property
    def object(self) -> str:
        """The id of the tag object of an annotated tag."""
        return object_id("tag", self.name, self.date, self.message)


@dataclass
class Tracker:
    """A GitHub repository. The newest tag is the head of its one branch.

    `searches` gives how many threads a search finds, by the words of the query without its qualifiers; other searches count the
    threads that are held.
    """

    name: str
    threads: dict[int, Thread] = field(default_factory=dict)
    releases: list[Release] = field(default_factory=list)
    tags: dict[str, Tag] = field(default_factory=dict)
    searches: dict[str, int] = field(default_factory=dict)
    branch: str = "master"
    created: datetime = EPOCH
    deleted: bool = False
    id: int = 0

    def __post_init__(self) -> None:
        self.id = self.id or number_of("repository", self.name)

    def thread(self, number: int, title: str = "", **fields: object) -> Thread:
        """Add a thread, and give it."""
        self.threads[number] = Thread(number, title, **fields)  # type: ignore[arg-type]
        return self.threads[number]

    def release(self, tag: str, published: datetime, *, prerelease: bool = True, files: dict[str, bytes] | None = None) -> Release:
        """Publish a release at a new tag, and give it."""
        release = Release(tag, published, prerelease)
        self.releases.append(release)
        self.tags.setdefault(tag, Tag(tag, published, files or {}))
        return release

    def at(self, ref: str) -> Tag | None:
        """Give the commit behind a tag, the branch, or a commit's id of seven digits or more; None where there is none."""
        if ref in {self.branch, "HEAD"}:
            return max(self.tags.values(), key=lambda tag: tag.date, default=None)
        plain = ref.removeprefix("refs/").removeprefix("tags/")
        if plain in self.tags:
            return self.tags[plain]
        return next((tag for tag in self.tags.values() if len(ref) >= 7 and tag.commit.startswith(ref)), None)
