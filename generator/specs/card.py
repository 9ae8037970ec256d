"""recipes/cards/<card>.yml: a graphics board and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from generator.facts import Facts
from generator.specs.common import CHECKED, COMMON, SOURCE, FactShape, Spec, WrittenFact, facts_of, held
from generator.specs.document import MappingNode, Node, ScalarNode
from generator.specs.read import read_spec
from generator.specs.shapes import URL, Choice, Field, OwnName, Place, Record, TableOf, Text, Truth, Values, optional, required

VENDORS = ("nvidia", "amd", "intel", "apple")
BACKENDS = ("cuda", "rocm", "vulkan", "sycl", "metal")
CAPABILITY = Text(r"^[0-9]+\.[0-9]$", "compute capability such as '12.0'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(Spec):
    """A card. Facts have the keys `card.<name>`; `card.memory` and `card.usable` are always among them.

    `compute_capability` ("12.0") is empty where the backend is not CUDA, `llvm_target` ("gfx1100") where it is not ROCm. `links` are
    addresses by name. `unified` marks memory that is the system's too. A chip that is sold with several `sizes` of memory is several
    cards, each called after the chip and a size (see `sized`): the facts that differ, `card.memory` and `card.usable` among them, are
    under the size.
    """

    name: str
    title: str
    full_name: str
    vendor: str
    architecture: str
    chip: str
    backend: str
    compute_capability: str
    llvm_target: str
    unified: bool
    sizes: Mapping[str, Facts]
    links: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the cards that the file describes."""
        return tuple(f"{self.name}-{size}" for size in self.sizes) or (self.name,)

    def sized(self, name: str) -> Card:
        """Give the card of that name, one of `names`: the chip with the size of memory that ends it."""
        if not self.sizes:
            return self
        size = name.removeprefix(f"{self.name}-")
        words = f"{size.removesuffix('gb')} GB"
        facts = self.facts.merged(self.sizes[size])
        return replace(self, name=name, title=f"{self.title} {words}", full_name=f"{self.full_name} with {words}", facts=facts, sizes={})


_CARD = required("card", OwnName("card"), "Name of the card; the file is called the same.", "rtx-5070")
_TITLE = required("title", Text(), "Short title for headings.", "RTX 5070")
_FULL_NAME = required("full_name", Text(), "Name in full, as the vendor prints it.", "GeForce RTX 5070")
_VENDOR = required("vendor", Choice(VENDORS), "Who makes the chip.", "nvidia")
_ARCHITECTURE = required("architecture", Text(), "Architecture of the chip.", "Blackwell")
_CHIP = optional("chip", Text(), "Name of the chip.", "", "GB205")
_BACKEND = required("backend", Choice(BACKENDS), "Backend of the engine that guides for this card use.", "cuda")
_CAPABILITY = optional("compute_capability", CAPABILITY, "Compute capability, in quotes; CUDA only.", "", "12.0")
_TARGET = optional("llvm_target", Text(r"^gfx[0-9a-f]+$", "target such as gfx1100"), "LLVM target of the chip; ROCm only.", "", "gfx1100")
_UNIFIED = optional("unified", Truth(), "The memory is the system's too.", default=False)
_OF_SIZE = TableOf(FactShape(), required=("memory", "usable"), about="every size states the memory and how much of it a run can use")
_SIZES: Field[dict[str, dict[str, WrittenFact]]] = optional(
    "sizes",
    TableOf(_OF_SIZE, r"^[1-9][0-9]*gb$", what="sizes of memory"),
    "Sizes of memory the chip is sold with, as 48gb: each is a card called <card>-<size>, with facts of its own.",
    {},
)
_FACTS: Field[dict[str, WrittenFact]] = required(
    "facts",
    TableOf(FactShape()),
    "What is known of the card, and what is not published. `memory` and `usable` are required, here or for each of the sizes.",
)
_LINKS = optional("links", TableOf(Text(URL, "web address")), "Pages about the card, by name.", {})


