from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from generator.guide.ledger import Book
from generator.guide.numbers import Subject, write_numbers
from generator.guide.pictures import Picture, pictures
from generator.specs.recipe import Ladder

TITLE = "Apodex 1.1 mini on RTX 5070"


@pytest.fixture(scope="session")
def drawn(numbers: Book, subject: Subject) -> dict[str, Picture]:
    """Give the figures of the repository's guide."""
    return pictures(numbers, subject, TITLE)


def words(picture: Picture) -> str:
    """Give all text of a figure."""
    return " ".join(" ".join(ET.fromstring(picture.svg).itertext()).split())


def test_a_guide_has_its_three_figures_each_with_words_for_who_cannot_see_it(drawn: dict[str, Picture]) -> None:
    assert list(drawn) == ["vram", "ladder", "crossover"]
    for name, picture in drawn.items():
        assert picture.name == name
        assert len(picture.alt) > 30
        assert not re.search(r"\d", picture.alt)
        assert TITLE in words(picture)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("vram", ["budget.total", "budget.ceiling", "budget.slack", "budget.usable", "budget.card", "budget.reserve"]),
        (
            "vram",
            [
                "weights.card_without_embedding",
                "kv.total.q8_0/q8_0",
                "recurrent.total",
                "weights.host",
                "weights.input_embedding",
                "prompt_cache.limit",
                "host.machine",
            ],
        ),
        ("ladder", ["ladder.26@65536.q8_0/q8_0", "ladder.26@65536.f16/f16", "ladder.24@65536.q8_0/q8_0", "ladder.30@262144.q8_0/f16"]),
        ("crossover", ["crossover.0", "crossover.65536", "crossover.131072"]),
    ],
)
def test_a_figure_says_what_the_ledger_says(drawn: dict[str, Picture], numbers: Book, name: str, keys: list[str]) -> None:
    said = words(drawn[name])
    for key in keys:
        assert numbers.text(key) in said, key


@pytest.mark.parametrize("policy", ["engine", "published"])
def test_the_bar_leaves_the_input_embedding_out_under_either_policy(subject: Subject, numbers: Book, policy: str) -> None:
    given = replace(subject, recipe=replace(subject.recipe, budget=replace(subject.recipe.budget, policy=policy)), _kept={})
    bar = words(pictures(write_numbers(given), given, TITLE)["vram"])
    assert numbers.text("weights.card_without_embedding") in bar


def test_a_recipe_without_ladder_or_depths_has_figures_around_its_own_settings(subject: Subject) -> None:
    bare = replace(subject, recipe=replace(subject.recipe, ladder=Ladder(), depths=()), _kept={})
    drawn = pictures(write_numbers(bare), bare, TITLE)
    assert list(drawn) == ["vram", "ladder", "crossover"]
    assert "32,768" in words(drawn["crossover"])  # half of the context, between an empty and a full one
    assert "23" in words(drawn["ladder"]).split() and "29" in words(drawn["ladder"]).split()  # three steps on either side of 26


def test_a_title_is_text_in_a_figure_whatever_it_holds(subject: Subject, numbers: Book) -> None:
    hostile = '</title><script>alert("1 & 2")</script>'
    for picture in pictures(numbers, subject, hostile).values():
        root = ET.fromstring(picture.svg)
        assert hostile in "".join(root.itertext())
        assert not [element for element in root.iter() if element.tag.endswith("script")]
