"""Headers that the engine itself has loaded, against what is recorded of them; skipped where they are not at hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from generator.gguf import read_header
from tests.gguf.raw import Memory

MODELS = Path(__file__).parents[3] / "shared/engine-truth/models"
INDEX = json.loads((MODELS / "index.json").read_text()) if MODELS.is_dir() else {}


@pytest.mark.skipif(not INDEX, reason="the engine's own figures are not beside this checkout")
@pytest.mark.parametrize("model", sorted(INDEX))
def test_a_header_that_the_engine_loaded_is_read_to_the_byte(model: str) -> None:
    truth = INDEX[model]
    raw = (MODELS / truth["head"]).read_bytes()
    if truth["head"].endswith(".gz"):
        raw = gzip.decompress(raw)
    header = read_header(Memory(raw), whole=False)
    assert header.architecture == truth["arch"]
    assert header.data_offset == truth["head_bytes"] == len(raw)
    assert len(header.tensors) == truth["tensors"]
    assert sum(t.elements for t in header.tensors) == truth["elements"]
    last = max(header.tensors, key=lambda t: t.offset)
    end = header.data_offset + last.offset + last.nbytes
    assert (header.tensor_bytes, end) == (truth["tensor_bytes"], truth["total_bytes"])
