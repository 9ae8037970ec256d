"""The attention cache: what one token costs, and what a context of cells costs.

Source: llama.cpp src/llama-kv-cache.cpp (one K and one V tensor a layer, of `n_embd_k_gqa` and `n_embd_v_gqa`
elements a cell) and ggml's block sizes for the cache types.
"""

from __future__ import annotations

from collections.abc import Sequence

from generator.gguf.types import block
from generator.memory.context import Context
from generator.memory.model import Model
from generator.quantity import BYTE_PER_TOKEN, ONE, Quantity, total


def bytes_per_token(model: Model, blocks: Sequence[int], type_k: str, type_v: str) -> Quantity:
    """Give the bytes that one cell of the cache takes in all of `blocks` together."""
    if not blocks:
        return Quantity.constant(0, BYTE_PER_TOKEN, "no block caches")
    rows = [_row(model, index, "key", type_k) + _row(model, index, "value", type_v) for index in blocks]
    if len({row.value for row in rows}) == 1:
        return rows[0] * Quantity.constant(len(blocks), ONE, "blocks that cache")
    return total(rows, unit=BYTE_PER_TOKEN, words="sum over the blocks that cache")


def elements_per_token(model: Model, blocks: Sequence[int]) -> Quantity:
    """Give the cache elements of one cell in all of `blocks`, K and V together."""
    each = [kv_heads(model, index) * (head_length(model, "key") + head_length(model, "value")) for index in blocks]
    return each[0] * len(blocks) if len({item.value for item in each}) == 1 else total(each, unit=ONE)


def cache_bytes(per_token: Quantity, context: Context) -> Quantity:
    """Give the bytes of the whole cache: every cell of every stream."""
    return per_token * context.total_cells


def head_length(model: Model, part: str) -> Quantity:
    """Give the elements of one head's `key` or `value` (the header's, else the embedding shared out over the heads)."""
    if model.has(f"attention.{part}_length"):
        return model.number(f"attention.{part}_length")
    return model.number("embedding_length") / model.per_block("attention.head_count", 0)


def kv_heads(model: Model, index: int) -> Quantity:
    """Give the heads that share a block's cache: as many as attention heads where the header does not say."""
    name = "attention.head_count_kv"
    return model.per_block(name if model.has(name) else "attention.head_count", index)


def row_elements(model: Model, index: int, part: str) -> Quantity:
    """Give the elements of a block's `key` or `value` row, all of its heads together."""
    return kv_heads(model, index) * head_length(model, part)


def _row(model: Model, index: int, part: str, cache_type: str) -> Quantity:
    block_elements, block_bytes = block(cache_type)
    blocks = row_elements(model, index, part) / Quantity.constant(block_elements, ONE, f"elements in a block of {cache_type}")
    return blocks * Quantity.constant(block_bytes, BYTE_PER_TOKEN, f"bytes of a block of {cache_type}")
