"""Text on a figure: made safe for SVG, its width estimated, cut or broken to fit.

Labels may be other people's text. The width is an estimate from above for the fonts a reader's system
may choose: the per-letter widths are those of DejaVu Sans, the widest of the usual ones.
"""

from __future__ import annotations

import re
from html import escape
from itertools import accumulate, takewhile
from unicodedata import east_asian_width

_WIDTHS = {
    letter: width
    for width, letters in (
        (0.29, "'ijl"),
        (0.34, " ,./:;\\I"),
        (0.41, "!()-[]frt"),
        (0.53, '"*?J_`sz|'),
        (0.62, "FLPTYaceokvxy"),
        (0.64, "$0123456789ESbdghnpqu{}"),
        (0.7, "ABCKRVXZ"),
        (0.79, "&DGHNOQU"),
        (0.86, "#+<=>M^w~"),
        (1.0, "%@Wm"),
    )
    for letter in letters
}
_OTHER_WIDTH = 0.9
_WIDE_WIDTH = 1.0
_EMOJI, _EMOJI_WIDTH = "\U0001f000", 1.3
_BOLD = 1.13
_ROUNDING = 0.01
"""So that a text fits into its own width, summed up in another order."""

_NOT_XML = "\x00-\x1f\ud800-\udfff\ufffe\uffff"
_CONTROLS = "\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
_UNFIT = re.compile(f"[{_NOT_XML}{_CONTROLS}]")


def clean(label: str) -> str:
    """Give `label` on one line, with what XML forbids or what reorders its neighbours replaced by U+FFFD."""
    return _UNFIT.sub("\ufffd", " ".join(label.split()))


def escaped(label: str) -> str:
    """Give `label` cleaned and escaped for SVG text and attributes."""
    return escape(clean(label), quote=True)


def text_width(label: str, size: float, *, bold: bool = False) -> float:
    """Give the estimated width of `label` at font size `size`, in the unit of `size`."""
    return sum(map(_width, clean(label))) * size * (_BOLD if bold else 1)


def _width(letter: str) -> float:
    """Give the estimated width of one letter in a font of size 1."""
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if letter >= _EMOJI:
        return _EMOJI_WIDTH
    return _WIDE_WIDTH if east_asian_width(letter) in "WF" else _OTHER_WIDTH


def fitted(label: str, size: float, width: float, *, bold: bool = False) -> str:
    """Give `label`, cut at its end with an ellipsis if it is estimated wider than `width`: empty if there is no room for that."""
    text = clean(label)
    if text_width(text, size, bold=bold) <= width + _ROUNDING:
        return text
    room = width / (size * (_BOLD if bold else 1)) - _width("…")
    if room < 0:
        return ""
    so_far = accumulate(map(_width, text))
    taken = sum(1 for _ in takewhile(lambda used: used <= room, so_far))
    return text[:taken].rstrip() + "…"


def wrapped(label: str, size: float, width: float, *, lines: int, bold: bool = False) -> list[str]:
    """Give `label` broken at spaces into at most `lines` lines of `width`; what does not fit the last one is cut."""
    rows: list[str] = []
    words = clean(label).split(" ")
    while words and words != [""] and len(rows) < lines:
        last = len(rows) == lines - 1
        count = len(words) if last else _that_fit(words, size, width, bold=bold)
        rows.append(fitted(" ".join(words[:count]), size, width, bold=bold))
        words = words[count:]
    return rows


def _that_fit(words: list[str], size: float, width: float, *, bold: bool) -> int:
    """Give how many of the first words go on one line: at least one."""
    count = 1
    while count < len(words) and text_width(" ".join(words[: count + 1]), size, bold=bold) <= width:
        count += 1
    return count
