"""Byte ranges from a real server on this machine, one that works and one that misbehaves in each way."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from generator.gguf import RangeSource, read_header
from generator.sources.errors import BadAnswer, InvalidAddress, SourceChanged, SourceDenied, SourceNotFound, SourceUnreachable
from generator.sources.ranges import FAILURES, HttpRanges
from tests.gguf.tokenizer import Tokenizer
from tests.sources.server import Answer, Request, Server, serving

MIB = 1024 * 1024
SECRET = "hf_secretsecret"


def opened(server: Server, path: str = "/m.gguf", **arguments: object) -> HttpRanges:
    return HttpRanges(server.address + path, **arguments)  # type: ignore[arg-type]


def test_a_range_is_asked_for_and_given(server: Server) -> None:
    with opened(server) as source:
        assert isinstance(source, RangeSource)
        unasked = source.size
        assert source.read(500, 1000) == server.content[500:1500]
        assert (unasked, source.size) == (None, 100_000)
        assert server.received[0].headers["range"] == "bytes=500-1499"
        assert server.received[0].headers["accept-encoding"] == "identity"
        assert (source.requests, source.fetched) == (1, 1000)


def test_what_lies_beyond_the_end_is_left_out(server: Server) -> None:
    with opened(server) as source:
        assert source.read(99_000, 5000) == server.content[99_000:]
        assert source.read(100_000, 10) == b""
        assert source.requests == 1


def test_a_first_range_beyond_the_end_is_empty_and_tells_the_size(server: Server) -> None:
    with opened(server) as source:
        assert source.read(200_000, 10) == b""
        assert source.size == 100_000


def test_a_redirect_is_followed_once(server: Server) -> None:
    server.redirect("/m.gguf", "/stored/m.gguf?signature=abc")
    with opened(server) as source:
        assert source.read(0, 10) + source.read(10, 10) == server.content[:20]
        assert [request.path for request in server.received] == ["/m.gguf", "/stored/m.gguf?signature=abc", "/stored/m.gguf?signature=abc"]
        assert source.requests == 3


def test_a_redirect_that_expired_is_asked_for_again(server: Server) -> None:
    live = ["/stored/1"]
    server.rules.append(lambda request: Answer(302, {"Location": live[0]}) if request.path == "/m.gguf" else None)
    server.rules.append(lambda request: Answer(403) if request.path != live[0] else None)
    with opened(server) as source:
        source.read(0, 10)
        live[0] = "/stored/2"
        assert source.read(10, 10) == server.content[10:20]


def test_circles_of_redirects_are_refused(server: Server) -> None:
    server.redirect("/m.gguf", "/m.gguf")
    with opened(server) as source, pytest.raises(BadAnswer, match="circles"):
        source.read(0, 10)


def test_headers_are_sent_to_their_server_only(server: Server) -> None:
    with serving(server.content) as other:
        server.redirect("/m.gguf", other.address + "/stored")
        with opened(server, headers={"Authorization": f"Bearer {SECRET}"}) as source:
            source.read(0, 10)
            source.read(10, 10)
        assert server.received[0].headers["authorization"] == f"Bearer {SECRET}"
        assert len(other.received) == 2
        assert not any("authorization" in request.headers for request in other.received)


def test_a_server_without_ranges_is_read_from_one_answer(server: Server) -> None:
    server.ranges = False
    with opened(server) as source:
        assert source.read(0, 1000) == server.content[:1000]
        assert source.read(5000, 1000) == server.content[5000:6000]
        assert source.read(99_000, 5000) == server.content[99_000:]
        assert source.size == 100_000
        assert len(server.received) == source.requests == 1


def test_a_server_without_ranges_is_not_read_to_the_end() -> None:
    with serving(bytes(64 * MIB)) as server:
        server.ranges = False
        with opened(server) as source:
            source.read(0, MIB)
            assert source.fetched == MIB


def test_a_server_without_ranges_or_length_is_read_until_it_ends(server: Server) -> None:
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (b"a" * 300, b"b" * 200)) + b"0\r\n\r\n"
    server.once(Answer(200, {"Transfer-Encoding": "chunked"}, chunked))
    with opened(server) as source:
        assert source.read(100, 1000) == b"a" * 200 + b"b" * 200
        assert source.size == 500
        assert source.read(500, 10) == b""


@pytest.mark.parametrize("ranges", [True, False])
def test_a_connection_that_breaks_is_taken_up_where_it_broke(server: Server, pauses: list[float], ranges: bool) -> None:
    server.ranges = ranges
    good = server.serve(Request("GET", "/m.gguf", {"range": "bytes=0-9999"}))
    server.once(Answer(good.status, good.headers, good.body, keep=4000))
    with opened(server) as source:
        assert source.read(0, 10_000) == server.content[:10_000]
        assert server.received[1].headers["range"] == "bytes=4000-9999"
        assert len(pauses) == 1


def test_an_answer_shorter_than_its_range_is_completed(server: Server) -> None:
    server.once(Answer(206, {"Content-Range": "bytes 0-9999/100000"}, server.content[:4000]))
    with opened(server) as source:
        assert source.read(0, 10_000) == server.content[:10_000]


def test_an_answer_of_a_part_of_the_range_is_completed(server: Server) -> None:
    server.once(Answer(206, {"Content-Range": "bytes 0-3999/*"}, server.content[:4000]))
    with opened(server) as source:
        assert source.read(0, 10_000) == server.content[:10_000]


@pytest.mark.parametrize("stated", ["bytes 0-9/100000", "bytes 0-4999/100000"])
def test_an_answer_longer_than_what_was_asked_for_is_cut(server: Server, stated: str) -> None:
    server.once(Answer(206, {"Content-Range": stated}, server.content[:5000]))
    with opened(server) as source:
        assert source.read(0, 10) == server.content[:10]
        assert source.read(10, 10) == server.content[10:20]


def test_a_server_that_keeps_breaking_off_is_given_up(server: Server, pauses: list[float]) -> None:
    server.times(100, Answer(206, {"Content-Range": "bytes 0-9999/100000"}, server.content[:10_000], keep=0))
    with opened(server) as source, pytest.raises(SourceUnreachable, match=r"broke|less than"):
        source.read(0, 10_000)
    assert len(server.received) == FAILURES
    assert len(pauses) == FAILURES - 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again_after_the_time_it_states(server: Server, pauses: list[float], status: int) -> None:
    server.once(Answer(status, {"Retry-After": "7"}))
    server.once(Answer(status, {"Retry-After": "100000"}))
    server.once(Answer(status))
    with opened(server) as source:
        assert source.read(0, 10) == server.content[:10]
    assert pauses[0] == 7
    assert max(pauses) <= 20


def test_a_server_that_stays_busy_is_given_up(server: Server) -> None:
    server.times(100, Answer(503))
    with opened(server) as source, pytest.raises(SourceUnreachable, match="status 503"):
        source.read(0, 10)
    assert len(server.received) == FAILURES


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    source = HttpRanges(f"http://user:{SECRET}@127.0.0.1:{port}/m.gguf?token={SECRET}")
    with source, pytest.raises(SourceUnreachable, match="no connection") as caught:
        source.read(0, 10)
    assert SECRET not in str(caught.value)
    assert caught.value.url == f"http://127.0.0.1:{port}/m.gguf"
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("status", "error", "exit_code"), [(404, SourceNotFound, 2), (410, SourceNotFound, 2), (401, SourceDenied, 1), (403, SourceDenied, 1)]
)
def test_a_refusal_is_final_and_has_a_remedy(
    server: Server, status: int, error: type[SourceNotFound | SourceDenied], exit_code: int
) -> None:
    server.once(Answer(status))
    with opened(server, "/m.gguf?token=" + SECRET) as source, pytest.raises(error) as caught:
        source.read(0, 10)
    assert len(server.received) == 1
    assert caught.value.remedy
    assert caught.value.exit_code == exit_code
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(206, {}, b"0123456789"),
        Answer(206, {"Content-Range": "bytes 5-14/100000"}, b"0123456789"),
        Answer(206, {"Content-Range": "bytes 0-9/100000", "Content-Encoding": "gzip"}, b"0123456789"),
        Answer(206, {"Content-Type": "multipart/byteranges; boundary=x"}, b"--x"),
        Answer(416, {"Content-Range": "bytes */100000"}),
        Answer(200, {"Content-Encoding": "br"}, b"0123456789"),
        Answer(204),
        Answer(418),
    ],
)
def test_an_answer_to_another_question_is_refused(server: Server, answer: Answer) -> None:
    server.once(answer)
    with opened(server) as source, pytest.raises(BadAnswer):
        source.read(0, 10)


def test_a_file_that_is_replaced_while_being_read_is_noticed(server: Server) -> None:
    with opened(server) as source:
        source.read(0, 10)
        server.etag = '"two"'
        with pytest.raises(SourceChanged) as by_etag:
            source.read(10, 10)
    assert (by_etag.value.what, by_etag.value.before, by_etag.value.after) == ("ETag", '"one"', '"two"')
    with opened(server, size=99_999) as source, pytest.raises(SourceChanged) as by_size:
        source.read(0, 10)
    assert (by_size.value.what, by_size.value.before, by_size.value.after) == ("size", 99_999, 100_000)


@pytest.mark.parametrize("address", ["ftp://host/m.gguf", "m.gguf", "https://", "file:///etc/passwd"])
def test_what_is_no_web_address_is_refused(address: str) -> None:
    with pytest.raises(InvalidAddress):
        HttpRanges(address)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_header_is_read_over_http_within_six_requests_and_a_mebibyte(ranges: bool) -> None:
    header = Tokenizer(248_320, 247_200, first_mean=10, last_mean=10, tensors=753).header()
    with serving(header + bytes(32 * MIB)) as server:
        server.ranges = ranges
        server.redirect("/m.gguf", "/stored/m.gguf")
        with opened(server) as source:
            read = read_header(source)
            assert (read.data_offset, len(read.tensors)) == (len(header), 753)
            assert read.file_size == len(server.content)
            assert source.fetched <= len(header) + MIB
            assert source.requests == len(server.received) <= 6


def test_the_http_library_is_imported_when_it_is_needed() -> None:
    code = "import sys, generator.sources.hub; sys.exit('requests' in sys.modules or 'huggingface_hub' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
