"""Numbers that know their unit and where they came from.

A `Quantity` holds an exact value (an int, or a Fraction where a division did not come out even; or a
tuple of them for a list) in a base unit, and the way it was derived: a leaf read from a source, or an
operation on other quantities. Arithmetic checks units and records itself, so the derivation of any
number can be printed, and evaluated again, down to the bytes read from a file.

Sizes are held in bytes whatever they are shown in: GiB, MiB, GB are ways of showing, not units, so
GiB and GB cannot be mixed up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from math import ceil
from typing import Protocol

from generator.errors import GenError, InputError

Number = int | Fraction
Value = Number | tuple[Number, ...]


class UnitError(GenError):
    """Two quantities were combined, or shown, in a way their units do not allow."""


# --- units ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """A product of powers of base units, in a fixed order: bytes, parameters, tokens, seconds, watts, bits."""

    powers: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        above = [_power(name, power) for name, power in self.powers if power > 0]
        below = [_power(name, -power) for name, power in self.powers if power < 0]
        if not below:
            return "·".join(above)
        return ("·".join(above) or "1") + "/" + "/".join(below)


BASE_UNITS = ("B", "params", "tok", "s", "W", "bit")
"""Bytes, parameters, tokens, seconds, watts, bits (of a bus: widths, not amounts of data)."""


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"


@lru_cache(maxsize=1024)
def _times(left: Unit, right: Unit, sign: int) -> Unit:
    powers = dict(left.powers)
    for name, power in right.powers:
        powers[name] = powers.get(name, 0) + sign * power
    return Unit(tuple((name, powers[name]) for name in BASE_UNITS if powers.get(name)))


ONE = Unit()
BYTE = Unit((("B", 1),))
PARAMETER = Unit((("params", 1),))
TOKEN = Unit((("tok", 1),))
SECOND = Unit((("s", 1),))
WATT = Unit((("W", 1),))
BIT = Unit((("bit", 1),))
PER_SECOND = Unit((("s", -1),))
BYTE_PER_TOKEN = _times(BYTE, TOKEN, -1)
BYTE_PER_SECOND = _times(BYTE, SECOND, -1)
BYTE_PER_PARAMETER = _times(BYTE, PARAMETER, -1)
TOKEN_PER_SECOND = _times(TOKEN, SECOND, -1)
SECOND_PER_TOKEN = _times(SECOND, TOKEN, -1)

SHOWN: dict[str, tuple[Fraction, Unit]] = {
    "": (Fraction(1), ONE),
    "%": (Fraction(1, 100), ONE),
    "×": (Fraction(1), ONE),
    "B": (Fraction(1), BYTE),
    "bytes": (Fraction(1), BYTE),
    "KiB": (Fraction(2**10), BYTE),
    "MiB": (Fraction(2**20), BYTE),
    "GiB": (Fraction(2**30), BYTE),
    "kB": (Fraction(10**3), BYTE),
    "MB": (Fraction(10**6), BYTE),
    "GB": (Fraction(10**9), BYTE),
    "params": (Fraction(1), PARAMETER),
    "M": (Fraction(10**6), PARAMETER),
    "G": (Fraction(10**9), PARAMETER),
    "tok": (Fraction(1), TOKEN),
    "tokens": (Fraction(1), TOKEN),
    "s": (Fraction(1), SECOND),
    "ms": (Fraction(1, 10**3), SECOND),
    "µs": (Fraction(1, 10**6), SECOND),
    "B/tok": (Fraction(1), BYTE_PER_TOKEN),
    "B/token": (Fraction(1), BYTE_PER_TOKEN),
    "KiB/token": (Fraction(2**10), BYTE_PER_TOKEN),
    "MiB/token": (Fraction(2**20), BYTE_PER_TOKEN),
    "GiB/token": (Fraction(2**30), BYTE_PER_TOKEN),
    "MB/token": (Fraction(10**6), BYTE_PER_TOKEN),
    "GB/token": (Fraction(10**9), BYTE_PER_TOKEN),
    "B/s": (Fraction(1), BYTE_PER_SECOND),
    "MB/s": (Fraction(10**6), BYTE_PER_SECOND),
    "GB/s": (Fraction(10**9), BYTE_PER_SECOND),
    "GiB/s": (Fraction(2**30), BYTE_PER_SECOND),
    "MHz": (Fraction(10**6), PER_SECOND),
    "GHz": (Fraction(10**9), PER_SECOND),
    "MT/s": (Fraction(10**6), PER_SECOND),
    "W": (Fraction(1), WATT),
    "bit": (Fraction(1), BIT),
    "tok/s": (Fraction(1), TOKEN_PER_SECOND),
    "t/s": (Fraction(1), TOKEN_PER_SECOND),
    "s/tok": (Fraction(1), SECOND_PER_TOKEN),
    "ms/tok": (Fraction(1, 10**3), SECOND_PER_TOKEN),
    "ms/token": (Fraction(1, 10**3), SECOND_PER_TOKEN),
}
"""What a value may be shown in: name -> (how much of the base unit one is, the base unit).

