"""What the engine would refuse before it allocates anything, in its own words where it has some.

Source: llama.cpp src/llama-context.cpp, `llama_init_from_model` (cache types) and the constructor of `llama_context`
(number of sequences, see `memory.context`); tools/server for a draft head that the file does not have.
"""

from __future__ import annotations

from generator.errors import RefusedSettings
from generator.gguf.types import block
from generator.memory.kv_cache import head_length, row_elements
from generator.memory.model import Model
from generator.memory.settings import Settings

FLOATS = frozenset({"f32", "f16", "bf16"})


def refuse(model: Model, settings: Settings) -> None:
    """Raise RefusedSettings for the first thing the engine would refuse; give nothing otherwise."""
    _cache_types(model, settings, settings.type_k, settings.type_v)
    if settings.drafts_with_own_head:
        if not int(model.draft_blocks):
            raise RefusedSettings(
                "the file has no draft head (no blocks beyond those of the model itself)",
                rule="no draft head",
                where="--spec-type",
                remedy="drop --spec-type, or take a file that carries the head",
            )
        _cache_types(model, settings, settings.type_k_draft, settings.type_v_draft, suffix="d")


def _cache_types(model: Model, settings: Settings, type_k: str, type_v: str, *, suffix: str = "") -> None:
    """Refuse cache types that flash attention is needed for, or cannot read; `suffix` ends the names of the draft's flags."""
    if settings.flash_attn != "off":
        _block_size(model, "key", type_k, f"-ctk{suffix}")
        _block_size(model, "value", type_v, f"-ctv{suffix}")
    elif type_v not in FLOATS:
        raise RefusedSettings(
            f"V in {type_v} without flash attention: the engine says 'quantized V cache requires flash_attn to be enabled'",
            rule="quantised V without flash attention",
            where=f"-ctv{suffix}",
            remedy=f"give -ctv{suffix} f16, or leave -fa on",
        )
    else:
        _row_size(model, type_k, f"-ctk{suffix}")


def _block_size(model: Model, part: str, cache_type: str, flag: str) -> None:
    if cache_type in FLOATS:
        return
    elements, _ = block(cache_type)
    length = head_length(model, part)
    if int(length) % elements:
        raise RefusedSettings(
            f"a {part} in {cache_type}: its blocks of {elements} elements do not divide the head length of {length.value}",
            rule="cache block does not divide the head",
            where=flag,
            remedy=f"give {flag} f16",
        )


def _row_size(model: Model, cache_type: str, flag: str) -> None:
    """Without flash attention heads are not looked at, but a row still has to be a whole number of blocks (ggml/src/ggml.c)."""
    elements, _ = block(cache_type)
    lengths = {int(row_elements(model, index, "key")) for index in range(int(model.block_count))}
    for length in lengths:
        if length % elements:
            raise RefusedSettings(
                f"a key row in {cache_type}: its blocks of {elements} elements do not divide the row of {length}",
                rule="cache block does not divide the row",
                where=flag,
                remedy=f"give {flag} f16",
            )
