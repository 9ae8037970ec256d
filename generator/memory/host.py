"""Host memory beside the weights: the server's prompt cache and what one of its entries costs.

Source: llama.cpp tools/server/server-context.cpp (an entry is the whole state of a sequence) and
src/llama-memory-hybrid.cpp `state_write` (attention cells and the recurrent state, the latter whatever the length).
"""

from __future__ import annotations

from generator.quantity import BYTE, Quantity

MEBIBYTE = 2**20


def prompt_cache_limit(mebibytes: int) -> Quantity | None:
    """Give the bytes the prompt cache may take (`-cram`): none where it has no limit (-1)."""
    return None if mebibytes < 0 else Quantity.constant(mebibytes * MEBIBYTE, BYTE, "-cram")


def entry_crossover(per_sequence: Quantity, per_token: Quantity) -> Quantity:
    """Give the tokens from which on an entry's cache cells outweigh its copy of the recurrent state."""
    return (per_sequence / per_token).rounded_up()
