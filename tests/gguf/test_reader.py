"""Our reading of files that the gguf package wrote, against that package's own reader."""

from __future__ import annotations

import gc
import math
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from gguf.constants import GGML_QUANT_SIZES

from generator.errors import MissingFileError
from generator.gguf import Header, SkippedArray, Tensor, read_header
from generator.gguf.errors import MissingKey
from tests.gguf.raw import ARRAY, BOOL, FLOAT32, INT8, STRING, UINT16, UINT32, File, Memory, Row, Typed, array

EXTREMES: dict[str, tuple[GGUFValueType, list[float]]] = {
    "uint8": (GGUFValueType.UINT8, [0, 1, 255]),
    "int8": (GGUFValueType.INT8, [-128, 0, 127]),
    "uint16": (GGUFValueType.UINT16, [0, 65535]),
    "int16": (GGUFValueType.INT16, [-32768, 32767]),
    "uint32": (GGUFValueType.UINT32, [0, 2**32 - 1]),
    "int32": (GGUFValueType.INT32, [-(2**31), 2**31 - 1]),
    "uint64": (GGUFValueType.UINT64, [0, 2**64 - 1]),
    "int64": (GGUFValueType.INT64, [-(2**63), 2**63 - 1]),
    "float32": (GGUFValueType.FLOAT32, [0.0, -0.0, 1e-6, 3.4e38, math.inf]),
    "float64": (GGUFValueType.FLOAT64, [5e-324, 1.7e308, -math.inf]),
    "bool": (GGUFValueType.BOOL, [True, False]),
}
TEXTS = ["llama", "", "Grüße, 世界 🙂", "two\nlines\tand \0 a zero", "x" * 300]


@pytest.fixture(autouse=True)
def _no_open_maps() -> Iterator[None]:
    yield
    gc.collect()


def writer(path: Path) -> GGUFWriter:
    return GGUFWriter(path, "llama")


def close(out: GGUFWriter) -> None:
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


@pytest.fixture
def rich(tmp_path: Path) -> Path:
    """Give a file with every value type, alone and in arrays, and a tensor of every type."""
    path = tmp_path / "rich.gguf"
    out = writer(path)
    for name, (kind, values) in EXTREMES.items():
        for number, value in enumerate(values):
            out.add_key_value(f"one.{name}.{number}", value, kind)
        out.add_key_value(f"many.{name}", values, GGUFValueType.ARRAY, sub_type=kind)
    for number, text in enumerate(TEXTS):
        out.add_key_value(f"text.{number}", text, GGUFValueType.STRING)
    out.add_array("texts", TEXTS)
    out.add_array("tokens", [f"token {number}" for number in range(3000)])
    out.add_array("numbers", list(range(-800, 800)))
    for quant, (_, size) in GGML_QUANT_SIZES.items():
        out.add_tensor(f"blk.0.{quant.name}.weight", np.zeros((3, 2, 2 * size), np.uint8), raw_dtype=quant)
        out.add_tensor(f"blk.1.{quant.name}.weight", np.zeros((5 * size,), np.uint8), raw_dtype=quant)
    close(out)
    return path


def their_values(reader: GGUFReader) -> dict[str, object]:
    return {key: reader.fields[key].contents() for key in reader.fields if not key.startswith("GGUF.")}


def as_lists(value: object) -> object:
    return [as_lists(item) for item in value] if isinstance(value, tuple) else value


def same(ours: object, theirs: object) -> bool:
    return repr(as_lists(ours)) == repr(theirs)


def test_metadata_is_read_value_for_value_as_the_gguf_package_reads_it(rich: Path) -> None:
    ours = read_header(rich, arrays=True).metadata
    theirs = their_values(GGUFReader(rich))
    assert list(ours) == list(theirs)
    assert [key for key in ours if not same(ours[key], theirs[key])] == []


def test_tensors_are_read_as_the_gguf_package_reads_them(rich: Path) -> None:
    header = read_header(rich)
    reader = GGUFReader(rich)
    theirs = [(t.name, t.tensor_type.name, tuple(map(int, t.shape)), t.data_offset, t.n_bytes, t.n_elements) for t in reader.tensors]
    assert len(theirs) == 2 * len(GGML_QUANT_SIZES)
    assert [(t.name, t.type, t.shape, header.data_offset + t.offset, t.nbytes, t.elements) for t in header.tensors] == theirs
    assert header.data_offset == reader.data_offset
    assert header.tensor_bytes == sum(row[4] for row in theirs)


