"""Faults on demand: what an emulated site does wrong, with which requests and how often."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.emulator.wire import Answer, Request, json_answer, text_answer

KINDS = ("status", "html", "body", "truncated", "slow", "drop", "hang_up", "length", "secondary")

_PAGE = b"<!DOCTYPE html>\n<html><head><title>We'll be right back</title></head><body><h1>Unicorn!</h1></body></html>\n"

_SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    "If you reach out to GitHub Support for help, please include the request ID 1A2B:3C4D:5E6F."
)
_SECONDARY_PAGE = "https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"


@dataclass
class Fault:
    """One thing that goes wrong.

    It meets requests to `host` (hub, storage, github, raw, web; any where empty) whose address from the path on matches the
    expression `path` and whose method is `method`; it lets the first `after` of them pass, and meets the next `times`, all
    that follow where that is None.

    What happens, by `kind`:
      status     an error with `status` and a line of text, and `retry_after` seconds where given
      html       a page of HTML with `status`, 200 included
      body       `body` with status 200 instead of what was asked for: `[]`, an empty page, nothing
      truncated  the first `keep` bytes of the answer, as though they were all
      slow       `delay` seconds pass before the answer, or after its first `keep` bytes
      drop       the connection ends after `keep` bytes of a longer body
      hang_up    the connection ends without an answer
      length     Content-Length is wrong by `by` bytes
      secondary  GitHub's secondary rate limit: `status` 403 or 429, with `retry_after` seconds
    """

    kind: str
    host: str = ""
    path: str = ""
    method: str = ""
    status: int = 503
    times: int | None = None
    after: int = 0
    keep: int = 0
    by: int = 0
    delay: float = 0.0
    retry_after: int | None = None
    body: str = ""
    met: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"there is no fault {self.kind!r}, only {', '.join(KINDS)}")

    def meets(self, request: Request) -> bool:
        """Tell whether the fault happens to a request; each one that it could meet is counted."""
        if self.host not in {"", request.host} or self.method not in {"", request.method} or not re.search(self.path, request.target):
            return False
        self.met += 1
        return self.after < self.met and (self.times is None or self.met <= self.after + self.times)

    def instead(self) -> Answer | None:
        """Give the answer that stands for the real one; None where that is made and then spoilt on its way."""
        waiting = {"Retry-After": str(self.retry_after)} if self.retry_after is not None else {}
        if self.kind == "status":
            return text_answer(self.status, "Service Unavailable" if self.status == 503 else "Error", waiting)
        if self.kind == "html":
            return Answer(self.status, {"Content-Type": "text/html; charset=utf-8", **waiting}, _PAGE)
        if self.kind == "body":
            return Answer(200, {"Content-Type": "application/json; charset=utf-8"}, self.body.encode())
        if self.kind == "hang_up":
            return Answer(0)
        if self.kind == "secondary":
            return json_answer(self.status, {"documentation_url": _SECONDARY_PAGE, "message": _SECONDARY}, waiting)
        return None
