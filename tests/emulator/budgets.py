"""How many requests each site allows, and how many are left: fixed windows, one for each client and class of request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Limit:
    """How much a window of `seconds` allows to a client without a token and to one with."""

    anonymous: int
    authorised: int
    seconds: int


@dataclass
class _Window:
    ends: float = 0.0
    used: int = 0


@dataclass(frozen=True)
class Left:
    """What a window allows (`limit`), has given (`used`) and has left, and when in seconds since 1970 it ends."""

    limit: int
    used: int
    ends: float
    seconds: int

    @property
    def remaining(self) -> int:
        """How much is left."""
        return max(0, self.limit - self.used)


def published() -> dict[str, Limit]:
    """Give the limits that the sites publish; of the Hub those of a free account."""
    return {
        "hub.api": Limit(500, 1000, 300),
        "hub.resolvers": Limit(3000, 5000, 300),
        "hub.pages": Limit(100, 200, 300),
        "github.core": Limit(60, 5000, 3600),
        "github.search": Limit(10, 30, 60),
        "github.graphql": Limit(0, 5000, 3600),
    }


class Budgets:
    """The windows of all clients. `limits` may be changed at any time; what a window has given already stays spent."""

    def __init__(self) -> None:
        self.limits = published()
        self._windows: dict[tuple[str, str], _Window] = {}

    def spend(self, name: str, token: str, now: float, cost: int = 1) -> bool:
        """Take from a budget; tell whether there was enough. What is refused is not taken."""
        window = self._window(name, token, now)
        if window.used + cost > self._allowed(name, token):
            return False
        window.used += cost
        return True

    def left(self, name: str, token: str, now: float) -> Left:
        """Give what is left of a budget."""
        window = self._window(name, token, now)
        return Left(self._allowed(name, token), window.used, window.ends, self.limits[name].seconds)

    def leave(self, name: str, remaining: int, *, token: str = "", now: float) -> None:
        """Spend a budget down to this many requests."""
        window = self._window(name, token, now)
        window.used = self._allowed(name, token) - remaining

    def refill(self) -> None:
        """Begin every window anew."""
        self._windows.clear()

    def _allowed(self, name: str, token: str) -> int:
        limit = self.limits[name]
        return limit.authorised if token else limit.anonymous

    def _window(self, name: str, token: str, now: float) -> _Window:
        window = self._windows.setdefault((name, token), _Window())
        if now >= window.ends:
            window.ends, window.used = now + self.limits[name].seconds, 0
        return window
