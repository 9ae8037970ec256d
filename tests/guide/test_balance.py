"""What several cards hold beside one another: room left while a part waits in system memory, and buffers beyond the reserve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from generator import build
from generator.catalog import Catalog
from generator.cli import main
from generator.guide.balance import buffers_beside, unused_room
from generator.guide.ledger import Book
from generator.guide.numbers import Subject, write_numbers
from generator.guide.numbers.budget import fits
from generator.quantity import BYTE, ONE, Quantity
from tests.conftest import part_of_project
from tests.guide.conftest import ROOT

GIB = 2**30
OnTwo = Callable[..., tuple[Subject, Book]]


@pytest.fixture
def on_two(subject: Subject) -> OnTwo:
    """Give the guide's recipe on two of its card, under other settings; None takes one away. A card has 10 GiB under its ceiling."""

    def changed(gpus: int = 2, **settings: object) -> tuple[Subject, Book]:
        written: dict[str, Any] = {name: value for name, value in {**subject.recipe.settings, **settings}.items() if value is not None}
        other = subject.under(replace(subject.recipe, gpus=gpus, settings=written))
        return other, write_numbers(other)

    return changed


def test_a_card_that_is_left_empty_by_the_offload_is_warned_of(on_two: OnTwo) -> None:
    """41 layers split evenly put blocks 0 to 20 on the first card, and the experts of 24 blocks wait in system memory."""
    first, second = unused_room(*on_two(n_cpu_moe=24))
    assert first.path == second.path == "settings.n_cpu_moe"
    assert first.file.endswith("apodex-mini/rtx-5070.yml")
    # the experts of block 23 are 452,984,832 bytes (seed figures), 0.42 GiB
    assert first.message.startswith("card 0 has 8.8") and first.message.endswith("a block in system memory takes 0.42 GiB")
    assert "tensor_split" in first.remedy


def test_cards_that_are_full_to_less_than_a_block_are_not(on_two: OnTwo) -> None:
    subject, book = on_two(n_cpu_moe=3, tensor_split="21,20")
    assert all(9.2 * GIB < int(book[f"gpu.{card}.held"]) < 10 * GIB for card in (0, 1))
    assert unused_room(subject, book) == ()


def test_layers_in_system_memory_while_there_is_room_are_warned_of(on_two: OnTwo) -> None:
    rows = unused_room(*on_two(n_cpu_moe=None, n_gpu_layers=30))
    assert [row.path for row in rows] == ["settings.n_gpu_layers"] * 2
    assert "raise n_gpu_layers" in rows[0].remedy


def test_one_card_and_a_run_that_keeps_nothing_in_system_memory_have_no_room_to_use(on_two: OnTwo) -> None:
    assert unused_room(*on_two(gpus=1, n_cpu_moe=40)) == ()
    assert unused_room(*on_two(gpus=4, n_cpu_moe=None)) == ()


def test_a_recipe_fits_where_it_fits_on_each_card() -> None:
    """The second card holds 9 of 11 usable; on the first 8 and 2.5 of buffers are within them, 3.5 are not."""

    def book(compute: float) -> Book:
        made = Book()
        sizes = {"budget.total": 9.0, "budget.ceiling": 10.0, "budget.usable": 11.0, "compute.card": 0.5}
        sizes |= {"gpu.0.held": 8.0, "gpu.0.compute": compute, "gpu.1.held": 9.0, "gpu.1.compute": 0.5}
        for key, size in sizes.items():
            made.add(key, Quantity.constant(int(size * GIB), BYTE, key))
        made.add("settings.gpus", Quantity.constant(2, ONE, "cards"))
        return made

    assert fits(book(2.5)) == "yes"
    assert fits(book(3.5)) == "no"


def test_buffers_beyond_the_reserve_on_the_card_that_holds_less_are_told(on_two: OnTwo) -> None:
    catalog = Catalog.open(ROOT)
    subject = build.subject_of(catalog, build.gather(catalog, "gemma-3-27b", "2x-rtx-3060-12gb"))
    book = write_numbers(subject)
    assert int(book["gpu.0.compute"]) > GIB > int(book["gpu.1.compute"])
    assert buffers_beside(subject, book) == [{"index": 0, "fit": True}]
    assert buffers_beside(*on_two(n_cpu_moe=24)) == []
    assert buffers_beside(*on_two(gpus=1)) == []


def test_a_page_of_two_cards_says_so() -> None:
    page = build.build_guide(Catalog.open(ROOT), "gemma-3-27b", "2x-rtx-3060-12gb").files["guides/gemma-3-27b/2x-rtx-3060-12gb.md"]
    [line] = [line for line in page.splitlines() if line.startswith("The working buffers of `CUDA0`")]
    assert line.endswith("That card holds less than the fuller one, so they fit into what is usable of it.")
    assert "| held, without buffers |" in page
    assert "-ncmoe" not in page.partition("## What each card holds")[2].partition("\n## ")[0]


def test_a_page_of_two_cards_says_whom_the_offload_empties() -> None:
    guide = build.build_guide(Catalog.open(ROOT), "glm-4.5-air", "2x-rtx-3090")
    section = guide.files["guides/glm-4.5-air/2x-rtx-3090.md"].partition("## What each card holds")[2]
    assert "the first blocks are on the first card: every step frees room there and nowhere else" in section
    assert "That is why `-ts` gives the first card more layers here" in section
    assert guide.warnings == ()


@pytest.mark.parametrize(
    ("model", "card", "said"),
    [
        ("nemotron-3-nano-30b-a3b", "rtx-4070", "so some steps move nothing: [23](#experts.blocks) of the [52](#blocks.loaded) blocks"),
        ("kimi-linear-48b-a3b", "rtx-4090", "the first block of this model has none, so the first step moves nothing."),
        ("glm-4.5-air", "rtx-4090", "Routers, shared experts, attention and every norm have other names and stay on the card"),
    ],
)
def test_what_an_offload_leaves_where_it_is_told_by_the_model(model: str, card: str, said: str) -> None:
    assert said in build.build_guide(Catalog.open(ROOT), model, card).files[f"guides/{model}/{card}.md"]


def test_a_build_warns_and_says_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    project = part_of_project(tmp_path, "glm-4.5-air")
    monkeypatch.chdir(project)
    monkeypatch.delenv("GEN_ROOT", raising=False)
    recipe = project / "recipes/models/glm-4.5-air/2x-rtx-3090.yml"
    recipe.write_text(recipe.read_text(encoding="utf-8").replace("n_cpu_moe: 20", "n_cpu_moe: 30"), encoding="utf-8")
    assert main(["build", "glm-4.5-air", "2x-rtx-3090"]) == 0
    said = capsys.readouterr().err
    assert "gen: warning: recipes/models/glm-4.5-air/2x-rtx-3090.yml:8: settings.n_cpu_moe: card 0 has " in said
    assert "\n  divide the layers with tensor_split" in said
