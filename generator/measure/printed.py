"""Figures as an engine prints them: a size with the interval that its last digit leaves open.

The engine's log rounds to two decimals of a MiB (`%8.2f MiB`), its tables of whole MiB cut off what is left (an integer division in
common/fit.cpp and in `llama_memory_breakdown_print`). Two figures added up leave open the sum of both intervals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

MEBIBYTE = 2**20

LONGEST_LINE = 1000
"""Characters of a line that are looked at."""

_TOTAL = re.compile(r"(?:KV self size *= *|(?<!buffer )\bsize *= *|\btotal +)(?P<size>\d{1,12}(?:\.\d{1,4})?) MiB")
_PART = re.compile(r"(?P<part>c\^KV|kv\^T|[KVRS]) \([a-z0-9_]+\): +(?P<size>\d{1,12}(?:\.\d{1,4})?) MiB")
_ROW = re.compile(r"\| +- (?P<device>[^\s|]+)")
_COLUMNS = re.compile(r"(?P<self>\d{1,12}) = +(?P<model>\d{1,12}) \+ +(?P<context>\d{1,12}) \+ +(?P<compute>\d{1,12})\b")


@dataclass(frozen=True, slots=True)
class Printed:
    """A size in bytes that lies between `low` and `high`, and the text that said so."""

    low: Fraction
    high: Fraction
    text: str

    @staticmethod
    def rounded(mebibytes: str) -> Printed:
        """Give a figure rounded to its last decimal."""
        value, half = Fraction(mebibytes), _last(mebibytes) / 2
        return Printed((value - half) * MEBIBYTE, (value + half) * MEBIBYTE, f"{mebibytes} MiB")

    @staticmethod
    def cut(mebibytes: str) -> Printed:
        """Give a figure whose remainder was cut off."""
        value = Fraction(mebibytes)
        return Printed(value * MEBIBYTE, (value + _last(mebibytes)) * MEBIBYTE, f"{mebibytes} MiB")

    @staticmethod
    def added(parts: Iterable[Printed]) -> Printed:
        """Give the sum of some figures. Raises ValueError for none."""
        found = list(parts)
        if not found:
            raise ValueError("no figure to add")
        if len(found) == 1:
            return found[0]
        low = sum((part.low for part in found), Fraction(0))
        high = sum((part.high for part in found), Fraction(0))
        return Printed(low, high, " + ".join(part.text for part in found))

    def holds(self, size: int, slack: int = 0) -> bool:
        """Tell whether a size in bytes is what was printed, give or take `slack` bytes."""
        return self.low - slack <= size <= self.high + slack

    def difference(self, size: int) -> int:
        """Give how many bytes a size lies outside of what was printed: 0 within, negative below."""
        if size < self.low:
            return int(size - self.low)
        return int(size - self.high) if size > self.high else 0


def _last(mebibytes: str) -> Fraction:
    """Give what one step of the last digit is worth."""
    return Fraction(1, 10 ** len(mebibytes.partition(".")[2]))


def total_of(line: str) -> Printed | None:
    """Give the size that a line of cache or state says all of it takes; None where it says none."""
    found = _TOTAL.search(line[:LONGEST_LINE])
    return Printed.rounded(found["size"]) if found else None


def parts_of(line: str) -> dict[str, Printed]:
    """Give the parts of such a line: K and V of a cache (a latent c^KV is K, its transposed copy V), R and S of a state."""
    names = {"c^KV": "K", "kv^T": "V"}
    found = _PART.finditer(line[:LONGEST_LINE])
    return {names.get(part["part"], part["part"]): Printed.rounded(part["size"]) for part in found}


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """One device's row of the table that llama.cpp prints when it exits or fits, in whole MiB cut off."""

    device: str
    model: Printed
    context: Printed
    compute: Printed


def breakdown_row(line: str) -> BreakdownRow | None:
    """Read a row of a memory breakdown; None for its heading and for any other line.

    A device's row has `total = free + (self = model + context + compute) + unaccounted`, the host's begins with `self`.
    """
    line = line[:LONGEST_LINE]
    head, columns = _ROW.search(line), list(_COLUMNS.finditer(line))
    if head is None or not columns:
        return None
    return BreakdownRow(head["device"], *(Printed.cut(columns[-1][name]) for name in ("model", "context", "compute")))
