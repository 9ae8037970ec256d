"""A model's published configuration under the names that a GGUF header has, without the architecture before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from generator.errors import InputError


@dataclass(frozen=True, slots=True)
class Geometry:
    """The numbers that shapes follow from. `where` names the file they stand in, for messages."""

    architecture: str
    values: Mapping[str, object]
    where: str = ""

    def has(self, name: str) -> bool:
        """Tell whether a value is known."""
        return name in self.values

    def number(self, name: str, default: int | None = None) -> int:
        """Give one whole number. Raises InputError where the configuration does not have it."""
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            problem = "is not known" if value is None else f"should be one whole number from 0 up, not {value!r}"
            raise InputError(
                f"config.{name} {problem}, and shapes of architecture '{self.architecture}' follow from it",
                where=self.where,
                remedy=f"give {name} under `config`, with its source, or take a quant whose header is known",
            )
        return value

    def of_block(self, name: str, block: int) -> int:
        """Give a number of one block, whether the configuration has one for all or a list."""
        value = self.values.get(name)
        if not isinstance(value, list | tuple):
            return self.number(name)
        if block >= len(value) or isinstance(value[block], bool) or not isinstance(value[block], int):
            raise InputError(
                f"config.{name} lists {len(value)} blocks, and block {block} is not a number among them",
                where=self.where,
                remedy="list one whole number for each block",
            )
        found: int = value[block]
        return found

    @property
    def width(self) -> int:
        """Elements of a token's row between blocks."""
        return self.number("embedding_length")

    @property
    def blocks(self) -> int:
        """Number of blocks, those of a draft head included."""
        return self.number("block_count")

    @property
    def draft_blocks(self) -> int:
        """Number of blocks at the end that belong to a draft head."""
        return self.number("nextn_predict_layers", 0)

    @property
    def key_length(self) -> int:
        """Elements of a head's key; the width shared out over heads where the configuration gives none."""
        return self.number("attention.key_length", self.width // self.number("attention.head_count"))

    @property
    def value_length(self) -> int:
        """Elements of a head's value."""
        return self.number("attention.value_length", self.key_length)
