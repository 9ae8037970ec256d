"""The figure of a check: the ceiling over the context, and the claim as a line across it."""

from __future__ import annotations

from fractions import Fraction

from generator.guide.figures.panel import LEFT, LINE, RIGHT, SIZE, Panel, line, number, tag
from generator.guide.figures.text import fitted, text_width
from generator.guide.figures.ticks import plain, round_step, ticks
from generator.guide.ledger import Book
from generator.guide.pictures import Picture
from generator.specs import Check

_HEIGHT = 300.0
_POINTS = 24
_Y_TICKS = 6


def ceiling_picture(book: Book, check: Check, title: str) -> Picture:
    """Give the figure. Between the contexts of the check the ceiling is drawn from the same times, which are linear in the context."""
    first, last = check.contexts[0], check.contexts[-1]
    times = [Fraction(book[f"decode.time_per_token.{n_ctx}"].number) for n_ctx in (first, last)]
    depths = [first + (last - first) * step // (_POINTS - 1) for step in range(_POINTS)]
    ceilings = [1 / (times[0] + (times[1] - times[0]) * Fraction(depth - first, max(last - first, 1))) for depth in depths]
    high = max(*ceilings, Fraction(check.speed)) * Fraction(6, 5)
    panel = Panel("ceiling", title, f"the most tokens a second that the memory allows, and the {check.speed} that are claimed")
    panel.y += SIZE
    panel.text(LEFT, panel.y, "↑ tokens a second", role="muted")
    panel.y += 14
    bottom = panel.y + _HEIGHT
    marks = ticks(Fraction(0), high, round_step(high, _Y_TICKS))
    left = LEFT + max(text_width(plain(value), SIZE) for value in marks) + 12

    def y(value: Fraction) -> float:
        return bottom - _HEIGHT * float(value / high)

    for value in marks:
        panel.add(line(left, y(value), RIGHT, y(value), "edge", 1))
        panel.text(left - 10, y(value) + 7, plain(value), anchor="end", role="muted")
    spots = [
        (left + (RIGHT - left) * float(Fraction(depth - first, max(last - first, 1))), y(ceiling))
        for depth, ceiling in zip(depths, ceilings, strict=True)
    ]
    panel.add(tag("path", d="M" + "L".join(f"{number(x)} {number(at)}" for x, at in spots), class_="s-fill0", stroke_width=4))
    panel.add(line(left, y(Fraction(check.speed)), RIGHT, y(Fraction(check.speed)), "refuse", 3, "9 6"))
    panel.text(left + 8, y(Fraction(check.speed)) + SIZE + 6, "claimed", bold=True, role="refuse")
    panel.text(left + 8, y(ceilings[0]) - 10, f"ceiling {book.text(f'decode.ceiling.{first}')}", bold=True)
    panel.text(RIGHT, y(ceilings[-1]) - 12, book.text(f"decode.ceiling.{last}"), anchor="end", bold=True)
    panel.add(line(left, bottom, RIGHT, bottom, "muted", 1.5))
    panel.y = bottom + 12 + SIZE
    panel.text(left, panel.y, fitted(book.text(f"depth.{first}"), SIZE, 200), role="muted")
    panel.text(RIGHT, panel.y, fitted(f"{book.text(f'depth.{last}')} in the cache →", SIZE, RIGHT - left - 210), anchor="end", role="muted")
    panel.y += LINE - SIZE
    said = "; ".join(f"{book.text(f'decode.ceiling.{n_ctx}')} at {book.text(f'depth.{n_ctx}')}" for n_ctx in check.contexts)
    return Picture(
        "ceiling", "The ceiling on speed by tokens in the cache, with the claimed speed as a line", panel.svg(f"Ceilings: {said}.")
    )
