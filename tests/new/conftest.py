from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from generator.catalog import Catalog
from generator.new.command import Asked, Outcome, new
from tests.conftest import part_of_project
from tests.emulator import Clock, Emulator, Repository, day

TODAY = date(2026, 12, 1)

New = Callable[..., Outcome]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give a copy of templates and of one recipe, and of models that have none, of which no tensor table is known."""
    bare = ("glm-4.7-flash", "qwen3-8b", "mistral-small-3.2-24b", "kimi-linear-48b-a3b")
    return part_of_project(tmp_path, "apodex-mini", *(f"{name}/none" for name in bare))


@pytest.fixture
def make(project: Path) -> New:
    """Run `gen new` in a copy of the project."""

    def run(source: str | Path, *cards: str, quant: str = "", name: str = "") -> Outcome:
        return new(Catalog.open(project), Asked(str(source), quant, cards, name), TODAY)

    return run


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """Give an empty Hub, selected by the environment, to a client without a token."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with Emulator(clock=Clock(day("2026-12-01"))) as running:
        for key, value in running.environment(tokens=False).items():
            monkeypatch.setenv(key, value)
        yield running


@pytest.fixture
def repository(emulator: Emulator) -> Repository:
    """Give an empty repository of a publisher of quantised files."""
    repository = emulator.scenario.repository("someone/Some_Model-2-Mini-GGUF")
    repository.card = {"license": "mit", "base_model": "vendor/Model-2-Mini"}
    return repository
