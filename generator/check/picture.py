"""The figure of a check from its numbers: what is drawn is what the ledger has."""

from __future__ import annotations

from fractions import Fraction

from generator.check.decode import token
from generator.check.figure import CeilingFigure, ceiling
from generator.check.numbers import STATED, Worked
from generator.guide.pictures import Picture

SAMPLES = 33
"""Places at which the ceiling is worked out for the picture."""


def pictures(worked: Worked) -> dict[str, Picture]:
    """Give the figures of a check by name; none for a check of one context, or where a context does not fit."""
    book, contexts = worked.book, worked.subject.contexts
    first, last = contexts[0], contexts[-1]
    if first == last or last not in worked.tokens:
        return {}
    points: list[tuple[int, Fraction]] = []
    for sample in range(SAMPLES):
        context = first + (last - first) * sample // (SAMPLES - 1)
        made = token(worked.splits[STATED], worked.beside(context), worked.rates[STATED])
        if made is not None and (not points or context > points[-1][0]):
            points.append((context, Fraction(made.ceiling.number)))
    claimed = worked.subject.claimed_context
    said = f"{book.text('claim.speed')} at {claimed:,}" if claimed else book.text("claim.speed")
    svg = ceiling(
        CeilingFigure(
            title=f"{worked.subject.model.title} on {worked.subject.card.title}: the ceiling",
            subtitle="the most tokens a second that reading alone allows, by context",
            points=tuple(points),
            best=Fraction(book["best.share"].number),
            speed=Fraction(book["claim.speed"].number),
            context=claimed,
            labels=("the ceiling", f"{book.text('best.share')} of it, the best run of this kind", f"the claim: {said}"),
            shown=tuple(f"{book.text(f'decode.ceiling.{at}')} at {at:,} tokens" for at in (first, last)),  # type: ignore[arg-type]
        )
    )
    return {"ceiling": Picture("ceiling", "The ceiling on speed over the context, the share of it that was seen, and the claim", svg)}
