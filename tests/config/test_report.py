"""`gen plan` of a recipe whose weights are an estimate."""

from __future__ import annotations

import json
from typing import Any

import pytest

from generator.catalog import Catalog
from generator.cli import main
from generator.planning import estimate_of
from tests.memory.models import ROOT


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("GEN_ROOT", raising=False)


def plan(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["plan", *words]) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plan(capsys, "--json", *words))
    return found


def test_a_dense_model_is_off_by_a_part_of_its_weights_and_never_by_more_than_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    half = as_json(capsys, "qwen3-8b/rtx-3070", "--", "-ngl", "18", "-c", "4096")
    weights = half["devices"][1]["weights"]
    assert half["on_card_highest"] == half["on_card"] + -(-weights * 8 // 100)
    whole = as_json(capsys, "qwen3-8b/rtx-3070", "--", "-ngl", "99", "-c", "4096")
    weights, file = whole["devices"][1]["weights"], 5027783488  # recipes/models/qwen3-8b/model.yml
    assert weights * 1.08 > file
    assert whole["on_card_highest"] == whole["on_card"] - weights + file
    assert "an estimate, no tensor table is known: weights within 8 %" in whole["notes"]


@pytest.mark.parametrize("policy", ["engine", "published"])
def test_experts_are_off_by_a_part_of_all_of_them_and_the_rest_by_a_part_of_itself(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = as_json(capsys, "granite-4.0-h-small/rtx-4090", "--policy", policy, "--", "-ngl", "99", "-ncmoe", "10", "-c", "4096")
    estimate = estimate_of(Catalog.open(ROOT), "granite-4.0-h-small", "Q4_K_M")
    assert estimate is not None
    experts = [tensor for tensor in estimate.model.tensors if "_exps." in tensor.name]
    on_card = sum(int(tensor.size) for tensor in experts if (tensor.block or 0) >= 10)
    weights = report["devices"][1]["weights"]
    if policy == "published":
        weights += next(int(tensor.size) for tensor in estimate.model.tensors if tensor.name == "token_embd.weight")
    more = sum(int(tensor.size) for tensor in experts) * 3 + (weights - on_card) * 15
    assert report["on_card_highest"] == report["on_card"] + -(-more // 100)


def test_the_upper_end_is_said_beside_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    lines = plan(capsys, "qwen3-8b/rtx-3070").splitlines()
    [verdict] = [number for number, line in enumerate(lines) if line.startswith("RTX 3070: fits")]
    assert lines[verdict + 2].startswith("  at the estimate's upper end")


def test_a_known_table_is_no_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    report = as_json(capsys, "apodex-mini/rtx-5070")
    assert report["on_card_highest"] is None
    assert "estimate" not in plan(capsys, "apodex-mini/rtx-5070")
