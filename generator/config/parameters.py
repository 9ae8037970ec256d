"""How many parameters a model has, by what they are for, counted on the shapes that follow from its configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from generator.config.geometry import Geometry
from generator.config.shapes import shapes_of
from generator.facts import Fact
from generator.gguf.roles import DENSE_FFN, block_of, is_routed_expert
from generator.quantity import PARAMETER, Quantity, Value, derived, total

WORDS = {
    "routed_experts": "matrices of all routed experts",
    "shared_expert": "the expert that every token passes",
    "router": "matrices that choose experts",
    "feed_forward": "dense feed-forward matrices",
    "embeddings": "the input embedding, and the output head where it is another matrix",
    "attention_and_norms": "attention, recurrent blocks and norms",
    "draft_head": "blocks of the draft head, its experts among them",
}
"""The kinds that a model's parameters are counted in; together they are all of them."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Counts by kind. The draft head is counted apart: the others are of the blocks that a run without it passes."""

    total: Quantity
    active_experts: Quantity
    routed_experts: Quantity
    shared_expert: Quantity
    router: Quantity
    feed_forward: Quantity
    embeddings: Quantity
    attention_and_norms: Quantity
    draft_head: Quantity


def parameters_of(architecture: str, config: Iterable[Fact], *, where: str = "") -> Parameters:
    """Give the counts that follow from the facts `config.*`, as `params.<kind>`. Raises what `shapes_of` raises."""
    facts = {fact.key.removeprefix("config."): fact for fact in config if fact.known}
    values = {name: fact.value for name, fact in facts.items()}
    inputs = {name: fact.quantity() for name, fact in facts.items() if is_count(fact.value)}
    counted = _counts(Geometry(architecture, values, where))

    def count(kind: str) -> Quantity:
        def again(read: Sequence[Value]) -> Value:
            anew: Mapping[str, object] = {**values, **dict(zip(inputs, read, strict=True))}
            return _counts(Geometry(architecture, anew, where))[kind]

        return derived(counted[kind], PARAMETER, inputs.values(), again, f"elements of {WORDS[kind]}").named(f"params.{kind}")

    kinds = {kind: count(kind) for kind in WORDS}
    everything = total(kinds.values(), unit=PARAMETER, words="all kinds").named("params.total")
    active = kinds["routed_experts"]
    if "expert_count" in inputs and counted["routed_experts"]:
        active = active * inputs["expert_used_count"] / inputs["expert_count"]
    return Parameters(everything, active.named("params.active_experts"), **kinds)


def is_count(value: object) -> bool:
    """Tell whether a value is a whole number, or a list of such."""
    items = value if isinstance(value, list | tuple) else [value]
    return all(isinstance(item, int) and not isinstance(item, bool) for item in items)


def _counts(geometry: Geometry) -> dict[str, int]:
    counts = dict.fromkeys(WORDS, 0)
    first_draft = geometry.blocks - geometry.draft_blocks
    for name, shape in shapes_of(geometry):
        block = block_of(name)
        drafts = block is not None and block >= first_draft
        counts["draft_head" if drafts else _kind(name)] += prod(shape)
    return counts


def _kind(name: str) -> str:
    if is_routed_expert(name):
        return "routed_experts"
    if "_shexp." in name:
        return "shared_expert"
    if ".ffn_gate_inp." in name or ".exp_probs_b." in name:
        return "router"
    if DENSE_FFN.search(name):
        return "feed_forward"
    return "embeddings" if name in {"token_embd.weight", "output.weight"} else "attention_and_norms"
