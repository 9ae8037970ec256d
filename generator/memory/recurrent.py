"""The fixed state of recurrent blocks: independent of context and cache types, one a sequence.

Source: llama.cpp src/llama-memory-recurrent.cpp (two F32 tensors a block, widened to `1 + n_rs_seq` groups for a draft).
"""

from __future__ import annotations

from generator.gguf.types import F32_BYTES
from generator.memory.context import Context
from generator.memory.layers import RecurrentState
from generator.quantity import BYTE, ONE, Quantity


def bytes_per_block(state: RecurrentState) -> Quantity:
    """Give the bytes one block with this state keeps for one sequence."""
    return (state.r + state.s) * Quantity.constant(F32_BYTES, BYTE, "bytes of an F32")


def state_bytes(per_block: Quantity, blocks: int, context: Context, draft_n_max: int = 0) -> Quantity:
    """Give the bytes that `blocks` recurrent blocks keep for every sequence, with a draft of so many tokens."""
    each = per_block * Quantity.constant(blocks, ONE, "recurrent blocks") * context.sequences
    return each * Quantity.constant(1 + draft_n_max, ONE, "the state and its copies for a draft") if draft_n_max else each


def draft_depth_extra(per_sequence: Quantity, n_max: int) -> Quantity:
    """Give what a draft of `n_max` tokens adds for one sequence: one more state for each of them."""
    return per_sequence * Quantity.constant(n_max, ONE, "--spec-draft-n-max")
