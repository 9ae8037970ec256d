"""Rows of a cache: how many elements of K and of V one token leaves in a block.

Source: llama.cpp src/llama-hparams.cpp, `n_embd_k_gqa` and `n_embd_v_gqa`, and src/llama-model.cpp, `load_hparams`, for defaults.
"""

from __future__ import annotations

from generator.memory.model import Model
from generator.quantity import ONE, Quantity

READS_LENGTHS_ITSELF = "plamo2"
"""The architecture whose lengths of heads are the header's even where block 0 has no heads (src/models/plamo2.cpp)."""


def head_length(model: Model, part: str, *, windowed: bool = False) -> Quantity:
    """Give the elements of one head's `key` or `value` (the header's, else the embedding shared out over the heads).

    Blocks with a sliding window may have heads of a length of their own.
    """
    if windowed and model.has(f"attention.{part}_length_swa"):
        return model.number(f"attention.{part}_length_swa")
    heads = model.per_block("attention.head_count", 0) if model.has("attention.head_count") else None
    some = heads is not None and int(heads) > 0
    if model.has(f"attention.{part}_length") and (some or model.architecture == READS_LENGTHS_ITSELF):
        return model.number(f"attention.{part}_length")
    if heads is None or not some:
        return Quantity.constant(0, ONE, "no attention heads")
    return model.number("embedding_length") / heads


def kv_heads(model: Model, index: int) -> Quantity:
    """Give the heads that share a block's cache: as many as attention heads where the header does not say."""
    name = "attention.head_count_kv"
    return model.per_block(name if model.has(name) else "attention.head_count", index)


def row_elements(model: Model, index: int, part: str, *, windowed: bool = False) -> Quantity:
    """Give the elements of a block's `key` or `value` row, all of its heads together."""
    return kv_heads(model, index) * head_length(model, part, windowed=windowed)


def is_latent(model: Model) -> bool:
    """Tell whether K is a latent that V is taken from again (MLA), so that V is not cached (src/llama-hparams.cpp, `is_mla`)."""
    return all(model.has(name) and int(model.number(name)) for name in ("attention.key_length_mla", "attention.value_length_mla"))
