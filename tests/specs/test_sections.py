"""Sections of a page in a recipe's own words: read, and refused where they would stand nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from generator.errors import Problem

Changed = Callable[..., Any]
Problems = Callable[..., tuple[Problem, ...]]

END = "issues: [llama.cpp#7]\n"


def test_a_section_replaces_the_pages_own_or_follows_one(changed: Changed) -> None:
    recipe = changed(
        "recipe",
        END,
        END + "sections:\n  speed:\n    text: |\n      Own words.\n  noise: {title: How loud, after: speed, text: Very.}\n",
    )
    assert list(recipe.sections) == ["speed", "noise"]
    speed, noise = recipe.sections.values()
    assert (speed.text.text.strip(), speed.title, speed.after) == ("Own words.", "", "")
    assert speed.text.line == 43
    assert (noise.text.text, noise.title, noise.after) == ("Very.", "How loud", "speed")


@pytest.mark.parametrize(
    ("sections", "path", "message", "remedy"),
    [
        ("  spede: {text: A.}\n", "sections.spede", "there is no section 'spede' to replace", "did you mean 'speed'"),
        ("  noise: {text: A.}\n", "sections.noise", "there is no section 'noise' to replace", "a new one needs `title` and `after`"),
        ("  noise: {text: A., title: Noise}\n", "sections.noise", "there is no section 'noise' to replace", "`title` and `after`"),
        (
            "  noise: {text: A., title: Noise, after: spede}\n",
            "sections.noise.after",
            "'spede' is none of its words",
            "did you mean 'speed'",
        ),
        (
            "  speed: {text: A., after: run}\n",
            "sections.speed",
            "'speed' is a section of the page, and stays where it is",
            "leave out `after`",
        ),
        ("  speed: {title: Speed}\n", "sections.speed.text", "the key 'text' is missing", ""),
        ("  Speed: {text: A.}\n", "sections.Speed", "cannot be a key here", ""),
        ("  speed: {text: A., txet: B.}\n", "sections.speed.txet", "there is no key 'txet' here", "did you mean 'text'"),
    ],
)
def test_a_section_that_would_stand_nowhere_is_one_clear_error(
    problems: Problems, sections: str, path: str, message: str, remedy: str
) -> None:
    (problem,) = problems("recipe", END, f"{END}sections:\n{sections}")
    assert (problem.path, problem.line) == (path, 41)
    assert message in problem.message
    assert remedy in problem.remedy


def test_every_section_that_would_stand_nowhere_is_told_at_once(problems: Problems) -> None:
    found = problems("recipe", END, f"{END}sections:\n  one: {{text: A.}}\n  two: {{text: B.}}\n")
    assert [(each.path, each.line) for each in found] == [("sections.one", 41), ("sections.two", 42)]
