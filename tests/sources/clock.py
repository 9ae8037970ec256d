"""A clock for tests: it stands still until someone sleeps by it."""

from __future__ import annotations

from threading import Lock


class Clock:
    """Seconds of the epoch, from 2026-09-08 on. `pauses` are the sleeps so far, in seconds."""

    def __init__(self) -> None:
        self.time = 1_788_825_600.0
        self.pauses: list[float] = []
        self._lock = Lock()

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.pauses.append(seconds)
            self.time += seconds
