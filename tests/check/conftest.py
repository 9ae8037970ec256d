from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from generator.catalog import Catalog
from generator.check.build import CheckPage, build_check, gather
from generator.check.numbers import Worked, work_out
from generator.check.ways import write_ways

ROOT = Path(__file__).resolve().parents[2]
CLAIM = ("qwen3.6-35b-a3b", "rtx-3060")
DENSE = ("qwen3-8b", "rtx-4070-speed")

Altered = Callable[..., Worked]
Built = Callable[..., CheckPage]


def worked_out(root: Path, model: str, name: str) -> Worked:
    """Give all numbers of a check of a project folder."""
    worked = work_out(gather(Catalog.open(root), model, name))
    write_ways(worked)
    return worked


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give a copy of recipes and templates, every model's, that a test may change."""
    for name in ("recipes", "templates"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture(scope="session")
def claim() -> Worked:
    """Give the numbers of the claim about a mixture. Not to be changed."""
    return worked_out(ROOT, *CLAIM)


@pytest.fixture(scope="session")
def dense() -> Worked:
    """Give the numbers of the claim about a dense model. Not to be changed."""
    return worked_out(ROOT, *DENSE)


@pytest.fixture(scope="session")
def page() -> CheckPage:
    """Give the page of the claim about a mixture. Not to be changed."""
    return build_check(Catalog.open(ROOT), *CLAIM)


def rewrite(project: Path, changes: tuple[tuple[str, str], ...], which: tuple[str, str] = CLAIM) -> None:
    """Change a check's file, each text once."""
    path = project / "recipes" / "checks" / which[0] / f"{which[1]}.yml"
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def altered(project: Path) -> Altered:
    """Give the numbers of the claim with texts of its file replaced."""

    def alter(*changes: tuple[str, str], which: tuple[str, str] = CLAIM) -> Worked:
        rewrite(project, changes, which)
        return worked_out(project, *which)

    return alter


@pytest.fixture
def rebuilt(project: Path) -> Built:
    """Give the page of the claim with texts of its file replaced."""

    def rebuild(*changes: tuple[str, str], which: tuple[str, str] = CLAIM) -> CheckPage:
        rewrite(project, changes, which)
        return build_check(Catalog.open(project), *which)

    return rebuild
