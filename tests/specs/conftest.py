"""The sample catalogue, and files of it with one thing changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from generator.errors import Problem, SpecErrors
from generator.specs import load_card, load_engine, load_issue, load_model, load_recipe

SAMPLE = Path(__file__).parents[1] / "catalogue" / "recipes"
FILES: dict[str, tuple[str, Callable[[Path, str], Any]]] = {
    "card": ("cards/tiny-8.yml", load_card),
    "engine": ("engines/llama.cpp/b100.yml", load_engine),
    "model": ("models/tiny/model.yml", load_model),
    "recipe": ("models/tiny/tiny-8.yml", load_recipe),
    "issue": ("issues/llama.cpp/7.md", load_issue),
}

Changed = Callable[..., Any]
Problems = Callable[..., tuple[Problem, ...]]


@pytest.fixture
def sample() -> Callable[[str], Any]:
    """Load a file of the sample catalogue by its spec type."""
    return lambda kind: FILES[kind][1](SAMPLE / FILES[kind][0], FILES[kind][0])


@pytest.fixture
def changed(tmp_path: Path) -> Changed:
    """Load a file of the sample catalogue with pieces of its text replaced: (kind, old, new, old, new, ...)."""

    def load(kind: str, *pairs: str) -> Any:
        name, loader = FILES[kind]
        text = (SAMPLE / name).read_text(encoding="utf-8")
        for old, new in zip(pairs[::2], pairs[1::2], strict=True):
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the sample"
            text = text.replace(old, new)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return loader(path, name)

    return load


@pytest.fixture
def problems(changed: Changed) -> Problems:
    """Give the problems of a changed file."""

    def of(kind: str, *pairs: str) -> tuple[Problem, ...]:
        with pytest.raises(SpecErrors) as caught:
            changed(kind, *pairs)
        return caught.value.problems

    return of
