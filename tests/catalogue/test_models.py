"""Models of the catalogue: against the published facts they were made from, and against the rule for what counts as reconstructed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from generator.catalog import Catalog
from generator.memory.model import Model
from generator.planning import model_of, model_of_quant
from tests.config.heads import HEADS, header

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
FACTS = SHARED / "facts/models.yml"
FOURS = SHARED / "engine-truth/models/qwen35moe-q4km.gguf.head"

CATALOG = Catalog.open(ROOT)

PUBLISHED = {
    "qwen3.5-35b-a3b": "Qwen3.5-35B-A3B",
    "qwen3.6-35b-a3b": "Qwen3.6-35B-A3B",
    "qwen3.8-27b": "Qwen3.8-27B",
    "gpt-oss-20b": "gpt-oss-20b",
    "gpt-oss-120b": "gpt-oss-120b",
    "gemma-4-26b-a4b": "gemma-4-26B-A4B",
    "gemma-3-27b": "Gemma-3-27B",
    "glm-4.5-air": "GLM-4.5-Air",
    "glm-4.7-flash": "GLM-4.7-Flash",
    "qwen3-30b-a3b": "Qwen3-30B-A3B",
    "qwen3-8b": "Qwen3-8B",
    "llama-3.1-8b": "Llama-3.1-8B",
    "nemotron-3-nano-30b-a3b": "Nemotron-3-Nano-30B-A3B",
    "granite-4.0-h-small": "Granite-4.0-H-Small",
    "mistral-small-3.2-24b": "Mistral-Small-3.x",
    "kimi-linear-48b-a3b": "Kimi-Linear-48B",
    "lfm2-8b-a1b": "LFM2-8B-A1B",
}
"""What the published facts call each model."""

NAMES = {
    "gguf_block_count": "block_count",
    "hidden_size": "embedding_length",
    "vocab_size": "vocab_size",
    "tie_word_embeddings": "tied_embeddings",
    "context_length": "context_length",
    "full_attention_interval": "full_attention_interval",
    "attention_heads": "attention.head_count",
    "sliding_window": "attention.sliding_window",
    "intermediate_size": "feed_forward_length",
    "experts": "expert_count",
    "experts_per_token": "expert_used_count",
    "moe_intermediate_size": "expert_feed_forward_length",
    "shared_expert_intermediate_size": "expert_shared_feed_forward_length",
    "dense_layers_first": "leading_dense_block_count",
    "dense_branch_intermediate_size": "feed_forward_length",
    "conv_L_cache": "shortconv.l_cache",
}
"""Names of a published configuration, and of a header."""

UNNAMED = "repository not named in the file read"
LATENT = {"kv_lora_rank": "attention.kv_lora_rank", "q_lora_rank": "attention.q_lora_rank", "v_head_dim": "attention.value_length_mla"}
STATE = ("conv_kernel", "state_size", "group_count", "inner_size", "time_step_rank")


def pairs(entry: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Give what an entry of the published facts says, by the names of a header."""
    names = dict(NAMES)
    if entry["arch_gguf"] == "granitehybrid":
        # its files state the length of an expert as that of a feed-forward half
        names["moe_intermediate_size"] = "feed_forward_length"
    if entry["arch_gguf"] == "glm4moe":
        # the shared expert is as long as a routed one, and a file states how many there are
        names.pop("shared_expert_intermediate_size")
        names["shared_experts"] = "expert_shared_count"
    if "gguf_block_count" not in entry:
        names["layers"] = "block_count"
    yield from ((name, entry[key]) for key, name in names.items() if key in entry)
    states = entry.get("ssm_gguf") or (entry["ssm"] if isinstance(entry.get("ssm"), dict) else {})
    yield from ((f"ssm.{key}", states[key]) for key in STATE if key in states)
    latent = entry.get("mla")
    if latent:
        yield from ((name, latent[key]) for key, name in LATENT.items())
        yield "rope.dimension_count", latent["qk_rope_head_dim"]
        yield "attention.key_length_mla", latent["qk_nope_head_dim"] + latent["qk_rope_head_dim"]
        yield "attention.key_length", latent["kv_lora_rank"] + latent["qk_rope_head_dim"]
    else:
        yield "attention.head_count_kv", entry["kv_heads"]
        window = "_swa" if "head_dim_global" in entry else ""
        yield from ((f"attention.{half}_length{window}", entry.get("head_dim")) for half in ("key", "value"))
        yield from ((f"attention.{half}_length", entry.get("head_dim_global")) for half in ("key", "value"))


