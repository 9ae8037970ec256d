"""GGUF headers from what a lock keeps of one: the same keys, tensors and sizes, with empty texts where a tokenizer's were."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from generator.gguf.types import TYPE_NAMES
from tests.gguf.raw import ARRAY, BOOL, FLOAT32, INT32, INT64, STRING, UINT32, UINT64, Row, Typed, array, packed, string

ALIGNMENT = 32

_TYPE_IDS = {name: number for number, name in TYPE_NAMES.items()}


def header_bytes(metadata: object, tensors: object) -> bytes:
    """Give the header of a file whose metadata and tensor table a lock has."""
    assert isinstance(metadata, Mapping) and isinstance(tensors, Sequence)
    pairs = [string(key) + _pair(key, value) for key, value in metadata.items()]
    rows, offset = [], 0
    for name, kind, shape, nbytes in tensors:
        rows.append(Row(name, tuple(shape), _TYPE_IDS[kind], offset).packed())
        offset += -(-nbytes // ALIGNMENT) * ALIGNMENT
    header = b"GGUF" + struct.pack("<IQQ", 3, len(rows), len(pairs)) + b"".join(pairs) + b"".join(rows)
    return header + bytes(-len(header) % ALIGNMENT)


def plain_header(architecture: str) -> bytes:
    """Give the header of a file of which only the architecture is known."""
    return header_bytes({"general.architecture": architecture}, [])


def _pair(key: str, value: object) -> bytes:
    """Give a value with its type before it; of an array whose length alone is known, that many empty elements."""
    if isinstance(value, Mapping):
        length = int(value["length"])
        element, size = (INT32, 4) if key.endswith("token_type") else (FLOAT32, 4) if key.endswith("scores") else (STRING, 8)
        return struct.pack("<IIQ", ARRAY, element, length) + bytes(size * length)
    item = _typed(value)
    return struct.pack("<I", item.type) + packed(item)


def _typed(value: object) -> Typed:
    if isinstance(value, bool):
        return Typed(BOOL, value)
    if isinstance(value, int):
        return Typed(UINT32 if 0 <= value < 2**32 else UINT64 if value >= 0 else INT64, value)
    if isinstance(value, float):
        return Typed(FLOAT32, value)
    if isinstance(value, str):
        return Typed(STRING, value)
    assert isinstance(value, Sequence)
    kinds = {str: STRING, float: FLOAT32, bool: BOOL}
    return array(kinds.get(type(value[0]), INT32) if value else INT32, list(value))
