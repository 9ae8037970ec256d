"""recipes/issues/<tracker>/<number>.md: a thread of a tracker, what it establishes and what follows for a reader.

YAML between two lines of `---`, then prose in sections, each under `## <name>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.errors import SpecErrors
from generator.specs.card import BACKENDS, CAPABILITY
from generator.specs.common import CHECKED, NOTES, QUOTES, SOURCE, FactShape, Prose, Spec, WrittenFact, held
from generator.specs.document import MappingNode, Node, RefusedError, Report, ScalarNode, parse, read_text
from generator.specs.read import in_order
from generator.specs.shapes import (
    NAME,
    REPOSITORY,
    Choice,
    Field,
    ListOf,
    Place,
    Record,
    Schema,
    TableOf,
    Text,
    Values,
    Whole,
    hint,
    optional,
    required,
)

KINDS = {"issue": "issues", "pull_request": "pull", "discussion": "discussions"}
"""Kind of thread -> its word in an address."""

SEVERITIES = ("red", "amber", "note")
TOPICS = ("crash", "wrong_output", "memory", "speed", "build", "draft_head", "history")
STATES = ("open", "closed", "merged")
OUTCOMES = (*STATES, "gone")
"""What has become of a thread, as variants of a section name it: its state, or that the tracker has it no more."""

WORDS = (
    *("moe", "dense", "hybrid", "sliding_window", "latent_attention", "draft_head", "vision"),
    *("whole", "expert_offload", "layer_offload", "does_not_fit", "two_cards", "unified_memory"),
    *("flash_attention_on", "flash_attention_off", "quantised_cache", "mixed_cache", "long_context", "fallback"),
    *("auto_fit", "prompt_cache", "mmap"),
)
"""What a guide's reader has or does, as the scope of a thread and the variants of a section name it.

Of the model: a mixture of experts or dense; blocks with a recurrent state, a window or latent attention; a draft head in the file; a
projector in the repository. Of the run: where weights are, how many cards, and whether their memory is the system's; flash attention;
cache types; a context above 65,536 tokens; a fallback that the page offers; an offload that the engine would choose by itself; a prompt
cache; a file that is mapped.
"""

CONDITIONS = (*WORDS, *BACKENDS, *OUTCOMES)
"""What a variant of a section may ask for, as it stands or after `not`."""

SECTIONS = ("headline", "report", "established", "not established", "not covered", "advice", "if closed", "would change our mind")


@dataclass(frozen=True, slots=True)
class Applies:
    """What a thread is about. An empty tuple, or an empty build, means any.

    Of architectures, backends, cards, compute capabilities and flags one has to match; of `techniques` all, each a word of WORDS or
    `not` and one. Builds run from `from_build` to the one before `before_build`; `confirmed_builds`, on which it was reproduced, limit
    nothing.
    """

    architectures: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    compute_capabilities: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    from_build: str = ""
    before_build: str = ""
    confirmed_builds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """A section's prose, and the conditions that must all hold for it to be the one that is told; none for any reader."""

    when: tuple[str, ...]
    prose: Prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue(Spec):
    """A thread. Facts have the keys `issue.<tracker>.<number>.<name>`; `title` and `state` are always among them.

    `symptom` is what a reader sees when it happens, in a few plain words; the thread's title where the file gives none.
    `sections` are variants of prose by name, in the order of the file; `headline` is always among them. `told_in` are numbers of the
    threads that tell of this one: a page that has one of them has no section for this.
    """

    tracker: str
    number: int
    kind: str
    severity: str
    topic: str
    symptom: str
    applies: Applies
    told_in: tuple[int, ...]
    sections: Mapping[str, tuple[Variant, ...]]

    @property
    def ref(self) -> str:
        """The thread as recipes name it: llama.cpp#26609."""
        return f"{tracker_name(self.tracker)}#{self.number}"

    @property
    def prefix(self) -> str:
        """What the keys of its facts start with: issue.llama.cpp.26609."""
        return f"issue.{tracker_name(self.tracker)}.{self.number}"

    @property
    def url(self) -> str:
        """Address of the thread."""
        return thread_url(self.tracker, self.kind, self.number)

    def section(self, name: str, meets: Callable[[str], bool]) -> Prose | None:
        """Give a section as a reader is told it, by the conditions that hold: the first variant whose conditions do; None for none."""
        return next((variant.prose for variant in self.sections.get(name, ()) if all(map(meets, variant.when))), None)


def tracker_name(tracker: str) -> str:
    """Give the name of a tracker's folder: the name part of its repository."""
    return tracker.rpartition("/")[2]


def thread_url(tracker: str, kind: str, number: int) -> str:
    """Give the address of a thread."""
    return f"https://github.com/{tracker}/{KINDS[kind]}/{number}"


# --- front matter --------------------------------------------------------------------------------

