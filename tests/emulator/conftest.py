from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests

from tests.emulator import GITHUB_TOKEN, Clock, Emulator, Scenario, day

NOW = day("2026-09-22T03:00:00Z")


@pytest.fixture
def clock() -> Clock:
    """Give a clock that stands at three in the morning."""
    return Clock(NOW)


@pytest.fixture
def scenario() -> Scenario:
    """Give a scenario with nothing in it, which a test fills."""
    return Scenario()


@pytest.fixture
def emulator(scenario: Scenario, clock: Clock) -> Iterator[Emulator]:
    """Give the emulator of the test's scenario."""
    with Emulator(scenario, clock=clock) as running:
        yield running


@pytest.fixture
def anonymous() -> Iterator[requests.Session]:
    """Give a client without a token."""
    with requests.Session() as session:
        session.trust_env = False
        yield session


@pytest.fixture
def known(anonymous: requests.Session) -> requests.Session:
    """Give a client with a token that GitHub accepts."""
    anonymous.headers["Authorization"] = f"Bearer {GITHUB_TOKEN}"
    return anonymous


@pytest.fixture(autouse=True)
def hub_pauses(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> list[float]:
    """Give the list of pauses that the Hub's client made before new tries; they pass on the test's clock only."""
    from huggingface_hub.utils import _http

    made: list[float] = []

    class Time:
        @staticmethod
        def sleep(seconds: float) -> None:
            made.append(seconds)
            clock.sleep(seconds)

    monkeypatch.setattr(_http, "time", Time)
    return made
