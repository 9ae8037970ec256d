"""Requests and answers as the emulated sites see them, and what HTTP says of ranges, validators and pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import parse_qs, urlencode

Json = Mapping[str, object] | list[object] | None

_PIECE = 256 * 1024
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True)
class Sparse:
    """Part of a file that is mostly zeros: `length` bytes from `start` on, of a file that begins with `content`."""

    content: bytes
    start: int
    length: int

    def __len__(self) -> int:
        return self.length

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes in pieces that fit into memory."""
        position, end = self.start, self.start + self.length
        while position < end:
            piece = self.content[position : min(end, position + _PIECE)]
            yield piece + bytes(min(end - position, _PIECE) - len(piece))
            position += _PIECE

    def part(self, first: int, length: int) -> Sparse:
        """Give a part of it."""
        return Sparse(self.content, self.start + first, length)


@dataclass(frozen=True)
class Request:
    """A request: `host` is the name of the site, `path` the path as sent, `target` that with the query; headers by lower-case name."""

    host: str
    method: str
    path: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def query(self) -> dict[str, list[str]]:
        """The parameters of the query, each with all its values."""
        return parse_qs(self.target.partition("?")[2], keep_blank_values=True)

    def parameter(self, name: str, default: str = "") -> str:
        """Give the last value of a parameter."""
        return self.query.get(name, [default])[-1]

    def truth(self, name: str) -> bool:
        """Tell whether a parameter says yes."""
        return self.parameter(name).lower() in {"true", "1"}

    def whole(self, name: str, default: int, most: int) -> int:
        """Give a parameter as a whole number from 1 to `most`; the default where it is none."""
        text = self.parameter(name)
        return min(int(text), most) if text.isdecimal() and int(text) else default

    @property
    def token(self) -> str:
        """The token that was sent; empty where there was none."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token if scheme.lower() in {"bearer", "token"} else ""

    def accepts(self, encoding: str) -> bool:
        """Tell whether the client takes a content encoding."""
        return encoding in {part.partition(";")[0].strip() for part in self.headers.get("accept-encoding", "").split(",")}


@dataclass
class Answer:
    """An answer. Status 0 stands for none at all: the connection ends. `compress` allows gzip where the client takes it."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Sparse = b""
    compress: bool = False


def json_answer(status: int, value: object, headers: Mapping[str, str] | None = None) -> Answer:
    """Give an answer in JSON."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Answer(status, {"Content-Type": "application/json; charset=utf-8", **(headers or {})}, body, compress=True)


def text_answer(status: int, text: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Give an answer in plain text."""
    return Answer(status, {"Content-Type": "text/plain; charset=utf-8", **(headers or {})}, text.encode(), compress=True)


def redirect(status: int, location: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Give a redirect."""
    words = {301: "Moved Permanently", 302: "Found", 307: "Temporary Redirect"}[status]
    return text_answer(status, f"{words}. Redirecting to {location}", {"Location": location, **(headers or {})})


def revalidated(request: Request, answer: Answer) -> bool:
    """Tell whether what the client already has is what the answer would give, by ETag or else by the day it last changed."""
    if request.method not in {"GET", "HEAD"} or answer.status != 200:
        return False
    known = request.headers.get("if-none-match")
    if known is not None:
        ours = answer.headers.get("ETag", "").removeprefix("W/")
        return bool(ours) and (known == "*" or ours in {tag.strip().removeprefix("W/") for tag in known.split(",")})
    since, changed = request.headers.get("if-modified-since"), answer.headers.get("Last-Modified")
    return bool(since and changed) and parsedate_to_datetime(str(changed)) <= parsedate_to_datetime(str(since))


def ranged(request: Request, answer: Answer) -> Answer:
    """Give the part of a body that a Range header asks for: 206, 416, or the whole where there is no such header."""
    asked = _RANGE.fullmatch(request.headers.get("range", ""))
    if answer.status != 200 or asked is None or not any(asked.groups()):
        return answer
    size = len(answer.body)
    if asked[1]:
        first, last = int(asked[1]), min(int(asked[2] or size - 1), size - 1)
    else:
        first, last = max(0, size - int(asked[2])), size - 1
    if first > last:
        xml = b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>InvalidRange</Code></Error>'
        return Answer(416, {"Content-Type": "application/xml", "Content-Range": f"bytes */{size}"}, xml)
    length = last - first + 1
    part = answer.body.part(first, length) if isinstance(answer.body, Sparse) else answer.body[first : last + 1]
    return Answer(206, {**answer.headers, "Content-Range": f"bytes {first}-{last}/{size}"}, part)


def link(url: str, request: Request, relation: str, **parameters: object) -> str:
    """Give one entry of a Link header: the address with the request's own parameters and these."""
    query = request.query | {name: [str(value)] for name, value in parameters.items()}
    return f'<{url}?{urlencode(query, doseq=True)}>; rel="{relation}"'


def http_date(moment: datetime) -> str:
    """Give a moment as headers write it."""
    return format_datetime(moment.astimezone(UTC), usegmt=True)


def stamp(moment: datetime, *, millis: bool = False) -> str:
    """Give a moment as the APIs write it: `2026-08-31T05:39:28Z`, the Hub's with `.000` before the Z."""
    text = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{moment.microsecond // 1000:03d}Z" if millis else f"{text}Z"
