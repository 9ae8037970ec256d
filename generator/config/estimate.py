"""A tensor table from a configuration and a file's size: bytes shared out over parameters, and how far that may be off.

Quantisers spend more bits on attention and on the output head than on routed experts, so the share of a part is not its parameters'
share. How far the two lie apart was measured on tables that are known (tests/config/test_estimate.py measures it again).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from math import prod

from generator.config.geometry import Geometry
from generator.config.shapes import Shape, shapes_of
from generator.errors import InputError
from generator.facts import Fact, Facts, Source
from generator.gguf.roles import is_routed_expert
from generator.gguf.types import BLOCKS, row_bytes
from generator.memory.model import Model

NOMINAL = {"MXFP4": "MXFP4", "Q8_0": "Q8_0"}
"""Quants that are called after the type that most of the file has."""

BY_FORMAT = frozenset({"MXFP4"})
"""Quants in which the experts have the format itself, whatever the rest has: their bytes follow from it, the rest shares what is left."""

EVEN = frozenset({"Q8_0"})
"""Quants that give every matrix the same type."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far estimated bytes may be off on either side, in percent: of routed experts, and of everything else."""

    experts: Fact
    rest: Fact


@dataclass(frozen=True, slots=True)
class Estimate:
    """A model whose tensor table was shared out, the size of its file as a fact, and the tolerance."""

    model: Model
    size: Fact
    tolerance: Tolerance


def estimated(architecture: str, facts: Facts, quant: str, where: str, source: Source) -> Estimate:
    """Give the estimate of a quant from the facts `config.*` and its published size, or without one what the converter writes.

    Raises InputError for a configuration that lacks what shapes follow from, and UnknownNameError for an architecture without rules.
    """
    config = {fact.key.removeprefix("config."): fact for fact in facts.under("config")}
    geometry = Geometry(architecture, {name: fact.value for name, fact in config.items()}, where)
    shapes = shapes_of(geometry)
    checked = min((fact.checked for fact in config.values() if fact.checked), default=None)
    key = f"file.{quant.lower()}.size"
    if key in facts:
        size = facts[key]
        sizes = _shared_out(shapes, int(size.quantity()), quant)
    elif quant in EVEN:
        sizes = [_converted(shape) for _, shape in shapes]
        note = "what the engine's converter writes of this shape: eight bits and a scale for matrices, 32 bits for vectors; no header"
        size = Fact(key, sum(sizes), "B", "reconstructed", source, checked=checked, note=note)
    else:
        remedy = f"give `size` under quants.{quant}, or read the header with `gen lock`"
        raise InputError(f"the size of the {quant} file is not known", where=where, remedy=remedy)
    rows = [[name, _type(quant, shape), list(shape), count] for (name, shape), count in zip(shapes, sizes, strict=True)]
    metadata: dict[str, object] = {"general.architecture": architecture}
    metadata |= {f"{architecture}.{name}": value for name, value in geometry.values.items() if name not in BESIDE_THE_HEADER}
    return Estimate(_model(metadata, rows, quant, source, checked), size, tolerance_of(quant))


BESIDE_THE_HEADER = frozenset({"tied_embeddings", "draft_head_has_embedding"})
"""Values of a configuration that a header shows by its tensors."""


def tolerance_of(quant: str) -> Tolerance:
    """Give the tolerance of a quant's estimate."""
    if quant in EVEN:
        experts, rest, basis = 1, 1, "a file that gives every matrix the same type; three such tables are off by half a percent at most"
    elif quant in BY_FORMAT:
        experts, rest, basis = 1, 5, "experts have the format that the file is called after; the rest is what is left of the published size"
    elif quant.startswith("UD-"):
        experts, rest, basis = (
            3,
            30,
            "no table of this publisher's own mixtures was at hand; wider than for the usual ones, by choice",
        )
    elif quant.endswith(("_M", "_S", "_L", "_K")):
        experts, rest, basis = (
            1,
            14,
            "held against such tables that are known: experts off by under a percent, the rest by up to 13.5",
        )
    else:
        experts, rest, basis = (
            2,
            30,
            "held against tables of few bits a weight: experts off by up to 1.3 percent, the rest by up to 27",
        )
    return Tolerance(
        Fact("estimate.experts", experts, "%", "declared", note=basis),
        Fact("estimate.rest", rest, "%", "declared", note=basis),
    )


def _type(quant: str, shape: Sequence[int]) -> str:
    """Give the type that stands for a tensor's in the graph: the quant's own where its blocks divide the row."""
    if len(shape) == 1:
        return "F32"
    name = NOMINAL.get(quant) or _leading(quant.removeprefix("UD-"))
    return name if shape[0] % BLOCKS[name][1] == 0 else "F16"


def _leading(quant: str) -> str:
    """Give the type that a mixture is called after: Q4_K of Q4_K_M."""
    parts = quant.split("_")
    names = ["_".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return next((name for name in names if name in BLOCKS), "Q4_K")


def _converted(shape: Sequence[int]) -> int:
    elements = prod(shape)
    return row_bytes("Q8_0", elements) if len(shape) > 1 and shape[0] % BLOCKS["Q8_0"][1] == 0 else row_bytes("F32", elements)


def _shared_out(shapes: Sequence[Shape], size: int, quant: str) -> list[int]:
    """Give the bytes of each tensor: of a file's size the share its parameters have, in whole bytes that add up to it."""
    elements = [prod(shape) for _, shape in shapes]
    fixed = {}
    if quant in BY_FORMAT:
        fixed = {
            index: row_bytes(NOMINAL[quant], elements[index])
            for index, (name, shape) in enumerate(shapes)
            if is_routed_expert(name) and len(shape) > 2
        }
    rest = size - sum(fixed.values())
    shares = _whole_shares([0 if index in fixed else count for index, count in enumerate(elements)], rest)
    return [fixed.get(index, share) for index, share in enumerate(shares)]


def _whole_shares(parts: Iterable[int], total: int) -> list[int]:
    parts = list(parts)
    whole, shares, given, seen = sum(parts), [], 0, 0
    for part in parts:
        seen += part
        end = int(Fraction(seen * total, whole))
        shares.append(end - given)
        given = end
    return shares


def _model(metadata: dict[str, object], rows: list[list[object]], quant: str, source: Source, checked: date | None) -> Model:
    note = "shape from the published configuration, value by value in the model's file; bytes shared out over the parameters"
    common = {"origin": "reconstructed", "source": source, "checked": checked, "note": note}
    metadata_fact = Fact(f"estimate.{quant.lower()}.metadata", metadata, **common)  # type: ignore[arg-type]
    tensors_fact = Fact(f"estimate.{quant.lower()}.tensors", rows, **common)  # type: ignore[arg-type]
    return Model.build(metadata, rows, metadata_fact, tensors_fact)
