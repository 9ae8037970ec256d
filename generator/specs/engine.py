"""recipes/engines/<engine>/<build>.yml: an inference engine at a pinned build, as its source says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from generator.errors import UnknownNameError
from generator.facts import Fact, Facts, Source
from generator.specs.card import BACKENDS, CAPABILITY
from generator.specs.common import (
    CHECKED,
    CITED_FACTS,
    NOTES,
    QUOTES,
    SOURCE,
    CitationName,
    Cited,
    FactShape,
    Spec,
    WrittenFact,
    facts_of,
    held,
)
from generator.specs.document import MappingNode, Node
from generator.specs.read import read_spec
from generator.specs.settings_names import CACHE_TYPES, SETTINGS, Setting
from generator.specs.shapes import (
    KEY,
    REPOSITORY,
    Choice,
    Day,
    Field,
    ListOf,
    OwnName,
    Place,
    Record,
    Scalar,
    TableOf,
    Text,
    Truth,
    Values,
    Whole,
    hint,
    optional,
    required,
)

VERSION = r"^[0-9]+(\.[0-9]+)*$"


@dataclass(frozen=True, slots=True)
class ReadElsewhere:
    """Another copy of the source in which a line was read: which copy (in words), the line there, and the day."""

    source: str
    line: int
    checked: date


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in the engine's source.

    `pattern` is a literal piece of the line meant, or of one of the lines from `line` to `end_line`; `line` is None
    where it was not read at the pinned build, or not recorded. `checked` is the day it was read at the pinned build, None
    where it was read only elsewhere. `quote` is code, `note` words.
    """

    name: str
    path: str
    pattern: str
    line: int | None
    end_line: int | None
    checked: date | None
    quote: str
    note: str
    read_elsewhere: ReadElsewhere | None


@dataclass(frozen=True, slots=True)
class Support:
    """Since which build the engine runs an architecture; `citation` is the name of one, of where its source lists it.

    `floor` is the first build that runs it. `seen` is one that somebody ran it on: a bound, and no floor. Either is None where nobody
    found out. They are facts, `engine.floor.<architecture>` and `engine.seen.<architecture>`.
    """

    floor: Fact | None
    seen: Fact | None
    citation: str


@dataclass(frozen=True, slots=True)
class Flag:
    """The flag of a setting: its names, short first; those that switch it off; default, help text, citation by name.

    `default` is None where nothing is done without the flag (written `default: none`, but for a setting that has that word).
    """

    setting: str
    names: tuple[str, ...]
    negated: tuple[str, ...]
    default: Setting | None
    help: str
    citation: str
    note: str


@dataclass(frozen=True, slots=True)
class CudaFloor:
    """The first CUDA toolkit that compiles device code for a compute capability, and the architecture it is built as."""

    compute_capability: str
    toolkit: str
    architecture: str
    citation: str


@dataclass(frozen=True, slots=True)
class CudaStep:
    """Architectures that a build adds when it does not compile for the card at hand.

    They are added from the toolkit `since` on and before the toolkit `below`; each is empty where there is no such bound.
    """

    since: str
    below: str
    architectures: tuple[str, ...]
    citation: str


@dataclass(frozen=True, slots=True)
class Cuda:
    """What the engine's build files say of CUDA: floors by compute capability, and the fallback list in its order."""

    floors: tuple[CudaFloor, ...]
    fallback_list: tuple[CudaStep, ...]


