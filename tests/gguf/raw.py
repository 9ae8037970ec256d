"""A writer of GGUF headers that can write wrong ones too, after the text of the format (docs/gguf.md of ggml-org/ggml)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)
LETTERS = dict(zip((UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, UINT64, INT64, FLOAT64), "BbHhIifQqd", strict=True))
F32, F16, Q4_0, Q8_0, Q4_K = 0, 1, 2, 8, 12


@dataclass
class Typed:
    """A value and the type it is written as; of an array, `value` holds Typed elements of type `element`."""

    type: int
    value: object
    element: int = UINT8


def string(content: str | bytes) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return struct.pack("<Q", len(raw)) + raw


def packed(item: Typed) -> bytes:
    if item.type == STRING:
        assert isinstance(item.value, str | bytes)
        return string(item.value)
    if item.type == BOOL:
        return b"\1" if item.value else b"\0"
    if item.type == ARRAY:
        assert isinstance(item.value, Sequence)
        return struct.pack("<IQ", item.element, len(item.value)) + b"".join(map(packed, item.value))
    return struct.pack("<" + LETTERS[item.type], item.value)


def array(element: int, values: Sequence[object]) -> Typed:
    return Typed(ARRAY, [Typed(element, value) for value in values], element)


@dataclass
class Row:
    """An entry of the tensor table."""

    name: str | bytes
    shape: tuple[int, ...] = (32,)
    type: int = F32
    offset: int = 0

    def packed(self) -> bytes:
        count = len(self.shape)
        return string(self.name) + struct.pack(f"<I{count}QIQ", count, *self.shape, self.type, self.offset)


@dataclass
class File:
    """A GGUF file; `counts` overrides what the file says of its numbers of tensors and keys."""

    pairs: list[tuple[str | bytes, Typed]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    version: int = 3
    magic: bytes = b"GGUF"
    counts: tuple[int, int] | None = None
    data: bytes = b""
    alignment: int = 32

    def header(self) -> bytes:
        tensors, keys = self.counts or (len(self.rows), len(self.pairs))
        parts = [self.magic, struct.pack("<IQQ", self.version, tensors, keys)]
        parts += [string(key) + struct.pack("<I", item.type) + packed(item) for key, item in self.pairs]
        parts += [row.packed() for row in self.rows]
        return b"".join(parts)

    def bytes(self) -> bytes:
        header = self.header()
        return header + bytes(-len(header) % self.alignment) + self.data


class Memory:
    """Byte ranges of bytes, remembering what was asked for; the size is told unless `known` is False."""

    name = "memory.gguf"

    def __init__(self, content: bytes, *, known: bool = True) -> None:
        self._content = content
        self.size = len(content) if known else None
        self.asked: list[tuple[int, int]] = []
        self.fetched = 0

    def read(self, start: int, length: int) -> bytes:
        self.asked.append((start, length))
        given = self._content[start : start + length]
        self.fetched += len(given)
        return given
