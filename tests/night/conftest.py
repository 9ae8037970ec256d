from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from generator import cli
from generator.catalog import Catalog
from tests.conftest import part_of_project
from tests.emulator import Clock, Emulator, Scenario, day
from tests.emulator.catalogue import scenario_from_catalogue
from tests.night.world import Morning, World

ROOT = Path(__file__).resolve().parents[2]
FIRST = day("2026-12-01T03:17")
"""The first night on which the sources are asked."""


@dataclass(frozen=True)
class Settled:
    """A project on the morning after its first live night, and its sources as they were. Not to be changed, but copied."""

    root: Path
    emulator: Emulator
    clock: Clock
    scenario: Scenario
    first: Morning


def project(folder: Path) -> Path:
    """Give a copy of everything a night works on: one recipe, and the site as a build of it leaves it."""
    part_of_project(folder, "apodex-mini")
    shutil.copytree(ROOT / "site" / "assets", folder / "site" / "assets")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()):
        patch.setenv("GEN_ROOT", str(folder))
        assert cli.main(["build", "--all"]) == 0
    return folder


@pytest.fixture(scope="session")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settled]:
    root = project(tmp_path_factory.mktemp("settled") / "root")
    clock = Clock(FIRST)
    with Emulator(scenario_from_catalogue(Catalog.open(root)), clock=clock) as emulator:
        with pytest.MonkeyPatch.context() as patch:
            first = World(root, emulator, clock, patch).night(FIRST)
        yield Settled(root, emulator, clock, emulator.scenario, first)


def copied(settled: Settled, folder: Path, patch: pytest.MonkeyPatch) -> World:
    """Give a world of one's own, as it is on the morning after the first night."""
    root = folder / "root"
    shutil.copytree(settled.root, root)
    settled.emulator.scenario = settled.scenario.copy()
    settled.emulator.budgets.refill()
    settled.emulator.reset_log()
    settled.clock.go_to(FIRST + timedelta(hours=5))
    return World(root, settled.emulator, settled.clock, patch)


@pytest.fixture
def world(settled: Settled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return copied(settled, tmp_path, monkeypatch)
