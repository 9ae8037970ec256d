"""What a figure is told: a label, the number as the page shows it, and the exact number to draw."""

from __future__ import annotations

from dataclasses import dataclass

from generator.errors import GenError


class FigureError(GenError):
    """A figure was asked for that cannot be drawn: a negative size, nothing to show, a bad name."""


@dataclass(frozen=True, slots=True)
class Caption:
    """A name and the number beside it, both as text; what it stands for is known to the figure."""

    label: str
    shown: str


@dataclass(frozen=True, slots=True)
class Amount:
    """A named number of bytes, or a place on the bar that many bytes from its start, and how the page shows it."""

    label: str
    size: int
    shown: str

    def __post_init__(self) -> None:
        if self.size < 0:
            raise FigureError(f"a size to draw is negative: {self.size}", where=self.label)

    @property
    def caption(self) -> Caption:
        return Caption(self.label, self.shown)
