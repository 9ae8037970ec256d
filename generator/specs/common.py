"""What every spec may hold: facts, quotes and prose; and how they are read.

A fact is a bare value or a table:

    memory: {value: 12 GiB, source: https://..., checked: 2026-08-31, note: "...", quote: "..."}
    memory_bandwidth: {status: not_published, source: https://..., checked: 2026-08-31}
    usable: {value: 11 GiB, origin: declared, note: "why"}

`source` and `checked` at the top of a file are those of each of its facts and quotes that names none; that is what makes
a bare value possible. In an issue's file the source is the issue itself unless a fact says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from generator.errors import UnknownNameError
from generator.facts import Ask, Fact, Facts, Source
from generator.specs.asks import ASK
from generator.specs.document import MappingNode, Node, RefusedError, ScalarNode
from generator.specs.shapes import (
    KEY,
    URL,
    Choice,
    Day,
    Field,
    Place,
    Record,
    Schema,
    Shape,
    TableOf,
    Text,
    Values,
    hint,
    optional,
    required,
)
from generator.specs.values import FactValue, Written


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown with placeholders, as written; `line` is the line of `file` in which `text` starts."""

    text: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Quote:
    """Somebody's own words. `said_in` tells where in the source they stand ("report, 2026-08-18"), `checked` when they were read."""

    key: str
    text: str
    said_in: str
    source: Source
    checked: date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What all specs have.

    `file` is the path for messages and `lines` the line of each key path in it. `facts` have the keys
    `<prefix>.<name of the fact>`, with the prefix that each kind of spec states. `quotes` are by name; the quote of a fact
    is under the fact's name. `notes` are prose by slot.
    """

    file: str
    lines: Mapping[str, int] = field(repr=False, compare=False)
    facts: Facts
    quotes: Mapping[str, Quote]
    notes: Mapping[str, Prose]

    def where(self, path: str = "") -> str:
        """Give file, line and key path for a message: `recipes/…/rtx-5070.yml:12: settings.type_v`."""
        line = self.lines.get(path)
        return f"{self.file}:{line}: {path}" if line else self.file

    def quote(self, key: str) -> Quote:
        """Give a quote by name. Raises UnknownNameError."""
        if key not in self.quotes:
            raise UnknownNameError("quote", key, self.quotes, remedy=f"declare it under `quotes` in {self.file}")
        return self.quotes[key]


@dataclass(frozen=True, slots=True)
class Cited:
    """What a citation lends to the facts that name it: the source, and the day it was read."""

    source: Source
    checked: date


# --- facts ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WrittenFact:
    """A fact as written, before its key and the file's defaults are known."""

    written: Written | None
    origin: str = "transcribed"
    source: str = ""
    published_in: str = ""
    citation: str = ""
    checked: date | None = None
    status: str = "ok"
    note: str = ""
    quote: str = ""
    ask: Ask | None = None


class CitationName(Text):
    """The name of a citation of the same file."""

    def __init__(self) -> None:
        super().__init__(KEY, "name of a citation")

    def read(self, node: Node, at: Place) -> str:
        name = super().read(node, at)
        if name not in at.report.citations:
            at.refuse(node.line, f"there is no citation '{name}' in this file", hint(name, sorted(at.report.citations)))
        return name


_VALUE = optional("value", FactValue(), "The value: a number and its unit, text, true or false, or a list of such.", None, "12 GiB")
_STATUS = optional("status", Choice(("ok", "not_published")), "not_published where the source is silent; then there is no value.", "ok")
_ORIGIN = optional(
    "origin",
    Choice(("transcribed", "declared")),
    "How the value was obtained: copied from the source, or decided by the author (then `note` says why).",
    "transcribed",
)
_SOURCE = optional("source", Text(URL, "web address"), "Where it was read.", "", "https://www.nvidia.com/")
_PUBLISHED_IN = optional("published_in", Text(), "The source in words, where no address was recorded.", "", "a published guide")
_CHECKED = optional("checked", Day(), "The last day the source was read and compared.", None, "2026-08-31")
_NOTE = optional("note", Text(longest=2000), "What a reader of the value must know.", "")
_QUOTE = optional("quote", Text(), "The source's own words.", "")
_ASK: Field[Ask | None] = optional("ask", ASK, "How a program can ask the source again.", None)
_CITATION = optional("citation", CitationName(), "Name of the citation the value was read from; stands for source and checked.", "")


