"""How many requests a server still allows, kept so that none is sent that it would refuse.

GitHub says so in `x-ratelimit-remaining` and `x-ratelimit-reset` (a time), the Hub in `RateLimit: "api";r=...;t=...` (seconds left).
Each kind of request has a budget of its own: GitHub's core, search and graphql, the Hub's api and resolvers. Requests under
way count as spent until they are answered; an answer that cost nothing (304, on GitHub) gives its place back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from threading import Condition

from generator.sources.errors import SourceLimited

_NUMBER = re.compile(r"\d{1,12}", re.ASCII)
_RATE_LIMIT = re.compile(r"\br\s*=\s*(?P<remaining>\d{1,9})\s*;\s*t\s*=\s*(?P<seconds>\d{1,9})\b", re.ASCII)


class Budget:
    """The requests of one kind that one server allows; nothing is known of it before the first answer.

    `patience` is how many seconds are waited at most for the server to allow more. Safe to use from several threads.
    """

    def __init__(self, *, patience: float, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._patience = patience
        self._clock = clock
        self._sleep = sleep
        self._changed = Condition()
        self._remaining: int | None = None
        self._reset = 0.0
        self._closed_until = 0.0
        self._under_way = 0

    def take(self, url: str, cost: int = 1) -> None:
        """Take a request out, after waiting where that is short. Raises SourceLimited where the wait exceeds the patience."""
        while True:
            with self._changed:
                until = self._shut_until(cost)
                if until is None:
                    if self._remaining is None or self._remaining >= self._under_way + cost:
                        self._under_way += cost
                        return
                    self._changed.wait()
                    continue
            wait = until - self._clock()
            if wait > self._patience:
                raise SourceLimited(moment(until), url=url)
            if wait > 0:
                self._sleep(wait)

    def _shut_until(self, cost: int) -> float | None:
        """Give when the server allows more, None where it does now."""
        now = self._clock()
        if self._closed_until > now:
            return self._closed_until
        if self._remaining is not None and self._reset <= now:
            self._remaining = None
        return self._reset if self._remaining is not None and self._remaining < cost else None

    def settle(self, headers: Mapping[str, str], cost: int = 1) -> None:
        """Put in what an answer says is left; without an answer (no headers), what the request costs less."""
        found = stated(headers, self._clock())
        with self._changed:
            self._under_way -= cost
            if found is None:
                if self._remaining is not None:
                    self._remaining = max(0, self._remaining - cost)
            elif self._remaining is None:
                self._remaining, self._reset = found
            else:
                self._remaining = min(self._remaining, found[0])
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """Send nothing for so long: the server asked for it."""
        with self._changed:
            self._closed_until = max(self._closed_until, self._clock() + seconds)


def stated(headers: Mapping[str, str], now: float) -> tuple[int, float] | None:
    """Give the number of requests that an answer says are left, and when there are more (seconds of the epoch)."""
    remaining, reset = headers.get("x-ratelimit-remaining", ""), headers.get("x-ratelimit-reset", "")
    if _NUMBER.fullmatch(remaining) and _NUMBER.fullmatch(reset):
        return int(remaining), float(reset)
    if found := _RATE_LIMIT.search(headers.get("ratelimit", "")):
        return int(found["remaining"]), now + int(found["seconds"])
    return None


def moment(seconds: float) -> datetime | None:
    """Give a time of the epoch in UTC; None where a server states one that is no date."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
