"""A compute buffer as a derivation: what is in it when it is fullest, tensor by tensor, each the product of its dimensions.

A dimension that was read from the header or follows from the settings is shown as that; what the allocator could not fill between
tensors is a term of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from generator.gguf.types import block
from generator.memory.graph.allocate import Peak
from generator.memory.graph.tensor import Count, Tensor
from generator.memory.model import Model
from generator.quantity import BYTE, ONE, Quantity, total


def peak_bytes(peak: Peak, model: Model, words: str) -> Quantity:
    """Give the bytes of a buffer at its peak as a sum of named terms."""
    sizes = {tensor.name: tensor.size for tensor in model.tensors}
    parts = [quantity for _, quantity in peak_terms(peak, sizes)]
    return total(parts, unit=BYTE, words=words) if parts else Quantity.constant(0, BYTE, "nothing is computed here")


def peak_terms(peak: Peak, weights: dict[str, Quantity]) -> Iterator[tuple[str, Quantity]]:
    """Give each tensor of a peak by its name in the engine's graph, with its bytes, and at the end the gaps between them."""
    filled = 0
    for tensor, size in peak.held:
        filled += size
        quantity = _bytes_of(tensor, weights)
        padding = size - int(quantity)
        if padding:
            quantity += Quantity.constant(padding, BYTE, "alignment")
        yield tensor.name or tensor.op.lower(), quantity
    if peak.size > filled:
        yield "gaps", Quantity.constant(peak.size - filled, BYTE, "gaps between them that nothing filled")


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
