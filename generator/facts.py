"""Facts: values read from a source, with who said so and when; and the lock that records them.

A lock is a JSON file that is committed and reviewed. Its keys are sorted, a fact is one block, and
writing what was read gives the same bytes. It carries a digest of its own content, so an edit by hand
is noticed: what a person decides belongs in the YAML beside it.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from hashlib import sha256
from pathlib import Path

from generator.errors import InputError, MissingFileError, UnknownNameError
from generator.quantity import SHOWN, Number, Quantity, Value

ORIGINS = ("fetched", "header", "transcribed", "reconstructed", "declared", "measured")
"""How a value was obtained: asked of its source; read from a GGUF header; copied by a person from a publication;
rebuilt from published totals; decided by the recipe's author; reported by a run."""

STATUSES = ("ok", "changed", "gone", "unreachable", "not_published")

LOCK_FORMAT = 1


class LockError(InputError):
    """A lock that cannot be trusted: unreadable, of another format, or edited by hand."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value was read: an address, a package URL where one exists, and what was pinned there."""

    url: str
    purl: str = ""
    title: str = ""
    revision: str = ""
    sha256: str = ""
    retrieved: date | None = None

    def as_dict(self) -> dict[str, str]:
        """Give the source for JSON, without what is not known."""
        rows = {
            "url": self.url,
            "purl": self.purl,
            "title": self.title,
            "revision": self.revision,
            "sha256": self.sha256,
            "retrieved": self.retrieved.isoformat() if self.retrieved else "",
        }
        return {key: value for key, value in rows.items() if value}

    def read_on(self, day: date | None) -> Source:
        """Give the source with the day on which it was last read, where it does not say so itself."""
        return self if self.retrieved else replace(self, retrieved=day)

    @staticmethod
    def from_dict(rows: Mapping[str, str]) -> Source:
        """Read back what `as_dict` gave."""
        known = dict(rows)
        retrieved = known.pop("retrieved", "")
        return Source(known.pop("url", ""), **known, retrieved=date.fromisoformat(retrieved) if retrieved else None)


@dataclass(frozen=True, slots=True)
class Ask:
    """How a fact's source can be asked again: the kind of question, and its parts by name."""

    kind: str
    parts: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(kind: str, **parts: str) -> Ask:
        """Give a question from its parts."""
        return Ask(kind, tuple(sorted(parts.items())))

    def __getitem__(self, name: str) -> str:
        return dict(self.parts)[name]

    def __str__(self) -> str:
        return f"{self.kind} " + " ".join(f"{name}={value}" for name, value in self.parts)


