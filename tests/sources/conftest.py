from __future__ import annotations

from collections.abc import Iterator

import pytest

from generator.sources.github import GitHub
from generator.sources.session import Session
from generator.sources.validators import Validators
from tests.emulator import GITHUB_TOKEN, Emulator, day
from tests.emulator import Clock as Time
from tests.sources.answers import GOOD
from tests.sources.clock import Clock
from tests.sources.nights import new_session
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


@pytest.fixture
def good(server: Server) -> None:
    """Let the server answer every question well that no rule answers."""
    server.otherwise = lambda _: GOOD


@pytest.fixture
def clock() -> Clock:
    """Give a clock that stands still but when it is slept by."""
    return Clock()


@pytest.fixture
def session(clock: Clock) -> Iterator[Session]:
    """Give a session on that clock, whose pauses are not varied by chance."""
    with Session(sleep=clock.sleep, clock=clock.now, chance=lambda: 0.5) as opened:
        yield opened


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """Give the Hub, GitHub and the web as they are on 2026-09-08, selected by the environment, to clients without tokens."""
    with Emulator(clock=Time(day("2026-09-08"))) as running:
        for name, value in running.environment(tokens=False).items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def validators() -> Validators:
    """Give the store of answers that the live session keeps them in."""
    return Validators()


@pytest.fixture
def live(emulator: Emulator, validators: Validators) -> Session:
    """Give a session by the emulator's clock."""
    return new_session(emulator, validators)


@pytest.fixture
def github(server: Server, session: Session, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    """Give a GitHub that is played by the plain server, to a client with a token."""
    monkeypatch.setenv("GITHUB_API_URL", f"{server.address}/")
    return GitHub(session, GITHUB_TOKEN)
