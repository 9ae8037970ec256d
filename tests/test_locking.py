from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from generator.catalog import Catalog
from generator.errors import GenError, MissingFileError, UnknownNameError
from generator.facts import Lock
from generator.gguf.errors import GgufError
from generator.locking import HeaderMismatchError, lock_model
from generator.planning import model_of_lock

MONDAY, TUESDAY = date(2026, 8, 31), date(2026, 9, 1)
SHAPES = {"token_embd.weight": (8, 32), "blk.0.attn_norm.weight": (32,), "blk.0.ffn_up_exps.weight": (2, 4, 32)}

MODEL = """\
model: small
title: Small
architecture: qwen35moe
licence: Apache-2.0
publisher: Example
repository: example/Small-GGUF
source: https://example.org/small
checked: 2026-08-30
quants:
  Q8_0: {file: small-Q8_0.gguf, fidelity: header, size: SIZE B}
  F32: {file: small-F32.gguf, fidelity: header}
"""


def write_gguf(path: Path, architecture: str = "qwen35moe", block_count: int = 1) -> Path:
    """Write a small whole GGUF file with the reference writer."""
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_block_count(block_count)
    writer.add_array(f"{architecture}.rope.dimension_sections", [11, 11, 10, 0])
    writer.add_token_list([f"token {number}" for number in range(2000)])
    for name, shape in SHAPES.items():
        writer.add_tensor(name, np.zeros(shape, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small whole GGUF file."""
    return write_gguf(tmp_path / "small-Q8_0.gguf")


@pytest.fixture
def catalog(tmp_path: Path, file: Path) -> Catalog:
    """A catalogue of one model, whose published size is that of the file."""
    folder = tmp_path / "root" / "recipes" / "models" / "small"
    folder.mkdir(parents=True)
    (folder / "model.yml").write_text(MODEL.replace("SIZE", str(file.stat().st_size)))
    return Catalog.open(tmp_path / "root")


Locked = Callable[..., tuple[Lock, bool]]


@pytest.fixture
def locked(catalog: Catalog) -> Locked:
    """Write the lock from files by quant; give it as it is read back, and whether it changed."""

    def write(headers: dict[str, Any], *, origin: str = "header", note: str = "", today: date = MONDAY) -> tuple[Lock, bool]:
        headers = {quant: str(path) for quant, path in headers.items()}
        path, changed = lock_model(catalog, "small", headers, origin=origin, note=note, today=today)
        assert path == catalog.lock_path("small")
        return Lock.read(path), changed

    return write


def test_a_lock_holds_the_header_as_the_reference_wrote_it(locked: Locked, file: Path) -> None:
    lock, changed = locked({"Q8_0": file}, note="read by hand")
    assert changed
    tensors = lock.facts["header.q8_0.tensors"]
    assert tensors.value == [[name, "F32", list(reversed(shape)), 4 * int(np.prod(shape))] for name, shape in SHAPES.items()]
    metadata: Any = lock.facts["header.q8_0.metadata"].value
    assert metadata["general.architecture"] == "qwen35moe"
    assert metadata["qwen35moe.block_count"] == 1
    assert metadata["qwen35moe.rope.dimension_sections"] == [11, 11, 10, 0]
    assert metadata["tokenizer.ggml.tokens"] == {"length": 2000}
    assert (tensors.origin, tensors.note, tensors.checked, tensors.first_seen) == ("header", "read by hand", MONDAY, MONDAY)
    assert tensors.source.title == "example/Small-GGUF: small-Q8_0.gguf"
    assert lock.facts["file.q8_0.size"].value == file.stat().st_size
    assert model_of_lock(lock, "Q8_0").architecture == "qwen35moe"


def test_a_lock_written_again_from_the_same_file_is_the_same_bytes(locked: Locked, catalog: Catalog, file: Path) -> None:
    locked({"Q8_0": file})
    before = catalog.lock_path("small").read_bytes()
    _, changed = locked({"Q8_0": file})
    assert not changed
    assert catalog.lock_path("small").read_bytes() == before


def test_another_header_says_since_when_and_keeps_the_first_day(locked: Locked, file: Path) -> None:
    locked({"Q8_0": file}, origin="reconstructed")
    write_gguf(file, block_count=2)
    lock, changed = locked({"Q8_0": file}, today=TUESDAY)
    assert changed
    metadata, tensors = lock.facts["header.q8_0.metadata"], lock.facts["header.q8_0.tensors"]
    assert (metadata.first_seen, metadata.changed, metadata.checked) == (date(2026, 8, 30), TUESDAY, TUESDAY)
    assert (tensors.first_seen, tensors.changed, tensors.checked) == (date(2026, 8, 30), None, TUESDAY)


def test_a_reconstructed_header_keeps_the_day_of_the_publication(locked: Locked, file: Path) -> None:
    head = file.with_suffix(".head")
    head.write_bytes(file.read_bytes()[: file.stat().st_size - 1024])
    lock, _ = locked({"Q8_0": head}, origin="reconstructed", note="rebuilt from totals")
    tensors = lock.facts["header.q8_0.tensors"]
    assert (tensors.origin, tensors.checked, tensors.note) == ("reconstructed", date(2026, 8, 30), "rebuilt from totals")
    assert tensors.source.url == "https://example.org/small"


def test_sizes_alone_make_a_lock_too(locked: Locked) -> None:
    lock, _ = locked({})
    assert [fact.key for fact in lock.facts] == ["file.q8_0.size"]


def test_a_file_whose_size_nobody_wrote_down_is_locked_with_its_own(locked: Locked, file: Path) -> None:
    lock, _ = locked({"F32": file})
    size = lock.facts["file.f32.size"]
    assert (size.value, size.unit, size.origin) == (file.stat().st_size, "B", "header")


def test_of_such_a_file_a_part_will_not_do(locked: Locked, file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(GgufError):
        locked({"F32": file})


@pytest.mark.parametrize("cut", [0, 3, 24, 100, 20_000])
def test_a_cut_header_is_refused_and_the_lock_left_as_it_was(locked: Locked, catalog: Catalog, file: Path, cut: int) -> None:
    locked({"Q8_0": file})
    before = catalog.lock_path("small").read_bytes()
    file.write_bytes(file.read_bytes()[:cut])
    for origin in ("header", "reconstructed"):
        with pytest.raises(GgufError) as caught:
            locked({"Q8_0": file}, origin=origin)
        assert str(file) in str(caught.value)
    assert catalog.lock_path("small").read_bytes() == before


def test_a_header_of_another_architecture_is_refused(locked: Locked, tmp_path: Path) -> None:
    other = write_gguf(tmp_path / "other.gguf", "llama")
    with pytest.raises(HeaderMismatchError, match="architecture is 'llama', the model's is 'qwen35moe'") as caught:
        locked({"Q8_0": other})
    assert caught.value.where == str(other)
    assert "small-Q8_0.gguf" in caught.value.remedy


def test_a_file_of_another_size_is_refused_unless_it_is_said_to_be_rebuilt(locked: Locked, file: Path) -> None:
    size = file.stat().st_size
    with file.open("ab") as out:
        out.write(b"\0")
    with pytest.raises(HeaderMismatchError, match=f"the file has {size + 1} bytes, small-Q8_0.gguf has {size}") as caught:
        locked({"Q8_0": file})
    assert "--origin reconstructed" in caught.value.remedy
    locked({"Q8_0": file}, origin="reconstructed")


@pytest.mark.parametrize(
    ("headers", "error", "message"),
    [
        ({"Q8_1": "small-Q8_0.gguf"}, UnknownNameError, "no quant is called 'Q8_1'; did you mean 'Q8_0'"),
        ({"": "small-Q8_0.gguf"}, UnknownNameError, "no quant is called ''"),
        ({"Q8_0": "gone.gguf"}, MissingFileError, "there is no such file"),
        ({"Q8_0": "."}, MissingFileError, "there is no such file"),
    ],
)
def test_a_quant_or_file_that_is_not_there_is_told(
    locked: Locked, file: Path, headers: dict[str, str], error: type[GenError], message: str
) -> None:
    with pytest.raises(error, match=message):
        locked({quant: file.parent / name for quant, name in headers.items()})


def test_a_model_that_is_not_there_is_told(catalog: Catalog) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'small'"):
        lock_model(catalog, "smal", {}, origin="header", note="", today=MONDAY)
