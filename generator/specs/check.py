"""recipes/checks/<model>/<name>.yml: a public claim about speed, and what it is held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.specs.common import COMMON, FactShape, Prose, ProseShape, Spec, WrittenFact, held
from generator.specs.document import MappingNode, ScalarNode
from generator.specs.read import read_spec
from generator.specs.settings_names import CACHE_TYPES
from generator.specs.shapes import (
    KEY,
    NAME,
    Choice,
    Field,
    ListOf,
    OwnName,
    Place,
    Record,
    TableOf,
    Text,
    Values,
    Whole,
    optional,
    required,
)

PARTS = ("speed", "memory", "context", "fact", "opinion")
"""What a part of a claim is about, and so how its verdict is found: by the ceiling at a context, by the memory budget, by the context the
model was trained for, by a predicate over facts, or not at all."""

REQUIRED = ("file_size", "parameters_file", "usable", "compute", "card_bandwidth", "host_bandwidth", "link_bandwidth", "best_share")
"""Facts that every check states: sizes, what a run can use, bandwidths, and the best share of a ceiling that was observed."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a claim: its words, as they were said, and what decides it.

    `context` is that of a part about speed or context, in tokens; `predicate` that of a part about a fact. `says` is prose for the verdict.
    """

    words: str
    kind: str
    context: int
    predicate: str
    says: Prose | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Spec):
    """A check of a claim. Facts have the keys `check.<name>`; those of REQUIRED are among them.

    `speed` is what is claimed, in tokens per second; `contexts` are depths of context, in tokens, at which the ceiling is worked out,
    rising. `batches` are micro-batches for which the floor of a prompt is, `host_rates` rated bandwidths of system memory for the table
    that a reader finds their own in, `cache` the types of K and V.
    """

    name: str
    model: str
    card: str
    quant: str
    engine: str
    build: str
    title: str
    speed: int
    contexts: tuple[int, ...]
    batches: tuple[int, ...]
    host_rates: tuple[int, ...]
    cache: tuple[str, str]
    parts: Mapping[str, Part]


_WORDS = required("words", Text(longest=300), "What was said, word for word.", "50 tok/s")
_KIND = required("kind", Choice(PARTS), "What the part is about.", "speed")
_CONTEXT = optional("context", Whole(0), "Context of a part about speed or context, in tokens.", 0, 8192)
_PREDICATE = optional("predicate", Text(longest=300), "What a part about a fact comes to.", "", "check.launched == 2017")
_SAYS = optional("says", ProseShape(), "What the page adds to the verdict.", None)
_PART = Record(
    "One part of a claim.",
    [_WORDS, _KIND, _CONTEXT, _PREDICATE, _SAYS],
    lambda values, _: Part(values[_WORDS], values[_KIND], values[_CONTEXT], values[_PREDICATE], values[_SAYS]),
)

_CHECK = required("check", OwnName("check"), "Name of the check; the file is called the same.", "rtx-3060")
_MODEL = required("model", OwnName("model"), "Model; the folder is called the same.", "qwen3.6-35b-a3b")
_CARD = required("card", Text(NAME, "name of a card"), "Card of the catalogue that the claim is about.", "rtx-3060-12gb")
_QUANT = required("quant", Text(r"^[A-Za-z0-9][A-Za-z0-9._-]*$", "name of a quant"), "Quant that the size is of.", "Q4_K_M")
_ENGINE = required("engine", Text(NAME, "name of an engine"), "Engine.", "llama.cpp")
_BUILD = required("build", Text(NAME, "build of an engine"), "Build whose source and threads the page cites.", "b10666")
_TITLE = required("title", Text(longest=200), "The claim as a heading says it.", "50 tok/s at 128K on an RTX 3060")
_SPEED = required("speed", Whole(1), "Tokens per second that are claimed.", 50)
_CONTEXTS = required("contexts", ListOf(Whole(1)), "Depths of context, in tokens, for the ceiling; rising.", [8192, 131072])
_BATCHES = optional("batches", ListOf(Whole(1)), "Micro-batches for which the floor of a prompt is.", (512, 2048), [512, 2048])
_RATES = optional("host_rates", ListOf(Whole(1)), "Bandwidths of system memory, in GB/s, to compare with.", (30, 45, 65, 80), [30, 65])
_CACHE = optional("cache", ListOf(Choice(CACHE_TYPES), length=2, repeats=True), "Types of K and V.", ("f16", "f16"), ["f16", "f16"])
_PARTS: Field[dict[str, Part]] = required("parts", TableOf(_PART, KEY, what="parts of the claim"), "The claim, part by part.")
_FACTS: Field[dict[str, WrittenFact]] = required(
    "facts",
    TableOf(FactShape(), required=REQUIRED, about="a check rests on sizes, bandwidths, and the best share of a ceiling that was observed"),
    "What the claim is held against.",
)


def _check(node: MappingNode, at: Place) -> None:
    """Note parts that lack what decides them."""
    parts = node.get("parts")
    for key, part in parts.entries if isinstance(parts, MappingNode) else ():
        kind = part.get("kind") if isinstance(part, MappingNode) else None
        word = kind.text if isinstance(kind, ScalarNode) else ""
        needed = {"speed": "context", "context": "context", "fact": "predicate"}.get(word)
        if needed and isinstance(part, MappingNode) and part.get(needed) is None:
            at.key("parts").key(key.text).fault(key.line, f"a part about {word} needs its {needed}", f"add `{needed}`")


def _build(values: Values, at: Place) -> Check:
    has = held(values, "check", facts=_FACTS)
    return Check(
        file=at.report.file,
        lines=at.report.lines,
        facts=has.facts,
        quotes=has.quotes,
        notes=has.notes,
        name=values[_CHECK],
        model=values[_MODEL],
        card=values[_CARD],
        quant=values[_QUANT],
        engine=values[_ENGINE],
        build=values[_BUILD],
        title=values[_TITLE],
        speed=values[_SPEED],
        contexts=values[_CONTEXTS],
        batches=values[_BATCHES],
        host_rates=values[_RATES],
        cache=(values[_CACHE][0], values[_CACHE][1]),
        parts=values[_PARTS],
    )


CHECK = Record(
    "A public claim about speed, held against arithmetic: recipes/checks/<model>/<name>.yml.",
    [
        *(_CHECK, _MODEL, _CARD, _QUANT, _ENGINE, _BUILD, _TITLE, _SPEED, _CONTEXTS, _BATCHES, _RATES, _CACHE, _PARTS),
        *(field for field in COMMON if field.name != "facts"),
        _FACTS,
    ],
    _build,
    check=_check,
)


def load_check(path: Path, shown: str = "") -> Check:
    """Read a check's file. `shown` is the path for messages. Raises SpecErrors with all problems, or MissingFileError."""
    return read_spec(path, CHECK, shown or str(path), {"model": path.parent.name, "check": path.stem})
