"""Recorded runs: one YAML file each of what somebody ran, what the loader said of the model, and what the engine said it allocated.

Only what is compared is read; everything else in a file is left alone. A file is other people's text: it is parsed as the authored
files are (no tags, no aliases, limits on size and depth), and a value of the wrong kind is an error with its line and key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NoReturn

from generator.errors import GenError, InputError, MissingFileError, Problem, SpecErrors
from generator.measure.notation import expanded
from generator.measure.printed import LONGEST_LINE, BreakdownRow, Printed, breakdown_row
from generator.specs.document import MappingNode, Node, ScalarNode, SequenceNode
from generator.specs.read import read_spec
from generator.specs.shapes import Place, Shape

LLAMA, IK, TURBOQUANT = "llama.cpp", "ik_llama.cpp", "llama.cpp fork with TurboQuant caches"
"""Families of engines whose memory rules differ."""

_BUILD = re.compile(r"\bb(\d{1,6})\b")
_MONTH = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")

Value = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Reported:
    """What the engine said: lines of totals as printed, and the figures of single buffers by device.

    `caches` tells how many caches the log announced, 0 where it announced none. `breakdown` has the last row of each device;
    `draft_kv` is the cache of a draft head's own context.
    """

    caches: int = 0
    kv_totals: tuple[str, ...] = ()
    state_totals: tuple[str, ...] = ()
    kv_buffers: tuple[tuple[str, Printed], ...] = ()
    state_buffers: tuple[tuple[str, Printed], ...] = ()
    compute_buffers: tuple[tuple[str, Printed], ...] = ()
    breakdown: tuple[BreakdownRow, ...] = ()
    draft_kv: Printed | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One recorded run.

    `family` says whose rules the engine follows, `build` is a numbered build (`b5192`) or None, `day` when the run was reported
    (None where nobody says). `settings` and `metadata` are as transcribed, lists written out. `complete` says that both suffice to
    predict the cache and the state.
    """

    name: str
    file: str
    url: str
    engine: str
    family: str
    build: str | None
    day: date | None
    command: str
    settings: Mapping[str, Value]
    metadata: Mapping[str, object]
    reported: Reported
    complete: bool

    @property
    def number(self) -> int | None:
        """The number of the build."""
        return int(self.build[1:]) if self.build else None


class NotACaseError(InputError):
    """A file that is something else, such as a table of llama-bench."""


class _Tree(Shape[MappingNode]):
    """A table as it stands, with its lines."""

    def read(self, node: Node, at: Place) -> MappingNode:
        if not isinstance(node, MappingNode):
            at.refuse(node.line, "a table of keys is expected here", "a case is a table: url, engine, settings, metadata, reported")
        seen: set[str] = set()
        for key, _ in node.entries:
            if key.text in seen:
                at.key(key.text).refuse(key.line, "the key stands here twice", "delete one of the two")
            seen.add(key.text)
        return node

    def definition(self) -> dict[str, object]:
        return {"type": "object"}


def read_cases(folder: Path) -> tuple[list[Case], list[str], list[GenError]]:
    """Give the cases of a folder in the order of their names, the names of files that are no cases, and what could not be read.

    Raises MissingFileError where there is no such folder, InputError where no YAML file is in it.
    """
    if not folder.is_dir():
        raise MissingFileError(folder, reason="there is no such folder", remedy="give a folder with one YAML file for each recorded run")
    files = sorted(path for path in folder.iterdir() if path.suffix in {".yml", ".yaml"} and path.is_file())
    if not files:
        raise InputError("no YAML file is in it", where=str(folder), remedy="give a folder with one YAML file for each recorded run")
    cases, others, errors = list[Case](), list[str](), list[GenError]()
    for path in files:
        try:
            cases.append(read_case(path))
        except NotACaseError:
            others.append(path.stem)
        except GenError as error:
            errors.append(error)
    return cases, others, errors


def read_case(path: Path) -> Case:
    """Read one case. Raises SpecErrors with line and key, MissingFileError, NotACaseError for a file without `reported`."""
    tree = read_spec(path, _Tree(), str(path), {})
    reading = _Reading(str(path))
    if tree.get("reported") is None:
        raise NotACaseError("this file reports no memory", where=str(path), remedy="a case has a table `reported`")
    engine = reading.text(tree, "engine")
    if not engine:
        reading.refuse(tree, "engine", "the case does not say which engine ran", "llama.cpp, or the name of a fork")
    build = _BUILD.search(reading.text(tree, "build"))
    return Case(
        name=path.stem,
        file=str(path),
        url=reading.text(tree, "url"),
        engine=engine,
        family=_family(engine),
        build=build[0] if build else None,
        day=_day(reading.text(tree, "date") or reading.text(tree, "date_estimate")),
        command=reading.text(tree, "command"),
        settings=dict(reading.scalars(tree, "settings")),
        metadata=dict(reading.metadata(tree)),
        reported=reading.reported(tree),
        complete=reading.scalar(tree, "complete") is True,
    )