B, KiB = 2^10, MiB = 2^20, GiB = 2^30 bytes; kB = 10^3, MB = 10^6, GB = 10^9 bytes.
"""

_TEXT = re.compile(r"\s*(?P<number>[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*(?P<unit>[^\s\d][^\s]*)?\s*")


# --- derivations ---------------------------------------------------------------------------------


class Fact(Protocol):
    """What a leaf needs to know of the thing it was read from (`generator.facts.Fact` is one)."""

    @property
    def key(self) -> str: ...
    @property
    def origin(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value read from a fact. `label` names the part of it, when it is not the whole."""

    fact: Fact
    label: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that belongs to a rule (4 bytes in an F32), with the words that say so."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """How a value follows from others; `evaluate` gives it again from their values."""

    symbol: str
    operands: tuple[Quantity, ...]
    evaluate: Callable[[Sequence[Value]], Value]
    words: str = ""


Derivation = Leaf | Constant | Operation


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An exact value in `unit` with its derivation; `key` names it in the ledger once it has a name."""

    value: Value
    unit: Unit = ONE
    derivation: Derivation = field(default_factory=Constant, repr=False)
    key: str = ""

    # construction

    @staticmethod
    def constant(value: Number, unit: Unit = ONE, why: str = "") -> Quantity:
        """Give a number that a rule itself contains."""
        return Quantity(_exact(value), unit, Constant(why))

    @staticmethod
    def read(value: Value, unit: Unit, fact: Fact, label: str = "") -> Quantity:
        """Give a value read from a fact."""
        return Quantity(value, unit, Leaf(fact, label))

    def named(self, key: str) -> Quantity:
        """Give the same quantity under a ledger key. Naming an already named one keeps both steps visible."""
        if not self.key:
            return Quantity(self.value, self.unit, self.derivation, key)
        return Quantity(self.value, self.unit, Operation("=", (self,), lambda values: values[0]), key)

    # arithmetic

    def __add__(self, other: Quantity) -> Quantity:
        self._same_unit(other, "add")
        return Quantity(_exact(self.number + other.number), self.unit, Operation("+", (self, other), _add))

    def __sub__(self, other: Quantity) -> Quantity:
        self._same_unit(other, "subtract")
        return Quantity(_exact(self.number - other.number), self.unit, Operation("-", (self, other), _subtract))

    def __mul__(self, other: Quantity | int) -> Quantity:
        other = _quantity(other)
        return Quantity(_exact(self.number * other.number), _times(self.unit, other.unit, 1), Operation("*", (self, other), _multiply))

    __rmul__ = __mul__

    def __truediv__(self, other: Quantity | int) -> Quantity:
        other = _quantity(other)
        if other.number == 0:
            raise UnitError(f"division of {self} by zero")
        value = _exact(Fraction(self.number) / other.number)
        return Quantity(value, _times(self.unit, other.unit, -1), Operation("/", (self, other), _divide))

    def rounded_up(self, step: int = 1) -> Quantity:
        """Give the next multiple of `step` (in the quantity's own unit) that is not below the value."""
        multiple = Quantity.constant(step, self.unit)
        return Quantity(ceil(Fraction(self.number) / step) * step, self.unit, Operation("ceil", (self, multiple), _round_up))

    def without_unit(self, unit: Unit, why: str) -> Quantity:
        """Give the bare count of `unit` in this quantity; `why` says what is being counted."""
        if unit != self.unit:
            raise UnitError(f"cannot count '{unit}' in a value in '{self.unit}'")
        return self / Quantity.constant(1, unit, why)

    def length(self) -> Quantity:
        """Give how many values a list has."""
        return Quantity(_length([self.value]), ONE, Operation("count", (self,), _length))

    @property
    def number(self) -> Number:
        """The value as one number; an error when it is a list."""
        if isinstance(self.value, tuple):
            raise UnitError(f"{self.key or 'a list'} is a list of {len(self.value)} values, not one number")
        return self.value

    def __int__(self) -> int:
        if not isinstance(self.value, int):
            raise UnitError(f"{self.key or self.value} is not a whole number")
        return self.value

    def __float__(self) -> float:
        return float(self.number)

    def __lt__(self, other: Quantity) -> bool:
        self._same_unit(other, "compare")
        return self.number < other.number

    def __le__(self, other: Quantity) -> bool:
        self._same_unit(other, "compare")
        return self.number <= other.number

    def equals(self, other: Quantity) -> bool:
        """Tell whether value and unit agree, however either was derived."""
        return self.unit == other.unit and self.value == other.value

    def _same_unit(self, other: Quantity, verb: str) -> None:
        if self.unit != other.unit:
            raise UnitError(f"cannot {verb} a value in '{self.unit}' and one in '{other.unit}'")

    # derivation

    @property
    def operands(self) -> tuple[Quantity, ...]:
        """The quantities this one was computed from; none for a leaf or a constant."""
        return self.derivation.operands if isinstance(self.derivation, Operation) else ()

    def recomputed(self) -> Value:
        """Evaluate the derivation again from its leaves, trusting no stored intermediate value."""
        if isinstance(self.derivation, Operation):
            return self.derivation.evaluate([operand.recomputed() for operand in self.operands])
        return self.value

    def inputs(self) -> list[Quantity]:
        """Give the nearest named quantities and leaves that this one follows from, in order, each once."""
        found: dict[int, Quantity] = {}
        for operand in self.operands:
            for each in operand._boundary():
                found.setdefault(id(each), each)
        return list(found.values())

    def _boundary(self) -> Iterator[Quantity]:
        if self.key or isinstance(self.derivation, Leaf):
            yield self
        else:
            for operand in self.operands:
                yield from operand._boundary()

    def formula(self) -> str:
        """Give the derivation down to named quantities and leaves, as in `[weights.resident] - [weights.host]`."""
        return _formula(self, top=True)

    def __str__(self) -> str:
        return f"{self.value} {self.unit}".strip()


