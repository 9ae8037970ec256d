from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sources.server import Server, serving

CONTENT = bytes(number * 31 % 251 for number in range(100_000))


@pytest.fixture
def server() -> Iterator[Server]:
    """Give a server of 100,000 bytes."""
    with serving(CONTENT) as running:
        yield running


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the list of pauses that were made before new tries; none takes time."""
    made: list[float] = []
    monkeypatch.setattr("generator.sources.ranges.sleep", made.append)
    return made
