"""Moving a pin: another build of the engine for a model's recipes, with every citation found again in its source.

The new build's file is the old one's text with the build, the lines and the days replaced. What cannot be found again is left in it
without a line, as read at the old build, and told. Nothing is written before everything was asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path

from generator.build import build_guide
from generator.catalog import Catalog
from generator.claims.answers import Live
from generator.errors import GenError, InputError
from generator.facts import write_whole
from generator.guide.ledger import Ledger
from generator.sources.engine_source import find
from generator.sources.errors import SourceError, SourceNotFound
from generator.sources.github import Thread
from generator.specs import Citation, Engine, Recipe

ALIKE = 0.6
"""How like the old line another one must be to be shown as what may have become of it (a ratio of difflib)."""

_BUILD = re.compile(r"(?m)^(build:\s*)\S+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CITED = re.compile(r"\bcitation:\s*[\"']?(\w+)")
_KEY = re.compile(r"( +)(\w+):")
_NOT_RECORDED = "The line at the pin was not recorded."

Ledgers = Mapping[tuple[str, str], Ledger]


@dataclass(frozen=True, slots=True)
class Found:
    """A citation at the old and the new build: its line and that line's text there, None and empty where it is not.

    `now` is, of a citation that is lost, the line most like the old one.
    """

    old: int | None
    new: int | None
    was: str
    now: str

    @property
    def reworded(self) -> bool:
        """Tell whether it is there and says something else."""
        return self.new is not None and bool(self.was) and self.was.split() != self.now.split()


@dataclass(frozen=True, slots=True)
class Update:
    """What moving a pin found.

    `moved` are citations by name with their old and new line; `reworded` and `lost` are those to read again, with the text of their
    line then and now. `flags` and `facts` rest on them. `threads` are those of the recipes that closed, came back or were opened since
    the old pin was read on `since`, in words; `opened` counts the tracker's new threads that name the architecture, None where that could
    not be asked. `numbers` are those that moved, by page and key; `failed` are pages that can no longer be built.
    """

    model: str
    old: str
    new: str
    kept: int
    moved: Mapping[str, tuple[int | None, int]]
    reworded: Mapping[str, tuple[str, str]]
    lost: Mapping[str, tuple[str, str]]
    flags: tuple[str, ...]
    facts: tuple[str, ...]
    since: date | None
    threads: Mapping[str, str]
    opened: int | None
    numbers: Mapping[str, Mapping[str, tuple[str, str]]]
    failed: Mapping[str, str]
    written: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """3 where somebody has to read something again, else 0."""
        return 3 if self.lost or self.reworded or self.failed else 0

    def as_dict(self) -> dict[str, object]:
        """Give it for machines."""
        return {
            "model": self.model,
            "old": self.old,
            "new": self.new,
            "kept": self.kept,
            "moved": {name: list(lines) for name, lines in self.moved.items()},
            "reworded": {name: list(texts) for name, texts in self.reworded.items()},
            "lost": {name: list(texts) for name, texts in self.lost.items()},
            "flags_to_read_again": list(self.flags),
            "facts_to_read_again": list(self.facts),
            "since": self.since.isoformat() if self.since else None,
            "threads": dict(self.threads),
            "opened": self.opened,
            "numbers": {page: {key: list(pair) for key, pair in rows.items()} for page, rows in self.numbers.items()},
            "failed": dict(self.failed),
            "written": list(self.written),
        }


def as_text(result: Update) -> Iterator[str]:
    """Give the result as lines for a terminal."""
    yield f"{result.model}: {result.old} → {result.new}"
    again = len(result.reworded) + len(result.lost)
    yield f"  citations: {result.kept} stand where they were, {len(result.moved)} moved, {again} to read again"
    for name, (old, new) in result.moved.items():
        yield f"    {name}: line {old or '?'} → {new}"
    for name, (was, now) in result.reworded.items():
        yield f"    {name} says something else: {_legible(was)} → {_legible(now)}"
    for name, (was, now) in result.lost.items():
        yield f"    {name} is lost: {_legible(was) or 'it was not found at the old build either'}" + (f" → {_legible(now)}?" if now else "")
    for name in result.flags:
        yield f"  the default of {name} rests on one of these"
    for key in result.facts:
        yield f"  {key} rests on one of these"
    for ref, words in result.threads.items():
        yield f"  {ref}: {words}"
    if result.opened is not None:
        yield f"  {result.opened} threads that name the architecture were opened since {result.since}"
    for page, numbers in result.numbers.items():
        yield f"  {page}: {len(numbers)} numbers moved"
        yield from (f"    {key} {old} → {new}" for key, (old, new) in numbers.items())
    for page, error in result.failed.items():
        yield f"  could not build {page}: {error}"
    yield from (f"  wrote {path}" for path in result.written)


def _legible(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def update(catalog: Catalog, model: str, build: str, live: Live, *, today: date) -> Update:
    """Move every recipe of a model to another build. Raises InputError, UnknownNameError, and SourceError where it cannot ask."""
    catalog.model(model)
    recipes = [catalog.recipe(*pair) for pair in catalog.recipes() if pair[0] == model]
    old = _pinned(catalog, model, build, recipes)
    _known_to(live, old.repository, build)
    found = _found_again(old, build, live)
    since = min((citation.checked for citation in old.citations.values() if citation.checked), default=None)
    threads = dict(_threads(catalog, recipes, live, since))
    opened = _opened(old, catalog.model(model).architecture, live, since)
    files = _texts(catalog, old, build, found, today, recipes)
    before, _ = _ledgers(catalog, recipes)
    written = tuple(str(path.relative_to(catalog.root)) for path, text in files.items() if write_whole(path, text))
    after, failed = _ledgers(Catalog.open(catalog.root), recipes)
    lost = {name: (each.was, each.now) for name, each in found.items() if each.new is None}
    reworded = {name: (each.was, each.now) for name, each in found.items() if each.reworded}
    lines = {name: (old.citations[name].line, each.new) for name, each in found.items() if each.new is not None}
    moved = {name: (then, now) for name, (then, now) in lines.items() if then != now}
    unsure = {*lost, *reworded}
    return Update(
        model=model,
        old=old.build,
        new=build,
        kept=len(lines) - len(moved),
        moved=moved,
        reworded=reworded,
        lost=lost,
        flags=tuple(setting for setting, flag in old.flags.items() if flag.citation in unsure),
        facts=tuple(key for key, name in _cited(catalog, old) if name in unsure),
        since=since,
        threads=threads,
        opened=opened,
        numbers=_moved_numbers(before, after),
        failed=failed,
        written=written,
    )


def _pinned(catalog: Catalog, model: str, build: str, recipes: list[Recipe]) -> Engine:
    """Give the engine at the build that a model's recipes are pinned to now. Raises InputError where there is nothing to move."""
    if not recipes:
        raise InputError(f"'{model}' has no recipe", remedy="write one first")
    if not _NAME.fullmatch(build):
        raise InputError(f"'{build}' is no name of a build", remedy="name one of the engine's tags, such as b10712")
    pins = {(recipe.engine, recipe.build) for recipe in recipes if recipe.build != build}
    if not pins:
        raise InputError(f"the recipes of '{model}' are at {build} already", remedy="name another build")
    if len(pins) > 1:
        named = ", ".join(f"{engine} {pin}" for engine, pin in sorted(pins))
        raise InputError(f"the recipes of '{model}' are at several builds: {named}", remedy="bring them to one first")
    return catalog.engine(*pins.pop())


