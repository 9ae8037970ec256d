"""Models that are split over several files: `name-00001-of-00003.gguf` and on, each with a header of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from generator.gguf.errors import DuplicateTensor, IncompleteSet, ShardMismatch
from generator.gguf.header import Header, ShardedHeader, Tensor
from generator.gguf.limits import Limits
from generator.gguf.reader import read_header
from generator.gguf.stream import RangeSource

SPLIT_NO = "split.no"
SPLIT_COUNT = "split.count"
SPLIT_TENSORS = "split.tensors.count"
MOST_SHARDS = 99_999  # the names have five digits

_NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<ending>\.gguf.*)", re.DOTALL)


def shard_names(name: str) -> tuple[str, ...]:
    """Give the names of all files of the set that a file of this name belongs to; only its own if it is no shard's."""
    found = _NAME.fullmatch(name)
    if found is None or not 0 < int(found["number"]) <= int(found["count"]):
        return (name,)
    count = int(found["count"])
    return tuple(f"{found['stem']}-{number:05d}-of-{count:05d}{found['ending']}" for number in range(1, count + 1))


def read_sharded(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str] | RangeSource],
    *,
    arrays: Collection[str] | bool = (),
    limits: Limits = Limits(),  # noqa: B008  frozen, so one default serves all
    whole: bool = True,
) -> ShardedHeader:
    """Read the headers of all files of a model as one inventory; a model in one file is a set of one.

    `source` is the path of any file of the set, whose siblings are found by name, or all files in any order; the other
    arguments are those of `read_header`. The metadata is that of the first file; tensors keep the order of the files and know theirs.

    Raises IncompleteSet where files are missing, ShardMismatch where they do not belong together, DuplicateTensor,
    and what `read_header` raises.
    """
    sources = _siblings(Path(source)) if isinstance(source, str | os.PathLike) else source
    headers = [read_header(one, arrays=arrays, limits=limits, whole=whole) for one in sources]
    if not headers:
        raise IncompleteSet(["every file"], name="an empty set")
    headers = _in_order(headers)
    tensors: dict[str, Tensor] = {}
    for number, header in enumerate(headers):
        for tensor in header.tensors:
            if tensor.name in tensors:
                raise DuplicateTensor(tensor=tensor.name, name=header.name, offset=None)
            tensors[tensor.name] = replace(tensor, shard=number)
    first = headers[0]
    if SPLIT_TENSORS in first.metadata:
        _check(first, SPLIT_TENSORS, len(tensors))
    return ShardedHeader(name=first.name, metadata=first.metadata, tensors=tuple(tensors.values()), shards=tuple(headers))


def _siblings(path: Path) -> list[Path]:
    names = shard_names(path.name)
    missing = [name for name in names if not path.with_name(name).exists()]
    if missing and len(names) > 1:
        raise IncompleteSet(missing, name=str(path))
    return [path.with_name(name) for name in names]


def _in_order(headers: list[Header]) -> list[Header]:
    """Sort the files of a set by their own numbers, which must be those from 0 to one less than their count."""
    numbers = {header.metadata.get(SPLIT_NO, 0): header for header in headers}
    count = headers[0].metadata.get(SPLIT_COUNT) or len(headers)
    if isinstance(count, int) and len(headers) < count <= MOST_SHARDS:
        raise IncompleteSet(_missing(count, numbers, headers[0].name), name=headers[0].name)
    for header in headers:
        if len(headers) > 1 or SPLIT_COUNT in header.metadata:
            _check(header, SPLIT_COUNT, len(headers))
    for number, header in enumerate(headers):
        if number not in numbers:
            taken = header.metadata.get(SPLIT_NO)
            raise ShardMismatch(SPLIT_NO, taken, f"each of 0 to {len(headers) - 1} once", name=header.name)
    return [numbers[number] for number in range(len(headers))]


def _missing(count: int, numbers: Collection[object], name: str) -> list[str]:
    names = shard_names(Path(name).name)
    return [names[number] if len(names) == count else f"file {number + 1} of {count}" for number in range(count) if number not in numbers]


def _check(header: Header, key: str, expected: int) -> None:
    found = header.metadata.get(key)
    if found != expected:
        raise ShardMismatch(key, found, expected, name=header.name)