@dataclass(frozen=True, slots=True)
class Backend:
    """What one backend of the engine does; citations by name.

    `instructions` is where the engine says how to build it. `op_offload` is where it decides to compute with weights that wait in host
    memory, `op_offload_limit` where it gets the smallest batch for that from. `cache_types` are those that its flash attention reads as
    built by default (`flash_attention`), with `one_type` only where K and V have the same; `all_types` is the CMake option that widens it.
    """

    instructions: str
    op_offload: str
    op_offload_limit: str
    flash_attention: str
    cache_types: tuple[str, ...]
    one_type: bool
    all_types: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(Spec):
    """An engine at a build. Facts have the keys `engine.<name>`. `flags` are by setting name, `backends` by those of cards."""

    name: str
    build: str
    repository: str
    source_url: str
    architectures: Mapping[str, Support]
    citations: Mapping[str, Citation]
    flags: Mapping[str, Flag]
    backends: Mapping[str, Backend]
    cuda: Cuda | None

    def citation(self, name: str) -> Citation:
        """Give a citation by name. Raises UnknownNameError."""
        if name not in self.citations:
            raise UnknownNameError("citation", name, self.citations, remedy=f"declare it under `citations` in {self.file}")
        return self.citations[name]

    def flag(self, setting: str) -> Flag:
        """Give the flag of a setting. Raises UnknownNameError."""
        if setting not in self.flags:
            raise UnknownNameError("flag", setting, self.flags, remedy=f"declare it under `flags` in {self.file}")
        return self.flags[setting]

    def backend(self, name: str) -> Backend:
        """Give what a backend does. Raises UnknownNameError."""
        if name not in self.backends:
            raise UnknownNameError("backend", name, self.backends, remedy=f"declare it under `backends` in {self.file}")
        return self.backends[name]

    def beside(self) -> Facts:
        """Give the facts of an engine that a guide only compares with, under its own name: `<engine>.<name>`."""
        return Facts(replace(fact, key=f"{self.name}.{fact.key.removeprefix('engine.')}") for fact in self.facts)

    def url(self, name: str) -> str:
        """Give the address of a citation, with its line where that is known."""
        return _url(self.source_url, self.citation(name))


def _url(template: str, citation: Citation) -> str:
    page, _, anchor = template.partition("#")
    page = page.replace("{path}", citation.path)
    if citation.line is None or not anchor:
        return page
    end = f"-L{citation.end_line}" if citation.end_line else ""
    return f"{page}#{anchor.replace('{line}', str(citation.line))}{end}"


# --- citations -----------------------------------------------------------------------------------

_ELSEWHERE_SOURCE = required("source", Text(), "Which copy, in words.", "llama.cpp as vendored by a package")
_ELSEWHERE_LINE = required("line", Whole(1), "Line in that copy.", 483)
_ELSEWHERE_CHECKED = required("checked", Day(), "The day it was read there.", "2026-08-31")


def _elsewhere(values: Values, _: Place) -> ReadElsewhere:
    return ReadElsewhere(values[_ELSEWHERE_SOURCE], values[_ELSEWHERE_LINE], values[_ELSEWHERE_CHECKED])


_PATH = required(
    "path",
    Text(r"^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]*$", "path in the engine's repository"),
    "File in the repository.",
    "common/common.h",
)
_PATTERN = required("pattern", Text(longest=200), "A literal piece of the line meant, to find it again.", "fit_params_target")
_LINE = optional("line", Whole(1), "Line at the pinned build; left out where it was not read there or not recorded.", None, 481)
_END_LINE = optional("end_line", Whole(1), "Last line, where several are meant.", None)
_READ_AT_PIN = optional("checked", Day(), "The day it was read at the pinned build.", None, "2026-08-31")
_QUOTE = optional("quote", Text(longest=400), "The code itself, or its comment.", "")
_NOTE = optional("note", Text(longest=2000), "What a reader must know.", "")
_READ_ELSEWHERE = optional(
    "read_elsewhere",
    Record("Another copy of the source.", [_ELSEWHERE_SOURCE, _ELSEWHERE_LINE, _ELSEWHERE_CHECKED], _elsewhere, name="read_elsewhere"),
    "The copy of the source in which it was read instead.",
    None,
)


