"""A web server on this machine that serves one file as it is told to: with redirects, without ranges, breaking off."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


@dataclass
class Answer:
    """What to do with one request instead of serving the file well. Status 0 is to hang up without an answer."""

    status: int = 206
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    keep: int | None = None
    """Send only this many bytes of the body, under a Content-Length that promises it all, and hang up."""


@dataclass
class Request:
    """A request that was received: the method, path, headers by lower-case name, and body."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


class Server:
    """Serves `content` under any path that `rules` do not answer; the first rule that gives an Answer is used.

    `otherwise` answers what no rule does; at first it serves the content well.
    """

    def __init__(self, content: bytes, address: str) -> None:
        self.content = content
        self.address = address
        self.etag = '"one"'
        self.ranges = True
        self.rules: list[Callable[[Request], Answer | None]] = []
        self.received: list[Request] = []
        self.otherwise: Callable[[Request], Answer] = self.serve

    def once(self, answer: Answer) -> None:
        """Answer the next request so."""
        self.times(1, answer)

    def times(self, count: int, answer: Answer) -> None:
        """Answer the next `count` requests so."""
        left = [answer] * count
        self.rules.append(lambda _: left.pop() if left else None)

    def redirect(self, path: str, target: str) -> None:
        """Send those who ask for `path` to `target`."""
        self.rules.append(lambda request: Answer(302, {"Location": target}) if request.path == path else None)

    def answer(self, request: Request) -> Answer:
        self.received.append(request)
        for rule in self.rules:
            if (found := rule(request)) is not None:
                return found
        return self.otherwise(request)

    def serve(self, request: Request) -> Answer:
        """Serve the file well."""
        size = len(self.content)
        asked = _RANGE.fullmatch(request.headers.get("range", ""))
        if not asked or not self.ranges:
            return Answer(200, {"ETag": self.etag}, self.content)
        first, last = int(asked[1]), min(int(asked[2]), size - 1)
        if first >= size:
            return Answer(416, {"Content-Range": f"bytes */{size}"})
        return Answer(206, {"ETag": self.etag, "Content-Range": f"bytes {first}-{last}/{size}"}, self.content[first : last + 1])


class _Http(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Stay silent when a client hangs up."""


@contextmanager
def serving(content: bytes) -> Iterator[Server]:
    """Serve on a free port of the loopback address until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            answer = server.answer(Request(self.command, self.path, headers, body))
            if not answer.status:
                self.close_connection = True
                return
            self.send_response(answer.status)
            if "Content-Length" not in answer.headers and "Transfer-Encoding" not in answer.headers:
                self.send_header("Content-Length", str(len(answer.body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            try:
                self.wfile.write(answer.body if answer.keep is None else answer.body[: answer.keep])
            except ConnectionError:
                self.close_connection = True
            if answer.keep is not None:
                self.close_connection = True

        do_HEAD = do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    http = _Http(("127.0.0.1", 0), Handler)
    server = Server(content, f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
