from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from generator.build import Guide
    from generator.guide.lint import Allowed

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("here", deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def chromium_browser() -> Iterator[Browser]:
    from scripts.browser import NoBrowserError, browser

    with ExitStack() as stack:
        try:
            launched = stack.enter_context(browser())
        except NoBrowserError as error:
            (pytest.fail if os.environ.get("GEN_REQUIRE_BROWSER") == "1" else pytest.skip)(str(error))
        yield launched


@pytest.fixture(scope="session")
def linted() -> tuple[Guide, Allowed]:
    """Give the guide of the repository, built once for all tests, and what its lint was told to allow. Not to be changed."""
    from generator import build
    from generator.catalog import Catalog

    told: list[Allowed] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "lint", lambda _page, _ledger, allowed, **_: told.append(allowed))
        guide = build.build_guide(Catalog.open(ROOT), "apodex-mini", "rtx-5070")
    return guide, told[0]


@pytest.fixture(scope="session")
def guide(linted: tuple[Guide, Allowed]) -> Guide:
    """Give the guide of the repository. Not to be changed."""
    return linted[0]


def part_of_project(folder: Path, *pages: str) -> Path:
    """Copy templates and recipes, of whose models only those of some pages (`model/page`, or `model` for all of it), and no checks."""
    shutil.copytree(ROOT / "templates", folder / "templates")
    shutil.copytree(ROOT / "recipes", folder / "recipes", ignore=shutil.ignore_patterns("models", "checks"))
    for page in pages:
        model, _, name = page.partition("/")
        for path in (ROOT / "recipes" / "models" / model).iterdir():
            if not name or path.name.startswith(("model.", f"{name}.")):
                (folder / "recipes" / "models" / model).mkdir(parents=True, exist_ok=True)
                shutil.copy(path, folder / "recipes" / "models" / model / path.name)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give a copy of templates and recipes, one guide's, that a test may change."""
    return part_of_project(tmp_path, "apodex-mini")
