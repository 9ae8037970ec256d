"""The ledger: every quantity and claim of one guide, for machines and for the page's last section."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from generator.claims import Claim
from generator.errors import GenError, UnknownNameError
from generator.facts import Fact, Facts, Source
from generator.quantity import (
    BYTE,
    BYTE_PER_SECOND,
    BYTE_PER_TOKEN,
    ONE,
    SECOND,
    TOKEN,
    Constant,
    Leaf,
    Quantity,
    shown,
)

FORMAT = 1

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class DuplicateKeyError(GenError):
    """Two quantities of one guide claimed the same ledger key."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"two numbers of the guide are called '{key}'", remedy="a key names one number: rename one of them")


@dataclass(frozen=True, slots=True)
class Show:
    """How a number is shown where nothing else is asked for: a unit of `quantity.SHOWN` and decimals."""

    unit: str
    digits: int


@dataclass(slots=True)
class Book:
    """The numbers of one guide by key, in the order they were written down."""

    numbers: dict[str, Quantity] = field(default_factory=dict)
    shows: dict[str, Show] = field(default_factory=dict)

    def add(self, key: str, quantity: Quantity, unit: str | None = None, digits: int = 0) -> Quantity:
        """Write a quantity down under a key and give it back with that name. Raises DuplicateKeyError."""
        if key in self.numbers:
            raise DuplicateKeyError(key)
        named = quantity if quantity.key == key else quantity.named(key)
        self.numbers[key] = named
        if unit is not None:
            self.shows[key] = Show(unit, digits)
        return named

    def __getitem__(self, key: str) -> Quantity:
        if key not in self.numbers:
            raise UnknownNameError("number", key, self.numbers, remedy="`gen explain MODEL CARD` lists the numbers of a guide")
        return self.numbers[key]

    def __contains__(self, key: str) -> bool:
        return key in self.numbers

    def text(self, key: str, unit: str | None = None, digits: int | None = None) -> str:
        """Give a number as text, in its usual unit and digits or in those asked for."""
        quantity = self[key]
        usual = self.shows.get(key) or usual_show(quantity)
        if unit is None:
            return shown(quantity, usual.unit, usual.digits if digits is None else digits)
        return shown(quantity, unit, digits)


def usual_show(quantity: Quantity) -> Show:
    """Give how a quantity is shown when nobody said: sizes in GiB or MiB, times in ms, ratios with two digits."""
    values: tuple[int | Fraction, ...] = quantity.value if isinstance(quantity.value, tuple) else (quantity.value,)
    whole = all(isinstance(value, int) for value in values)
    size = max((abs(Fraction(value)) for value in values), default=Fraction(0))
    if quantity.unit == BYTE:
        if isinstance(quantity.value, tuple) or size < 2**20:
            return Show("B", 0)
        return Show("GiB", 3) if size >= 2**27 else Show("MiB", 1)
    if quantity.unit == BYTE_PER_TOKEN:
        return Show("B/token", 0)
    if quantity.unit == BYTE_PER_SECOND:
        return Show("GB/s", 1)
    if quantity.unit == SECOND:
        return Show("ms", 2)
    if quantity.unit == TOKEN:
        return Show("tokens", 0 if whole else 2)
    if quantity.unit == ONE:
        return Show("", 0 if whole else 2)
    return Show(str(quantity.unit), 0 if whole else 2)


@dataclass(frozen=True, slots=True)
class Row:
    """One number of the ledger.

    `inputs` are the keys a derived number follows from; `sources` are those of a number that was read; `checked` is the
    oldest check among everything it rests on.
    """

    key: str
    quantity: Quantity
    display: str
    kind: str
    formula: str
    inputs: tuple[str, ...]
    sources: tuple[Source, ...]
    checked: date | None
    note: str = ""

    def as_dict(self) -> dict[str, object]:
        """Give the row for JSON; a fraction has its exact value beside the rounded one."""
        value = self.quantity.value
        rows: dict[str, object] = {
            "value": [_plain(item) for item in value] if isinstance(value, tuple) else _plain(value),
            "unit": str(self.quantity.unit),
            "display": self.display,
            "kind": self.kind,
            "checked": self.checked.isoformat() if self.checked else None,
        }
        if isinstance(value, Fraction):
            rows["exact"] = str(value)
        if self.formula:
            rows["formula"] = self.formula
        if self.inputs:
            rows["inputs"] = list(self.inputs)
        if self.sources:
            rows["sources"] = [source.read_on(self.checked).as_dict() for source in self.sources]
        if self.note:
            rows["note"] = self.note
        return rows