def _check_citation(node: MappingNode, at: Place) -> None:
    if node.get("checked") is None and node.get("read_elsewhere") is None:
        at.fault(node.line, "nothing says when the source was read", "add `checked` (at the pinned build) or `read_elsewhere`")
    if node.get("line") is not None and node.get("checked") is None:
        at.fault(node.line, "a line at the pinned build needs the day it was read", "add `checked`, or move the line to `read_elsewhere`")
    if node.get("end_line") is not None and node.get("line") is None:
        at.fault(node.line, "there is a last line and no first", "add `line`")


def _citation(values: Values, at: Place) -> Citation:
    return Citation(
        name=at.path.removeprefix("citations."),
        path=values[_PATH],
        pattern=values[_PATTERN],
        line=values[_LINE],
        end_line=values[_END_LINE],
        checked=values[_READ_AT_PIN],
        quote=values[_QUOTE],
        note=values[_NOTE],
        read_elsewhere=values[_READ_ELSEWHERE],
    )


_CITATION_RECORD = Record(
    "A place in the engine's source.",
    [_PATH, _PATTERN, _LINE, _END_LINE, _READ_AT_PIN, _QUOTE, _NOTE, _READ_ELSEWHERE],
    _citation,
    check=_check_citation,
    also={
        "anyOf": [{"required": ["checked"]}, {"required": ["read_elsewhere"]}],
        "dependentRequired": {"line": ["checked"], "end_line": ["line"]},
    },
    name="citation",
)

# --- architectures, flags, CUDA ------------------------------------------------------------------

_CITED = required("citation", CitationName(), "Name of the citation that shows it.")


class _BuildFact(FactShape):
    """A fact whose value is the name of a build."""

    def read(self, node: Node, at: Place) -> WrittenFact:
        fact = super().read(node, at)
        if fact.written is None or not isinstance(fact.written.value, str):
            at.refuse(node.line, "the name of a build is expected", "write it as the engine tags it, such as b7990")
        return fact


_FLOOR: Field[WrittenFact | None] = optional("floor", _BuildFact(), "First build that runs it, with the source that shows it.", None)
_SEEN: Field[WrittenFact | None] = optional("seen", _BuildFact(), "A build that somebody ran it on, where no floor is known.", None)


@dataclass(frozen=True, slots=True)
class _WrittenSupport:
    floor: WrittenFact | None
    seen: WrittenFact | None
    citation: str


_SUPPORT = Record(
    "Since which build the engine runs an architecture.",
    [_FLOOR, _SEEN, _CITED],
    lambda values, _: _WrittenSupport(values[_FLOOR], values[_SEEN], values[_CITED]),
)

_FLAG_NAME = Text(r"^--?[a-z0-9][a-z0-9-]*$", "flag such as -ngl or --n-gpu-layers")
_NAMES = required("names", ListOf(_FLAG_NAME), "Names of the flag, short first.", ["-ncmoe", "--n-cpu-moe"])
_NEGATED = optional("negated", ListOf(_FLAG_NAME), "Names that switch it off.", ())
_DEFAULT = required("default", Scalar(), "What holds without the flag; none where nothing is done without it.", "none")
_HELP = required("help", Text(longest=400), "The engine's own help text, or the part of it that matters, without the default.")


def _flag(values: Values, at: Place) -> Flag:
    setting = at.path.removeprefix("flags.")
    default = values[_DEFAULT]
    shape = SETTINGS[setting].shape
    word = isinstance(shape, Choice) and "none" in shape.words
    return Flag(
        setting=setting,
        names=values[_NAMES],
        negated=values[_NEGATED],
        default=None if default == "none" and not word else default,
        help=values[_HELP],
        citation=values[_CITED],
        note=values[_NOTE],
    )