# --- asking --------------------------------------------------------------------------------------


def _cited(catalog: Catalog, old: Engine) -> Iterator[tuple[str, str]]:
    """Give each fact of an engine's file that rests on a citation, with the citation's name."""
    rows = (catalog.root / old.file).read_text(encoding="utf-8").split("\n")
    for place, line in old.lines.items():
        table, _, rest = place.partition(".")
        name, _, part = rest.partition(".")
        if (table, part) == ("facts", "citation") and (cited := _CITED.search(rows[line - 1])):
            yield f"engine.{name}", cited[1]


def _known_to(live: Live, repository: str, build: str) -> None:
    try:
        live.github.commit_of(repository, build)
    except SourceNotFound:
        raise InputError(f"{repository} has no build '{build}'", remedy="name one of its tags, such as b10712") from None


def _found_again(old: Engine, build: str, live: Live) -> dict[str, Found]:
    """Find each citation at both builds."""
    by_path: dict[str, list[Citation]] = {}
    for citation in old.citations.values():
        by_path.setdefault(citation.path, []).append(citation)
    found: dict[str, Found] = {}
    for path, citations in by_path.items():
        before, after = (_text_of(live, old.repository, pin, path) for pin in (old.build, build))
        found |= {citation.name: _found(citation, before, after) for citation in citations}
    return {name: found[name] for name in old.citations}


