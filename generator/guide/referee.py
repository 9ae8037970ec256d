"""What an engine said of a recipe's ladder, beside the page's own totals: numbers for the ledger.

The engine prints whole MiB cut off, so its total of weights and context stands for two MiB; ours agrees when it lies in them, give
or take the alignment of tensors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from generator.facts import Fact
from generator.guide.ledger import Book
from generator.guide.numbers import Row, Subject, rung_total
from generator.memory.budget import Policy
from generator.memory.ladder import Rung
from generator.quantity import BYTE, ONE, Number, Quantity, Value, derived, scalar

LADDER, POSED, SETTINGS = "measured.ladder", "measured.posed", "measured.settings"
MEBIBYTE = 2**20
ALIGNMENT_SLACK = 64 * 2**10
"""Bytes that tensors' alignment in a device's buffer may add up to."""

CARD = "gpu0"


def write_referee(book: Book, subject: Subject) -> None:
    """Write what the engine said of the recipe's own rung, and by how much any total of the ladder differs from it.

    Nothing is written where no engine was asked, or one was asked about other settings than the recipe has now.
    """
    if LADDER not in subject.facts or not _asked_about(subject):
        return
    fact = subject.facts[LADDER]
    readings = _readings(fact)
    rungs = [rung for rung in _rungs(book, subject) if rung.key in readings]
    own = readings.get(_own(subject))
    if own is None or not rungs:
        return
    book.add("referee.rungs", Quantity.read(len(rungs), ONE, fact, "rungs of the ladder that were asked"))
    posed = subject.facts[POSED].value is True  # and then what the host computes takes no buffer of the device
    for name, mebibytes in zip(("weights", "context") if posed else ("weights", "context", "compute"), own, strict=False):
        book.add(f"referee.{name}", _read(mebibytes, fact, f"{name} on the device, {_own(subject)}"), "MiB", 0)
    sides = [side for rung in rungs for side in (rung.total, _total(readings[rung.key], fact, rung.key))]
    words = "most bytes by which weights, cache and state of a rung, counted as the engine places things, lie outside of what it printed"
    book.add("referee.difference", derived(_most([side.value for side in sides]), BYTE, sides, _most, words), "MiB", 2)


def _asked_about(subject: Subject) -> bool:
    if SETTINGS not in subject.facts:
        return False
    now = {"quant": subject.recipe.quant, "settings": dict(subject.recipe.settings)}
    return json.dumps(subject.facts[SETTINGS].value, sort_keys=True) == json.dumps(now, sort_keys=True)


def _readings(fact: Fact) -> Mapping[str, tuple[int, int, int]]:
    """Give weights, context and compute on the card by rung, in MiB cut off."""
    assert isinstance(fact.value, list | tuple)
    return {
        str(rung): (int(weights), int(context), int(compute)) for rung, device, weights, context, compute in fact.value if device == CARD
    }


def _own(subject: Subject) -> str:
    settings, (type_k, type_v) = subject.settings, subject.caches
    return f"{settings.n_cpu_moe}@{settings.n_ctx}.{type_k}/{type_v}"


def _rungs(book: Book, subject: Subject) -> Iterator[Rung]:
    """Give the rungs of the recipe's ladder as the engine places things."""
    for depth, n_ctx in subject.recipe.ladder.rows:
        for caches in subject.recipe.ladder.cache:
            total = rung_total(book, subject, Row(depth, n_ctx), caches, Policy.ENGINE)
            yield Rung(depth, n_ctx, caches, total)


def _read(mebibytes: int, fact: Fact, label: str) -> Quantity:
    return Quantity.read(mebibytes * MEBIBYTE, BYTE, fact, label)


def _total(reading: tuple[int, int, int], fact: Fact, key: str) -> Quantity:
    weights, context, _ = reading
    return _read(weights, fact, f"weights, {key}") + _read(context, fact, f"context, {key}")


def _most(values: Sequence[Value]) -> Value:
    """Give the largest distance of ours, in the even places, from the two MiB cut off that the place after it stands for."""
    numbers = [scalar(value) for value in values]
    return max(_outside(ours, theirs) for ours, theirs in zip(numbers[::2], numbers[1::2], strict=True))


def _outside(ours: Number, theirs: Number) -> Number:
    return max(theirs - ALIGNMENT_SLACK - ours, ours - (theirs + 2 * MEBIBYTE + ALIGNMENT_SLACK), 0)
