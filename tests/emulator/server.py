"""The emulator: five listeners on this machine, each a site of its own, that answer from a scenario and spoil what its faults say."""

from __future__ import annotations

import gzip
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from tests.emulator.budgets import Budgets
from tests.emulator.faults import Fault
from tests.emulator.github import GitHub
from tests.emulator.hub import Hub
from tests.emulator.scenario import GITHUB_TOKEN, HUB_TOKEN, Scenario
from tests.emulator.web import Web
from tests.emulator.wire import Answer, Request, Sparse, http_date, text_answer

HOSTS = ("hub", "storage", "github", "raw", "web")
"""The sites: huggingface.co, where it stores large files, api.github.com, raw.githubusercontent.com, and everything else."""

_NAMES = {"huggingface.co": "hub", "api.github.com": "github", "raw.githubusercontent.com": "raw"}
_SMALLEST_ZIPPED = 512


@dataclass(frozen=True)
class Exchange:
    """One request and what it got: the site, method, path, query, status (0 where the connection ended without an answer).

    `authorised` tells whether a token came along that the site accepts, `token` which one came at all; `conditional` whether the
    client had an older answer, `range` the bytes it asked for, `agent` how it called itself, `fault` what went wrong by design.
    """

    host: str
    method: str
    path: str
    query: str
    status: int
    authorised: bool
    token: str
    conditional: bool
    range: str
    agent: str
    fault: str


class Clock:
    """A clock that stands still until it is told to go on: give it to the emulator and to the client, and no test has to wait."""

    def __init__(self, now: datetime) -> None:
        self._seconds = now.timestamp()

    def __call__(self) -> float:
        """Give the seconds since 1970."""
        return self._seconds

    @property
    def now(self) -> datetime:
        """The moment in UTC."""
        return datetime.fromtimestamp(self._seconds, UTC)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._seconds += seconds

    def go_to(self, moment: datetime) -> None:
        """Go on to a moment."""
        self._seconds = moment.timestamp()


class Emulator:
    """The sites of a scenario, at addresses of this machine, while the block lasts.

    `scenario` may be changed, or replaced by another, between requests. `requests` lists what was asked. `clock` gives seconds since
    1970, for reset times, expiring addresses and the Date of answers.
    """

    def __init__(self, scenario: Scenario | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.scenario = scenario if scenario is not None else Scenario()
        self.clock = clock
        self.budgets = Budgets()
        self.requests: list[Exchange] = []
        self.failures: list[Exception] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self.hub = Hub(lambda: self.scenario, self.budgets, clock)
        self.github = GitHub(lambda: self.scenario, self.budgets, clock)
        self._sites: dict[str, Callable[[Request], Answer]] = {
            "hub": self.hub.answer,
            "storage": self.hub.stored,
            "github": self.github.answer,
            "raw": self.github.raw,
            "web": Web(lambda: self.scenario).answer,
        }
        self._listeners: dict[str, _Listener] = {}

    # --- its life -----------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._listeners = {host: _Listener(self, host, number) for number, host in enumerate(HOSTS, 1)}
        for listener in self._listeners.values():
            threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True).start()
        self.hub.endpoint, self.hub.storage, self.github.api = self.hub_endpoint, self._address("storage"), self.github_api
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        for listener in self._listeners.values():
            listener.close()
        if self.failures:
            raise ExceptionGroup("the emulator itself failed", self.failures)

    # --- its addresses ------------------------------------------------------------------------------

    @property
    def hub_endpoint(self) -> str:
        """Address of the Hub, for HF_ENDPOINT."""
        return self._address("hub")

    @property
    def github_api(self) -> str:
        """Address of GitHub's API, for GITHUB_API_URL."""
        return self._address("github")

    @property
    def github_raw(self) -> str:
        """Address of GitHub's raw files."""
        return self._address("raw")

    def web(self, url: str) -> str:
        """Give the address under which a page of the web is served here."""
        return f"{self._address('web')}/{url.partition('://')[2]}"

    def environment(self, *, tokens: bool = True) -> dict[str, str]:
        """Give the environment variables that lead clients here, with the tokens that are accepted or with empty ones."""
        return {
            "HF_ENDPOINT": self.hub_endpoint,
            "GITHUB_API_URL": self.github_api,
            "HF_TOKEN": HUB_TOKEN if tokens else "",
            "GITHUB_TOKEN": GITHUB_TOKEN if tokens else "",
        }

    def mount(self, session: requests.Session) -> None:
        """Lead every https address that a session asks for to the site that plays it here; answers keep their real addresses."""
        session.mount("https://", _Rerouted(self))

    def rerouted(self, url: str) -> str:
        """Give the address here of a real one."""
        parts = urlsplit(url)
        if parts.netloc not in _NAMES:
            return self.web(url)
        return self._address(_NAMES[parts.netloc]) + url.partition(parts.netloc)[2]

    def _address(self, host: str) -> str:
        place, port = self._listeners[host].server_address[:2]
        return f"http://{place!s}:{port}"

    # --- its log ------------------------------------------------------------------------------------

    def reset_log(self) -> None:
        """Forget what was asked so far."""
        self.requests.clear()

    def asked(self, host: str = "", path: str = "") -> list[Exchange]:
        """Give what was asked of a site, of those whose path holds `path`."""
        return [each for each in self.requests if host in {"", each.host} and path in each.path]

    # --- answering ----------------------------------------------------------------------------------

    def answer(self, request: Request) -> tuple[Answer, Fault | None]:
        """Give the answer to a request, and the fault that spoils it on its way."""
        with self._lock:
            fault = next((each for each in self.scenario.faults if each.meets(request)), None)
            answer = fault.instead() if fault else None
            if answer is None:
                try:
                    answer = self._sites[request.host](request)
                except Exception as error:  # noqa: BLE001  told when the block ends
                    self.failures.append(error)
                    answer = text_answer(500, "the emulator failed")
            answer.headers.setdefault("Date", http_date(datetime.fromtimestamp(self.clock(), UTC)))
            self.requests.append(self._exchange(request, answer, fault))
        return answer, fault

    def _exchange(self, request: Request, answer: Answer, fault: Fault | None) -> Exchange:
        accepted = {"hub": self.scenario.hub_tokens, "github": self.scenario.github_tokens}.get(request.host, set())
        return Exchange(
            request.host,
            request.method,
            request.path,
            request.target.partition("?")[2],
            answer.status,
            request.token in accepted,
            request.token,
            bool({"if-none-match", "if-modified-since"} & request.headers.keys()),
            request.headers.get("range", ""),
            request.headers.get("user-agent", ""),
            fault.kind if fault else "",
        )


