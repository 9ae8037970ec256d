"""The guide's pictures: pure functions from formatted labels and exact numbers to one SVG each.

Every figure is drawn on its own opaque panel, readable in light and dark and in print, at a phone's
width and at a page's. Numbers that are claims arrive as text; geometry and axis ticks are computed.
"""

from __future__ import annotations

from generator.guide.figures.amount import Amount, Caption, FigureError
from generator.guide.figures.crossover import CrossoverFigure, CrossoverPoint, crossover
from generator.guide.figures.ladder import Chosen, LadderFigure, Rung, Total, ladder
from generator.guide.figures.vram_bar import HostBar, VramBar, vram_bar

__all__ = [
    "Amount",
    "Caption",
    "Chosen",
    "CrossoverFigure",
    "CrossoverPoint",
    "FigureError",
    "HostBar",
    "LadderFigure",
    "Rung",
    "Total",
    "VramBar",
    "crossover",
    "ladder",
    "vram_bar",
]
