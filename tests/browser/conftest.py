from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from scripts.browser import build_site, served

GUIDE = "guides/apodex-mini/rtx-5070/"


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
