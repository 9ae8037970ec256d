"""What the scripts give in a browser is what `gen plan --json` prints: for settings drawn at random, to the byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from generator.errors import GenError
from generator.report.planned import planned
from generator.report.rows import plan_as_dict
from tests.planner.conftest import PAGES, Ask, data_of

pytestmark = pytest.mark.browser

SEED = 20_261_201
USUAL_TYPES = ("f16", "bf16", "q8_0", "q4_0", "q5_1")
CONTEXTS = (0, 512, 2048, 4096, 8192, 16_384, 20_000, 32_768, 65_536, 131_072)
WORDS = {
    "n_ctx": "-c",
    "type_k": "-ctk",
    "type_v": "-ctv",
    "n_ubatch": "-ub",
    "flash_attn": "-fa",
    "n_cpu_moe": "-ncmoe",
    "n_gpu_layers": "-ngl",
}


def drawn(random: Random, data: Mapping[str, Any]) -> dict[str, Any]:
    """Draw settings that a reader may choose on a page."""
    model, every = data["model"], data["engine"]["types"]
    type_k = random.choice((*USUAL_TYPES, random.choice(every)))
    settings = {
        "n_ctx": random.choice(CONTEXTS),
        "type_k": type_k,
        "type_v": random.choice((type_k, "f16", random.choice(every))),
        "n_ubatch": random.choice((4, 32, 64, 128, 256, 512, 512, 1024, 2048)),
        "flash_attn": random.choice(("on", "off", "auto")),
        "n_parallel": random.choice((None, 1, 1, 1, 2, 3, 4, 8)),
        "kv_unified": random.choice((True, False)),
        "n_gpu_layers": random.choice((99, 99, random.randint(0, model["blocks"] + 1))),
    }
    if model["experts"]:
        settings["n_cpu_moe"] = random.choice((0, random.randint(0, model["loaded"]), data["settings"]["n_cpu_moe"], 99))
    return settings


def flags(settings: Mapping[str, Any]) -> list[str]:
    """Write settings as somebody would type them."""
    words = [word for name, flag in WORDS.items() if name in settings for word in (flag, str(settings[name]))]
    slots = -1 if settings["n_parallel"] is None else settings["n_parallel"]
    return [*words, "-np", str(slots), "-kvu" if settings["kv_unified"] else "-no-kvu"]


def printed(page: str, settings: Mapping[str, Any], *, ladder: bool = False) -> dict[str, Any]:
    """Give what `gen plan --json` prints, without the notes, or that it refuses."""
    try:
        report = planned(page, flags(settings), card=None, policy=None, program="llama-server", gpus=None, build=None)
    except GenError as error:
        return {"refused": error.as_dict()}
    rows = plan_as_dict(report if ladder else replace(report, ladder=()))
    del rows["notes"]
    return rows if ladder else {name: value for name, value in rows.items() if name != "ladder"}


def compare(ask: Ask, count: int) -> None:
    random = Random(SEED)
    covered = 0
    for number in range(count):
        page = PAGES[number % len(PAGES)]
        settings = drawn(random, data_of(page))
        given = ask(page, "return planner.plan(data, given);", settings)
        assert given == printed(page, settings), f"{page} {' '.join(flags(settings))}"
        covered += "refused" not in given
    assert covered > count / 2


def test_random_settings_come_to_the_figures_of_gen_plan(ask: Ask) -> None:
    compare(ask, 60)


@pytest.mark.slow
def test_five_hundred_random_settings_do(ask: Ask) -> None:
    compare(ask, 500)


@pytest.mark.parametrize("page", ["gpt-oss-20b/rtx-5070", "qwen3-8b/apple-m4-16gb", "apodex-mini/rtx-5070"])
def test_the_ladder_has_the_rungs_of_gen_plan(ask: Ask, page: str) -> None:
    settings = {
        "n_ctx": 16_384,
        "type_k": "q4_0",
        "type_v": "q4_0",
        "n_ubatch": 1024,
        "flash_attn": "on",
        "n_parallel": 2,
        "kv_unified": True,
    }
    given = ask(page, "return planner.ladder(data, given);", settings)
    assert given == printed(page, settings, ladder=True)["ladder"]


def test_a_recipe_as_it_stands_needs_no_settings(ask: Ask) -> None:
    for page in PAGES:
        report = planned(page, [], card=None, policy=None, program="llama-server", gpus=None, build=None)
        rows = plan_as_dict(replace(report, ladder=()))
        given = ask(page, "return planner.plan(data, {});", None)
        assert given == {name: value for name, value in rows.items() if name not in {"notes", "ladder"}}
