"""Axis ticks at round numbers, as many as their own text leaves room for."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, log10

from generator.guide.figures.panel import SIZE
from generator.guide.figures.text import text_width

_STEPS = (1, 2, 5, 10)
_BYTE_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_GAP = 20.0
_MOST = 8


def round_step(span: Fraction, most: int) -> Fraction:
    """Give the smallest of 1, 2, 5 times a power of ten that divides `span` into at most `most` steps."""
    least = span / most
    power = Fraction(10) ** floor(log10(least))
    return next(power * step for step in _STEPS if power * step >= least)


def ticks(low: Fraction, high: Fraction, step: Fraction) -> list[Fraction]:
    """Give the multiples of `step` from `low` to `high`."""
    return [step * count for count in range(ceil(low / step), floor(high / step) + 1)]


def plain(value: Fraction) -> str:
    """Give a tick's value in full: a round step has a short decimal form."""
    decimals = next(digits for digits in range(30) if (value * 10**digits).denominator == 1)
    return f"{Decimal(int(value * 10**decimals)).scaleb(-decimals):f}"


def fitting_ticks(low: Fraction, high: Fraction, length: float, shown: Callable[[Fraction], str]) -> list[tuple[Fraction, str]]:
    """Give the ticks from `low` to `high`, with their text, that have room along a horizontal axis of `length`."""
    marks: list[tuple[Fraction, str]] = []
    for step in dict.fromkeys(round_step(high - low, most) for most in range(_MOST, 1, -1)):
        marks = [(value, shown(value)) for value in ticks(low, high, step)]
        widest = max((text_width(text, SIZE) for _, text in marks), default=0.0)
        if widest + _GAP <= step / (high - low) * length:
            return marks
    return marks[:1]


def byte_ticks(low: Fraction, high: Fraction, length: float) -> list[tuple[Fraction, str]]:
    """Give ticks over bytes, each `(bytes, "8 GiB")`, in the largest binary unit of which `high` holds one or more."""
    name, size = next(((name, size) for name, size in _BYTE_UNITS if high >= size), ("B", 1))
    scaled = fitting_ticks(low / size, high / size, length, lambda value: f"{plain(value)} {name}")
    return [(value * size, text) for value, text in scaled]
