"""The session against a server on this machine: what is sent, what is tried again, and what each answer means."""

from __future__ import annotations

import gzip
import json
import logging
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from generator.sources import transfer
from generator.sources.errors import (
    BadAnswer,
    InvalidAddress,
    SourceDenied,
    SourceError,
    SourceMoved,
    SourceNotFound,
    SourceUnreachable,
)
from generator.sources.session import ATTEMPTS, GIVEN_UP_AFTER, Session
from tests.sources.answers import HTML, JSON, UNICORN, other_name
from tests.sources.clock import Clock
from tests.sources.server import Answer, Request, Server, serving

TOKEN = "ghp_0123456789abcdefghij"


pytestmark = pytest.mark.usefixtures("good")


# --- what is sent --------------------------------------------------------------------------------


def test_a_question_is_asked_and_its_answer_read(server: Server, session: Session) -> None:
    reply = session.get(f"{server.address}/x?y=1")
    assert (reply.status, reply.json(), reply.stored) == (200, {"good": True}, False)
    sent = server.received[0]
    assert (sent.method, sent.path, sent.headers["accept"]) == ("GET", "/x?y=1", "application/json")
    assert sent.headers["user-agent"].startswith("gen/")
    assert "authorization" not in sent.headers


def test_json_is_posted(server: Server, session: Session) -> None:
    assert session.post_json(f"{server.address}/graphql", {"query": "{}"}).json() == {"good": True}
    assert (server.received[0].method, json.loads(server.received[0].body)) == ("POST", {"query": "{}"})


def test_a_token_is_sent_to_its_address_and_below_and_nowhere_else(server: Server, session: Session) -> None:
    session.authorize(f"{server.address}/api/", TOKEN)
    session.authorize(f"{server.address}/api/public", "")
    for path in ("/api", "/api/x", "/api?x=1", "/apiary", "/", "/api/public/x"):
        session.get(server.address + path)
    session.get(f"{other_name(server)}/api/x")
    sent = [request.headers.get("authorization") for request in server.received]
    assert sent == [f"Bearer {TOKEN}"] * 3 + [None] * 4


def test_a_redirect_to_another_host_is_followed_without_the_token(server: Server, session: Session) -> None:
    session.authorize(server.address, TOKEN)
    server.redirect("/a", "/b")
    server.redirect("/b", f"{other_name(server)}/c")
    assert session.get(f"{server.address}/a").url == f"{other_name(server)}/c"
    assert [request.headers.get("authorization") for request in server.received] == [f"Bearer {TOKEN}", f"Bearer {TOKEN}", None]