def _check_fact(node: MappingNode, at: Place) -> None:
    """Note what does not go together: a value and its status, an origin and its proof."""
    keys = {key.text for key, _ in node.entries}
    silent = _word(node, "status") == "not_published"
    declared = _word(node, "origin") == "declared"
    if silent and "value" in keys:
        at.fault(node.line, "the fact has a value and is not_published", "delete one of the two")
    if not silent and "value" not in keys:
        at.fault(node.line, "the fact has neither a value nor 'status: not_published'", "add one of the two")
    if silent and declared:
        at.fault(node.line, "what the author decides cannot be not_published", "give a value, or delete 'origin: declared'")
    elif declared:
        if "note" not in keys:
            at.fault(node.line, "a declared value needs a note", "say in `note` why this value was chosen")
        for key in sorted(keys & {"source", "published_in", "citation"}):
            at.fault(node.line, f"a declared value has no {key}", f"delete `{key}`, or write 'origin: transcribed'")
    elif "citation" not in keys:
        _proof(node, at, keys)
    if len(keys & {"source", "published_in", "citation"}) > 1:
        at.fault(node.line, "the fact has more than one source", "keep one of `source`, `published_in` and `citation`")


def _proof(node: Node, at: Place, keys: set[str]) -> None:
    if not keys & {"source", "published_in"} and not at.report.source:
        at.fault(node.line, "nothing says where the value was read", "add `source`, here or at the top of the file")
    if "checked" not in keys and "checked" not in at.report.top:
        at.fault(node.line, "nothing says when the value was last checked", "add `checked`, here or at the top of the file")


def _word(node: MappingNode, key: str) -> str:
    value = node.get(key)
    return value.text if isinstance(value, ScalarNode) else ""


def _written_fact(values: Values, _: Place) -> WrittenFact:
    return WrittenFact(
        written=values[_VALUE],
        origin=values[_ORIGIN],
        source=values[_SOURCE],
        published_in=values[_PUBLISHED_IN],
        citation=values[_CITATION],
        checked=values[_CHECKED],
        status=values[_STATUS],
        note=values[_NOTE],
        quote=values[_QUOTE],
        ask=values[_ASK],
    )


_FACT_RULES: Schema = {
    "if": {"properties": {"status": {"const": "not_published"}}, "required": ["status"]},
    "then": {"not": {"required": ["value"]}},
    "else": {"required": ["value"]},
    "dependentSchemas": {
        "origin": {
            "if": {"properties": {"origin": {"const": "declared"}}},
            "then": {"required": ["note"], "properties": {"source": False, "published_in": False, "citation": False}},
        }
    },
}


class FactShape(Shape[WrittenFact]):
    """A fact: a bare value or a table. `cited` allows it to name a citation of the file."""

    def __init__(self, *, cited: bool = False) -> None:
        fields: list[Field[object]] = [_VALUE, _STATUS, _ORIGIN, _SOURCE, _PUBLISHED_IN, _CHECKED, _NOTE, _QUOTE, _ASK]
        self.name = "cited_fact" if cited else "fact"
        self.table = Record(
            "A value with its source, and the day it was last checked.",
            [*fields, _CITATION] if cited else fields,
            _written_fact,
            check=_check_fact,
            also=_FACT_RULES,
        )

    def read(self, node: Node, at: Place) -> WrittenFact:
        if isinstance(node, MappingNode):
            return self.table.read(node, at)
        fact = WrittenFact(FactValue().read(node, at))
        before = len(at.report.problems)
        _proof(node, at, set())
        if len(at.report.problems) > before:
            raise RefusedError
        return fact

    def definition(self) -> Schema:
        return {"anyOf": [FactValue().schema(), self.table.schema()]}


def declared(key: str, written: Written, note: str) -> Fact:
    """Give a value of a recipe as a fact that its author decided."""
    return Fact(key, written.value, written.unit, origin="declared", note=note)


# --- prose and quotes ----------------------------------------------------------------------------


