"""Values as an author writes them: '12 GiB', 6144, true, 2026-08-31, a text, or a list of such."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from generator.errors import InputError, did_you_mean, quoted
from generator.quantity import BYTE, SHOWN, Unit, parsed
from generator.specs.document import Node, ScalarNode, SequenceNode
from generator.specs.shapes import DAY, Place, Schema, Shape, day

Plain = int | float | str | bool
Value = Plain | list[Plain]

_QUANTITY = re.compile(r"([+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?)\s*([A-Za-z%×µ][A-Za-z%×µ/]*)?")
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Written:
    """A value and the unit the author wrote: a name of `quantity.SHOWN`, or empty."""

    value: Value
    unit: str = ""


class FactValue(Shape[Written]):
    """The value of a fact: a quantity, a number, text, a truth value, or a list of one kind."""

    def read(self, node: Node, at: Place) -> Written:
        if isinstance(node, ScalarNode):
            return _scalar(node, at)
        if not isinstance(node, SequenceNode):
            at.refuse(node.line, "a value is expected, this is a table")
        if not node.items:
            at.refuse(node.line, "the list is empty", "list something, or record the fact as not_published")
        items = []
        for index, item in enumerate(node.items):
            place = at.item(index)
            if not isinstance(item, ScalarNode):
                place.refuse(item.line, "a list of a fact holds single values")
            items.append(_scalar(item, place))
        units = {item.unit for item in items}
        kinds = {isinstance(item.value, str) for item in items}
        if len(units) > 1 or len(kinds) > 1:
            at.refuse(node.line, "the items of the list are of different kinds or units", "write all of them alike")
        return Written([item.value for item in items if not isinstance(item.value, list)], units.pop())

    def definition(self) -> Schema:
        single: Schema = {"type": ["string", "number", "boolean"]}
        return {"anyOf": [single, {"type": "array", "items": single, "minItems": 1}]}


class Measure(Shape[Written]):
    """A number with a unit that measures `unit`."""

    def __init__(self, unit: Unit, example: str) -> None:
        self.unit = unit
        self.example = example
        self.names = [name for name, (_, base) in SHOWN.items() if base == unit and name]

    def read(self, node: Node, at: Place) -> Written:
        if not isinstance(node, ScalarNode):
            at.refuse(node.line, f"one value is expected, such as {self.example}")
        written = _scalar(node, at)
        if written.unit not in self.names:
            at.refuse(node.line, f"'{node.text}' is not in one of its units", f"write it as {self.example}; units: {quoted(self.names)}")
        return written

    def definition(self) -> Schema:
        units = "|".join(re.escape(name) for name in self.names)
        return {"type": "string", "pattern": rf"^\s*[0-9][0-9,]*(\.[0-9]+)?\s*({units})\s*$"}


SIZE = Measure(BYTE, "256 MiB")


def _scalar(node: ScalarNode, at: Place) -> Written:
    value = node.typed()
    if value is None:
        at.refuse(node.line, "no value stands here", "give a value, or record the fact with 'status: not_published'")
    if not isinstance(value, str):
        return Written(value)
    if not value.strip() or len(value) > _LONGEST:
        at.refuse(node.line, f"text of 1 to {_LONGEST} characters is expected, this has {len(value)}")
    if re.fullmatch(DAY, value):
        return Written(day(value, node.line, at).isoformat())
    match = _QUANTITY.fullmatch(value.strip())
    if match is None or (match[2] is None and not node.plain):
        return Written(value)
    unit = match[2] or ""
    if unit not in SHOWN:
        known = list(filter(None, SHOWN))
        near = [name for name in known if name.lower() == unit.lower()] or did_you_mean(unit, known)
        remedy = f"did you mean {quoted(near)}?" if near else f"units: {quoted(known)}; or write the number alone"
        at.refuse(node.line, f"'{value}' is no quantity: '{unit}' is no unit", remedy)
    return Written(_number(value, unit, node, at), unit)


def _number(text: str, unit: str, node: ScalarNode, at: Place) -> int | float:
    """Give the number in the unit it was written in: an int, or a float whose digits are the ones written."""
    try:
        based, _ = parsed(text)
    except InputError as error:
        at.report.refuse(node.line, at.path, error.problem, error.remedy)
    exact = based / SHOWN[unit][0]
    if exact.denominator == 1:
        return exact.numerator
    near = float(exact)
    if Fraction(str(near)) != exact:
        at.refuse(node.line, f"'{text}' has more digits than can be kept exactly", "write it in a smaller unit")
    return near
