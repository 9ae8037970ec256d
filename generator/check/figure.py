"""The picture of a check: the ceiling over the context, what was seen of ceilings, and the claim."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from generator.guide.figures.amount import FigureError
from generator.guide.figures.panel import LEFT, LINE, RIGHT, SIZE, Panel, line, number, tag
from generator.guide.figures.text import fitted, text_width
from generator.guide.figures.ticks import fitting_ticks, plain, round_step, ticks

_HEIGHT = 330.0
_HEADROOM = Fraction(8, 7)
_Y_TICKS = 7
_RADIUS = 9.0
_GAP = 14.0


@dataclass(frozen=True, slots=True)
class CeilingFigure:
    """A ceiling in tokens a second at rising contexts, the claimed speed, and where it is claimed, if anywhere.

    `best` is the highest share of a ceiling that was seen, `labels` what the three lines are called, numbers included, and `shown` the
    first and the last point in words.
    """

    title: str
    subtitle: str
    points: tuple[tuple[int, Fraction], ...]
    best: Fraction
    speed: Fraction
    context: int | None
    labels: tuple[str, str, str]
    shown: tuple[str, str]
    name: str = "ceiling"

    def __post_init__(self) -> None:
        if len(self.points) < 2 or any(left[0] >= right[0] for left, right in pairwise(self.points)):
            raise FigureError("a ceiling needs two or more points by rising context", where=self.name)


@dataclass(frozen=True, slots=True)
class _Plot:
    """The plot's frame on the panel."""

    left: float
    top: float
    bottom: float
    high: Fraction
    first: int
    last: int

    def x(self, context: int) -> float:
        return self.left + (RIGHT - self.left) * (context - self.first) / (self.last - self.first)

    def y(self, speed: Fraction) -> float:
        return self.bottom - (self.bottom - self.top) * float(speed / self.high)


def ceiling(figure: CeilingFigure) -> str:
    """Give the figure as SVG: the falling ceiling, the dashed share of it that was seen, and the claim as a level line."""
    panel = Panel(figure.name, figure.title, figure.subtitle)
    _legend(panel, figure)
    panel.y += SIZE
    panel.text(LEFT, panel.y, "↑ tokens a second", role="muted")
    panel.y += 14
    marks, plot = _plot(figure, panel.y)
    for value in marks:
        if value:
            panel.add(line(plot.left, plot.y(value), RIGHT, plot.y(value), "edge", 1))
        panel.text(plot.left - 10, plot.y(value) + 7, plain(value), anchor="end", role="muted")
    _draw_regions(panel, figure, plot)
    panel.add(line(plot.left, plot.bottom, RIGHT, plot.bottom, "muted", 1.5))
    panel.add(line(plot.left, plot.y(figure.speed), RIGHT, plot.y(figure.speed), "refuse", 2.5, "10 6"))
    if figure.context is not None:
        panel.add(tag("circle", cx=plot.x(figure.context), cy=plot.y(figure.speed), r=_RADIUS, class_="refuse"))
    _draw_contexts(panel, plot)
    panel.y = plot.bottom + 12 + SIZE + LINE
    panel.text(RIGHT, panel.y, "tokens of context →", anchor="end", role="muted")
    return panel.svg(_description(figure))


def _legend(panel: Panel, figure: CeilingFigure) -> None:
    """Name the three lines, one below the other."""
    for label, role, dash in zip(figure.labels, ("fill0", "muted", "refuse"), ("", "3 6", "10 6"), strict=True):
        panel.y += SIZE
        panel.add(line(LEFT, panel.y - 7, LEFT + 40, panel.y - 7, role, 4 if role == "fill0" else 2.5, dash))
        panel.text(LEFT + 52, panel.y, fitted(label, SIZE, RIGHT - LEFT - 52))
        panel.y += 8


def _plot(figure: CeilingFigure, top: float) -> tuple[list[Fraction], _Plot]:
    """Give the speeds to mark on the upright axis, and the frame."""
    high = max(figure.speed, *(speed for _, speed in figure.points)) * _HEADROOM
    marks = ticks(Fraction(0), high, round_step(high, _Y_TICKS))
    left = LEFT + max(text_width(plain(value), SIZE) for value in marks) + 12
    return marks, _Plot(left, top, top + _HEIGHT, high, figure.points[0][0], figure.points[-1][0])


def _draw_regions(panel: Panel, figure: CeilingFigure, plot: _Plot) -> None:
    """Tint what no setup reaches, and draw the ceiling and the share of it that was seen."""
    spots = [(plot.x(context), plot.y(speed)) for context, speed in figure.points]
    edge = " ".join(f"{number(x)},{number(y)}" for x, y in spots)
    sheet = f"{number(plot.left)},{number(plot.top)} {edge} {number(RIGHT)},{number(plot.top)}"
    panel.add(tag("polygon", points=sheet, class_="past"))
    panel.text(RIGHT - _GAP, plot.top + 28, "out of reach", anchor="end", bold=True)
    seen = [(plot.x(context), plot.y(speed * figure.best)) for context, speed in figure.points]
    for route, role, width, dash in ((spots, "fill0", 4.0, ""), (seen, "muted", 2.5, "3 6")):
        path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in route)
        dashes = {"stroke_dasharray": dash} if dash else {}
        panel.add(tag("path", d=path, class_=f"s-{role}", stroke_width=width, **dashes))


def _draw_contexts(panel: Panel, plot: _Plot) -> None:
    first, last = Fraction(plot.first), Fraction(plot.last)
    for value, text in fitting_ticks(first, last, RIGHT - plot.left, lambda each: f"{int(each):,}"):
        x = plot.x(int(value))
        half = text_width(text, SIZE) / 2
        panel.add(line(x, plot.bottom, x, plot.bottom + 6, "muted", 1.5))
        panel.text(min(x, RIGHT - half), plot.bottom + 10 + SIZE, text, anchor="middle", role="muted")


def _description(figure: CeilingFigure) -> str:
    """Give the figure in words, for those who do not see it."""
    first, last = figure.shown
    return f"Ceiling on speed: {first}, falling to {last}. {'; '.join(figure.labels)}."