def total(parts: Iterable[Quantity], *, unit: Unit = BYTE, words: str = "") -> Quantity:
    """Add up many quantities of one unit as one step; `words` says what they are ("routed experts of blocks 0-25")."""
    operands = tuple(parts)
    for operand in operands:
        if operand.unit != unit:
            raise UnitError(f"cannot add a value in '{operand.unit}' to a total in '{unit}'")
    value = _exact(sum(operand.number for operand in operands))
    return Quantity(value, unit, Operation("sum", operands, _sum, words))


def largest(parts: Iterable[Quantity]) -> Quantity:
    """Give the largest of some quantities of one unit."""
    operands = tuple(parts)
    best = reduce(lambda left, right: right if left < right else left, operands)
    return Quantity(best.number, best.unit, Operation("max", operands, lambda values: max(map(scalar, values))))


def smallest(parts: Iterable[Quantity]) -> Quantity:
    """Give the smallest of some quantities of one unit."""
    operands = tuple(parts)
    best = reduce(lambda left, right: right if right < left else left, operands)
    return Quantity(best.number, best.unit, Operation("min", operands, lambda values: min(map(scalar, values))))


def derived(value: Value, unit: Unit, inputs: Iterable[Quantity], evaluate: Callable[[Sequence[Value]], Value], words: str) -> Quantity:
    """Give a value that follows from `inputs` by a rule that is no arithmetic; `words` state the rule, `evaluate` applies it again."""
    return Quantity(value, unit, Operation("rule", tuple(inputs), evaluate, words))


# --- text ----------------------------------------------------------------------------------------


def shown(quantity: Quantity, unit: str | None = None, digits: int | None = None) -> str:
    """Give the quantity as text in `unit` (a key of SHOWN; its own by default), rounded half to even at `digits` decimals.

    Whole numbers have thousands separators; the unit is always printed. Raises UnitError where `unit` measures something else.
    """
    if isinstance(quantity.value, tuple):
        parts = [shown(Quantity(value, quantity.unit), unit, digits) for value in quantity.value]
        return ", ".join(parts)
    name = str(quantity.unit) if unit is None else unit
    if name not in SHOWN:
        raise UnitError(f"nothing is shown in '{name}'")
    scale, base = SHOWN[name]
    if base != quantity.unit:
        raise UnitError(f"a value in '{quantity.unit}' cannot be shown in '{name}'")
    scaled = Fraction(quantity.value) / scale
    if digits is None:
        if scaled.denominator != 1:
            raise UnitError(f"{quantity.key or quantity} is no whole number of '{name}': say how many digits to show")
        digits = 0
    number = rounded(scaled, digits)
    joint = "" if name in {"", "×"} else " "
    return f"{number}{joint}{name}"


