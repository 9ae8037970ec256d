"""A model as the memory rules see it: hyperparameters and tensors, each a quantity read from the header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from generator.errors import InputError
from generator.gguf.roles import block_of, is_input, is_routed_expert
from generator.quantity import BYTE, ONE, Fact, Quantity, total

_NOTHING = re.compile(r"(?!)")
_OWN_HEAD = r"nextn\.(embed_tokens|shared_head_head|shared_head_norm)\."

LOADED_ANYWAY: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "cohere2moe": re.compile(rf"blk\.\d+\.{_OWN_HEAD}"),
        "hy_v3": re.compile(rf"blk\.\d+\.(ffn_(?!norm)|exp_probs_b|{_OWN_HEAD})"),
        "step35": re.compile(rf"blk\.\d+\.(ffn_(?!norm)|exp_probs_b|attn_(gate|q_norm|k_norm)\.|{_OWN_HEAD})"),
    }
)
"""Tensors of a draft head that the engine loads in a run without it too (src/models/<name>.cpp: those it does not pass `mtp_flags`)."""

MAX_BLOCKS = 512
"""LLAMA_MAX_LAYERS, src/llama-hparams.h: the engine loads no file that states more blocks."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One row of the tensor table. `size` is its payload in bytes, without alignment; `block` is None outside the blocks."""

    name: str
    type: str
    shape: tuple[int, ...]
    size: Quantity
    block: int | None
    routed_expert: bool

    @property
    def is_input(self) -> bool:
        """Tell whether it belongs to the input layer, which stays in host memory."""
        return is_input(self.name)


