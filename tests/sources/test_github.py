"""GitHub, by the emulator: the same threads by GraphQL and by REST, and everything else that is asked of it."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime

import pytest

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
from generator.sources.github import GitHub, Thread
from generator.sources.session import ATTEMPTS, Session
from generator.sources.validators import Validators
from tests.emulator import GITHUB_TOKEN, Emulator, Fault, Tracker, day
from tests.sources.answers import answered
from tests.sources.nights import new_session
from tests.sources.server import Answer, Server

LLAMA = "ggml-org/llama.cpp"
OTHER = "ggml-org/ggml"
BOTH = pytest.mark.parametrize("token", [GITHUB_TOKEN, ""], ids=["graphql", "rest"])


@pytest.fixture
def tracker(emulator: Emulator) -> Tracker:
    """Give a tracker with a thread of each kind and state."""
    tracker = emulator.scenario.tracker(LLAMA)
    opened = {"opened": day("2026-08-05"), "updated": day("2026-08-19T23:59:59Z")}
    tracker.thread(26609, 'CUDA illegal memory access — "deterministic" \\ {}', labels=["bug", "Nvidia GPU"], comments=4, **opened)
    tracker.thread(25060, "SOFT_MAX crash", **opened).close(day("2026-09-01"))
    tracker.thread(25061, "a wish", **opened).close(day("2026-09-01"), "not_planned")
    tracker.thread(25062, "again", **opened).close(day("2026-09-01"), "duplicate")
    tracker.thread(25063, "again open", **opened).reopen(day("2026-09-02"))
    tracker.thread(26605, "fit: fix", kind="pull_request", **opened).merge(day("2026-09-03"))
    tracker.thread(26606, "fit: other", kind="pull_request", **opened).close(day("2026-09-04"))
    tracker.thread(26607, "fit: more", kind="pull_request", labels=["ggml"], **opened)
    return tracker


def many(emulator: Emulator, count: int) -> list[tuple[str, int]]:
    """Fill a tracker with threads, and give what to ask for."""
    tracker = emulator.scenario.tracker(LLAMA)
    for number in range(1, count + 1):
        tracker.thread(number, f"thread {number}", comments=number, labels=[f"l{number % 3}"])
    return [(LLAMA, number) for number in range(1, count + 1)]


# --- threads -------------------------------------------------------------------------------------


@BOTH
def test_a_thread_is_told_as_it_is(tracker: Tracker, live: Session, token: str) -> None:
    asked = [(LLAMA, number) for number in tracker.threads]
    found = GitHub(live, token).threads([*asked, *asked])
    threads = {ref[1]: thread for ref, thread in found.items() if isinstance(thread, Thread)}
    assert threads[26609] == Thread(
        repository=LLAMA,
        number=26609,
        kind="issue",
        title='CUDA illegal memory access — "deterministic" \\ {}',
        state="open",
        reason=None,
        labels=("Nvidia GPU", "bug"),
        comments=4,
        opened=date(2026, 8, 5),
        updated=date(2026, 8, 19),
        closed=None,
        url=f"https://github.com/{LLAMA}/issues/26609",
    )
    assert {number: (thread.kind, thread.state, thread.reason, thread.closed) for number, thread in threads.items()} == {
        26609: ("issue", "open", None, None),
        25060: ("issue", "closed", "completed", date(2026, 9, 1)),
        25061: ("issue", "closed", "not_planned", date(2026, 9, 1)),
        25062: ("issue", "closed", "duplicate", date(2026, 9, 1)),
        25063: ("issue", "open", "reopened", None),
        26605: ("pull_request", "merged", None, date(2026, 9, 3)),
        26606: ("pull_request", "closed", None, date(2026, 9, 4)),
        26607: ("pull_request", "open", None, None),
    }
    assert threads[26607].url == f"https://github.com/{LLAMA}/pull/26607"


@BOTH
def test_what_is_elsewhere_or_gone_is_said_so_beside_what_is_there(emulator: Emulator, tracker: Tracker, live: Session, token: str) -> None:
    scenario = emulator.scenario
    scenario.tracker("someone/old").thread(3, "renamed with its tracker")
    scenario.rename_tracker("someone/old", "someone/new")
    scenario.transfer((LLAMA, 25060), (OTHER, 17), day("2026-09-07"))
    tracker.threads[25061].deleted = True
    tracker.thread(99, "talk", kind="discussion")
    asked = [(LLAMA, 26609), (LLAMA, 25060), (LLAMA, 25061), (LLAMA, 4), (LLAMA, 99), ("someone/old", 3), ("no/such", 1), ("not a name", 1)]
    found = GitHub(live, token).threads(asked)
    assert list(found) == asked or set(found) == set(asked)
    assert isinstance(found[LLAMA, 26609], Thread)
    moved = found[LLAMA, 25060]
    assert isinstance(moved, SourceMoved)
    assert (moved.repository, moved.number, moved.to) == (OTHER, 17, f"https://github.com/{OTHER}/issues/17")
    renamed = found["someone/old", 3]
    assert isinstance(renamed, SourceMoved)
    assert (renamed.repository, renamed.number) == ("someone/new", 3)
    gone = {ref: error.gone for ref, error in found.items() if isinstance(error, SourceNotFound)}
    assert gone == {(LLAMA, 25061): True, (LLAMA, 4): False, (LLAMA, 99): False, ("no/such", 1): False}
    assert isinstance(found["not a name", 1], InvalidAddress)


@BOTH
def test_a_name_in_another_case_is_the_same_repository(
    tracker: Tracker, server: Server, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tracker.name == LLAMA
    monkeypatch.setenv("GITHUB_API_URL", server.address)
    node = {
        "__typename": "Issue",
        "number": 1,
        "title": "t",
        "url": "u",
        "createdAt": "2026-08-05T00:00:00Z",
        "updatedAt": "2026-08-05T00:00:00Z",
        "closedAt": None,
        "comments": {"totalCount": 0},
        "labels": {"nodes": []},
        "issueState": "OPEN",
        "stateReason": None,
    }
    server.otherwise = lambda request: (
        answered({"data": {"r0": {"nameWithOwner": LLAMA, "t1": node}}}) if request.method == "POST" else answered(rest_issue(1))
    )
    with Session() as session:
        (thread,) = GitHub(session, token).threads([("GGML-org/LLaMA.cpp", 1)]).values()
    assert isinstance(thread, Thread)
    assert thread.repository == LLAMA


def test_a_thousand_threads_take_ten_questions_with_a_token(emulator: Emulator, live: Session) -> None:
    asked = many(emulator, 1000)
    found = GitHub(live, GITHUB_TOKEN).threads(asked)
    assert {ref: thread.comments for ref, thread in found.items() if isinstance(thread, Thread)} == {ref: ref[1] for ref in asked}
    assert len(emulator.requests) == live.requests == 10
    assert {(exchange.method, exchange.path, exchange.token) for exchange in emulator.requests} == {("POST", "/graphql", GITHUB_TOKEN)}


def test_a_thousand_unchanged_threads_are_answered_304_without_a_token(emulator: Emulator, live: Session, validators: Validators) -> None:
    asked = many(emulator, 1000)
    emulator.budgets.limits["github.core"].anonymous = 1000
    before = GitHub(live).threads(asked)
    emulator.budgets.limits["github.core"].anonymous = 60
    emulator.budgets.refill()
    emulator.github.free_304 = True
    emulator.reset_log()
    tonight = new_session(emulator, validators)
    assert GitHub(tonight).threads(asked) == before
    assert [exchange.status for exchange in emulator.requests] == [304] * 1000
    assert tonight.spent == {(emulator.github_api[7:], "unchanged"): 1000}


def test_what_changed_in_the_night_is_told_and_the_rest_is_not_sent_again(
    emulator: Emulator, tracker: Tracker, live: Session, validators: Validators
) -> None:
    asked = [(LLAMA, number) for number in tracker.threads]
    before = GitHub(live).threads(asked)
    tracker.threads[26609].close(day("2026-09-08"), "not_planned")
    emulator.reset_log()
    after = GitHub(new_session(emulator, validators)).threads(asked)
    assert sorted(exchange.status for exchange in emulator.requests) == [200] + [304] * 7
    changed = after[LLAMA, 26609]
    assert isinstance(changed, Thread)
    assert (changed.state, changed.reason) == ("closed", "not_planned")
    assert {ref for ref in asked if before[ref] != after[ref]} == {(LLAMA, 26609)}


# --- limits --------------------------------------------------------------------------------------


def outcomes(found: dict[tuple[str, int], Thread | SourceError]) -> dict[str, int]:
    names = [type(answer).__name__ for answer in found.values()]
    return {name: names.count(name) for name in names}


def test_without_a_token_no_more_is_asked_than_is_allowed(emulator: Emulator, live: Session) -> None:
    found = GitHub(live).threads(many(emulator, 100))
    assert outcomes(found) == {"Thread": 60, "SourceLimited": 40}
    assert [exchange.status for exchange in emulator.requests] == [200] * 60
    limited = found[LLAMA, 100]
    assert isinstance(limited, SourceLimited)
    assert limited.reset == datetime(2026, 9, 8, 1, tzinfo=UTC)


def test_with_a_token_no_question_is_sent_that_would_exceed_the_points(emulator: Emulator, live: Session) -> None:
    asked = many(emulator, 1000)
    emulator.budgets.leave("github.graphql", 15, token=GITHUB_TOKEN, now=emulator.clock())
    found = GitHub(live, GITHUB_TOKEN).threads(asked)
    assert outcomes(found) == {"Thread": 300, "SourceLimited": 700}  # four points a question, so three of them
    assert len(emulator.requests) == 3


def test_a_budget_that_was_spent_before_is_met_once(emulator: Emulator, live: Session) -> None:
    asked = many(emulator, 250)
    emulator.budgets.leave("github.graphql", 1, token=GITHUB_TOKEN, now=emulator.clock())
    found = GitHub(live, GITHUB_TOKEN).threads(asked)
    assert outcomes(found) == {"SourceLimited": 250}
    limited = found[LLAMA, 1]
    assert isinstance(limited, SourceLimited)
    assert limited.reset == datetime(2026, 9, 8, 1, tzinfo=UTC)
    assert len(emulator.requests) == 1


@BOTH
def test_a_secondary_limit_is_waited_for(emulator: Emulator, tracker: Tracker, live: Session, token: str) -> None:
    emulator.scenario.faults.append(Fault("secondary", host="github", status=403, times=1, retry_after=30))
    before = emulator.clock()
    found = GitHub(live, token).threads([(LLAMA, 26609)])
    assert isinstance(found[LLAMA, 26609], Thread)
    assert emulator.clock() - before == 30
    assert tracker.name == LLAMA


@BOTH
def test_a_secondary_limit_midway_keeps_what_was_answered(emulator: Emulator, live: Session, token: str) -> None:
    asked = many(emulator, 30 if not token else 300)
    emulator.scenario.faults.append(Fault("secondary", host="github", status=403, after=20 if not token else 2, retry_after=600))
    found = GitHub(live, token).threads(asked)
    assert outcomes(found) == ({"Thread": 200, "SourceLimited": 100} if token else {"Thread": 20, "SourceLimited": 10})
    assert len(emulator.requests) == (3 if token else 21)


def test_searches_have_a_budget_of_their_own(emulator: Emulator, tracker: Tracker, live: Session) -> None:
    github = GitHub(live)
    before = emulator.clock()
    assert [github.count(f"repo:{LLAMA} fit is:pr") for _ in range(10)] == [3] * 10
    assert isinstance(github.threads([(LLAMA, 26609)])[LLAMA, 26609], Thread)
    assert emulator.clock() == before
    assert github.count(f"repo:{LLAMA} fit is:pr") == 3
    assert emulator.clock() - before == 60  # ten searches a minute
    assert {exchange.status for exchange in emulator.requests} == {200, 304}
    assert tracker.name == LLAMA


# --- refusals and failures -----------------------------------------------------------------------


@BOTH
def test_a_token_that_is_not_accepted_is_said_so_for_each_thread(emulator: Emulator, tracker: Tracker, live: Session, token: str) -> None:
    emulator.scenario.github_tokens.clear()
    found = GitHub(live, token or "ghp_" + "x" * 36).threads([(LLAMA, 26609), (LLAMA, 25060)])
    assert outcomes(found) == {"SourceDenied": 2}
    assert tracker.name == LLAMA


@BOTH
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Fault("html", host="github", status=200), "BadAnswer"),
        (Fault("html", host="github", status=502), "SourceUnreachable"),
        (Fault("html", host="github", status=404), "BadAnswer"),
        (Fault("status", host="github", status=503), "SourceUnreachable"),
        (Fault("body", host="github", body="[]"), "BadAnswer"),
        (Fault("body", host="github", body="{}"), "BadAnswer"),
        (Fault("body", host="github", body=""), "BadAnswer"),
        (Fault("truncated", host="github", keep=30), "BadAnswer"),
        (Fault("drop", host="github", keep=30), "BadAnswer"),
        (Fault("length", host="github", by=40), "BadAnswer"),
        (Fault("hang_up", host="github"), "SourceUnreachable"),
    ],
    ids=lambda value: f"{value.kind}-{value.status}-{value.body}" if isinstance(value, Fault) else "",
)
def test_a_failing_tracker_says_nothing_of_its_threads(
    emulator: Emulator, tracker: Tracker, live: Session, token: str, fault: Fault, outcome: str
) -> None:
    emulator.scenario.faults.append(fault)
    fault.met = 0
    found = GitHub(live, token).threads([(LLAMA, 26609)])
    assert outcomes(found) == {outcome: 1}
    assert tracker.name == LLAMA


@BOTH
def test_a_tracker_that_fails_now_and_then_is_asked_again(emulator: Emulator, live: Session, token: str) -> None:
    asked = many(emulator, 20)
    emulator.scenario.faults += [Fault("hang_up", host="github", times=1), Fault("html", host="github", status=502, after=1, times=2)]
    assert outcomes(GitHub(live, token).threads(asked)) == {"Thread": 20}


def test_a_tracker_that_is_down_is_not_asked_for_every_thread(emulator: Emulator, live: Session) -> None:
    asked = many(emulator, 1000)
    emulator.scenario.faults.append(Fault("status", host="github", status=503))
    assert outcomes(GitHub(live).threads(asked)) == {"SourceUnreachable": 1000}
    assert len(emulator.requests) == 3 * ATTEMPTS


def rest_issue(number: int, fields: dict[str, object] | None = None) -> dict[str, object]:
    return {
        "number": number,
        "title": "t",
        "state": "open",
        "state_reason": None,
        "labels": [],
        "comments": 0,
        "created_at": "2026-08-05T00:00:00Z",
        "updated_at": "2026-08-05T00:00:00Z",
        "closed_at": None,
        "html_url": f"https://github.com/{LLAMA}/issues/{number}",
        "repository_url": f"https://api.github.com/repos/{LLAMA}",
        **(fields or {}),
    }


@pytest.mark.parametrize(
    ("problem", "error"),
    [
        ({"type": "FORBIDDEN", "path": ["r0", "t1"]}, SourceDenied),
        ({"type": "FORBIDDEN", "path": ["r0"]}, SourceDenied),
        ({"type": "NOT_FOUND", "path": ["r0"]}, SourceNotFound),
        ({"type": "RATE_LIMITED"}, SourceLimited),
        ({"type": "RATE_LIMIT", "path": None}, SourceLimited),
        ({"message": "Something went wrong", "path": ["r0", "t1", "labels", "nodes"]}, SourceUnreachable),
        ({"message": "Something went wrong"}, SourceUnreachable),
        ({"path": ["query", "r0", "t1"], "message": "Field 'x' doesn't exist"}, BadAnswer),
    ],
)
def test_each_kind_of_partial_error_has_its_meaning(
    server: Server, github: GitHub, problem: dict[str, object], error: type[SourceError]
) -> None:
    data = {"r0": {"t1": None}} if problem.get("path") else None
    server.otherwise = lambda _: answered({"data": data, "errors": [problem]})
    assert type(github.threads([(LLAMA, 1)])[LLAMA, 1]) is error
    assert len(server.received) == 1


def test_once_the_points_are_spent_the_rest_is_not_asked_for(server: Server, github: GitHub) -> None:
    server.otherwise = lambda _: answered({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]})
    assert outcomes(github.threads([(LLAMA, number) for number in range(1, 251)])) == {"SourceLimited": 250}
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "vanished"},
        {"number": "1"},
        {"number": True},
        {"title": None},
        {"comments": -1},
        {"created_at": "yesterday"},
        {"labels": None},
        {"repository_url": 5},
        {"html_url": None},
    ],
)
def test_an_answer_of_another_form_is_not_read_as_a_thread(
    server: Server, session: Session, monkeypatch: pytest.MonkeyPatch, fields: dict[str, object]
) -> None:
    monkeypatch.setenv("GITHUB_API_URL", server.address)
    server.otherwise = lambda _: answered(rest_issue(1, fields))
    assert type(GitHub(session, "").threads([(LLAMA, 1)])[LLAMA, 1]) is BadAnswer


def test_graphql_of_an_enterprise_server_is_beside_its_api(server: Server, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", f"{server.address}/api/v3")
    server.otherwise = lambda request: answered({"data": {}} if request.method == "POST" else rest_issue(2))
    github = GitHub(session, GITHUB_TOKEN)
    github.threads([(LLAMA, 1)])
    assert [request.path for request in server.received] == ["/api/graphql"]
    assert server.received[0].headers["authorization"] == f"Bearer {GITHUB_TOKEN}"


def test_names_and_numbers_cannot_change_the_question(server: Server, github: GitHub) -> None:
    server.otherwise = lambda request: answered({"data": {}}) if request.method == "POST" else Answer(404)
    hostile = ['x"){id}}#/y', "a/b\n", "../../user", "a/..", "a/b/c", "a%2Fb", "", "a/b?x=1"]
    found = github.threads([(name, 1) for name in hostile])
    assert all(isinstance(error, InvalidAddress) for error in found.values())
    assert server.received == []


# --- together ------------------------------------------------------------------------------------


def test_the_token_of_the_environment_goes_to_github_only_and_is_in_no_log(
    emulator: Emulator, tracker: Tracker, live: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("GITHUB_TOKEN", GITHUB_TOKEN)
    github = GitHub(live)
    github.threads([(LLAMA, number) for number in tracker.threads] + [(LLAMA, 4)])
    live.get(emulator.hub_endpoint + "/api/models")
    with pytest.raises(SourceNotFound):
        live.get("https://www.example.com/", accept="text/html")
    assert {(exchange.host, exchange.token) for exchange in emulator.requests} == {("github", GITHUB_TOKEN), ("hub", ""), ("web", "")}
    assert GITHUB_TOKEN not in caplog.text + repr(github) + repr(live) + repr(live.spent)
    assert {exchange.agent.partition("/")[0] for exchange in emulator.requests} == {"gen"}


def test_workers_share_a_tracker(emulator: Emulator, live: Session) -> None:
    asked = many(emulator, 400)
    github = GitHub(live, GITHUB_TOKEN)
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda start: github.threads(asked[start : start + 50]), range(0, 400, 50)))
    assert {ref: type(thread) for part in parts for ref, thread in part.items()} == dict.fromkeys(asked, Thread)
    assert live.requests == 8


def test_a_question_that_never_was_asked_has_no_answer(server: Server, github: GitHub) -> None:
    assert github.threads([]) == {}
    assert server.received == []
