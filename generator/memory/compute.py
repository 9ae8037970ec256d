"""Two figures about working memory that need no graph: attention scores without flash attention, and the engine's fitting margin.

The buffers themselves are in `generator.memory.graph`. Source: llama.cpp src/llama-graph.cpp, `build_attn_mha` (the scores are an F32
tensor [n_kv, n_tokens, n_head] for the whole context and a full micro-batch), and common/common.h for the margin.
"""

from __future__ import annotations

from generator.gguf.types import F32_BYTES
from generator.memory.model import Model
from generator.quantity import BYTE, TOKEN, Quantity

FIT_MARGIN = 1024 * 2**20
"""Bytes the engine leaves free on each device when it fits settings by itself (common/common.h, `fit_params_target`)."""


def attention_scores(model: Model, block: int, cells: Quantity, n_ubatch: Quantity) -> Quantity:
    """Give the bytes of one block's attention scores without flash attention, for `cells` and a micro-batch (both in tokens)."""
    pairs = cells.without_unit(TOKEN, "one column a cell") * n_ubatch.without_unit(TOKEN, "one row a token of the micro-batch")
    return pairs * model.per_block("attention.head_count", block) * Quantity.constant(F32_BYTES, BYTE, "bytes of an F32")


def declared_reserve() -> Quantity:
    """Give what is kept free on a device unless a recipe says otherwise: the engine's own fitting margin."""
    return Quantity.constant(FIT_MARGIN, BYTE, "the engine's margin a device when it fits settings by itself")
