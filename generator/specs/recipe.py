"""recipes/models/<model>/<card>.yml: model, quant, card, build and settings of one guide."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.facts import Fact
from generator.specs.card import Card
from generator.specs.common import CHECKED, COMMON, SOURCE, FactShape, Prose, ProseShape, Spec, WrittenFact, declared, facts_of, held
from generator.specs.document import MappingNode, Node, ScalarNode
from generator.specs.issue import SECTIONS
from generator.specs.read import read_spec
from generator.specs.settings_names import CACHE_TYPES, SETTINGS, Setting
from generator.specs.shapes import (
    KEY,
    NAME,
    Choice,
    Field,
    ListOf,
    OwnName,
    Place,
    Record,
    Schema,
    Shape,
    TableOf,
    Text,
    Values,
    Whole,
    hint,
    optional,
    required,
)
from generator.specs.values import SIZE, Written

POLICIES = ("engine", "published")
BUILD_OPTIONS = ("GGML_CUDA_FA_ALL_QUANTS",)
ISSUE = r"^[a-z0-9][a-z0-9.-]*#[0-9]+$"
"""A thread of a tracker, by the name part of its repository: llama.cpp#26609."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How memory is budgeted: where the input embedding counts (`policy`), and what is kept free.

    `reserve` is a declared fact `recipe.reserve`, or None where it is the engine's own default margin.
    """

    policy: str = "engine"
    reserve: Fact | None = None


@dataclass(frozen=True, slots=True)
class Fallback:
    """Settings to fall back on: those that differ from the recipe's."""

    name: str
    settings: Mapping[str, Setting]


@dataclass(frozen=True, slots=True)
class Ladder:
    """Rows (n_cpu_moe, n_ctx) and columns (type_k, type_v) of the ladder.

    In the file, `n_cpu_moe` and `n_ctx` stand for each of the one with each of the other; `rows` come after them.
    """

    rows: tuple[tuple[int, int], ...] = ()
    cache: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """The draft head for which a price is worked out: tokens drafted at once, and the cache types of its own context."""

    n_max: int
    type_k: str
    type_v: str


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """A kind of host memory. `transfers` are rated for each channel, in MT/s (3200 for DDR4-3200), of 8 bytes each."""

    name: str
    transfers: int
    channels: int


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine around the card: what the system takes (`machine.system`), and sizes of host memory, rising."""

    system: Fact
    sizes: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A section in the author's own words: in the place of the page's own of that name, or a new one with a `title` after another."""

    text: Prose
    title: str = ""
    after: str = ""


PAGE_SECTIONS = (
    *("what_you_build", "requirements", "install", "download", "run", "offload", "budget", "two_cards", "choosing", "fallback", "speed"),
    *("prefill", "results", "draft_head", "vision", "alternatives", "ollama", "troubleshooting", "unknown"),
)
"""The sections of a page after its first screen, in their order."""

