"""A header written from metadata and a tensor table, read back by the format's own package."""

from __future__ import annotations

import gzip
from pathlib import Path

import gguf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import GenError, InputError
from generator.gguf import read_header
from generator.gguf.types import BLOCKS
from generator.gguf.writer import WrittenHeader, write_header
from generator.planning import metadata_of, rows_of

HEADS = Path(__file__).resolve().parents[3] / "shared" / "engine-truth" / "models"

METADATA: dict[str, object] = {
    "general.architecture": "llama",
    "general.name": "Überträger, 文字",
    "llama.block_count": 1,
    "llama.rope.freq_base": 10000.0,
    "llama.attention.head_count_kv": [8, 0, 8],
    "llama.attention.sliding_window_pattern": [True, False],
    "llama.rope.factors": [1.0, 2.5],
    "llama.big": 2**40,
    "llama.negative": -3,
    "general.languages": ["de", "en"],
    "tokenizer.ggml.add_bos_token": False,
    "tokenizer.ggml.tokens": {"length": 300},
    "tokenizer.ggml.token_type": {"length": 300},
    "tokenizer.ggml.scores": {"length": 300},
    "tokenizer.ggml.merges": {"length": 200},
    "tokenizer.ggml.precompiled_charsmap": {"length": 5000},
}
ROWS: list[list[object]] = [
    ["token_embd.weight", "Q4_K", [256, 300], 300 * 144],
    ["blk.0.attn_norm.weight", "F32", [9], 36],
    ["output.weight", "Q6_K", [256, 300], 300 * 210],
]


def file_of(header: WrittenHeader, path: Path) -> Path:
    path.write_bytes(header.data)
    with path.open("r+b") as file:
        file.truncate(header.size)
    return path


def test_the_format_s_own_reader_finds_every_key_and_tensor(tmp_path: Path) -> None:
    written = write_header(METADATA, ROWS)
    reader = gguf.GGUFReader(file_of(written, tmp_path / "a.gguf"))
    values = {key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")}
    plain = {key: value for key, value in METADATA.items() if not isinstance(value, dict)}
    assert {key: values[key] for key in plain} == plain
    assert len(values["tokenizer.ggml.tokens"]) == len(set(values["tokenizer.ggml.tokens"])) == 300
    assert (len(values["tokenizer.ggml.token_type"]), len(values["tokenizer.ggml.scores"])) == (300, 300)
    found = [[tensor.name, tensor.tensor_type.name, tensor.shape.tolist(), tensor.n_bytes] for tensor in reader.tensors]
    assert found == ROWS


def test_tensors_begin_at_multiples_of_the_alignment_and_the_file_ends_with_the_last(tmp_path: Path) -> None:
    written = write_header(METADATA, ROWS)
    header = read_header(file_of(written, tmp_path / "a.gguf"))
    assert [tensor.offset for tensor in header.tensors] == [0, 43200, 43264]  # 43200 + 36, rounded up to a multiple of 32
    assert written.size == header.data_offset + 43264 + 63000
    assert len(written.data) == header.data_offset == header.data_offset // 32 * 32


def test_a_file_s_own_alignment_is_kept(tmp_path: Path) -> None:
    header = read_header(file_of(write_header({"general.architecture": "llama", "general.alignment": 4096}, ROWS), tmp_path / "a.gguf"))
    assert [tensor.offset for tensor in header.tensors] == [0, 45056, 49152]
    assert header.data_offset == 4096


def test_what_is_made_up_and_what_is_left_out_is_told() -> None:
    written = write_header(METADATA, ROWS)
    assert written.stand_ins == ("tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.scores", "tokenizer.ggml.merges")
    assert written.left_out == ("tokenizer.ggml.precompiled_charsmap",)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("a", None),
        ("a", 2**64),
        ("a", 1e39),
        ("a", [[1]]),
        ("a", [1, "b"]),
        ("a", [2**63]),
        ("a", {"length": -1}),
        ("a", {"length": 10**12}),
        ("a", {"size": 1}),
        ("general.alignment", 3),
        ("general.alignment", "32"),
    ],
)
def test_what_a_header_cannot_say_is_refused(key: str, value: object) -> None:
    with pytest.raises(InputError):
        write_header({"general.architecture": "llama", key: value}, [])


@pytest.mark.parametrize("row", [["a", "Q9_X", [32], 1], [1, "F32", [1], 4], ["a", "F32", 1, 4], ["a", "F32", [1], "4"]])
def test_a_row_that_is_none_is_refused(row: list[object]) -> None:
    with pytest.raises(GenError):
        write_header({"general.architecture": "llama"}, [row])


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
SCALARS = st.one_of(st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(width=32, allow_nan=False), NAMES)
LISTS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), st.lists(NAMES, min_size=1, max_size=5), st.lists(st.booleans(), min_size=1)
)
TENSORS = st.tuples(NAMES, st.sampled_from(["F32", "Q8_0", "Q4_K"]), st.integers(1, 4), st.integers(1, 5))


@given(
    st.dictionaries(NAMES.map("x.{}".format), st.one_of(SCALARS, LISTS), max_size=6),
    st.lists(TENSORS, unique_by=lambda row: row[0], max_size=5),
)
def test_what_was_written_is_what_our_reader_reads(
    tmp_path_factory: pytest.TempPathFactory, metadata: dict[str, object], tensors: list[tuple[str, str, int, int]]
) -> None:
    rows: list[list[object]] = []
    for name, kind, blocks, count in tensors:
        _, elements, size = BLOCKS[kind]
        rows.append([name, kind, [blocks * elements, count], blocks * size * count])
    written = write_header({"general.architecture": "x", **metadata}, rows)
    header = read_header(file_of(written, tmp_path_factory.mktemp("written") / "a.gguf"), arrays=True)
    found = {key: list(value) if isinstance(value, tuple) else value for key, value in header.metadata.items()}
    assert found == {"general.architecture": "x", **metadata}
    assert rows_of(header) == rows


@pytest.mark.skipif(not HEADS.is_dir(), reason="the engine's recorded heads are not beside this repository")
def test_every_recorded_head_comes_back_from_its_lock_form(tmp_path: Path) -> None:
    for path in sorted(HEADS.glob("*.head*")):
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        (tmp_path / "head").write_bytes(raw)
        head = read_header(tmp_path / "head", whole=False)
        again = read_header(file_of(write_header(metadata_of(head), rows_of(head)), tmp_path / "a.gguf"))
        assert rows_of(again) == rows_of(head), path.name
        assert [tensor.offset for tensor in again.tensors] == [tensor.offset for tensor in head.tensors], path.name
