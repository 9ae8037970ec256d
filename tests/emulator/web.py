"""The emulated rest of the web: pages under their addresses."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from tests.emulator.scenario import Page, Scenario
from tests.emulator.wire import Answer, Request, http_date, redirect, revalidated

_MISSING = b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>\n"


class Web:
    """All other sites. A page `https://host/path` is asked for as `/host/path`."""

    def __init__(self, scenario: Callable[[], Scenario]) -> None:
        self._scenario = scenario

    def answer(self, request: Request) -> Answer:
        """Give a page, 304 to who has it already, or 404."""
        page = self._page(request.target.lstrip("/"))
        if page is None:
            return Answer(404, {"Content-Type": "text/html; charset=utf-8"}, _MISSING, compress=True)
        if page.location:
            return redirect(page.status, page.location)
        content = page.content
        headers = {"Content-Type": page.content_type, "ETag": f'W/"{sha256(content).hexdigest()[:32]}"'}
        if page.modified:
            headers["Last-Modified"] = http_date(page.modified)
        answer = Answer(page.status, headers, content, compress=True)
        return Answer(304, {"ETag": headers["ETag"]}) if revalidated(request, answer) else answer

    def _page(self, place: str) -> Page | None:
        pages = self._scenario().pages
        plain = place.partition("?")[0]
        candidates = (f"{scheme}://{each}" for each in (place, plain) for scheme in ("https", "http"))
        return next((pages[address] for address in candidates if address in pages), None)
