"""The one session through which all sources of a run are asked.

What it adds to `requests`: a token goes to the addresses it is for and nowhere else; a request that the server would refuse for its
rate limit is not sent; what may pass is tried again with growing pauses, what will not is not; a question that was answered before
is asked with its ETag, and an unchanged answer given from the store; a server that keeps failing is left alone. Every request
is counted. Safe to use from several threads.

No error holds a token, the query of an address, or anything that a server wrote.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urljoin, urlsplit

from generator.sources.budgets import Budget, moment, stated
from generator.sources.errors import (
    BadAnswer,
    InvalidAddress,
    SourceDenied,
    SourceError,
    SourceLimited,
    SourceMoved,
    SourceNotFound,
    SourceUnreachable,
)
from generator.sources.transfer import Broken, transfer
from generator.sources.validators import Validators

if TYPE_CHECKING:
    import requests

ATTEMPTS = 4
"""How often one question is asked at most."""

PATIENCE = 60.0
"""Seconds that a rate limit is waited for at most."""

SECONDARY_PAUSE = 60.0
"""Seconds to wait where a server limits without saying for how long; GitHub asks for a minute at least, and more each time."""

GIVEN_UP_AFTER = 3
"""How many questions in a row a server may leave unanswered before it is left alone."""

JSON = "application/json"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HOPS = 5
_PASSING = frozenset({408, 425, 500, 502, 503, 504})
_FIRST_PAUSE = 0.5
_AT_ONCE = 16
_SECRET = 16
"""Characters from which on a token cannot stand in an answer by chance."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: where it came from in the end, its status, headers (any case) and body; `stored` where nothing had changed."""

    url: str = field(repr=False)
    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    stored: bool = False

    def json(self) -> Any:
        """Read the body as JSON. Raises BadAnswer."""
        import json

        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            what = "HTML" if self.is_html else "something that is no JSON"
            raise BadAnswer(f"asked for JSON, it sends {what}", url=self.url) from None

    @property
    def is_html(self) -> bool:
        """Tell whether the answer is a web page."""
        return "html" in self.headers.get("content-type", "").lower()


@dataclass(frozen=True, slots=True)
class _Question:
    method: str
    url: str
    budget: str
    headers: Mapping[str, str]
    body: bytes | None = field(default=None, repr=False)
    cost: int = 1


