"""Labels beside a bar, each tied by a leader line to a place on it, laid in rows so that nothing crosses.

Labels right of their leaders are stacked from the right, those left of theirs from the left: the
nearest leader ends first, so that no leader runs through a label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generator.guide.figures.amount import Caption
from generator.guide.figures.panel import LEFT, RIGHT, caption_width

ASIDE = 14.0
"""From a leader to its text."""
_APART = 22.0
"""Between neighbouring leaders: more than a swatch is wide."""
_CLEAR = 12.0
"""Between a text and the next leader."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a label goes: its leader's place, its row counted from the bar, and on which side the text stands.

    `tied` is false in a list without leaders, where the swatch alone tells.
    """

    leader: float
    row: int
    anchor: str
    tied: bool = True

    @property
    def text_x(self) -> float:
        return self.leader + (ASIDE if self.anchor == "start" else -ASIDE)

    @property
    def room(self) -> float:
        """How wide the text may be."""
        return RIGHT - self.text_x if self.anchor == "start" else self.text_x - LEFT


def placed(places: Sequence[float], captions: Sequence[Caption], *, edge: float = 8) -> list[Placed]:
    """Give a place for each caption, in the order of `places`, which ascends along the bar.

    The arrangement with the fewest rows is taken. Where none keeps every label whole and clear of the
    other leaders, the labels become a list without leaders. `edge` is how far leaders keep from the panel's margins.
    """
    leaders = spread(places, edge)
    widths = [caption_width(caption) + ASIDE for caption in captions]
    options = [found for split in range(len(leaders) + 1) if (found := _arranged(leaders, widths, split))]
    if options:
        return min(options, key=lambda option: max((spot.row for spot in option), default=0))
    return [Placed(LEFT + 8, row, "start", tied=False) for row in range(len(leaders))]


def spread(places: Sequence[float], edge: float) -> list[float]:
    """Give ascending leader places as near to `places` as keeping them apart and on the panel allows."""
    apart = min(_APART, (RIGHT - LEFT - 2 * edge) / max(1, len(places) - 1))
    moved: list[float] = []
    for place in places:
        moved.append(max(place, LEFT + edge, moved[-1] + apart if moved else 0))
    limit = RIGHT - edge
    for index in range(len(moved) - 1, -1, -1):
        moved[index] = min(moved[index], limit)
        limit = moved[index] - apart
    return moved


def _arranged(leaders: list[float], widths: list[float], split: int) -> list[Placed] | None:
    """Place the labels before `split` right of their leaders, the others left of theirs; None where they do not fit."""
    ends = [leader + width for leader, width in zip(leaders[:split], widths[:split], strict=True)]
    starts = [leader - width for leader, width in zip(leaders[split:], widths[split:], strict=True)]
    if max(ends, default=LEFT) > RIGHT or min(starts, default=RIGHT) < LEFT:
        return None
    first_row_after, first_row_before = 0, 0
    if ends and starts:
        after_is_clear = min(starts) >= leaders[split - 1] + _CLEAR
        before_is_clear = max(ends) <= leaders[split] - _CLEAR
        if max(ends) + _CLEAR > min(starts):
            first_row_before = len(starts) if after_is_clear else 0
            first_row_after = 0 if after_is_clear else split
        if not (after_is_clear or before_is_clear):
            return None
    before = [Placed(leaders[index], first_row_before + split - 1 - index, "start") for index in range(split)]
    after = [Placed(leaders[index], first_row_after + index - split, "end") for index in range(split, len(leaders))]
    return before + after
