"""The memory bar: what lies on the card against its ceiling and, where given, what lies in host memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from generator.guide.figures.amount import Amount, Caption, FigureError
from generator.guide.figures.callouts import Placed, placed
from generator.guide.figures.panel import LEFT, LINE, RIGHT, SIZE, Panel, line, number, tag
from generator.guide.figures.text import fitted, text_width

_HEIGHT = 72.0
_ELBOW = 14.0
"""How far below the bar a leader has reached its own place."""
_PARTED_FROM = 6.0
"""A stretch narrower than this is not parted from its neighbours: it would vanish."""
_INSET = 10.0
"""Kept free on each side of a label inside its segment."""
_SCALE_SHARED_UP_TO = 2
_NOTE_ROOM = 160.0


@dataclass(frozen=True, slots=True)
class HostBar:
    """What lies in host memory. `caps` are parts that may grow to the size given; `memory` is the machine's, if known."""

    heading: str
    parts: tuple[Amount, ...]
    caps: tuple[Amount, ...] = ()
    memory: Amount | None = None


@dataclass(frozen=True, slots=True)
class VramBar:
    """A card's memory: `parts` in order from the bar's start; `ceiling` <= `usable` <= `card` are places on it.

    `margin` captions what is left below the ceiling or, when the parts pass it, what is too much;
    `reserve` captions ceiling to usable, `beyond` usable to card. Each is left out where it has no extent.
    """

    title: str
    subtitle: str
    parts: tuple[Amount, ...]
    ceiling: Amount
    usable: Amount
    card: Amount
    margin: Caption
    reserve: Caption
    beyond: Caption
    host: HostBar | None = None
    name: str = "vram-bar"

    def __post_init__(self) -> None:
        if not self.ceiling.size <= self.usable.size <= self.card.size:
            raise FigureError("the ceiling, the usable pool and the card's memory do not ascend", where=self.name)
        if self.card.size == 0:
            raise FigureError("the card has no memory to draw", where=self.name)

    @property
    def total(self) -> int:
        return sum(part.size for part in self.parts)


@dataclass(frozen=True, slots=True)
class _Region:
    """A stretch of a bar from byte `start` to `end`.

    `paint` holds the attributes of its shape. A label inside it is written in the colour of `on` over a plate of
    `plate`, and keeps clear of what follows `clear_end`; a label outside has the colour of `tone`.
    """

    start: int
    end: int
    clear_end: int
    caption: Caption
    paint: dict[str, str]
    plate: str
    on: str
    tone: str = "ink"


def vram_bar(figure: VramBar) -> str:
    """Give the figure as SVG. Lengths are proportional to bytes.

    The host's bar has the card's scale, unless one is more than twice as long as the other: then each fills the width.
    """
    panel = Panel(figure.name, figure.title, figure.subtitle)
    fills = _fills(figure)
    card_extent = max(figure.card.size, figure.total)
    host_extent = _host_extent(figure.host)
    shared = host_extent <= card_extent * _SCALE_SHARED_UP_TO and card_extent <= host_extent * _SCALE_SHARED_UP_TO
    extent = max(card_extent, host_extent) if shared else card_extent
    marks = [(figure.ceiling, "ink", ""), (figure.usable, "ink", "7 5"), (figure.card, "muted", "")]
    _draw_bar(panel, _card_regions(panel, figure, fills), marks, extent)
    if figure.host and host_extent:
        panel.y += 18 + SIZE
        heading = fitted(figure.host.heading, SIZE, RIGHT - LEFT - _NOTE_ROOM, bold=True)
        panel.text(LEFT, panel.y, heading, bold=True)
        if not shared:
            panel.text(RIGHT, panel.y, "another scale", anchor="end", role="muted")
        panel.y += 12
        memory = [(figure.host.memory, "muted", "")] if figure.host.memory else []
        _draw_bar(panel, _host_regions(panel, figure.host, fills), memory, extent if shared else host_extent)
    return panel.svg(_description(figure))


def _host_extent(host: HostBar | None) -> int:
    if host is None:
        return 0
    filled = sum(part.size for part in (*host.parts, *host.caps))
    return max(filled, host.memory.size if host.memory else 0)


def _fills(figure: VramBar) -> dict[str, int]:
    """Give each label its fill: the same thing looks the same on the card and in host memory."""
    parts = (*figure.parts, *(figure.host.parts if figure.host else ()))
    return {label: fill for fill, label in enumerate(dict.fromkeys(part.label for part in parts))}


def _parts(panel: Panel, parts: Sequence[Amount], fills: dict[str, int], ceiling: int | None = None) -> list[_Region]:
    regions = []
    start = 0
    for part in parts:
        fill = fills[part.label]
        end = start + part.size
        clear_end = end if ceiling is None else max(start, min(end, ceiling))
        regions.append(_Region(start, end, clear_end, part.caption, panel.fill(fill), panel.solid(fill), "panel"))
        start = end
    return regions


def _card_regions(panel: Panel, figure: VramBar, fills: dict[str, int]) -> list[_Region]:
    """Give the card's regions in drawing order; what passes the ceiling is hatched over the parts."""
    total, ceiling, usable, card = figure.total, figure.ceiling.size, figure.usable.size, figure.card.size
    muted, refuse = panel.hatch("muted"), panel.hatch("refuse")
    gaps = [
        _Region(total, ceiling, ceiling, figure.margin, {"class_": "panel"}, "panel", "ink"),
        _Region(max(total, ceiling), usable, usable, figure.reserve, muted, "panel", "ink"),
        _Region(max(total, usable), card, card, figure.beyond, {"class_": "muted"}, "muted", "panel"),
        _Region(ceiling, total, total, figure.margin, refuse, "panel", "refuse", tone="refuse"),
    ]
    return [*_parts(panel, figure.parts, fills, ceiling), *(gap for gap in gaps if gap.start < gap.end)]


