"""recipes/cards/<card>.yml: a graphics board and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.specs.common import COMMON, FactShape, Spec, WrittenFact, held
from generator.specs.document import MappingNode, ScalarNode
from generator.specs.read import read_spec
from generator.specs.shapes import URL, Choice, Field, OwnName, Place, Record, TableOf, Text, Values, optional, required

VENDORS = ("nvidia", "amd", "intel", "apple")
BACKENDS = ("cuda", "rocm", "vulkan", "sycl", "metal")
CAPABILITY = Text(r"^[0-9]+\.[0-9]$", "compute capability such as '12.0'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(Spec):
    """A card. Facts have the keys `card.<name>`; `card.memory` and `card.usable` are always among them.

    `compute_capability` ("12.0") is empty where the backend is not CUDA. `links` are addresses by name.
    """

    name: str
    title: str
    full_name: str
    vendor: str
    architecture: str
    chip: str
    backend: str
    compute_capability: str
    links: Mapping[str, str]


_CARD = required("card", OwnName("card"), "Name of the card; the file is called the same.", "rtx-5070")
_TITLE = required("title", Text(), "Short title for headings.", "RTX 5070")
_FULL_NAME = required("full_name", Text(), "Name in full, as the vendor prints it.", "GeForce RTX 5070")
_VENDOR = required("vendor", Choice(VENDORS), "Who makes the chip.", "nvidia")
_ARCHITECTURE = required("architecture", Text(), "Architecture of the chip.", "Blackwell")
_CHIP = optional("chip", Text(), "Name of the chip.", "", "GB205")
_BACKEND = required("backend", Choice(BACKENDS), "Backend of the engine that guides for this card use.", "cuda")
_CAPABILITY = optional("compute_capability", CAPABILITY, "Compute capability, in quotes; CUDA only.", "", "12.0")
_FACTS: Field[dict[str, WrittenFact]] = required(
    "facts",
    TableOf(FactShape(), required=("memory", "usable"), about="every card states its memory and how much of it a run can use"),
    "What is known of the card, and what is not published. `memory` and `usable` are required.",
)
_LINKS = optional("links", TableOf(Text(URL, "web address")), "Pages about the card, by name.", {})


def _check(node: MappingNode, at: Place) -> None:
    backend = node.get("backend")
    if not isinstance(backend, ScalarNode) or backend.text not in BACKENDS:
        return
    capability = node.get("compute_capability")
    if backend.text == "cuda" and capability is None:
        at.key("compute_capability").fault(node.line, "the key 'compute_capability' is missing", 'a CUDA card states it, as in "12.0"')
    if backend.text != "cuda" and capability is not None:
        at.key("compute_capability").fault(capability.line, "only a CUDA card has a compute capability", "delete the key")


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
        links=values[_LINKS],
    )


CARD = Record(
    "A graphics board: recipes/cards/<card>.yml.",
    [_CARD, _TITLE, _FULL_NAME, _VENDOR, _ARCHITECTURE, _CHIP, _BACKEND, _CAPABILITY, _LINKS, *COMMON, _FACTS],
    _build,
    check=_check,
    also={
        "if": {"properties": {"backend": {"const": "cuda"}}},
        "then": {"required": ["compute_capability"]},
        "else": {"properties": {"compute_capability": False}},
    },
)


def load_card(path: Path, shown: str = "") -> Card:
    """Read a card's file. `shown` is the path for messages. Raises SpecErrors with all problems, or MissingFileError."""
    return read_spec(path, CARD, shown or str(path), {"card": path.stem})
