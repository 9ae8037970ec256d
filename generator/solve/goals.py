"""The goals: which of the settings that fit is better, point by point, the first difference deciding.

**fastest**: fewest bytes that a token reads from host memory, then from the card, with an empty cache; then the larger micro-batch (fewer
passes over a prompt), the more precise caches, the longer context.

**longest-context**: the longer context; then as for fastest.

**safest**: the most room left on the card, counted up to CUSHION, for beyond that more of it prevents nothing and every block moved to
the host costs speed; then the more precise caches, the engine's default micro-batch, and as for fastest.

Bytes on the host come first because host memory is the slower by far: one block moved to the card turns so many of the ones into the
same number of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from generator.memory.compute import FIT_MARGIN
from generator.solve.grid import MICRO_BATCHES, Point, precision
from generator.solve.space import Space

Key = tuple[object, ...]

CUSHION = FIT_MARGIN
"""Bytes beyond the reserve after which more room is no safer: what the engine itself leaves free, once more."""


class Goal(StrEnum):
    """What a search is for."""

    FASTEST = "fastest"
    LONGEST_CONTEXT = "longest-context"
    SAFEST = "safest"


ORDERS = {
    Goal.FASTEST: "host bytes a token, card bytes a token, micro-batch, cache precision, context",
    Goal.LONGEST_CONTEXT: "context, host bytes a token, card bytes a token, micro-batch, cache precision",
    Goal.SAFEST: "room left up to 1 GiB beside the reserve, cache precision, default micro-batch, host bytes a token, context",
}
"""What decides, in words, the first first."""


@dataclass(frozen=True, slots=True)
class Order:
    """A goal's order over the points of a space: the smaller key is the better one, and no two points have the same."""

    space: Space
    goal: Goal

    def sorted(self, depths: Sequence[int], room: Sequence[int]) -> Sequence[int]:
        """Give rising depths, that differ in nothing else, in the order of their keys; `room` has the slack of each depth of the grid.

        What a token reads on the host never falls with depth, so only a goal that asks for the slack can have a deeper one first.
        """
        return sorted(depths, key=lambda depth: (_short(room[depth]), depth)) if self.goal is Goal.SAFEST else depths

    def key(self, point: Point, slack: int) -> Key:
        """Give a point's key; `slack` is the room that its own run leaves on the card, in bytes."""
        return _KEYS[self.goal](self.space, point, slack)


def _fastest(space: Space, point: Point, _: int) -> Key:
    return (*space.reads(point), -point.n_ubatch, -precision(point.caches), -point.n_ctx, point)


def _longest(space: Space, point: Point, _: int) -> Key:
    return (-point.n_ctx, *space.reads(point), -point.n_ubatch, -precision(point.caches), point)


def _short(slack: int) -> int:
    return max(CUSHION - slack, 0)


def _safest(space: Space, point: Point, slack: int) -> Key:
    unusual = point.n_ubatch != MICRO_BATCHES[0]
    return (_short(slack), -precision(point.caches), unusual, *space.reads(point), -point.n_ctx, -point.n_ubatch, point)


_KEYS: dict[Goal, Callable[[Space, Point, int], Key]] = {
    Goal.FASTEST: _fastest,
    Goal.LONGEST_CONTEXT: _longest,
    Goal.SAFEST: _safest,
}