def test_what_a_netrc_file_says_of_the_host_is_not_sent(
    server: Server, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    session.get(server.address)
    assert "authorization" not in server.received[0].headers


def test_cookies_are_not_kept(server: Server, session: Session) -> None:
    server.once(Answer(200, {**JSON, "Set-Cookie": "who=you; Path=/"}, b"{}"))
    session.get(server.address)
    session.get(server.address)
    assert "cookie" not in server.received[1].headers


@pytest.mark.parametrize("address", ["ftp://host/x", "host", "https://", "file:///etc/passwd", "http://[::1", "http://.example.org/", ""])
def test_what_is_no_web_address_is_refused_without_a_question(session: Session, address: str) -> None:
    with pytest.raises(InvalidAddress) as caught:
        session.get(address)
    assert caught.value.exit_code == 2
    assert session.requests == 0


# --- secrets -------------------------------------------------------------------------------------

FAILING = [
    Answer(401, JSON, TOKEN.encode()),
    Answer(403, JSON, TOKEN.encode()),
    Answer(403, {**JSON, "x-ratelimit-remaining": "0", "x-ratelimit-reset": "9999999999"}),
    Answer(404, JSON, TOKEN.encode()),
    Answer(410),
    Answer(418, JSON, TOKEN.encode()),
    Answer(429, {"Retry-After": "5000"}),
    Answer(500, HTML, UNICORN),
    Answer(200, HTML, UNICORN),
    Answer(200, JSON),
    Answer(200, JSON, TOKEN.encode()),
    Answer(200, JSON, b"x" * 100, keep=10),
    Answer(302, {"Location": f"ftp://{TOKEN}/"}),
    Answer(0),
]


@pytest.mark.parametrize("answer", FAILING)
def test_a_token_is_in_no_error_no_log_and_no_representation(
    server: Server, session: Session, caplog: pytest.LogCaptureFixture, answer: Answer
) -> None:
    caplog.set_level(logging.DEBUG)
    session.authorize(server.address, TOKEN)
    server.times(100, answer)
    with pytest.raises(SourceError) as caught:
        session.get(f"{server.address}/x?token={TOKEN}")
    assert server.received[0].headers["authorization"] == f"Bearer {TOKEN}"
    error = caught.value
    told = [
        str(error),
        repr(error),
        repr(error.as_dict()),
        error.url,
        *traceback.format_exception(error),
        repr(session),
        str(session.spent),
    ]
    own = [record.getMessage() for record in caplog.records if record.name.startswith("generator")]
    assert TOKEN not in "".join([*told, *own])
    headers = "".join(record.getMessage() for record in caplog.records).replace(f"token={TOKEN}", "")
    assert TOKEN not in headers


def test_an_answer_that_repeats_the_token_is_refused_and_not_kept(server: Server, session: Session) -> None:
    session.authorize(server.address, TOKEN)
    server.once(Answer(200, {**JSON, "ETag": '"e"'}, f'{{"you": "{TOKEN}"}}'.encode()))
    with pytest.raises(BadAnswer, match="repeats the token"):
        session.get(server.address)
    assert session.get(server.address).json() == {"good": True}
    assert "if-none-match" not in server.received[1].headers


# --- what each answer means ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (Answer(404, JSON, b"{}"), SourceNotFound, "no such"),
        (Answer(410, JSON, b"{}"), SourceNotFound, "deleted"),
        (Answer(401, JSON, b"{}"), SourceDenied, "401"),
        (Answer(403, JSON, b"{}"), SourceDenied, "403"),
        (Answer(451, JSON, b"{}"), SourceDenied, "451"),
        (Answer(400, JSON, b"{}"), BadAnswer, "400"),
        (Answer(422, JSON, b"{}"), BadAnswer, "422"),
        (Answer(204), BadAnswer, "204"),
        (Answer(206, {**JSON, "Content-Range": "bytes 0-1/2"}, b"{}"), BadAnswer, "206"),
        (Answer(304), BadAnswer, "first time"),
        (Answer(200, JSON), BadAnswer, "nothing at all"),
        (Answer(200, HTML, UNICORN), BadAnswer, "web page"),
        (Answer(404, HTML, UNICORN), BadAnswer, "web page"),
        (Answer(302), BadAnswer, "no web address"),
        (Answer(302, {"Location": "mailto:x@example.org"}), BadAnswer, "no web address"),
        (Answer(302, {"Location": "http://[::1"}), BadAnswer, "no web address"),
        (Answer(302, {"Location": "/again"}), BadAnswer, "circles"),
    ],
)
def test_what_will_not_pass_is_an_error_at_once(
    server: Server, session: Session, clock: Clock, answer: Answer, error: type[SourceError], words: str
) -> None:
    server.times(100, answer)
    with pytest.raises(error, match=words) as caught:
        session.get(f"{server.address}/again?secret=1")
    assert type(caught.value) is error
    assert caught.value.url.startswith(server.address)
    assert "secret" not in str(caught.value)
    assert clock.pauses == []
    assert len(server.received) == (5 if words == "circles" else 1)


