"""recipes/checks/<model>/<name>.yml: a public claim of speed, what it says part by part, and what its arithmetic rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.facts import Fact, Facts
from generator.specs.common import CHECKED, COMMON, SOURCE, FactShape, Prose, ProseShape, Spec, WrittenFact, facts_of, held
from generator.specs.document import MappingNode, ScalarNode, SequenceNode
from generator.specs.read import read_spec
from generator.specs.recipe import ISSUE
from generator.specs.settings_names import CACHE_TYPES
from generator.specs.shapes import (
    NAME,
    REPOSITORY,
    URL,
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

KINDS = ("opinion", "fact", "memory", "speed", "speed_at_context", "context")
"""What a part of a claim is about: taste; something a fact settles; fitting the card; the speed by itself; the speed at the claim's
context; the length of that context by itself."""

ROLES = ("weights", "draft", "projector")


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that is said. `holds` is the predicate over facts that a part of kind `fact` must meet, `note` is prose about it."""

    name: str
    says: str
    kind: str
    holds: str
    note: Prose | None


@dataclass(frozen=True, slots=True)
class Published:
    """A published file; its size is the fact `files.<name in lower case>.size`. `file` is empty where its name is not known."""

    name: str
    repository: str
    file: str
    role: str

    @property
    def key(self) -> str:
        """The key of its size."""
        return f"files.{self.name.lower()}.size"


@dataclass(frozen=True, slots=True)
class Host:
    """System memory as the check takes it to be: rated transfers in MT/s on each of some channels of 8 bytes."""

    name: str
    transfers: int
    channels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Spec):
    """A claim to be checked. Facts have the keys `check.<name>`.

    Among them are always `claim.speed`, `check.compute` (working buffers taken for granted on the card), `best.speed` and `best.ceiling`
    (the highest share of a ceiling that a run was seen to reach); `claim.context`, `host.realised`, `bus.realised` and `card.data_rate`
    where the file has them. `said_in` tells whose words the parts are and `said_at` where they stand, empty where nobody recorded it.
    `full_precision` names the file whose size counts the parameters, at two bytes each; the fact `check.least_type` is the smallest type
    of any matrix in the file of `quant`. `best` says in words which run is the measure, `seen` which others came near to their ceilings,
    by the name that the facts `seen.<name>.speed`, `.read` and `.bandwidth` have. `caches` are pairs of types: the one the claim is read
    with, then others to compare.
    """

    name: str
    model: str
    card: str
    about: str
    engine: str
    build: str
    said_in: str
    said_at: str
    parts: tuple[Part, ...]
    files: Mapping[str, Published]
    quant: str
    full_precision: str
    best: str
    seen: Mapping[str, str]
    host: Host | None
    caches: tuple[tuple[str, str], ...]
    contexts: tuple[int, ...]
    batches: tuple[int, ...]
    threads: Mapping[str, Prose]

    @property
    def file_of_quant(self) -> Published:
        """The file that the claim is read to be about."""
        return self.files[self.quant]

    def of_role(self, role: str) -> list[Published]:
        """Give the files of a role."""
        return [each for each in self.files.values() if each.role == role]


# --- what is said --------------------------------------------------------------------------------

_SPEED = required("speed", FactShape(), "The speed that is claimed.", "50 tok/s")
_CONTEXT: Field[WrittenFact | None] = optional("context", FactShape(), "The context that is claimed, in tokens.", None, "131072 tokens")
_SAID_IN = required("from", Text(longest=200), "Whose words the parts are, and when they were said, as far as that is known.", "a post")
_SAID_AT = optional("at", Text(URL, "web address"), "Where they stand.", "")
_CLAIM = Record(
    "The claim.",
    [_SPEED, _CONTEXT, _SAID_IN, _SAID_AT],
    lambda values, _: (values[_SPEED], values[_CONTEXT], values[_SAID_IN], values[_SAID_AT]),
)