def test_nested_arrays_hold_what_the_gguf_package_reads_flattened(tmp_path: Path) -> None:
    path = tmp_path / "nested.gguf"
    out = writer(path)
    rows = [[1, 2, 3], [-4], [5, 6]]
    out.add_array("numbers", rows)
    out.add_array("texts", [["a"], ["b", "c"]])
    close(out)
    ours = read_header(path, arrays=True).metadata
    theirs = their_values(GGUFReader(path))
    assert as_lists(ours["numbers"]) == rows
    assert theirs["numbers"] == [value for row in rows for value in row]
    assert as_lists(ours["texts"]) == [["a"], ["b", "c"]]
    assert theirs["texts"] == ["a", "b", "c"]


@pytest.mark.parametrize("alignment", [1, 8, 64, 4096])
def test_the_alignment_of_the_file_is_kept(tmp_path: Path, alignment: int) -> None:
    path = tmp_path / "aligned.gguf"
    out = writer(path)
    out.add_custom_alignment(alignment)
    for number in range(3):
        out.add_tensor(f"t{number}", np.zeros(7, np.float32))
    close(out)
    header, reader = read_header(path), GGUFReader(path)
    assert (header.alignment, header.data_offset) == (alignment, reader.data_offset)
    assert [header.data_offset + t.offset for t in header.tensors] == [t.data_offset for t in reader.tensors]


def test_a_header_without_tensors_or_keys_is_a_header(tmp_path: Path) -> None:
    path = tmp_path / "empty.gguf"
    path.write_bytes(File().header())
    header = read_header(path)
    assert (header.metadata, header.tensors, header.header_bytes, header.data_offset, header.file_size) == ({}, (), 24, 32, 24)


def test_version_2_is_read_like_version_3() -> None:
    file = File([("general.architecture", Typed(STRING, "llama"))], [Row("t")], data=bytes(128))
    three = read_header(Memory(file.bytes()))
    file.version = 2
    two = read_header(Memory(file.bytes()))
    assert (two.version, three.version) == (2, 3)
    assert (two.metadata, two.tensors, two.data_offset) == (three.metadata, three.tensors, three.data_offset)


def test_nested_arrays_are_read_where_they_are_wanted() -> None:
    rows = [array(UINT16, [1, 2]), array(UINT16, []), array(STRING, ["a", "b"])]
    nested = Typed(ARRAY, [*rows, Typed(ARRAY, [array(BOOL, [True, False])], ARRAY)], ARRAY)
    content = File([("n", nested), ("after", Typed(INT8, -5))]).bytes()
    assert read_header(Memory(content), arrays=["n"]).metadata == {"n": ((1, 2), (), ("a", "b"), ((True, False),)), "after": -5}
    assert read_header(Memory(content)).metadata == {"n": SkippedArray("ARRAY", 4), "after": -5}


def test_short_arrays_are_kept_and_long_ones_only_counted() -> None:
    short, long = list(range(1024)), list(range(1025))
    words = [f"w{number}" for number in long]
    pairs: list[tuple[str | bytes, Typed]] = [
        ("short", array(UINT32, short)),
        ("long", array(UINT32, long)),
        ("words", array(STRING, words[:1024])),
        ("many words", array(STRING, words)),
    ]
    content = File(pairs).bytes()
    default = read_header(Memory(content)).metadata
    assert default["short"] == tuple(short)
    assert default["words"] == tuple(words[:1024])
    assert default["long"] == SkippedArray("UINT32", 1025)
    assert default["many words"] == SkippedArray("STRING", 1025)
    assert isinstance(default["many words"], SkippedArray)
    assert len(default["many words"]) == 1025
    some = read_header(Memory(content), arrays={"many words"}).metadata
    assert some["many words"] == tuple(words)
    assert some["long"] == SkippedArray("UINT32", 1025)
    assert read_header(Memory(content), arrays=True).metadata["long"] == tuple(long)


@pytest.mark.parametrize("length", [16_384, 16_385, 50_000])
def test_what_follows_a_long_array_of_strings_of_any_length_is_found(length: int) -> None:
    sizes = [*range(70), 200, 255, 256, 257, 3000]
    texts = ["x" * sizes[number * 7919 % len(sizes)] for number in range(length)]
    content = File([("tokens", array(STRING, texts)), ("after", Typed(UINT32, 12345))]).bytes()
    assert read_header(Memory(content)).metadata == {"tokens": SkippedArray("STRING", length), "after": 12345}
    assert read_header(Memory(content), arrays=True).metadata["tokens"] == tuple(texts)


