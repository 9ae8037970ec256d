"""One check, from spec and facts to page, figure and ledger: the whole build, top to bottom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from generator.catalog import Catalog
from generator.check.context import SECTIONS, values_of
from generator.check.judged import judge
from generator.check.numbers import work_out
from generator.check.picture import pictures
from generator.check.subject import Subject
from generator.check.verdicts import Verdict
from generator.check.ways import write_ways
from generator.claims.state import State
from generator.facts import Facts
from generator.guide.commands import refuse_commands
from generator.guide.environment import rendered
from generator.guide.ledger import Ledger
from generator.guide.lint import Allowed, lint
from generator.guide.marks import Marks, code, escaped
from generator.guide.page import Page, ledger_values, tidied
from generator.memory.harms import Run


class CheckPage(Page):
    """A built check: a public claim, part by part."""

    __slots__ = ()

    folder = "checks"
    ledger_name = "check.json"


def build_check(catalog: Catalog, model: str, name: str, *, answered: State | None = None) -> CheckPage:
    """Build one check. Raises any GenError of the layers below; nothing is written.

    With the state of re-checking the page says when each source last answered; without it, what the committed locks say.
    """
    subject = gather(catalog, model, name)
    if answered is not None:
        subject = replace(subject, facts=Facts(map(answered.dated, subject.facts)))
    worked = work_out(subject)
    write_ways(worked)
    verdicts = judge(worked)
    drawn = pictures(worked)
    marks = Marks(worked.book, subject.facts, subject.engine, subject.issues, _names(subject), subject.check.quotes)
    values = values_of(worked, verdicts, marks, drawn)
    templates = catalog.root / "templates"
    body = rendered(templates, "check.md.j2", {**values, "sections": SECTIONS})
    ledger = Ledger.of(description(subject), worked.book, marks.claims.values(), subject.facts)
    ledger = replace(ledger, verdicts=_told(subject, verdicts))
    page = tidied(body + "\n" + rendered(templates, "ledger.md.j2", ledger_values(ledger, name, CheckPage.ledger_name)))
    beside = {f"{name}/{CheckPage.ledger_name}": ledger.json()} | {f"{name}/{each}.svg": picture.svg for each, picture in drawn.items()}
    names, folder = tuple(proper_names(subject)), f"{CheckPage.folder}/{model}"
    refuse_commands(page, worked.shape, Run(subject.card.backend, build=subject.check.build), file=f"site/{folder}/{name}.md")
    lint(page, ledger, Allowed(names, frozenset(marks.quotes), frozenset(marks.days), frozenset(beside)), file=f"site/{folder}/{name}.md")
    files = {f"{folder}/{name}.md": page} | {f"{folder}/{path}": text for path, text in beside.items()}
    return CheckPage(model, name, subject.title, names, files, ledger, subject.facts)


def gather(catalog: Catalog, model_name: str, name: str) -> Subject:
    """Read everything a check is made from: its spec, model, card, engine, threads, and the facts of all of them."""
    check = catalog.check_of(model_name, name)
    model, card = catalog.model(model_name), catalog.card(check.card)
    engine = catalog.engine(check.engine, check.build)
    issues = {ref: catalog.issue(ref) for ref in catalog.threads(check.engine)}
    facts = catalog.known(check)
    for spec in (model, card, engine, *issues.values()):
        facts = facts.merged(catalog.known(spec))
    return Subject(check, model, card, engine, issues, facts)


def description(subject: Subject) -> dict[str, object]:
    """Give the check for the ledger: what it is of, pinned to what."""
    check, published = subject.check, subject.check.file_of_quant
    hub = [f"pkg:huggingface/{published.repository}"] if published.repository else []
    return {
        "check": check.name,
        "model": check.model,
        "card": check.card,
        "quant": check.quant,
        "repository": published.repository,
        "file": published.file,
        "engine": check.engine,
        "build": check.build,
        "purls": [*hub, f"pkg:github/{subject.engine.repository}@{check.build}"],
        "caches": ["/".join(pair) for pair in check.caches],
    }


def proper_names(subject: Subject) -> list[str]:
    """Give the names with digits in them that a page may say as they are."""
    card, model, host = subject.card, subject.model, subject.check.host
    names = [card.title, card.full_name, card.chip, model.title, model.name, *([host.name] if host else [])]
    return [name for name in names if any(map(str.isdecimal, name))]


def _names(subject: Subject) -> dict[str, str]:
    return {"model": escaped(subject.model.title), "card": escaped(subject.card.title), "build": code(subject.engine.build)}


def _told(subject: Subject, verdicts: Mapping[str, Verdict]) -> dict[str, dict[str, object]]:
    """Give the verdicts for the ledger, each with the words it is on."""
    return {part.name: {"says": part.says, "kind": part.kind, **verdicts[part.name].as_dict()} for part in subject.check.parts}
