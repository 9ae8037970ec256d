"""A model of which no tensor table is known: shapes from its configuration, bytes from the size of its file."""

from __future__ import annotations

from dataclasses import dataclass

from generator.config.geometry import Geometry
from generator.config.parameters import Parameters, parameters_of
from generator.config.shapes import shapes_of
from generator.config.sharing import converted, shared_out
from generator.config.tolerance import Tolerance, tolerance_of
from generator.errors import InputError
from generator.facts import Fact, Facts, Source
from generator.gguf.roles import is_routed_expert
from generator.memory.model import Model

BESIDE_THE_HEADER = frozenset({"tied_embeddings", "draft_head_has_embedding"})
"""Values of a configuration that a header shows by its tensors."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A model whose tensor table was shared out, the size of its file as a fact, its parameters by kind, and the tolerance."""

    model: Model
    size: Fact
    parameters: Parameters
    tolerance: Tolerance


def estimated(architecture: str, facts: Facts, quant: str, source: Source, *, where: str, is_converted: bool = False) -> Estimate:
    """Give the estimate of a quant from the facts `config.*` and its published size; for a converted one, from what the converter writes.

    `source` is where the configuration stands as a whole, `where` names the file with its values, for messages.
    Raises InputError for a configuration that lacks what shapes follow from and for a size that is not known or too small, and
    UnknownNameError for an architecture without rules.
    """
    config = [fact for fact in facts.under("config") if fact.known]
    geometry = Geometry(architecture, {fact.key.removeprefix("config."): fact.value for fact in config}, where)
    shapes = shapes_of(geometry)
    checked = min((fact.checked for fact in config if fact.checked), default=None)
    key = f"file.{quant.lower()}.size"
    if is_converted:
        table = converted(shapes, quant)
        note = "what the engine's converter writes of this shape, tensor by tensor, without the header"
        size = Fact(key, sum(each.size for each in table), "B", "reconstructed", source, checked=checked, note=note)
    elif key in facts:
        size = facts[key]
        try:
            table = shared_out(shapes, quant, int(size.quantity().rounded_up()))
        except InputError as error:
            raise InputError(error.problem, where=where, remedy=error.remedy) from error
    else:
        remedy = f"give `size` under quants.{quant}, or read the header with `gen lock`"
        raise InputError(f"the size of the {quant} file is not known", where=where, remedy=remedy)
    metadata: dict[str, object] = {"general.architecture": architecture}
    metadata |= {f"{architecture}.{name}": value for name, value in geometry.values.items() if name not in BESIDE_THE_HEADER}
    rows = [each.row for each in table]
    note = "shape from the published configuration, value by value in the model's file; bytes shared out over the parameters"
    made = [
        Fact(f"estimate.{quant.lower()}.{name}", value, origin="reconstructed", source=source, checked=checked, note=note)
        for name, value in (("metadata", metadata), ("tensors", rows))
    ]
    model = Model.build(metadata, rows, *made)
    mixture = any(is_routed_expert(name) for name, _ in shapes)
    return Estimate(model, size, parameters_of(architecture, config, where=where), tolerance_of(quant, mixture=mixture))
