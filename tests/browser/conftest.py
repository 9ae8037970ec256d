from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from scripts.browser import NoBrowserError, browser, build_site, served

GUIDE = "guides/apodex-mini/rtx-5070/"


@pytest.fixture(scope="session")
def chromium_browser() -> Iterator[Browser]:
    with ExitStack() as stack:
        try:
            launched = stack.enter_context(browser())
        except NoBrowserError as error:
            (pytest.fail if os.environ.get("GEN_REQUIRE_BROWSER") == "1" else pytest.skip)(str(error))
        yield launched


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site as mkdocs builds it, on the loopback address."""
    folder = tmp_path_factory.mktemp("public")
    built = build_site(folder)
    assert built.returncode == 0, built.stderr
    with served(folder) as url:
        yield url


@pytest.fixture
def context(chromium_browser: Browser) -> Iterator[BrowserContext]:
    fresh = chromium_browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light", reduced_motion="reduce")
    fresh.set_default_timeout(10_000)
    yield fresh
    fresh.close()


@pytest.fixture
def guide(context: BrowserContext, address: str) -> Page:
    """The guide, open in a window of its own."""
    page = context.new_page()
    page.goto(f"{address}/{GUIDE}")
    return page