def test_a_text_that_looks_like_strings_is_one_string_all_the_same() -> None:
    # Read by its lowest byte alone, its length 0x105 would be 5, and the 256 bytes after those 5 would be 32 empty strings.
    sly = b"x" * 5 + bytes(256)
    texts: list[object] = [b"abc", sly] * 10_000
    content = File([("tokens", array(STRING, texts)), ("after", Typed(UINT32, 12345))]).bytes()
    assert read_header(Memory(content)).metadata == {"tokens": SkippedArray("STRING", 20_000), "after": 12345}


def test_any_byte_but_zero_is_true_as_in_the_engine() -> None:
    content = File([("b", Typed(BOOL, value=True))]).bytes()
    at = content.rindex(struct.pack("<I", BOOL) + b"\1") + 4
    assert read_header(Memory(content[:at] + b"\x02" + content[at + 1 :])).metadata == {"b": True}


def test_text_that_is_no_utf8_is_shown_by_its_bytes() -> None:
    content = File([("t", Typed(STRING, b"a\xff\xfeb")), ("list", array(STRING, [b"\x80", b"ok"]))]).bytes()
    assert read_header(Memory(content)).metadata == {"t": r"a\xff\xfeb", "list": (r"\x80", "ok")}


def test_keys_of_the_architecture_are_found_without_its_name() -> None:
    pairs: list[tuple[str | bytes, Typed]] = [("general.architecture", Typed(STRING, "qwen3")), ("qwen3.block_count", Typed(UINT32, 36))]
    header = read_header(Memory(File(pairs).bytes()))
    assert header.architecture == "qwen3"
    assert header.get("block_count") == 36
    assert header.get("expert_count") is None
    assert header.get("expert_count", 0) == 0


@pytest.mark.parametrize("pairs", [[], [("general.architecture", Typed(FLOAT32, 1.0))]])
def test_an_architecture_that_is_not_stated_is_not_guessed(pairs: list[tuple[str | bytes, Typed]]) -> None:
    header = read_header(Memory(File(pairs).bytes()))
    with pytest.raises(MissingKey) as caught:
        header.get("block_count")
    assert caught.value.key == "general.architecture"


def test_a_bare_header_is_read_when_asked_for(rich: Path, tmp_path: Path) -> None:
    whole = read_header(rich)
    head = tmp_path / "rich.gguf.head"
    head.write_bytes(rich.read_bytes()[: whole.data_offset])
    bare = read_header(head, whole=False)
    assert (bare.metadata, bare.tensors, bare.data_offset) == (whole.metadata, whole.tensors, whole.data_offset)
    assert bare.file_size == whole.data_offset


def test_a_source_of_byte_ranges_is_read_like_a_file(rich: Path) -> None:
    def facts(header: Header) -> object:
        return header.metadata, header.tensors, header.data_offset

    source = Memory(rich.read_bytes())
    assert facts(read_header(source)) == facts(read_header(rich))
    assert facts(read_header(Memory(rich.read_bytes(), known=False))) == facts(read_header(str(rich)))


def test_a_tensor_without_dimensions_is_one_element() -> None:
    header = read_header(Memory(File(rows=[Row("t", shape=())], data=bytes(32)).bytes()))
    assert header.tensors == (Tensor("t", "F32", (), 0, 4),)


def test_tensors_may_stand_in_any_order_and_with_gaps() -> None:
    rows = [Row("b", offset=512), Row("a", offset=0), Row("none", shape=(0,), offset=512)]
    header = read_header(Memory(File(rows=rows, data=bytes(640)).bytes()))
    assert [(t.name, t.offset, t.nbytes) for t in header.tensors] == [("b", 512, 128), ("a", 0, 128), ("none", 512, 0)]


def test_every_type_is_named_as_in_the_gguf_package() -> None:
    for kind, (elements, size) in GGML_QUANT_SIZES.items():
        header = read_header(Memory(File(rows=[Row("t", shape=(elements,), type=kind)], data=bytes(size)).bytes()))
        assert (header.tensors[0].type, header.tensors[0].nbytes) == (GGMLQuantizationType(kind).name, size)


def test_a_path_that_is_no_file_is_reported_by_name(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.gguf", tmp_path):
        with pytest.raises(MissingFileError) as caught:
            read_header(path)
        assert caught.value.path == str(path)
        assert caught.value.remedy