@dataclass(frozen=True, slots=True)
class Fact:
    """A value read from a source.

    `value` is in `unit` (a name of `quantity.SHOWN`, or empty) and may be a number, text, a truth value, a list or a
    table; None where the source publishes none. `checked` is the last day the source answered and was compared. `ask` is how
    to ask the source again, where a program can; it belongs to the spec and is not locked. `basis` are the facts that one was made from
    which no source states as a whole; that is not locked either.
    """

    key: str
    value: object
    unit: str = ""
    origin: str = "transcribed"
    source: Source = field(default_factory=lambda: Source(""))
    first_seen: date | None = None
    changed: date | None = None
    checked: date | None = None
    status: str = "ok"
    note: str = ""
    ask: Ask | None = None
    basis: tuple[Fact, ...] = ()

    @property
    def known(self) -> bool:
        """Tell whether there is a value to work with."""
        return self.value is not None and self.status not in {"not_published", "gone"}

    def quantity(self, label: str = "") -> Quantity:
        """Give the fact as a quantity in its base unit. Raises InputError where it is no number."""
        value = self.value
        numbers: Value
        if isinstance(value, list | tuple) and all(_is_number(item) for item in value):
            numbers = tuple(self._based(item) for item in value)
        elif _is_number(value):
            numbers = self._based(value)
        else:
            raise InputError(f"fact '{self.key}' is no number: {value!r}", remedy="give it a number and a unit, or do not compute with it")
        return Quantity.read(numbers, SHOWN[self.unit][1], self, label).named(self.key)

    def _based(self, value: object) -> Number:
        assert isinstance(value, int | float | str)
        scale, _ = SHOWN[self.unit]
        from fractions import Fraction

        exact = Fraction(str(value)) * scale
        return exact.numerator if exact.denominator == 1 else exact

    def as_dict(self) -> dict[str, object]:
        """Give the fact for JSON, without what is not known; `key` is left to the one who lists it."""
        rows: dict[str, object] = {
            "value": self.value,
            "unit": self.unit,
            "origin": self.origin,
            "source": self.source.as_dict(),
            "first_seen": self.first_seen.isoformat() if self.first_seen else "",
            "changed": self.changed.isoformat() if self.changed else "",
            "checked": self.checked.isoformat() if self.checked else "",
            "status": self.status,
            "note": self.note,
        }
        return {key: value for key, value in rows.items() if key == "value" or value not in ("", {})}

    @staticmethod
    def from_dict(key: str, rows: Mapping[str, object]) -> Fact:
        """Read back what `as_dict` gave. Raises LockError where a part is not what it should be."""
        remedy = "write the lock again with `gen lock`"
        try:
            known = dict(rows)
            dates = {name: date.fromisoformat(str(known.pop(name))) for name in ("first_seen", "changed", "checked") if name in known}
            source = Source.from_dict(known.pop("source", {}))  # type: ignore[arg-type]
            fact = Fact(key, known.pop("value"), source=source, **dates, **known)  # type: ignore[arg-type]
            understood = fact.origin in ORIGINS and fact.status in STATUSES and fact.unit in SHOWN
        except (KeyError, TypeError, ValueError) as error:
            raise LockError(f"fact '{key}' is not readable: {error}", remedy=remedy) from error
        if not understood:
            raise LockError(f"fact '{key}' has an unknown origin, status or unit", remedy=remedy)
        return fact


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class Facts:
    """Facts by key. A key that is not there is an error that names the near ones, never a silent nothing."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._by_key = {fact.key: fact for fact in facts}

    def __getitem__(self, key: str) -> Fact:
        if key not in self._by_key:
            raise UnknownNameError("fact", key, self._by_key, remedy="declare it in the spec, or write the lock again with `gen lock`")
        return self._by_key[key]

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def under(self, prefix: str) -> list[Fact]:
        """Give the facts whose key starts with `prefix` and a dot, in order of their keys."""
        return [self._by_key[key] for key in sorted(self._by_key) if key.startswith(prefix + ".")]

    def merged(self, other: Iterable[Fact]) -> Facts:
        """Give these facts with `other` laid over them."""
        return Facts([*self._by_key.values(), *other])


@dataclass(frozen=True, slots=True)
class Lock:
    """The committed record of facts for one subject (a model, say); `command` is the one that writes it."""

    subject: str
    facts: Facts = field(default_factory=Facts)
    command: str = "gen lock"

    def updated(self, facts: Iterable[Fact], today: date) -> Lock:
        """Give the lock with `facts` in it, keeping for each when it was first seen and last changed."""
        fresh = []
        for fact in facts:
            old = self.facts[fact.key] if fact.key in self.facts else None
            if old is None:
                fresh.append(replace(fact, first_seen=fact.first_seen or fact.checked or today))
            elif _said(old) == _said(fact):
                fresh.append(replace(fact, first_seen=old.first_seen, changed=old.changed))
            else:
                fresh.append(replace(fact, first_seen=old.first_seen, changed=fact.checked or today))
        return replace(self, facts=self.facts.merged(fresh))

    def text(self) -> str:
        """Give the lock as it is written: sorted keys, one fact a block, a digest of the content first."""
        content = self._content()
        blocks = [f"  {json.dumps(key)}: {_block(rows)}" for key, rows in sorted(content.items())]
        head = [
            f' "format": {LOCK_FORMAT}',
            f' "subject": {json.dumps(self.subject)}',
            f' "digest": {json.dumps(_digest(self.subject, content))}',
            f' "written_by": {json.dumps(f"{self.command}; do not edit, decisions belong in the YAML beside it")}',
        ]
        return "{\n" + ",\n".join(head) + ',\n "facts": {\n' + ",\n".join(blocks) + "\n }\n}\n"

    def write(self, path: Path) -> bool:
        """Write the lock; tell whether the file changed. A crash leaves the old file whole."""
        return write_whole(path, self.text())

    def _content(self) -> dict[str, dict[str, object]]:
        return {fact.key: fact.as_dict() for fact in self.facts}

    @staticmethod
    def read(path: Path) -> Lock:
        """Read a lock. Raises MissingFileError and LockError, each naming the file and the remedy."""
        remedy = "restore it with `git checkout`, or write it again with `gen lock`"
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise MissingFileError(path, reason="the lock does not exist", remedy="write it with `gen lock`") from error
        except OSError as error:
            raise MissingFileError(path, reason=f"the lock cannot be read: {error.strerror}", remedy=remedy) from error
        except (ValueError, RecursionError) as error:
            raise LockError(f"this is no JSON: {error}", where=str(path), remedy=remedy) from error
        if not isinstance(rows, dict) or rows.get("format") != LOCK_FORMAT:
            found = rows.get("format") if isinstance(rows, dict) else None
            raise LockError(f"this is no lock of format {LOCK_FORMAT} (found {found!r})", where=str(path), remedy=remedy)
        facts = rows.get("facts")
        if not isinstance(facts, dict) or rows.get("digest") != _digest(str(rows.get("subject")), facts):
            raise LockError(
                "the content does not match its digest: the lock was edited by hand or merged badly", where=str(path), remedy=remedy
            )
        try:
            return Lock(str(rows.get("subject")), Facts(Fact.from_dict(key, value) for key, value in facts.items()))
        except LockError as error:
            raise LockError(error.problem, where=str(path), remedy=error.remedy) from error


def write_whole(path: Path, text: str) -> bool:
    """Write `text` to `path` by way of a temporary file and a rename; tell whether the content is new."""
    raw = text.encode("utf-8")
    if path.exists() and path.read_bytes() == raw:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(raw)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return True


def _said(fact: Fact) -> str:
    """Give what a fact says, as a lock writes it: a tuple is the list it is read back as, and true is not 1."""
    return json.dumps([fact.value, fact.unit, fact.status], sort_keys=True)


def _digest(subject: str, facts: Mapping[str, object]) -> str:
    canonical = json.dumps([LOCK_FORMAT, subject, facts], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return "sha256:" + sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _block(rows: Mapping[str, object]) -> str:
    lines = [f"   {json.dumps(key)}: {_value(value)}" for key, value in sorted(rows.items())]
    return "{\n" + ",\n".join(lines) + "\n  }"


def _value(value: object) -> str:
    """Give JSON with a table's rows one a line, so that a diff shows the row that changed."""
    if isinstance(value, list) and value and all(isinstance(row, list) for row in value):
        return "[\n" + ",\n".join(f"    {_line(row)}" for row in value) + "\n   ]"
    if isinstance(value, dict) and len(value) > 4:
        return "{\n" + ",\n".join(f"    {json.dumps(key)}: {_line(item)}" for key, item in sorted(value.items())) + "\n   }"
    return _line(value)


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
