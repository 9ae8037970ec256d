"""Web pages, by the emulator and by a server that misbehaves."""

from __future__ import annotations

from hashlib import sha256

import pytest

from generator.sources.errors import BadAnswer, SourceDenied, SourceMoved, SourceNotFound
from generator.sources.session import Session
from generator.sources.validators import Validators
from generator.sources.web import Page, Web
from tests.emulator import Emulator
from tests.emulator import Page as Served
from tests.sources.nights import new_session
from tests.sources.server import Answer, Server

ADDRESS = "https://www.example.com/graphics/rtx-5070?table=full"
BODY = "<html><body><h1>RTX&nbsp;5070</h1>\n<td>Memory\n   Bus Width</td><td>192-bit</td> <td>memory bus width</td></body></html>"


def test_a_page_is_fetched_hashed_and_searched(emulator: Emulator, live: Session) -> None:
    emulator.scenario.pages[ADDRESS] = Served(BODY)
    page = Web(live).page(ADDRESS)
    assert page == Page(ADDRESS, 200, sha256(BODY.encode()).hexdigest(), BODY)
    assert page.count("Memory Bus Width") == 2
    assert page.count("rtx 5070") == 1
    assert page.count("192-bit") == 1
    assert page.count("GB/s") == page.count("") == page.count(" ") == 0
    assert page.count(".") == 0


def test_an_unchanged_page_costs_no_second_transfer_and_a_changed_one_has_another_hash(
    emulator: Emulator, live: Session, validators: Validators
) -> None:
    emulator.scenario.pages[ADDRESS] = Served(BODY)
    first = Web(live).page(ADDRESS)
    assert Web(new_session(emulator, validators)).page(ADDRESS) == first
    assert [exchange.status for exchange in emulator.requests] == [200, 304]
    emulator.scenario.pages[ADDRESS] = Served(BODY + "672 GB/s")
    changed = Web(new_session(emulator, validators)).page(ADDRESS)
    assert (changed.count("gb/s"), changed.sha256 == first.sha256) == (1, False)


def test_a_page_that_is_not_there_is_told_from_one_that_cannot_be_had(emulator: Emulator, live: Session) -> None:
    web = Web(live)
    with pytest.raises(SourceNotFound):
        web.page(ADDRESS)
    emulator.scenario.pages[ADDRESS] = Served("Access denied", status=403)
    with pytest.raises(SourceDenied):
        web.page(ADDRESS)
    emulator.scenario.pages[ADDRESS] = Served("")
    with pytest.raises(BadAnswer, match="nothing at all"):
        web.page(ADDRESS)


def test_a_page_that_moved_is_read_where_it_is_now(emulator: Emulator, live: Session) -> None:
    emulator.scenario.pages[ADDRESS] = Served(status=301, location="https://www.example.com/cards/rtx-5070?session=secret")
    emulator.scenario.pages["https://www.example.com/cards/rtx-5070"] = Served(BODY)
    page = Web(live).page(ADDRESS)
    assert (page.url, page.count("192-bit")) == ("https://www.example.com/cards/rtx-5070", 1)


def test_the_front_page_is_no_answer_to_who_asks_for_another(emulator: Emulator, live: Session) -> None:
    emulator.scenario.pages[ADDRESS] = Served(status=302, location="https://www.example.com/")
    emulator.scenario.pages["https://www.example.com/"] = Served("<html>Welcome</html>")
    with pytest.raises(SourceMoved) as caught:
        Web(live).page(ADDRESS)
    assert (caught.value.to, caught.value.url) == ("https://www.example.com/", ADDRESS.partition("?")[0])
    assert Web(live).page("https://www.example.com/").count("welcome") == 1


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html; charset=ISO-8859-1", "größer als 5 GB/s".encode("latin-1")),
        ("text/html", '<meta charset="iso-8859-1">größer als 5 GB/s'.encode("latin-1")),
        ("text/html", "größer als 5 GB/s".encode()),
        ("", "größer als 5 GB/s".encode()),
        ("text/html; charset=klingon", "größer als 5 GB/s".encode()),
    ],
)
def test_a_page_is_decoded_as_it_says(server: Server, session: Session, content_type: str, body: bytes) -> None:
    server.otherwise = lambda _: Answer(200, {"Content-Type": content_type} if content_type else {}, body)
    assert Web(session).page(server.address).count("GRÖSSER als 5 GB/s") == 1


def test_signs_that_cannot_be_read_do_not_hide_the_others(server: Server, session: Session) -> None:
    server.otherwise = lambda _: Answer(200, {"Content-Type": "text/html; charset=utf-8"}, b"\xff\xfe 5 GB/s")
    assert Web(session).page(server.address).count("5 GB/s") == 1
