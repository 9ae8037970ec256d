"""Byte ranges of a file on a web server, as `generator.gguf` reads headers from.

How much is asked for at a time is decided by the reader (`generator.gguf.stream`); this module gets it, with as few requests as
the server allows. A redirect is followed once and its target asked from then on; a server that ignores ranges and sends
the whole file is read from the one answer, forward, and hung up on; a connection that drops is taken up again where it
broke. Failures are counted over the life of the object, so a server that keeps failing is given up.

No message holds the query of an address or a header: both carry secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from time import sleep
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from generator.sources.errors import BadAnswer, InvalidAddress, SourceChanged, SourceDenied, SourceNotFound, SourceUnreachable, shown_url
from generator.sources.transfer import TIMEOUT, reason_of

if TYPE_CHECKING:
    import requests

FAILURES = 4
"""How many failures a source is given before it is given up."""

LONGEST_PAUSE = 20.0
_PIECE = 256 * 1024
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_EXPIRED = frozenset({401, 403, 410})
_CONTENT_RANGE = re.compile(r"bytes (?P<first>\d+)-(?P<last>\d+)/(?P<size>\d+|\*)")
_UNSATISFIED = re.compile(r"bytes \*/(?P<size>\d+)")


class _Interrupted(Exception):
    """An answer that may be better the next time."""

    def __init__(self, reason: str, retry_after: str | None = None) -> None:
        self.reason = reason
        self.retry_after = retry_after
        super().__init__(reason)


class HttpRanges:
    """A file on a web server, read by byte ranges.

    `headers` are sent to the server of `url` only, never to where it redirects; `target` is that place, where it is known. `size`
    is checked against what the server says; None leaves it to the first answer. `requests` and `fetched` count requests (redirects
    too) and bytes of answers.
    """

    def __init__(
        self,
        url: str,
        *,
        target: str = "",
        name: str = "",
        size: int | None = None,
        headers: Mapping[str, str] | None = None,
        session: requests.Session | None = None,
    ) -> None:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
            raise InvalidAddress(shown_url(url))
        import requests

        self.size = size
        self.name = name or shown_url(url)
        self.requests = 0
        self.fetched = 0
        self._own_session = session is None
        self._session = session or requests.Session()
        self._url = url
        self._target = target or url
        self._headers = dict(headers or {})
        self._etag: str | None = None
        self._failures = 0
        self._whole: requests.Response | None = None
        self._whole_position = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._hang_up()
        if self._own_session:
            self._session.close()

    def read(self, start: int, length: int) -> bytes:
        """Give `length` bytes from `start` on, fewer where the file ends. Raises a SourceError."""
        import requests
        from urllib3.exceptions import HTTPError

        pieces: list[bytes] = []
        position, end = start, start + length
        while position < end and (self.size is None or position < self.size):
            try:
                for piece in self._pieces(position, end - position):
                    pieces.append(piece)
                    position += len(piece)
            except (requests.TooManyRedirects, requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema):
                raise BadAnswer("it redirects in circles, or to no web address", url=self.name) from None
            except _Interrupted as problem:
                self._fail(problem.reason, problem.retry_after)
            except (requests.RequestException, HTTPError, OSError) as problem:
                self._fail(reason_of(problem))
            else:
                if position < end and (self.size is None or position < self.size):
                    self._fail("the server sent less than it was asked for")
        return b"".join(pieces)

    def _pieces(self, start: int, length: int) -> Iterator[bytes]:
        """Ask once for a range, and yield what comes of it."""
        if self._whole is not None and self._whole_position <= start:
            yield from self._forward(self._whole, start, length)
            return
        response = self._get(start, length)
        if response.status_code == HTTPStatus.OK:
            self._note(response, response.headers.get("Content-Length"))
            self._whole, self._whole_position = response, 0
            yield from self._forward(response, start, length)
            return
        with response:
            if response.status_code == HTTPStatus.PARTIAL_CONTENT:
                yield from self._body(response, min(length, self._check_range(response, start)))
            elif response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                found = _UNSATISFIED.fullmatch(response.headers.get("Content-Range", ""))
                self._note(response, found["size"] if found else str(start))
                if self.size is not None and self.size > start:
                    raise BadAnswer("it refuses a range that the file has", url=self.name)
            else:
                raise self._refusal(response)

    def _get(self, start: int, length: int) -> requests.Response:
        asked = {"Range": f"bytes={start}-{start + length - 1}", "Accept-Encoding": "identity"}
        if _origin(self._target) == _origin(self._url):
            asked |= self._headers
        self.requests += 1
        response = self._session.get(self._target, headers=asked, stream=True, timeout=TIMEOUT)
        self.requests += len(response.history)
        if response.ok:
            self._target = response.url
        return response

    def _forward(self, response: requests.Response, start: int, length: int) -> Iterator[bytes]:
        """Read on in an answer that is the whole file; drop it where it breaks."""
        try:
            for piece in self._body(response, start - self._whole_position):
                self._whole_position += len(piece)
            for piece in self._body(response, length):
                self._whole_position += len(piece)
                length -= len(piece)
                yield piece
        except Exception:
            self._hang_up()
            raise
        if length:
            self._note(response, str(self._whole_position))

    def _body(self, response: requests.Response, length: int) -> Iterator[bytes]:
        """Yield up to `length` bytes of an answer, and count them."""
        while length and (piece := response.raw.read(min(length, _PIECE), decode_content=False)):
            self.fetched += len(piece)
            length -= len(piece)
            yield piece

    def _check_range(self, response: requests.Response, start: int) -> int:
        """Give the number of bytes that an answer says it holds. Raises BadAnswer where they do not begin at `start`."""
        stated = response.headers.get("Content-Range", "")
        found = _CONTENT_RANGE.fullmatch(stated)
        if found is None or int(found["first"]) != start or int(found["last"]) < start:
            raise BadAnswer(f"asked for bytes from {start} on, it sends {stated[:60]!r}", url=self.name)
        self._note(response, found["size"])
        return int(found["last"]) - start + 1

    def _note(self, response: requests.Response, size: str | None) -> None:
        """Hold an answer's size and ETag against those of earlier ones. Raises SourceChanged, BadAnswer."""
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise BadAnswer("it compresses what it was asked to send as it is", url=self.name)
        if size is not None and size.isascii() and size.isdigit():
            if self.size is not None and self.size != int(size):
                raise SourceChanged("size", self.size, int(size), url=self.name)
            self.size = int(size)
        etag = response.headers.get("ETag")
        if self._etag is not None and etag is not None and etag != self._etag:
            raise SourceChanged("ETag", self._etag, etag, url=self.name)
        self._etag = etag or self._etag

    def _refusal(self, response: requests.Response) -> Exception:
        """Give the error for a status that is no success; _Interrupted where it may pass."""
        status = response.status_code
        if status in _PASSING:
            return _Interrupted(f"the server answers with status {status}", response.headers.get("Retry-After"))
        if status in _EXPIRED and self._target != self._url:
            self._target = self._url
            return _Interrupted("the address that the server redirected to has expired")
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return SourceDenied(status, url=self.name)
        if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
            return SourceNotFound(url=self.name)
        return BadAnswer(f"status {status}", url=self.name)

    def _fail(self, reason: str, retry_after: str | None = None) -> None:
        """Count a failure, and wait before the next try. Raises SourceUnreachable at the last."""
        self._failures += 1
        if self._failures >= FAILURES:
            raise SourceUnreachable(reason, url=self.name) from None
        stated = float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None
        sleep(min(LONGEST_PAUSE, 0.25 * 2**self._failures if stated is None else stated))

    def _hang_up(self) -> None:
        if self._whole is not None:
            self._whole.close()
            self._whole = None


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