@dataclass(frozen=True, slots=True)
class Model:
    """Metadata and tensor table of one GGUF file (all its shards), with the facts they were read from.

    `remembered` keeps what was read of it before, by what was asked; a copy with other metadata starts anew.
    """

    architecture: str
    metadata: Mapping[str, object]
    tensors: tuple[Tensor, ...]
    metadata_fact: Fact
    tensors_fact: Fact
    blocks: Mapping[int, tuple[Tensor, ...]] = field(default_factory=dict)
    remembered: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @staticmethod
    def build(
        metadata: Mapping[str, object],
        rows: Iterable[Sequence[object]],
        metadata_fact: Fact,
        tensors_fact: Fact,
    ) -> Model:
        """Make a model from metadata and rows of (name, type, shape, payload bytes).

        Raises InputError for metadata that name no architecture.
        """
        tensors = tuple(_tensor(row, tensors_fact) for row in rows)
        blocks: dict[int, list[Tensor]] = {}
        for tensor in tensors:
            if tensor.block is not None:
                blocks.setdefault(tensor.block, []).append(tensor)
        architecture = metadata.get("general.architecture")
        if not isinstance(architecture, str) or not architecture:
            raise InputError("the header does not state 'general.architecture'", remedy="take a GGUF file that a model was written to")
        return Model(architecture, metadata, tensors, metadata_fact, tensors_fact, {index: tuple(of) for index, of in blocks.items()})

    # hyperparameters

    def has(self, name: str) -> bool:
        """Tell whether the header states a hyperparameter, named without the architecture prefix."""
        return f"{self.architecture}.{name}" in self.metadata

    def raw(self, name: str) -> object:
        """Give a hyperparameter as the header states it. Raises InputError where it does not."""
        key = f"{self.architecture}.{name}"
        if key not in self.metadata:
            remedy = "the header is not of this architecture, or was written by a converter that left the key out"
            raise InputError(f"the header does not state '{key}'", remedy=remedy)
        return self.metadata[key]

    def number(self, name: str, default: int | None = None) -> Quantity:
        """Give a hyperparameter that is one whole number; `default` is what the engine takes when the header is silent."""
        key = (name, default)
        if key not in self.remembered:
            self.remembered[key] = self._number(name, default)
        found: Quantity = self.remembered[key]
        return found

    def _number(self, name: str, default: int | None) -> Quantity:
        if default is not None and not self.has(name):
            return Quantity.constant(default, ONE, f"the engine's default for {name}")
        value = self.raw(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InputError(f"'{self.architecture}.{name}' should be one whole number from 0 up, the header says {value!r}")
        return Quantity.read(value, ONE, self.metadata_fact, f"{self.architecture}.{name}").named(f"header.{name}")

    def per_block(self, name: str, block: int) -> Quantity:
        """Give a hyperparameter of one block, whether the header states one number or a list with one for each block."""
        value = self.raw(name)
        if isinstance(value, list | tuple):
            if block >= len(value):
                raise InputError(f"'{self.architecture}.{name}' lists {len(value)} blocks, block {block} is not among them")
            if not isinstance(value[block], int) or value[block] < 0:
                raise InputError(f"'{self.architecture}.{name}' should list whole numbers from 0 up, block {block} has {value[block]!r}")
            row = Quantity.read(int(value[block]), ONE, self.metadata_fact, f"{self.architecture}.{name}[{block}]")
            return row.named(f"header.{name}.{block}")
        return self.number(name)

    # blocks

    @property
    def block_count(self) -> Quantity:
        """Number of blocks in the file, those of a draft head included. Raises InputError for a number the engine does not load."""
        count = self.number("block_count")
        if not 0 < int(count) <= MAX_BLOCKS:
            raise InputError(f"the header states {int(count)} blocks", remedy=f"the engine loads models of 1 to {MAX_BLOCKS} blocks")
        return count

    @property
    def draft_blocks(self) -> Quantity:
        """Number of blocks at the end that belong to a draft head (`nextn_predict_layers`). Raises InputError for more than there are."""
        drafts = self.number("nextn_predict_layers", 0)
        if self.block_count < drafts:
            raise InputError(f"the header states {int(self.block_count)} blocks, and {int(drafts)} of a draft head among them")
        return drafts

    @property
    def loaded_blocks(self) -> Quantity:
        """Number of blocks a normal run loads."""
        return self.block_count - self.draft_blocks

    # tensors

    def size_of(self, tensors: Iterable[Tensor], words: str) -> Quantity:
        """Give the payload bytes of some tensors as one sum; `words` say which they are."""
        return total((tensor.size for tensor in tensors), unit=BYTE, words=f"sum of payload bytes, {words}")

    def loaded(self, *, draft_head: bool = False) -> tuple[Tensor, ...]:
        """Give the tensors a run loads: all, without the draft head's blocks unless it is used or the engine loads them anyway."""
        count = int(self.block_count)
        end = count if draft_head else int(self.loaded_blocks)
        anyway = LOADED_ANYWAY.get(self.architecture, _NOTHING)

        def is_loaded(tensor: Tensor) -> bool:
            return tensor.block is None or tensor.block < end or (tensor.block < count and anyway.match(tensor.name) is not None)

        return tuple(filter(is_loaded, self.tensors))

    def experts(self, block: int | None = None) -> tuple[Tensor, ...]:
        """Give the routed expert tensors, of one block or of all."""
        tensors = self.tensors if block is None else self.blocks.get(block, ())
        return tuple(tensor for tensor in tensors if tensor.routed_expert)

    def named(self, name: str) -> Tensor | None:
        """Give the tensor of that name, None where there is none."""
        return next((tensor for tensor in self.tensors if tensor.name == name), None)

    @property
    def tied_embedding(self) -> bool:
        """Tell whether the output head is the input embedding again (the file has no output matrix)."""
        return self.named("output.weight") is None and self.named("token_embd.weight") is not None

    @property
    def tensor_count(self) -> Quantity:
        """Number of tensors in the table."""
        return Quantity.read(len(self.tensors), ONE, self.tensors_fact, "rows")


def _tensor(row: Sequence[object], fact: Fact) -> Tensor:
    name, kind, shape, size = row
    assert isinstance(name, str) and isinstance(shape, list | tuple) and isinstance(size, int)
    return Tensor(name, str(kind), tuple(shape), Quantity.read(size, BYTE, fact, name), block_of(name), is_routed_expert(name))