def rounded(value: Number, digits: int) -> str:
    """Give a number rounded half to even at `digits` decimals, with thousands separators."""
    scaled = Fraction(value) * 10**digits
    whole = round(scaled)  # Fraction rounds half to even, exactly
    context = Context(prec=max(len(str(abs(whole))), 1) + digits + 1, rounding=ROUND_HALF_EVEN)
    return f"{Decimal(whole).scaleb(-digits, context):,.{digits}f}"


def parsed(text: str, *, where: str = "") -> tuple[Fraction, Unit]:
    """Read "11.0 GiB", "1024 MiB", "65 GB/s" or "26" as an exact value and its base unit. Raises InputError."""
    match = _TEXT.fullmatch(text)
    unit = (match["unit"] or "") if match else ""
    if match is None or unit not in SHOWN:
        remedy = "write a number and one of these units: " + " ".join(name for name in SHOWN if name)
        raise InputError(f"'{text}' is no quantity", where=where, remedy=remedy)
    scale, base = SHOWN[unit]
    return Fraction(match["number"].replace(",", "")) * scale, base


def shows(text: str, quantity: Quantity) -> bool:
    """Tell whether `text` is the quantity, correctly rounded at the digits and in the unit it shows."""
    if isinstance(quantity.value, tuple):
        parts = text.split(", ")
        return len(parts) == len(quantity.value) and all(
            shows(part, Quantity(value, quantity.unit)) for part, value in zip(parts, quantity.value, strict=True)
        )
    match = _TEXT.fullmatch(text)
    if match is None or (match["unit"] or "") not in SHOWN:
        return False
    digits = len(match["number"].partition(".")[2])
    scale, base = SHOWN[match["unit"] or ""]
    if base != quantity.unit:
        return False
    return match["number"].replace(",", "") == rounded(Fraction(quantity.value) / scale, digits).replace(",", "")


# --- helpers -------------------------------------------------------------------------------------


def _exact(value: Number) -> Number:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _quantity(value: Quantity | int) -> Quantity:
    return value if isinstance(value, Quantity) else Quantity.constant(value)


def scalar(value: Value) -> Number:
    """Give a value that is one number. Raises UnitError for a list."""
    if isinstance(value, tuple):
        raise UnitError("a list where one number was expected")
    return value


def _add(values: Sequence[Value]) -> Value:
    return _exact(scalar(values[0]) + scalar(values[1]))


def _subtract(values: Sequence[Value]) -> Value:
    return _exact(scalar(values[0]) - scalar(values[1]))


def _multiply(values: Sequence[Value]) -> Value:
    return _exact(scalar(values[0]) * scalar(values[1]))


def _divide(values: Sequence[Value]) -> Value:
    return _exact(Fraction(scalar(values[0])) / scalar(values[1]))


def _round_up(values: Sequence[Value]) -> Value:
    step = scalar(values[1])
    return _exact(ceil(Fraction(scalar(values[0])) / step) * step)


def _length(values: Sequence[Value]) -> Value:
    return len(values[0]) if isinstance(values[0], tuple) else 1


def _sum(values: Sequence[Value]) -> Value:
    return _exact(sum(map(scalar, values)))


_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2}


def _formula(quantity: Quantity, *, top: bool = False) -> str:
    how = quantity.derivation
    if quantity.key and not top:
        return f"[{quantity.key}]"
    if isinstance(how, Leaf):
        return f"[{how.fact.key}]" + (f"({how.label})" if how.label else "")
    if isinstance(how, Constant):
        return str(quantity)
    if how.symbol in _BINDING:
        return f" {how.symbol} ".join(_operand(operand, how.symbol, last) for last, operand in enumerate(how.operands))
    if how.symbol == "=":
        return _formula(how.operands[0])
    if how.words:
        return how.words
    return f"{how.symbol}({', '.join(_formula(operand) for operand in how.operands)})"


def _operand(quantity: Quantity, symbol: str, position: int) -> str:
    text = _formula(quantity)
    how = quantity.derivation
    if quantity.key or isinstance(how, Leaf):
        return text
    if isinstance(how, Constant):
        return f"({text})" if isinstance(quantity.value, Fraction) or quantity.number < 0 else text
    if how.symbol not in _BINDING:
        return f"({text})" if how.words else text
    weaker = _BINDING[how.symbol] < _BINDING[symbol]
    same_on_the_right = position == 1 and symbol in {"-", "/"} and _BINDING[how.symbol] == _BINDING[symbol]
    return f"({text})" if weaker or same_on_the_right else text
