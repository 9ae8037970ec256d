"""What was answered before: the ETag or date to ask with, and the body to give when the server says that nothing changed.

With a folder, one JSON file per question: `{"format": 1, "asked": ..., "headers": {...}, "sha256": ..., "body": ...}`, named by the
hash of the question. The body is text of the code points 0 to 255, one a byte, so that any body survives. A file is written whole or
not at all, and one that cannot be read, or whose body is not what its hash says, counts as not there: it costs one full answer.
No request header is kept, so no token is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock

from generator.facts import write_whole

FORMAT = 1

KEPT = ("content-type", "etag", "last-modified", "link", "x-repo-commit")
"""The headers of an answer that are kept."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer that was kept: its body, and the headers of `KEPT` that it had, by lower-case name."""

    body: bytes = field(repr=False)
    headers: Mapping[str, str]

    @property
    def conditions(self) -> dict[str, str]:
        """The headers that ask for another answer than this one only."""
        asked = {"If-None-Match": self.headers.get("etag", ""), "If-Modified-Since": self.headers.get("last-modified", "")}
        return {name: value for name, value in asked.items() if value}


class Validators:
    """Answers by question, in memory and, where a folder is given, kept in it. Safe to use from several threads."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._answers: dict[str, Stored] = {}
        self._lock = Lock()

    def get(self, asked: str) -> Stored | None:
        """Give what was answered to `asked`."""
        with self._lock:
            held = self._answers.get(asked)
        if held is None and self._folder is not None and (held := _read(self._path(asked), asked)) is not None:
            with self._lock:
                self._answers[asked] = held
        return held

    def put(self, asked: str, headers: Mapping[str, str], body: bytes) -> None:
        """Keep an answer."""
        known = {name.lower(): value for name, value in headers.items()}
        held = Stored(body, {name: known[name] for name in KEPT if name in known})
        with self._lock:
            self._answers[asked] = held
        if self._folder is not None:
            rows = {
                "format": FORMAT,
                "asked": asked,
                "headers": held.headers,
                "sha256": sha256(body).hexdigest(),
                "body": body.decode("latin-1"),
            }
            write_whole(self._path(asked), json.dumps(rows, sort_keys=True) + "\n")

    def _path(self, asked: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{sha256(asked.encode()).hexdigest()}.json"


def _read(path: Path, asked: str) -> Stored | None:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        body = rows["body"].encode("latin-1")
        if (rows["format"], rows["asked"], rows["sha256"]) != (FORMAT, asked, sha256(body).hexdigest()):
            return None
        headers = rows["headers"]
        return Stored(body, {name: str(headers[name]) for name in KEPT if name in headers})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
