"""Checks of models of every kind that the catalogue has the shape of: the caches by hand, and what holds for all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from generator.catalog import Catalog
from generator.check.build import build_check
from generator.check.params import counts_of
from generator.check.verdicts import WORDS
from tests.check.conftest import ROOT, worked_out

SPEC = """\
check: any
model: {model}
card: {card}
about: a speed made up for a test
engine: llama.cpp
build: b10666
source: https://example.org/claim
checked: 2026-12-01
claim:
  speed: 30 tok/s
  context: {context} tokens
  from: nobody
parts:
  speed: {{says: fast, kind: speed}}
  at_context: {{says: and long, kind: speed_at_context}}
  length: {{says: long, kind: context}}
  memory: {{says: it runs, kind: memory}}
files:
  {quant}: {{size: {size} B}}
quant: {quant}
least_type: Q2_K
bandwidths:
  host: {{name: DDR4-3200 in two channels, transfers: 3200, channels: 2, realised: {{value: 35 GB/s, origin: declared, note: so}}}}
  bus: {{value: 12 GB/s, origin: declared, note: so}}
compute: {{value: 0.75 GiB, origin: declared, note: so}}
best: {{about: some run, speed: 41.4 tok/s, ceiling: 59.6 tok/s}}
caches: [[f16, f16], [q8_0, q8_0]]
contexts: [1024, 8192]
batches: [512]
"""

CATALOG = Catalog.open(ROOT)
WITH_SHAPE = [name for name in CATALOG.models() if "config.tied_embeddings" in CATALOG.model(name).facts]
"""Models of which the configuration says all that shapes follow from; of the others only a header is known."""


def write(project: Path, model: str, context: int = 16384, card: str = "rtx-3090") -> tuple[str, str]:
    """Write a check of a model's first quant; give its name."""
    spec = Catalog.open(project).model(model)
    quant = next(iter(spec.quants))
    known = CATALOG.known(CATALOG.model(model))
    five_bits = int(counts_of(spec.architecture, known, where="").total) * 5 // 8  # where no size was published
    size = int(known[f"file.{quant.lower()}.size"].quantity()) if f"file.{quant.lower()}.size" in known else five_bits
    folder = project / "recipes" / "checks" / model
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "any.yml").write_text(SPEC.format(model=model, card=card, context=context, quant=quant, size=size), encoding="utf-8")
    return model, "any"


@pytest.mark.parametrize("model", WITH_SHAPE)
def test_a_check_of_any_model_of_the_catalogue_builds_and_lints(project: Path, model: str) -> None:
    which = write(project, model)
    page = build_check(Catalog.open(project), *which)
    assert {verdict["verdict"] for verdict in page.ledger.verdicts.values()} <= set(WORDS)
    worked = worked_out(project, *which)
    book = worked.book
    ceilings = [book[f"decode.ceiling.{context}"].number for context in worked.subject.contexts if f"decode.ceiling.{context}" in book]
    assert ceilings == sorted(ceilings, reverse=True)
    assert ceilings
    split = worked.splits["stated"]
    whole = split.experts.number + split.dense.number
    assert whole <= book["weights.file"].number
    assert whole == book["weights.file"].number or "params.draft_head" in book


@pytest.mark.parametrize(
    ("model", "growth", "read"),
    [  # bytes of a token more, and bytes read of full caches at 16,384 tokens
        # 36 blocks, K and V of 8 heads of 128, two bytes
        ("qwen3-8b", 36 * 2 * 8 * 128 * 2, 16384 * 36 * 2 * 8 * 128 * 2),
        # 36 blocks, K and V of 8 heads of 64; every other one sees 128 tokens
        ("gpt-oss-120b", 18 * 2 * 8 * 64 * 2, (16384 + 128) * 18 * 2 * 8 * 64 * 2),
        # 47 blocks keep one latent row of 512 and 64 elements
        ("glm-4.7-flash", 47 * (512 + 64) * 2, 16384 * 47 * (512 + 64) * 2),
        # four of forty blocks have attention, K and V of 8 heads of 128
        ("granite-4.0-h-small", 4 * 2 * 8 * 128 * 2, 16384 * 4 * 2 * 8 * 128 * 2),
    ],
)
def test_a_cache_grows_and_is_read_by_the_rules_of_its_architecture(project: Path, model: str, growth: int, read: int) -> None:
    book = worked_out(project, *write(project, model)).book
    assert book["kv.bytes_per_token.f16/f16"].value == growth
    assert book["kv.read.16384"].value == read


def test_a_draft_head_in_the_file_is_neither_loaded_nor_read(project: Path) -> None:
    book = worked_out(project, *write(project, "qwen3.8-27b")).book
    head, everything, embedding = (int(book[f"params.{name}"]) for name in ("draft_head", "total", "input_embedding"))
    assert head > 0
    assert int(book["params.read_per_token"]) == everything - head - embedding
    assert float(book["weights.dense"]) == pytest.approx(16464440224 * (everything - head) / everything)


def test_a_machine_of_one_memory_has_no_second_to_read_from(project: Path) -> None:
    which = write(project, "gemma-4-26b-a4b", card="apple-m4-pro-48gb")
    page = build_check(Catalog.open(project), *which)
    body, _, _ = page.files[page.page].partition("## Ledger")
    words = re.sub(r"\]\([^)]*\)", "", body)
    assert not re.search(r"\bcard\b|system memory|-ncmoe|mbw", words)
    assert page.ledger["needed.16384"].quantity.number > page.ledger["weights.file"].quantity.number


def test_on_a_machine_of_one_memory_a_model_that_does_not_fit_does_not_run(project: Path) -> None:
    page = build_check(Catalog.open(project), *write(project, "gpt-oss-120b", card="apple-m4-pro-24gb"))
    told = {name: (verdict["verdict"], verdict["reason"]) for name, verdict in page.ledger.verdicts.items()}
    assert told["memory"] == ("wrong", "too_large")
    assert told["speed"] == ("wrong", "no_room")
    assert not [key for key in page.ledger.rows if key.startswith("decode.ceiling")]
