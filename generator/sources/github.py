"""GitHub: threads of a tracker, releases, tags, counts of searches, and files at a tag.

`GITHUB_API_URL` selects the server, `GITHUB_TOKEN` says who asks. With a token, threads are asked for a hundred at a time in one
GraphQL question; without one, each by a conditional REST request, which an unchanged thread answers without its content.
What GraphQL does not find is asked for once more by REST, which alone tells a transfer and a deletion from what never was.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from time import time
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from generator.sources.budgets import moment, stated
from generator.sources.errors import (
    BadAnswer,
    InvalidAddress,
    SourceDenied,
    SourceError,
    SourceLimited,
    SourceMoved,
    SourceNotFound,
    SourceUnreachable,
)
from generator.sources.session import Reply, Session

DEFAULT_API = "https://api.github.com"

BATCH = 100
"""Threads that one GraphQL question asks for."""

MOST_PAGES = 20

Ref = tuple[str, int]
"""A thread's repository (`owner/name`) and number."""

_ACCEPT = "application/vnd.github+json"
_RAW = "application/vnd.github.raw+json"
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)
_BUILD = re.compile(r"b(?P<number>\d{1,9})", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_COMMON = "number title url createdAt updatedAt closedAt comments { totalCount } labels(first: 100) { nodes { name } }"
_FRAGMENTS = f"""fragment issue on Issue {{ {_COMMON} issueState: state stateReason(enableDuplicate: true) }}
fragment pull on PullRequest {{ {_COMMON} pullState: state }}"""


@dataclass(frozen=True, slots=True)
class Thread:
    """An issue or a pull request, as its tracker has it now.

    `state` is open, closed or merged; `reason` why an issue was closed (completed, not_planned, duplicate) or open (reopened).
    `comments` does not count reviews. `url` is its web page.
    """

    repository: str
    number: int
    kind: str
    title: str
    state: str
    reason: str | None
    labels: tuple[str, ...]
    comments: int
    opened: date
    updated: date
    closed: date | None
    url: str


class GitHub:
    """A server of GitHub's API, asked through a session. `token` is that of the environment where it is not given."""

    def __init__(self, session: Session, token: str | None = None) -> None:
        self._session = session
        self._api = (os.environ.get("GITHUB_API_URL") or DEFAULT_API).rstrip("/")
        # GitHub Enterprise keeps GraphQL beside the REST API, not below it.
        self._graphql = f"{self._api.removesuffix('/v3')}/graphql"
        token = os.environ.get("GITHUB_TOKEN", "") if token is None else token
        self._batched = bool(token)
        for address in (self._api, self._graphql):
            session.authorize(address, token)

    def threads(self, asked: Iterable[Ref]) -> dict[Ref, Thread | SourceError]:
        """Give each thread as it is now, or why that is not known; once the server allows no more, the rest is not asked for."""
        wanted = list(dict.fromkeys(asked))
        size = BATCH if self._batched else 1
        found: dict[Ref, Thread | SourceError] = {}
        limited: SourceLimited | None = None
        for start in range(0, len(wanted), size):
            batch = wanted[start : start + size]
            if limited is None:
                found |= self._batch(batch) if self._batched else {batch[0]: self._thread_or_error(batch[0])}
                errors = [error for ref in batch if isinstance(error := found[ref], SourceLimited)]
                limited = errors[0] if len(errors) == len(batch) else None
            else:
                found |= dict.fromkeys(batch, limited)
        return found

    def newest_build(self, repository: str) -> tuple[str, date]:
        """Give the tag and day of the newest build: the highest of the first page of releases that has any, pre-releases too."""
        url = self._url(repository, "releases?per_page=30")
        for reply in self._pages(url):
            with _understood(url):
                builds = [
                    (int(build["number"]), release["tag_name"], _day(release["published_at"]))
                    for release in reply.json()
                    if not release["draft"] and (build := _BUILD.fullmatch(release["tag_name"]))
                ]
            if builds:
                _, tag, published = max(builds)
                return tag, published
        raise BadAnswer("none of its releases is a build", url=url)

    def latest_release(self, repository: str) -> str:
        """Give the tag of what the repository calls its latest release: never a pre-release, so not the newest build."""
        url = self._url(repository, "releases/latest")
        with _understood(url):
            return _text(self._get(url).json()["tag_name"])

    def commit_of(self, repository: str, tag: str) -> str:
        """Give the commit that a tag names, directly or by a tag object."""
        url = self._url(repository, f"git/ref/tags/{quote(tag)}")
        with _understood(url):
            target = self._get(url).json()["object"]
            if target["type"] == "tag":
                target = self._get(self._url(repository, f"git/tags/{quote(target['sha'])}")).json()["object"]
            if target["type"] != "commit" or not _COMMIT.fullmatch(target["sha"]):
                raise BadAnswer("the tag names no commit", url=url)
            return str(target["sha"])

    def count(self, query: str) -> int:
        """Count the issues and pull requests that a search finds."""
        url = f"{self._api}/search/issues?{urlencode({'q': query, 'per_page': 1})}"
        with _understood(url):
            found = self._get(url, "search").json()
            if found["incomplete_results"]:
                raise SourceUnreachable("the search did not finish", url=url)
            return _whole(found["total_count"])

    def file(self, repository: str, ref: str, path: str) -> str:
        """Give a file's text at a tag, branch or commit; at a build's tag or a commit it is asked for once and then kept."""
        url = self._url(repository, f"contents/{quote(path)}?{urlencode({'ref': ref})}")
        pinned = bool(_BUILD.fullmatch(ref) or _COMMIT.fullmatch(ref))
        reply = self._session.get(url, accept=_RAW, budget="core", immutable=pinned)
        if reply.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
            raise BadAnswer("it sends the list of a folder, not a file", url=url)
        return reply.body.decode("utf-8", errors="replace")

    def _url(self, repository: str, rest: str) -> str:
        if not _is_name(repository):
            raise InvalidAddress(f"{self._api}/repos/{quote(repository)}")
        return f"{self._api}/repos/{repository}/{rest}"

    def _get(self, url: str, budget: str = "core") -> Reply:
        return self._session.get(url, accept=_ACCEPT, budget=budget, headers={"X-GitHub-Api-Version": "2022-11-28"})

    def _pages(self, url: str) -> Iterator[Reply]:
        """Yield the pages of a list, by the links from one to the next."""
        from requests.utils import parse_header_links

        for _ in range(MOST_PAGES):
            reply = self._get(url)
            yield reply
            links = {link.get("rel"): link.get("url") for link in parse_header_links(reply.headers.get("link", ""))}
            if not links.get("next"):
                return
            url = urljoin(url, links["next"])

    def _thread_or_error(self, ref: Ref) -> Thread | SourceError:
        try:
            return self._thread(*ref)
        except SourceError as error:
            return error

    def _thread(self, repository: str, number: int) -> Thread:
        """Ask for one thread by REST. Raises a SourceError, SourceMoved where it is in another repository or has another number now."""
        url = self._url(repository, f"issues/{number:d}")
        reply = self._get(url)
        with _understood(url):
            thread = _of_rest(reply.json())
        if not _same(thread, (repository, number)):
            raise SourceMoved(thread.url, url=url, repository=thread.repository, number=thread.number)
        return thread

    def _batch(self, batch: Sequence[Ref]) -> dict[Ref, Thread | SourceError]:
        """Ask for up to a hundred threads at once; what concerns all of them is the error of each."""
        valid = [ref for ref in batch if _is_name(ref[0])]
        found: dict[Ref, Thread | SourceError] = {ref: self._thread_or_error(ref) for ref in batch if not _is_name(ref[0])}
        if not valid:
            return found
        try:
            reply = self._session.post_json(self._graphql, {"query": _query(valid)}, budget="graphql", cost=_cost(valid))
            with _understood(self._graphql):
                answer = reply.json()
                problems = _problems(answer.get("errors") or [])
                if answer.get("data") is None:
                    raise _problem(problems.get((), "MALFORMED"), self._graphql, reply.headers)
                for ref, alias in _aliases(valid).items():
                    found[ref] = self._part(ref, alias, answer["data"], problems, reply.headers)
        except SourceError as error:
            found |= {ref: error for ref in valid if ref not in found}
        return found

    def _part(
        self, ref: Ref, alias: tuple[str, str], data: Mapping[str, Any], problems: Mapping[tuple[str, ...], str], headers: Mapping[str, str]
    ) -> Thread | SourceError:
        """Read the part of a GraphQL answer that is about one thread."""
        url = self._url(ref[0], f"issues/{ref[1]:d}")
        repository, name = alias
        held = data.get(repository) or {}
        if held.get(name) is not None:
            try:
                with _understood(url):
                    thread = _of_graphql(held[name], held["nameWithOwner"])
            except BadAnswer as error:
                return error
            if _same(thread, ref):
                return thread
            return SourceMoved(thread.url, url=url, repository=thread.repository, number=thread.number)
        if problems.get(alias) == "NOT_FOUND":
            return self._thread_or_error(ref)
        return _problem(problems.get(alias) or problems.get((repository,)) or problems.get((), "MISSING"), url, headers)


def _is_name(repository: str) -> bool:
    return bool(_REPOSITORY.fullmatch(repository)) and not repository.endswith(("/.", "/.."))


def _aliases(batch: Iterable[Ref]) -> dict[Ref, tuple[str, str]]:
    """Give each thread its place in the answer: the alias of its repository, and its own."""
    repositories: dict[str, str] = {}
    return {(name, number): (repositories.setdefault(name, f"r{len(repositories)}"), f"t{number:d}") for name, number in batch}


def _query(batch: Iterable[Ref]) -> str:
    """Write the GraphQL question for threads of repositories whose names have been checked."""
    parts: dict[str, list[str]] = {}
    for (name, number), (repository, thread) in _aliases(batch).items():
        owner, _, short = name.partition("/")
        opened = f"{repository}: repository(owner: {json.dumps(owner)}, name: {json.dumps(short)})"
        parts.setdefault(opened, []).append(f"    {thread}: issueOrPullRequest(number: {number:d}) {{ __typename ...issue ...pull }}")
    asked = [f"  {opened} {{\n    nameWithOwner\n" + "\n".join(threads) + "\n  }" for opened, threads in parts.items()]
    return "query {\n" + "\n".join(asked) + "\n}\n" + _FRAGMENTS


def _cost(batch: Sequence[Ref]) -> int:
    """Give the points that GitHub may take for a question: one for a hundred lists asked for, two of an issue and two of a pull request."""
    return -(-4 * len(batch) // 100)


def _problems(errors: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], str]:
    """Give the type of each error by the path it is about, which may be deeper than a thread; () is the whole question."""
    return {tuple(str(step) for step in (error.get("path") or ())[:2]): str(error.get("type") or "UNKNOWN") for error in errors}


def _problem(kind: str, url: str, headers: Mapping[str, str]) -> SourceError:
    """Give the error for a type of GraphQL error."""
    if kind in {"RATE_LIMITED", "RATE_LIMIT"}:
        left = stated(headers, time())
        return SourceLimited(moment(left[1]) if left else None, url=url)
    if kind == "NOT_FOUND":
        return SourceNotFound(url=url)
    if kind in {"FORBIDDEN", "INSUFFICIENT_SCOPES"}:
        return SourceDenied(403, url=url)
    if kind in {"MALFORMED", "MISSING"}:
        return BadAnswer("it leaves out what it was asked for", url=url)
    return SourceUnreachable("the server could not answer this part of the question", url=url)


def _of_rest(row: Mapping[str, Any]) -> Thread:
    pull = row.get("pull_request")
    return Thread(
        repository="/".join(_text(row["repository_url"]).split("/")[-2:]),
        number=_whole(row["number"]),
        kind="issue" if pull is None else "pull_request",
        title=_text(row["title"]),
        state="merged" if pull and pull.get("merged_at") else _one_of(row["state"], "open", "closed"),
        reason=row.get("state_reason") if pull is None else None,
        labels=tuple(sorted(label if isinstance(label, str) else label["name"] for label in row["labels"])),
        comments=_whole(row["comments"]),
        opened=_day(row["created_at"]),
        updated=_day(row["updated_at"]),
        closed=_day(row["closed_at"]) if row.get("closed_at") else None,
        url=_text(row["html_url"]),
    )


def _of_graphql(part: Mapping[str, Any], repository: str) -> Thread:
    issue = part["__typename"] == "Issue"
    reason = part["stateReason"] if issue else None
    return Thread(
        repository=_text(repository),
        number=_whole(part["number"]),
        kind="issue" if issue else "pull_request",
        title=_text(part["title"]),
        state=_one_of(part["issueState" if issue else "pullState"].lower(), "open", "closed", "merged"),
        reason=reason.lower() if reason else None,
        labels=tuple(sorted(label["name"] for label in part["labels"]["nodes"])),
        comments=_whole(part["comments"]["totalCount"]),
        opened=_day(part["createdAt"]),
        updated=_day(part["updatedAt"]),
        closed=_day(part["closedAt"]) if part["closedAt"] else None,
        url=_text(part["url"]),
    )


def _same(thread: Thread, ref: Ref) -> bool:
    return (thread.repository.lower(), thread.number) == (ref[0].lower(), ref[1])


@contextmanager
def _understood(url: str) -> Iterator[None]:
    """Turn the errors of reading what is not there, or not what it should be, into a BadAnswer."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise BadAnswer("what it sends is not of the form that GitHub documents", url=url) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError
    return value


def _one_of(value: object, *known: str) -> str:
    if value not in known:
        raise ValueError
    return str(value)


def _day(value: str) -> date:
    return datetime.fromisoformat(value).date()