_NAMES = Text(r"^[a-z0-9][a-z0-9._-]*$", "name in lower case")
_ARCHITECTURES = optional("architectures", ListOf(_NAMES), "Model architectures.", (), ["qwen35moe"])
_BACKENDS = optional("backends", ListOf(Choice(BACKENDS)), "Backends.", (), ["cuda"])
_CARDS = optional("cards", ListOf(Text(NAME, "name of a card")), "Cards.", (), ["rtx-5070"])
_CAPABILITIES = optional(
    "compute_capabilities",
    ListOf(CAPABILITY),
    "Compute capabilities, in quotes.",
    (),
    ["12.0"],
)
_TECHNIQUES = optional(
    "techniques",
    ListOf(Choice((*WORDS, *(f"not {word}" for word in WORDS)))),
    "What a reader must have or do to meet it, all of it.",
    (),
    ["expert_offload"],
)
_FLAGS = optional(
    "flags", ListOf(Text(r"^--?[a-zA-Z][a-z0-9-]*$", "flag")), "Flags of which the page's command has one.", (), ["--tensor-split"]
)
_BUILD_NAME = Text(r"^(b[0-9]+|v[0-9]+\.[0-9]+\.[0-9]+)$", "build such as b10666 or v0.5.0")
_FROM = optional("from", _BUILD_NAME, "First build it is about.", "", "b10741")
_BEFORE = optional("before", _BUILD_NAME, "First build it is about no more.", "", "b10749")
_CONFIRMED = optional("confirmed", ListOf(Text(NAME, "build")), "Builds it was reproduced on.", (), ["b10488"])


@dataclass(frozen=True, slots=True)
class _Range:
    first: str = ""
    end: str = ""
    confirmed: tuple[str, ...] = ()


_BUILDS: Field[_Range] = optional(
    "builds",
    Record("Builds.", [_FROM, _BEFORE, _CONFIRMED], lambda values, _: _Range(values[_FROM], values[_BEFORE], values[_CONFIRMED])),
    "Builds it is about, and on which it was seen.",
    _Range(),
)


def _applies(values: Values, _: Place) -> Applies:
    return Applies(
        architectures=values[_ARCHITECTURES],
        backends=values[_BACKENDS],
        cards=values[_CARDS],
        compute_capabilities=values[_CAPABILITIES],
        techniques=values[_TECHNIQUES],
        flags=values[_FLAGS],
        from_build=values[_BUILDS].first,
        before_build=values[_BUILDS].end,
        confirmed_builds=values[_BUILDS].confirmed,
    )


_APPLIES_RECORD = Record(
    "What the thread is about; a key left out means any.",
    [_ARCHITECTURES, _BACKENDS, _CARDS, _CAPABILITIES, _TECHNIQUES, _FLAGS, _BUILDS],
    _applies,
)


class _Facts(TableOf[WrittenFact]):
    """Facts of a thread: `title` and `state` are required, and a state is one of three."""

    def __init__(self) -> None:
        super().__init__(FactShape(), required=("title", "state"), about="every thread states its title and its state")

    def read(self, node: Node, at: Place) -> dict[str, WrittenFact]:
        state = node.get("state") if isinstance(node, MappingNode) else None
        value = state.get("value") if isinstance(state, MappingNode) else state
        if isinstance(value, ScalarNode) and value.text not in STATES:
            at.key("state").fault(value.line, f"'{value.text}' is no state", hint(value.text, STATES))
        return super().read(node, at)

    def definition(self) -> Schema:
        word: Schema = {"enum": list(STATES)}
        state: Schema = {"anyOf": [word, {"type": "object", "properties": {"value": word}}]}
        rows = super().definition()
        return {**rows, "properties": {"state": {"allOf": [self.each.schema(), state]}}}


_TRACKER = required(
    "tracker", Text(REPOSITORY, "repository such as ggml-org/llama.cpp"), "Repository of the tracker.", "ggml-org/llama.cpp"
)
_NUMBER = required("number", Whole(1), "Number of the thread; the file is called the same.", 26609)
_KIND = required("kind", Choice(tuple(KINDS)), "Kind of thread.", "issue")
_SEVERITY = required(
    "severity", Choice(SEVERITIES), "What it costs a reader: red stops or breaks a run, amber hurts it, note explains.", "red"
)
_TOPIC = required("topic", Choice(TOPICS), "What it is about, for ordering.", "crash")
_SYMPTOM = optional("symptom", Text(longest=120), "What a reader sees when it happens, for a heading; the title by default.", "")
_APPLIES = optional("applies", _APPLIES_RECORD, "What the thread is about; a key left out means any.", Applies())
_TOLD_IN = optional(
    "told_in", ListOf(Whole(1)), "Numbers of threads that tell of this one; beside one of them it has no section of its own.", (), [26609]
)
_FACTS = required("facts", _Facts(), "What was read in the thread. `title` and `state` are required; `source` is the thread itself.")


def _check(node: MappingNode, at: Place) -> None:
    for key, part, given in (("tracker", "tracker", tracker_name), ("number", "number", str)):
        value = node.get(key)
        expected = at.report.expected.get(part)
        if isinstance(value, ScalarNode) and expected is not None and given(value.text) != expected:
            at.key(key).fault(value.line, f"'{value.text}' stands in a file whose place says '{expected}'", "rename one of the two")


