"""Verdicts on the parts of a claim, each from numbers or facts and never from words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from generator.claims.predicates import Predicate
from generator.facts import Facts
from generator.guide.ledger import Book
from generator.specs.check import Part


class Verdict(StrEnum):
    """What is concluded of a part of a claim."""

    CREDIBLE = "credible"
    NOT_AT_THAT_CONTEXT = "not at that context"
    WRONG = "wrong"
    OPINION = "opinion"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict with the keys of the numbers that it rests on."""

    verdict: Verdict
    numbers: tuple[str, ...] = ()


def judged(part: Part, book: Book, facts: Facts) -> Judged:
    """Give the verdict on a part of a claim.

    A speed is credible where it needs no larger share of the ceiling than was ever observed, and not where it needs more; where the two
    ends of the tolerance differ in that, it is open.
    """
    if part.kind == "opinion":
        return Judged(Verdict.OPINION)
    if part.kind == "fact":
        return Judged(Verdict.CREDIBLE if Predicate.parse(part.predicate).holds(facts) else Verdict.WRONG)
    if part.kind == "context":
        enough = book[f"depth.{part.context}"].number <= book["context.trained"].number
        return Judged(Verdict.CREDIBLE if enough else Verdict.WRONG, ("context.trained",))
    if part.kind == "memory":
        keys = [key for key in book.numbers if key.startswith("experts_cache.left.")]
        return Judged(Verdict.CREDIBLE if all(book[key].number >= 0 for key in keys) else Verdict.WRONG, ("weights.dense", keys[-1]))
    return _speed(part, book)


def _speed(part: Part, book: Book) -> Judged:
    best = book["observed.best_share"]
    slow, fast = book[f"tolerance.slow.{part.context}"], book[f"tolerance.fast.{part.context}"]
    numbers = (f"decode.ceiling.{part.context}", f"decode.claim_share_of_ceiling.{part.context}")
    if (slow <= best) != (fast <= best):
        return Judged(Verdict.OPEN, numbers)
    return Judged(Verdict.CREDIBLE if slow <= best else Verdict.NOT_AT_THAT_CONTEXT, numbers)
