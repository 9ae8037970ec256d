"""The sheet every figure is drawn on, and the few shapes drawn with.

A figure is 640 units wide; at a phone's 328 pixels its text of 20 units is still above ten pixels.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from generator.guide.figures.amount import Caption, FigureError
from generator.guide.figures.palette import FILLS, style_sheet
from generator.guide.figures.text import escaped, fitted, text_width, wrapped

WIDTH = 640.0
MARGIN = 24.0
LEFT, RIGHT = MARGIN, WIDTH - MARGIN
SIZE = 20.0
"""The font size of all text but the title; nothing is smaller."""
TITLE_SIZE = 25.0
LINE = 28.0
"""From one line of text to the next."""
_SWATCH = 16.0
_SPACE = 0.34 * SIZE
"""Between a label and its number."""

_NAME = re.compile(r"[a-z][a-z0-9-]*")

# Each is a tile: its size, its turn in degrees, the class of its ground ("" for none), and what lies on the ground.
_TEXTURES = (
    (12, 45, '<rect width="3.5" height="12"/>'),
    (9, 0, '<circle cx="4.5" cy="4.5" r="1.9"/>'),
    (10, 0, '<rect width="3" height="10"/>'),
    (12, -45, '<rect width="3.5" height="12"/>'),
    (10, 0, '<rect width="10" height="3"/>'),
)
_TILES = {
    **{
        f"fill{index}": (size, turn, f"fill{index}", f'<g class="panel" opacity="0.4">{cuts}</g>')
        for index, (size, turn, cuts) in enumerate(_TEXTURES, start=1)
    },
    "muted": (8, 45, "panel", '<rect width="2" height="8" class="muted"/>'),
    "refuse": (16, -45, "", '<rect width="10" height="16" class="panel"/><rect x="1.75" width="6.5" height="16" class="refuse"/>'),
    "past": (14, -45, "", '<rect width="1.5" height="14" class="refuse" opacity="0.45"/>'),
    "cap": (9, 0, "panel", '<circle cx="4.5" cy="4.5" r="1.4" class="ink"/>'),
}


def number(value: float) -> str:
    """Give a coordinate with at most two decimals, the same bytes on every machine."""
    return f"{round(value, 2) + 0.0:g}"


def tag(element: str, content: str = "", /, **attributes: str | float) -> str:
    """Give one element; attribute names are written `stroke_width`, and `class_` for `class`. `content` is markup."""
    written = "".join(
        [f' {_attribute(key)}="{escape(value) if isinstance(value, str) else number(value)}"' for key, value in attributes.items()]
    )
    return f"<{element}{written}>{content}</{element}>" if content else f"<{element}{written}/>"


@lru_cache
def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def line(x1: float, y1: float, x2: float, y2: float, role: str, width: float = 2, dash: str = "") -> str:
    """Give a straight line in the colour of `role`."""
    dashes = {"stroke_dasharray": dash} if dash else {}
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=f"s-{role}", stroke_width=width, **dashes)


def caption_width(caption: Caption) -> float:
    """Give the estimated width of a caption on one line."""
    return text_width(caption.label, SIZE) + _SPACE + text_width(caption.shown, SIZE, bold=True)


class Panel:
    """A titled sheet that grows downward: `y` is where the next thing may start."""

    def __init__(self, name: str, title: str, subtitle: str) -> None:
        if not _NAME.fullmatch(name):
            raise FigureError(f"'{name}' cannot be a figure's name", remedy="use lower-case letters, digits and hyphens")
        self.name = name
        self.title = title
        self.y = MARGIN
        self._parts: list[str] = []
        for row in wrapped(title, TITLE_SIZE, RIGHT - LEFT, lines=2, bold=True):
            self.y += TITLE_SIZE
            self.text(LEFT, self.y, row, size=TITLE_SIZE, bold=True)
            self.y += 6
        for row in wrapped(subtitle, SIZE, RIGHT - LEFT, lines=3):
            self.y += SIZE
            self.text(LEFT, self.y, row, role="muted")
            self.y += 5
        self.y += 10

    def add(self, *markup: str) -> None:
        """Draw over what is there."""
        self._parts.extend(markup)

    def text(
        self, x: float, y: float, label: str, *, anchor: str = "start", role: str = "ink", size: float = SIZE, bold: bool = False
    ) -> None:
        """Write one line whose baseline is at `y`."""
        self._write(x, y, escaped(label), anchor, f"{role} b" if bold else role, size)

    def caption(self, x: float, y: float, caption: Caption, *, width: float, anchor: str = "start", role: str = "ink") -> None:
        """Write a label and its number in bold on one line; if `width` is too narrow the label is cut before the number is."""
        shown = fitted(caption.shown, SIZE, width, bold=True)
        value = f'<tspan class="{role} b">{escaped(shown)}</tspan>'
        room = width - _SPACE - text_width(shown, SIZE, bold=True)
        label = fitted(caption.label, SIZE, room)
        self._write(x, y, f"{escaped(label)} {value}", anchor, role, SIZE)

    def _write(self, x: float, y: float, markup: str, anchor: str, look: str, size: float) -> None:
        """Write one line of text; what the sheet's own attributes say is not said again."""
        own: dict[str, str | float] = {"text_anchor": anchor} if anchor != "start" else {}
        if size != SIZE:
            own["font_size"] = size
        self.add(tag("text", markup, x=x, y=y, class_=look, **own))

    def fill(self, index: int) -> dict[str, str]:
        """Give the attributes that paint a shape with fill `index`, texture included."""
        return {"class_": self.solid(index)} if index % FILLS == 0 else self.hatch(self.solid(index))

    def solid(self, index: int) -> str:
        """Give the class of fill `index` without its texture."""
        return f"fill{index % FILLS}"

    def hatch(self, tile: str) -> dict[str, str]:
        """Give the attributes that paint a shape with one of the tiles, by its key."""
        return {"fill": f"url(#{self.name}-{tile})"}

    def swatch(self, x: float, y: float, paint: dict[str, str]) -> None:
        """Draw a sample of a fill, centred."""
        box = {"x": x - _SWATCH / 2, "y": y - _SWATCH / 2, "width": _SWATCH, "height": _SWATCH}
        self.add(tag("rect", **box, **paint), tag("rect", **box, class_="s-muted", stroke_width=1.5))

    def svg(self, description: str) -> str:
        """Give the figure as one SVG document, ended below `y`."""
        height = self.y + MARGIN
        head = tag("title", escaped(self.title) or " ", id=f"{self.name}-title") + tag(
            "desc", escaped(description) or " ", id=f"{self.name}-desc"
        )
        sheet = tag("rect", x=0.75, y=0.75, width=WIDTH - 1.5, height=height - 1.5, rx=14, class_="panel")
        edge = tag("rect", x=0.75, y=0.75, width=WIDTH - 1.5, height=height - 1.5, rx=14, class_="s-edge", stroke_width=1.5)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{self.name}" viewBox="0 0 {number(WIDTH)} {number(height)}"'
            f' width="{number(WIDTH)}" height="{number(height)}" font-size="{number(SIZE)}" role="img"'
            f' aria-labelledby="{self.name}-title {self.name}-desc">'
            f"{head}{_definitions(self.name)}"
            f"{sheet}{edge}{''.join(self._parts)}</svg>\n"
        )


@lru_cache(maxsize=64)
def _definitions(name: str) -> str:
    """Give the style sheet and the tiles, the same for every figure of that name."""
    patterns = "".join(_pattern(f"{name}-{tile}", *look) for tile, look in _TILES.items())
    return f"<style>{style_sheet(name)}</style><defs>{patterns}</defs>"


def _pattern(name: str, size: float, turn: float, ground: str, cuts: str) -> str:
    body = (tag("rect", width=size, height=size, class_=ground) if ground else "") + cuts
    turned = {"patternTransform": f"rotate({number(turn)})"} if turn else {}
    return tag("pattern", body, id=name, width=size, height=size, patternUnits="userSpaceOnUse", **turned)
