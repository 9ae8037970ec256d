"""Flags to copy, the fragment of an address, and ceilings on speed, against those that a guide is made with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from generator.guide.numbers import write_numbers
from generator.guide.numbers.speed import depths
from generator.memory.settings import to_arguments
from tests.planner.conftest import PAGES, Ask, subject

pytestmark = pytest.mark.browser

CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"n_ctx": 8192, "type_k": "f16", "type_v": "f16"},
    {"n_ctx": 4096, "n_gpu_layers": 12, "flash_attn": "off", "type_k": "f16", "type_v": "f16"},
)


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("page", PAGES)
def test_flags_are_those_of_the_recipe_with_the_changes_in_their_places(ask: Ask, page: str, changes: dict[str, Any]) -> None:
    _, about = subject(page)
    wanted = to_arguments({**about.recipe.settings, **changes})
    assert ask(page, "return planner.command(data, given);", changes) == [list(words) for words in wanted]


def test_a_setting_that_the_recipe_leaves_alone_comes_behind(ask: Ask) -> None:
    given = ask("llama-3.1-8b/rtx-3070", "return planner.command(data, given);", {"kv_unified": True, "n_ubatch": 128, "n_parallel": None})
    assert given[-2:] == [["-ub", "128"], ["-kvu"]]
    assert ["-np", "1"] not in given


def test_the_command_that_stands_in_for_a_page_names_it_and_what_was_changed(ask: Ask) -> None:
    changes = {"n_ctx": 8192, "n_parallel": None, "kv_unified": False, "flash_attn": "off"}
    words = ask("llama-3.1-8b/rtx-3070", "return planner.genPlan(data, given);", changes)
    assert words == ["gen", "plan", "llama-3.1-8b/rtx-3070", "-c", "8192", "-np", "-1", "-no-kvu", "-fa", "off"]


def test_a_fragment_says_what_differs_and_is_read_again(ask: Ask) -> None:
    changes = {"n_ctx": 8192, "type_k": "q4_0", "n_parallel": None, "kv_unified": True, "n_gpu_layers": 12}
    text = ask("llama-3.1-8b/rtx-3070", "return planner.printState(data, given);", changes)
    assert text == "n_gpu_layers=12&n_ctx=8192&n_parallel=auto&kv_unified=true&type_k=q4_0"
    assert ask("llama-3.1-8b/rtx-3070", "return planner.parseState(data, given);", f"#{text}") == changes


@pytest.mark.parametrize(
    "text", ["", "#", "n_ctx", "n_ctx=", "n_ctx=-1", "n_ctx=1e9", "type_k=q9", "flash_attn=1", "x=1", "a=b=c", "toString=1"]
)
def test_a_fragment_that_says_nothing_changes_nothing(ask: Ask, text: str) -> None:
    assert ask("llama-3.1-8b/rtx-3070", "return planner.parseState(data, given);", text) == {}


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("page", PAGES)
def test_ceilings_are_those_a_guide_would_show(ask: Ask, page: str, changes: dict[str, Any]) -> None:
    _, about = subject(page)
    changed = about.under(replace(about.recipe, settings={**about.recipe.settings, **changes}))
    book = write_numbers(changed)
    given = ask(page, "return planner.ceilings(data, given);", changes)
    kinds = [kind.name for kind in about.recipe.memory_kinds]
    places = ["", *(f"{index}." for index in range(len(kinds)))]
    keys = [f"memory.{index}.ceiling" for index in range(len(kinds))]
    keys += [f"speed.ceiling.{place}{depth}" for place in places for depth in depths(changed)]
    found = {f"memory.{kinds.index(row['kind'])}.ceiling": row["rate"] for row in given["host"]}
    for row in given["card"]:
        place = "" if row["kind"] is None else f"{kinds.index(row['kind'])}."
        found[f"speed.ceiling.{place}{row['depth']}"] = row["rate"]
    assert {key: f"{rate:,} tok/s" for key, rate in found.items()} == {key: book.text(key, "tok/s", 0) for key in keys if key in book}
