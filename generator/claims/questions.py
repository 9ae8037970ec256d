"""Which facts can be asked again, how, and which lock keeps the answer.

A spec says how some of its facts are asked (`ask`); for others it follows from what they are: the state of a thread, the size of a
file on the Hub, the line of a citation at the pinned build.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from generator.catalog import Catalog
from generator.facts import Ask, Fact, Facts, Source
from generator.specs import Check, Engine, Issue, Model, Spec

THREAD_FIELDS = ("kind", "state", "reason", "title", "labels")
"""What is always asked of a thread; comments and days too where the spec has them."""

MORE_THREAD_FIELDS = ("comments", "opened", "closed", "updated")

PERIODS = {
    "github_thread": timedelta(days=1),
    "github_search": timedelta(days=7),
    "github_release": timedelta(days=1),
    "github_source": timedelta(days=30),
    "hub_file": timedelta(days=1),
    "hub_repository": timedelta(days=1),
    "hub_card": timedelta(days=7),
    "hub_search": timedelta(days=7),
    "web": timedelta(days=7),
}
"""How often each kind of question is asked."""


@dataclass(frozen=True, slots=True)
class Question:
    """A fact to ask again: as it is known now, how to ask, and the lock that keeps the answer.

    `moved` is what is known of a new name of its thread or repository.
    """

    fact: Fact
    ask: Ask
    lock: Path
    moved: Fact

    @property
    def key(self) -> str:
        """The fact's key."""
        return self.fact.key

    @property
    def moved_to(self) -> str:
        """The new name its thread or repository is already known to have; empty where it has its old one."""
        return str(self.moved.value or "")

    @property
    def identifies(self) -> bool | None:
        """Tell whether the thing asked about is there as long as this fact is: the state of a thread, the size of a file, a line.

        False where another question tells that of the same thing; None where none does, so that nothing follows from not finding it.
        """
        one = {"github_thread": "state", "hub_file": "size", "github_source": ""}
        return dict(self.ask.parts).get("field", "") == one[self.ask.kind] if self.ask.kind in one else None


def questions(catalog: Catalog, pairs: Iterable[tuple[str, str]]) -> list[Question]:
    """Give every question that these pages, guides or checks, raise, each once, in a stable order."""
    found: dict[str, Question] = {}
    checks = set(catalog.checks())
    for pair in pairs:
        for spec in _specs_of_check(catalog, *pair) if pair in checks else _specs_of_guide(catalog, *pair):
            known = catalog.known(spec)
            for fact in _askable(spec, known):
                assert fact.ask is not None
                moved = _moved_key(fact)
                known_moved = known[moved] if moved in known else Fact(moved, None)
                found.setdefault(fact.key, Question(fact, fact.ask, catalog.lock_of(spec), known_moved))
    return list(found.values())


def _specs_of_guide(catalog: Catalog, model: str, page: str) -> list[Spec]:
    recipe = catalog.recipe(model, page)
    specs: list[Spec] = [catalog.model(model), catalog.card(recipe.card), catalog.engine(recipe.engine, recipe.build)]
    return specs + [catalog.issue(ref) for ref in catalog.threads(recipe.engine)]


def _specs_of_check(catalog: Catalog, model: str, name: str) -> list[Spec]:
    check = catalog.check_of(model, name)
    specs: list[Spec] = [check, catalog.model(model), catalog.card(check.card), catalog.engine(check.engine, check.build)]
    return specs + [catalog.issue(ref) for ref in check.threads]


def _moved_key(fact: Fact) -> str:
    """Give the key of the new name of what a fact is about: of its thread, or of the model whose files it is one of."""
    of_file = fact.ask is not None and fact.ask.kind == "hub_file"
    return "model.moved_to" if of_file else f"{fact.key.rpartition('.')[0]}.moved_to"


def _askable(spec: Spec, known: Facts) -> Iterator[Fact]:
    """Give a spec's facts that can be asked, as they are known now, each with its question."""
    written = {fact.key: fact.ask for fact in spec.facts if fact.ask is not None}
    implied = {fact.key: fact for fact in _implied(spec)}
    for key in [*written, *(key for key in implied if key not in written)]:
        fact = known[key] if key in known else implied[key]
        yield replace(fact, ask=written.get(key) or implied[key].ask)


def _implied(spec: Spec) -> Iterator[Fact]:
    if isinstance(spec, Issue):
        yield from _of_thread(spec)
    elif isinstance(spec, Model):
        yield from _of_model(spec)
    elif isinstance(spec, Engine):
        yield from _of_engine(spec)
    elif isinstance(spec, Check):
        yield from _of_check(spec)


def _of_thread(issue: Issue) -> Iterator[Fact]:
    if issue.kind == "discussion":
        return  # no API gives issues and discussions alike: to the one asked it is not there, of which nothing must follow
    fields = [*THREAD_FIELDS, *(name for name in MORE_THREAD_FIELDS if f"{issue.prefix}.{name}" in issue.facts)]
    said = {"kind": issue.kind}  # by the spec, outside its facts
    checked = issue.facts[f"{issue.prefix}.state"].checked
    for name in fields:
        ask = Ask.of("github_thread", repository=issue.tracker, number=str(issue.number), field=name)
        yield Fact(f"{issue.prefix}.{name}", said.get(name), source=Source(issue.url), checked=checked if name in said else None, ask=ask)


def _of_model(model: Model) -> Iterator[Fact]:
    if not model.repository:
        return  # the reader's own files: nobody to ask
    source = Source(model.repository_url)
    for quant in model.quants.values():
        if quant.converted:
            continue  # a file of the reader's own making, whatever the repository has under its name
        for name in ("size", "sha256"):
            ask = Ask.of("hub_file", repository=model.repository, file=quant.file, field=name)
            yield Fact(f"file.{quant.name.lower()}.{name}", None, "B" if name == "size" else "", source=source, ask=ask)
    yield Fact("model.gated", None, source=source, ask=Ask.of("hub_repository", repository=model.repository, field="gated"))


def _of_check(check: Check) -> Iterator[Fact]:
    for published in check.files.values():
        if published.repository and published.file:
            ask = Ask.of("hub_file", repository=published.repository, file=published.file, field="size")
            yield Fact(published.key, None, "B", source=Source(f"https://huggingface.co/{published.repository}"), ask=ask)


def _of_engine(engine: Engine) -> Iterator[Fact]:
    for citation in engine.citations.values():
        parts = {"repository": engine.repository, "ref": engine.build, "path": citation.path, "pattern": citation.pattern}
        near = citation.line or (citation.read_elsewhere.line if citation.read_elsewhere else None)
        ask = Ask.of("github_source", **parts, **({"near": str(near)} if near else {}))
        key = f"citation.{engine.build}.{citation.name}"
        yield Fact(key, citation.line, checked=citation.checked, source=Source(engine.url(citation.name)), ask=ask)
