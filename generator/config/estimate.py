"""A model of which no tensor table is known: shapes from its configuration, bytes from the size of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from generator.config.geometry import Geometry
from generator.config.parameters import Parameters, parameters_of
from generator.config.shapes import Shape, shapes_of
from generator.config.sharing import Stored, converted, shared_out
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

    @property
    def words(self) -> str:
        """Say that it is an estimate, and how far it may be off."""
        return f"an estimate, no tensor table is known: {self.tolerance.words(mixture=bool(self.model.experts()))}"


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
    common = Fact("", None, origin="reconstructed", source=source, checked=checked)
    if is_converted:
        table = converted(shapes, quant)
        written = replace(common, note="what the engine's converter writes of the published shape, tensor by tensor; without the header")
        size = replace(written, key=f"file.{quant.lower()}.size", value=sum(each.size for each in table), unit="B")
    else:
        size = _published_size(facts, quant, where)
        table = _shared_out(shapes, quant, size, where)
        written = replace(common, note="bytes of the file shared out over the parameters of the published shape")
    metadata: dict[str, object] = {"general.architecture": architecture}
    metadata |= {f"{architecture}.{name}": value for name, value in geometry.values.items() if name not in BESIDE_THE_HEADER}
    rows = [each.row for each in table]
    key = f"estimate.{quant.lower()}"
    metadata_fact = replace(common, key=f"{key}.metadata", value=metadata, note="the published shape under the names of a header")
    model = Model.build(metadata, rows, metadata_fact, replace(written, key=f"{key}.tensors", value=rows))
    mixture = any(is_routed_expert(name) for name, _ in shapes)
    return Estimate(model, size, parameters_of(architecture, config, where=where), tolerance_of(quant, mixture=mixture))


def _published_size(facts: Facts, quant: str, where: str) -> Fact:
    key = f"file.{quant.lower()}.size"
    if key not in facts:
        remedy = f"give `size` under quants.{quant}, or read the header with `gen lock`"
        raise InputError(f"the size of the {quant} file is not known", where=where, remedy=remedy)
    return facts[key]


def _shared_out(shapes: Sequence[Shape], quant: str, size: Fact, where: str) -> list[Stored]:
    """Give the table of a file of a published size; one printed in GiB is taken to the next byte."""
    try:
        return shared_out(shapes, quant, int(size.quantity().rounded_up()))
    except InputError as error:
        raise InputError(error.problem, where=where, remedy=error.remedy) from error
