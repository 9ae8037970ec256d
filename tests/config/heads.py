"""What a configuration would say of the models whose headers are in tests/data, and nothing that only their tensors say."""

from __future__ import annotations

from datetime import date
from math import prod

from generator.facts import Fact, Source
from generator.memory.model import Model, Tensor
from generator.specs.model import CONFIG
from tests.solve.spaces import HEADERS, header

DAY = date(2026, 9, 1)

HEADS = (
    *("deepseek2-v2-lite", "gemma3-27b", "gemma4-26b-a4b", "glm47-flash", "glm4moe-air", "gpt-oss-20b", "granitehybrid-tiny"),
    *("kimi-linear-48b", "lfm2moe-8b", "llama31-8b", "mistral3-8b", "nemotron-h-moe-30b", "open-llama-3b", "qwen3-8b", "qwen35-27b"),
    *("qwen35-4b-tied", "qwen35moe-iq4xs", "qwen35moe-mtp", "qwen3moe-30b-a3b"),
)
"""Headers of architectures whose shapes are known."""

QUANTS = {
    **dict.fromkeys(HEADS, "Q4_K_M"),
    "gpt-oss-20b": "MXFP4",
    "qwen3-8b": "Q6_K",
    "qwen35-4b-tied": "Q8_0",
    "qwen35moe-iq4xs": "IQ4_XS",
}
"""The quants of those headers (general.file_type is in none of them; the index they came with says it)."""

__all__ = ["DAY", "HEADERS", "HEADS", "QUANTS", "config_of", "elements", "facts_of_config", "header"]


def config_of(model: Model) -> dict[str, object]:
    """Give the values of a header that a configuration has, and the two that stand for tensors."""
    prefix = f"{model.architecture}."
    values = {key.removeprefix(prefix): value for key, value in model.metadata.items() if key.removeprefix(prefix) in CONFIG}
    return values | {
        "tied_embeddings": model.named("output.weight") is None,
        "draft_head_has_embedding": any("nextn.embed_tokens" in tensor.name for tensor in model.tensors),
    }


def facts_of_config(values: dict[str, object]) -> list[Fact]:
    """Give values of a configuration as the facts that a spec makes of them."""
    source = Source("https://example.org/config.json")
    return [Fact(f"config.{name}", value, source=source, checked=DAY) for name, value in values.items()]


def elements(tensors: list[Tensor]) -> int:
    """Give the elements of some tensors."""
    return sum(prod(tensor.shape) for tensor in tensors)
