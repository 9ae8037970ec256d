"""The crossover: how many times the host's bandwidth the card needs for both halves of a step to take equal time."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from generator.guide.figures.amount import FigureError
from generator.guide.figures.panel import LEFT, LINE, RIGHT, SIZE, Panel, line, number, tag
from generator.guide.figures.text import fitted, text_width
from generator.guide.figures.ticks import plain, round_step, ticks

_HEIGHT = 330.0
_HEADROOM = Fraction(7, 5)
_Y_TICKS = 7
_RADIUS = 7.0
_GAP = 14.0
"""Kept free around a point's number."""
_NUMBER_MOST = 150.0
_ABOVE = ("host-bound", "the host half takes longer")
_BELOW = ("card-bound", "the card half takes longer")


@dataclass(frozen=True, slots=True)
class CrossoverPoint:
    """A context depth in tokens, and the ratio of bandwidths at which neither half waits there, exact and as shown."""

    depth: int
    depth_shown: str
    ratio: Fraction
    shown: str


@dataclass(frozen=True, slots=True)
class CrossoverFigure:
    """At least two points by ascending depth, and what the two axes measure.

    A card whose bandwidth is more times the host's than the line says waits for the host: above the line a step is
    host-bound, below it card-bound.
    """

    title: str
    subtitle: str
    points: tuple[CrossoverPoint, ...]
    depth_label: str = "tokens of context"
    ratio_label: str = "card bandwidth ÷ host bandwidth"
    name: str = "crossover"

    def __post_init__(self) -> None:
        if len(self.points) < 2 or any(left.depth >= right.depth for left, right in pairwise(self.points)):
            raise FigureError("a crossover needs two or more points by ascending depth", where=self.name)
        if self.points[0].depth < 0 or any(point.ratio <= 0 for point in self.points):
            raise FigureError("a crossover's depths and ratios are not all above zero", where=self.name)


@dataclass(frozen=True, slots=True)
class _Plot:
    """The plot's frame on the panel, and the points within it as `(x, y)`."""

    left: float
    top: float
    bottom: float
    high: Fraction
    spots: tuple[tuple[float, float], ...]

    def y(self, ratio: Fraction) -> float:
        return self.bottom - (self.bottom - self.top) * float(ratio / self.high)

    def line_y(self, x: float) -> float:
        """Give where the line between the points is at `x`; beyond its ends it is level."""
        for (left, left_y), (right, right_y) in pairwise(self.spots):
            if left <= x <= right:
                return left_y + (right_y - left_y) * (x - left) / (right - left)
        return self.spots[0][1] if x < self.spots[0][0] else self.spots[-1][1]

    def highest(self, left: float, right: float) -> float:
        """Give the least y, the highest place, of the line between two x."""
        inside = [y for x, y in self.spots if left <= x <= right]
        return min(self.line_y(left), self.line_y(right), *inside)


def crossover(figure: CrossoverFigure) -> str:
    """Give the figure as SVG: the line through the computed depths, between the two regions it parts."""
    panel = Panel(figure.name, figure.title, figure.subtitle)
    panel.y += SIZE
    panel.text(LEFT, panel.y, fitted(f"↑ {figure.ratio_label}", SIZE, RIGHT - LEFT), role="muted")
    panel.y += 14
    marks, plot = _plot(figure, panel.y)
    _draw_regions(panel, plot)
    for value in marks:
        if value:
            panel.add(line(plot.left, plot.y(value), RIGHT, plot.y(value), "edge", 1))
        panel.text(plot.left - 10, plot.y(value) + 7, plain(value), anchor="end", role="muted")
    _draw_numbers(panel, figure, plot)
    _draw_region_names(panel, plot)
    _draw_line(panel, plot)
    panel.y = plot.bottom + 12 + SIZE + LINE
    panel.text(RIGHT, panel.y, fitted(f"{figure.depth_label} →", SIZE, RIGHT - LEFT), anchor="end", role="muted")
    return panel.svg(_description(figure))


