"""One guide, from specs and lock to page, figures and ledger: the whole build, top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from generator.catalog import Catalog
from generator.claims.state import State
from generator.errors import GenError, Problem, RefusedSettings, SpecErrors
from generator.facts import Facts, write_whole
from generator.guide.balance import unused_room
from generator.guide.commands import refuse_commands, run_of
from generator.guide.context import Nearest, Sources, values_of
from generator.guide.environment import rendered
from generator.guide.ledger import Ledger
from generator.guide.lint import Allowed, lint
from generator.guide.marks import Marks, code, escaped
from generator.guide.numbers import Subject, write_numbers
from generator.guide.numbers.budget import fits
from generator.guide.ollama import ollama_facts, write_ollama
from generator.guide.page import METHODS, Page, ledger_values, tidied
from generator.guide.pictures import pictures
from generator.guide.planner import planner_json
from generator.guide.referee import write_referee
from generator.guide.situation import situation_of
from generator.guide.threads import misplaced
from generator.memory.harms import refuse_printed
from generator.memory.model import Model
from generator.memory.settings import Settings
from generator.planning import estimate_of, model_of_quant
from generator.quantity import BYTE, Quantity
from generator.solve.auto import settled
from generator.specs import Engine, Recipe


class OutdatedPageError(GenError):
    """Committed pages that a build would write differently: somebody edited a page, or forgot to build."""

    exit_code = 3

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        super().__init__(
            f"not what a build writes: {', '.join(paths)}",
            remedy="run `gen build --all` and commit the result; a page is never edited by hand",
        )


class Guide(Page):
    """A built guide: how to run a model on a card."""

    __slots__ = ()

    folder = "guides"
    ledger_name = "guide.json"


def build_guide(catalog: Catalog, model_name: str, card_name: str, *, answered: State | None = None) -> Guide:
    """Build one guide. Raises any GenError of the layers below; nothing is written.

    With the state of re-checking the page says when each source last answered; without it, what the committed locks say.
    """
    sources = gather(catalog, model_name, card_name)
    if answered is not None:
        sources = replace(sources, facts=Facts(map(answered.dated, sources.facts)))
    subject = subject_of(catalog, sources)
    book = write_numbers(subject)
    write_referee(book, subject)
    if fits(book) != "no":
        write_ollama(book, subject)
    else:
        sources = replace(sources, nearest=nearest_that_fits(catalog, model_name, card_name))
    title = title_of(sources)
    drawn = pictures(book, subject, title)
    marks = Marks(book, sources.facts, sources.engine, sources.issues, names_of(sources), sources.model.quotes)
    here = situation_of(subject, sources.card, book)
    if problems := [_problem(sources.recipe, *each) for each in misplaced(sources.recipe, sources.issues, here)]:
        raise SpecErrors(problems)
    values = values_of(sources, subject, marks, drawn, here)
    body = rendered(sources.templates, "guide.md.j2", values)
    ledger = Ledger.of(description(sources), book, marks.claims.values(), sources.facts)
    tail = rendered(sources.templates, "ledger.md.j2", ledger_values(ledger, card_name))
    page = tidied(body + "\n" + tail)
    refuse_commands(page, subject.model, run_of(sources), file=f"site/guides/{model_name}/{card_name}.md")
    beside = {f"{card_name}/guide.json": ledger.json()} | {f"{card_name}/{name}.svg": picture.svg for name, picture in drawn.items()}
    planner = planner_json(sources, subject)
    if planner is not None:
        beside[f"{card_name}/planner.json"] = planner
    linked = {f"{other.page}.md" for other in (*sources.elsewhere, *filter(None, [sources.nearest]))}
    linked |= {f"../../method/{name}.md" for name in METHODS}
    allowed = Allowed(tuple(proper_names(sources)), frozenset(marks.quotes), frozenset(marks.days), frozenset({*beside, *linked}))
    folder = f"guides/{model_name}"
    lint(page, ledger, allowed, file=f"site/{folder}/{card_name}.md")
    files = {f"{folder}/{card_name}.md": page} | {f"{folder}/{name}": text for name, text in beside.items()}
    return Guide(model_name, card_name, title, tuple(proper_names(sources)), files, ledger, sources.facts, unused_room(subject, book))


def gather(catalog: Catalog, model_name: str, page: str) -> Sources:
    """Read everything a guide is made from: recipe, model, card, engine, threads, and the facts of all of them.

    A depth that the recipe leaves open is chosen here.
    """
    recipe, chosen = settled(catalog, catalog.recipe(model_name, page))
    model = catalog.model(model_name)
    card = catalog.card(recipe.card)
    engine = catalog.engine(recipe.engine, recipe.build)
    issues = {ref: catalog.issue(ref) for ref in catalog.threads(recipe.engine)}
    facts = recipe.facts
    for spec in (model, card, engine, *issues.values()):
        facts = facts.merged(catalog.known(spec))
    facts = facts.merged(catalog.measured(model_name, page)).merged(ollama_facts(catalog))
    estimate = estimate_of(catalog, model_name, model.quant(recipe.quant).name)
    if estimate is not None:
        facts = facts.merged([estimate.size, estimate.tolerance.experts, estimate.tolerance.rest])
    others = tuple(page_of(catalog, model_name, other) for of, other in catalog.recipes() if of == model_name and other != page)
    engine, templates = _with_read_lines(engine, facts), catalog.root / "templates"
    return Sources(recipe, model, card, engine, issues, facts, templates, chosen, elsewhere=others)


def page_of(catalog: Catalog, model: str, page: str) -> Nearest:
    """Give a recipe as other pages link to it."""
    recipe = catalog.recipe(model, page)
    return Nearest(page, f"{catalog.model(model).title} on {recipe.titled(catalog.card(recipe.card))}")


def nearest_that_fits(catalog: Catalog, model: str, page: str) -> Nearest | None:
    """Give the recipe of a model that fits nearest to one that does not; None where none does.

    That is by the guides' own arithmetic, first on the same kind of machine, then with the least memory, cards and system together.
    """
    unified = catalog.card(catalog.recipe(model, page).card).unified
    found = []
    for other in sorted(other for of, other in catalog.recipes() if of == model and other != page):
        subject = subject_of(catalog, gather(catalog, model, other))
        book = write_numbers(subject)
        if fits(book) != "yes":
            continue
        host = None if subject.unified else Quantity.constant(int(book["host.need"]), BYTE, f"host.need of {model} on {other}")
        memory = int(book["budget.card"]) * subject.gpus + (int(host) if host else 0)
        found.append((subject.unified != unified, memory, replace(page_of(catalog, model, other), host=host)))
    return min(found, key=lambda each: each[:2])[2] if found else None


def _with_read_lines(engine: Engine, facts: Facts) -> Engine:
    """Give the engine with the lines at which its citations were last found, where a source was asked."""
    citations = dict(engine.citations)
    for name, citation in engine.citations.items():
        key = f"citation.{engine.build}.{name}"
        if key in facts and isinstance(line := facts[key].value, int) and facts[key].status != "gone":
            length = citation.end_line - citation.line if citation.line and citation.end_line else 0
            citations[name] = replace(citation, line=line, end_line=line + length if length else None, checked=facts[key].checked)
    return replace(engine, citations=citations)


def subject_of(catalog: Catalog, sources: Sources) -> Subject:
    """Give what a guide's numbers are about: the recipe's settings and the header the lock has of its quant.

    Raises UnknownNameError for a quant that the model does not have; SpecErrors, with the recipe's lines, for what no guide can be made
    of; RefusedSettings, with the recipe's line, for settings or a fallback that the engine would refuse, or that do nothing or harm.
    """
    recipe = sources.recipe
    quant = sources.model.quant(recipe.quant)
    estimate = estimate_of(catalog, sources.model.name, quant.name)
    header = model_of_quant(catalog, sources.model.name, quant.name) if estimate is None else estimate.model
    if problems := list(_beyond_the_model(recipe, header)):
        raise SpecErrors(problems)
    settings, card = Settings.from_recipe(recipe.settings), sources.card
    subject = Subject(recipe, settings, header, sources.facts, card.backend, sources.chosen, card.unified)
    run = run_of(sources)
    for place, settings in [
        ("settings", subject.settings),
        *((f"fallbacks[{i}].settings", each) for i, each in enumerate(subject.fallbacks)),
    ]:
        try:
            refuse_printed(header, settings, run)
        except RefusedSettings as error:
            where = recipe.where(_line_of(error.where, place, sources))
            raise RefusedSettings(f"{error.where}: {error.problem}", rule=error.rule, where=where, remedy=error.remedy) from error
    return subject


def _line_of(flag: str, place: str, sources: Sources) -> str:
    """Give the key path of a recipe's setting that a flag says: in its own place, or where a fallback inherits it from."""
    lines = sources.recipe.lines
    named = [name for name, each in sources.engine.flags.items() if flag in (*each.names, *each.negated)]
    paths = [f"{table}.{name}" for table in (place, "settings") for name in named]
    return next((path for path in paths if path in lines), place.removesuffix(".settings"))