class ProseShape(Shape[Prose]):
    """Markdown with placeholders."""

    def read(self, node: Node, at: Place) -> Prose:
        Text(words="prose", longest=50_000).read(node, at)
        assert isinstance(node, ScalarNode)
        return Prose(node.text.rstrip("\n"), at.report.file, node.text_line)

    def definition(self) -> Schema:
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True, slots=True)
class _WrittenQuote:
    text: str
    said_in: str
    source: str
    checked: date | None


_QUOTED = required("text", Text(longest=2000), "The words, exactly.")
_FROM = optional("from", Text(), "Where in the source they stand.", "", "report, 2026-08-18")


def _check_quote(node: MappingNode, at: Place) -> None:
    if node.get("source") is None and not at.report.source:
        at.fault(node.line, "nothing says where the words stand", "add `source`, here or at the top of the file")


def _written_quote(values: Values, _: Place) -> _WrittenQuote:
    return _WrittenQuote(values[_QUOTED], values[_FROM], values[_SOURCE], values[_CHECKED])


QUOTE = Record("Somebody's own words.", [_QUOTED, _FROM, _SOURCE, _CHECKED], _written_quote, check=_check_quote, name="quote")


class _Quotes(TableOf[_WrittenQuote]):
    """Quotations by name; a name is not that of a fact that has a quote, which is listed with them."""

    def read(self, node: Node, at: Place) -> dict[str, _WrittenQuote]:
        for key, _ in node.entries if isinstance(node, MappingNode) else ():
            if key.text in at.report.quoted:
                at.key(key.text).fault(key.line, "the fact of this name has a quote", "rename one of the two")
        return super().read(node, at)


FACTS = optional("facts", TableOf(FactShape()), "Facts by name.", {})
CITED_FACTS = optional("facts", TableOf(FactShape(cited=True)), "Facts by name.", {})
QUOTES = optional("quotes", _Quotes(QUOTE), "Quotations by name.", {})
NOTES = optional("notes", TableOf(ProseShape()), "Prose by slot, in Markdown with placeholders.", {})
SOURCE = optional("source", Text(URL, "web address"), "Where facts and quotes that name no source were read.", "")
CHECKED = optional("checked", Day(), "The day facts that name none were last checked.", None)
COMMON: tuple[Field[object], ...] = (SOURCE, CHECKED, FACTS, QUOTES, NOTES)
"""The keys every spec may have."""


@dataclass(frozen=True, slots=True)
class Held:
    """Facts, quotes and notes of a spec, with the keys and sources they have in it."""

    facts: Facts
    quotes: Mapping[str, Quote]
    notes: Mapping[str, Prose]


def held(
    values: Values,
    prefix: str,
    *,
    source: str = "",
    cited: Callable[[str], Cited] | None = None,
    facts: Field[dict[str, WrittenFact]] = FACTS,
) -> Held:
    """Give what `values` hold, the facts under `prefix`, the quotes of facts among the quotes."""
    written = values[facts]
    default = values[SOURCE] or source
    quotes = {
        key: Quote(key, quote.text, quote.said_in, Source(quote.source or default), quote.checked or values[CHECKED])
        for key, quote in values[QUOTES].items()
    }
    made = facts_of(written, prefix, default, values[CHECKED], cited)
    for name, fact in written.items():
        if fact.quote:
            told = made[f"{prefix}.{name}"]
            quotes[name] = Quote(name, fact.quote, "", told.source, told.checked)
    return Held(made, quotes, values[NOTES])


def facts_of(
    written: Mapping[str, WrittenFact], prefix: str, source: str, checked: date | None, cited: Callable[[str], Cited] | None = None
) -> Facts:
    """Give written facts with their keys, and the file's source and day where they name none of their own."""
    facts = []
    for name, fact in written.items():
        value, unit = (fact.written.value, fact.written.unit) if fact.written else (None, "")
        made = Fact(
            f"{prefix}.{name}", value, unit, origin=fact.origin, status=fact.status, note=fact.note, checked=fact.checked, ask=fact.ask
        )
        if fact.citation and cited:
            lent = cited(fact.citation)
            made = replace(made, source=lent.source, checked=fact.checked or lent.checked)
        elif fact.origin != "declared":
            told = Source("", title=fact.published_in) if fact.published_in else Source(fact.source or source)
            made = replace(made, source=told, checked=fact.checked or checked)
        facts.append(made)
    return Facts(facts)
