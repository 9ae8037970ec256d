"""The settings a recipe may have, under llama.cpp's own names: what each means and what values it takes.

Only names and types are known here. What the engine makes of a value, and which ones it refuses together, is for the
memory rules; flags and defaults stand in the engine's file, with their citations.
"""

from __future__ import annotations

from dataclasses import dataclass

from generator.specs.shapes import Choice, Number, Shape, Text, Truth, Whole, WholeOrWord

Setting = int | float | str | bool

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
LOAD_MODES = ("auto", "none", "mmap", "mlock", "mmap+mlock", "dio")
SPLIT_MODES = ("none", "layer", "row", "tensor")
SPECULATION = (
    "none",
    "draft-simple",
    "draft-eagle3",
    "draft-mtp",
    "draft-dflash",
    "draft-dspark",
    "ngram-simple",
    "ngram-map-k",
    "ngram-map-k4v",
    "ngram-mod",
    "ngram-cache",
)


@dataclass(frozen=True, slots=True)
class SettingName:
    """One setting: the shape of its value and its meaning in one line."""

    shape: Shape[Setting]
    meaning: str


SETTINGS: dict[str, SettingName] = {
    "n_gpu_layers": SettingName(WholeOrWord(0, ("auto", "all")), "Number of layers in device memory, counted from the last."),
    "n_cpu_moe": SettingName(
        WholeOrWord(0, ("auto",)), "Routed experts of this many first blocks stay in host memory; auto takes the shallowest that fits."
    ),
    "cpu_moe": SettingName(Truth(), "All routed experts stay in host memory."),
    "n_cpu_ffn": SettingName(Whole(0), "Dense feed-forward weights of this many first blocks stay in host memory."),
    "override_tensor": SettingName(Text(), "Buffer types for tensors by pattern: <pattern>=<buffer type>, joined by commas."),
    "n_ctx": SettingName(Whole(0), "Context in tokens, over all sequences; 0 takes the model's own."),
    "n_batch": SettingName(Whole(1), "Largest logical batch in tokens."),
    "n_ubatch": SettingName(Whole(1), "Largest micro-batch in tokens, which is what one graph computes."),
    "n_parallel": SettingName(Whole(-1), "Number of sequences (server slots); -1 leaves it to the server."),
    "kv_unified": SettingName(Truth(), "One KV cache is shared by all sequences."),
    "type_k": SettingName(Choice(CACHE_TYPES), "Type of the cached keys."),
    "type_v": SettingName(Choice(CACHE_TYPES), "Type of the cached values."),
    "flash_attn": SettingName(Choice(("on", "off", "auto")), "Flash attention."),
    "swa_full": SettingName(Truth(), "The sliding-window cache has the size of the whole context."),
    "kv_offload": SettingName(Truth(), "The KV cache is in device memory."),
    "op_offload": SettingName(Truth(), "Operations on host-resident weights may run on the device, for large batches."),
    "no_mmproj": SettingName(Truth(), "No multimodal projector is loaded."),
    "mmproj": SettingName(Text(), "File of the multimodal projector."),
    "load_mode": SettingName(Choice(LOAD_MODES), "How the weights get from the file into memory."),
    "cache_ram": SettingName(Whole(-1), "Limit of the prompt cache in host memory, in MiB; 0 is none, -1 is no limit."),
    "spec_type": SettingName(Choice(SPECULATION), "Kind of speculative decoding."),
    "spec_draft_n_max": SettingName(Whole(0), "Largest number of tokens drafted at once."),
    "tensor_split": SettingName(Text(r"^[0-9.]+([,/][0-9.]+)*$", "list of shares such as 3,1"), "Shares of the model for each device."),
    "split_mode": SettingName(Choice(SPLIT_MODES), "How the model is split over several devices."),
    "temp": SettingName(Number(), "Sampling temperature."),
    "top_p": SettingName(Number(), "Nucleus sampling: share of probability that is kept."),
    "top_k": SettingName(Whole(0), "Number of likeliest tokens that are kept."),
    "min_p": SettingName(Number(), "Least probability, relative to the likeliest token, that is kept."),
    "repeat_penalty": SettingName(Number(), "Penalty on tokens that were there before."),
    "host": SettingName(Text(), "Address the server listens on."),
    "port": SettingName(Whole(1, 65535), "Port the server listens on."),
}
"""Every setting by name, in the order a command shows them."""