def _text_of(live: Live, repository: str, build: str, path: str) -> str:
    """Give a source file at a build; nothing where that has no such file."""
    try:
        return live.github.file(repository, build, path)
    except SourceNotFound:
        return ""


def _found(citation: Citation, before: str, after: str) -> Found:
    near = citation.line or (citation.read_elsewhere.line if citation.read_elsewhere else None)
    old = find(before, citation.pattern, near)
    new = find(after, citation.pattern, old.line if old else near)
    was = _line(before, old.line) if old else ""
    if new is not None:
        return Found(old.line if old else None, new.line, was, _line(after, new.line))
    like = get_close_matches(was, dict.fromkeys(row.strip() for row in after.splitlines()), 1, ALIKE) if was else []
    return Found(old.line if old else None, None, was, like[0] if like else "")


def _line(text: str, number: int) -> str:
    return text.replace("\r\n", "\n").split("\n")[number - 1].strip()


def _threads(catalog: Catalog, recipes: list[Recipe], live: Live, since: date | None) -> Iterator[tuple[str, str]]:
    """Say which threads of these recipes are not as the catalogue has them, or were opened since a day."""
    issues = {ref: catalog.issue(ref) for recipe in recipes for ref in catalog.threads(recipe.engine)}
    threads = live.github.threads([(issue.tracker, issue.number) for issue in issues.values()])
    for ref, issue in issues.items():
        thread = threads[issue.tracker, issue.number]
        if isinstance(thread, SourceError):
            yield ref, f"could not be asked: {thread.problem}"
        else:
            yield from ((ref, words) for words in _news(thread, catalog.known(issue)[f"{issue.prefix}.state"].value, since))


def _news(thread: Thread, known: object, since: date | None) -> Iterator[str]:
    if thread.state != known:
        reason = f" as {thread.reason.replace('_', ' ')}" if thread.reason and thread.state == "closed" else ""
        yield f"was {known}, is {thread.state}{reason}"
    elif since and thread.opened >= since:
        yield f"{thread.state}, opened on {thread.opened.isoformat()}"


def _opened(old: Engine, architecture: str, live: Live, since: date | None) -> int | None:
    """Count the tracker's threads that name an architecture and were opened since a day."""
    if since is None:
        return None
    try:
        return live.github.count(f"repo:{old.repository} {architecture} created:>={since.isoformat()}")
    except SourceError:
        return None


# --- numbers -------------------------------------------------------------------------------------


def _ledgers(catalog: Catalog, recipes: list[Recipe]) -> tuple[Ledgers, dict[str, str]]:
    """Give the ledger of each recipe, and of those that cannot be built the page and why."""
    ledgers, failed = {}, {}
    for recipe in recipes:
        try:
            ledgers[recipe.model, recipe.card] = build_guide(catalog, recipe.model, recipe.card).ledger
        except GenError as error:
            failed[f"guides/{recipe.model}/{recipe.card}.md"] = str(error)
    return ledgers, failed


def _moved_numbers(before: Ledgers, after: Ledgers) -> dict[str, dict[str, tuple[str, str]]]:
    moved = {}
    for pair in before.keys() & after.keys():
        old, new = before[pair].rows, after[pair].rows
        keys = [key for key in old if key in new and old[key].quantity.value != new[key].quantity.value]
        if keys:
            moved["guides/{}/{}.md".format(*pair)] = {key: (old[key].display, new[key].display) for key in keys}
    return moved


