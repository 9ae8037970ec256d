"""What can be wrong with a source. `url` is its address without credentials, query or fragment: no error holds a secret.

What follows for a check: a 404 or a 410 may be the end of the thing (`SourceNotFound`), a move has a new place (`SourceMoved`); every
other error says that the source could not be asked, and nothing about what it would have said.
"""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlsplit, urlunsplit

from generator.errors import GenError, InputError


def shown_url(url: str) -> str:
    """Give an address without its credentials, query and fragment; nothing of one that cannot be read."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class SourceError(GenError):
    """Base of what can be wrong with a source on the network."""

    def __init__(self, problem: str, *, url: str, remedy: str) -> None:
        self.url = shown_url(url)
        super().__init__(problem, where=self.url, remedy=remedy)


class InvalidAddress(SourceError, InputError):
    """An address that is no web address."""

    def __init__(self, url: str) -> None:
        super().__init__("this is no http or https address", url=url, remedy="give an address that begins with https://")


class SourceNotFound(SourceError):
    """There is no such thing on the server; `gone` where it says that there once was (410), `code` its own word for what is missing."""

    exit_code = 2

    def __init__(self, *, url: str, gone: bool = False, code: str = "") -> None:
        self.gone = gone
        self.code = code
        problem = "this was deleted from the server" if gone else "there is no such file on the server"
        super().__init__(problem, url=url, remedy="check the address; it may have been renamed, or a token may be needed to see it")


class SourceMoved(SourceError):
    """The thing lives elsewhere: at the address `to`; of a thread, `repository` and `number` there."""

    def __init__(self, to: str, *, url: str, repository: str = "", number: int = 0) -> None:
        self.to = shown_url(to)
        self.repository = repository
        self.number = number
        super().__init__(f"this moved to {self.to}", url=url, remedy="name the new place in the spec")


class SourceDenied(SourceError):
    """The server wants to know who asks, or refuses whoever does: a gate, a private place, a wrong token. `status` is 401 or 403."""

    def __init__(self, status: int, *, url: str) -> None:
        self.status = status
        super().__init__(f"the server refuses access (status {status})", url=url, remedy="set a token that may read this")


class SourceLimited(SourceError):
    """The number of requests that the server allows is spent; `reset` is when it allows more, in UTC, where it says so."""

    def __init__(self, reset: datetime | None, *, url: str) -> None:
        self.reset = reset
        until = f", until {reset:%Y-%m-%d %H:%M:%S} UTC" if reset else ""
        super().__init__(
            f"the server allows no more requests now{until}", url=url, remedy="run again later, or set a token to be allowed more"
        )


class SourceUnreachable(SourceError):
    """The server could not be reached, or kept failing."""

    def __init__(self, reason: str, *, url: str) -> None:
        self.reason = reason
        super().__init__(f"this could not be asked for: {reason}", url=url, remedy="check the network, or try again later")


class SourceChanged(SourceError):
    """The file was replaced while it was being read."""

    def __init__(self, what: str, before: object, after: object, *, url: str) -> None:
        self.what = what
        self.before = before
        self.after = after
        super().__init__(f"the file changed while being read: its {what} went from {before} to {after}", url=url, remedy="read it again")


class BadAnswer(SourceError):
    """The server answered something that is no answer to the question."""

    def __init__(self, problem: str, *, url: str) -> None:
        super().__init__(f"the server answered wrongly: {problem}", url=url, remedy="try again later, or look at the address yourself")
