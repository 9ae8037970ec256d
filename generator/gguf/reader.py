"""Reading one GGUF header: magic, version, counts, metadata, tensor table.

The format is described in docs/gguf.md of ggml-org/ggml; where that leaves something open, this follows the engine's own reader
(ggml/src/gguf.cpp): a truth value is any byte but 0, and a tensor without dimensions has one element.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import cache
from itertools import pairwise
from math import prod
from struct import Struct

from generator.gguf.arrays import ARRAY, SCALARS, SIZES, STRING, read_array, read_string, text
from generator.gguf.errors import (
    BadMagic,
    BigEndian,
    DuplicateKey,
    DuplicateTensor,
    InvalidAlignment,
    InvalidText,
    MisalignedTensor,
    OverlappingTensors,
    PartialRow,
    TensorOutsideFile,
    TooManyDimensions,
    TooManyElements,
    TooManyKeys,
    TooManyTensors,
    UnknownTensorType,
    UnknownValueType,
    UnsupportedVersion,
)
from generator.gguf.header import Header, Tensor, Value
from generator.gguf.limits import Limits
from generator.gguf.stream import FileRanges, RangeSource, Stream
from generator.gguf.types import BLOCKS, TYPE_NAMES

ALIGNMENT_KEY = "general.alignment"
DEFAULT_ALIGNMENT = 32
MOST_ELEMENTS = 2**63 - 1

_UINT32 = 4
_TYPE = Struct("<I")
_COUNTS = Struct("<QQ")
_SCALAR = {type_id: Struct(f"<{letter}") for type_id, letter in SCALARS.items()}
_SMALLEST_PAIR = 8 + 4 + 1  # an empty key, its type, a one-byte value
_SMALLEST_TENSOR = 8 + 4 + 4 + 8  # an empty name, no dimensions, type, offset


def read_header(
    source: str | os.PathLike[str] | RangeSource,
    *,
    arrays: Collection[str] | bool = (),
    limits: Limits = Limits(),  # noqa: B008  frozen, so one default serves all
    whole: bool = True,
) -> Header:
    """Read the header of a GGUF file, and nothing of its tensor data.

    `source` is a path or anything that serves byte ranges. Of metadata arrays, those of up to 1,024 numbers or strings are kept
    as tuples; longer or nested ones become a SkippedArray, unless `arrays` names their keys or is True. `whole=False` is
    for a file that ends before its tensor data does (a bare header); otherwise every tensor must lie within the
    file, where the source knows its size.

    Raises a GgufError that says what is wrong at which byte, MissingFileError, and what the source raises.
    """
    if isinstance(source, RangeSource):
        return _read(Stream(source, longest=limits.header_bytes, steady=False), limits, arrays=arrays, whole=whole)
    with FileRanges(source) as file:
        return _read(Stream(file, longest=limits.header_bytes, steady=True), limits, arrays=arrays, whole=whole)


def _read(stream: Stream, limits: Limits, *, arrays: Collection[str] | bool, whole: bool) -> Header:
    version = _read_version(stream)
    begin = stream.offset
    tensor_count, key_count = _COUNTS.unpack(stream.take(_COUNTS.size))
    if tensor_count > limits.tensors:
        raise TooManyTensors(tensor_count, limits.tensors, name=stream.name, offset=begin)
    if key_count > limits.keys:
        raise TooManyKeys(key_count, limits.keys, name=stream.name, offset=begin + 8)
    metadata, alignment = _read_metadata(stream, key_count, tensor_count * _SMALLEST_TENSOR, limits, arrays=arrays)
    tensors, entries = _read_tensors(stream, tensor_count, alignment, limits)
    _check_overlap(tensors, entries, stream.name)
    header_bytes = stream.offset
    data_offset = -(-header_bytes // alignment) * alignment
    if whole and stream.size is not None:
        _check_within(tensors, entries, data_offset, stream.size, stream.name)
    return Header(
        name=stream.name,
        metadata=metadata,
        tensors=tensors,
        version=version,
        alignment=alignment,
        header_bytes=header_bytes,
        data_offset=data_offset,
        file_size=stream.size,
    )


def _read_version(stream: Stream) -> int:
    stream.require(1)
    start = stream.buffer[:16]
    if start[:4] != b"GGUF"[: len(start)]:
        raise BadMagic(start, name=stream.name)
    stream.take(4)
    (version,) = _TYPE.unpack(stream.take(4))
    if version and version & 0xFFFF == 0:
        raise BigEndian(name=stream.name)
    if version not in {2, 3}:
        raise UnsupportedVersion(version, name=stream.name)
    return int(version)


def _read_metadata(
    stream: Stream, count: int, table: int, limits: Limits, *, arrays: Collection[str] | bool
) -> tuple[dict[str, Value], int]:
    """Read `count` keys and values, with a tensor table of at least `table` bytes to follow: the pairs, and the alignment."""
    metadata: dict[str, Value] = {}
    alignment = DEFAULT_ALIGNMENT
    for left in range(count, 0, -1):
        stream.follows = (left - 1) * _SMALLEST_PAIR + table
        begin = stream.offset
        key = _read_name(stream, "metadata key", limits)
        if key in metadata:
            raise DuplicateKey(key, name=stream.name, offset=begin)
        begin = stream.offset
        (value_type,) = _TYPE.unpack(stream.take(4))
        if value_type in _SCALAR:
            (metadata[key],) = _SCALAR[value_type].unpack(stream.take(SIZES[value_type]))
        elif value_type == STRING:
            metadata[key] = text(read_string(stream, limits))
        elif value_type == ARRAY:
            wanted = arrays if isinstance(arrays, bool) else key in arrays
            metadata[key] = read_array(stream, key, limits, wanted=wanted)
        else:
            raise UnknownValueType(value_type, key=key, name=stream.name, offset=begin)
        if key == ALIGNMENT_KEY:
            alignment = _alignment(value_type, metadata[key], stream.name, begin)
    return metadata, alignment


def _alignment(value_type: int, value: Value, name: str, offset: int) -> int:
    if value_type != _UINT32 or not isinstance(value, int) or value.bit_count() != 1:
        raise InvalidAlignment(value, name=name, offset=offset)
    return value


def _read_name(stream: Stream, kind: str, limits: Limits) -> str:
    begin = stream.offset
    raw = read_string(stream, limits)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise InvalidText(raw, kind=kind, name=stream.name, offset=begin) from None


def _read_tensors(stream: Stream, count: int, alignment: int, limits: Limits) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """Read the tensor table: the tensors, and the byte at which the entry of each begins."""
    tensors: dict[str, Tensor] = {}
    entries: list[int] = []
    for left in range(count, 0, -1):
        stream.follows = left * _SMALLEST_TENSOR
        entry = stream.offset
        tensor = _read_tensor(stream, entry, limits)
        if tensor.name in tensors:
            raise DuplicateTensor(tensor=tensor.name, name=stream.name, offset=entry)
        if tensor.offset % alignment:
            raise MisalignedTensor(tensor.offset, alignment, tensor=tensor.name, name=stream.name, offset=entry)
        tensors[tensor.name] = tensor
        entries.append(entry)
    return tuple(tensors.values()), tuple(entries)


def _read_tensor(stream: Stream, entry: int, limits: Limits) -> Tensor:
    name = _read_name(stream, "tensor name", limits)
    (dimensions,) = _TYPE.unpack(stream.take(4))
    if dimensions > limits.dimensions:
        raise TooManyDimensions(dimensions, limits.dimensions, name=stream.name, offset=stream.offset - 4)
    rest = _tensor_rest(dimensions)
    *shape, type_id, offset = rest.unpack(stream.take(rest.size))
    elements = prod(shape)
    if elements > MOST_ELEMENTS:
        raise TooManyElements(elements, MOST_ELEMENTS, name=stream.name, offset=entry)
    type_name = TYPE_NAMES.get(type_id)
    if type_name is None:
        raise UnknownTensorType(type_id, tensor=name, name=stream.name, offset=entry)
    _, per_block, block_bytes = BLOCKS[type_name]
    row = shape[0] if shape else 1
    if row % per_block:
        raise PartialRow(row, type_name, per_block, tensor=name, name=stream.name, offset=entry)
    return Tensor(name, type_name, tuple(shape), offset, elements // per_block * block_bytes)


@cache
def _tensor_rest(dimensions: int) -> Struct:
    """What follows a tensor's number of dimensions: their extents, its type, its offset."""
    return Struct(f"<{dimensions}QIQ")


def _check_overlap(tensors: Sequence[Tensor], entries: Sequence[int], name: str) -> None:
    filled = sorted((tensor.offset, tensor.offset + tensor.nbytes, index) for index, tensor in enumerate(tensors) if tensor.nbytes)
    for (_, end, before), (begin, _, index) in pairwise(filled):
        if begin < end:
            raise OverlappingTensors(begin, tensors[before].name, end, tensor=tensors[index].name, name=name, offset=entries[index])


def _check_within(tensors: Sequence[Tensor], entries: Sequence[int], data_offset: int, file_size: int, name: str) -> None:
    for tensor, entry in zip(tensors, entries, strict=True):
        end = data_offset + tensor.offset + tensor.nbytes
        if end > file_size and tensor.nbytes:
            raise TensorOutsideFile(end, file_size, tensor=tensor.name, name=name, offset=entry)
