"""The Hub's client library, asking through a `Session`.

`huggingface_hub` knows the Hub's addresses, pages and answers, and has an HTTP stack of its own with pauses and retries of its own.
Here its HTTP client gets a transport that sends each request through the session of whoever asks, so that all sources of
a run share one set of budgets, retries, validators and counts. The client's own retries never come into play: the session raises
what is no answer. Outside `asking_through` the library asks as it always does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any

from generator.sources.errors import SourceUnreachable
from generator.sources.session import JSON, Reply, Session

_SESSION: ContextVar[Session | None] = ContextVar("session", default=None)
_INSTALLING = Lock()
_TREE_AT_COMMIT = re.compile(r"/tree/[0-9a-f]{40}(?:\?|$)")


def hub_library() -> ModuleType:
    """Import the Hub's client, which takes 0.3 s; without its telemetry, which would cost a request."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import huggingface_hub

    return huggingface_hub


def http_errors() -> tuple[type[Exception], ...]:
    """Give the errors of the library's HTTP client that do not come from the transport: addresses that are none."""
    http = _http()
    return http.HTTPError, http.InvalidURL


def _http() -> ModuleType:
    """Import the HTTP client that this version of the library uses: httpx, or httpx2."""
    failure = import_module("huggingface_hub.errors").HfHubHTTPError.__bases__[0]
    return import_module(failure.__module__.partition(".")[0])


@contextmanager
def asking_through(session: Session) -> Iterator[None]:
    """Let what the client library asks in this block, in this thread, be asked through `session`."""
    _install()
    before = _SESSION.set(session)
    try:
        yield
    finally:
        _SESSION.reset(before)


class _Transport:
    """What the HTTP client of `huggingface_hub` sends requests with, by the interface of httpx."""

    installed = False

    def __init__(self, http: ModuleType) -> None:
        self._http = http
        self._plain = http.Client(timeout=None)

    def handle_request(self, request: Any) -> Any:
        """Answer a request of httpx."""
        from huggingface_hub import is_offline_mode
        from huggingface_hub.errors import OfflineModeIsEnabled

        session, url = _SESSION.get(), str(request.url)
        if is_offline_mode():
            raise SourceUnreachable("HF_HUB_OFFLINE is set", url=url) if session else OfflineModeIsEnabled("HF_HUB_OFFLINE is set")
        if session is None:
            return self._plain.send(request, stream=True)
        budget = "api" if "/api/" in request.url.path else "resolvers"
        if request.method == "HEAD":
            reply = session.head(url, budget=budget, headers={"Accept-Encoding": "identity"})
        else:
            reply = session.get(url, accept=JSON, budget=budget, immutable=bool(_TREE_AT_COMMIT.search(url)))
        return self._response(reply, request)

    def _response(self, reply: Reply, request: Any) -> Any:
        """Give an answer as httpx has it; its body is unpacked already."""
        headers = {name: value for name, value in reply.headers.items() if name.lower() != "content-encoding"}
        return self._http.Response(reply.status, headers=headers, content=reply.body, request=request)

    def close(self) -> None:
        """Hang up what was asked without a session; the others' is theirs to close."""
        self._plain.close()


def _install() -> None:
    """Give the client library the transport, once."""
    with _INSTALLING:
        if _Transport.installed:
            return
        library, http = hub_library(), _http()
        library.set_client_factory(lambda: http.Client(transport=_Transport(http), follow_redirects=True, timeout=None))
        _Transport.installed = True
