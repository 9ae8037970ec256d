"""recipes/issues/<tracker>/<number>.md: a thread of a tracker, what it establishes and what follows for a reader.

YAML between two lines of `---`, then prose in sections, each under `## <name>`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
TECHNIQUES = (
    "expert_offload",
    "flash_attention_on",
    "flash_attention_off",
    "draft_head",
    "vision",
    "long_context",
    "auto_fit",
    "prompt_cache",
)
SECTIONS = ("headline", "report", "established", "not established", "advice", "if closed", "would change our mind")


@dataclass(frozen=True, slots=True)
class Applies:
    """What a thread is about. An empty tuple means any. `confirmed_builds` limits nothing: builds it was reproduced on."""

    architectures: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    compute_capabilities: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    confirmed_builds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue(Spec):
    """A thread. Facts have the keys `issue.<tracker>.<number>.<name>`; `title` and `state` are always among them.

    `symptom` is what a reader sees when it happens, in a few plain words; the thread's title where the file gives none.
    `sections` are prose by name; `headline` is always among them.
    """

    tracker: str
    number: int
    kind: str
    severity: str
    topic: str
    symptom: str
    applies: Applies
    sections: Mapping[str, Prose]

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

    @property
    def headline(self) -> Prose:
        """The thread in one sentence."""
        return self.sections["headline"]


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
_TECHNIQUES = optional("techniques", ListOf(Choice(TECHNIQUES)), "What a run must do to meet it.", (), ["expert_offload"])
_CONFIRMED = optional("confirmed", ListOf(Text(NAME, "build")), "Builds it was reproduced on.", (), ["b10488"])
_BUILDS: Field[tuple[str, ...]] = optional("builds", Record("Builds.", [_CONFIRMED], lambda values, _: values[_CONFIRMED]), "Builds.", ())


def _applies(values: Values, _: Place) -> Applies:
    return Applies(
        architectures=values[_ARCHITECTURES],
        backends=values[_BACKENDS],
        cards=values[_CARDS],
        compute_capabilities=values[_CAPABILITIES],
        techniques=values[_TECHNIQUES],
        confirmed_builds=values[_BUILDS],
    )


_APPLIES_RECORD = Record(
    "What the thread is about; a key left out means any.",
    [_ARCHITECTURES, _BACKENDS, _CARDS, _CAPABILITIES, _TECHNIQUES, _BUILDS],
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
    [_TRACKER, _NUMBER, _KIND, _SEVERITY, _TOPIC, _SYMPTOM, _APPLIES, SOURCE, CHECKED, _FACTS, QUOTES, NOTES],
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


def _issue(values: Values, at: Place, sections: dict[str, Prose]) -> Issue:
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


def _sections(body: str, line: int, report: Report) -> dict[str, Prose]:
    """Give the prose under each `## name`, without blank lines around it. Notes problems in the report."""
    sections: dict[str, Prose] = {}
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
    if "headline" not in sections:
        report.fault(line, "headline", "the section 'headline' is missing", "every thread is told in one sentence under '## headline'")
    return sections


def _close(sections: dict[str, Prose], name: str, start: int, rows: list[str], report: Report) -> None:
    filled = [index for index, row in enumerate(rows) if row.strip()]
    if not name:
        if filled:
            report.fault(start + filled[0], "", "text stands before the first section", f"put it under a heading: {', '.join(SECTIONS)}")
    elif name not in SECTIONS:
        report.fault(start, name, f"there is no section '{name}'", hint(name, SECTIONS))
    elif name in sections:
        report.fault(start, name, "the section stands twice", "put the two together")
    elif not filled:
        report.fault(start, name, "the section is empty", "write it, or delete its heading")
    else:
        first, last = filled[0], filled[-1]
        sections[name] = Prose("\n".join(rows[first : last + 1]), report.file, start + 1 + first)
