"""YAML text as a tree of nodes that know their lines, with limits kept before anything is built.

What we read is other people's text. So nothing is constructed: a node is text, a list or a table. Aliases, tags and
several documents in one file are refused, depth and size are limited, and scalars follow YAML 1.2, where `on` and `no`
are words and only `true` and `false` are truth values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import yaml

from generator.errors import MissingFileError, Problem

MAX_BYTES = 2**20
"""Largest authored file that is read."""

MAX_DEPTH = 16
"""How deep lists and tables may be nested."""

_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_INTEGER = re.compile(r"[-+]?[0-9]{1,30}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,30}|[0-9]{1,30}(\.[0-9]{0,30})?)([eE][-+]?[0-9]{1,3})?")
_NULL = {"", "~", "null", "Null", "NULL"}
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class RefusedError(Exception):
    """What was read cannot be used; the problems are in the report. Never leaves this package."""


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """Text. `plain` tells that it stands without quotes; `text_line` is the line its text starts in."""

    text: str
    plain: bool
    line: int
    text_line: int

    def typed(self) -> float | str | bool | None:
        """Give the value by the core schema of YAML 1.2. What stands in quotes is text."""
        text = self.text
        if not self.plain:
            return text
        if text in _NULL:
            return None
        if text in _TRUTH:
            return _TRUTH[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        return float(text) if _FLOAT.fullmatch(text) else text


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    items: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class MappingNode:
    """A table, its keys in order; a key that stands twice is in it twice."""

    entries: tuple[tuple[ScalarNode, Node], ...]
    line: int

    def get(self, *path: str) -> Node | None:
        """Give the node under a path of keys, None where there is none."""
        name, *rest = path
        found = next((value for key, value in self.entries if key.text == name), None)
        if not rest:
            return found
        return found.get(*rest) if isinstance(found, MappingNode) else None


Node = ScalarNode | SequenceNode | MappingNode


@dataclass(slots=True)
class Report:
    """What is known of a file while it is read: its problems so far, and what its parts need to know of each other.

    `expected` holds what the file's place says the file is about (`card` -> `rtx-5070`). `top` are the keys at the top of
    the file, `citations` the names under `citations`, `quoted` the facts that have a quote; they are looked up before the
    parts are read, so that a problem in one part hides none in another. `source` tells whether facts that name no source
    have one all the same.
    """

    file: str
    expected: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    top: frozenset[str] = frozenset()
    citations: frozenset[str] = frozenset()
    quoted: frozenset[str] = frozenset()
    source: bool = False

    def look(self, node: Node) -> None:
        """Note the keys at the top, the names of the citations and the facts that have a quote."""
        if isinstance(node, MappingNode):
            self.top = frozenset(key.text for key, value in node.entries)
            self.source = self.source or "source" in self.top
            citations = node.get("citations")
            if isinstance(citations, MappingNode):
                self.citations = frozenset(key.text for key, _ in citations.entries)
            facts = node.get("facts")
            if isinstance(facts, MappingNode):
                rows = ((key.text, fact) for key, fact in facts.entries)
                self.quoted = frozenset(name for name, fact in rows if isinstance(fact, MappingNode) and fact.get("quote"))

    def fault(self, line: int, path: str, message: str, remedy: str = "") -> None:
        """Note a problem and go on."""
        self.problems.append(Problem(self.file, line, path, message, remedy))

    def refuse(self, line: int, path: str, message: str, remedy: str = "") -> NoReturn:
        """Note a problem and give up on this part."""
        self.fault(line, path, message, remedy)
        raise RefusedError


def read_text(path: Path, report: Report) -> str:
    """Give the text of an authored file. Raises MissingFileError; refuses what is too large or no UTF-8."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise MissingFileError(report.file, reason=f"cannot be read: {error.strerror}") from error
    if len(raw) > MAX_BYTES:
        report.refuse(0, "", f"the file is larger than {MAX_BYTES} bytes", "split it, or move what is generated into the lock")
    try:
        return raw.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        report.refuse(raw.count(b"\n", 0, error.start) + 1, "", "this is no UTF-8", "save the file as UTF-8")


def parse(text: str, report: Report, *, before: int = 0) -> Node:
    """Give the tree of one YAML document that stands `before` lines down in its file. Refuses all that is no plain data."""
    try:
        root = _tree(text, report, before)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line if mark else 0
        rows = text.split("\n")
        if line < len(rows) and "\t" in rows[line]:
            report.refuse(before + line + 1, "", "a tab stands where YAML allows none", "indent with spaces")
        problem = " ".join(part for part in (error.context, error.problem) if part)
        report.refuse(before + line + 1, "", f"this is no YAML: {problem}", "look at quotes, colons and indentation here and just above")
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position)
        report.refuse(before + line + 1, "", "a control character stands in the text", "delete it")
    if root is None:
        report.refuse(before + 1, "", "there is nothing in it", "start from the schema: `gen schema` prints it")
    return root


def _tree(text: str, report: Report, before: int) -> Node | None:
    events = yaml.parse(text, Loader=_LOADER)
    root: Node | None = None
    documents = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                report.refuse(_line(event, before), "", "there is a second document in the file", "one file holds one spec")
        elif not isinstance(event, (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentEndEvent)):
            root = _node(event, events, report, before, 1)
    return root


def _line(event: yaml.Event, before: int) -> int:
    assert event.start_mark  # every event read from text has one
    return before + event.start_mark.line + 1


def _node(event: yaml.Event, events: Iterator[yaml.Event], report: Report, before: int, depth: int) -> Node:
    line = _line(event, before)
    if isinstance(event, yaml.AliasEvent):
        report.refuse(line, "", f"an alias (*{event.anchor}) is not allowed", "write the value out")
    assert isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent))
    if event.tag is not None:
        report.refuse(line, "", f"a tag ({event.tag}) is not allowed", "write plain YAML: text, numbers, lists and tables")
    if isinstance(event, yaml.ScalarEvent):
        return ScalarNode(event.value, not event.style, line, line + 1 if event.style in {"|", ">"} else line)
    if depth > MAX_DEPTH:
        report.refuse(line, "", f"lists and tables are nested more than {MAX_DEPTH} deep", "no spec needs that")
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(_node(event, events, report, before, depth + 1))
        return SequenceNode(tuple(items), line)
    entries = []
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        key = _node(event, events, report, before, depth + 1)
        if not isinstance(key, ScalarNode):
            report.refuse(key.line, "", "a key is a list or a table", "a key is one word")
        entries.append((key, _node(next(events), events, report, before, depth + 1)))
    return MappingNode(tuple(entries), line)