@dataclass(frozen=True, slots=True)
class _FrontMatter:
    values: Values
    at: Place


FRONT_MATTER: Record[_FrontMatter] = Record(
    "Front matter of recipes/issues/<tracker>/<number>.md.",
    [_TRACKER, _NUMBER, _KIND, _SEVERITY, _TOPIC, _SYMPTOM, _APPLIES, _TOLD_IN, SOURCE, CHECKED, _FACTS, QUOTES, NOTES],
    _FrontMatter,
    check=_check,
)

# --- the file ------------------------------------------------------------------------------------


def load_issue(path: Path, shown: str = "") -> Issue:
    """Read a thread's file. `shown` is the path for messages. Raises SpecErrors with all problems, or MissingFileError."""
    report = Report(shown or str(path), {"tracker": path.parent.name, "number": path.stem}, source=True)
    try:
        head, body, line = _split(read_text(path, report), report)
        sections = _sections(body, line, report)
        node = parse(head, report, before=1)
        report.look(node)
        front = FRONT_MATTER.read(node, Place(report))
        issue = _issue(front.values, front.at, sections)
    except RefusedError:
        raise SpecErrors(in_order(report.problems)) from None
    if report.problems:
        raise SpecErrors(in_order(report.problems))
    return issue


def _issue(values: Values, at: Place, sections: dict[str, tuple[Variant, ...]]) -> Issue:
    tracker, number, kind = values[_TRACKER], values[_NUMBER], values[_KIND]
    prefix = f"issue.{tracker_name(tracker)}.{number}"
    has = held(values, prefix, source=thread_url(tracker, kind, number), facts=_FACTS)
    return Issue(
        file=at.report.file,
        lines=at.report.lines,
        facts=has.facts,
        quotes=has.quotes,
        notes=has.notes,
        tracker=tracker,
        number=number,
        kind=kind,
        severity=values[_SEVERITY],
        topic=values[_TOPIC],
        symptom=values[_SYMPTOM] or str(has.facts[f"{prefix}.title"].value),
        applies=values[_APPLIES],
        told_in=values[_TOLD_IN],
        sections=sections,
    )


def _split(text: str, report: Report) -> tuple[str, str, int]:
    """Give front matter, body, and the line the body starts in."""
    rows = text.split("\n")
    if rows[0].rstrip() != "---":
        report.refuse(1, "", "the file does not start with front matter", "put YAML between two lines of --- at the top")
    end = next((index for index, row in enumerate(rows[1:], 1) if row.rstrip() == "---"), None)
    if end is None:
        report.refuse(1, "", "the front matter does not end", "close it with a line of ---")
    return "\n".join(rows[1:end]), "\n".join(rows[end + 1 :]), end + 2


def _sections(body: str, line: int, report: Report) -> dict[str, tuple[Variant, ...]]:
    """Give the variants under each `## name` or `## name when a, not b`, without blank lines around. Notes problems in the report."""
    sections: dict[str, tuple[Variant, ...]] = {}
    name, start, rows = "", line, list[str]()
    fenced = False
    for number, row in enumerate([*body.split("\n"), "## "], line):
        fenced = fenced != row.lstrip().startswith(("```", "~~~"))
        heading = re.fullmatch(r"##\s+(.*?)\s*|## ", row) if not fenced else None
        if heading is None:
            rows.append(row)
            continue
        _close(sections, name, start, rows, report)
        name, start, rows = (heading[1] or "").lower(), number, []
    if not any(not variant.when for variant in sections.get("headline", ())):
        report.fault(line, "headline", "the section 'headline' is missing", "every thread is told in one sentence under '## headline'")
    return sections


def _close(sections: dict[str, tuple[Variant, ...]], heading: str, start: int, rows: list[str], report: Report) -> None:
    filled = [index for index, row in enumerate(rows) if row.strip()]
    name, _, conditions = heading.partition(" when ")
    when = tuple(" ".join(condition.split()) for condition in conditions.split(",")) if conditions else ()
    told = sections.get(name, ())
    if not name:
        if filled:
            report.fault(start + filled[0], "", "text stands before the first section", f"put it under a heading: {', '.join(SECTIONS)}")
    elif name not in SECTIONS:
        report.fault(start, name, f"there is no section '{name}'", hint(name, SECTIONS))
    elif any(variant.when == when for variant in told):
        report.fault(start, name, "the section stands twice", "put the two together")
    elif any(not variant.when for variant in told):
        report.fault(start, name, "the variant stands after the one for every reader, so nobody is told it", "put it before")
    elif unknown := [word for word in when if word.removeprefix("not ") not in CONDITIONS]:
        report.fault(start, name, f"'{unknown[0]}' is no condition", hint(unknown[0].removeprefix("not "), CONDITIONS))
    elif not filled:
        report.fault(start, name, "the section is empty", "write it, or delete its heading")
    else:
        first, last = filled[0], filled[-1]
        prose = Prose("\n".join(rows[first : last + 1]), report.file, start + 1 + first)
        sections[name] = (*told, Variant(when, prose))
