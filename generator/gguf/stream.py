"""Where headers are read from, and how much is asked for at a time.

A header says nowhere how long it is, and a server is asked for few, large ranges. The rules by which `Stream` asks:

- It reads forward only, and asks for no byte twice. Arrays of fixed-size elements that nobody wants are passed over
  without being asked for.
- A range ends at most `READ_AHEAD` (960 KiB) beyond what is known, or may be taken, to follow: the metadata keys and
  tensors still to come at their smallest, and the strings left of the array that is being read. A string is taken to be 8 bytes
  of length and the mean text so far in that array, but at most `LIKELY_TEXT` (8) bytes of text. What was passed over is
  credited, up to as much again: it saves a request where arrays follow each other.

So less than 1 MiB is fetched beyond the header, unless the rest of an array has texts shorter than those 8 bytes or that mean, and
what follows does not make up for it (tokenizers list short entries first, so theirs grow). Whatever the file, it is less than
2 · header + 1 MiB: each string that is taken to follow has its 8 bytes of length in the header, and no more than as many
of text are added to it.

How many ranges it takes: of an array of n bytes with texts of t bytes, a range leaves about n · (t - min(8, t)) / (8 + t) - READ_AHEAD
to be asked for. A tokenizer of 250,000 tokens and as many merges (10 MB) takes four ranges, one of a million of each (38 MB)
four, one with texts of 17 bytes (31 MB) seven.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Protocol, Self, runtime_checkable

from generator.errors import MissingFileError
from generator.gguf.errors import HeaderTooLong, Truncated

READ_AHEAD = 960 * 1024
LARGEST_RANGE = 16 * 1024 * 1024
FILE_RANGE = 256 * 1024
LIKELY_TEXT = 8


@runtime_checkable
class RangeSource(Protocol):
    """Anything that serves byte ranges of one file.

    `size` is None where it is not known; it may become known by reading. `read` gives `length` bytes from `start` on,
    fewer only where the file ends before that. `name` stands for the file in messages.
    """

    @property
    def size(self) -> int | None: ...

    @property
    def name(self) -> str: ...

    def read(self, start: int, length: int) -> bytes: ...


class FileRanges:
    """The byte ranges of a local file, open until it is closed. Raises MissingFileError."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        try:
            self._file: BinaryIO = Path(path).open("rb", buffering=0)  # noqa: SIM115  closed by __exit__
        except FileNotFoundError:
            raise MissingFileError(self.name, remedy="check the path") from None
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
            raise MissingFileError(self.name, reason=f"cannot be read: {reason}", remedy="give a file that can be read") from problem
        self.size: int | None = os.fstat(self._file.fileno()).st_size

    def read(self, start: int, length: int) -> bytes:
        """Give `length` bytes from `start` on, fewer where the file ends."""
        self._file.seek(start)
        return self._file.read(length)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class Stream:
    """A forward reader over a source, holding the part of it that is being read.

    `buffer[position:]` is at hand; after `require(n)` it holds n bytes or more. `follows` is the least number of bytes that
    follow the present section of the header. `steady` says that asking costs nothing, as with a local file, so that little is
    taken into memory at once.
    """

    __slots__ = ("_base", "_largest", "_longest", "_passed", "_source", "buffer", "follows", "name", "position")

    def __init__(self, source: RangeSource, *, longest: int, steady: bool) -> None:
        self._source = source
        self._longest = longest
        self._largest = FILE_RANGE if steady else LARGEST_RANGE
        self._base = 0
        self._passed = 0
        self.name = source.name
        self.buffer = b""
        self.position = 0
        self.follows = 0

    @property
    def offset(self) -> int:
        """The byte of the file that is read next."""
        return self._base + self.position

    @property
    def size(self) -> int | None:
        """The size of the file, None where the source does not know."""
        return self._source.size

    def require(self, count: int, likely: int = 0) -> None:
        """See to it that `count` bytes are at hand, of a section that likely goes on for `likely` bytes.

        Raises Truncated where the file ends before, HeaderTooLong where that is beyond the limit.
        """
        missing = self.position + count - len(self.buffer)
        if missing > 0:
            self._fetch(count, missing, likely)

    def take(self, count: int) -> bytes:
        """Give the next `count` bytes. Raises as `require` does."""
        if self.position + count > len(self.buffer):
            self.require(count)
        begin = self.position
        self.position = begin + count
        return self.buffer[begin : self.position]

    def skip(self, count: int, likely: int = 0) -> None:
        """Pass over `count` bytes, of which what is not at hand is not asked for, but for the last: it must exist."""
        if self.position + count > len(self.buffer):
            self._check_end(count)
            self._passed += self.position + count - len(self.buffer) - 1
            self._base = self.offset + count - 1
            self.buffer = b""
            self.position = 0
            self.require(1, likely)
            count = 1
        self.position += count

    def _check_end(self, count: int) -> None:
        end = self.offset + count
        if self.size is not None and end > self.size:
            raise Truncated(name=self.name, offset=self.offset, wanted=count, size=self.size)
        if end > self._longest:
            raise HeaderTooLong(end, self._longest, name=self.name, offset=self.offset)

    def _fetch(self, count: int, missing: int, likely: int) -> None:
        self._check_end(count)
        end = self._base + len(self.buffer)
        expected = self.offset + max(count, likely + self.follows) + READ_AHEAD + min(self._passed, READ_AHEAD)
        length = max(missing, min(expected, self._longest, end + self._largest) - end)
        more = self._source.read(end, length)
        if len(more) < missing:
            seen = end + len(more) if more or self.buffer or not end else None
            raise Truncated(name=self.name, offset=self.offset, wanted=count, size=self.size or seen)
        self._base = self.offset
        self.buffer = self.buffer[self.position :] + more
        self.position = 0