def _family(engine: str) -> str:
    if engine.startswith(IK):
        return IK
    return TURBOQUANT if "turboquant" in engine.lower() else LLAMA


def _day(text: str) -> date | None:
    """Give a day, the first of the month where only that is known; None where neither is."""
    found = _MONTH.match(text)
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2]), int(found[3] or 1))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Reading:
    """Typed values out of a tree; what has the wrong kind is refused with its line."""

    file: str

    def refuse(self, node: Node, path: str, message: str, remedy: str = "") -> NoReturn:
        raise SpecErrors([Problem(self.file, node.line, path, message, remedy)])

    def scalar(self, tree: MappingNode, name: str, path: str = "") -> Value:
        node = tree.get(name)
        if node is None:
            return None
        if not isinstance(node, ScalarNode):
            self.refuse(node, path or name, "one value is expected, this is a list or a table")
        return node.typed()

    def text(self, tree: MappingNode, name: str) -> str:
        value = self.scalar(tree, name)
        return "" if value is None else str(value)

    def table(self, tree: MappingNode, name: str) -> MappingNode:
        node = tree.get(name)
        if node is None or (isinstance(node, ScalarNode) and node.typed() is None):
            return MappingNode((), tree.line)
        if not isinstance(node, MappingNode):
            self.refuse(node, name, "a table of keys is expected")
        return node

    def scalars(self, tree: MappingNode, name: str) -> Iterator[tuple[str, Value]]:
        """Give the scalars of a table; lists and tables in it are passed over."""
        for key, node in self.table(tree, name).entries:
            if isinstance(node, ScalarNode):
                yield key.text, node.typed()

    def metadata(self, tree: MappingNode) -> Iterator[tuple[str, object]]:
        """Give the metadata, with lists written out, whether they stand as YAML or in a person's short notation."""
        for key, node in self.table(tree, "metadata").entries:
            if isinstance(node, SequenceNode):
                yield key.text, [item.typed() for item in node.items if isinstance(item, ScalarNode)]
            elif isinstance(node, ScalarNode):
                value = node.typed()
                yield key.text, (expanded(value) or value) if isinstance(value, str) else value

    def reported(self, tree: MappingNode) -> Reported:
        table = self.table(tree, "reported")
        rows = [row for line in self._lines(table, "memory_breakdown") if (row := breakdown_row(line))]
        return Reported(
            caches=len(list(self._lines(table, "cache_cells"))),
            kv_totals=tuple(self._lines(table, "kv_totals")),
            state_totals=tuple(self._lines(table, "rs_totals")),
            kv_buffers=tuple(self._buffers(table, "kv_buffers")),
            state_buffers=tuple(self._buffers(table, "rs_buffers")),
            compute_buffers=tuple(self._buffers(table, "compute_buffers")),
            breakdown=tuple({row.device: row for row in rows}.values()),
            draft_kv=self._draft(table),
        )

    def _lines(self, table: MappingNode, name: str) -> Iterator[str]:
        for index, item in enumerate(self._items(table, name, "a list of lines")):
            if not isinstance(item, ScalarNode):
                self.refuse(item, f"reported.{name}[{index}]", "a line as printed is expected, this is a list or a table")
            yield item.text[:LONGEST_LINE]

    def _buffers(self, table: MappingNode, name: str) -> Iterator[tuple[str, Printed]]:
        for index, item in enumerate(self._items(table, name, "a list of buffers, each with device and mib,")):
            path = f"reported.{name}[{index}]"
            if not isinstance(item, MappingNode):
                self.refuse(item, path, "a table with device and mib is expected")
            yield self.text(item, "device"), self._size(item, "mib", f"{path}.mib")

    def _items(self, table: MappingNode, name: str, wanted: str) -> tuple[Node, ...]:
        node = table.get(name)
        if node is None or (isinstance(node, ScalarNode) and node.typed() is None):
            return ()
        if not isinstance(node, SequenceNode):
            self.refuse(node, f"reported.{name}", f"{wanted} is expected")
        return node.items

    def _draft(self, table: MappingNode) -> Printed | None:
        node = table.get("mtp_draft_context")
        if not isinstance(node, MappingNode) or node.get("kv_mib") is None:
            return None
        return self._size(node, "kv_mib", "reported.mtp_draft_context.kv_mib")

    def _size(self, table: MappingNode, name: str, path: str) -> Printed:
        """Read a size in MiB: the log prints two decimals, whatever the YAML kept of them."""
        value = self.scalar(table, name, path)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**40:
            self.refuse(table.get(name) or table, path, f"a size in MiB is expected, this is {value!r}", "write the number as printed")
        return Printed.rounded(f"{value:.2f}")
