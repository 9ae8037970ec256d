"""Reading and passing over the arrays of a GGUF header; the long ones are a tokenizer's.

An array of strings has no index: each string is its length (8 bytes, little-endian) and its text, so passing over one means
walking it. Python takes about 0.15 µs a step, which for half a million strings is most of the time of reading a header. `_strides`
is a regular expression that takes `STRIDE` strings in one match, by naming each short length with as many bytes
to pass; it decides nothing: where it does not match (a longer string, the end of the buffer) the walk does, one at a time.
"""

from __future__ import annotations

import re
import struct
from functools import cache
from struct import Struct

from generator.gguf.errors import ArrayTooLong, NestedTooDeep, StringTooLong, UnknownValueType
from generator.gguf.header import SkippedArray, Value
from generator.gguf.limits import Limits
from generator.gguf.stream import LIKELY_TEXT, Stream

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Type numbers of fixed-size values: their letter in `struct`. Like the engine, any byte but 0 is true."""

STRING = 8
ARRAY = 9
VALUE_TYPES = {
    0: "UINT8",
    1: "INT8",
    2: "UINT16",
    3: "INT16",
    4: "UINT32",
    5: "INT32",
    6: "FLOAT32",
    7: "BOOL",
    8: "STRING",
    9: "ARRAY",
    10: "UINT64",
    11: "INT64",
    12: "FLOAT64",
}
SIZES = {type_id: struct.calcsize(f"<{letter}") for type_id, letter in SCALARS.items()}

KEPT = 1024
"""Arrays of up to this many scalars or strings are kept unasked: per-layer head counts, rope sections, tags."""

STRIDE = 128
_MANY = 16_384  # from here on the expression, which takes 4 ms to compile, pays
_STEP = 65_536  # elements unpacked at a time
_LENGTH = Struct("<Q")
_ARRAY_HEAD = Struct("<IQ")


def read_array(stream: Stream, key: str, limits: Limits, *, wanted: bool, depth: int = 1) -> Value:
    """Read the array that begins here: a tuple where it is wanted or short, else a SkippedArray.

    Raises the errors of `generator.gguf.errors` on lengths, types and nesting.
    """
    begin = stream.offset
    if depth > limits.nesting:
        raise NestedTooDeep(depth, limits.nesting, name=stream.name, offset=begin)
    element_type, length = _ARRAY_HEAD.unpack(stream.take(_ARRAY_HEAD.size))
    if element_type not in VALUE_TYPES:
        raise UnknownValueType(element_type, key=key, name=stream.name, offset=begin)
    if length > limits.array_length:
        raise ArrayTooLong(length, limits.array_length, name=stream.name, offset=begin + 4)
    kept = wanted or (length <= KEPT and element_type != ARRAY and depth == 1)
    values: list[Value] | None = [] if kept else None
    if element_type == STRING:
        _read_strings(stream, length, limits, values)
    elif element_type == ARRAY:
        for _ in range(length):
            row = read_array(stream, key, limits, wanted=wanted, depth=depth + 1)
            if values is not None:
                values.append(row)
    else:
        _read_scalars(stream, length, element_type, values)
    return SkippedArray(VALUE_TYPES[element_type], length) if values is None else tuple(values)


def read_string(stream: Stream, limits: Limits) -> bytes:
    """Read the string that begins here, as the bytes of the file. Raises StringTooLong, Truncated."""
    length = _require_string(stream, limits)
    begin = stream.position + 8
    stream.position = begin + length
    return stream.buffer[begin : stream.position]


def text(raw: bytes) -> str:
    r"""Give the text of a metadata value. Bytes that are no UTF-8 become `\xNN`: the engine takes them too, as they are."""
    return raw.decode("utf-8", errors="backslashreplace")


def _read_scalars(stream: Stream, length: int, element_type: int, values: list[Value] | None) -> None:
    """Pass over the scalars of an array, adding each to `values` if that is given."""
    letter, size = SCALARS[element_type], SIZES[element_type]
    if values is None:
        stream.skip(length * size)
        return
    for first in range(0, length, _STEP):
        count = min(_STEP, length - first)
        stream.require(count * size, (length - first) * size)
        values += struct.unpack_from(f"<{count}{letter}", stream.buffer, stream.position)
        stream.position += count * size


def _read_strings(stream: Stream, length: int, limits: Limits, values: list[Value] | None = None) -> None:
    """Pass over the strings of an array, adding each to `values` if that is given."""
    begin, left = stream.offset, length
    stride = _strides().match if values is None and length >= _MANY else None
    while left:
        buffer, position = stream.buffer, stream.position
        while stride and left >= STRIDE and (matched := stride(buffer, position)):
            position = matched.end()
            left -= STRIDE
        count = min(left, STRIDE)
        stream.position, walked = _walk(buffer, position, count, limits.string_length, values)
        left -= walked
        if walked < count:
            _require_string(stream, limits, _likely(stream, begin, length - left, length))


def _walk(buffer: bytes, position: int, count: int, longest: int, values: list[Value] | None) -> tuple[int, int]:
    """Pass over up to `count` strings that are whole in the buffer and no longer than `longest`: new position, how many."""
    last = len(buffer)
    for walked in range(count):
        begin = position + 8
        if begin > last:
            return position, walked
        (size,) = _LENGTH.unpack_from(buffer, position)
        if size > longest or begin + size > last:
            return position, walked
        position = begin + size
        if values is not None:
            values.append(text(buffer[begin:position]))
    return position, count


def _require_string(stream: Stream, limits: Limits, likely: int = 0) -> int:
    """See to it that the string that begins here is at hand, and give the length of its text."""
    stream.require(8, likely)
    length: int = _LENGTH.unpack_from(stream.buffer, stream.position)[0]
    if length > limits.string_length:
        raise StringTooLong(length, limits.string_length, name=stream.name, offset=stream.offset)
    stream.require(8 + length, likely)
    return length


def _likely(stream: Stream, begin: int, done: int, length: int) -> int:
    """The bytes that the strings left of an array likely take; see `generator.gguf.stream`."""
    mean_text = (stream.offset - begin) // done - 8 if done else 0
    return (length - done) * (8 + min(LIKELY_TEXT, mean_text))


@cache
def _strides() -> re.Pattern[bytes]:
    """An expression for `STRIDE` strings of less than 48 bytes each; the usual lengths are tried first."""
    lengths = sorted(range(48), key=lambda length: abs(length - 8))
    branches = b"|".join(re.escape(bytes([length])) + rb"\0\0\0\0\0\0\0.{%d}+" % length for length in lengths)
    return re.compile(rb"(?s:%s){%d}" % (branches, STRIDE))