_SAYS = required("says", Text(longest=300), "The words, exactly.", "50 tok/s")
_KIND = required("kind", Choice(KINDS), "What they are about.", "speed")
_HOLDS = optional("holds", Text(longest=400), "For a part of kind fact: the predicate that is true where the part is.", "")
_NOTE: Field[Prose | None] = optional("note", ProseShape(), "Prose about the verdict, with placeholders.", None)


def _check_part(node: MappingNode, at: Place) -> None:
    kind = node.get("kind")
    settled = isinstance(kind, ScalarNode) and kind.text == "fact"
    if settled and node.get("holds") is None:
        at.key("holds").fault(node.line, "a part of kind 'fact' needs a predicate", 'write one, as in card.released < "2018-01-01"')
    if not settled and node.get("holds") is not None:
        at.key("holds").fault(node.line, "only a part of kind 'fact' has a predicate", "delete it, or write 'kind: fact'")


_PART = Record(
    "One thing that is said.",
    [_SAYS, _KIND, _HOLDS, _NOTE],
    lambda values, _: (values[_SAYS], values[_KIND], values[_HOLDS], values[_NOTE]),
    check=_check_part,
)

# --- what it is held against ---------------------------------------------------------------------

_REPOSITORY = optional("repository", Text(REPOSITORY, "repository such as Qwen/Qwen3-8B"), "Repository of the file.", "")
_FILE = optional("file", Text(r"^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./+-]*\.gguf$", "name of a GGUF file"), "Its name there.", "")
_SIZE = required("size", FactShape(), "Its size.", "19.02 GiB")
_ROLE = optional("role", Choice(ROLES), "What the file is for.", "weights")
_PUBLISHED = Record(
    "A published file.",
    [_REPOSITORY, _FILE, _SIZE, _ROLE],
    lambda values, _: (values[_REPOSITORY], values[_FILE], values[_ROLE], values[_SIZE]),
)

_HOST_NAME = required("name", Text(longest=120), "What it is called on the page.", "DDR5-6000, two channels")
_TRANSFERS = required("transfers", Whole(1), "Rated transfers on each channel, in MT/s.", 6000)
_CHANNELS = required("channels", Whole(1, 64), "Number of channels.", 2)
_REALISED = required("realised", FactShape(), "The bandwidth that is reached of it.", "65 GB/s")
_HOST_RECORD = Record(
    "System memory.",
    [_HOST_NAME, _TRANSFERS, _CHANNELS, _REALISED],
    lambda values, _: (Host(values[_HOST_NAME], values[_TRANSFERS], values[_CHANNELS]), values[_REALISED]),
)
_DATA_RATE: Field[WrittenFact | None] = optional(
    "card_data_rate", FactShape(), "Data rate of the card's memory; with the card's bus width it gives the bandwidth.", None, "15000 MT/s"
)
_HOST: Field[tuple[Host, WrittenFact] | None] = optional("host", _HOST_RECORD, "System memory that the claim is read with.", None)
_BUS: Field[WrittenFact | None] = optional("bus", FactShape(), "What is reached across PCI Express.", None, "25 GB/s")
_BANDWIDTHS = Record(
    "Bandwidths and their basis.",
    [_DATA_RATE, _HOST, _BUS],
    lambda values, _: (values[_DATA_RATE], values[_HOST], values[_BUS]),
)

_BEST_ABOUT = required("about", Text(longest=200), "Which run it was.", "a dense model on two cards alone")
_BEST_SPEED = required("speed", FactShape(), "Measured speed of the run that came nearest to its ceiling.", "41.4 tok/s")
_BEST_CEILING = required("ceiling", FactShape(), "The ceiling of that run.", "59.6 tok/s")
_BEST = Record(
    "The run that came nearest to its ceiling.",
    [_BEST_ABOUT, _BEST_SPEED, _BEST_CEILING],
    lambda values, _: (values[_BEST_ABOUT], values[_BEST_SPEED], values[_BEST_CEILING]),
)

