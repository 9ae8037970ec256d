"""`n_cpu_moe: auto` in a recipe."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from generator.build import build_guide, gather
from generator.catalog import Catalog
from generator.errors import InputError
from generator.report import planned
from generator.solve.auto import Chosen, settled
from generator.specs import Recipe

RECIPE = "recipes/models/apodex-mini/rtx-5070.yml"
PAIR = ("apodex-mini", "rtx-5070")


@pytest.fixture
def catalog(project: Path) -> Catalog:
    """Give a project whose recipe leaves its depth open."""
    change(project, "n_cpu_moe: 26", "n_cpu_moe: auto")
    return Catalog.open(project)


def change(project: Path, old: str, new: str) -> None:
    path = project / RECIPE
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def chosen(recipe: Recipe, catalog: Catalog) -> Chosen:
    found, how = settled(catalog, recipe)
    assert how is not None
    assert found.settings["n_cpu_moe"] == how.n_cpu_moe
    return how


def test_the_published_recipe_gets_the_published_depth(catalog: Catalog) -> None:
    # The published ladder: 25@65536 with f16/f16 is 9.964 GiB, 36 MiB under the ceiling and not more than 256; 26 is 9.477 GiB
    how = chosen(catalog.recipe(*PAIR), catalog)
    assert how == Chosen(26, "flash attention off, cache in f16", 65_536, ("f16", "f16"), None)


def test_without_fallbacks_the_recipe_alone_decides(catalog: Catalog) -> None:
    # 24@65536 with q8_0/q8_0 is 9.799 GiB, 206 MiB under the ceiling: less than the margin, and enough without one
    alone = replace(catalog.recipe(*PAIR), fallbacks=())
    assert chosen(alone, catalog).n_cpu_moe == 25
    nothing = replace(alone.fallback_margin, value=0)
    assert chosen(replace(alone, fallback_margin=nothing), catalog).n_cpu_moe == 24


def test_a_compute_buffer_beyond_the_reserve_makes_it_deeper(catalog: Catalog) -> None:
    # The ceiling alone would do with 34 for the whole trained context (see the guide's own rule); without flash attention its scores
    # are 262,144 x 128 x 16 x 4 bytes, 2 GiB, and the reserve is half of that
    recipe = catalog.recipe(*PAIR)
    how = chosen(replace(recipe, settings={**recipe.settings, "n_ctx": 262_144}), catalog)
    assert how.n_cpu_moe > 34
    assert how.compute is not None
    assert int(how.compute) > 2**31


def test_a_stated_depth_is_left_alone() -> None:
    catalog = Catalog.open(Path(__file__).parents[2])
    recipe = catalog.recipe(*PAIR)
    assert settled(catalog, recipe) == (recipe, None)


def test_where_no_depth_fits_the_line_is_named(catalog: Catalog) -> None:
    change(catalog.root, "reserve: engine", "reserve: 9 GiB")
    with pytest.raises(InputError, match="finds no depth") as error:
        gather(catalog, *PAIR)
    assert error.value.where.startswith(f"{RECIPE}:11")
    assert error.value.exit_code == 2


def test_a_fallback_cannot_leave_its_depth_open(catalog: Catalog) -> None:
    change(catalog.root, "n_ubatch: 128}", "n_ubatch: 128, n_cpu_moe: auto}")
    with pytest.raises(InputError, match="auto in a fallback"):
        gather(catalog, *PAIR)


def test_page_and_ledger_say_the_depth_and_its_reason(catalog: Catalog) -> None:
    guide = build_guide(catalog, *PAIR)
    page, ledger = guide.files[guide.page], json.loads(guide.files["guides/apodex-mini/rtx-5070/guide.json"])
    assert "-ncmoe 26" in page
    assert "auto" not in page.split("```")[1]
    assert "one block fewer misses by [219 MiB]" in page  # 256 - 36.3 MiB
    row = ledger["numbers"]["settings.n_cpu_moe"]
    assert (row["value"], row["kind"]) == (26, "derived")
    assert {"budget.ceiling", "fallback.margin"} <= set(row["inputs"])
    assert ledger["recipe"]["settings"]["n_cpu_moe"] == 26
    assert ledger["recipe"]["chosen"] == ["n_cpu_moe"]


def test_two_builds_give_the_same(catalog: Catalog) -> None:
    assert build_guide(catalog, *PAIR).files == build_guide(Catalog.open(catalog.root), *PAIR).files


def test_a_plan_of_the_recipe_has_the_depth_too(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(catalog.root)
    monkeypatch.delenv("GEN_ROOT", raising=False)
    report = planned("/".join(PAIR), [], card=None, policy=None, program="llama-server", gpus=1, build=None)
    assert report.plan.settings.n_cpu_moe == 26