def _host_regions(panel: Panel, host: HostBar, fills: dict[str, int]) -> list[_Region]:
    regions = _parts(panel, host.parts, fills)
    start = regions[-1].end if regions else 0
    for cap in host.caps:
        end = start + cap.size
        regions.append(_Region(start, end, end, cap.caption, panel.hatch("cap"), "panel", "ink"))
        start = end
    return regions


def _draw_bar(panel: Panel, regions: list[_Region], marks: list[tuple[Amount, str, str]], extent: int) -> None:
    """Draw one bar across the panel, with marked places above it and labels in it or below it."""

    def x(size: int) -> float:
        return LEFT + (RIGHT - LEFT) * float(Fraction(size, extent))

    spots = placed([x(mark.size) for mark, _, _ in marks], [mark.caption for mark, _, _ in marks], edge=0)
    rows = 1 + max((spot.row for spot in spots), default=-1)
    top = panel.y + rows * LINE + (_ELBOW if marks else 0)
    for region in regions:
        _draw_region(panel, region, x(region.start), x(region.end), top)
    end = max([region.end for region in regions] + [mark.size for mark, _, _ in marks], default=0)
    panel.add(tag("rect", x=LEFT, y=top, width=x(end) - LEFT, height=_HEIGHT, class_="s-muted", stroke_width=1.5))
    for (mark, role, dash), spot in zip(marks, spots, strict=True):
        _draw_mark(panel, mark.caption, role, dash, x(mark.size), spot, top)
    outside = [region for region in regions if not _label_inside(panel, region, x, top)]
    panel.y = top + _HEIGHT
    _draw_callouts(panel, sorted(outside, key=lambda region: region.start + region.end), x)


def _draw_region(panel: Panel, region: _Region, left: float, right: float, top: float) -> None:
    """Draw a stretch of a bar."""
    panel.add(tag("rect", x=left, y=top, width=right - left, height=_HEIGHT, **region.paint))
    if right - left > _PARTED_FROM:
        panel.add(tag("rect", x=left, y=top, width=right - left, height=_HEIGHT, class_="s-panel", stroke_width=2))


def _label_inside(panel: Panel, region: _Region, x: Callable[[int], float], top: float) -> bool:
    """Label a stretch of a bar inside it if there is room; tell whether there was."""
    label, shown = region.caption.label, region.caption.shown
    taken = max(text_width(label, SIZE), text_width(shown, SIZE, bold=True)) + 2 * _INSET
    room = x(region.clear_end) - x(region.start)
    if taken > room:
        return False
    middle = x(region.start) + room / 2
    panel.add(tag("rect", x=middle - taken / 2, y=top + 8, width=taken, height=_HEIGHT - 16, rx=6, class_=region.plate))
    panel.text(middle, top + 31, label, anchor="middle", role=region.on)
    panel.text(middle, top + 56, shown, anchor="middle", role=region.on, bold=True)
    return True


def _draw_mark(panel: Panel, caption: Caption, role: str, dash: str, x: float, spot: Placed, top: float) -> None:
    """Draw a marked place: a line through the bar that leads up to its label."""
    middle = top - _ELBOW - LINE * spot.row - LINE / 2
    panel.add(line(x, top - 2, x, top + _HEIGHT + 5, role, 3, dash))
    if spot.tied:
        route = f"M{number(x)} {number(top - 2)}L{number(spot.leader)} {number(top - _ELBOW)}V{number(middle - 8)}"
        panel.add(tag("path", d=route, class_=f"s-{role}", stroke_width=2))
    else:
        panel.add(line(spot.leader, middle - 8, spot.leader, middle + 8, role, 3, dash))
    panel.caption(spot.text_x, middle + 7, caption, width=spot.room, anchor=spot.anchor)


def _draw_callouts(panel: Panel, regions: list[_Region], x: Callable[[int], float]) -> None:
    """Label the stretches of a bar that are too short for it, below the bar that ends at the panel's `y`."""
    places = [(x(region.start) + x(region.end)) / 2 for region in regions]
    spots = placed(places, [region.caption for region in regions])
    bottom = panel.y
    for region, place, spot in zip(regions, places, spots, strict=True):
        middle = bottom + _ELBOW + LINE * spot.row + LINE / 2
        if spot.tied:
            route = f"M{number(place)} {number(bottom)}L{number(spot.leader)} {number(bottom + _ELBOW)}V{number(middle)}"
            panel.add(tag("path", d=route, class_="s-muted", stroke_width=2))
        panel.swatch(spot.leader, middle, region.paint)
        panel.caption(spot.text_x, middle + 7, region.caption, width=spot.room, anchor=spot.anchor, role=region.tone)
        panel.y = max(panel.y, middle + LINE / 2)


def _description(figure: VramBar) -> str:
    """Give the figure in words, for those who do not see it."""
    marks = (figure.ceiling, figure.usable, figure.card)
    text = f"On the card: {_listed(figure.parts)}. {_listed(marks)}. {figure.margin.label} {figure.margin.shown}."
    if figure.host:
        text += f" {figure.host.heading}: {_listed((*figure.host.parts, *figure.host.caps))}."
    return text


def _listed(amounts: Sequence[Amount]) -> str:
    return ", ".join(f"{amount.label} {amount.shown}" for amount in amounts) or "nothing"
