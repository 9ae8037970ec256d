"""The attention caches: what one cell costs, and how many cells there are.

Source: llama.cpp src/llama-kv-cache.cpp (one K and one V tensor a layer, of `n_embd_k_gqa` and `n_embd_v_gqa` elements a
cell), src/llama-kv-cache-iswa.cpp (cells of a window), and ggml's block sizes for the cache types.
"""

from __future__ import annotations

from collections.abc import Sequence

from generator.gguf.types import block
from generator.memory.context import CELL_PADDING, Context
from generator.memory.layers import Cache
from generator.memory.model import Model
from generator.memory.rows import head_length, kv_heads
from generator.quantity import BYTE_PER_TOKEN, ONE, Quantity, smallest, total


def bytes_per_token(cache: Cache, blocks: Sequence[int], type_k: str, type_v: str, *, padded_values: bool = False) -> Quantity:
    """Give the bytes that one cell takes in all of `blocks` together.

    `padded_values` is the case without flash attention: V is stored transposed, each row as wide as the widest of the model.
    """
    if not blocks:
        return Quantity.constant(0, BYTE_PER_TOKEN, "no block caches")
    rows = [_rows(cache, index, type_k, type_v, padded_values=padded_values) for index in blocks]
    if len({row.value for row in rows}) == 1:
        return rows[0] * Quantity.constant(len(blocks), ONE, "blocks that cache")
    return total(rows, unit=BYTE_PER_TOKEN, words="sum over the blocks that cache")


def elements_per_token(model: Model, blocks: Sequence[int]) -> Quantity:
    """Give the cache elements of one cell in all of `blocks`, K and V together."""
    each = [kv_heads(model, index) * (head_length(model, "key") + head_length(model, "value")) for index in blocks]
    return each[0] * len(blocks) if len({item.value for item in each}) == 1 else total(each, unit=ONE)


def cells_of(cache: Cache, context: Context, *, swa_full: bool = False) -> Quantity:
    """Give the cells of all streams of a cache together, in tokens."""
    if cache.window is None and cache.ratio is None and not cache.per_sequence:
        return context.total_cells
    streams = context.sequences if cache.per_sequence else context.streams
    if cache.ratio is not None:
        return (context.cells / cache.ratio).rounded_up().rounded_up(CELL_PADDING) * streams
    if cache.window is None or swa_full:
        return context.cells * streams
    seen = cache.window * context.sequences if int(streams) == 1 else cache.window
    return smallest([context.cells, seen + context.n_ubatch]).rounded_up(CELL_PADDING) * streams


def cache_bytes(per_token: Quantity, cells: Quantity) -> Quantity:
    """Give the bytes of a whole cache: every cell of every stream."""
    return per_token * cells


def _rows(cache: Cache, index: int, type_k: str, type_v: str, *, padded_values: bool) -> Quantity:
    key = row_bytes(cache.keys[index], type_k)
    if cache.values is None:
        return key
    value = cache.values[index]
    if padded_values and cache.widest_value is not None and value < cache.widest_value:
        value = cache.widest_value
    return key + row_bytes(value, type_v)


def row_bytes(elements: Quantity, cache_type: str) -> Quantity:
    """Give the bytes of one row of a cache, whole blocks of its type."""
    block_elements, block_bytes = block(cache_type)
    blocks = elements / Quantity.constant(block_elements, ONE, f"elements in a block of {cache_type}")
    return blocks * Quantity.constant(block_bytes, BYTE_PER_TOKEN, f"bytes of a block of {cache_type}")
