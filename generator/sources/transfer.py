"""One request and its whole answer, within bounds of size and time, and a name for each way that can fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from generator.sources.errors import InvalidAddress

if TYPE_CHECKING:
    import requests

TIMEOUT = (10.0, 30.0)
"""Seconds to wait for a connection, and for the next bytes."""

LONGEST = 120.0
"""Seconds that one answer may take in all."""

LARGEST = 64 * 1024 * 1024
"""Bytes that one answer may have, unpacked."""

_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Got:
    """A whole answer; headers by name in any case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class Broken(Exception):
    """No whole answer came; it may the next time. `short` where one began and was not what it announced."""

    def __init__(self, reason: str, *, short: bool = False) -> None:
        self.reason = reason
        self.short = short
        super().__init__(reason)


def transfer(
    http: requests.Session, method: str, url: str, headers: Mapping[str, str], body: bytes | None, clock: Callable[[], float]
) -> Got:
    """Send a request and read its answer to the end, following no redirect. Raises Broken, and InvalidAddress.

    The adapter is asked, not the session: the session would keep cookies, and read the whole body of a redirect, whatever its size.
    """
    import requests
    from urllib3.exceptions import HTTPError

    start = clock()
    try:
        prepared = http.prepare_request(requests.Request(method, url, headers=dict(headers), data=body))
        settings = http.merge_environment_settings(prepared.url, {}, stream=True, verify=True, cert=None)
    except ValueError:
        raise InvalidAddress(url) from None
    try:
        adapter, verify = http.get_adapter(url), settings["verify"]
        assert verify is not None
        with adapter.send(prepared, stream=True, timeout=TIMEOUT, verify=verify, proxies=settings["proxies"]) as response:
            pieces, size = [], 0
            for piece in response.iter_content(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > LARGEST:
                    raise Broken(f"the answer has more than {LARGEST} bytes", short=True)
                if clock() - start > LONGEST:
                    raise Broken("the server took too long to answer")
            return Got(response.status_code, response.headers, b"".join(pieces))
    except requests.exceptions.ContentDecodingError:
        raise Broken("it sends something packed that cannot be unpacked", short=True) from None
    except (requests.RequestException, HTTPError, OSError) as problem:
        raise Broken(reason_of(problem), short=isinstance(problem, requests.exceptions.ChunkedEncodingError)) from None


def reason_of(problem: Exception) -> str:
    """Say in words what kind of failure an exception of requests or urllib3 is, without its text, which holds addresses."""
    import requests
    from urllib3.exceptions import ProtocolError, ReadTimeoutError

    cause = problem.args[0] if problem.args else None
    if isinstance(problem, requests.Timeout | ReadTimeoutError | TimeoutError) or isinstance(cause, ReadTimeoutError):
        return "the server took too long to answer"
    if isinstance(problem, requests.exceptions.SSLError):
        return "the server's certificate is not trusted"
    if isinstance(problem, requests.exceptions.ProxyError):
        return "the proxy refused the connection"
    if isinstance(problem, requests.exceptions.ChunkedEncodingError):
        return "the answer broke off before its end"
    if isinstance(problem, requests.ConnectionError) and not isinstance(cause, ProtocolError):
        return "no connection could be made to the server"
    return "the connection broke"
