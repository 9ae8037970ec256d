"""Each thing that can be wrong with a file, by its own error, at the byte where it is."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from gguf import GGUFEndian, GGUFWriter

from generator.errors import InputError
from generator.gguf import Limits, read_header
from generator.gguf import errors as e
from tests.gguf.raw import ARRAY, F32, INT32, INT64, Q4_K, STRING, UINT8, UINT32, UINT64, File, Memory, Row, Typed, array, string

Error = TypeVar("Error", bound=e.GgufError)

BYTE = Typed(UINT8, 1)
AFTER_COUNTS = 24  # magic 4, version 4, two counts of 8


def refused(content: File | bytes, expected: type[Error], limits: Limits | None = None) -> Error:
    """Give the error that reading raises, which is of exactly the class expected and names file, byte and remedy."""
    raw = content.bytes() if isinstance(content, File) else content
    with pytest.raises(e.GgufError) as caught:
        read_header(Memory(raw), limits=limits or Limits())
    error = caught.value
    assert type(error) is expected
    assert error.exit_code == InputError.exit_code
    assert error.name == "memory.gguf"
    assert f"byte {error.offset:,}" in str(error)
    assert error.remedy
    return error


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"<!doctype html>", "web page"),
        (b"\n <html>", "web page"),
        (b"\x1f\x8b\x08\x00", "unpack"),
        (b"PK\x03\x04", "unpack"),
        (b"tjgg\x03\x00\x00\x00", "convert"),
        (b"nonsense", "path of a .gguf file"),
    ],
)
def test_a_file_of_another_kind_is_recognised(content: bytes, advice: str) -> None:
    error = refused(content, e.BadMagic)
    assert error.found == content[:16]
    assert advice in error.remedy
    assert error.offset == 0


def test_an_empty_file_is_truncated() -> None:
    error = refused(b"", e.Truncated)
    assert (error.offset, error.size) == (0, 0)


@pytest.mark.parametrize("version", [0, 1, 4, 0x10001])
def test_other_versions_are_refused(version: int) -> None:
    assert refused(File(version=version), e.UnsupportedVersion).version == version


def test_a_big_endian_file_of_the_gguf_package_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.gguf"
    out = GGUFWriter(path, "llama", endianess=GGUFEndian.BIG)
    out.add_tensor("t", np.zeros(32, np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    with pytest.raises(e.BigEndian, match="big-endian") as caught:
        read_header(path)
    assert "gguf-convert-endian" in caught.value.remedy


def test_a_file_cut_in_a_value_says_what_is_missing() -> None:
    content = File([("k", Typed(UINT64, 7))]).header()
    error = refused(content[:-3], e.Truncated)
    value_at = AFTER_COUNTS + 8 + 1 + 4  # key length, key, type
    assert (error.offset, error.wanted, error.size) == (value_at, 8, len(content) - 3)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "last", [array(UINT64, range(5000)), array(STRING, ["abc"] * 20_000), Typed(STRING, "x" * 3000)], ids=["numbers", "strings", "text"]
)
def test_a_file_cut_in_what_is_passed_over_is_truncated(last: Typed, known: bool) -> None:
    content = File([("k", last)]).header()
    for cut in (1, 7, 8, 9, 1000):
        with pytest.raises(e.Truncated) as caught:
            read_header(Memory(content[:-cut], known=known))
        assert caught.value.size == len(content) - cut or (caught.value.size is None and not known)


@pytest.mark.parametrize("type_id", [13, 255, 2**32 - 1])
def test_an_unknown_value_type_is_named_with_its_key(type_id: int) -> None:
    content = File([("first", BYTE), ("odd", BYTE)]).header()
    at = len(content) - 5
    error = refused(content[:at] + struct.pack("<I", type_id) + content[at + 4 :], e.UnknownValueType)
    assert (error.type_id, error.key, error.offset) == (type_id, "odd", at)


def test_an_unknown_element_type_is_named_with_its_key() -> None:
    error = refused(File([("odd", Typed(ARRAY, [], element=99))]), e.UnknownValueType)
    assert (error.type_id, error.key) == (99, "odd")


def test_a_key_that_occurs_twice_is_refused_at_its_second_place() -> None:
    error = refused(File([("twice", BYTE), ("twice", BYTE)]), e.DuplicateKey)
    assert (error.key, error.offset) == ("twice", AFTER_COUNTS + len(string("twice")) + 5)


def test_a_key_or_tensor_name_that_is_no_utf8_is_refused() -> None:
    key = refused(File([(b"\xffkey", BYTE)]), e.InvalidText)
    assert (key.raw, key.kind, key.offset) == (b"\xffkey", "metadata key", AFTER_COUNTS)
    tensor = refused(File(rows=[Row(b"\xc3(")]), e.InvalidText)
    assert (tensor.raw, tensor.kind, tensor.offset) == (b"\xc3(", "tensor name", AFTER_COUNTS)


@pytest.mark.parametrize("value", [Typed(UINT32, 0), Typed(UINT32, 24), Typed(INT32, 32), Typed(UINT64, 32), Typed(STRING, "32")])
def test_an_alignment_that_is_no_power_of_two_in_32_bits_is_refused(value: Typed) -> None:
    assert refused(File([("general.alignment", value)]), e.InvalidAlignment).value == value.value


def test_an_unknown_tensor_type_is_named_with_its_tensor() -> None:
    error = refused(File(rows=[Row("a"), Row("odd", type=31, offset=128)]), e.UnknownTensorType)
    assert (error.tensor, error.type_id, error.offset) == ("odd", 31, AFTER_COUNTS + len(Row("a").packed()))


def test_a_tensor_name_that_occurs_twice_is_refused_at_its_second_place() -> None:
    error = refused(File(rows=[Row("w"), Row("w", offset=128)]), e.DuplicateTensor)
    assert (error.tensor, error.offset) == ("w", AFTER_COUNTS + len(Row("w").packed()))


def test_a_tensor_off_the_alignment_is_refused() -> None:
    error = refused(File(rows=[Row("w", offset=16)]), e.MisalignedTensor)
    assert (error.tensor, error.begin, error.alignment) == ("w", 16, 32)


def test_rows_that_are_no_whole_blocks_are_refused() -> None:
    error = refused(File(rows=[Row("w", shape=(128, 2), type=Q4_K)]), e.PartialRow)
    assert (error.tensor, error.elements, error.type_name, error.block) == ("w", 128, "Q4_K", 256)


def test_a_single_element_is_no_whole_block() -> None:
    assert refused(File(rows=[Row("w", shape=(), type=Q4_K)]), e.PartialRow).elements == 1


def test_tensors_that_overlap_are_both_named() -> None:
    rows = [Row("long", shape=(64,), offset=0), Row("next", offset=224)]  # 64 floats end at 256
    error = refused(File(rows=rows, data=bytes(512)), e.OverlappingTensors)
    assert (error.tensor, error.begin, error.other, error.other_end) == ("next", 224, "long", 256)
    assert error.offset == AFTER_COUNTS + len(rows[0].packed())


def test_tensors_that_overlap_by_one_byte_are_refused() -> None:
    unaligned = ("general.alignment", Typed(UINT32, 1))
    rows = [Row("a", offset=0), Row("b", offset=127)]
    error = refused(File([unaligned], rows, data=bytes(512), alignment=1), e.OverlappingTensors)
    assert (error.tensor, error.begin, error.other_end) == ("b", 127, 128)


def test_two_tensors_at_the_same_place_overlap() -> None:
    assert refused(File(rows=[Row("a"), Row("b")], data=bytes(128)), e.OverlappingTensors).other_end == 128


def test_a_tensor_that_ends_beyond_the_file_is_refused() -> None:
    file = File(rows=[Row("a"), Row("b", offset=128)], data=bytes(255))
    error = refused(file, e.TensorOutsideFile)
    assert (error.tensor, error.end, error.file_size) == ("b", len(file.bytes()) + 1, len(file.bytes()))
    assert len(read_header(Memory(file.bytes()), whole=False).tensors) == 2


@pytest.mark.parametrize(
    ("file", "limits", "expected", "value", "limit"),
    [
        (File([("a", BYTE), ("b", BYTE)]), Limits(keys=1), e.TooManyKeys, 2, 1),
        (File(counts=(0, 2**63)), Limits(), e.TooManyKeys, 2**63, Limits().keys),
        (File(rows=[Row("a"), Row("b")]), Limits(tensors=1), e.TooManyTensors, 2, 1),
        (File(counts=(2**64 - 1, 0)), Limits(), e.TooManyTensors, 2**64 - 1, Limits().tensors),
        (File([("abc", BYTE)]), Limits(string_length=2), e.StringTooLong, 3, 2),
        (File([("a", Typed(STRING, "abc"))]), Limits(string_length=2), e.StringTooLong, 3, 2),
        (File([("a", array(STRING, ["ab", "abc"]))]), Limits(string_length=2), e.StringTooLong, 3, 2),
        (File([("a", array(STRING, [*["ab"] * 20_000, "abc"]))]), Limits(string_length=2), e.StringTooLong, 3, 2),
        (File([("a", array(INT64, [1, 2, 3]))]), Limits(array_length=2), e.ArrayTooLong, 3, 2),
        (File([("a", Typed(ARRAY, [Typed(ARRAY, [], ARRAY)], ARRAY))]), Limits(nesting=1), e.NestedTooDeep, 2, 1),
        (File(rows=[Row("a", shape=(1, 1, 1, 1, 1))]), Limits(), e.TooManyDimensions, 5, 4),
        (File(rows=[Row("a", shape=(2**32, 2**31), type=F32)]), Limits(), e.TooManyElements, 2**63, 2**63 - 1),
        (File([("a", Typed(STRING, "x" * 100))]), Limits(header_bytes=64), e.HeaderTooLong, AFTER_COUNTS + 9 + 4 + 8 + 100, 64),
    ],
)
def test_each_limit_has_its_error(file: File, limits: Limits, expected: type[e.LimitExceeded], value: int, limit: int) -> None:
    error = refused(file, expected, limits)
    assert (error.value, error.limit) == (value, limit)


@pytest.mark.parametrize("length", [2**32, 2**62, 2**64 - 1])
def test_a_huge_length_is_refused_before_anything_of_that_size_is_asked_for(length: int) -> None:
    huge = struct.pack("<Q", length)
    start = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    for content, expected in (
        (start + huge, e.StringTooLong),
        (start + string("k") + struct.pack("<I", STRING) + huge, e.StringTooLong),
        (start + string("k") + struct.pack("<II", ARRAY, UINT8) + huge, e.ArrayTooLong),
        (start + string("k") + struct.pack("<IIQ", ARRAY, STRING, 1) + huge, e.StringTooLong),
    ):
        source = Memory(content + bytes(1000), known=False)
        with pytest.raises(expected):
            read_header(source)
        assert max(length for _, length in source.asked) <= 1024 * 1024


def test_an_array_longer_than_the_file_is_refused_without_reading_on() -> None:
    start = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("k") + struct.pack("<IIQ", ARRAY, UINT64, 4_000_000)
    source = Memory(start + bytes(100))
    with pytest.raises(e.Truncated) as caught:
        read_header(source, arrays=True)
    assert caught.value.size == len(start) + 100
    assert len(source.asked) == 1


def test_names_out_of_a_file_are_shown_on_one_line_and_cut() -> None:
    name = "evil\x1b[31m\n" + "x" * 500
    error = refused(File(rows=[Row(name), Row(name, offset=128)]), e.DuplicateTensor)
    assert error.tensor == name
    assert "\x1b" not in str(error)
    assert len(error.problem) < 140
    assert "\n" not in error.problem
