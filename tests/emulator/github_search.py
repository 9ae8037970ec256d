"""GitHub's search of issues and pull requests: qualifiers, words, pages."""

from __future__ import annotations

import re

from tests.emulator import github_json
from tests.emulator.github_state import Thread, Tracker
from tests.emulator.scenario import Scenario
from tests.emulator.wire import Answer, Request, json_answer, link

_UNKNOWN = (
    "The listed users and repositories cannot be searched either because the resources do not exist "
    "or you do not have permission to view them."
)
_PART = re.compile(r'(?:[a-z]+:)?"[^"]*"|\S+')


def search(scenario: Scenario, request: Request, api: str) -> Answer:
    """Answer `/search/issues`: the number of threads found, and one page of them."""
    words, qualifiers = _parsed(request.parameter("q"))
    names = qualifiers.get("repo", [])
    if not words and not qualifiers:
        return _refused({"resource": "Search", "field": "q", "code": "missing"})
    trackers = [scenario.trackers[name] for name in names if name in scenario.trackers and not scenario.trackers[name].deleted]
    if len(trackers) < len(names):
        return _refused({"message": _UNKNOWN, "resource": "Search", "field": "q", "code": "invalid"})
    text = " ".join(words).lower()
    found = [(tracker, thread) for tracker in trackers or scenario.trackers.values() for thread in _found(tracker, words, qualifiers)]
    stated = [tracker.searches[text] for tracker in trackers if text in tracker.searches]
    total = sum(stated) if stated else len(found)
    size, page = request.whole("per_page", 30, 100), request.whole("page", 1, 34)
    rows = [{**github_json.issue(api, *each), "score": 1.0} for each in found[(page - 1) * size : page * size]]
    headers = {"Link": link(f"{api}/search/issues", request, "next", page=page + 1)} if total > page * size else {}
    return json_answer(200, {"total_count": total, "incomplete_results": False, "items": rows}, {**headers, "Cache-Control": "no-cache"})


def _parsed(query: str) -> tuple[list[str], dict[str, list[str]]]:
    """Give the words of a query, phrases in one piece, and its qualifiers."""
    words: list[str] = []
    qualifiers: dict[str, list[str]] = {}
    for part in _PART.findall(query):
        name, colon, value = part.replace('"', "").partition(":")
        if colon and name in {"repo", "is", "type", "state", "label", "in", "author"}:
            qualifiers.setdefault(name, []).append(value)
        else:
            words.append(part.replace('"', ""))
    return words, qualifiers


def _found(tracker: Tracker, words: list[str], qualifiers: dict[str, list[str]]) -> list[Thread]:
    return [thread for thread in tracker.threads.values() if _matches(thread, words, qualifiers)]


def _matches(thread: Thread, words: list[str], qualifiers: dict[str, list[str]]) -> bool:
    if thread.deleted or thread.moved_to or thread.kind == "discussion":
        return False
    text = f"{thread.title}\n{'' if 'title' in qualifiers.get('in', []) else thread.body}".lower()
    kinds = {"issue", "open" if thread.state == "open" else "closed"}
    if thread.kind == "pull_request":
        kinds = {"pr", "pull-request", "merged" if thread.state == "merged" else "unmerged", *(kinds - {"issue"})}
    asked = [value for name in ("is", "type", "state") for value in qualifiers.get(name, [])]
    labels = set(qualifiers.get("label", []))
    return set(asked) <= kinds and labels <= set(thread.labels) and all(word.lower() in text for word in words)


def _refused(error: dict[str, str]) -> Answer:
    page = "https://docs.github.com/v3/search/"
    return json_answer(422, {"message": "Validation Failed", "errors": [error], "documentation_url": page, "status": "422"})
