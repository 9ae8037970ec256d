"""The whole catalogue at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.cli import main

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_every_committed_page_is_what_a_build_writes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GEN_ROOT", str(ROOT))
    assert main(["build", "--all", "--check"]) == 0, capsys.readouterr().err