def _check(node: MappingNode, at: Place) -> None:
    facts, sizes = node.get("facts"), node.get("sizes")
    if isinstance(facts, MappingNode):
        _check_sizes(facts, sizes, at)
    backend = node.get("backend")
    if not isinstance(backend, ScalarNode) or backend.text not in BACKENDS:
        return
    capability, target = node.get("compute_capability"), node.get("llvm_target")
    if backend.text == "cuda" and capability is None:
        at.key("compute_capability").fault(node.line, "the key 'compute_capability' is missing", 'a CUDA card states it, as in "12.0"')
    if backend.text != "cuda" and capability is not None:
        at.key("compute_capability").fault(capability.line, "only a CUDA card has a compute capability", "delete the key")
    if backend.text != "rocm" and target is not None:
        at.key("llvm_target").fault(target.line, "only a card under ROCm has an LLVM target", "delete the key")


def _check_sizes(facts: MappingNode, sizes: Node | None, at: Place) -> None:
    """Note a fact that both the chip and one of its sizes state, and what a chip without sizes must state itself."""
    if not isinstance(sizes, MappingNode):
        for name in ("memory", "usable"):
            if facts.get(name) is None:
                remedy = "every card states its memory and how much of it a run can use"
                at.key("facts").key(name).fault(facts.line, f"the key '{name}' is missing", remedy)
        return
    own = set()
    for size, stated in sizes.entries:
        for key, fact in stated.entries if isinstance(stated, MappingNode) else ():
            own.add(key.text)
            if isinstance(fact, MappingNode) and fact.get("quote") is not None:
                at.key("sizes").key(size.text).key(key.text).fault(key.line, "a fact of a size has no quote", "put the words into `quotes`")
    for key, _ in facts.entries:
        if key.text in own:
            at.key("facts").key(key.text).fault(key.line, f"a size states '{key.text}' as well", "delete one of the two")


def _build(values: Values, at: Place) -> Card:
    has = held(values, "card", facts=_FACTS)
    return Card(
        file=at.report.file,
        lines=at.report.lines,
        facts=has.facts,
        quotes=has.quotes,
        notes=has.notes,
        name=values[_CARD],
        title=values[_TITLE],
        full_name=values[_FULL_NAME],
        vendor=values[_VENDOR],
        architecture=values[_ARCHITECTURE],
        chip=values[_CHIP],
        backend=values[_BACKEND],
        compute_capability=values[_CAPABILITY],
        llvm_target=values[_TARGET],
        unified=values[_UNIFIED],
        sizes={size: facts_of(facts, "card", values[SOURCE], values[CHECKED]) for size, facts in values[_SIZES].items()},
        links=values[_LINKS],
    )


CARD = Record(
    "A graphics board: recipes/cards/<card>.yml.",
    [_CARD, _TITLE, _FULL_NAME, _VENDOR, _ARCHITECTURE, _CHIP, _BACKEND, _CAPABILITY, _TARGET, _UNIFIED, _SIZES, _LINKS, *COMMON, _FACTS],
    _build,
    check=_check,
    also={
        "allOf": [
            {
                "if": {"properties": {"backend": {"const": "cuda"}}},
                "then": {"required": ["compute_capability"]},
                "else": {"properties": {"compute_capability": False}},
            },
            {"if": {"properties": {"backend": {"const": "rocm"}}}, "else": {"properties": {"llvm_target": False}}},
            {"if": {"required": ["sizes"]}, "else": {"properties": {"facts": {"required": ["memory", "usable"]}}}},
        ]
    },
)


def load_card(path: Path, shown: str = "") -> Card:
    """Read a card's file. `shown` is the path for messages. Raises SpecErrors with all problems, or MissingFileError."""
    return read_spec(path, CARD, shown or str(path), {"card": path.stem})