def _plot(figure: CrossoverFigure, top: float) -> tuple[list[Fraction], _Plot]:
    """Give the ratios to mark on the upright axis, and the frame with the points placed."""
    high = max(point.ratio for point in figure.points) * _HEADROOM
    marks = ticks(Fraction(0), high, round_step(high, _Y_TICKS))
    left = LEFT + max(text_width(plain(value), SIZE) for value in marks) + 12
    bottom = top + _HEIGHT
    first, last = figure.points[0].depth, figure.points[-1].depth
    spots = tuple(
        (left + (RIGHT - left) * (point.depth - first) / (last - first), bottom - _HEIGHT * float(point.ratio / high))
        for point in figure.points
    )
    return marks, _Plot(left, top, bottom, high, spots)


def _draw_regions(panel: Panel, plot: _Plot) -> None:
    """Tint what lies above and below the line."""
    edge = " ".join(f"{number(x)},{number(y)}" for x, y in plot.spots)
    for role, end in (("above", plot.top), ("below", plot.bottom)):
        panel.add(tag("polygon", points=f"{number(plot.left)},{number(end)} {edge} {number(RIGHT)},{number(end)}", class_=role))
    panel.add(line(plot.left, plot.bottom, RIGHT, plot.bottom, "muted", 1.5))


def _draw_region_names(panel: Panel, plot: _Plot) -> None:
    """Name the region above where the line is lower, the one below where it is higher."""
    rises = plot.spots[0][1] >= plot.spots[-1][1]
    before, after = (plot.left + _GAP, "start"), (RIGHT - _GAP, "end")
    for (name, meaning), (x, anchor), y in (
        (_ABOVE, before if rises else after, plot.top + 28),
        (_BELOW, after if rises else before, plot.bottom - 14 - LINE),
    ):
        panel.text(x, y, name, anchor=anchor, bold=True)
        panel.text(x, y + LINE - 2, meaning, anchor=anchor)


def _draw_numbers(panel: Panel, figure: CrossoverFigure, plot: _Plot) -> None:
    """Write the numbers of those points that have room for them, the outer ones first."""
    taken: list[tuple[float, float]] = []
    for index in (0, len(figure.points) - 1, *range(1, len(figure.points) - 1)):
        point, (x, _) = figure.points[index], plot.spots[index]
        depth, shown = fitted(point.depth_shown, SIZE, _NUMBER_MOST), fitted(point.shown, SIZE, _NUMBER_MOST, bold=True)
        half = max(text_width(depth, SIZE), text_width(shown, SIZE, bold=True)) / 2
        middle = min(max(x, LEFT + half), RIGHT - half)
        inner = max(middle, plot.left + _GAP / 2 + half)
        if any(middle - half < end + _GAP and inner + half > start - _GAP for start, end in taken):
            continue
        taken.append((middle - half, inner + half))
        panel.add(line(x, plot.bottom, x, plot.bottom + 6, "muted", 1.5))
        panel.text(middle, plot.bottom + 10 + SIZE, depth, anchor="middle", role="muted")
        panel.text(inner, plot.highest(inner - half, inner + half) - _GAP, shown, anchor="middle", bold=True)


def _draw_line(panel: Panel, plot: _Plot) -> None:
    route = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in plot.spots)
    panel.add(tag("path", d=route, class_="s-fill0", stroke_width=4))
    panel.add(*(tag("circle", cx=x, cy=y, r=_RADIUS, class_="ink") for x, y in plot.spots))


def _description(figure: CrossoverFigure) -> str:
    """Give the figure in words, for those who do not see it."""
    points = ", ".join(f"{point.shown} at {point.depth_shown} {figure.depth_label}" for point in figure.points)
    sides = f"Above the line: {', '.join(_ABOVE)}. Below it: {', '.join(_BELOW)}."
    return f"{figure.ratio_label} at which both halves of a decode step take equal time: {points}. {sides}"
