"""The colours of the figures in both schemes, and the style sheet made of them.

Text colours have at least 4.5:1 against everything they are drawn on, marks at least 3:1 against the
panel (WCAG 2.2, 1.4.3 and 1.4.11). The six fills keep apart for colour-blind readers by lightness and
hue, and each has a texture of its own, so that none is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LIGHT: Mapping[str, str] = MappingProxyType(
    {
        "panel": "#ffffff",
        "edge": "#cfd6de",
        "rule": "#e3e8ee",
        "ink": "#16202b",
        "muted": "#51606f",
        "fill0": "#0b5cad",
        "fill1": "#b04a00",
        "fill2": "#00705c",
        "fill3": "#8a3583",
        "fill4": "#7d6000",
        "fill5": "#3f6b1f",
        "refuse": "#b3122f",
        "band": "#fff3c9",
        "past": "#fdeef0",
        "above": "#fdeee2",
        "below": "#e4f0fc",
    }
)

DARK: Mapping[str, str] = MappingProxyType(
    {
        "panel": "#12181f",
        "edge": "#3a4653",
        "rule": "#27313c",
        "ink": "#eef3f8",
        "muted": "#a9b6c4",
        "fill0": "#6db3f8",
        "fill1": "#f2a25c",
        "fill2": "#45c9a8",
        "fill3": "#e09ada",
        "fill4": "#dcc45a",
        "fill5": "#9fce6a",
        "refuse": "#ff8494",
        "band": "#3a3313",
        "past": "#2b1a20",
        "above": "#33241a",
        "below": "#14293f",
    }
)

FILLS = 6
"""How many fills there are: `fill0` and up."""

FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",Arial,sans-serif'

_PAINTED = ("panel", "ink", "muted", "refuse", "band", "past", "above", "below", *(f"fill{number}" for number in range(FILLS)))
_STROKED = ("panel", "edge", "rule", "ink", "muted", "refuse", *(f"fill{number}" for number in range(FILLS)))


def style_sheet(name: str) -> str:
    """Give the CSS of the figure called `name`; every rule is held to that figure, for pages that inline several.

    On paper the light colours are used whatever the screen's scheme is.
    """
    here = f"#{name}"
    rules = [
        f"{here}{{{_variables(LIGHT)}}}",
        f"@media screen and (prefers-color-scheme:dark){{{here}{{{_variables(DARK)}}}}}",
        f"{here} text{{font-family:{FONT};font-variant-numeric:tabular-nums;fill:var(--ink)}}",
        f"{here} .b{{font-weight:600}}",
        *(f"{here} .{role}{{fill:var(--{role})}}" for role in _PAINTED),
        *(f"{here} .s-{role}{{fill:none;stroke:var(--{role})}}" for role in _STROKED),
    ]
    return "".join(rules)


def _variables(scheme: Mapping[str, str]) -> str:
    return ";".join(f"--{role}:{colour}" for role, colour in scheme.items())