class _Flags(TableOf[Flag]):
    """Flags by setting; an unknown setting is a problem before its flag is read."""

    def __init__(self) -> None:
        record = Record("The flag of a setting.", [_NAMES, _NEGATED, _DEFAULT, _HELP, _CITED, _NOTE], _flag, name="flag")
        super().__init__(record, pattern=f"^({'|'.join(SETTINGS)})$", what="settings and their flags")

    def read(self, node: Node, at: Place) -> dict[str, Flag]:
        unknown = [key for key, _ in node.entries if key.text not in SETTINGS] if isinstance(node, MappingNode) else []
        for key in unknown:
            at.key(key.text).fault(key.line, f"'{key.text}' is no setting", hint(key.text, list(SETTINGS)))
        if isinstance(node, MappingNode):
            node = MappingNode(tuple(entry for entry in node.entries if entry[0] not in unknown), node.line)
        return super().read(node, at)


_CAPABILITY = required("compute_capability", CAPABILITY, "Of the card, in quotes.", "12.0")
_TOOLKIT = required("toolkit", Text(VERSION, "version such as '12.8'"), "First CUDA toolkit that compiles for it, in quotes.", "12.8")
_BUILT_AS = required(
    "architecture", Text(r"^[0-9]+[a-z]?(-real|-virtual)?$", "CUDA architecture such as 120a-real"), "What it is built as."
)
_SINCE = optional("since", Text(VERSION, "version such as '12.8'"), "First toolkit with which they are added, in quotes.", "", "12.8")
_BELOW = optional("below", Text(VERSION, "version such as '13'"), "First toolkit with which they are no longer added, in quotes.", "", "13")
_ADDED = required("architectures", ListOf(_BUILT_AS.shape), "What is added.", ["120a-real"])
_FLOORS = optional(
    "floors",
    ListOf(
        Record(
            "First toolkit for a compute capability.",
            [_CAPABILITY, _TOOLKIT, _BUILT_AS, _CITED],
            lambda values, _: CudaFloor(values[_CAPABILITY], values[_TOOLKIT], values[_BUILT_AS], values[_CITED]),
        )
    ),
    "First toolkit by compute capability.",
    (),
)
_FALLBACK_LIST = optional(
    "fallback_list",
    ListOf(
        Record(
            "One step of the list.",
            [_SINCE, _BELOW, _ADDED, _CITED],
            lambda values, _: CudaStep(values[_SINCE], values[_BELOW], values[_ADDED], values[_CITED]),
        )
    ),
    "Architectures of a build that is not made for the card at hand, in the order they are added.",
    (),
)

# --- backends ------------------------------------------------------------------------------------

_INSTRUCTIONS = required("instructions", CitationName(), "Citation of the engine's build instructions.")
_OP_OFFLOAD = required("op_offload", CitationName(), "Citation of the test whether it computes with weights in host memory.")
_OP_OFFLOAD_LIMIT = required("op_offload_limit", CitationName(), "Citation of the smallest batch for that.")
_FLASH_ATTENTION = required("flash_attention", CitationName(), "Citation of the cache types that its flash attention reads.")
_READS = required("cache_types", ListOf(Choice(CACHE_TYPES)), "Cache types that it reads as built by default.", ["f16", "q8_0"])
_ONE_TYPE = optional("one_type", Truth(), "K and V have to be of the same type.", default=False)
_ALL_TYPES = optional("all_types", Text(r"^GGML_[A-Z_]+$", "CMake option"), "CMake option that makes it read more.", "")
_BACKEND = Record(
    "What one backend does.",
    [_INSTRUCTIONS, _OP_OFFLOAD, _OP_OFFLOAD_LIMIT, _FLASH_ATTENTION, _READS, _ONE_TYPE, _ALL_TYPES, _NOTE],
    lambda values, _: Backend(
        values[_INSTRUCTIONS],
        values[_OP_OFFLOAD],
        values[_OP_OFFLOAD_LIMIT],
        values[_FLASH_ATTENTION],
        values[_READS],
        values[_ONE_TYPE],
        values[_ALL_TYPES],
        values[_NOTE],
    ),
    name="backend",
)

# --- the engine ----------------------------------------------------------------------------------

