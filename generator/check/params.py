"""A model's parameters as a check counts them: by kind from its configuration, all together from the file of full precision."""

from __future__ import annotations

from dataclasses import dataclass

from generator.config.parameters import WORDS, parameters_of
from generator.facts import Fact, Facts
from generator.quantity import BYTE, PARAMETER, Quantity, total

PARAMETER_BYTES = 2
"""Bytes of a parameter in a file of full precision (BF16 or F16)."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Parameters by kind, `dense` those that every token passes, and `read` what a token passes of everything.

    `unread` are those of a draft head in the file, which a run without it does not load, and `input_embedding` what no token reads but
    for one row: nothing where the matrix is the output head as well. `from_shapes` is the
    total that follows from the configuration alone; `kinds` are in the order of a page, those that the model has.
    """

    total: Quantity
    from_shapes: Quantity
    kinds: tuple[Quantity, ...]
    routed_experts: Quantity
    active_experts: Quantity
    dense: Quantity
    unread: Quantity
    input_embedding: Quantity
    read: Quantity


def counts_of(architecture: str, facts: Facts, *, where: str, full_precision: Quantity | None = None) -> Counts:
    """Count the parameters from the facts `config.*`.

    Where the size of a file of full precision is known, it tells the total, and attention and norms are what no other kind accounts for.
    Raises InputError or UnknownNameError where the shape is not known.
    """
    config = [fact for fact in facts.under("config") if fact.known]
    shapes = parameters_of(architecture, config, where=where)
    from_shapes = _unnamed(shapes.total).named("params.from_shapes")
    kinds = {name: getattr(shapes, name) for name in WORDS}
    everything = shapes.total
    if full_precision is not None:
        each = Quantity.constant(PARAMETER_BYTES, BYTE, "bytes of a parameter") / Quantity.constant(1, PARAMETER, "one parameter")
        everything = (full_precision / each).named("params.total")
        others = [count for name, count in kinds.items() if name != "attention_and_norms" and count.number]
        rest = everything - total(others, unit=PARAMETER, words="every other kind")
        kinds["attention_and_norms"] = rest.named("params.attention_and_norms")
    unread = shapes.draft_head
    dense = everything - shapes.routed_experts - unread if unread.number else everything - shapes.routed_experts
    dense = dense.named("params.dense")
    embedding = _input_embedding({fact.key: fact for fact in config}).named("params.input_embedding")
    read = (shapes.active_experts + dense - embedding).named("params.read_per_token")
    shown = tuple(count for count in kinds.values() if count.number)
    return Counts(everything, from_shapes, shown, shapes.routed_experts, shapes.active_experts, dense, unread, embedding, read)


def _unnamed(quantity: Quantity) -> Quantity:
    return Quantity(quantity.value, quantity.unit, quantity.derivation)


def _input_embedding(config: dict[str, Fact]) -> Quantity:
    if config["config.tied_embeddings"].value:
        return Quantity.constant(0, PARAMETER, "the matrix is the output head as well")
    one = Quantity.constant(1, PARAMETER, "one parameter an element")
    return config["config.vocab_size"].quantity() * config["config.embedding_length"].quantity() * one
