"""A plan against a card: what may be used, what is left, under either budget policy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from generator.quantity import Quantity


class Policy(StrEnum):
    """Where the input embedding is counted.

    ENGINE: in host memory, as llama.cpp places it. PUBLISHED: in VRAM, the upper bound that published guides use.
    """

    ENGINE = "engine"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class Pool:
    """A card's memory in bytes: `usable` by the model, `reserve` kept for compute buffers, `ceiling` between them."""

    usable: Quantity
    reserve: Quantity
    ceiling: Quantity

    @staticmethod
    def of(usable: Quantity, reserve: Quantity) -> Pool:
        """Give the pool of a card. Raises UnitError where either is no size."""
        return Pool(usable, reserve, usable - reserve)


def fits(total: Quantity, pool: Pool) -> bool:
    """Tell whether a total stays under the ceiling."""
    return total <= pool.ceiling


def clears_by(total: Quantity, pool: Pool) -> Quantity:
    """Give what a total leaves under the ceiling, in bytes; negative where it goes over."""
    return pool.ceiling - total
