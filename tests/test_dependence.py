"""Changing one fact changes exactly the pages that depend on it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from generator.build import build_guide
from generator.catalog import Catalog
from generator.method import method_pages
from tests.conftest import part_of_project

PAGES = ("qwen3-8b/rtx-3060-12gb", "qwen3-8b/apple-m4-16gb", "lfm2-8b-a1b/rtx-3060-12gb", "apodex-mini/rtx-5070", "lfm2-8b-a1b/rtx-3070")
THREAD = "recipes/issues/llama.cpp/25740.md"

Files = Mapping[str, str]


def built(root: Path) -> Files:
    """Give every file of a build of the few recipes, method pages and all."""
    catalog = Catalog.open(root)
    guides = [build_guide(catalog, *pair) for pair in catalog.recipes()]
    assert len(guides) == len(PAGES)
    return {name: text for guide in guides for name, text in guide.files.items()} | method_pages(guides, catalog.root / "templates")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Give what is built before anything is changed."""
    return built(part_of_project(tmp_path_factory.mktemp("before"), *PAGES))


def changed(root: Path, before: Files, name: str, pattern: str, new: str) -> set[str]:
    """Give the pages of which a file is another one after a change of one place."""
    part_of_project(root, *PAGES)
    path = root / name
    text, count = re.subn(pattern, new, path.read_text(encoding="utf-8"), count=1)
    assert count == 1
    path.write_text(text, encoding="utf-8")
    after = built(root)
    assert after.keys() == before.keys()
    return {page_of(name) for name in after if after[name] != before[name]}


def page_of(name: str) -> str:
    """Give the page that a file belongs to, as model/card or method/name."""
    parts = name.removeprefix("guides/").removesuffix(".md").split("/")
    return "/".join(parts[:2])


def ledgers(files: Files) -> dict[str, str]:
    return {page_of(name): text for name, text in files.items() if name.endswith("guide.json")}


def test_a_cards_bandwidth_changes_the_guides_of_that_card(tmp_path: Path, before: Files) -> None:
    card = "recipes/cards/rtx-3060-12gb.yml"
    pages = changed(tmp_path, before, card, r"(memory_bandwidth:\s+value: )360( GB/s)", r"\g<1>365\2")
    assert pages == {"qwen3-8b/rtx-3060-12gb", "lfm2-8b-a1b/rtx-3060-12gb"}


def test_a_threads_state_changes_the_guides_that_tell_of_it(tmp_path: Path, before: Files) -> None:
    pages = changed(tmp_path, before, THREAD, r"state: \{value: closed", "state: {value: open")
    # the thread is about prompt caches with the architecture qwen3
    assert pages == {"qwen3-8b/rtx-3060-12gb", "qwen3-8b/apple-m4-16gb"}
    assert pages == {page for page, text in ledgers(before).items() if "issue.llama.cpp.25740.state" in json.loads(text)["claims"]}


def test_what_is_usable_of_a_card_changes_its_guides_and_the_method_pages_that_show_their_figures(tmp_path: Path, before: Files) -> None:
    shown = {page_of(name) for name, text in before.items() if name.startswith("method/") and "lfm2-8b-a1b.rtx-3060-12gb.budget" in text}
    shown |= {page_of(name) for name, text in before.items() if name.startswith("method/") and "apodex-mini.rtx-5070.budget" in text}
    pages = changed(tmp_path, before, "recipes/cards/rtx-5070.yml", r"(usable:\s*\{?\s*value: )11 GiB", r"\g<1>11.25 GiB")
    assert pages == {"apodex-mini/rtx-5070", *shown}


def test_a_note_that_no_page_shows_changes_nothing(tmp_path: Path, before: Files) -> None:
    assert changed(tmp_path, before, "recipes/cards/rtx-4090.yml", r"\A", "# a comment\n") == set()
