"""A check as a page: numbers, verdicts, figure and ledger put together."""

from __future__ import annotations

from generator.build import Guide
from generator.catalog import Catalog
from generator.check.numbers import Claim, write_check
from generator.check.picture import ceiling_picture
from generator.check.verdicts import Judged, Verdict, judged
from generator.claims.state import State
from generator.facts import Facts
from generator.guide.context import day_of
from generator.guide.environment import rendered
from generator.guide.ledger import Ledger
from generator.guide.lint import Allowed, lint
from generator.guide.marks import Marks, code, escaped, linked
from generator.guide.page import ledger_values, tidied
from generator.specs import Check
from generator.specs.check import Part

BEARING = ("27872", "28223", "28185", "27987", "27756")
"""Threads about expert offload in general that a check of such a claim names, each with its state."""


def build_check(catalog: Catalog, model_name: str, name: str, *, answered: State | None = None) -> Guide:
    """Build one check. Raises any GenError of the layers below; nothing is written."""
    check = catalog.check_of(model_name, name)
    model, card, engine = catalog.model(model_name), catalog.card(check.card), catalog.engine(check.engine, check.build)
    issues = {ref: catalog.issue(ref) for ref in catalog.threads(check.engine)}
    facts = check.facts
    for spec in (model, card, engine, *issues.values()):
        facts = facts.merged(catalog.known(spec))
    if answered is not None:
        facts = Facts(answered.dated(fact) for fact in facts)
    claim = Claim(check, model.architecture, facts)
    book = write_check(claim)
    names = {"model": escaped(model.title), "card": escaped(card.title), "build": code(engine.build)}
    marks = Marks(book, facts, engine, issues, names, check.quotes)
    picture = ceiling_picture(book, check, f"{check.title}: the ceiling")
    values: dict[str, object] = {
        "title": escaped(check.title),
        "card": {"title": escaped(card.full_name)},
        "quant": check.quant,
        "cache": "/".join(dict.fromkeys(check.cache)),
        "contexts": check.contexts,
        "batches": check.batches,
        "rates": check.host_rates,
        "has_state": "recurrent.per_sequence" in book,
        "has_shared": book["params.shared_expert"].number > 0,
        "n": marks.number,
        "checked": marks.checked,
        "config_link": linked("the published configuration", f"https://huggingface.co/{model.base or model.repository}"),
        "quote_all": "; ".join(marks.quoted(part.words) for part in check.parts.values()),
        "rows": [_row(part, judged(part, book, facts), marks, check) for part in check.parts.values()],
        "figure": {"alt": picture.alt, "path": f"{name}/{picture.name}.svg"},
        "threads": BEARING,
        "thread": lambda number: f"{marks.issue_link(marks.issue_named(number))}, {marks.state(marks.issue_named(number))}",
        "told": lambda number: _told(marks, number),
        "oldest_check": lambda: day_of(marks, 0),
        "newest_check": lambda: day_of(marks, -1),
    }
    body = rendered(catalog.root / "templates", "check.md.j2", values)
    ledger = Ledger.of(_description(check), book, marks.claims.values(), facts)
    tail = rendered(catalog.root / "templates", "ledger.md.j2", ledger_values(ledger, name, "check.json"))
    page = tidied(body + "\n" + tail)
    beside = {f"{name}/check.json": ledger.json(), f"{name}/{picture.name}.svg": picture.svg}
    proper = tuple(each for each in (check.title, card.title, card.full_name, model.title) if any(map(str.isdecimal, each)))
    folder = f"checks/{model_name}"
    lint(page, ledger, Allowed(proper, frozenset(marks.quotes), frozenset(marks.days), frozenset(beside)), file=f"site/{folder}/{name}.md")
    files = {f"{folder}/{name}.md": page} | {f"{folder}/{each}": text for each, text in beside.items()}
    return Guide(model_name, name, check.title, proper, files, ledger, facts, folder="checks")


def _row(part: Part, found: Judged, marks: Marks, check: Check) -> dict[str, str]:
    said = marks.prose(part.says, check, "check") if part.says else ""
    because = " ".join([*_because(part, found, marks), said]).strip()
    return {"words": marks.quoted(part.words), "verdict": str(found.verdict), "because": because}


def _because(part: Part, found: Judged, marks: Marks) -> list[str]:
    """Give the sentence that a verdict follows from, with its numbers."""
    if found.verdict is Verdict.OPINION:
        return ["No arithmetic settles it."]
    if part.kind == "context":
        return [f"The model was trained for {marks.number('context.trained')} tokens."]
    if part.kind != "speed":
        return []
    ceiling, share = (marks.number(key) for key in found.numbers)
    best = marks.number("observed.best_share")
    said = f"At {marks.number(f'depth.{part.context}')} the ceiling is {ceiling}, of which the claim needs {share};"
    if found.verdict is Verdict.OPEN:
        return [f"{said} whether that is more than the {best} that were ever seen hangs on the split of the file."]
    so = "may well be so" if found.verdict is Verdict.CREDIBLE else "is not"
    return [f"{said} the best share that was seen is {best}, so it {so}."]


def _told(marks: Marks, number: str) -> str:
    issue = marks.issue_named(number)
    headline = issue.section("headline", lambda condition: condition in {"expert_offload", "moe", "cuda"})
    assert headline is not None  # every thread has one for any reader
    return f"{marks.issue_link(issue)}, {marks.state(issue)}: {marks.prose(headline, issue, issue.prefix)}."


def _description(check: Check) -> dict[str, object]:
    pinned = {"quant": check.quant, "engine": check.engine, "build": check.build}
    return {"model": check.model, "check": check.name, "card": check.card, **pinned}
