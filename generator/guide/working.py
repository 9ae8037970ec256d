"""The compute buffers of a guide's command, as numbers of its ledger: the whole, and the parts worth naming."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import MappingProxyType

from generator.facts import Facts
from generator.guide.ledger import Book
from generator.memory.budget import Pool
from generator.memory.graph.terms import COPY_OF, Buffer
from generator.memory.plan import Plan
from generator.quantity import Quantity, largest, total

WORTH_NAMING = 25
"""A part of a buffer is named on a page where it is at least one in so many of it."""

UNNAMED = MappingProxyType({"gaps": "gaps between tensors", "none": "a tensor that the graph gives no name"})
"""Parts of a buffer that have no name in the graph, as a page says them."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


EXCESSES = ("measured.compute_excess", "measured.server.compute_excess")
"""Facts with the bytes by which an engine's own compute buffers went beyond ours when it was asked."""


def excess_of(facts: Facts) -> Quantity | None:
    """Give the most by which an engine's readings on a device go beyond ours; None where no device was read.

    A server that poses as a device tells nothing of what a card adds.
    """
    posed = "measured.posed" in facts and facts["measured.posed"].value is True
    found = [facts[key].quantity() for key in EXCESSES if key in facts and not (posed and key == EXCESSES[0])]
    return largest(found) if found else None


def write_working(book: Book, plan: Plan, pool: Pool, excess: Quantity | None, card: int = 0) -> None:
    """Write the buffers of a card, by its index, and of the host under `compute`, and what the first leaves of the reserve.

    `excess` is what readings of the engine add to the card's. Nothing is written where no graph can be made of the header.
    """
    if plan.unknown_graph is not None:
        return
    device = plan.gpus[card].terms.buffer
    parts = [book.add(key, size, "MiB", 1) for key, _, size in _named(device)]
    rest = [size for _, size in device.largest[len(parts) :]]
    if rest:
        parts.append(book.add("compute.card.rest", total(rest, words="tensors too small to name, and gaps"), "MiB", 1))
    whole = book.add("compute.card", total(parts, words=" + ".join(f"[{part.key}]" for part in parts)) if parts else device.size, "MiB", 1)
    book.add("compute.host", plan.host.terms.compute, "MiB", 1)
    if excess is not None:
        whole = whole + book.add("compute.excess", excess, "MiB", 1)
    book.add("compute.slack", pool.reserve - whole, "MiB", 1)


def working_rows(plan: Plan, card: int = 0) -> list[dict[str, str]]:
    """Give the parts of a card's buffer worth naming, largest first: their keys, and their names in the engine's graph as shown."""
    return [{"key": key, "name": _words(name)} for key, name, _ in _named(plan.gpus[card].terms.buffer)]


def _words(name: str) -> str:
    """Give a part's name as a page says it."""
    if name in UNNAMED:
        return UNNAMED[name]
    copied = name.removeprefix(COPY_OF)
    return f"`{name}`" if copied == name else f"a copy of `{copied}` on its way to be used"


def _named(buffer: Buffer) -> Iterator[tuple[str, str, Quantity]]:
    seen: dict[str, int] = {}
    for name, size in buffer.largest:
        if int(size) * WORTH_NAMING < int(buffer.size):
            return
        key = f"compute.card.{_UNSAFE.sub('_', name)}"
        seen[key] = seen.get(key, 0) + 1
        yield (key if seen[key] == 1 else f"{key}.{seen[key]}"), name, size
