"""A model's published configuration under the names that a GGUF header has, without the architecture before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from generator.errors import InputError
from generator.memory.model import MAX_BLOCKS


@dataclass(frozen=True, slots=True)
class Geometry:
    """The values that shapes follow from. `where` names the file they stand in, for messages.

    Its methods raise InputError for a value that is not known or of another kind.
    """

    architecture: str
    values: Mapping[str, object]
    where: str = ""

    def has(self, name: str) -> bool:
        """Tell whether a value is known."""
        return self.values.get(name) is not None

    def number(self, name: str, default: int | None = None, *, least: int = 0) -> int:
        """Give one whole number, from `least` up."""
        return self._whole(name, self.values.get(name, default), least)

    def of_block(self, name: str, block: int) -> int:
        """Give a number of one block, whether the configuration has one for all or a list."""
        value = self.values.get(name)
        return self._whole(f"{name}[{block}]", self._item(name, value, block), 0) if isinstance(value, list | tuple) else self.number(name)

    def flag(self, name: str) -> bool:
        """Give a truth value."""
        return self._truth(name, self.values.get(name))

    def flag_of_block(self, name: str, block: int) -> bool:
        """Give a truth value of one block from a list."""
        value = self.values.get(name)
        if not isinstance(value, list | tuple):
            self._refuse(name, value, "a list with true or false for each block")
        return self._truth(f"{name}[{block}]", self._item(name, value, block))

    @property
    def width(self) -> int:
        """Elements of a token's row between blocks."""
        return self.number("embedding_length")

    @property
    def blocks(self) -> int:
        """Number of blocks, those of a draft head included."""
        count = self.number("block_count", least=1)
        if count > MAX_BLOCKS:
            self._refuse("block_count", count, f"{MAX_BLOCKS} or fewer, as the engine loads")
        return count

    @property
    def draft_blocks(self) -> int:
        """Number of blocks at the end that belong to a draft head."""
        return self.number("nextn_predict_layers", 0)

    @property
    def heads(self) -> int:
        """Number of attention heads of a block."""
        return self.number("attention.head_count", least=1)

    @property
    def key_length(self) -> int:
        """Elements of a head's key; the width shared out over heads where the configuration gives none."""
        return self.number("attention.key_length") if self.has("attention.key_length") else self.width // self.heads

    @property
    def value_length(self) -> int:
        """Elements of a head's value; as many as of its key where the configuration does not say."""
        return self.number("attention.value_length") if self.has("attention.value_length") else self.key_length

    def _item(self, name: str, items: list[object] | tuple[object, ...], block: int) -> object:
        if block >= len(items):
            self._refuse(name, items, f"a list that reaches block {block}, not one of {len(items)} values")
        return items[block]

    def _whole(self, name: str, value: object, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self._refuse(name, value, f"one whole number from {least} up")
        return value

    def _truth(self, name: str, value: object) -> bool:
        if not isinstance(value, bool):
            self._refuse(name, value, "true or false")
        return value

    def _refuse(self, name: str, value: object, wanted: str) -> NoReturn:
        shown = str(value) if isinstance(value, int | float) else repr(value)
        problem = "is not known" if value is None else f"should be {wanted}" + ("" if isinstance(value, list | tuple) else f", not {shown}")
        raise InputError(
            f"config.{name} {problem}, and the shapes of architecture '{self.architecture}' follow from it",
            where=self.where,
            remedy=f"give {name.partition('[')[0]} under `config` as {wanted}, with its source, or take a quant whose header is known",
        )
