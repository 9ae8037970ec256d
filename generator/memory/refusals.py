"""What the engine would refuse before it allocates anything, in its own words where it has some.

Source: llama.cpp src/llama-context.cpp, `llama_init_from_model` (cache types) and the constructor of `llama_context`
(number of sequences, see `memory.context`); tools/server for a draft head that the file does not have; src/llama-model.cpp,
`load_hparams`, for experts.
"""

from __future__ import annotations

from generator.errors import InputError, RefusedSettings, counted
from generator.gguf.types import block
from generator.memory.architectures import layers_of
from generator.memory.backends import VULKAN, VULKAN_BUFFER_RANGE
from generator.memory.builds import Build
from generator.memory.context import Context
from generator.memory.flash import settled
from generator.memory.graph.buffers import OUTPUTS_OF_SLOTS, outputs_of
from generator.memory.kv_cache import cells_of, row_bytes
from generator.memory.layers import Layers
from generator.memory.model import Model
from generator.memory.rows import head_length, is_latent
from generator.memory.settings import Settings
from generator.memory.windows import windowed_blocks

FLOATS = frozenset({"f32", "f16", "bf16"})

ONE_CACHE_TYPE = frozenset({"deepseek4"})
"""Architectures that keep K only without stating a latent; those that state one are held to one type as well."""


EXPERTS_OF_ONE = frozenset({"hunyuan-dense", "hunyuan_vl"})
"""Architectures whose single expert is none to the engine."""


def refuse(model: Model, settings: Settings) -> None:
    """Raise RefusedSettings for the first thing the engine would refuse, InputError for a header; give nothing otherwise."""
    refuse_header(model)
    _split(model, settings)
    _cache_types(model, settings, settings.type_k, settings.type_v)
    if settings.drafts_with_own_head:
        if not int(model.draft_blocks):
            raise RefusedSettings(
                "the file has no draft head (no blocks beyond those of the model itself): the engine says "
                "'context type MTP requested but model doesn't contain MTP layers'",
                rule="no draft head",
                source="src/llama-context.cpp",
                where="--spec-type",
                remedy="drop --spec-type, or take a file that carries the head",
            )
        _cache_types(model, settings, settings.type_k_draft, settings.type_v_draft, suffix="d")


def refuse_cache(layers: Layers, settings: Settings, context: Context, backend: str | None) -> None:
    """Raise RefusedSettings where one block's K or V is larger than a device of the backend can bind."""
    if backend != VULKAN or not settings.kv_offload:
        return
    for cache in layers.caches:
        cells = int(cells_of(cache, context, swa_full=settings.swa_full))
        for rows, cache_type, flag in ((cache.keys, settings.type_k, "-ctk"), (cache.values or {}, settings.type_v, "-ctv")):
            if any(cells * int(row_bytes(row, cache_type)) > VULKAN_BUFFER_RANGE for row in rows.values()):
                raise RefusedSettings(
                    f"{cells:,} cells of one block in {cache_type} are more than the 4 GiB that a Vulkan device can bind",
                    rule="cache tensor over the buffer range",
                    source="ggml/src/ggml-vulkan/ggml-vulkan.cpp",
                    where="-c",
                    remedy=f"lower -c, or give {flag} a smaller type",
                )


def refuse_header(model: Model) -> None:
    """Refuse a header whose routers would choose no expert, or more than there are."""
    count, used = int(model.number("expert_count", 0)), int(model.number("expert_used_count", 0))
    if not count and model.has("expert_count") and model.experts():
        raise InputError("the header states that there are no experts, and has tensors of some", remedy="the engine loads no such file")
    if (not count and not used) or (count == 1 and model.architecture in EXPERTS_OF_ONE):
        return
    if not 0 < used <= count:
        wanted = f"1 to {count}" if count else "left out"
        raise InputError(
            f"the header states that {used} of {count} experts are used for a token",
            remedy=f"the engine loads no such file: '{model.architecture}.expert_used_count' should be {wanted}",
        )


