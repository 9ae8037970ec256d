"""The ladder: what each offload depth leaves on the card, at each context and pair of cache types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from generator.memory.budget import Pool, clears_by
from generator.memory.model import Model
from generator.quantity import Quantity

Caches = tuple[str, str]
"""Cache types of K and V, under ggml's names."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One setting of the ladder and its total in bytes on the card: weights, cache and recurrent state."""

    n_cpu_moe: int
    n_ctx: int
    caches: Caches
    total: Quantity

    @property
    def key(self) -> str:
        """The rung's name in a ledger."""
        return f"{self.n_cpu_moe}@{self.n_ctx}.{self.caches[0]}/{self.caches[1]}"


def experts_up_to(model: Model, depth: int) -> Quantity:
    """Give the payload of the routed experts that `-ncmoe depth` keeps in host memory, in loaded blocks."""
    end = min(depth, int(model.loaded_blocks))
    tensors = [tensor for block in range(end) for tensor in model.experts(block)]
    return model.size_of(tensors, f"routed experts of blocks 0 to {end - 1}" if end else "no block")


def shallowest(
    depths: Iterable[int], caches: Sequence[Caches], total_at: Callable[[int, Caches], Quantity], pool: Pool, margin: Quantity
) -> int | None:
    """Give the smallest offload depth at which every pair of cache types clears the ceiling by more than `margin`.

    `depths` in rising order; None where no depth does.
    """
    for depth in depths:
        if all(margin < clears_by(total_at(depth, pair), pool) for pair in caches):
            return depth
    return None
