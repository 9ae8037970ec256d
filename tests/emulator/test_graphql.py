"""GitHub's GraphQL: batches of threads, partial errors, what its schema refuses, and what a query costs."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from generator.sources.errors import SourceMoved, SourceNotFound
from generator.sources.github import GitHub, Thread
from generator.sources.session import Session
from tests.emulator import GITHUB_TOKEN, Clock, Emulator, Limit, Scenario, Tracker, day

NAME = "ggml-org/llama.cpp"
THREAD = """{
  __typename
  ... on Issue { number title state stateReason(enableDuplicate: true) labels(first: 10) { nodes { name } } comments { totalCount } url }
  ... on PullRequest { number title state merged mergedAt isDraft }
}"""


@pytest.fixture
def tracker(scenario: Scenario) -> Tracker:
    tracker = scenario.tracker(NAME)
    tracker.thread(7, "A crash", labels=["bug", "stale"], comments=3, opened=day("2026-08-05"))
    tracker.thread(8, "A fix", kind="pull_request")
    tracker.thread(9, "A question", kind="discussion")
    return tracker


class Asker:
    """Asks GraphQL questions with a token."""

    def __init__(self, emulator: Emulator, session: requests.Session) -> None:
        self._url = f"{emulator.github_api}/graphql"
        self._session = session

    def __call__(self, query: str, **variables: object) -> Any:
        response = self._session.post(self._url, json={"query": query, "variables": variables})
        assert response.status_code == 200
        return response.json()

    def thread(self, number: int, wanted: str = THREAD) -> Any:
        return self(f'{{ repository(owner: "ggml-org", name: "llama.cpp") {{ issueOrPullRequest(number: {number}) {wanted} }} }}')


@pytest.fixture
def ask(emulator: Emulator, known: requests.Session, tracker: Tracker) -> Asker:
    assert tracker.threads
    return Asker(emulator, known)


def test_issues_and_pull_requests_are_told_by_their_types(ask: Asker, tracker: Tracker) -> None:
    tracker.threads[8].merge(day("2026-09-01"))
    issue, pull = (ask.thread(number)["data"]["repository"]["issueOrPullRequest"] for number in (7, 8))
    assert issue == {
        "__typename": "Issue",
        "number": 7,
        "title": "A crash",
        "state": "OPEN",
        "stateReason": None,
        "labels": {"nodes": [{"name": "bug"}, {"name": "stale"}]},
        "comments": {"totalCount": 3},
        "url": "https://github.com/ggml-org/llama.cpp/issues/7",
    }
    assert pull == {
        "__typename": "PullRequest",
        "number": 8,
        "title": "A fix",
        "state": "MERGED",
        "merged": True,
        "mergedAt": "2026-09-01T00:00:00Z",
        "isDraft": False,
    }


def test_duplicates_are_told_apart_only_for_who_asks(ask: Asker, tracker: Tracker) -> None:
    tracker.threads[7].close(day("2026-09-01"), "duplicate")
    told = ask.thread(7, "{ ... on Issue { plain: stateReason apart: stateReason(enableDuplicate: true) closedAt } }")
    assert told["data"]["repository"]["issueOrPullRequest"] == {
        "plain": "NOT_PLANNED",
        "apart": "DUPLICATE",
        "closedAt": "2026-09-01T00:00:00Z",
    }


def test_what_is_missing_is_null_with_an_error_beside_the_rest(ask: Asker, scenario: Scenario, tracker: Tracker) -> None:
    """A transferred issue and a deleted one are not told from one that never was."""
    tracker.thread(11, "Moved").moved_to = ("ggml-org/ggml", 1)
    tracker.thread(12, "Deleted", deleted=True)
    assert scenario.trackers
    numbers = (7, 9, 11, 12, 999)
    parts = " ".join(f"t{number}: issueOrPullRequest(number: {number}) {{ __typename }}" for number in numbers)
    answer = ask(
        f'{{ a: repository(owner: "ggml-org", name: "llama.cpp") {{ {parts} }} b: repository(owner: "no", name: "thing") {{ id }} }}'
    )
    missing = dict.fromkeys(("t9", "t11", "t12", "t999"))
    assert answer["data"] == {"a": {"t7": {"__typename": "Issue"}, **missing}, "b": None}
    assert [(error["type"], error["path"]) for error in answer["errors"]] == [
        ("NOT_FOUND", ["a", "t9"]),
        ("NOT_FOUND", ["a", "t11"]),
        ("NOT_FOUND", ["a", "t12"]),
        ("NOT_FOUND", ["a", "t999"]),
        ("NOT_FOUND", ["b"]),
    ]
    assert answer["errors"][3]["message"] == "Could not resolve to an issue or pull request with the number of 999."
    assert answer["errors"][4]["message"] == "Could not resolve to a Repository with the name 'no/thing'."


def test_a_renamed_repository_is_followed(ask: Asker, scenario: Scenario) -> None:
    scenario.rename_tracker(NAME, "ggml/llama.cpp")
    answer = ask.thread(7, "{ ... on Issue { repository { nameWithOwner } } }")
    assert answer["data"]["repository"]["issueOrPullRequest"]["repository"]["nameWithOwner"] == "ggml/llama.cpp"


def test_variables_named_fragments_and_comments_are_understood(ask: Asker) -> None:
    query = """
    query Threads($owner: String!, $name: String = "llama.cpp", $first: Int!) {  # a comment, with { braces }
      repository(owner: $owner, name: $name) {
        issue(number: 7) { ...told, labels(first: $first) { nodes { name } totalCount } }
        issueOrPullRequest(number: 8) { ...either }
      }
    }
    fragment told on Issue { number }
    fragment either on IssueOrPullRequest { __typename ... on PullRequest { title } }
    """
    answer = ask(query, owner="ggml-org", first=1)
    assert answer["data"]["repository"] == {
        "issue": {"number": 7, "labels": {"nodes": [{"name": "bug"}], "totalCount": 2}},
        "issueOrPullRequest": {"__typename": "PullRequest", "title": "A fix"},
    }


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        ("{ ... on Issue { merged } }", "undefinedField", "Field 'merged' doesn't exist on type 'Issue'"),
        ("{ ... on PullRequest { stateReason } }", "undefinedField", "Field 'stateReason' doesn't exist on type 'PullRequest'"),
        ("{ number }", "selectionMismatch", "Selections can't be made directly on unions (see selections on IssueOrPullRequest)"),
        ("{ ... on Issue { author } }", "selectionMismatch", "Field must have selections (field 'author' returns Actor"),
        ("{ ... on Issue { title(first: 1) } }", "argumentNotAccepted", "Field 'title' doesn't accept argument 'first'"),
        ("{ ...nothing }", "useAndDefineFragment", "Fragment nothing was used, but not defined"),
    ],
)
def test_what_the_schema_does_not_have_is_refused_as_a_whole(ask: Asker, wanted: str, code: str, message: str) -> None:
    answer = ask.thread(7, wanted)
    assert "data" not in answer
    assert answer["errors"][0]["extensions"]["code"] == code
    assert answer["errors"][0]["message"].startswith(message)


@pytest.mark.parametrize(
    ("wanted", "kind"),
    [
        ("{ ... on Issue { labels { nodes { name } } } }", "MISSING_PAGINATION_BOUNDARIES"),
        ("{ ... on Issue { labels(first: 101) { nodes { name } } } }", "EXCESSIVE_PAGINATION"),
    ],
)
def test_a_connection_is_asked_for_in_pages_of_at_most_a_hundred(ask: Asker, wanted: str, kind: str) -> None:
    assert ask.thread(7, wanted)["errors"][0]["type"] == kind


def test_a_query_that_cannot_be_read_is_told_where(ask: Asker) -> None:
    errors = ask("query {\n  repository(owner: }")["errors"]
    assert errors[0]["message"] == 'Parse error on "}" (RCURLY) at [2, 21]'
    assert errors[0]["locations"] == [{"line": 2, "column": 21}]


def test_a_query_costs_points_of_a_budget_of_its_own(ask: Asker, emulator: Emulator, clock: Clock) -> None:
    parts = " ".join(f"t{number}: issueOrPullRequest(number: 7) {THREAD}" for number in range(100))
    limits = "rateLimit { cost limit remaining used resetAt nodeCount }"
    answer = ask(f'{{ repository(owner: "ggml-org", name: "llama.cpp") {{ {parts} }} {limits} }}')
    assert answer["data"]["rateLimit"] == {
        "cost": 2,  # two connections of each of a hundred threads, a point for a hundred
        "limit": 5000,
        "remaining": 4998,
        "used": 2,
        "resetAt": "2026-09-22T04:00:00Z",
        "nodeCount": 1000,
    }
    emulator.budgets.leave("github.graphql", 0, token=GITHUB_TOKEN, now=clock())
    spent = ask("{ viewer { login } }")
    assert (spent["errors"][0]["type"], "data" in spent) == ("RATE_LIMIT", False)
    clock.sleep(3600)
    assert ask("{ viewer { login } }")["data"] == {"viewer": {"login": "octocat"}}


def test_graphql_wants_a_token(emulator: Emulator, anonymous: requests.Session) -> None:
    response = anonymous.post(f"{emulator.github_api}/graphql", json={"query": "{ viewer { login } }"})
    assert (response.status_code, response.json()["message"]) == (401, "This endpoint requires you to be authenticated.")


# --- asked by our own source ---------------------------------------------------------------------


@pytest.mark.parametrize("token", [GITHUB_TOKEN, ""])
def test_our_source_hears_the_same_in_batches_and_one_by_one(
    scenario: Scenario, emulator: Emulator, clock: Clock, monkeypatch: pytest.MonkeyPatch, tracker: Tracker, token: str
) -> None:
    tracker.threads[8].merge(day("2026-09-01"))
    tracker.thread(12, "Deleted", deleted=True)
    tracker.thread(13, "Moved")
    scenario.transfer((NAME, 13), ("ggml-org/ggml", 1), day("2026-09-02"))
    for number in range(100, 310):
        tracker.thread(number, f"Thread {number}", comments=number)
    monkeypatch.setenv("GITHUB_API_URL", emulator.github_api)
    emulator.budgets.limits["github.core"] = Limit(1000, 5000, 3600)
    refs = [(NAME, number) for number in (7, 8, 12, 13, *range(100, 310))]
    with Session(sleep=clock.sleep, clock=clock) as session:
        found = GitHub(session, token).threads(refs)
    threads = {number: thread for (_, number), thread in found.items() if isinstance(thread, Thread)}
    assert (threads[7].state, threads[7].labels, threads[7].comments) == ("open", ("bug", "stale"), 3)
    assert (threads[8].kind, threads[8].state) == ("pull_request", "merged")
    assert [threads[number].comments for number in range(100, 310)] == list(range(100, 310))
    deleted, moved = found[NAME, 12], found[NAME, 13]
    assert isinstance(deleted, SourceNotFound) and deleted.gone
    assert isinstance(moved, SourceMoved)
    assert len(emulator.asked("github", "/graphql")) == (3 if token else 0)
