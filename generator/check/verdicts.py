"""What follows for each part of a claim: a word, the reason for it, and the comparisons that it rests on.

A part that turns on how a file's bytes are split, or on how much of its rated bandwidth system memory reaches, is judged in every
scenario that is open. Where they do not agree the verdict is `open`: no conclusion hangs on an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

CREDIBLE, NOT_THERE, WRONG, OPINION, OPEN = "credible", "not at that context", "wrong", "opinion", "open"
WORDS = (CREDIBLE, NOT_THERE, WRONG, OPINION, OPEN)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison that a verdict rests on: in which scenario, in words of the ledger's keys, and whether it holds."""

    scenario: str
    predicate: str
    holds: bool

    def as_dict(self) -> dict[str, object]:
        """Give the comparison for JSON."""
        return {"scenario": self.scenario, "predicate": self.predicate, "holds": self.holds}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word of WORDS, a reason that a page can word, and what was compared."""

    word: str
    reason: str
    comparisons: tuple[Comparison, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Give the verdict for JSON."""
        return {"verdict": self.word, "reason": self.reason, "comparisons": [each.as_dict() for each in self.comparisons]}


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of the ceiling that a claimed speed needs at one context, by scenario, and the key of each.

    None stands for a context that does not fit at all.
    """

    context: int
    by_scenario: Mapping[str, tuple[str, Fraction | int | None]]


def speed(shares: Shares, best: Fraction | int, shorter: Verdict | None = None) -> Verdict:
    """Judge a claimed speed at a context against the best share that was seen.

    Up to that share it is credible; above the ceiling itself it is wrong; between the two it is open. At the claim's context, where
    `shorter` is the verdict at the shortest, what is credible there and not here is said to fail at that context, and so is what is open
    there and impossible here.
    """
    compared, outcomes = [], set()
    for scenario, (key, share) in shares.by_scenario.items():
        seen, possible = share is not None and share <= best, share is not None and share <= 1
        compared.append(Comparison(scenario, f"{key} <= best.share", seen))
        compared.append(Comparison(scenario, f"{key} <= 1", possible))
        outcomes.add("seen" if seen else "unseen" if possible else "beyond" if share is not None else "no_room")
    comparisons = tuple(compared)
    if outcomes == {"seen"}:
        return Verdict(CREDIBLE, "seen", comparisons)
    if "seen" in outcomes:
        return Verdict(OPEN, "assumptions", comparisons)
    reason = "unseen" if "unseen" in outcomes else "beyond" if "beyond" in outcomes else "no_room"
    fails_here = {CREDIBLE: True, OPEN: reason != "unseen"}
    if shorter is not None and fails_here.get(shorter.word, False):
        return Verdict(NOT_THERE, reason, comparisons)
    return Verdict(OPEN if reason == "unseen" else WRONG, reason, comparisons)


def memory(fits: Mapping[str, Mapping[int, bool]], context: int | None) -> Verdict:
    """Judge that a model runs on a card's memory, from whether what must be on the card fits, by scenario and context.

    `context` is the claim's; without one the shortest decides.
    """
    compared = tuple(Comparison(scenario, f"needed.{at} <= usable", holds) for scenario, rows in fits.items() for at, holds in rows.items())
    shortest = min(at for rows in fits.values() for at in rows)
    there = {rows[context or shortest] for rows in fits.values()}
    anywhere = {rows[shortest] for rows in fits.values()}
    if there == {True}:
        return Verdict(CREDIBLE, "fits", compared)
    if there == {True, False}:
        return Verdict(OPEN, "assumptions", compared)
    if anywhere == {True}:
        return Verdict(NOT_THERE, "too_long", compared)
    return Verdict(OPEN, "assumptions", compared) if True in anywhere else Verdict(WRONG, "too_large", compared)


def context(trained: int | None, claimed: int, room: Verdict) -> Verdict:
    """Judge the length of a context by itself: the model was trained for it, and its cache fits beside what must be on the card."""
    if trained is None:
        return Verdict(OPEN, "unknown", ())
    compared = (Comparison("stated", "claim.context <= config.context_length", claimed <= trained), *room.comparisons)
    if claimed > trained:
        return Verdict(WRONG, "beyond_training", compared)
    return Verdict(room.word, "trained" if room.word == CREDIBLE else room.reason, compared)


def fact(predicate: str, *, holds: bool | None) -> Verdict:
    """Judge what a fact settles; `holds` is None where it is not known."""
    if holds is None:
        return Verdict(OPEN, "unknown")
    return Verdict(CREDIBLE if holds else WRONG, "fact", (Comparison("stated", predicate, holds),))


def opinion() -> Verdict:
    """Give the verdict of what no arithmetic settles."""
    return Verdict(OPINION, "opinion")
