"""What the engine would refuse before it allocates anything, in its own words where it has some.

Source: llama.cpp src/llama-context.cpp, `llama_init_from_model` (cache types) and the constructor of `llama_context`
(number of sequences, see `memory.context`); tools/server for a draft head that the file does not have.
"""

from __future__ import annotations

from generator.errors import RefusedSettings
from generator.gguf.types import block
from generator.memory.kv_cache import head_length
from generator.memory.model import Model
from generator.memory.settings import Settings

FLOATS = frozenset({"f32", "f16", "bf16"})


def refuse(model: Model, settings: Settings) -> None:
    """Raise RefusedSettings for the first thing the engine would refuse; give nothing otherwise."""
    _quantised_v(settings)
    if settings.flash_attn != "off":
        _block_size(model, "K", "key", settings.type_k)
        _block_size(model, "V", "value", settings.type_v)
    if settings.drafts_with_own_head and not int(model.draft_blocks):
        raise RefusedSettings(
            "the file has no draft head (no blocks beyond those of the model itself)",
            rule="no draft head",
            where="--spec-type",
            remedy="drop --spec-type, or take a file that carries the head",
        )


def _quantised_v(settings: Settings) -> None:
    if settings.type_v not in FLOATS and settings.flash_attn == "off":
        raise RefusedSettings(
            f"V in {settings.type_v} without flash attention: the engine says 'quantized V cache requires flash_attn to be enabled'",
            rule="quantised V without flash attention",
            where="-ctv",
            remedy="give -ctv f16, or leave -fa on",
        )


def _block_size(model: Model, letter: str, part: str, cache_type: str) -> None:
    if cache_type in FLOATS:
        return
    elements, _ = block(cache_type)
    length = head_length(model, part)
    if int(length) % elements:
        raise RefusedSettings(
            f"{letter} in {cache_type}: its blocks of {elements} elements do not divide the head length of {length.value}",
            rule="cache block does not divide the head",
            where=f"-ct{letter.lower()}",
            remedy=f"give -ct{letter.lower()} f16",
        )