SYSTEM_SHARE = Written(4, "GiB")
MACHINE_SIZES = tuple(Written(size, "GiB") for size in (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512))
MEMORY_KINDS = (MemoryKind("DDR4-3200", 3200, 2), MemoryKind("DDR5-5600", 5600, 2), MemoryKind("DDR5-6000", 6000, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(Spec):
    """A recipe. Facts have the keys `recipe.<name>`.

    `gpus` are as many cards of the kind; a recipe of two is called `2x-<card>`, and that is its `page`.

    `settings` are in the order written, under llama.cpp's names. `issues` are references (`llama.cpp#26609`) to threads that come first
    on the page; `threads` are sections of threads in the recipe's own words, by reference and name. `fallback_margin`
    (`recipe.fallback_margin`, nothing unless the file says otherwise) is how far every fallback must stay below the ceiling. `scores` are
    pairs (n_ctx, n_ubatch) for which the attention scores without flash attention are shown. `build_options` are CMake options that the
    engine is built with, beside that of the backend.
    """

    model: str
    card: str
    gpus: int = 1
    quant: str
    engine: str
    build: str
    build_options: tuple[str, ...] = ()
    settings: Mapping[str, Setting]
    budget: Budget
    fallbacks: tuple[Fallback, ...]
    fallback_margin: Fact
    ladder: Ladder
    scores: tuple[tuple[int, int], ...]
    draft: Draft | None
    depths: tuple[int, ...]
    machine: Machine
    memory_kinds: tuple[MemoryKind, ...]
    issues: tuple[str, ...]
    threads: Mapping[str, Mapping[str, Prose]]
    sections: Mapping[str, Section]

    @property
    def page(self) -> str:
        """The name of the recipe's file and page: its card, with how many there are of it."""
        return self.card if self.gpus == 1 else f"{self.gpus}x-{self.card}"

    def titled(self, card: Card) -> str:
        """Give what the recipe runs on as a heading says it."""
        return card.title if self.gpus == 1 else f"{'two' if self.gpus == 2 else self.gpus} {card.title}"


# --- settings ------------------------------------------------------------------------------------

_SETTING_FIELDS: dict[str, Field[Setting]] = {
    name: Field(name, setting.shape, setting.meaning, None, None, required=False) for name, setting in SETTINGS.items()
}


def _settings(values: Values, _: Place) -> dict[str, Setting]:
    given = [name for name in values.names if name in _SETTING_FIELDS]
    return {name: values[_SETTING_FIELDS[name]] for name in given}


SETTINGS_RECORD: Record[dict[str, Setting]] = Record(
    "Settings under llama.cpp's own names.", list(_SETTING_FIELDS.values()), _settings, name="settings"
)

# --- budget, fallbacks, ladder, memory -----------------------------------------------------------

_CACHE_TYPE = Choice(CACHE_TYPES)
_TYPES = ListOf(_CACHE_TYPE, length=2, repeats=True)
_NUMBERS = ListOf(Whole(0), length=2, repeats=True)


class _Reserve(Shape[Written | None]):
    """`engine`, or a size."""

    def read(self, node: Node, at: Place) -> Written | None:
        if isinstance(node, ScalarNode) and node.text == "engine":
            return None
        return SIZE.read(node, at)

    def definition(self) -> Schema:
        return {"anyOf": [{"const": "engine"}, SIZE.schema()]}


_POLICY = optional(
    "policy", Choice(POLICIES), "engine: the input embedding stays in host memory; published: it counts on the card.", "engine"
)
_RESERVE = optional("reserve", _Reserve(), "Kept free on the card: engine (its own default margin) or a size.", None, "1024 MiB")


def _budget(values: Values, _: Place) -> Budget:
    reserve = values[_RESERVE]
    return Budget(values[_POLICY], declared("recipe.reserve", reserve, "the recipe's reserve") if reserve else None)


_FALLBACK_NAME = required("name", Text(longest=120), "What the fallback is called on the page.", "flash attention off")
_SETTINGS = required("settings", SETTINGS_RECORD, "Settings under llama.cpp's own names.")
_FALLBACK = Record(
    "Settings to fall back on.", [_FALLBACK_NAME, _SETTINGS], lambda values, _: Fallback(values[_FALLBACK_NAME], values[_SETTINGS])
)


_N_CPU_MOE = optional("n_cpu_moe", ListOf(Whole(0)), "Depths of offload, each with each context.", (), [24, 25, 26])
_N_CTX = optional("n_ctx", ListOf(Whole(1)), "Contexts in tokens, each with each depth.", (), [32768, 65536])
_ROWS = optional("rows", ListOf(_NUMBERS), "Further rows, each [n_cpu_moe, n_ctx].", (), [[26, 131072]])
_CACHE = optional("cache", ListOf(_TYPES), "Pairs of cache types, K and V.", (), [["q8_0", "f16"]])


def _ladder(values: Values, _: Place) -> Ladder:
    product = [(depth, context) for depth in values[_N_CPU_MOE] for context in values[_N_CTX]]
    rows = dict.fromkeys([*product, *((depth, context) for depth, context in values[_ROWS])])
    return Ladder(tuple(rows), tuple((keys, of_values) for keys, of_values in values[_CACHE]))


_LADDER_RECORD = Record("Rows and columns of the ladder.", [_N_CPU_MOE, _N_CTX, _ROWS, _CACHE], _ladder)

_N_MAX = required("n_max", Whole(1), "Tokens drafted at once.", 3)
_DRAFT_K = required("type_k", _CACHE_TYPE, "Type of the keys its context caches.", "f16")
_DRAFT_V = required("type_v", _CACHE_TYPE, "Type of the values its context caches.", "f16")
_DRAFT_RECORD = Record(
    "The draft head.", [_N_MAX, _DRAFT_K, _DRAFT_V], lambda values, _: Draft(values[_N_MAX], values[_DRAFT_K], values[_DRAFT_V])
)

_MEMORY_NAME = required("name", Text(longest=120), "What it is called on the page.", "DDR4-3200")
_TRANSFERS = required("transfers", Whole(1), "Rated transfers on each channel, in MT/s.", 3200)
_CHANNELS = required("channels", Whole(1, 64), "Number of channels.", 2)
_MEMORY = Record(
    "A kind of host memory.",
    [_MEMORY_NAME, _TRANSFERS, _CHANNELS],
    lambda values, _: MemoryKind(values[_MEMORY_NAME], values[_TRANSFERS], values[_CHANNELS]),
)

_SYSTEM = required("system", FactShape(), "Host memory that is left to everything else.")
_SIZES = required("sizes", ListOf(SIZE), "Sizes of host memory a machine may have, rising.", ["16 GiB", "32 GiB"])


@dataclass(frozen=True, slots=True)
class _WrittenMachine:
    system: WrittenFact
    sizes: tuple[Written, ...]


_MACHINE_RECORD = Record(
    "The machine around the card.", [_SYSTEM, _SIZES], lambda values, _: _WrittenMachine(values[_SYSTEM], values[_SIZES])
)

# --- the recipe ----------------------------------------------------------------------------------

_MODEL = required("model", OwnName("model"), "Model; the folder is called the same.", "apodex-mini")
_CARD = required("card", OwnName("card"), "Card; the file is called the same.", "rtx-5070")
_QUANT = required("quant", Text(r"^[A-Za-z0-9][A-Za-z0-9._-]*$", "name of a quant"), "Quant of the model.", "Q4_K_M")
_ENGINE = required("engine", Text(NAME, "name of an engine"), "Engine.", "llama.cpp")
_BUILD = required("build", Text(NAME, "build of an engine"), "Pinned build of the engine.", "b10666")
_BUILD_OPTIONS = optional(
    "build_options", ListOf(Choice(BUILD_OPTIONS)), "CMake options that the engine is built with beside the backend's.", ()
)
_BUDGET = optional("budget", Record("How memory is budgeted.", [_POLICY, _RESERVE], _budget), "How memory is budgeted.", Budget())
_FALLBACKS = optional("fallbacks", ListOf(_FALLBACK), "Settings that must fit as well.", ())
_MARGIN = optional("fallback_margin", SIZE, "How far every fallback stays below the ceiling.", Written(0, "MiB"), "256 MiB")
_LADDER = optional("ladder", _LADDER_RECORD, "Rows and columns of the ladder.", Ladder())
_SCORES = optional(
    "scores", ListOf(_NUMBERS), "Pairs [n_ctx, n_ubatch] for which the scores without flash attention are shown.", (), [[65536, 512]]
)
_DRAFT = optional("draft", _DRAFT_RECORD, "The draft head for which a price is worked out.", None)
_MACHINE: Field[_WrittenMachine | None] = optional("machine", _MACHINE_RECORD, "The machine around the card.", None)
_GPUS = optional("gpus", Whole(1, 8), "Cards of that kind; the file of a recipe for two is called 2x-<card>.", 1)
_DEPTHS = optional("depths", ListOf(Whole(0)), "Depths of context, in tokens, at which speed is worked out.", (), [0, 65536])
_MEMORY_KINDS = optional("memory_kinds", ListOf(_MEMORY), "Kinds of host memory for which a ceiling is given.", MEMORY_KINDS)
_ISSUES = optional(
    "issues", ListOf(Text(ISSUE, "thread such as llama.cpp#26609")), "Threads that come first among those the page reports.", ()
)
_THREADS: Field[dict[str, dict[str, Prose]]] = optional(
    "threads",
    TableOf(TableOf(ProseShape(), f"^({'|'.join(SECTIONS)})$", what="sections of a thread"), ISSUE, what="threads"),
    "Sections of threads in this recipe's words, by thread and section.",
    {},
)


_SECTION_TEXT = required("text", ProseShape(), "The section's Markdown, with placeholders, from a heading of the third level down.")
_SECTION_TITLE = optional("title", Text(longest=120), "Title of a new section.", "")
_SECTION_AFTER = optional("after", Choice(PAGE_SECTIONS), "Section that a new one follows.", "", "speed")
_SECTION = Record(
    "A section in the author's own words.",
    [_SECTION_TEXT, _SECTION_TITLE, _SECTION_AFTER],
    lambda values, _: Section(values[_SECTION_TEXT], values[_SECTION_TITLE], values[_SECTION_AFTER]),
)
_SECTIONS: Field[dict[str, Section]] = optional(
    "sections",
    TableOf(_SECTION, KEY, what="sections"),
    "Sections to replace, under the name of the page's own, or to add, under a new name with a title and the section it follows.",
    {},
)


def _machine(values: Values) -> Machine:
    note = "what the recipe leaves to the operating system and everything else on the machine"
    share = WrittenFact(SYSTEM_SHARE, origin="declared", note=note)
    written = values[_MACHINE] or _WrittenMachine(share, MACHINE_SIZES)
    system = facts_of({"system": written.system}, "machine", values[SOURCE], values[CHECKED])["machine.system"]
    sizes = [declared(f"machine.sizes.{index}", size, "a size of host memory") for index, size in enumerate(written.sizes)]
    return Machine(system, tuple(sizes))


def _sections(values: Values, at: Place) -> dict[str, Section]:
    for name, section in values[_SECTIONS].items():
        here, line = at.key("sections").key(name), section.text.line
        if name not in PAGE_SECTIONS and not (section.title and section.after):
            here.fault(
                line, f"there is no section '{name}' to replace", f"{hint(name, PAGE_SECTIONS)}; a new one needs `title` and `after`"
            )
        elif name in PAGE_SECTIONS and section.after:
            here.fault(line, f"'{name}' is a section of the page, and stays where it is", "leave out `after`, or choose another name")
    return values[_SECTIONS]


def _build(values: Values, at: Place) -> Recipe:
    has = held(values, "recipe")
    return Recipe(
        file=at.report.file,
        lines=at.report.lines,
        facts=has.facts,
        quotes=has.quotes,
        notes=has.notes,
        model=values[_MODEL],
        card=values[_CARD],
        gpus=values[_GPUS],
        quant=values[_QUANT],
        engine=values[_ENGINE],
        build=values[_BUILD],
        build_options=values[_BUILD_OPTIONS],
        settings=values[_SETTINGS],
        budget=values[_BUDGET],
        fallbacks=values[_FALLBACKS],
        fallback_margin=declared("recipe.fallback_margin", values[_MARGIN], "the recipe's margin for its fallbacks"),
        ladder=values[_LADDER],
        scores=tuple((n_ctx, n_ubatch) for n_ctx, n_ubatch in values[_SCORES]),
        draft=values[_DRAFT],
        depths=values[_DEPTHS],
        memory_kinds=values[_MEMORY_KINDS],
        machine=_machine(values),
        issues=values[_ISSUES],
        threads=values[_THREADS],
        sections=_sections(values, at),
    )


def _check(node: MappingNode, at: Place) -> None:
    given, expected = node.get("gpus"), at.report.expected.get("gpus", "1")
    written = given.text if isinstance(given, ScalarNode) else "1"
    if written != expected and written.isdecimal():
        line = given.line if given else node.line
        at.key("gpus").fault(
            line, f"{written} cards in a file whose name says {expected}", "a recipe for two cards is called 2x-<card>.yml"
        )


RECIPE = Record(
    "Model, quant, card, build and settings of one guide: recipes/models/<model>/<card>.yml.",
    [
        *(_MODEL, _CARD, _GPUS, _QUANT, _ENGINE, _BUILD, _BUILD_OPTIONS, _SETTINGS, _BUDGET, _FALLBACKS, _MARGIN),
        *(_LADDER, _SCORES, _DRAFT, _DEPTHS, _MEMORY_KINDS, _MACHINE, _ISSUES, _THREADS, _SECTIONS),
        *COMMON,
    ],
    _build,
    check=_check,
)


def load_recipe(path: Path, shown: str = "") -> Recipe:
    """Read a recipe's file. `shown` is the path for messages. Raises SpecErrors with all problems, or MissingFileError."""
    gpus, card = _page(path.stem)
    return read_spec(path, RECIPE, shown or str(path), {"model": path.parent.name, "card": card, "gpus": gpus})


def _page(stem: str) -> tuple[str, str]:
    """Give how many cards, and which, the name of a recipe's file says."""
    match = re.fullmatch(r"(?P<gpus>[2-8])x-(?P<card>.+)", stem)
    return (match["gpus"], match["card"]) if match else ("1", stem)