def test_gone_is_told_from_not_found_and_by_which_name(server: Server, session: Session) -> None:
    server.once(Answer(404, {**JSON, "X-Error-Code": "EntryNotFound"}, b"{}"))
    with pytest.raises(SourceNotFound) as missing:
        session.get(server.address)
    server.rules.clear()
    server.once(Answer(410, JSON, b"{}"))
    with pytest.raises(SourceNotFound) as deleted:
        session.get(server.address)
    assert (missing.value.gone, missing.value.code) == (False, "EntryNotFound")
    assert (deleted.value.gone, deleted.value.code) == (True, "")


def test_a_web_page_is_an_answer_to_who_asks_for_one(server: Server, session: Session) -> None:
    server.times(2, Answer(404, HTML, UNICORN))
    with pytest.raises(SourceNotFound):
        session.get(server.address, accept="text/html")
    server.rules.clear()
    server.once(Answer(200, HTML, UNICORN))
    assert session.get(server.address, accept="text/html").body == UNICORN


def test_what_is_no_json_is_said_so(server: Server, session: Session) -> None:
    for body in (b"Not Found", b"{", b"[" * 100_000, b"\xff\xfe{}"):
        server.rules.clear()
        server.once(Answer(200, {"Content-Type": "text/plain"}, body))
        with pytest.raises(BadAnswer, match="no JSON"):
            session.get(server.address).json()


def test_of_headers_a_redirect_is_given_as_it_is(server: Server, session: Session) -> None:
    server.redirect("/a", "/b")
    head = session.head(f"{server.address}/a")
    assert (head.status, head.headers["LOCATION"]) == (302, "/b")


def test_a_question_with_a_body_is_not_sent_elsewhere(server: Server, session: Session) -> None:
    server.redirect("/graphql", "https://example.org/graphql?x=1")
    with pytest.raises(SourceMoved) as caught:
        session.post_json(f"{server.address}/graphql", {})
    assert caught.value.to == "https://example.org/graphql"


def test_a_packed_answer_is_unpacked(server: Server, session: Session) -> None:
    server.once(Answer(200, {**JSON, "Content-Encoding": "gzip"}, gzip.compress(b'{"packed": 1}')))
    assert session.get(server.address).json() == {"packed": 1}


# --- trying again --------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504, 507])
def test_a_failing_server_is_asked_again_after_growing_pauses(server: Server, session: Session, clock: Clock, status: int) -> None:
    server.times(ATTEMPTS - 1, Answer(status, HTML, UNICORN))
    assert session.get(server.address).json() == {"good": True}
    assert clock.pauses == [1.0, 2.0, 4.0]
    host = server.address.removeprefix("http://")
    assert session.spent == {(host, "failed"): 3, (host, "answered"): 1}


def test_pauses_are_varied_so_that_many_do_not_ask_at_once(server: Server) -> None:
    pauses = []
    for chance in (0.0, 0.999):
        clock = Clock()
        server.rules.clear()
        server.times(1, Answer(503))
        with Session(sleep=clock.sleep, clock=clock.now, chance=lambda chance=chance: chance) as session:  # type: ignore[misc]
            session.get(server.address)
        pauses += clock.pauses
    assert pauses == [0.5, pytest.approx(1.499)]


def test_a_server_that_keeps_failing_is_given_up(server: Server, session: Session) -> None:
    server.times(100, Answer(503))
    with pytest.raises(SourceUnreachable, match="status 503"):
        session.get(server.address)
    assert len(server.received) == ATTEMPTS


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (Answer(0), SourceUnreachable, "broke"),
        (Answer(200, JSON, b'{"a": 1}', keep=4), BadAnswer, "broke off"),
        (Answer(200, {**JSON, "Content-Length": "50"}, b"{}", keep=2), BadAnswer, "broke off"),
        (Answer(200, {**JSON, "Transfer-Encoding": "chunked"}, b"zz\r\n{}", keep=6), BadAnswer, "broke off"),
        (Answer(200, {**JSON, "Content-Encoding": "gzip"}, b"this is not packed"), BadAnswer, "unpacked"),
    ],
)
def test_an_answer_that_is_not_whole_is_asked_for_again(
    server: Server, session: Session, answer: Answer, error: type[SourceError], words: str
) -> None:
    server.times(1, answer)
    assert session.get(server.address).json() == {"good": True}
    server.times(100, answer)
    with pytest.raises(error, match=words):
        session.get(server.address)
    assert len(server.received) == 2 + ATTEMPTS


