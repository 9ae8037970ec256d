"""Models small enough to check by eye, written row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from generator.facts import Fact, Lock
from generator.memory.model import Model
from generator.planning import model_of_lock

ROOT = Path(__file__).parents[2]

EXPERTS = ("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps")


def build(metadata: Mapping[str, object], rows: Sequence[tuple[str, int]]) -> Model:
    """Give a model of these hyperparameters and of tensors with these names and payload bytes."""
    table = [[name, "F16", [size // 2], size] for name, size in rows]
    return Model.build(metadata, table, Fact("header.metadata", metadata, origin="header"), Fact("header.tensors", table, origin="header"))


def hybrid(**changes: object) -> Model:
    """Give a qwen35moe of 8 blocks and a draft head, in decimal bytes.

    Each block: 10,000 of attention, 500 of router, 1,000,000 of each expert matrix but the down-projection, which takes 2,000,000
    in even blocks and 3,000,000 in odd ones. The draft head's block 8 has 7,000 more. Embedding 50,000,000, norm 300, head 60,000,000.
    """
    rows = [("token_embd.weight", 50_000_000), ("output_norm.weight", 300), ("output.weight", 60_000_000)]
    for block in range(9):
        rows += [(f"blk.{block}.attn_q.weight", 10_000), (f"blk.{block}.ffn_gate_inp.weight", 500)]
        rows += [(f"blk.{block}.ffn_gate_exps.weight", 1_000_000), (f"blk.{block}.ffn_up_exps.weight", 1_000_000)]
        rows += [(f"blk.{block}.ffn_down_exps.weight", 2_000_000 + block % 2 * 1_000_000)]
    rows += [("blk.8.nextn.eh_proj.weight", 7_000)]
    return build(named("qwen35moe", HYBRID | changes), rows)


HYBRID: dict[str, object] = {
    "block_count": 9,
    "nextn_predict_layers": 1,
    "context_length": 4096,
    "embedding_length": 64,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "attention.key_length": 32,
    "attention.value_length": 32,
    "full_attention_interval": 4,
    "ssm.conv_kernel": 4,
    "ssm.inner_size": 128,
    "ssm.state_size": 16,
    "ssm.group_count": 2,
    "expert_count": 8,
    "expert_used_count": 2,
}


def dense(**changes: object) -> Model:
    """Give a llama of 4 blocks: 1,000 of attention and 3,000 of feed-forward each; embedding 20,000, norm 10, head 25,000."""
    return build(named("llama", DENSE | changes), [*DENSE_ROWS, ("output.weight", 25_000)])


def tied(**changes: object) -> Model:
    """Give the same without an output matrix: the embedding is the head again."""
    return build(named("llama", DENSE | changes), DENSE_ROWS)


DENSE_ROWS = [("token_embd.weight", 20_000), ("output_norm.weight", 10)] + [
    row for block in range(4) for row in ((f"blk.{block}.attn_q.weight", 1_000), (f"blk.{block}.ffn_up.weight", 3_000))
]

DENSE: dict[str, object] = {
    "block_count": 4,
    "context_length": 1000,
    "embedding_length": 256,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
}


def named(architecture: str, values: Mapping[str, object]) -> dict[str, object]:
    """Give metadata with the architecture's prefix; None leaves a key out."""
    return {"general.architecture": architecture} | {f"{architecture}.{name}": value for name, value in values.items() if value is not None}


@cache
def apodex() -> Model:
    """Give the model of the Apodex recipe, from its lock; the published figures of it are in the issue that asked for it."""
    return model_of_lock(Lock.read(ROOT / "recipes/models/apodex-mini/model.lock.json"), "Q4_K_M")
