"""Working memory of the graph: its inputs, attention scores when flash attention is off, and the reserve that stands for the rest.

Source: llama.cpp src/llama-graph.cpp, `build_attn_mha` (the scores are an F32 tensor [n_kv, n_tokens, n_head], reserved
for the whole context and a full micro-batch, src/llama-context.cpp `sched_reserve`), and common/common.h for the margin.
"""

from __future__ import annotations

from generator.memory.context import Context
from generator.memory.kv_cache import cells_of
from generator.memory.layers import Cache, Layers
from generator.memory.model import Model
from generator.memory.settings import Settings
from generator.quantity import BYTE, TOKEN, Quantity, total

F16_BYTES = 2
F32_BYTES = 4
INDEX_BYTES = 8

FIT_MARGIN = 1024 * 2**20
"""Bytes the engine leaves free on each device when it fits settings by itself (common/common.h, `fit_params_target`)."""


def attention_scores(model: Model, block: int, cells: Quantity, n_ubatch: Quantity) -> Quantity:
    """Give the bytes of one block's attention scores without flash attention, for `cells` and a micro-batch (both in tokens)."""
    pairs = cells.without_unit(TOKEN, "one column a cell") * n_ubatch.without_unit(TOKEN, "one row a token of the micro-batch")
    return pairs * model.per_block("attention.head_count", block) * Quantity.constant(F32_BYTES, BYTE, "bytes of an F32")


def graph_inputs(model: Model, layers: Layers, context: Context, settings: Settings) -> Quantity:
    """Give the bytes of a graph's inputs, which are made in host memory wherever the layers are.

    For each token of a micro-batch: its embedding, once as looked up and once as given; a row of each cache's mask; where V is
    stored transposed, the place of each of its elements; what a per-layer embedding gives every block. Source: src/llama-graph.cpp,
    `build_inp_embd`, `build_attn_inp_kq_mask`, src/llama-kv-cache.cpp, `build_input_v_idxs`, src/models/gemma4.cpp, `build_inp_per_layer`.
    """
    tokens = _reserved_tokens(context)
    flash = settings.flash_attn != "off"
    embedding = model.number("embedding_length") * Quantity.constant(2 * F32_BYTES, BYTE, "bytes of two F32")
    parts = [tokens * embedding]
    for cache in layers.caches:
        parts.append(tokens * _mask_columns(cache, context, settings) * _mask_element(flash=flash or cache.picks_tokens))
        if not flash and cache.widest_value is not None:
            parts.append(tokens * cache.widest_value * Quantity.constant(INDEX_BYTES, BYTE, "bytes of an index"))
    if model.has("embedding_length_per_layer_input"):
        each = model.number("embedding_length_per_layer_input") * model.block_count
        parts.append(tokens * each * Quantity.constant(F32_BYTES, BYTE, "bytes of an F32"))
    return total(parts, words="embeddings, masks and indices of a micro-batch")


def _reserved_tokens(context: Context) -> Quantity:
    """Give the tokens of the worst-case graph: a micro-batch in whole shares of the sequences (src/llama-context.cpp, `graph_reserve`)."""
    tokens = context.n_ubatch.without_unit(TOKEN, "one row a token of the micro-batch")
    return (tokens / context.sequences).rounded_up() * context.sequences


def _mask_columns(cache: Cache, context: Context, settings: Settings) -> Quantity:
    """Give the cells that one token's row of a mask covers: those of its own stream."""
    streams = context.sequences if cache.per_sequence else context.streams
    cells = cells_of(cache, context, swa_full=settings.swa_full) / streams
    return cells.without_unit(TOKEN, "one column a cell")


def _mask_element(*, flash: bool) -> Quantity:
    """Masks are F16 for flash attention, which an indexer's own attention always is (builds from September 2026), else F32."""
    return Quantity.constant(F16_BYTES if flash else F32_BYTES, BYTE, "bytes of a mask's element")


def declared_reserve() -> Quantity:
    """Give what stands for a device's compute buffer until it is derived: the engine's own fitting margin."""
    return Quantity.constant(FIT_MARGIN, BYTE, "the engine's margin a device when it fits settings by itself")
