"""Shapes: one description of a value, from which both the check of a file and its JSON Schema are made.

A shape reads a node into a typed value, or notes every problem it finds and refuses. A `Record` is a table with known
keys (`Field`s); reading it goes on after a problem, so all problems of a file are reported at once.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Generic, NoReturn, TypeVar, cast

from generator.errors import did_you_mean, quoted
from generator.specs.document import MappingNode, Node, RefusedError, Report, ScalarNode, SequenceNode

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Schema = dict[str, object]

NAME = r"^[a-z0-9][a-z0-9.-]*$"
"""A name that becomes part of a path: lower case, digits, dots and hyphens."""

KEY = r"^[a-z][a-z0-9_]*$"
"""A key of an open table: facts, quotes, notes, citations."""

URL = r"^https?://[^\s<>\"'`]+$"
REPOSITORY = r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$"
DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file we are: the report and the key path."""

    report: Report
    path: str = ""

    def key(self, name: str) -> Place:
        """Give the place of a key here."""
        return Place(self.report, f"{self.path}.{name}" if self.path else name)

    def item(self, index: int) -> Place:
        """Give the place of a list's item."""
        return Place(self.report, f"{self.path}[{index}]")

    def fault(self, line: int, message: str, remedy: str = "") -> None:
        """Note a problem here and go on."""
        self.report.fault(line, self.path, message, remedy)

    def refuse(self, line: int, message: str, remedy: str = "") -> NoReturn:
        """Note a problem here and give up on this part."""
        self.report.refuse(line, self.path, message, remedy)


class Shape(ABC, Generic[T_co]):
    """What a value must look like. One with a `name` is defined once in a schema, for many uses."""

    name = ""

    @abstractmethod
    def read(self, node: Node, at: Place) -> T_co:
        """Give the value of a node. Notes every problem in the report and raises RefusedError."""

    @abstractmethod
    def definition(self) -> Schema:
        """Give the JSON Schema."""

    def schema(self) -> Schema:
        """Give the JSON Schema, or where the shape has a name, a reference to it."""
        return {"$ref": f"#/$defs/{self.name}"} if self.name else self.definition()

    def parts(self) -> Iterable[Shape[object]]:
        """Give the shapes it is made of."""
        return ()


# --- scalars -------------------------------------------------------------------------------------


def hint(word: str, known: Sequence[str], *, otherwise: str = "known") -> str:
    """Say which known words are near to `word`, or list them."""
    near = did_you_mean(word, known)
    return f"did you mean {quoted(near)}?" if near else f"{otherwise}: {quoted(known)}"


def scalar(node: Node, at: Place, wanted: str) -> float | str | bool:
    """Give the typed value of a scalar; refuses lists, tables and nothing."""
    if not isinstance(node, ScalarNode):
        at.refuse(node.line, f"{wanted} is expected, this is a {'list' if isinstance(node, SequenceNode) else 'table'}")
    value = node.typed()
    if value is None:
        at.refuse(node.line, "nothing stands here", f"give {wanted}, or delete the key")
    return value


class Text(Shape[str]):
    """Text, where `pattern` is given matching it; `words` say in a message what it must be."""

    def __init__(self, pattern: str = "", words: str = "text", *, longest: int = 1000) -> None:
        self.pattern = pattern
        self.words = words
        self.longest = longest

    def read(self, node: Node, at: Place) -> str:
        value = scalar(node, at, self.words)
        if not isinstance(value, str):
            at.refuse(node.line, f"{self.words} is expected, this is {_kind(value)}", "put it in quotes")
        if not value.strip() or len(value) > self.longest:
            at.refuse(node.line, f"{self.words} of 1 to {self.longest} characters is expected, this has {len(value)}")
        if self.pattern and not re.fullmatch(self.pattern, value):
            at.refuse(node.line, f"'{value}' is no {self.words}", f"it must match {self.pattern}")
        return value

    def definition(self) -> Schema:
        rows: Schema = {"type": "string", "minLength": 1, "maxLength": self.longest}
        return {**rows, "pattern": self.pattern} if self.pattern else rows


class OwnName(Text):
    """The name of what the file is about, which is also in its path; `part` says which part of the path."""

    def __init__(self, part: str) -> None:
        super().__init__(NAME, "name in lower case, with digits, dots and hyphens")
        self.part = part

    def read(self, node: Node, at: Place) -> str:
        value = super().read(node, at)
        expected = at.report.expected.get(self.part, value)
        if value != expected:
            at.refuse(node.line, f"'{value}' stands in a file whose place says '{expected}'", "rename one of the two")
        return value


class Whole(Shape[int]):
    """A whole number."""

    def __init__(self, smallest: int | None = None, largest: int | None = None) -> None:
        self.smallest = smallest
        self.largest = largest

    def read(self, node: Node, at: Place) -> int:
        value = scalar(node, at, "a whole number")
        if isinstance(value, bool) or not isinstance(value, int):
            at.refuse(node.line, f"a whole number is expected, this is {_kind(value)}: {value!r}")
        if self.smallest is not None and value < self.smallest:
            at.refuse(node.line, f"{value} is too small, the least is {self.smallest}")
        if self.largest is not None and value > self.largest:
            at.refuse(node.line, f"{value} is too large, the most is {self.largest}")
        return value

    def definition(self) -> Schema:
        limits = {"minimum": self.smallest, "maximum": self.largest}
        return {"type": "integer", **{name: value for name, value in limits.items() if value is not None}}


