"""Limits that servers set: what is not sent, what is waited for, and what ends the asking."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from generator.sources.errors import SourceLimited
from generator.sources.session import Session
from tests.sources.answers import JSON, other_name
from tests.sources.clock import Clock
from tests.sources.server import Answer, Request, Server

pytestmark = pytest.mark.usefixtures("good")


def github(remaining: int, reset: float, **more: str) -> dict[str, str]:
    return {**JSON, "X-RateLimit-Remaining": str(remaining), "X-RateLimit-Reset": f"{reset:.0f}", **more}


def hub(remaining: int, seconds: int) -> dict[str, str]:
    return {**JSON, "RateLimit": f'"api";r={remaining};t={seconds}', "RateLimit-Policy": '"fixed window";"api";q=500;w=300'}


def test_a_spent_budget_is_not_overdrawn(server: Server, session: Session, clock: Clock) -> None:
    server.times(1, Answer(200, github(0, clock.time + 3000), b"{}"))
    session.get(server.address, budget="core")
    with pytest.raises(SourceLimited) as caught:
        session.get(server.address, budget="core")
    assert len(server.received) == 1
    assert caught.value.reset == datetime.fromtimestamp(clock.time + 3000, UTC)
    assert "UTC" in str(caught.value)
    assert clock.pauses == []


def test_an_answer_that_does_not_say_what_is_left_is_counted_all_the_same(server: Server, session: Session, clock: Clock) -> None:
    server.once(Answer(200, github(2, clock.time + 3000), b"{}"))
    for _ in range(3):
        session.get(server.address)
    with pytest.raises(SourceLimited):
        session.get(server.address)
    assert len(server.received) == 3


def test_a_budget_is_of_one_server_and_one_kind(server: Server, session: Session, clock: Clock) -> None:
    server.times(1, Answer(200, github(0, clock.time + 3000), b"{}"))
    session.get(server.address, budget="core")
    assert session.get(server.address, budget="search").json() == {"good": True}
    assert session.get(other_name(server), budget="core").json() == {"good": True}


@pytest.mark.parametrize("make", [lambda now: github(0, now + 42), lambda _: hub(0, 42)])
def test_a_budget_that_is_soon_renewed_is_waited_for(
    server: Server, session: Session, clock: Clock, make: Callable[[float], dict[str, str]]
) -> None:
    server.times(1, Answer(200, make(clock.time), b"{}"))
    session.get(server.address)
    assert session.get(server.address).json() == {"good": True}
    assert clock.pauses == [42]


@pytest.mark.parametrize("stated", ["", "x", "-1", "1" * 5000, "١"])
def test_a_budget_that_is_not_understood_limits_nothing(server: Server, session: Session, stated: str) -> None:
    headers = {"X-RateLimit-Remaining": stated, "X-RateLimit-Reset": stated, "RateLimit": f"r={stated};t=x"}
    server.times(2, Answer(200, {**JSON, **{name: value.encode().decode("latin-1") for name, value in headers.items()}}, b"{}"))
    for _ in range(3):
        session.get(server.address)


@pytest.mark.parametrize("status", [403, 429])
def test_a_refusal_for_a_spent_budget_is_one_until_it_is_renewed(server: Server, session: Session, clock: Clock, status: int) -> None:
    server.times(1, Answer(status, github(0, clock.time + 3000), b'{"message": "API rate limit exceeded"}'))
    for _ in range(2):
        with pytest.raises(SourceLimited) as caught:
            session.get(server.address)
        assert caught.value.reset == datetime.fromtimestamp(clock.time + 3000, UTC)
    assert len(server.received) == 1
    clock.time += 3001
    assert session.get(server.address).json() == {"good": True}


@pytest.mark.parametrize("status", [403, 429, 503])
@pytest.mark.parametrize("as_date", [False, True])
def test_the_time_that_a_server_asks_for_is_given(server: Server, session: Session, clock: Clock, status: int, as_date: bool) -> None:
    asked = format_datetime(datetime.fromtimestamp(clock.time + 30, UTC), usegmt=True) if as_date else "30"
    server.times(1, Answer(status, {**JSON, "Retry-After": asked}, b"{}"))
    before = clock.time
    assert session.get(server.address).json() == {"good": True}
    assert clock.time - before == 30 if status != 503 else clock.time - before >= 30


def test_a_longer_time_than_can_be_waited_ends_the_asking(server: Server, session: Session, clock: Clock) -> None:
    server.times(1, Answer(429, {"Retry-After": "600"}))
    with pytest.raises(SourceLimited) as caught:
        session.get(server.address)
    assert caught.value.reset == datetime.fromtimestamp(clock.time + 600, UTC)
    assert clock.pauses == []


def test_a_patient_session_waits_longer(server: Server, clock: Clock) -> None:
    server.times(1, Answer(200, hub(0, 290), b"{}"))
    with Session(sleep=clock.sleep, clock=clock.now, patience=300) as session:
        session.get(server.address)
        session.get(server.address)
    assert clock.pauses == [290]


SECONDARY = b'{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}'


@pytest.mark.parametrize(("status", "body"), [(403, SECONDARY), (429, SECONDARY), (429, b"")])
def test_a_secondary_limit_is_waited_for_a_minute_the_first_time(
    server: Server, session: Session, clock: Clock, status: int, body: bytes
) -> None:
    server.times(1, Answer(status, github(4000, clock.time + 3000), body))
    assert session.get(server.address).json() == {"good": True}
    assert clock.pauses == [60]


def test_a_secondary_limit_that_stays_ends_the_asking_of_the_whole_server(server: Server, session: Session, clock: Clock) -> None:
    session.get(server.address, budget="graphql")
    server.times(2, Answer(403, JSON, SECONDARY))
    with pytest.raises(SourceLimited):
        session.get(server.address, budget="core")
    with pytest.raises(SourceLimited):
        session.get(server.address, budget="graphql")
    assert len(server.received) == 3
    assert clock.pauses == [60]


def test_many_workers_never_send_more_than_the_server_allows(server: Server, session: Session, clock: Clock) -> None:
    left = [40]

    def counted(_: Request) -> Answer:
        if not left[0]:
            return Answer(403, github(0, clock.time + 3000), b"{}")
        left[0] -= 1
        return Answer(200, github(left[0], clock.time + 3000), b"{}")

    server.otherwise = counted

    def ask(number: int) -> bool:
        try:
            session.get(f"{server.address}/{number}", budget="core")
        except SourceLimited:
            return False
        return True

    session.get(f"{server.address}/first", budget="core")
    with ThreadPoolExecutor(8) as pool:
        answered = list(pool.map(ask, range(100)))
    assert sum(answered) == 39
    host = server.address.removeprefix("http://")
    assert session.spent == {(host, "answered"): 40}


def test_unchanged_answers_that_cost_nothing_spend_no_budget(server: Server, session: Session, clock: Clock) -> None:
    def rule(request: Request) -> Answer:
        if "if-none-match" in request.headers:
            return Answer(304, github(1, clock.time + 3000))
        return Answer(200, github(60, clock.time + 3000, ETag='"e"'), b"[1]")

    server.otherwise = rule
    session.get(server.address, budget="core")
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: session.get(server.address, budget="core"), range(100)))
    assert all(reply.stored and reply.json() == [1] for reply in replies)