_ENGINE = required("engine", OwnName("engine"), "Name of the engine; the folder is called the same.", "llama.cpp")
_BUILD = required("build", OwnName("build"), "Pinned build; the file is called the same.", "b10666")
_REPOSITORY = required(
    "repository", Text(REPOSITORY, "repository such as ggml-org/llama.cpp"), "Repository on GitHub.", "ggml-org/llama.cpp"
)
_SOURCE_URL = required(
    "source_url",
    Text(r"^https://[^\s<>\"'`{}]*\{path\}(#[A-Za-z-]*\{line\})?$", "address with {path}, and #…{line} after it"),
    "Address of a file of the source at this build, with {path} and {line}.",
    "https://github.com/ggml-org/llama.cpp/blob/b10666/{path}#L{line}",
)
_ARCHITECTURES = optional(
    "architectures", TableOf(_SUPPORT, r"^[a-z0-9][a-z0-9._-]*$"), "Model architectures, by the name a GGUF file states.", {}
)
_CITATIONS = optional("citations", TableOf(_CITATION_RECORD, KEY), "Places in the source, by name.", {})
_FLAGS = optional("flags", _Flags(), "Flags by setting name.", {})
_BACKENDS = optional("backends", TableOf(_BACKEND, f"^({'|'.join(BACKENDS)})$", what="backends"), "Backends by name.", {})
_CUDA = optional(
    "cuda",
    Record("What the build files say of CUDA.", [_FLOORS, _FALLBACK_LIST], lambda values, _: Cuda(values[_FLOORS], values[_FALLBACK_LIST])),
    "What the build files say of CUDA.",
    None,
)


def _build(values: Values, at: Place) -> Engine:
    citations = values[_CITATIONS]
    template, build, repository = values[_SOURCE_URL], values[_BUILD], values[_REPOSITORY]

    def cited(name: str) -> Cited:
        citation = citations[name]
        url, purl = _url(template, citation), f"pkg:github/{repository}@{build}"
        if citation.checked:
            return Cited(Source(url, purl=purl, revision=build), citation.checked)
        assert citation.read_elsewhere  # the citation was checked for one of the two
        return Cited(Source(url, title=citation.read_elsewhere.source), citation.read_elsewhere.checked)

    has = held(values, "engine", cited=cited, facts=CITED_FACTS)
    supports = values[_ARCHITECTURES]
    floors, seen = (
        facts_of(
            {name: fact for name, each in supports.items() if (fact := getattr(each, part))},
            f"engine.{part}",
            values[SOURCE],
            values[CHECKED],
        )
        for part in ("floor", "seen")
    )
    return Engine(
        file=at.report.file,
        lines=at.report.lines,
        facts=has.facts.merged(floors).merged(seen),
        quotes=has.quotes,
        notes=has.notes,
        name=values[_ENGINE],
        build=build,
        repository=repository,
        source_url=template,
        architectures={
            name: Support(_of(floors, f"engine.floor.{name}"), _of(seen, f"engine.seen.{name}"), each.citation)
            for name, each in supports.items()
        },
        citations=citations,
        flags=values[_FLAGS],
        backends=values[_BACKENDS],
        cuda=values[_CUDA],
    )


def _of(facts: Facts, key: str) -> Fact | None:
    return facts[key] if key in facts else None


ENGINE = Record(
    "An inference engine at a pinned build: recipes/engines/<engine>/<build>.yml.",
    [
        *(_ENGINE, _BUILD, _REPOSITORY, _SOURCE_URL, SOURCE, CHECKED, CITED_FACTS),
        *(_ARCHITECTURES, _FLAGS, _BACKENDS, _CUDA, _CITATIONS, QUOTES, NOTES),
    ],
    _build,
)


def load_engine(path: Path, shown: str = "") -> Engine:
    """Read an engine's file. `shown` is the path for messages. Raises SpecErrors with all problems, or MissingFileError."""
    return read_spec(path, ENGINE, shown or str(path), {"engine": path.parent.name, "build": path.stem})
