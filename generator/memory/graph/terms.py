"""A compute buffer as a derivation: what is in it when it is fullest, tensor by tensor, each the product of its dimensions.

A dimension that was read from the header or follows from the settings is shown as that; what the allocator could not fill between
tensors is a term of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from generator.gguf.types import block
from generator.memory.graph.allocate import Peak
from generator.memory.graph.tensor import Count, Tensor
from generator.memory.model import Model
from generator.quantity import BYTE, ONE, Quantity, total

COPY_OF = "copy of "
"""What stands before the name of a weight that is on the host and brought to a device for a while."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A compute buffer in bytes: `size` as the sum of its `parts`, which are named as in the engine's graph."""

    size: Quantity
    parts: tuple[tuple[str, Quantity], ...] = ()

    @property
    def largest(self) -> tuple[tuple[str, Quantity], ...]:
        """The parts from the largest down."""
        return tuple(sorted(self.parts, key=lambda part: -int(part[1])))


def buffer_of(peak: Peak, model: Model, words: str) -> Buffer:
    """Give the buffer whose peak this is; `words` say which it is."""
    sizes = {tensor.name: tensor.size for tensor in model.tensors}
    parts = tuple(_parts(peak, sizes))
    if not parts:
        return Buffer(Quantity.constant(0, BYTE, "nothing is computed here"))
    return Buffer(total((quantity for _, quantity in parts), unit=BYTE, words=words), parts)


def _parts(peak: Peak, weights: dict[str, Quantity]) -> Iterator[tuple[str, Quantity]]:
    """Give each tensor of a peak by its name, with its bytes, and at the end the gaps between them."""
    filled = 0
    for tensor, size in peak.held:
        if not size:
            continue
        filled += size
        quantity = _bytes_of(tensor, weights)
        beyond = size - int(quantity)
        if beyond:
            quantity += Quantity.constant(beyond, BYTE, "alignment, and what the device keeps beside it")
        yield _label(tensor, weights), quantity
    if peak.size > filled:
        yield "gaps", Quantity.constant(peak.size - filled, BYTE, "gaps between them that nothing filled")


def _label(tensor: Tensor, weights: dict[str, Quantity]) -> str:
    return f"{COPY_OF}{tensor.name}" if tensor.name in weights else tensor.name or tensor.op.lower()


def _bytes_of(tensor: Tensor, weights: dict[str, Quantity]) -> Quantity:
    """Give a tensor's bytes: its dimensions times the size of an element, or a weight's own size where it is brought from the host."""
    if tensor.name in weights and int(weights[tensor.name]) == tensor.nbytes:
        return weights[tensor.name]
    per_block, block_bytes = block(tensor.type)
    if per_block > 1 or not tensor.is_contiguous:
        return Quantity.constant(tensor.nbytes, BYTE, f"{tensor.name} {tensor.type}, from its first element to its last")
    size = Quantity.constant(block_bytes, BYTE, f"bytes of an {tensor.type}")
    for dimension in tensor.ne:
        if dimension != 1:
            size *= dimension.quantity() if isinstance(dimension, Count) else Quantity.constant(int(dimension), ONE, "elements")
    return size
