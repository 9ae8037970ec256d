"""A model's file as far as an allocation pass looks at it: its header, and how long it is.

The header is the file's own, given locally or read from the Hub by ranges, or one written from a lock's metadata and tensor table. The
rest of the file is a hole: a sparse file of the right length takes no room.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from generator.errors import InputError, MissingFileError
from generator.facts import Lock
from generator.gguf import Header, RangeSource, read_header, shard_names
from generator.gguf.stream import FileRanges
from generator.gguf.writer import write_header
from generator.planning import model_of_lock

HUB = "hub"
"""The word that asks for the header from the Hub."""


@dataclass(frozen=True, slots=True)
class Head:
    """One file: its name, its bytes up to the tensor data, its length, and in words where the header came from."""

    name: str
    data: bytes
    size: int
    origin: str


def head_of_lock(lock: Lock, quant: str, name: str) -> Head:
    """Give the head that a lock's metadata and tensor table make, as long as the lock says the file is.

    Raises InputError where the lock has no header of the quant, or a length that its tensors do not fit into.
    """
    model = model_of_lock(lock, quant)
    rows = [[tensor.name, tensor.type, list(tensor.shape), int(tensor.size)] for tensor in model.tensors]
    written = write_header(model.metadata, rows)
    key = f"file.{quant.lower()}.size"
    size = int(lock.facts[key].quantity()) if key in lock.facts else written.size
    if size < written.size:
        raise InputError(
            f"the tensors of '{quant}' end at {written.size:,} bytes, and the file has {size:,}",
            where=f"recipes/models/{lock.subject}/model.lock.json",
            remedy="write the lock again with `gen lock`, from the header of this very file",
        )
    origin = "written from the lock's metadata and tensor table"
    if written.stand_ins:
        origin += ", with a vocabulary of the right length made up: allocation looks at no token"
    if model.tensors_fact.origin == "reconstructed":
        origin += "; that table is itself reconstructed from published totals"
    return Head(name, written.data, size, origin)


def head_of_file(path: Path, size: int | None) -> Head:
    """Give the head of a GGUF file, or of one cut off at its tensor data, whose length is then `size`.

    Raises MissingFileError, a GgufError, and InputError where the length is known from nowhere or too short.
    """
    if not path.is_file():
        raise MissingFileError(path, remedy="give a GGUF file, or its first bytes up to the tensor data")
    with FileRanges(path) as source:
        header = read_header(source, whole=False)
        data = source.read(0, header.data_offset).ljust(header.data_offset, b"\0")
    longest = max(filter(None, (header.file_size, size)), default=0)
    if longest < _end(header):
        raise InputError(
            f"the tensors end at {_end(header):,} bytes, and the file has {longest:,}",
            where=str(path),
            remedy="give the whole file, or the head of the file whose length the lock has",
        )
    return Head(path.name.removesuffix(".head"), data, longest, f"read from {path.name}, a file given locally")


def heads_of_hub(repository: str, file: str) -> list[Head]:
    """Give the heads of a file on the Hub and of all that are sharded with it, read by byte ranges. Raises a HubError or GgufError."""
    from generator.sources.hub import open_hub_set, parse_reference

    heads = []
    with ExitStack() as opened:
        names = shard_names(PurePosixPath(file).name)
        sources = [opened.enter_context(source) for source in open_hub_set(parse_reference(f"hf://{repository}/{file}"))]
        for name, source in zip(names, sources, strict=True):
            header = read_header(source)
            if source.size is None:
                raise InputError("the Hub does not say how long the file is", where=source.name)
            commit = f" at commit {source.commit}" if source.commit else ""
            heads.append(Head(name, _read(source, header), source.size, f"read from {repository} by byte ranges{commit}"))
    return heads


def _read(source: RangeSource, header: Header) -> bytes:
    return source.read(0, header.data_offset).ljust(header.data_offset, b"\0")


def _end(header: Header) -> int:
    return header.data_offset + max((tensor.offset + tensor.nbytes for tensor in header.tensors), default=0)


@contextmanager
def sparse_files(heads: Sequence[Head]) -> Iterator[Path]:
    """Make sparse files of heads in a folder of their own, give the path of the first, and remove them all at the end."""
    with tempfile.TemporaryDirectory(prefix="gen-measure-") as folder:
        paths = [Path(folder) / PurePosixPath(head.name).name for head in heads]
        for path, head in zip(paths, heads, strict=True):
            path.write_bytes(head.data)
            os.truncate(path, head.size)
        yield paths[0]