class Session:
    """Asks servers. `validators` keeps what was answered, `http` is what is sent with.

    `sleep`, `clock` (seconds of the epoch) and `chance` (0 to 1) are those of the machine.
    """

    def __init__(
        self,
        validators: Validators | None = None,
        *,
        patience: float = PATIENCE,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        http: requests.Session | None = None,
    ) -> None:
        self._validators = validators or Validators()
        self._patience = patience
        self._sleep, self._clock, self._chance = sleep, clock, chance
        self._tokens: dict[str, str] = {}
        self._budgets: dict[tuple[str, str], Budget] = {}
        self._unanswered: Counter[str] = Counter()
        self._spent: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()
        self._http = http or _pooled()
        self._http.headers["User-Agent"] = f"gen/{version('gen-guides')} (re-checks the facts of guides)"
        self._http.auth = _as_it_is

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def authorize(self, address: str, token: str) -> None:
        """Send `token` with every request to `address` or below it, and with no other; an empty one keeps those of above from it."""
        with self._lock:
            self._tokens[address.rstrip("/")] = token

    @property
    def spent(self) -> Counter[tuple[str, str]]:
        """The requests sent so far, by host and outcome.

        An outcome is one of answered, unchanged (304), redirected, limited, refused (another 4xx), failed (5xx, or no whole answer).
        """
        with self._lock:
            return self._spent.copy()

    @property
    def requests(self) -> int:
        """The number of requests sent so far."""
        return self.spent.total()

    def get(
        self,
        url: str,
        *,
        accept: str = JSON,
        budget: str = "",
        headers: Mapping[str, str] | None = None,
        immutable: bool = False,
        may_be_empty: bool = False,
    ) -> Reply:
        """Ask for what is at an address; of what was answered before, ask only whether it changed, or nothing where it is `immutable`.

        `budget` names the kind of request, each of which a server limits apart. Redirects are followed. Raises a SourceError for
        every answer that is no success, or has no content where it may not be empty.
        """
        first = f"{accept} {url}"
        if immutable and (held := self._validators.get(first)) is not None:
            return Reply(url, 200, _any_case(held.headers), held.body, stored=True)
        for _ in range(_HOPS):
            reply = self._get(url, accept, budget, headers or {})
            if reply.status in _REDIRECTS:
                url = _target(reply)
                continue
            reply = _checked(reply, accept, may_be_empty=may_be_empty)
            if immutable and _is_whole(reply, accept):
                self._validators.put(first, reply.headers, reply.body)
            return reply
        raise BadAnswer("it redirects in circles", url=url)

    def _get(self, url: str, accept: str, budget: str, headers: Mapping[str, str]) -> Reply:
        asked = f"{accept} {url}"
        held = self._validators.get(asked)
        reply = self._ask(_Question("GET", url, budget, {**headers, "Accept": accept, **(held.conditions if held else {})}))
        if reply.status == 304:
            if held is None:
                raise BadAnswer("it says that nothing changed, to one who asked for the first time", url=url)
            return Reply(url, 200, _any_case({**held.headers, **reply.headers}), held.body, stored=True)
        if _is_whole(reply, accept) and ("etag" in reply.headers or "last-modified" in reply.headers):
            self._validators.put(asked, reply.headers, reply.body)
        return reply

    def head(self, url: str, *, budget: str = "", headers: Mapping[str, str] | None = None) -> Reply:
        """Ask for the headers of what is at an address; a redirect is given as it is. Raises a SourceError."""
        return _checked(self._ask(_Question("HEAD", url, budget, headers or {})), "*/*", may_be_empty=True)

    def post_json(self, url: str, payload: object, *, budget: str = "", cost: int = 1) -> Reply:
        """Ask with a body of JSON, for JSON; nothing must be changed by it, for it may be asked twice. Raises a SourceError.

        `cost` is what the server will take from the budget.
        """
        import json

        headers = {"Accept": JSON, "Content-Type": JSON}
        reply = _checked(self._ask(_Question("POST", url, budget, headers, json.dumps(payload).encode(), cost)), JSON)
        if reply.status != 200:
            raise SourceMoved(_target(reply), url=url)
        return reply

    def _ask(self, question: _Question) -> Reply:
        """Ask until there is an answer that is final, as often as is allowed. Raises SourceUnreachable, SourceLimited, BadAnswer."""
        origin = _origin(question.url)
        problem: SourceError | None = None
        for attempt in range(ATTEMPTS):
            if self._unanswered[origin] >= GIVEN_UP_AFTER:
                raise problem or SourceUnreachable("the server left several questions unanswered, and is left alone now", url=question.url)
            if attempt and not isinstance(problem, SourceLimited):
                self._sleep(_FIRST_PAUSE * 2**attempt * (0.5 + self._chance()))
            reply, problem = self._once(question, attempt)
            if reply is not None:
                self._note_answer(origin)
                return reply
        assert problem is not None
        if isinstance(problem, SourceLimited):
            raise problem
        with self._lock:
            self._unanswered[origin] += 1
        raise problem

    def _once(self, question: _Question, attempt: int) -> tuple[Reply, None] | tuple[None, SourceError]:
        """Send one request; give its answer, or why it should be asked again."""
        budget = self._budget(question)
        budget.take(question.url, question.cost)
        answered: Mapping[str, str] = {}
        try:
            got = transfer(self._http, question.method, question.url, self._headers(question), question.body, self._clock)
            answered = got.headers
        except Broken as broken:
            self._count(question.url, "failed")
            if broken.short:
                return None, BadAnswer(broken.reason, url=question.url)
            return None, SourceUnreachable(broken.reason, url=question.url)
        finally:
            budget.settle(answered, question.cost)
        reply = Reply(question.url, got.status, got.headers, got.body)
        if (pause := self._limit(reply, attempt)) is not None:
            self._count(question.url, "limited")
            self._close(question, pause, reply)
            return None, SourceLimited(moment(self._clock() + pause), url=question.url)
        if reply.status in _PASSING or reply.status >= 500:
            self._count(question.url, "failed")
            budget.close(min(_retry_after(reply, self._clock()) or 0, self._patience))
            return None, SourceUnreachable(f"the server answers with status {reply.status}", url=question.url)
        self._count(question.url, _outcome(reply.status))
        with self._lock:
            secrets = [token.encode() for token in self._tokens.values() if len(token) >= _SECRET]
        if any(secret in reply.body for secret in secrets):
            raise BadAnswer("it repeats the token it was sent", url=question.url)
        return reply, None

    def _limit(self, reply: Reply, attempt: int) -> float | None:
        """Give for how many seconds a server wants no requests, where it refused one for their number."""
        if reply.status not in {403, 429}:
            return None
        now = self._clock()
        left = stated(reply.headers, now)
        waits = [_retry_after(reply, now), left[1] - now if left and left[0] == 0 else None]
        if known := [wait for wait in waits if wait is not None]:
            return max([*known, _FIRST_PAUSE])
        if reply.status == 429 or b"secondary rate limit" in reply.body.lower():
            return SECONDARY_PAUSE * float(2**attempt)
        return None

    def _close(self, question: _Question, pause: float, reply: Reply) -> None:
        """Send nothing for a while: of this kind where its number is used up, else to the whole server, for it means that."""
        used_up = (stated(reply.headers, self._clock()) or (1, 0.0))[0] == 0
        with self._lock:
            budgets = [budget for key, budget in self._budgets.items() if key[0] == _origin(question.url)]
        for budget in [self._budget(question)] if used_up else budgets:
            budget.close(pause)

    def _budget(self, question: _Question) -> Budget:
        key = _origin(question.url), question.budget
        with self._lock:
            if key not in self._budgets:
                self._budgets[key] = Budget(patience=self._patience, clock=self._clock, sleep=self._sleep)
            return self._budgets[key]

    def _headers(self, question: _Question) -> dict[str, str]:
        """Add the token that is for the address, where there is one."""
        with self._lock:
            places = [place for place in self._tokens if _lies_under(question.url, place)]
            token = self._tokens[max(places, key=len)] if places else ""
        return {**question.headers, **({"Authorization": f"Bearer {token}"} if token else {})}

    def _count(self, url: str, outcome: str) -> None:
        with self._lock:
            self._spent[urlsplit(url).netloc.rpartition("@")[2], outcome] += 1

    def _note_answer(self, origin: str) -> None:
        with self._lock:
            self._unanswered[origin] = 0