_SEEN_ABOUT = required("about", Text(longest=200), "Which run it was.", "a dense model in eight bits on unified memory")
_SEEN_SPEED = required("speed", FactShape(), "Its measured speed.", "6.57 tok/s")
_SEEN_READ = required("read", FactShape(), "Bytes that it reads for a token, or at the most.", "35765489664 B")
_SEEN_BANDWIDTH = required("bandwidth", FactShape(), "The rated bandwidth of its memory.", "256 GB/s")
_SEEN_RUN = Record(
    "Another run near to its ceiling.",
    [_SEEN_ABOUT, _SEEN_SPEED, _SEEN_READ, _SEEN_BANDWIDTH],
    lambda values, _: (
        values[_SEEN_ABOUT],
        {"speed": values[_SEEN_SPEED], "read": values[_SEEN_READ], "bandwidth": values[_SEEN_BANDWIDTH]},
    ),
)

# --- the check -----------------------------------------------------------------------------------

_CHECK = required("check", OwnName("check"), "Name of the check; the file is called the same.", "rtx-3060")
_MODEL = required("model", OwnName("model"), "Model; the folder is called the same.", "qwen3.6-35b-a3b")
_CARD = required("card", Text(NAME, "name of a card"), "Card of the catalogue.", "rtx-3060-12gb")
_ABOUT = required("about", Text(longest=120), "What is claimed, in a few words without figures, for headings.", "a speed at a long context")
_ENGINE = required("engine", Text(NAME, "name of an engine"), "Engine.", "llama.cpp")
_BUILD = required("build", Text(NAME, "build of an engine"), "Build of the engine that commands and flags are of.", "b10666")
_CLAIM_FIELD = required("claim", _CLAIM, "The speed and context that are claimed, and by whom.")
_PARTS = required("parts", TableOf(_PART, what="what is said"), "What is said, part by part, in the order of the page.")
_FILES = required("files", TableOf(_PUBLISHED, r"^[A-Za-z0-9][A-Za-z0-9._-]*$", what="files"), "Published files by name.")
_QUANT = required("quant", Text(), "The file that the claim is read to be about.", "Q4_K_M")
_LEAST = required("least_type", FactShape(), "The smallest type of any matrix in that file: it bounds how the bytes are split.", "Q4_K")
_FULL = optional("full_precision", Text(), "The file of two bytes a parameter whose size counts the parameters.", "", "BF16")
_BANDWIDTHS_FIELD: Field[tuple[WrittenFact | None, tuple[Host, WrittenFact] | None, WrittenFact | None]] = optional(
    "bandwidths", _BANDWIDTHS, "Bandwidths and their basis.", (None, None, None)
)
_COMPUTE = required("compute", FactShape(), "Working buffers on the card that are taken for granted.", "0.70 GiB")
_BEST_FIELD = required("best", _BEST, "The highest share of a ceiling that a run of the claim's kind was seen to reach.")
_SEEN: Field[dict[str, tuple[str, dict[str, WrittenFact]]]] = optional(
    "seen", TableOf(_SEEN_RUN, what="runs"), "Runs of other kinds that came near to their ceilings, to compare.", {}
)
_TYPES = ListOf(Choice(CACHE_TYPES), length=2, repeats=True)
_CACHES: Field[tuple[tuple[str, ...], ...]] = optional(
    "caches", ListOf(_TYPES), "Pairs of cache types: that of the claim, then others to compare.", (("f16", "f16"),), [["f16", "f16"]]
)
_CONTEXTS = required("contexts", ListOf(Whole(1)), "Contexts at which a ceiling is worked out, rising.", [8192, 131072])
_BATCHES = optional("batches", ListOf(Whole(1)), "Micro-batches for which the reading of a prompt is worked out.", (), [512, 2048])
_THREADS: Field[dict[str, Prose]] = optional(
    "threads", TableOf(ProseShape(), ISSUE, what="threads"), "Threads of the tracker that bear on the claim, each with prose.", {}
)