class Number(Shape[float]):
    """A number."""

    def read(self, node: Node, at: Place) -> float:
        value = scalar(node, at, "a number")
        if isinstance(value, bool) or not isinstance(value, int | float):
            at.refuse(node.line, f"a number is expected, this is {_kind(value)}: {value!r}")
        return value

    def definition(self) -> Schema:
        return {"type": "number"}


class Truth(Shape[bool]):
    """`true` or `false`."""

    def read(self, node: Node, at: Place) -> bool:
        value = scalar(node, at, "true or false")
        if not isinstance(value, bool):
            at.refuse(node.line, f"true or false is expected, this is {value!r}", "write true or false, without quotes")
        return value

    def definition(self) -> Schema:
        return {"type": "boolean"}


class Choice(Shape[str]):
    """One of some words."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)

    def read(self, node: Node, at: Place) -> str:
        value = scalar(node, at, "a word")
        if isinstance(value, bool) and "on" in self.words:
            at.refuse(node.line, f"{str(value).lower()} is none of its words", f"did you mean '{'on' if value else 'off'}'?")
        if value not in self.words:
            at.refuse(node.line, f"'{value}' is none of its words", hint(str(value), self.words))
        return str(value)

    def definition(self) -> Schema:
        return {"enum": list(self.words)}


class WholeOrWord(Shape[int | str]):
    """A whole number or one of some words."""

    def __init__(self, smallest: int | None, words: Sequence[str]) -> None:
        self.whole = Whole(smallest)
        self.choice = Choice(words)

    def read(self, node: Node, at: Place) -> int | str:
        textual = isinstance(node, ScalarNode) and isinstance(node.typed(), str)
        return self.choice.read(node, at) if textual else self.whole.read(node, at)

    def definition(self) -> Schema:
        return {"anyOf": [self.whole.schema(), self.choice.schema()]}


class Day(Shape[date]):
    """A day, as in 2026-08-31."""

    def read(self, node: Node, at: Place) -> date:
        value = scalar(node, at, "a day")
        return day(str(value), node.line, at)

    def definition(self) -> Schema:
        return {"type": "string", "format": "date", "pattern": DAY}


def day(text: str, line: int, at: Place) -> date:
    """Give the day a text states; refuses what is none."""
    try:
        found = date.fromisoformat(text) if re.fullmatch(DAY, text) else None
    except ValueError:
        found = None
    if found is None:
        at.refuse(line, f"'{text}' is no day", "write year-month-day, as in 2026-08-31")
    return found


class Scalar(Shape[int | float | str | bool]):
    """Any text, number or truth value."""

    def read(self, node: Node, at: Place) -> float | str | bool:
        return scalar(node, at, "text, a number, true or false")

    def definition(self) -> Schema:
        return {"type": ["string", "number", "boolean"]}


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "a truth value"
    return "a number" if isinstance(value, int | float) else "text"


# --- lists and tables ----------------------------------------------------------------------------


class ListOf(Shape[tuple[T, ...]]):
    """A list of values of one shape, none of them twice; at least one, or exactly `length`."""

    def __init__(self, each: Shape[T], *, length: int | None = None, repeats: bool = False) -> None:
        self.each = each
        self.length = length
        self.repeats = repeats

    def read(self, node: Node, at: Place) -> tuple[T, ...]:
        if not isinstance(node, SequenceNode):
            at.refuse(node.line, "a list is expected", "write it as [a, b], or one '- item' a line")
        values: list[T] = []
        good = self._long_enough(node, at)
        for index, item in enumerate(node.items):
            try:
                value = self.each.read(item, at.item(index))
            except RefusedError:
                good = False
                continue
            at.report.lines[at.item(index).path] = item.line
            if value in values and not self.repeats:
                at.item(index).fault(item.line, f"{value!r} is in the list already", "delete one of the two")
                good = False
            values.append(value)
        if not good:
            raise RefusedError
        return tuple(values)

    def _long_enough(self, node: SequenceNode, at: Place) -> bool:
        if self.length is not None and len(node.items) != self.length:
            at.fault(node.line, f"a list of {self.length} is expected, this has {len(node.items)}")
            return False
        if not node.items:
            at.fault(node.line, "the list is empty", "list something, or delete the key")
            return False
        return True

    def definition(self) -> Schema:
        least = 1 if self.length is None else self.length
        rows: Schema = {"type": "array", "items": self.each.schema(), "minItems": least}
        if self.length is not None:
            rows["maxItems"] = self.length
        return rows if self.repeats else {**rows, "uniqueItems": True}

    def parts(self) -> Iterable[Shape[object]]:
        return (self.each,)


def entries(node: Node, at: Place, what: str) -> Iterator[tuple[ScalarNode, Node]]:
    """Give the entries of a table, each key once; notes keys that stand twice. Refuses what is no table."""
    if not isinstance(node, MappingNode):
        at.refuse(node.line, f"a table ({what}) is expected", "write it as 'key: value', one a line")
    first: dict[str, int] = {}
    for key, value in node.entries:
        if key.text in first:
            at.key(key.text).fault(key.line, f"the key stands twice, first in line {first[key.text]}", "delete one of the two")
        else:
            first[key.text] = key.line
            at.report.lines[at.key(key.text).path] = key.line
            yield key, value


class TableOf(Shape[dict[str, T]]):
    """An open table: any keys that match `pattern`, values of one shape, some of them required."""

    def __init__(
        self, each: Shape[T], pattern: str = KEY, *, what: str = "names and values", required: Sequence[str] = (), about: str = ""
    ) -> None:
        self.each = each
        self.pattern = pattern
        self.what = what
        self.required = tuple(required)
        self.about = about

    def read(self, node: Node, at: Place) -> dict[str, T]:
        before = len(at.report.problems)
        values: dict[str, T] = {}
        for key, value in entries(node, at, self.what):
            if not re.fullmatch(self.pattern, key.text):
                at.key(key.text).fault(key.line, f"'{key.text}' cannot be a key here", f"it must match {self.pattern}")
            try:
                values[key.text] = self.each.read(value, at.key(key.text))
            except RefusedError:
                continue
        for name in self.required:
            if isinstance(node, MappingNode) and node.get(name) is None:
                at.key(name).fault(node.line, f"the key '{name}' is missing", self.about)
        if len(at.report.problems) > before:
            raise RefusedError
        return values

    def definition(self) -> Schema:
        rows: Schema = {"type": "object", "propertyNames": {"pattern": self.pattern}, "additionalProperties": self.each.schema()}
        return {**rows, "required": list(self.required)} if self.required else rows

    def parts(self) -> Iterable[Shape[object]]:
        return (self.each,)


@dataclass(frozen=True, slots=True)
class Field(Generic[T_co]):
    """A known key of a table: its shape, what it means, an example, and what stands for it where it is left out."""

    name: str
    shape: Shape[T_co]
    about: str
    example: object
    default: T_co | None
    required: bool


def required(name: str, shape: Shape[T], about: str, example: object = None) -> Field[T]:
    """Give a key that must be there."""
    return Field(name, shape, about, example, None, required=True)


def optional(name: str, shape: Shape[T], about: str, default: T, example: object = None) -> Field[T]:
    """Give a key that may be left out; `default` stands for it then."""
    return Field(name, shape, about, example, default, required=False)


class Values:
    """What was read of a record, by field."""

    def __init__(self, found: Mapping[str, object], line: int) -> None:
        self._found = found
        self.line = line

    def __getitem__(self, field: Field[T]) -> T:
        return cast("T", self._found.get(field.name, field.default))

    @property
    def names(self) -> tuple[str, ...]:
        """The keys that were given, in order."""
        return tuple(self._found)


Check = Callable[[MappingNode, Place], None]


class Record(Shape[T]):
    """A table with known keys.

    `build` makes the value of what was read. `check` notes problems between keys, whatever else is wrong; `also` says
    the same in JSON Schema, where that is possible.
    """

    def __init__(
        self,
        about: str,
        fields: Sequence[Field[object]],
        build: Callable[[Values, Place], T],
        *,
        check: Check | None = None,
        also: Schema | None = None,
        name: str = "",
    ) -> None:
        self.about = about
        self.fields = {field.name: field for field in fields}
        self.build = build
        self.check = check
        self.also = also or {}
        self.name = name

    def read(self, node: Node, at: Place) -> T:
        before = len(at.report.problems)
        found: dict[str, object] = {}
        for key, value in entries(node, at, self.about):
            field = self.fields.get(key.text)
            if field is None:
                at.key(key.text).fault(key.line, f"there is no key '{key.text}' here", hint(key.text, list(self.fields)))
                continue
            try:
                found[key.text] = field.shape.read(value, at.key(key.text))
            except RefusedError:
                continue
        assert isinstance(node, MappingNode)
        for field in self.fields.values():
            if field.required and node.get(field.name) is None:
                at.key(field.name).fault(node.line, f"the key '{field.name}' is missing", field.about)
        if self.check:
            self.check(node, at)
        if len(at.report.problems) > before:
            raise RefusedError
        built = self.build(Values(found, node.line), at)
        if len(at.report.problems) > before:  # what only the values told
            raise RefusedError
        return built

    def definition(self) -> Schema:
        return {
            "type": "object",
            "description": self.about,
            "properties": {field.name: _described(field) for field in self.fields.values()},
            "required": [field.name for field in self.fields.values() if field.required],
            "additionalProperties": False,
            **self.also,
        }

    def parts(self) -> Iterable[Shape[object]]:
        return [field.shape for field in self.fields.values()]


def _described(field: Field[object]) -> Schema:
    rows = {**field.shape.schema(), "description": field.about}
    if field.example is not None:
        rows["examples"] = [field.example]
    if isinstance(field.default, str | int | bool) and field.default != "":
        rows["default"] = field.default
    return rows