def _beyond_the_model(recipe: Recipe, header: Model) -> Iterator[Problem]:
    """Give what the model cannot do: a context it was not trained for."""
    trained = header.metadata.get(f"{header.architecture}.context_length")
    n_ctx = recipe.settings.get("n_ctx", 0)
    if isinstance(trained, int) and isinstance(n_ctx, int) and n_ctx > trained:
        problem = f"a context of {n_ctx} is longer than the {trained} tokens the model was trained for"
        yield _problem(recipe, "settings.n_ctx", problem, f"give {trained} or less")


def _problem(recipe: Recipe, path: str, message: str, remedy: str) -> Problem:
    return Problem(recipe.file, recipe.lines.get(path, 0), path, message, remedy)


def write_files(files: Mapping[str, str], site: Path) -> list[Path]:
    """Write files below `site`, each whole; give those whose content is new."""
    return [site / name for name, text in files.items() if write_whole(site / name, text)]


def outdated(files: Mapping[str, str], site: Path) -> list[str]:
    """Give the files below `site` that are not what a build has."""
    changed = []
    for name, text in files.items():
        path = site / name
        if not path.exists() or path.read_bytes() != text.encode("utf-8"):
            changed.append(f"site/{name}")
    return changed


def description(sources: Sources) -> dict[str, object]:
    """Give the recipe for the ledger: what was built, pinned to what."""
    recipe = sources.recipe
    return {
        "model": recipe.model,
        "card": recipe.card,
        "quant": recipe.quant,
        "repository": sources.model.repository,
        "file": sources.model.quant(recipe.quant).file,
        "engine": recipe.engine,
        "build": recipe.build,
        "purls": [
            *([f"pkg:huggingface/{sources.model.repository}"] if sources.model.repository else []),
            f"pkg:github/{sources.engine.repository}@{recipe.build}",
        ],
        "settings": dict(recipe.settings),
        "budget_policy": recipe.budget.policy,
        **({"chosen": ["n_cpu_moe"]} if sources.chosen else {}),
    }


def title_of(sources: Sources) -> str:
    """Give the title of a guide."""
    return f"{sources.model.title} on {sources.recipe.titled(sources.card)}"


def names_of(sources: Sources) -> dict[str, str]:
    """Give what the placeholders for names stand for."""
    return {"model": escaped(sources.model.title), "card": escaped(sources.card.title), "build": code(sources.engine.build)}


def proper_names(sources: Sources) -> list[str]:
    """Give the names with digits in them that a page may say as they are."""
    card, model = sources.card, sources.model
    names = [card.title, card.full_name, card.chip, model.title, model.name, model.licence, model.publisher, sources.recipe.quant]
    names += [kind.name for kind in sources.recipe.memory_kinds]
    names += [other.title for other in (*sources.elsewhere, *filter(None, [sources.nearest]))]
    return [name for name in names if any(character.isdecimal() for character in name)]
