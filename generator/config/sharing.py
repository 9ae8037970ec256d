"""The type and the bytes of each tensor of a file of which only shape and size are known.

What the engine's tools do alike in every file is done alike here: some tensors always stay in 32 bits, a mixture gives the output head
six bits, and the converter gives every matrix the same type. What is left of the file's size is shared out over the parameters left.

Source: src/llama-quant.cpp (`tensor_allows_quantization`, `llama_tensor_get_type`), and `prepare_tensors` of the converter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from generator.config.shapes import Shape
from generator.errors import InputError
from generator.gguf.roles import is_routed_expert
from generator.gguf.types import BLOCKS, row_bytes

EVEN = frozenset({"Q8_0", "F16", "BF16"})
"""Quants that give every matrix the same type."""

BY_FORMAT = frozenset({"MXFP4"})
"""Quants whose experts have the format that the file is called after, while every other matrix has eight bits."""

_OWN_MIXTURE = "UD-"
"""How the names of a publisher's own mixtures begin; the rest is the name of the usual one."""

_FLOAT, _HEAD, _FALLBACK = "F32", "Q6_K", "Q8_0"
_STAYS_FLOAT = re.compile(r"ffn_gate_inp|(ssm_conv1d(_[qkv])?|shortconv\.conv)\.weight|_norm\.weight$")


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor as the file has it, as far as can be said. `size` is in bytes, and a share where `type` is only nominal."""

    name: str
    type: str
    shape: tuple[int, ...]
    size: int

    @property
    def row(self) -> list[object]:
        """The tensor as a row of a tensor table."""
        return [self.name, self.type, list(self.shape), self.size]


def is_own_mixture(quant: str) -> bool:
    """Tell whether a quant is a publisher's own mixture under the name of a usual one."""
    return quant.startswith(_OWN_MIXTURE)


def stays_float(name: str, shape: Sequence[int]) -> bool:
    """Tell whether a tensor has 32 bits in every file: vectors, biases, routers, convolutions."""
    return len(shape) == 1 or not name.endswith(".weight") or _STAYS_FLOAT.search(name) is not None


def converted(shapes: Sequence[Shape], quant: str) -> list[Stored]:
    """Give the tensors in their own types, as the converter writes them."""
    head = _head(shapes)
    kinds = [_type_of(name, shape, quant, head) for name, shape in shapes]
    return [Stored(name, kind, shape, row_bytes(kind, prod(shape))) for (name, shape), kind in zip(shapes, kinds, strict=True)]


def shared_out(shapes: Sequence[Shape], quant: str, size: int) -> list[Stored]:
    """Give the tensors of a file of `size` bytes, which they add up to. Raises InputError where it has no room for them."""
    typed, head = converted(shapes, quant), _head(shapes)
    known = [_is_known(each, quant, head) for each in typed]
    left = size - sum(each.size for each, is_known in zip(typed, known, strict=True) if is_known)
    if left <= 0 or all(known):
        raise InputError(f"{size:,} bytes are no size of a {quant} file of this shape", remedy="look at its `size` and at `config` again")
    by_type = quant in EVEN | BY_FORMAT
    parts = [0 if is_known else each.size if by_type else prod(each.shape) for each, is_known in zip(typed, known, strict=True)]
    shares = _whole_shares(parts, left)
    return [
        each if is_known else Stored(each.name, each.type, each.shape, share)
        for each, is_known, share in zip(typed, known, shares, strict=True)
    ]


def _is_known(tensor: Stored, quant: str, head: str) -> bool:
    """Tell whether a tensor's type follows from a rule: what stays in 32 bits, experts in a format, the head of a mixture."""
    if tensor.type == _FLOAT:
        return True
    return is_routed_expert(tensor.name) if quant in BY_FORMAT else quant not in EVEN and tensor.name == head


def _type_of(name: str, shape: Sequence[int], quant: str, head: str) -> str:
    """Give a tensor's type, or what stands for it in a graph: the one that the quant is called after where its blocks divide a row."""
    if stays_float(name, shape):
        return _FLOAT
    if quant in BY_FORMAT:
        wanted = quant if is_routed_expert(name) else _FALLBACK
    else:
        wanted = _HEAD if name == head and quant not in EVEN else _leading(quant.removeprefix(_OWN_MIXTURE))
    return next((kind for kind in (wanted, _FALLBACK) if shape[0] % BLOCKS[kind][1] == 0), "F16")


def _head(shapes: Sequence[Shape]) -> str:
    """Give the name of the matrix that makes logits: the input embedding where the file has no other."""
    return "output.weight" if any(name == "output.weight" for name, _ in shapes) else "token_embd.weight"


def _leading(quant: str) -> str:
    """Give the type that a mixture is called after: Q4_K of Q4_K_M. One called after none (IQ2_M) gets one of as many bits."""
    parts = quant.split("_")
    names = ["_".join(parts[:end]) for end in range(len(parts), 0, -1)]
    alike = [kind for kind in BLOCKS if kind.startswith(f"{parts[0]}_")]
    return next((kind for kind in [*names, *alike] if kind in BLOCKS), "Q4_K")


def _whole_shares(parts: Sequence[int], total: int) -> list[int]:
    """Give whole numbers in proportion to `parts` that add up to `total`: alike for parts that are alike, but for the first.

    What rounding leaves goes to the first part, so that blocks of one shape have one size.
    """
    whole = sum(parts)
    shares = [part * total // whole for part in parts]
    first = next(index for index, part in enumerate(parts) if part)
    shares[first] += total - sum(shares)
    return shares