def is_value(value: object) -> bool:
    """Tell whether a published fact is a plain value and not words on what was not seen."""
    return isinstance(value, bool) or (isinstance(value, int) and value > 0)


@pytest.fixture(scope="module")
def published() -> dict[str, dict[str, Any]]:
    if not FACTS.exists():
        pytest.skip("the published facts are not beside this checkout")
    return {entry["model"]: entry for entry in yaml.safe_load(FACTS.read_text(encoding="utf-8"))["models"]}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_shape_is_the_published_one(name: str, published: dict[str, dict[str, Any]]) -> None:
    said = {key: value for key, value in pairs(published[PUBLISHED[name]]) if is_value(value)}
    config = {fact.key.removeprefix("config."): fact.value for fact in CATALOG.known(CATALOG.model(name)).under("config")}
    # a list is by block: what a configuration says once is its largest entry
    held = {key: max(value) if isinstance(value, tuple | list) else value for key, value in config.items()}
    assert {key: held.get(key) for key in said} == said
    assert len(said) >= 6


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_size_is_the_published_one(name: str, published: dict[str, dict[str, Any]]) -> None:
    model = CATALOG.model(name)
    said = [each for each in published[PUBLISHED[name]]["gguf"] if each["repo"] in {model.repository, UNNAMED} and "bytes" in each]
    files = {quant.file: quant.size for quant in model.quants.values()}
    if model.projector:
        files[model.projector.file] = model.projector.size
    for file, size in files.items():
        # one file has two sizes there, of two days or by a slip
        sizes = [each["bytes"] for each in said if each["file"] == file]
        assert not sizes or (size is not None and int(size.quantity()) in sizes)


# --- reconstructed, or an estimate ---------------------------------------------------------------

QUANTS = [(model, quant) for model in CATALOG.models() for quant in CATALOG.model(model).quants.values()]
HEADERS = [(model, quant.name) for model, quant in QUANTS if quant.fidelity == "header"]
ESTIMATES = [
    (model, quant.name)
    for model, quant in QUANTS
    if quant.fidelity == "config" and quant.size is not None and CATALOG.model(model).facts.under("config")
]


def total(model: Model) -> int:
    return sum(int(tensor.size) for tensor in model.tensors)


def shapes(model: Model) -> dict[str, tuple[int, ...]]:
    return {tensor.name: tuple(tensor.shape) for tensor in model.tensors}


def size_of(model: str, quant: str) -> int:
    size = CATALOG.model(model).quant(quant).size
    assert size is not None
    return int(size.quantity())


def is_within_a_percent(tensors: int, size: int) -> bool:
    return 0 <= size - tensors < size // 100


def heads() -> list[Model]:
    """Give headers of published shapes, with the types that the quantiser gives."""
    return [*map(header, HEADS), *([model_of(FOURS)] if FOURS.exists() else [])]


def test_both_kinds_are_in_the_catalogue() -> None:
    assert len(HEADERS) > 5
    assert len(ESTIMATES) > 5


@pytest.mark.parametrize(("model", "quant"), HEADERS)
def test_a_reconstructed_table_meets_the_published_size(model: str, quant: str) -> None:
    found = model_of_quant(CATALOG, model, quant)
    assert found.tensors_fact.origin in {"reconstructed", "header"}
    assert is_within_a_percent(total(found), size_of(model, quant))
    assert CATALOG.lock(model).facts[f"file.{quant.lower()}.size"].value == size_of(model, quant)


@pytest.mark.parametrize(("model", "quant"), ESTIMATES)
def test_no_known_header_would_do_for_an_estimate(model: str, quant: str) -> None:
    wanted = shapes(model_of_quant(CATALOG, model, quant))
    alike = [head for head in heads() if head.architecture == CATALOG.model(model).architecture and shapes(head) == wanted]
    assert not [head.metadata["general.name"] for head in alike if is_within_a_percent(total(head), size_of(model, quant))]


def test_a_header_is_told_from_an_estimate_by_size_and_by_shape() -> None:
    by_size = shapes(model_of_quant(CATALOG, "qwen3-8b", "Q4_K_M"))
    assert shapes(header("qwen3-8b")) == by_size
    by_shape = shapes(model_of_quant(CATALOG, "qwen3.8-27b", "UD-Q4_K_M"))
    lacking = by_shape.keys() - shapes(header("qwen35-27b")).keys()
    # the header is of the model without its draft head, which is block 64
    assert lacking and all(name.startswith("blk.64.") for name in lacking)
    assert is_within_a_percent(total(header("glm4moe-air")), size_of("glm-4.5-air", "Q4_K_M"))
