"""How a file's bytes are split between routed experts and everything else, by parameters, and how far that may be off.

A quantiser spends more bits on some matrices than on others, so a share of the parameters is no share of the bytes. What is certain is
that no matrix has fewer bits than the file's smallest type. Either end of what that allows is a split too: all bits to spare on the
experts, or all of them on the weights that every token reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from generator.check.params import Counts
from generator.errors import InputError
from generator.gguf.types import block
from generator.quantity import BYTE, PARAMETER, Quantity


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes of routed experts and of the rest in a file, and what a token reads of either."""

    experts: Quantity
    dense: Quantity
    experts_read: Quantity
    dense_read: Quantity


def by_parameters(file: Quantity, counts: Counts) -> Split:
    """Give the split in which every parameter takes the same."""
    experts = file * (counts.routed_experts / counts.total)
    return Split(
        experts,
        file - experts - file * (counts.unread / counts.total) if counts.unread.number else file - experts,
        file * (counts.active_experts / counts.total),
        file * ((counts.dense - counts.input_embedding) / counts.total),
    )


def ends(file: Quantity, counts: Counts, least_type: str, *, where: str) -> dict[str, Split]:
    """Give the two splits that no split of this file goes beyond: least bytes in what every token reads, and most.

    Raises InputError for a file that has no room for its parameters at that type.
    """
    elements, size = block(least_type)
    words = f"bytes of a parameter in {least_type}"
    each = Quantity.constant(size, BYTE, f"bytes of a block of {least_type}") / Quantity.constant(elements, PARAMETER, words)
    if file < counts.total * each:
        raise InputError(
            f"the file is smaller than all its parameters at {least_type}",
            where=where,
            remedy="give `least_type` as the smallest type that the file has, or look at its size again",
        )
    loaded = file - counts.unread * each if counts.unread.number else file
    mixture = bool(counts.routed_experts.number)
    least = counts.dense * each if mixture else loaded
    most = loaded - counts.routed_experts * each if mixture else loaded
    read_least = (counts.dense - counts.input_embedding) * each
    read_most = most - counts.input_embedding * each
    return {"dense_least": _split(loaded, least, read_least, counts), "dense_most": _split(loaded, most, read_most, counts)}


def _split(loaded: Quantity, dense: Quantity, dense_read: Quantity, counts: Counts) -> Split:
    experts = loaded - dense
    if not experts.number:
        return Split(experts, dense, experts, dense_read)
    return Split(experts, dense, experts * (counts.active_experts / counts.routed_experts), dense_read)
