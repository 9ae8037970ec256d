"""What a token costs when its weights are in two tiers: the card first, system memory for what does not fit.

    seconds = dense / card + resident × experts / card + (1 − resident) × experts / host + cache / card

`resident` is the share of the routed experts that fits on the card beside everything that must be there; each of them is chosen as often
as any other. Nothing but reading is counted: a floor on time, a ceiling on speed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add

from generator.check.split import Split
from generator.errors import InputError
from generator.quantity import BYTE, ONE, TOKEN, Quantity, largest, smallest

PARTS = ("dense", "dense_host", "experts_card", "experts_host", "cache")
"""The terms of a token's time, in the order of a page."""


@dataclass(frozen=True, slots=True)
class Bandwidths:
    """Bytes a second of the card's memory and of system memory; the latter may be unknown where nothing waits there.

    `alone` marks a machine of one memory: what does not fit there does not run.
    """

    card: Quantity
    host: Quantity | None
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Beside:
    """What the card holds beside weights at one context, and what it may hold, in bytes; `cache_read` is what a token reads of it."""

    usable: Quantity
    cache: Quantity
    cache_read: Quantity
    state: Quantity
    compute: Quantity


@dataclass(frozen=True, slots=True)
class Token:
    """One token at one context: what is left for experts, the share of them that is resident, and the seconds of each term.

    Without routed experts `left` and `resident` are None; `dense_resident` is None where all other weights fit on the card.
    """

    left: Quantity | None
    resident: Quantity | None
    dense_resident: Quantity | None
    parts: dict[str, Quantity]
    time: Quantity

    @property
    def ceiling(self) -> Quantity:
        """Tokens a second."""
        return Quantity.constant(1, TOKEN, "one token") / self.time


Note = Callable[[str, Quantity], Quantity]
"""What is done with each number of a token as it is made: given `left`, `resident`, `dense_resident` or the name of a part, and it."""


def token(split: Split, beside: Beside, rates: Bandwidths, note: Note = lambda _, quantity: quantity) -> Token | None:
    """Give what a token costs; None where cache, state and buffers alone are more than the card may hold.

    Raises InputError where weights wait in system memory and its bandwidth is not given.
    """
    room = beside.usable - beside.cache - beside.state - beside.compute
    if room.number < 0 or (rates.alone and room < split.dense + split.experts):
        return None
    parts = {}
    dense_resident = left = resident = None
    if room < split.dense:
        dense_resident = note("dense_resident", room / split.dense)
        parts["dense"] = split.dense_read * dense_resident / rates.card
        parts["dense_host"] = split.dense_read * (_one() - dense_resident) / _host(rates)
    else:
        parts["dense"] = split.dense_read / rates.card
    if split.experts.number:
        left = note("left", largest([room - split.dense, Quantity.constant(0, BYTE, "no room")]))
        resident = note("resident", smallest([left / split.experts, _one()]))
        parts["experts_card"] = split.experts_read * resident / rates.card
        if resident.number < 1:
            parts["experts_host"] = split.experts_read * (_one() - resident) / _host(rates)
    parts["cache"] = beside.cache_read / rates.card
    ordered = {name: note(name, parts[name]) for name in PARTS if name in parts}
    return Token(left, resident, dense_resident, ordered, reduce(add, ordered.values()))


def _one() -> Quantity:
    return Quantity.constant(1, ONE, "all of them")


def _host(rates: Bandwidths) -> Quantity:
    if rates.host is None:
        raise InputError(
            "weights wait in system memory, and its bandwidth is not given", remedy="give `bandwidths.host` with what is reached of it"
        )
    return rates.host
