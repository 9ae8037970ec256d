"""GGUF headers: what a model file says of itself and of its tensors, read without touching tensor data."""

from generator.gguf.header import Header, Inventory, ShardedHeader, SkippedArray, Tensor, Value
from generator.gguf.limits import Limits
from generator.gguf.reader import read_header
from generator.gguf.shards import read_sharded, shard_names
from generator.gguf.stream import RangeSource
from generator.gguf.types import block, row_bytes

__all__ = [
    "Header",
    "Inventory",
    "Limits",
    "RangeSource",
    "ShardedHeader",
    "SkippedArray",
    "Tensor",
    "Value",
    "block",
    "read_header",
    "read_sharded",
    "row_bytes",
    "shard_names",
]