class _Rerouted(HTTPAdapter):
    """Sends requests for real addresses to the emulator."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__()
        self._emulator = emulator

    def send(self, request: requests.PreparedRequest, *args: object, **kwargs: object) -> requests.Response:
        real = str(request.url)
        there = request.copy()
        there.url = self._emulator.rerouted(real)
        response = super().send(there, *args, **kwargs)  # type: ignore[arg-type]
        response.url, response.request = real, request
        return response


class _Listener(ThreadingHTTPServer):
    """One site, on a loopback address of its own where the system has more than one, so that sites differ in their host names."""

    request_queue_size = 128

    def __init__(self, emulator: Emulator, host: str, number: int) -> None:
        self.emulator = emulator
        self.host = host
        self.live: set[socket.socket] = set()
        try:
            super().__init__((f"127.0.0.{number}", 0), _Handler)
        except OSError:
            super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer would look its own name up

    def handle_error(self, *_: object) -> None:
        """Stay silent: a client that hangs up is none of our business, and what fails in answering is kept by the emulator."""

    def close(self) -> None:
        """Stop listening, and end every connection."""
        self.shutdown()
        self.server_close()
        for connection in list(self.live):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Listener

    def setup(self) -> None:
        super().setup()
        self.server.live.add(self.connection)

    def finish(self) -> None:
        self.server.live.discard(self.connection)
        super().finish()

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.server.host, self.command, self.path.partition("?")[0], self.path, headers, body)
        answer, fault = self.server.emulator.answer(request)
        if answer.status == 0:
            self.close_connection = True
            return
        self._send(request, answer, fault or Fault("slow"))

    do_HEAD = do_POST = do_GET  # noqa: N815

    def _send(self, request: Request, answer: Answer, fault: Fault) -> None:
        body = answer.body
        if fault.kind == "truncated":
            assert isinstance(body, bytes)
            body = body[: fault.keep]
        if not fault.keep:
            self.server.emulator.stopping.wait(fault.delay)
        zipped = _zipped(request, answer, body) if fault.kind in {"slow", "status", "html", "body"} else None
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if zipped is not None:
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Transfer-Encoding", "chunked")
        elif answer.status not in {204, 304}:
            self.send_header("Content-Length", str(len(body) + (fault.by if fault.kind == "length" else 0)))
        if fault.kind == "length":
            self.send_header("Connection", "close")
        self.end_headers()
        if request.method == "HEAD" or answer.status in {204, 304}:
            return
        pieces = [b"%x\r\n%s\r\n0\r\n\r\n" % (len(zipped), zipped)] if zipped is not None else _pieces(body)
        self._write(pieces, fault)
        if fault.kind == "drop":
            self.close_connection = True

    def _write(self, pieces: Iterator[bytes] | list[bytes], fault: Fault) -> None:
        """Send a body; stop, or wait, after the first bytes that a fault says are kept."""
        left = fault.keep if fault.kind in {"drop", "slow"} else 0
        for piece in pieces:
            if fault.kind == "drop":
                self.wfile.write(piece[:left])
                left -= len(piece[:left])
                if not left:
                    return
            elif 0 < left <= len(piece):
                self.wfile.write(piece[:left])
                self.wfile.flush()
                self.server.emulator.stopping.wait(fault.delay)
                self.wfile.write(piece[left:])
                left = 0
            else:
                self.wfile.write(piece)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


def _zipped(request: Request, answer: Answer, body: bytes | Sparse) -> bytes | None:
    """Give the compressed body where the client takes it and it is worth it, as both sites do; None otherwise."""
    if not answer.compress or not isinstance(body, bytes) or len(body) < _SMALLEST_ZIPPED or not request.accepts("gzip"):
        return None
    return None if answer.status == 206 else gzip.compress(body, 1, mtime=0)


def _pieces(body: bytes | Sparse) -> Iterator[bytes]:
    if isinstance(body, Sparse):
        yield from body.pieces()
    else:
        yield body
