from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from generator.build import gather, subject_of
from generator.catalog import Catalog
from generator.guide.context import Sources
from generator.guide.numbers.subject import Subject
from generator.guide.planner import planner_json
from scripts.browser import served

ROOT = Path(__file__).resolve().parents[2]

PAGES = (
    *("llama-3.1-8b/rtx-3070", "gpt-oss-20b/rtx-5070", "gpt-oss-20b/arc-b580", "qwen3-8b/apple-m4-16gb", "qwen3.6-35b-a3b/rtx-3060-12gb"),
    *("gemma-4-26b-a4b/rx-9070-xt", "glm-4.7-flash/rtx-3060-12gb", "lfm2-8b-a1b/rtx-3070", "kimi-linear-48b-a3b/2x-rtx-3090"),
    *("granite-4.0-h-small/rtx-4080", "nemotron-3-nano-30b-a3b/rtx-4070", "glm-4.5-air/2x-rtx-3090", "qwen3.8-27b/2x-rtx-4060-ti-16gb"),
    "apodex-mini/rtx-5070",
)
"""Pages of models that differ: dense, experts, windows, latents, states of every kind; one card and two, of four vendors."""

Ask = Callable[[str, str, Any], Any]


@cache
def subject(page: str) -> tuple[Sources, Subject]:
    """Give what a page is made from."""
    catalog = Catalog.open(ROOT)
    sources = gather(catalog, *page.split("/"))
    return sources, subject_of(catalog, sources)


@cache
def data_of(page: str) -> dict[str, Any]:
    """Give the data of a page as a browser reads them."""
    text = planner_json(*subject(page))
    assert text is not None
    made: dict[str, Any] = json.loads(text)
    return made


@pytest.fixture(scope="session")
def ask(chromium_browser: Browser) -> Iterator[Ask]:
    """Give what runs the scripts in the browser: for a page, the body of a function of `data`, `given` and their modules."""
    with served(ROOT / "site" / "assets" / "planner") as address:
        opened = chromium_browser.new_page()
        opened.goto(f"{address}/")
        opened.evaluate("""async () => {
            const files = ['plan', 'settings', 'speed', 'support', 'tensor'];
            const loaded = await Promise.all(files.map((file) => import(`/${file}.js`)));
            window.planner = Object.assign({}, ...loaded);
            window.pages = {};
        }""")
        known: set[str] = set()

        def asked(page: str, body: str, given: Any) -> Any:
            if page not in known:
                opened.evaluate("([page, data]) => { window.pages[page] = data; }", [page, data_of(page)])
                known.add(page)
            return opened.evaluate(f"([page, given]) => {{ const data = window.pages[page]; {body} }}", [page, given])

        yield asked
        opened.close()