# --- texts ---------------------------------------------------------------------------------------


def _texts(catalog: Catalog, old: Engine, build: str, found: Mapping[str, Found], today: date, recipes: list[Recipe]) -> dict[Path, str]:
    """Give the files to write: the new build's, where there is none yet, and each recipe with its pin moved."""
    engine = catalog.root / "recipes" / "engines" / old.name / f"{build}.yml"
    files = {}
    if not engine.exists():
        files[engine] = _engine_text((catalog.root / old.file).read_text(encoding="utf-8"), old, build, found, today)
    for recipe in recipes:
        path = catalog.root / recipe.file
        files[path] = _BUILD.sub(rf"\g<1>{build}", path.read_text(encoding="utf-8"))
    return files


def _engine_text(text: str, old: Engine, build: str, found: Mapping[str, Found], today: date) -> str:
    """Give the text of an engine's file for another build."""
    rows = text.replace(f"blob/{old.build}/", f"blob/{build}/").split("\n")
    starts = {name: old.lines[f"citations.{name}"] - 1 for name in old.citations}
    last = max(starts.values())
    end = next((index for index in range(last + 1, len(rows)) if rows[index][:1].isalpha()), len(rows))
    bounds = [*sorted(starts.values()), end]
    for name, start in sorted(starts.items(), key=lambda each: -each[1]):
        stop = next(bound for bound in bounds if bound > start)
        rows[start + 1 : stop] = _citation(rows[start + 1 : stop], old, name, found[name], today)
    return _BUILD.sub(rf"\g<1>{build}", "\n".join(rows))


def _citation(rows: list[str], old: Engine, name: str, found: Found, today: date) -> list[str]:
    """Give the rows of a citation with the line and day of its new build, or with where the old one has it.

    Raises InputError where it is not written one key a line.
    """
    citation = old.citations[name]
    items, after = _items(rows)
    if "pattern" not in items:
        where = f"{old.file}:{old.lines[f'citations.{name}']}"
        raise InputError(
            f"the citation '{name}' is not written one key a line", where=where, remedy="write it so, then its line can be moved"
        )
    indent = " " * (len(rows[0]) - len(rows[0].lstrip()))
    written: dict[str, list[str]] = {key: value for key, value in items.items() if key not in {"line", "end_line"}}
    if found.new is not None:
        length = citation.end_line - citation.line if citation.line and citation.end_line else 0
        places = {"line": found.new, **({"end_line": found.new + length} if length else {}), "checked": today.isoformat()}
        written.pop("checked", None)
        written["note"] = [re.sub(r'\s+"$', '"', row.replace(_NOT_RECORDED, "")) for row in items.get("note", [])]
        written = _beside(written, {key: [f"{indent}{key}: {value}"] for key, value in places.items()})
        if _is_empty(written["note"]):
            del written["note"]
    elif found.old is not None:
        written.pop("checked", None)
        there = f'{{source: "{old.name} {old.build}", line: {found.old}, checked: {today.isoformat()}}}'
        written["read_elsewhere"] = [f"{indent}read_elsewhere: {there}"]
    return [row for value in written.values() for row in value] + after


def _items(rows: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Part the rows of a table by its keys; blank rows and comments after the last belong to what follows."""
    end = len(rows)
    while end and (not rows[end - 1].strip() or rows[end - 1].lstrip().startswith("#")):
        end -= 1
    items: dict[str, list[str]] = {}
    first = _KEY.match(rows[0]) if end else None
    for row in rows[:end]:
        key = _KEY.match(row)
        if key and first and key[1] == first[1]:
            items[key[2]] = [row]
        elif items:
            items[next(reversed(items))].append(row)
    return items, rows[end:]


def _beside(items: dict[str, list[str]], more: dict[str, list[str]]) -> dict[str, list[str]]:
    """Put more keys after the pattern."""
    placed: dict[str, list[str]] = {}
    for key, value in items.items():
        placed[key] = value
        if key == "pattern":
            placed |= more
    return placed


def _is_empty(note: list[str]) -> bool:
    return not "".join(note).partition("note:")[2].strip(" \"'>-|")
