"""Models from compact descriptions: hyperparameters, and rows of tensors that several blocks have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from types import MappingProxyType

from generator.facts import Fact
from generator.gguf.types import block
from generator.memory.model import Model
from tests.memory.models import named

Header = tuple[str, Mapping[str, object], str]
"""An architecture, its hyperparameters, and lines of blocks, a type, and tensors as `name:shape`; `-` are tensors outside blocks.

A name ends in `.weight`, but for biases, scales and `ssm_a`, and where it is written with `!`. Where two models have the same tensors, the
lines of one are those of the other (`QWEN2[2]`).
"""


SMALL: Mapping[str, object] = MappingProxyType(
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
    }
)
"""Hyperparameters of a small model that many headers start from."""

SMALL_BLOCK = (
    "Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816"
)
"""The matrices of a block of it: three for Q, K and V, and a dense feed-forward part with a gate."""


def model_of(header: Header) -> Model:
    """Give the model that a header describes."""
    architecture, hyperparameters, lines = header
    metadata = named(architecture, hyperparameters)
    table = [row for line in lines.split("\n") if line.strip() for row in _rows(*line.split())]
    return Model.build(metadata, table, Fact("header.metadata", metadata, origin="header"), Fact("header.tensors", table, origin="header"))


def _rows(blocks: str, kind: str, *tensors: str) -> Iterator[list[object]]:
    per_block, block_bytes = block(kind)
    for tensor in tensors:
        name, dimensions = tensor.split(":")
        shape = [int(length) for length in dimensions.split("x")]
        full = name.rstrip("!") if name.endswith((".bias", ".scale", ".scales", "!")) or name == "ssm_a" else f"{name}.weight"
        for prefix in _prefixes(blocks):
            yield [prefix + full, kind, shape, prod(shape) // per_block * block_bytes]


def _prefixes(blocks: str) -> Iterator[str]:
    if blocks == "-":
        yield ""
        return
    for part in blocks.split(","):
        first, _, last = part.partition("-")
        for block_number in range(int(first), int(last or first) + 1):
            yield f"blk.{block_number}."
