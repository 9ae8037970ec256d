"""Web pages, such as a vendor's table of a card: fetched, hashed, and searched for words.

That words are *not* on a page says something only of the page one meant: look for words that it must have, too.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import urlsplit

from generator.sources.errors import SourceMoved, shown_url
from generator.sources.session import Reply, Session

_ACCEPT = "text/html,application/xhtml+xml,*/*;q=0.8"
_CHARSET = re.compile(r"charset\s*=\s*[\"']?(?P<name>[\w.:-]+)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was served: where it was found in the end, the hash of its bytes, its source text."""

    url: str
    status: int
    sha256: str
    text: str = field(repr=False)

    def count(self, pattern: str) -> int:
        """Count a pattern in the page's source, literally, but in any case, however its spaces and signs are written."""
        return _plain(self.text).count(_plain(pattern)) if pattern.strip() else 0


class Web:
    """Pages of the web."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def page(self, address: str) -> Page:
        """Fetch a page. Raises a SourceError; SourceMoved where it redirects to the front page, as sites do with pages they dropped."""
        reply = self._session.get(address, accept=_ACCEPT, budget="pages")
        moved = reply.url != address
        if moved and _is_front(reply.url) and not _is_front(address):
            raise SourceMoved(reply.url, url=address)
        return Page(shown_url(reply.url) if moved else address, reply.status, sha256(reply.body).hexdigest(), _text(reply))


def _is_front(url: str) -> bool:
    return urlsplit(url).path in {"", "/"}


def _text(reply: Reply) -> str:
    """Decode a page as its headers say, else its first kibibyte, else as UTF-8; signs that cannot be read are replaced."""
    head = reply.body[:1024].decode("latin-1")
    stated = _CHARSET.search(reply.headers.get("content-type", "")) or _CHARSET.search(head)
    try:
        return reply.body.decode(stated["name"] if stated else "utf-8", errors="replace")
    except LookupError:
        return reply.body.decode("utf-8", errors="replace")


def _plain(text: str) -> str:
    return " ".join(html.unescape(text).casefold().split())