def refuse_outputs(context: Context, settings: Settings, build: str | None) -> None:
    """Raise RefusedSettings where a program reserves fewer rows of logits than there are sequences, each of which has one at least.

    Source: src/llama-context.cpp, `output_reserve`.
    """
    outputs, sequences = int(outputs_of(context, settings, build)), int(context.sequences)
    if outputs < sequences and Build.named(build) in OUTPUTS_OF_SLOTS:
        raise RefusedSettings(
            f"{sequences} sequences with logits of {counted(outputs, 'token')}: the engine ends with "
            "'GGML_ASSERT(n_outputs_max <= cparams.n_outputs_max) failed'",
            rule="fewer outputs than sequences",
            source="src/llama-context.cpp",
            where="-b",
            remedy=f"give -b and -c {sequences} or more, or a smaller -np",
        )


def _split(model: Model, settings: Settings) -> None:
    if settings.split_mode == "tensor" and settled(model, settings).flash_attn == "off":
        raise RefusedSettings(
            "-sm tensor without flash attention: the engine says 'SPLIT_MODE_TENSOR requires flash_attn to be enabled'",
            rule="split of tensors without flash attention",
            source="src/llama-context.cpp",
            where="-sm",
            remedy="give -sm layer, or leave -fa on",
        )


def _cache_types(model: Model, settings: Settings, type_k: str, type_v: str, *, suffix: str = "") -> None:
    """Refuse cache types that flash attention is needed for, or cannot read; `suffix` ends the names of the draft's flags."""
    if type_k != type_v and (is_latent(model) or model.architecture in ONE_CACHE_TYPE):
        raise RefusedSettings(
            f"K in {type_k} and V in {type_v}: the engine says 'model does not support different K and V cache types'",
            rule="K and V of different types",
            source="src/llama-context.cpp",
            where=f"-ctv{suffix}",
            remedy=f"give -ctk{suffix} and -ctv{suffix} the same type",
        )
    if settings.flash_attn != "off":
        _block_size(model, "key", type_k, f"-ctk{suffix}")
        _block_size(model, "value", type_v, f"-ctv{suffix}")
    elif type_v not in FLOATS:
        raise RefusedSettings(
            f"V in {type_v} without flash attention: the engine says 'quantized V cache requires flash_attn to be enabled'",
            rule="quantised V without flash attention",
            source="src/llama-context.cpp",
            where=f"-ctv{suffix}",
            remedy=f"give -ctv{suffix} f16, or leave -fa on",
        )
    else:
        _row_size(model, type_k, f"-ctk{suffix}")


def _block_size(model: Model, part: str, cache_type: str, flag: str) -> None:
    if cache_type in FLOATS:
        return
    elements, _ = block(cache_type)
    for length in head_lengths(model, part):
        if length % elements:
            raise RefusedSettings(
                f"a {part} in {cache_type}: its blocks of {elements} elements do not divide the head length of {length}: the engine says "
                f"'{part[0].upper()} cache type {cache_type} with block size {elements} does not divide n_embd_head_{part[0]}={length}'",
                rule="cache block does not divide the head",
                source="src/llama-context.cpp",
                where=flag,
                remedy=f"give {flag} f16",
            )


def head_lengths(model: Model, part: str) -> list[int]:
    """Give the lengths of a model's heads: blocks with a window may have their own, and there may be no others."""
    count, windowed = int(model.loaded_blocks), windowed_blocks(model)
    kinds = {block in windowed for block in range(count)}
    return [int(head_length(model, part, windowed=kind)) for kind in sorted(kinds)]


def _row_size(model: Model, cache_type: str, flag: str) -> None:
    """Without flash attention heads are not looked at, but a row still has to be a whole number of blocks (ggml/src/ggml.c)."""
    elements, _ = block(cache_type)
    layers = layers_of(model)
    for length in {int(row) for cache in (*layers.caches, *layers.draft) for row in cache.keys.values()}:
        if length % elements:
            raise RefusedSettings(
                f"a key row in {cache_type}: its blocks of {elements} elements do not divide the row of {length}",
                rule="cache block does not divide the row",
                source="ggml/src/ggml.c",
                where=flag,
                remedy=f"give {flag} f16",
            )