@dataclass(frozen=True, slots=True)
class Ledger:
    """Rows by key and claims by id, both in a stable order; `verdicts` on the parts of a public claim, where the page is of one."""

    recipe: Mapping[str, object]
    rows: Mapping[str, Row]
    claims: Mapping[str, Claim]
    dates: frozenset[tuple[str, str]] = frozenset()
    verdicts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @staticmethod
    def of(recipe: Mapping[str, object], book: Book, claims: Iterable[Claim], facts: Facts) -> Ledger:
        """Collect a guide's numbers and everything they follow from, down to facts; `dates` are (address, day) of the facts."""
        rows: dict[str, Row] = {}
        for quantity in book.numbers.values():
            _collect(quantity, rows, book)
        return Ledger(recipe, rows, {claim.id: claim for claim in claims}, frozenset(_dates(facts)))

    def __getitem__(self, key: str) -> Row:
        if key not in self.rows:
            raise UnknownNameError("number", key, self.rows, remedy="`gen explain MODEL CARD` lists the numbers of a guide")
        return self.rows[key]

    def below(self, key: str) -> list[Row]:
        """Give a number's row and those of everything it follows from, in the order of the ledger. Raises UnknownNameError."""
        wanted: set[str] = set()
        asked = [key]
        while asked:
            row = self[asked.pop()]
            if row.key not in wanted:
                wanted.add(row.key)
                asked += row.inputs
        return [row for row in self.rows.values() if row.key in wanted]

    def as_dict(self) -> dict[str, object]:
        """Give the ledger in the form that `guide.json` and `gen explain --json` have."""
        return {
            "format": FORMAT,
            "recipe": dict(self.recipe),
            "numbers": {key: row.as_dict() for key, row in self.rows.items()},
            "claims": {claim.id: claim.as_dict() for claim in self.claims.values()},
            **({"verdicts": {name: dict(verdict) for name, verdict in self.verdicts.items()}} if self.verdicts else {}),
        }

    def json(self) -> str:
        """Give `as_dict` as JSON text, one key a line, the same bytes for the same ledger."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=1) + "\n"


def _dates(facts: Facts) -> Iterator[tuple[str, str]]:
    """Give the days on which something is known of an address: checks, and facts that are days themselves."""
    for fact in facts:
        days = [fact.checked, fact.first_seen, fact.changed, fact.source.retrieved]
        yield from ((fact.source.url, day.isoformat()) for day in days if day)
        if isinstance(fact.value, str) and _ISO_DATE.fullmatch(fact.value):
            yield fact.source.url, fact.value


def _collect(quantity: Quantity, rows: dict[str, Row], book: Book) -> Row | None:
    """Put a quantity and all it follows from into `rows`, inputs first; give its own row if it has a key."""
    how = quantity.derivation
    if isinstance(how, Leaf) and not quantity.key:
        return _fact_row(how.fact, rows)
    if quantity.key in rows:
        return rows[quantity.key]
    below = [row for each in quantity.inputs() if (row := _collect(each, rows, book)) is not None]
    if isinstance(how, Leaf):
        row = _leaf_row(quantity, how, _display(quantity, book), rows)
    else:
        inputs = tuple(dict.fromkeys(row.key for row in below))
        checks = [row.checked for row in below]
        checked = min((day for day in checks if day), default=None)
        kind = "declared" if isinstance(how, Constant) else "derived"
        note = how.why if isinstance(how, Constant) else ""
        formula = quantity.formula() if kind == "derived" else ""
        row = Row(quantity.key, quantity, _display(quantity, book), kind, formula, inputs, (), checked, note)
    rows[row.key] = row
    return row


def _leaf_row(quantity: Quantity, leaf: Leaf, display: str, rows: dict[str, Row]) -> Row:
    """Give the row of a value that was read from a fact, or follows from those that the fact was made from."""
    fact = leaf.fact
    assert isinstance(fact, Fact)
    stated = _stated_in(fact, leaf.label)
    if stated is None and fact.basis:
        below = [_basis_row(each, rows) for each in fact.basis]
        inputs, checked = tuple(row.key for row in below), min((row.checked for row in below if row.checked), default=None)
        return Row(quantity.key, quantity, display, "derived", fact.note, inputs, (), checked)
    fact = stated or fact
    return Row(quantity.key, quantity, display, fact.origin, "", (), (fact.source,), fact.checked, leaf.label or fact.note)


def _stated_in(fact: Fact, label: str) -> Fact | None:
    """Give the fact that states a part of a table which was made from facts: `config.x` for `architecture.x`, or for an item of it."""
    name = label.partition(".")[2].partition("[")[0]
    return next((each for each in fact.basis if name and each.key == f"config.{name}"), None)


def _basis_row(fact: Fact, rows: dict[str, Row]) -> Row:
    """Give the row of a number, or of a list of them, that a table was made from."""
    if fact.key not in rows:
        quantity = fact.quantity()
        show = usual_show(quantity)
        rows[fact.key] = _leaf_row(quantity, Leaf(fact), shown(quantity, show.unit, show.digits), rows)
    return rows[fact.key]


def _fact_row(fact: object, rows: dict[str, Row]) -> Row:
    """Give the row of a table that many numbers were read from: its length, and its source."""
    assert isinstance(fact, Fact)
    if fact.key not in rows:
        size = len(fact.value) if isinstance(fact.value, list | dict) else 0
        quantity = Quantity.read(size, ONE, fact, "entries").named(fact.key)
        rows[fact.key] = _leaf_row(quantity, Leaf(fact), shown(quantity, "", 0), rows)
    return rows[fact.key]


def _display(quantity: Quantity, book: Book) -> str:
    show = book.shows.get(quantity.key) or usual_show(quantity)
    return shown(quantity, show.unit, show.digits)


def _plain(value: int | Fraction) -> int | float:
    return value if isinstance(value, int) else float(value)
