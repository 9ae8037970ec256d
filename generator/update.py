"""Moving a pin: another build of the engine for a model's recipes, with every citation found again in its source.

The new build's file is the old one's text with the build, the lines and the days replaced; what cannot be found again is left in it
without a line, and told. Nothing is written before everything was asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from generator.catalog import Catalog
from generator.claims.answers import Live
from generator.errors import InputError
from generator.facts import write_whole
from generator.sources.engine_source import find
from generator.specs import Citation, Engine, Recipe

_BUILD = re.compile(r"(?m)^(build:\s*)\S+")
_LINE = re.compile(r"(line:\s*)\d+")
_END = re.compile(r"(end_line:\s*)\d+")
_CHECKED = re.compile(r"(checked:\s*)\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Update:
    """What moving a pin found: citations whose line moved (old and new), those lost, and the files that were written."""

    model: str
    old: str
    new: str
    moved: Mapping[str, tuple[int | None, int]]
    lost: tuple[str, ...]
    flags: tuple[str, ...]
    closed: tuple[tuple[str, str], ...] = ()
    written: tuple[str, ...] = ()
    kept: int = field(default=0)

    def as_dict(self) -> dict[str, object]:
        """Give it for machines."""
        return {
            "model": self.model,
            "old": self.old,
            "new": self.new,
            "moved": {name: list(lines) for name, lines in self.moved.items()},
            "kept": self.kept,
            "lost": list(self.lost),
            "flags_to_read_again": list(self.flags),
            "closed": [list(each) for each in self.closed],
            "written": list(self.written),
        }


def as_text(result: Update) -> Iterator[str]:
    """Give the result as lines for a terminal."""
    yield f"{result.model}: {result.old} → {result.new}"
    yield f"  {result.kept} citations stand where they were, {len(result.moved)} moved, {len(result.lost)} lost"
    for name, (old, new) in result.moved.items():
        yield f"    {name}: line {old or '?'} → {new}"
    for name in result.lost:
        yield f"    {name}: its text is no longer there; read the source again"
    for name in result.flags:
        yield f"    flag {name}: its default rests on a lost citation"
    for ref, state in result.closed:
        yield f"  {ref} is {state} now: see whether {result.new} has it"
    for path in result.written:
        yield f"  wrote {path}"


def update(catalog: Catalog, model: str, build: str, live: Live, *, today: date) -> Update:
    """Move every recipe of a model to another build. Raises InputError, UnknownNameError, and SourceError where it cannot ask."""
    recipes = [catalog.recipe(*pair) for pair in catalog.recipes() if pair[0] == model]
    catalog.model(model)
    if not recipes:
        raise InputError(f"'{model}' has no recipe", remedy="write one first")
    old = catalog.engine(recipes[0].engine, recipes[0].build)
    if old.build == build:
        raise InputError(f"the recipes of '{model}' are at {build} already", remedy="name another build")
    found = _found_again(old, build, live)
    lost = tuple(name for name, line in found.items() if line is None)
    lines = {name: line for name, line in found.items() if line is not None}
    files = _texts(catalog, old, build, lines, today, recipes)
    moved = {name: (old.citations[name].line, line) for name, line in lines.items() if line != old.citations[name].line}
    flags = tuple(setting for setting, flag in old.flags.items() if flag.citation in lost)
    written = tuple(str(path.relative_to(catalog.root)) for path, text in files.items() if write_whole(path, text))
    closed = tuple(_closed(catalog, recipes, live))
    return Update(model, old.build, build, moved, lost, flags, closed, written, len(lines) - len(moved))


def _found_again(old: Engine, build: str, live: Live) -> dict[str, int | None]:
    """Give the line of each citation at another build, None where its text is not there."""
    by_path: dict[str, list[Citation]] = {}
    for citation in old.citations.values():
        by_path.setdefault(citation.path, []).append(citation)
    found: dict[str, int | None] = {}
    for path, citations in by_path.items():
        text = live.github.file(old.repository, build, path)
        for citation in citations:
            near = citation.line or (citation.read_elsewhere.line if citation.read_elsewhere else None)
            place = find(text, citation.pattern, near)
            found[citation.name] = place.line if place else None
    return {name: found[name] for name in old.citations}


def _closed(catalog: Catalog, recipes: list[Recipe], live: Live) -> Iterator[tuple[str, str]]:
    """Give the threads of these recipes that the tracker no longer has open, though the catalogue does."""
    refs = list(dict.fromkeys(ref for recipe in recipes for ref in catalog.threads(recipe)))
    issues = {ref: catalog.issue(ref) for ref in refs}
    threads = live.github.threads([(issue.tracker, issue.number) for issue in issues.values()])
    for ref, issue in issues.items():
        thread = threads[issue.tracker, issue.number]
        known = catalog.known(issue)[f"{issue.prefix}.state"].value
        state = getattr(thread, "state", None)
        if state is not None and known == "open" and state != "open":
            yield ref, state


# --- texts ---------------------------------------------------------------------------------------


def _texts(catalog: Catalog, old: Engine, build: str, lines: Mapping[str, int], today: date, recipes: list[Recipe]) -> dict[Path, str]:
    """Give the files to write: the new build's, and each recipe with its pin moved."""
    folder = catalog.root / "recipes"
    engine = folder / "engines" / old.name / f"{build}.yml"
    files = {}
    if not engine.exists():
        text = (catalog.root / old.file).read_text(encoding="utf-8")
        files[engine] = _engine_text(text, old, build, lines, today)
    for recipe in recipes:
        path = catalog.root / recipe.file
        files[path] = _BUILD.sub(rf"\g<1>{build}", path.read_text(encoding="utf-8"))
    return files


def _engine_text(text: str, old: Engine, build: str, lines: Mapping[str, int], today: date) -> str:
    """Give the text of an engine's file for another build: each citation with its new line and day, or with neither."""
    rows = text.replace(f"blob/{old.build}/", f"blob/{build}/").split("\n")
    starts = {name: old.lines[f"citations.{name}"] - 1 for name in old.citations}
    ends = sorted([*starts.values(), *_tables_after(rows, max(starts.values()))])
    for name, start in starts.items():
        end = next(line for line in ends if line > start)
        for index in range(start, end):
            rows[index] = _citation_row(rows[index], old.citations[name], lines.get(name), today)
    return _BUILD.sub(rf"\g<1>{build}", "\n".join(rows))


def _tables_after(rows: list[str], start: int) -> list[int]:
    """Give the index of the first row after `start` that begins a new table of the file, or the end."""
    return [next((index for index in range(start + 1, len(rows)) if rows[index][:1].isalpha()), len(rows))]


def _citation_row(row: str, citation: Citation, line: int | None, today: date) -> str:
    if line is None:
        return re.sub(r",?\s*\b(?:end_)?line: \d+", "", _CHECKED.sub(rf"\g<1>{today.isoformat()}", row))
    length = citation.end_line - citation.line if citation.line and citation.end_line else 0
    row = _END.sub(rf"\g<1>{line + length}", row)
    row = re.sub(rf"(?<!end_){_LINE.pattern}", rf"\g<1>{line}", row)
    return _CHECKED.sub(rf"\g<1>{today.isoformat()}", row)
