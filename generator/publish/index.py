"""The site's first page: every guide of the catalogue, by model, every check, and the pages on how it is all worked out."""

from __future__ import annotations

from pathlib import Path

from generator.catalog import Catalog
from generator.facts import write_whole
from generator.guide.marks import escaped, linked
from generator.guide.page import METHODS

INTRODUCTION = """# Guides for local language models

Each guide says how to run one model on one card: what fits, the command to copy, what goes wrong, and where every number comes from.
"""


def index_page(catalog: Catalog) -> str:
    """Give the page as Markdown. Raises what reading the catalogue raises."""
    lines = [INTRODUCTION]
    for model in catalog.models():
        recipes = [catalog.recipe(of, page) for of, page in catalog.recipes() if of == model]
        if not recipes:
            continue
        lines += [f"## {escaped(catalog.model(model).title)}", ""]
        for recipe in recipes:
            title = escaped(recipe.titled(catalog.card(recipe.card)))
            lines.append(f"- {linked(f'on {title}', f'guides/{model}/{recipe.page}.md')}")
        lines.append("")
    lines += [*_checks(catalog), *_methods()]
    return "\n".join(lines).rstrip("\n") + "\n"


def _checks(catalog: Catalog) -> list[str]:
    if not catalog.checks():
        return []
    lines = ["## Claims checked", "", "What is said in public of speeds, part by part, with the arithmetic.", ""]
    for model, name in catalog.checks():
        check = catalog.check_of(model, name)
        title = f"{catalog.model(model).title} on {catalog.card(check.card).title}: {check.about}"
        lines.append(f"- {linked(escaped(title), f'checks/{model}/{name}.md')}")
    return [*lines, ""]


def _methods() -> list[str]:
    pages = [f"- {linked(title, f'method/{name}.md')}" for name, title in METHODS.items()]
    return ["## How it is worked out", "", *pages, ""]


def settle_index(catalog: Catalog, site: Path, *, write: bool) -> list[str]:
    """Write the first page, or without `write` give its path where what is committed is something else."""
    path, text = site / "index.md", index_page(catalog)
    if write:
        write_whole(path, text)
        return []
    return [] if path.is_file() and path.read_text(encoding="utf-8") == text else ["site/index.md"]