def test_an_answer_longer_than_it_says_is_cut_there_and_does_not_spoil_the_next(server: Server, session: Session) -> None:
    server.once(Answer(200, {**JSON, "Content-Length": "2"}, b'{}{"more": 1}'))
    assert session.get(server.address).json() == {}
    assert session.get(server.address).json() == {"good": True}


def test_a_server_that_is_not_there_is_unreachable(session: Session) -> None:
    with serving(b"") as gone:
        address = gone.address
    with pytest.raises(SourceUnreachable, match="no connection"):
        session.get(f"{address}/x")
    assert session.spent == {(address.removeprefix("http://"), "failed"): ATTEMPTS}


def test_a_slow_server_is_not_waited_for(server: Server, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "TIMEOUT", (5.0, 0.05))
    server.rules.append(lambda _: time.sleep(0.3))
    with pytest.raises(SourceUnreachable, match="too long"):
        session.get(server.address)


def test_an_answer_that_never_ends_is_not_waited_for(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_PIECE", 10)
    ticks = iter(range(0, 10_000_000, 50))
    clock = Clock()
    server.times(100, Answer(200, JSON, b"[" + b" " * 1000 + b"]"))
    with Session(sleep=clock.sleep, clock=lambda: float(next(ticks))) as session, pytest.raises(SourceUnreachable, match="too long"):
        session.get(server.address)


def test_an_answer_without_bounds_is_not_taken(server: Server, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LARGEST", 1000)
    packed = gzip.compress(b" " * 1_000_000)
    server.times(100, Answer(200, {**JSON, "Content-Encoding": "gzip"}, packed))
    with pytest.raises(BadAnswer, match="more than 1000 bytes"):
        session.get(server.address)


def test_a_server_that_leaves_questions_unanswered_is_left_alone_but_no_other(server: Server, session: Session) -> None:
    server.rules.append(lambda request: Answer(503) if request.headers["host"].startswith("localhost") else None)
    for _ in range(GIVEN_UP_AFTER):
        with pytest.raises(SourceUnreachable):
            session.get(other_name(server))
    sent = len(server.received)
    with pytest.raises(SourceUnreachable, match="left alone"):
        session.get(other_name(server))
    assert len(server.received) == sent == GIVEN_UP_AFTER * ATTEMPTS
    assert session.get(server.address).json() == {"good": True}


def test_a_server_that_answers_now_and_then_is_not_left_alone(server: Server, session: Session) -> None:
    server.rules.append(lambda request: Answer(503) if request.path == "/bad" else None)
    for _ in range(GIVEN_UP_AFTER + 1):
        with pytest.raises(SourceUnreachable, match="status 503"):
            session.get(f"{server.address}/bad")
        server.once(Answer(404, JSON, b"{}"))
        with pytest.raises(SourceNotFound):
            session.get(f"{server.address}/missing")


# --- many at once --------------------------------------------------------------------------------


def test_many_workers_share_one_session(server: Server, session: Session) -> None:
    session.authorize(server.address, TOKEN)
    failed = set()

    def rule(request: Request) -> Answer | None:
        if request.path.endswith("0") and request.path not in failed:
            failed.add(request.path)
            return Answer(503)
        return Answer(200, JSON, json.dumps(request.path).encode())

    server.rules.append(rule)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: session.get(f"{server.address}/{number}").json(), range(300)))
    assert answers == [f"/{number}" for number in range(300)]
    host = server.address.removeprefix("http://")
    assert session.spent == {(host, "answered"): 300, (host, "failed"): 30}
    assert session.requests == len(server.received) == 330
    assert {request.headers["authorization"] for request in server.received} == {f"Bearer {TOKEN}"}
