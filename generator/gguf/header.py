"""What a GGUF header says, as plain values: metadata, and one row for each tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from generator.gguf.errors import MissingKey


@dataclass(frozen=True, slots=True)
class SkippedArray:
    """An array whose values were passed over: the type of its elements (`STRING`, `INT32`, …) and how many there are."""

    element_type: str
    length: int

    def __len__(self) -> int:
        return self.length


Value = bool | int | float | str | tuple["Value", ...] | SkippedArray
"""A metadata value: arrays are tuples where they were kept."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a file.

    `shape` is in the order of the file, row length first; `offset` counts bytes from the start of the tensor data of its file,
    which is file `shard` of its set, counted from 0.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    shard: int = 0

    @property
    def elements(self) -> int:
        """The number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Inventory:
    """Metadata and tensors of a model, be it in one file or in several; `name` says which in messages."""

    name: str
    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]

    @property
    def architecture(self) -> str:
        """`general.architecture`, the prefix of the model's own keys. Raises MissingKey."""
        found = self.metadata.get("general.architecture")
        if not isinstance(found, str) or not found:
            raise MissingKey("general.architecture", name=self.name)
        return found

    def get(self, key: str, default: Value | None = None) -> Value | None:
        """Give the value of a key of the architecture: `get("block_count")` reads `<architecture>.block_count`."""
        return self.metadata.get(f"{self.architecture}.{key}", default)

    @property
    def tensor_bytes(self) -> int:
        """The bytes of all tensors, without the padding between them."""
        return sum(tensor.nbytes for tensor in self.tensors)


@dataclass(frozen=True, slots=True)
class Header(Inventory):
    """The header of one GGUF file.

    `header_bytes` is what was parsed, up to the end of the tensor table; `data_offset` is that, padded to `alignment`:
    where tensor data begins. `file_size` is None where the source did not tell it.
    """

    version: int
    alignment: int
    header_bytes: int
    data_offset: int
    file_size: int | None


@dataclass(frozen=True, slots=True)
class ShardedHeader(Inventory):
    """The headers of a model's files as one inventory: the metadata of the first file, the tensors of all in order."""

    shards: tuple[Header, ...]

    @property
    def file_sizes(self) -> tuple[int | None, ...]:
        """The size of each file, in the order of the set."""
        return tuple(shard.file_size for shard in self.shards)