def _check(node: MappingNode, at: Place) -> None:
    files, contexts = node.get("files"), node.get("contexts")
    names = [key.text for key, _ in files.entries] if isinstance(files, MappingNode) else []
    for name in ("quant", "full_precision"):
        value = node.get(name)
        if isinstance(value, ScalarNode) and value.text not in names:
            at.key(name).fault(value.line, f"'{value.text}' is none of the files", "name one that stands under `files`")
    if isinstance(contexts, SequenceNode):
        values = [item.typed() for item in contexts.items if isinstance(item, ScalarNode)]
        numbers = [value for value in values if isinstance(value, int)]
        if numbers != sorted(numbers):
            at.key("contexts").fault(contexts.line, "the contexts do not rise", "write the shortest first")
    claim = node.get("claim")
    needy = _parts_of(node, {"speed_at_context", "context"})
    if needy and isinstance(claim, MappingNode) and claim.get("context") is None:
        at.key("claim").fault(claim.line, f"the part '{needy[0]}' is about a context, and the claim names none", "give claim.context")


def _parts_of(node: MappingNode, kinds: set[str]) -> list[str]:
    parts = node.get("parts")
    found = []
    for key, part in parts.entries if isinstance(parts, MappingNode) else ():
        kind = part.get("kind") if isinstance(part, MappingNode) else None
        if isinstance(kind, ScalarNode) and kind.text in kinds:
            found.append(key.text)
    return found


def _build(values: Values, at: Place) -> Check:
    has = held(values, "check")
    speed, context, said_in, said_at = values[_CLAIM_FIELD]
    rate, host, bus = values[_BANDWIDTHS_FIELD]
    best, best_speed, best_ceiling = values[_BEST_FIELD]
    written = {
        "claim.speed": speed,
        "claim.context": context,
        "check.compute": values[_COMPUTE],
        "card.data_rate": rate,
        "host.realised": host[1] if host else None,
        "bus.realised": bus,
        "best.speed": best_speed,
        "best.ceiling": best_ceiling,
        "check.least_type": values[_LEAST],
    }
    written |= {f"files.{name.lower()}.size": size for name, (*_, size) in values[_FILES].items()}
    written |= {f"seen.{run}.{name}": fact for run, (_, facts) in values[_SEEN].items() for name, fact in facts.items()}
    made = [_fact(key, fact, values) for key, fact in written.items() if fact is not None]
    return Check(
        file=at.report.file,
        lines=at.report.lines,
        facts=has.facts.merged(made),
        quotes=has.quotes,
        notes=has.notes,
        name=values[_CHECK],
        model=values[_MODEL],
        card=values[_CARD],
        about=values[_ABOUT],
        engine=values[_ENGINE],
        build=values[_BUILD],
        said_in=said_in,
        said_at=said_at,
        parts=tuple(Part(name, *part) for name, part in values[_PARTS].items()),
        files={name: Published(name, *where) for name, (*where, _) in values[_FILES].items()},
        quant=values[_QUANT],
        full_precision=values[_FULL],
        best=best,
        seen={run: about for run, (about, _) in values[_SEEN].items()},
        host=host[0] if host else None,
        caches=tuple((keys, of_values) for keys, of_values in values[_CACHES]),
        contexts=values[_CONTEXTS],
        batches=values[_BATCHES],
        threads=values[_THREADS],
    )


def _fact(key: str, written: WrittenFact, values: Values) -> Fact:
    prefix, _, name = key.rpartition(".")
    made: Facts = facts_of({name: written}, prefix, values[SOURCE], values[CHECKED])
    return made[key]


CHECK = Record(
    "A claim to be checked: recipes/checks/<model>/<name>.yml.",
    [
        *(_CHECK, _MODEL, _CARD, _ABOUT, _ENGINE, _BUILD, _CLAIM_FIELD, _PARTS, _FILES, _QUANT, _LEAST, _FULL, _BANDWIDTHS_FIELD),
        *(_COMPUTE, _BEST_FIELD, _SEEN, _CACHES, _CONTEXTS, _BATCHES, _THREADS, *COMMON),
    ],
    _build,
    check=_check,
)


def load_check(path: Path, shown: str = "") -> Check:
    """Read a check's file. `shown` is the path for messages. Raises SpecErrors with all problems, or MissingFileError."""
    return read_spec(path, CHECK, shown or str(path), {"model": path.parent.name, "check": path.stem})