def _pooled() -> requests.Session:
    """Give a session that keeps a connection for each of several workers."""
    import requests
    from requests.adapters import HTTPAdapter

    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_connections=_AT_ONCE, pool_maxsize=_AT_ONCE))
    return session


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Send a request with the headers it has: otherwise `requests` would put in what a netrc file says of the host."""
    return request


def _checked(reply: Reply, accept: str, *, may_be_empty: bool = False) -> Reply:
    """Give an answer that is a success or a redirect. Raises the SourceError that another one is."""
    status = reply.status
    code = reply.headers.get("x-error-code", "")
    strange = reply.is_html and "html" not in accept and accept != "*/*" and not code
    if status in {404, 410} and not strange:
        raise SourceNotFound(url=reply.url, gone=status == 410, code=code if code.isascii() and code.isalnum() else "")
    if status in {401, 403, 451}:
        raise SourceDenied(status, url=reply.url)
    if strange:
        raise BadAnswer("it sends a web page to one who asked for something else", url=reply.url)
    if status in _REDIRECTS:
        return reply
    if status != 200:
        raise BadAnswer(f"status {status}", url=reply.url)
    if not reply.body and not may_be_empty:
        raise BadAnswer("it sends nothing at all", url=reply.url)
    return reply


def _is_whole(reply: Reply, accept: str) -> bool:
    """Tell whether an answer may be kept: JSON that was cut off on its way would come back for as long as its ETag holds."""
    if reply.status != 200 or not reply.body or (reply.is_html and "html" not in accept):
        return False
    if not reply.headers.get("content-type", "").lower().startswith(JSON):
        return True
    try:
        reply.json()
    except BadAnswer:
        return False
    return True


def _target(reply: Reply) -> str:
    """Give where an answer redirects to. Raises BadAnswer."""
    try:
        target = urljoin(reply.url, reply.headers["location"])
        _origin(target)
    except (KeyError, ValueError, InvalidAddress):
        raise BadAnswer("it redirects to no web address", url=reply.url) from None
    return target


def _outcome(status: int) -> str:
    if status == 304:
        return "unchanged"
    if status in _REDIRECTS:
        return "redirected"
    return "answered" if status < 400 else "refused"


def _retry_after(reply: Reply, now: float) -> float | None:
    """Give the seconds that an answer asks to wait, which it states as such or as a date."""
    text = reply.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - now, 0.0)
    except ValueError:
        return None


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InvalidAddress(url) from None
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise InvalidAddress(url)
    return f"{parts.scheme}://{parts.netloc}"


def _lies_under(url: str, place: str) -> bool:
    return url == place or url.startswith((f"{place}/", f"{place}?"))


def _any_case(headers: Mapping[str, str]) -> Mapping[str, str]:
    from requests.structures import CaseInsensitiveDict

    return CaseInsensitiveDict(headers)
