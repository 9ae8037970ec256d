"""The published guide, as a reader meets it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, expect

from tests.browser.conftest import GUIDE

pytestmark = pytest.mark.browser

ESCAPING = """() => {
    const inside = element => element.getBoundingClientRect().right <= innerWidth + 1;
    const framed = element => getComputedStyle(element).overflowX !== 'visible' && inside(element);
    const held = element => element && (framed(element) || held(element.parentElement));
    const escaped = [...document.querySelectorAll('article *')].filter(element => !inside(element) && !held(element.parentElement));
    return escaped.map(element => element.outerHTML.slice(0, 120));
}"""
"""Gives the parts of the article that stick out of the window and are in no frame that scrolls."""


def figures(page: Page) -> list[dict[str, object]]:
    script = "images => images.map(i => ({src: i.src, width: i.naturalWidth, alt: i.alt, complete: i.complete}))"
    found: list[dict[str, object]] = page.locator("article img").evaluate_all(script)
    return found


def test_the_guide_opens_under_its_title(guide: Page) -> None:
    expect(guide.locator("article h1")).to_contain_text("RTX 5070")
    expect(guide.locator("article h1")).to_have_count(1)


def test_every_figure_is_drawn_and_described(guide: Page) -> None:
    drawn = figures(guide)
    assert drawn, "the guide shows no figure"
    for figure in drawn:
        assert figure["complete"], figure
        assert figure["width"], figure
        assert figure["alt"], figure


def test_the_copy_button_copies_the_run_command(context: BrowserContext, guide: Page, address: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    block = guide.locator("pre", has_text=re.compile(r"^\s*(\S*/)?llama-server ", re.MULTILINE)).first
    block.hover()
    block.get_by_role("button").first.click()
    expect(guide.locator(".md-dialog")).to_contain_text("Copied")
    copied = str(guide.evaluate("navigator.clipboard.readText()"))
    assert copied.strip() == block.locator("code").inner_text().strip()
    assert "llama-server" in copied


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("path", ["", GUIDE])
def test_nothing_overflows_sideways(context: BrowserContext, address: str, path: str, width: int) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/{path}")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.evaluate(ESCAPING) == []


def test_a_number_leads_to_its_row_in_the_ledger(guide: Page) -> None:
    link = guide.locator('article p a[href^="#"]:not(.headerlink)', has_text=re.compile(r"\d")).first
    target = (link.get_attribute("href") or "").removeprefix("#")
    link.click()
    row = guide.locator(f'[id="{target}"]')
    expect(row).to_be_in_viewport()


def test_the_colour_scheme_can_be_switched_and_is_remembered(guide: Page) -> None:
    body = guide.locator("body")
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    guide.get_by_title("Switch to light mode").click()
    guide.get_by_title("Switch to dark mode").click()
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    guide.reload()
    expect(body).to_have_attribute("data-md-color-scheme", "slate")


def test_a_dark_system_gives_a_dark_page(guide: Page) -> None:
    guide.emulate_media(color_scheme="dark")
    expect(guide.locator("body")).to_have_attribute("data-md-color-scheme", "slate")


def test_search_finds_the_guide(guide: Page, address: str) -> None:
    guide.goto(f"{address}/")
    guide.locator("input[name=query]").click()
    guide.locator("input[name=query]").press_sequentially("apodex 5070")
    found = guide.locator(".md-search-result__link").first
    expect(found).to_have_attribute("href", re.compile(re.escape(GUIDE)))


def test_a_visit_leaves_the_console_clean_and_asks_nothing_of_a_third_party(context: BrowserContext, address: str) -> None:
    said: list[str] = []
    asked: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        said.append(f"{message.type}: {message.text}")

    def requested(request: Request) -> None:
        asked.append(request.url)

    page = context.new_page()
    page.on("console", heard)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(f"failed: {request.url}"))
    page.on("response", lambda response: said.append(f"{response.status}: {response.url}") if response.status >= 400 else None)
    context.on("request", requested)
    page.goto(f"{address}/", wait_until="networkidle")
    page.goto(f"{address}/{GUIDE}", wait_until="networkidle")
    page.evaluate("window.scrollTo(0, document.scrollingElement.scrollHeight)")
    page.locator("input[name=query]").click()
    page.locator("input[name=query]").press_sequentially("apodex")
    page.locator(".md-search-result__link").first.wait_for()
    page.wait_for_load_state("networkidle")
    assert said == []
    assert [url for url in asked if not url.startswith((f"{address}/", "data:", "blob:"))] == []
