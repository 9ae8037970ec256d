"""Any file that follows the format reads back as what was written; any other raises one of our errors."""

from __future__ import annotations

import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.gguf import read_header
from generator.gguf.errors import BadMagic, GgufError, Truncated
from tests.gguf.raw import (
    ARRAY,
    BOOL,
    F32,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    Q4_0,
    Q8_0,
    STRING,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    File,
    Memory,
    Row,
    Typed,
)

INTEGERS = {UINT8: (0, 8), INT8: (1, 8), UINT16: (0, 16), INT16: (1, 16), UINT32: (0, 32), INT32: (1, 32), UINT64: (0, 64), INT64: (1, 64)}
TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)


def scalars(kind: int) -> st.SearchStrategy[Any]:
    if kind in INTEGERS:
        signed, bits = INTEGERS[kind]
        return st.integers(-signed * 2 ** (bits - 1), 2 ** (bits - signed) - 1)
    if kind == BOOL:
        return st.booleans()
    if kind == STRING:
        return TEXTS
    return st.floats(width=32 if kind == FLOAT32 else 64, allow_nan=False)


SCALAR_TYPES = st.sampled_from([*INTEGERS, FLOAT32, FLOAT64, BOOL, STRING])
SCALARS = SCALAR_TYPES.flatmap(lambda kind: scalars(kind).map(lambda value: Typed(kind, value)))


def rows_of(kind: int) -> st.SearchStrategy[Typed]:
    return st.lists(scalars(kind).map(lambda value: Typed(kind, value)), max_size=20).map(lambda items: Typed(ARRAY, items, kind))


ARRAYS = SCALAR_TYPES.flatmap(rows_of)
NESTED = st.lists(ARRAYS, max_size=4).map(lambda items: Typed(ARRAY, items, ARRAY))
VALUES = SCALARS | ARRAYS | NESTED


def expected(item: Typed) -> object:
    return tuple(expected(element) for element in item.value) if isinstance(item.value, list) else item.value


@st.composite
def files(draw: st.DrawFn) -> File:
    names = [name for name in draw(st.lists(TEXTS, max_size=8, unique=True)) if name != "general.alignment"]
    rows, offset = [], 0
    for name in draw(st.lists(TEXTS, max_size=5, unique=True)):
        kind, block, size = draw(st.sampled_from([(F32, 1, 4), (Q4_0, 32, 18), (Q8_0, 32, 34)]))
        shape = (draw(st.integers(0, 4)) * block, *draw(st.lists(st.integers(0, 3), max_size=3)))
        rows.append(Row(name, shape, kind, offset))
        count = 1
        for extent in shape:
            count *= extent
        offset += -(-(count // block * size) // 32) * 32
    pairs: list[tuple[str | bytes, Typed]] = [(name, draw(VALUES)) for name in names]
    return File(pairs, rows, version=draw(st.sampled_from([2, 3])), data=bytes(offset))


@given(files())
def test_what_was_written_is_read(file: File) -> None:
    header = read_header(Memory(file.bytes()), arrays=True)
    assert header.metadata == {key: expected(item) for key, item in file.pairs}
    assert [(t.name, t.shape, t.offset) for t in header.tensors] == [(row.name, row.shape, row.offset) for row in file.rows]
    assert header.header_bytes == len(file.header())
    assert header.data_offset + len(file.data) == len(file.bytes())


@given(files(), st.data())
def test_a_header_cut_anywhere_is_truncated(file: File, data: st.DataObject) -> None:
    content = file.header()
    cut = data.draw(st.integers(0, len(content) - 1))
    for known in (True, False):
        with pytest.raises(Truncated) as caught:
            read_header(Memory(content[:cut], known=known), whole=False)
        assert caught.value.size == cut or (caught.value.size is None and not known)


def outcome(content: bytes) -> GgufError | None:
    """Read a file that may be wrong: the error of ours, or None; any other error fails the test."""
    try:
        read_header(Memory(content), arrays=True)
    except GgufError as error:
        return error
    return None


@given(files(), st.data())
def test_a_changed_byte_gives_a_header_or_one_of_our_errors_and_takes_little_memory(file: File, data: st.DataObject) -> None:
    content = bytearray(file.bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    tracemalloc.start()
    error = outcome(bytes(content))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert error is None or error.remedy
    assert peak < 1_000_000 + 100 * len(content)


@given(st.binary(max_size=200), st.sampled_from([b"", b"GGUF", b"GGUF\3\0\0\0", b"GGUF" + struct.pack("<IQQ", 3, 1, 2)]))
def test_any_bytes_give_a_header_or_one_of_our_errors(tail: bytes, start: bytes) -> None:
    content = start + tail
    error = outcome(content)
    assert isinstance(error, BadMagic) == (content[:4] != b"GGUF"[: len(content)])
