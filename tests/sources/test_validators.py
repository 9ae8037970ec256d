"""Answers that are kept: asked for again only where they changed, from run to run, and never a broken one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from generator.sources.errors import BadAnswer
from generator.sources.session import Session
from generator.sources.validators import Validators
from tests.sources.answers import HTML, JSON, UNICORN
from tests.sources.clock import Clock
from tests.sources.server import Answer, Server

TOKEN = "ghp_0123456789abcdefghij"

pytestmark = pytest.mark.usefixtures("good")


def tagged(server: Server, body: bytes, etag: str, kind: str = JSON["Content-Type"]) -> None:
    """Serve a body that has an ETag."""
    answer = Answer(200, {"Content-Type": kind, "ETag": etag, "Link": "<x>"}, body)
    server.otherwise = lambda request: Answer(304, {"ETag": etag}) if request.headers.get("if-none-match") == etag else answer


def test_an_unchanged_answer_is_given_from_the_store(server: Server, session: Session) -> None:
    tagged(server, b"[1]", 'W/"one"')
    first, second = session.get(server.address), session.get(server.address)
    assert (first.stored, second.stored) == (False, True)
    assert (second.status, second.json(), second.headers["link"]) == (200, [1], "<x>")
    assert session.spent == {(server.address[7:], "answered"): 1, (server.address[7:], "unchanged"): 1}
    tagged(server, b"[2]", 'W/"two"')
    third, fourth = session.get(server.address), session.get(server.address)
    assert (third.json(), third.stored, fourth.json(), fourth.stored) == ([2], False, [2], True)


def test_a_date_does_where_there_is_no_etag(server: Server, session: Session) -> None:
    day = "Mon, 31 Aug 2026 05:39:28 GMT"
    server.otherwise = lambda request: (
        Answer(304) if request.headers.get("if-modified-since") == day else Answer(200, {**JSON, "Last-Modified": day}, b"[1]")
    )
    assert [session.get(server.address).stored for _ in range(2)] == [False, True]


def test_what_never_changes_is_asked_for_once(server: Server, session: Session) -> None:
    replies = [session.get(server.address, immutable=True) for _ in range(3)]
    assert [reply.json() for reply in replies] == [{"good": True}] * 3
    assert len(server.received) == session.requests == 1


def test_answers_are_kept_from_run_to_run(server: Server, clock: Clock, tmp_path: Path) -> None:
    tagged(server, bytes(range(256)), '"e"', "text/plain")
    for run in range(2):
        with Session(Validators(tmp_path / "answers"), sleep=clock.sleep, clock=clock.now) as session:
            reply = session.get(server.address)
            assert (reply.body, reply.stored) == (bytes(range(256)), run == 1)


@pytest.mark.parametrize("damage", [lambda text: text[:-20], lambda text: text.replace("[1]", "[2]"), lambda _: "[]", lambda _: "{}"])
def test_a_kept_answer_that_is_damaged_is_asked_for_again(
    server: Server, clock: Clock, tmp_path: Path, damage: Callable[[str], str]
) -> None:
    tagged(server, b"[1]", '"e"')
    for _ in range(2):
        with Session(Validators(tmp_path), sleep=clock.sleep, clock=clock.now) as session:
            reply = session.get(server.address)
            assert (reply.json(), reply.stored) == ([1], False)
        (file,) = tmp_path.iterdir()
        file.write_text(damage(file.read_text()))


@pytest.mark.parametrize("immutable", [False, True])
@pytest.mark.parametrize("answer", [Answer(200, {**HTML, "ETag": '"e"'}, UNICORN), Answer(200, {**JSON, "ETag": '"e"'})])
def test_what_is_no_answer_is_not_kept(server: Server, session: Session, answer: Answer, immutable: bool) -> None:
    server.once(answer)
    with pytest.raises(BadAnswer):
        session.get(server.address, immutable=immutable)
    assert session.get(server.address, immutable=immutable).json() == {"good": True}
    assert "if-none-match" not in server.received[1].headers


@pytest.mark.parametrize("immutable", [False, True])
def test_json_that_was_cut_off_on_its_way_is_not_kept_though_its_etag_is_right(server: Server, session: Session, immutable: bool) -> None:
    tagged(server, b"[1]", '"e"')
    server.once(Answer(200, {**JSON, "ETag": '"e"'}, b"[1"))
    with pytest.raises(BadAnswer, match="no JSON"):
        session.get(server.address, immutable=immutable).json()
    assert session.get(server.address, immutable=immutable).json() == [1]


def test_what_has_no_validator_is_asked_for_again_in_full(server: Server, session: Session) -> None:
    for _ in range(2):
        assert not session.get(server.address).stored
    assert not {"if-none-match", "if-modified-since"} & server.received[1].headers.keys()


def test_the_same_address_asked_in_another_form_is_another_question(server: Server, session: Session) -> None:
    tagged(server, b"[1]", '"e"')
    session.get(server.address)
    session.get(server.address, accept="text/plain")
    assert "if-none-match" not in server.received[1].headers


def test_no_token_is_kept(server: Server, clock: Clock, tmp_path: Path) -> None:
    tagged(server, b"[1]", '"e"')
    with Session(Validators(tmp_path), sleep=clock.sleep, clock=clock.now) as session:
        session.authorize(server.address, TOKEN)
        session.get(server.address)
    (file,) = tmp_path.iterdir()
    assert TOKEN not in file.read_text()
