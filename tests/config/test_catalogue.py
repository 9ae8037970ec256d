"""A model of the catalogue of which only shape and size are known: planned, solved and built like one with a header."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from generator.build import gather, subject_of
from generator.catalog import Catalog
from generator.cli import main
from generator.errors import InputError, MissingFileError, UnknownNameError
from generator.guide.numbers import write_numbers
from generator.planning import estimate_of, model_of_quant
from tests.config.heads import config_of, header

MODEL = """\
model: shape-only
title: Shape Only
architecture: qwen35moe
publisher: Example
base: example/Shape-Only
repository: example/Shape-Only-GGUF
source: https://example.org/config.json
checked: 2026-09-01
quants:
  Q4_K_M: {file: shape-only-Q4_K_M.gguf, fidelity: config, size: 21158175776 B}
  Q8_0: {file: shape-only-Q8_0.gguf, fidelity: config, converted: true}
  IQ2_M: {file: shape-only-IQ2_M.gguf, fidelity: config}
  Q6_K: {file: shape-only-Q6_K.gguf, fidelity: header, size: 28000000000 B}
config:
"""
RECIPE = """\
model: shape-only
card: rtx-5070
quant: Q4_K_M
engine: llama.cpp
build: b10666
settings: {n_gpu_layers: 99, n_cpu_moe: 26, n_ctx: 65536, n_parallel: 1, type_k: q8_0, type_v: q8_0, flash_attn: on}
machine:
  system: {value: 4 GiB, origin: declared, note: left to the operating system}
  sizes: [32 GiB]
"""


@pytest.fixture
def catalog(project: Path) -> Catalog:
    folder = project / "recipes/models/shape-only"
    folder.mkdir()
    values = config_of(header("qwen35moe-iq4xs")) | {"tied_embeddings": "false"}
    values.pop("draft_head_has_embedding")
    lines = [f"  {name}: {list(value) if isinstance(value, tuple) else value}\n" for name, value in values.items()]
    (folder / "model.yml").write_text(MODEL + "".join(lines), encoding="utf-8")
    (folder / "rtx-5070.yml").write_text(RECIPE, encoding="utf-8")
    return Catalog.open(project)


def test_a_quant_without_header_is_estimated_and_needs_no_lock(catalog: Catalog) -> None:
    model = model_of_quant(catalog, "shape-only", "Q4_K_M")
    assert sum(int(tensor.size) for tensor in model.tensors) == 21158175776
    assert len(model.tensors) == 733
    assert not catalog.lock_path("shape-only").exists()


def test_a_converted_quant_has_the_size_of_what_the_reader_makes(catalog: Catalog) -> None:
    found = estimate_of(catalog, "shape-only", "Q8_0")
    assert found is not None
    # 34.66e9 parameters at 34 bytes for 32, the routers' 40 x 2048 x 256 at 4 bytes, and vectors
    assert 36.8e9 < float(found.size.quantity().number) < 37.0e9


def test_a_header_that_was_read_since_stands_over_the_estimate(catalog: Catalog) -> None:
    path = catalog.root / "recipes/models/apodex-mini/model.yml"
    text = path.read_text(encoding="utf-8")
    assert "    fidelity: header\n" in text
    path.write_text(text.replace("    fidelity: header\n", "    fidelity: config\n"), encoding="utf-8")
    again = Catalog.open(catalog.root)
    assert estimate_of(again, "apodex-mini", "Q4_K_M") is None
    assert model_of_quant(again, "apodex-mini", "Q4_K_M").tensors_fact.key == "header.q4_k_m.tensors"


def test_what_is_missing_is_said(catalog: Catalog) -> None:
    with pytest.raises(InputError, match="the size of the IQ2_M file is not known"):
        model_of_quant(catalog, "shape-only", "IQ2_M")
    with pytest.raises(UnknownNameError, match="Q5_K"):
        model_of_quant(catalog, "shape-only", "Q5_K")
    with pytest.raises(MissingFileError, match="the lock does not exist"):
        model_of_quant(catalog, "shape-only", "Q6_K")
    with pytest.raises(InputError, match="neither the header of 'IQ2_M' nor the model's shape is known"):
        model_of_quant(catalog, "apodex-mini", "IQ2_M")


def test_numbers_say_how_far_the_total_may_be_off(catalog: Catalog) -> None:
    book = write_numbers(subject_of(catalog, gather(catalog, "shape-only", "rtx-5070")))
    # the usual mixture: three percent of all experts, fifteen of what is no expert
    more = int(book["experts.all_blocks"]) * Fraction(3, 100)
    on_card = int(book["estimate.experts_on_card"])
    assert on_card == int(book["experts.loaded_blocks"]) - int(book["weights.host"])
    more += (int(book["weights.card"]) - on_card) * Fraction(15, 100)
    assert book["estimate.weights_highest"].number == int(book["weights.card"]) + more
    assert book["budget.highest"].number == int(book["budget.total"]) + more


def test_commands_take_a_model_without_header(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEN_ROOT", str(catalog.root))
    assert main(["plan", "shape-only/rtx-5070"]) == 0
    far = "an estimate, no tensor table is known: routed experts within 3 % of all of them, other weights within 15 %"
    assert f"\n{far}\n" in capsys.readouterr().out
    assert main(["solve", "shape-only", "rtx-5070", "--ram", "32GiB", "--ctx", "16384"]) == 0
    answer = capsys.readouterr().out
    assert "-ncmoe" in answer
    assert f"Q4_K_M is {far}" in answer
    assert "the size of its file is not known" in answer
    assert "only the size of its file is known, not its header" in answer
