"""The ladder: what each offload depth would take at each cache type, against the card's ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from generator.guide.figures.amount import Amount, Caption, FigureError
from generator.guide.figures.palette import FILLS
from generator.guide.figures.panel import LEFT, LINE, RIGHT, SIZE, WIDTH, Panel, caption_width, line, number, tag
from generator.guide.figures.text import fitted, text_width
from generator.guide.figures.ticks import byte_ticks

_COLUMN_GAP = 18.0
_COLUMN_MOST = 130.0
_MANY_RUNGS = 14
_EDGE = 30.0
"""Between the plot's edge and the outermost mark."""
_KEY_GAP = 26.0
_KEY_MARK = 28.0
_LANE, _NARROW_LANE = 18.0, 9.5
"""From one series to the next within a row, with few rungs and with many."""
_ROW_LEAST = 34.0
_SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, -1.1), (1.15, 0.9), (-1.15, 0.9)),
)
"""Circle, square, diamond, triangle: the corners of each at radius 1, none for the circle."""
_KEY_RADIUS = 8.0


@dataclass(frozen=True, slots=True)
class Total:
    """What a setting takes, in bytes and as the page shows it."""

    size: int
    shown: str


@dataclass(frozen=True, slots=True)
class Rung:
    """One row: an offload depth at a context, with a total for each cache type, or None where there is none."""

    n_cpu_moe: str
    n_ctx: str
    totals: tuple[Total | None, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which total the recipe takes: the row and the cache type by their index, and what to write beside it."""

    rung: int
    series: int
    label: str


@dataclass(frozen=True, slots=True)
class LadderFigure:
    """Rungs from top to bottom; `series` names the cache types, one for each of a rung's totals.

    `refused` says in the key what a crossed mark means; `heads` are the two columns' titles.
    """

    title: str
    subtitle: str
    ceiling: Amount
    series: tuple[str, ...]
    rungs: tuple[Rung, ...]
    chosen: Chosen | None = None
    refused: str = "above the ceiling"
    heads: tuple[str, str] = ("-ncmoe", "-c")
    name: str = "ladder"

    def __post_init__(self) -> None:
        if not self.rungs:
            raise FigureError("a ladder needs at least one rung", where=self.name)
        if any(len(rung.totals) != len(self.series) for rung in self.rungs):
            raise FigureError("a rung does not have one total for each series", where=self.name)
        if not any(total for rung in self.rungs for total in rung.totals):
            raise FigureError("no rung has a total to draw", where=self.name)
        if self.chosen and not self.rungs[self.chosen.rung].totals[self.chosen.series]:
            raise FigureError("the chosen rung has no total at the chosen series", where=self.name)


@dataclass(frozen=True, slots=True)
class _Plot:
    """Where things are: the two columns' widths, the bytes from edge to edge, and the lanes within a row."""

    columns: tuple[float, float]
    low: int
    high: int
    lanes: int
    lane: float

    @property
    def left(self) -> float:
        return LEFT + sum(self.columns)

    @property
    def length(self) -> float:
        return RIGHT - self.left - 2 * _EDGE

    @property
    def radius(self) -> float:
        return self.lane * 0.52

    @property
    def row_height(self) -> float:
        return max(_ROW_LEAST, (self.lanes + 0.75) * self.lane)

    def x(self, size: float) -> float:
        return self.left + _EDGE + self.length * ((size - self.low) / (self.high - self.low))

    def marks(self, rung: Rung, top: float) -> dict[int, tuple[Total, float, float]]:
        """Give a rung's totals by series with their places, one below the other about the middle of the row at `top`."""
        present = [(series, total) for series, total in enumerate(rung.totals) if total]
        first = top + (self.row_height - (len(present) - 1) * self.lane) / 2
        return {series: (total, self.x(total.size), first + self.lane * nth) for nth, (series, total) in enumerate(present)}


def ladder(figure: LadderFigure) -> str:
    """Give the figure as SVG: one row for each rung, totals along a common scale, those past the ceiling crossed out."""
    panel = Panel(figure.name, figure.title, figure.subtitle)
    plot = _plot(figure)
    _draw_key(panel, figure)
    _draw_heads(panel, figure, plot)
    top = panel.y
    bottom = top + plot.row_height * len(figure.rungs) + (LINE if figure.chosen else 0)
    ceiling = plot.x(figure.ceiling.size)
    past = {"x": ceiling, "y": top, "width": RIGHT - ceiling, "height": bottom - top}
    panel.add(tag("rect", **past, class_="past"))
    if figure.chosen:
        _draw_band(panel, top + plot.row_height * figure.chosen.rung, plot.row_height + LINE)
    panel.add(tag("rect", **past, **panel.hatch("past")))
    for value, text in byte_ticks(Fraction(plot.low), Fraction(plot.high), plot.length):
        at = plot.x(float(value))
        panel.add(line(at, top, at, bottom + 6, "edge", 1.5))
        middle = min(at, WIDTH - 8 - text_width(text, SIZE) / 2)
        panel.text(middle, bottom + 10 + SIZE, text, anchor="middle", role="muted")
    lowered = figure.chosen.rung if figure.chosen else len(figure.rungs)
    tops = [top + plot.row_height * index + (LINE if index > lowered else 0) for index in range(len(figure.rungs))]
    rules = "".join(f"M{number(LEFT)} {number(row_top)}H{number(RIGHT)}" for row_top in tops[1:])
    panel.add(tag("path", d=rules, class_="s-rule", stroke_width=1.5), line(ceiling, top, ceiling, bottom + 6, "ink", 3))
    for index, row_top in enumerate(tops):
        _draw_row(panel, figure, index, plot, row_top)
    _draw_marks(panel, figure, plot, tops)
    panel.add(line(LEFT, bottom, RIGHT, bottom, "muted", 1.5))
    panel.y = bottom + 14 + SIZE
    return panel.svg(_description(figure))


def _plot(figure: LadderFigure) -> _Plot:
    columns = tuple(
        min(_COLUMN_MOST, max(text_width(head, SIZE), *(text_width(cell, SIZE, bold=True) for cell in cells))) + _COLUMN_GAP
        for head, cells in (
            (figure.heads[0], [rung.n_cpu_moe for rung in figure.rungs]),
            (figure.heads[1], [rung.n_ctx for rung in figure.rungs]),
        )
    )
    sizes = [total.size for rung in figure.rungs for total in rung.totals if total]
    least, most = min(*sizes, figure.ceiling.size), max(*sizes, figure.ceiling.size)
    around = max((most - least) // 20, most // 40, 1)
    lane = _LANE if len(figure.rungs) <= _MANY_RUNGS else _NARROW_LANE
    return _Plot((columns[0], columns[1]), max(0, least - around), most + around, len(figure.series), lane)


def _draw_key(panel: Panel, figure: LadderFigure) -> None:
    """Say what the marks mean, in one line if it holds them."""
    past = any(total and total.size > figure.ceiling.size for rung in figure.rungs for total in rung.totals)
    entries = [(index, label) for index, label in enumerate(figure.series)] + ([(None, figure.refused)] if past else [])
    x, panel.y = LEFT, panel.y + SIZE
    for series, label in entries:
        text = fitted(label, SIZE, RIGHT - LEFT - _KEY_MARK)
        width = _KEY_MARK + text_width(text, SIZE)
        if x > LEFT and x + width > RIGHT:
            x, panel.y = LEFT, panel.y + LINE
        sample = [(x + 10, panel.y - 7)]
        if series is None:
            _draw_crosses(panel, sample, _KEY_RADIUS)
        else:
            _draw_shapes(panel, series, sample, _KEY_RADIUS)
        panel.text(x + _KEY_MARK, panel.y, text)
        x += width + _KEY_GAP
    panel.y += 16


def _draw_heads(panel: Panel, figure: LadderFigure, plot: _Plot) -> None:
    """Write the columns' titles and name the ceiling, beside its line on the side that has room."""
    panel.y += SIZE
    x = LEFT
    for head, width in zip(figure.heads, plot.columns, strict=True):
        panel.text(x, panel.y, fitted(head, SIZE, width - 8), role="muted")
        x += width
    ceiling = plot.x(figure.ceiling.size)
    before, after = ceiling - 8 - plot.left, RIGHT - ceiling - 8
    anchor, room, shift = ("end", before, -8) if before >= after else ("start", after, 8)
    panel.caption(ceiling + shift, panel.y, figure.ceiling.caption, width=room, anchor=anchor)
    panel.add(line(ceiling, panel.y - SIZE + 2, ceiling, panel.y + 10, "ink", 3))
    panel.y += 10


def _draw_band(panel: Panel, top: float, height: float) -> None:
    """Lay a band under the chosen row, with a bar at its start."""
    panel.add(tag("rect", x=LEFT - 14, y=top, width=RIGHT - LEFT + 28, height=height, rx=6, class_="band"))
    panel.add(tag("rect", x=LEFT - 14, y=top, width=5, height=height, rx=2.5, class_="ink"))


def _draw_row(panel: Panel, figure: LadderFigure, index: int, plot: _Plot, top: float) -> None:
    """Write a rung's two columns, in bold for the chosen one."""
    rung, bold = figure.rungs[index], figure.chosen is not None and index == figure.chosen.rung
    x = LEFT
    for text, width in zip((rung.n_cpu_moe, rung.n_ctx), plot.columns, strict=True):
        panel.text(x, top + plot.row_height / 2 + 7, fitted(text, SIZE, width - 8, bold=True), bold=bold)
        x += width


def _draw_marks(panel: Panel, figure: LadderFigure, plot: _Plot, tops: list[float]) -> None:
    """Draw every total: the shape of its series, hollow and crossed out where it is refused. Ring the chosen one."""
    rows = [plot.marks(rung, top) for rung, top in zip(figure.rungs, tops, strict=True)]
    ceiling = figure.ceiling.size
    for series in range(len(figure.series)):
        marks = [row[series] for row in rows if series in row]
        _draw_shapes(panel, series, [(x, y) for total, x, y in marks if total.size <= ceiling], plot.radius)
        _draw_shapes(panel, series, [(x, y) for total, x, y in marks if total.size > ceiling], plot.radius * 1.1, hollow=True)
    _draw_crosses(panel, [(x, y) for row in rows for total, x, y in row.values() if total.size > ceiling], plot.radius * 0.6)
    if figure.chosen:
        total, x, y = rows[figure.chosen.rung][figure.chosen.series]
        panel.add(tag("circle", cx=x, cy=y, r=plot.radius + 5, class_="s-ink", stroke_width=2.5))
        below = tops[figure.chosen.rung] + plot.row_height + SIZE - 1
        _draw_choice_label(panel, Caption(figure.chosen.label, total.shown), plot, ceiling, x, below)


def _draw_choice_label(panel: Panel, label: Caption, plot: _Plot, ceiling: int, x: float, y: float) -> None:
    """Write the chosen total's label under it, moved aside to keep clear of the ceiling's line if there is room."""
    half = min(caption_width(label), RIGHT - LEFT) / 2
    least, most = LEFT + half, RIGHT - half
    middle = min(max(x, least), most)
    limit = plot.x(ceiling)
    if abs(middle - limit) < half + 8:
        before, after = limit - half - 8, limit + half + 8
        sides = [side for side in ((before, after) if x <= limit else (after, before)) if least <= side <= most]
        middle = sides[0] if sides else middle
    panel.caption(middle, y, label, width=2 * half, anchor="middle")


def _draw_shapes(panel: Panel, series: int, centres: list[tuple[float, float]], radius: float, *, hollow: bool = False) -> None:
    """Draw the shape of a series about each centre, all in one path."""
    if not centres:
        return
    corners = _SHAPES[series % len(_SHAPES)]
    if corners:
        steps = pairwise(((0.0, 0.0), *corners))
        moves = [f"{number((x - from_x) * radius)} {number((y - from_y) * radius)}" for (from_x, from_y), (x, y) in steps]
        shape = f"m{moves[0]}l{' '.join(moves[1:])}z"
    else:
        across = number(2 * radius)
        arc = f"a{number(radius)} {number(radius)} 0 1 0"
        shape = f"m{number(-radius)} 0{arc} {across} 0{arc} -{across} 0z"
    role = f"{'s-' if hollow else ''}fill{series % FILLS}"
    panel.add(tag("path", d=_at(centres, shape), class_=role, stroke_width=2))


def _draw_crosses(panel: Panel, centres: list[tuple[float, float]], radius: float) -> None:
    """Draw a cross about each centre, all in one path."""
    if centres:
        near, far = number(-radius), number(2 * radius)
        shape = f"m{near} {near}l{far} {far}m0 -{far}l-{far} {far}"
        panel.add(tag("path", d=_at(centres, shape), class_="s-refuse", stroke_width=2.5))


def _at(centres: list[tuple[float, float]], shape: str) -> str:
    """Give the path of a shape, itself a path relative to its centre, repeated at each centre."""
    return "".join([f"M{number(x)} {number(y)}{shape}" for x, y in centres])


def _description(figure: LadderFigure) -> str:
    """Give the figure in words, for those who do not see it."""
    rows = []
    for rung in figure.rungs:
        totals = [
            f"{series} {total.shown}" + (f" ({figure.refused})" if total.size > figure.ceiling.size else "")
            for series, total in zip(figure.series, rung.totals, strict=True)
            if total
        ]
        rows.append(f"{figure.heads[0]} {rung.n_cpu_moe} {figure.heads[1]} {rung.n_ctx}: {', '.join(totals)}.")
    return " ".join([f"{figure.ceiling.label} {figure.ceiling.shown}.", *rows])
