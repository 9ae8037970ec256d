"""What can be wrong with a GGUF header: one class for each, with its data, the byte it was seen at, and a remedy.

Text out of a file is other people's: messages show it as a quoted literal (control characters escaped) and cut short.
"""

from __future__ import annotations

from collections.abc import Iterable

from generator.errors import InputError, quoted

DAMAGED = "the file is damaged or was written by a faulty tool: download it again, or convert the model again"
HOSTILE = "no known model comes near this limit: the file is damaged, or made to exhaust memory; if it is neither, pass wider Limits"


class GgufError(InputError):
    """Base of what is wrong with one GGUF file: `name` is the file, `offset` the byte at which what is wrong begins.

    `offset` is None where no one place is to blame.
    """

    def __init__(self, problem: str, *, name: str, offset: int | None, remedy: str = DAMAGED) -> None:
        self.name = name
        self.offset = offset
        super().__init__(problem, where=name if offset is None else f"{name}, byte {offset:,}", remedy=remedy)


# --- the file as a whole -------------------------------------------------------------------------


class BadMagic(GgufError):
    """The file does not begin with `GGUF`; `found` is what it begins with."""

    def __init__(self, found: bytes, *, name: str) -> None:
        self.found = found
        remedy = "give the path of a .gguf file"
        for start, advice in _IMPOSTORS.items():
            if found.lstrip().startswith(start):
                remedy = advice
        super().__init__(f"this is no GGUF file: it begins with {found[:4]!r}", name=name, offset=0, remedy=remedy)


_IMPOSTORS = {
    b"version": "this is a Git LFS pointer, not the model: run `git lfs pull` beside it, or download the file itself",
    b"<": "this is a web page, not the model: download the file itself",
    b"\x1f\x8b": "this is a gzip archive: unpack it first",
    b"PK": "this is a zip archive or a PyTorch checkpoint: unpack or convert it first",
    b"lmgg": "this is a GGML file, older than GGUF: convert the model again",
    b"fmgg": "this is a GGMF file, older than GGUF: convert the model again",
    b"tjgg": "this is a GGJT file, older than GGUF: convert the model again",
}


class UnsupportedVersion(GgufError):
    """A version of the format other than 2 and 3."""

    def __init__(self, version: int, *, name: str) -> None:
        self.version = version
        remedy = "convert the model again: version 1 was used for a few weeks of 2023" if version == 1 else "update gen, or convert again"
        super().__init__(f"GGUF version {version} cannot be read, only 2 and 3", name=name, offset=4, remedy=remedy)


class BigEndian(GgufError):
    """The file is written for big-endian machines."""

    def __init__(self, *, name: str) -> None:
        remedy = "the Hub serves little-endian files; convert this one with `gguf-convert-endian FILE little`"
        super().__init__("this GGUF file is big-endian, and the engines planned here are not", name=name, offset=4, remedy=remedy)


class Truncated(GgufError):
    """The file ends inside the header: `wanted` bytes were to be read at `offset`, but it has `size` in all.

    `size` is None where the source does not tell it, and the end was jumped over.
    """

    def __init__(self, *, name: str, offset: int, wanted: int, size: int | None) -> None:
        self.wanted = wanted
        self.size = size
        known = "" if size is None else f", but it has {size:,} in all"
        super().__init__(
            f"the file ends inside its header: {wanted:,} bytes are needed here{known}",
            name=name,
            offset=offset,
            remedy="the file is cut or still being downloaded: download it again",
        )


# --- metadata ------------------------------------------------------------------------------------


class UnknownValueType(GgufError):
    """A metadata value whose type number is not of the format."""

    def __init__(self, type_id: int, *, key: str, name: str, offset: int) -> None:
        self.type_id = type_id
        self.key = key
        super().__init__(f"the value of {literal(key)} is of unknown type {type_id}", name=name, offset=offset)


class DuplicateKey(GgufError):
    """A metadata key that occurs twice."""

    def __init__(self, key: str, *, name: str, offset: int) -> None:
        self.key = key
        super().__init__(f"metadata key {literal(key)} occurs twice", name=name, offset=offset)


class InvalidText(GgufError):
    """A metadata key or a tensor name that is not UTF-8; `raw` is its bytes."""

    def __init__(self, raw: bytes, *, kind: str, name: str, offset: int) -> None:
        self.raw = raw
        self.kind = kind
        super().__init__(f"a {kind} is not UTF-8: {literal(raw)}", name=name, offset=offset)


class InvalidAlignment(GgufError):
    """`general.alignment` is something else than a power of two held as UINT32."""

    def __init__(self, value: object, *, name: str, offset: int) -> None:
        self.value = value
        super().__init__(f"general.alignment must be a power of two held as UINT32, not {literal(value)}", name=name, offset=offset)


class MissingKey(GgufError):
    """A metadata key that no model can do without is absent, or of the wrong type."""

    def __init__(self, key: str, *, name: str) -> None:
        self.key = key
        remedy = "the file describes no model; give the first file of a sharded set"
        super().__init__(f"there is no text under metadata key {literal(key)}", name=name, offset=None, remedy=remedy)


# --- tensors -------------------------------------------------------------------------------------


class TensorError(GgufError):
    """Something wrong with one entry of the tensor table; `tensor` is its name, `offset` where the entry stands."""

    def __init__(self, problem: str, *, tensor: str, name: str, offset: int | None, remedy: str = DAMAGED) -> None:
        self.tensor = tensor
        super().__init__(f"tensor {literal(tensor)} {problem}", name=name, offset=offset, remedy=remedy)


class UnknownTensorType(TensorError):
    """A tensor whose type number is in no list of quant types."""

    def __init__(self, type_id: int, *, tensor: str, name: str, offset: int) -> None:
        self.type_id = type_id
        remedy = "type 4, 5, 31 to 33 and 36 to 38 were removed from the format: take a newer file; for a newer type, update gen"
        super().__init__(f"is of unknown type {type_id}", tensor=tensor, name=name, offset=offset, remedy=remedy)


class DuplicateTensor(TensorError):
    """A tensor name that occurs twice: in one file, or (`offset` None) in two files of a set."""

    def __init__(self, *, tensor: str, name: str, offset: int | None) -> None:
        super().__init__("occurs twice", tensor=tensor, name=name, offset=offset)


class PartialRow(TensorError):
    """A tensor whose rows are not whole blocks of its type."""

    def __init__(self, elements: int, type_name: str, block: int, *, tensor: str, name: str, offset: int) -> None:
        self.elements = elements
        self.type_name = type_name
        self.block = block
        problem = f"has rows of {elements:,} elements, which is no multiple of the {block} that a block of {type_name} holds"
        super().__init__(problem, tensor=tensor, name=name, offset=offset)


class MisalignedTensor(TensorError):
    """A tensor whose data does not begin at a multiple of the alignment."""

    def __init__(self, begin: int, alignment: int, *, tensor: str, name: str, offset: int) -> None:
        self.begin = begin
        self.alignment = alignment
        problem = f"begins at byte {begin:,} of the tensor data, which is no multiple of the alignment {alignment}"
        super().__init__(problem, tensor=tensor, name=name, offset=offset)


class OverlappingTensors(TensorError):
    """A tensor whose data begins before that of another, `other`, has ended."""

    def __init__(self, begin: int, other: str, other_end: int, *, tensor: str, name: str, offset: int) -> None:
        self.begin = begin
        self.other = other
        self.other_end = other_end
        problem = f"begins at byte {begin:,} of the tensor data, inside {literal(other)}, which ends at {other_end:,}"
        super().__init__(problem, tensor=tensor, name=name, offset=offset)


class TensorOutsideFile(TensorError):
    """A tensor whose data ends, at byte `end` of the file, beyond the end of the file."""

    def __init__(self, end: int, file_size: int, *, tensor: str, name: str, offset: int) -> None:
        self.end = end
        self.file_size = file_size
        super().__init__(
            f"ends at byte {end:,}, but the file has only {file_size:,}",
            tensor=tensor,
            name=name,
            offset=offset,
            remedy="the file is cut or still being downloaded: download it again; to read a bare header, ask for whole=False",
        )


# --- limits --------------------------------------------------------------------------------------


class LimitExceeded(GgufError):
    """A count or length in the file is above what the reader takes; `value` and `limit` are in the unit of `what`."""

    what = "size"

    def __init__(self, value: int, limit: int, *, name: str, offset: int) -> None:
        self.value = value
        self.limit = limit
        super().__init__(f"{self.what} is {value:,}, above the limit of {limit:,}", name=name, offset=offset, remedy=HOSTILE)


class TooManyKeys(LimitExceeded):
    """More metadata keys than `Limits.keys`."""

    what = "the number of metadata keys"


class TooManyTensors(LimitExceeded):
    """More tensors than `Limits.tensors`."""

    what = "the number of tensors"


class StringTooLong(LimitExceeded):
    """A string of more bytes than `Limits.string_length`."""

    what = "the length of a string, in bytes,"


class ArrayTooLong(LimitExceeded):
    """An array of more elements than `Limits.array_length`."""

    what = "the length of an array, in elements,"


class NestedTooDeep(LimitExceeded):
    """Arrays within arrays, deeper than `Limits.nesting`."""

    what = "the depth of nested arrays"


class TooManyDimensions(LimitExceeded):
    """A tensor of more dimensions than `Limits.dimensions`."""

    what = "a tensor's number of dimensions"


class TooManyElements(LimitExceeded):
    """A tensor of more elements than a signed 64-bit number counts; the engine refuses it too."""

    what = "a tensor's number of elements"


class HeaderTooLong(LimitExceeded):
    """A header that goes on beyond `Limits.header_bytes`."""

    what = "the length of the header, in bytes,"


# --- sharded sets --------------------------------------------------------------------------------


class IncompleteSet(InputError):
    """A sharded set of which files are missing; `missing` names them."""

    def __init__(self, missing: Iterable[str], *, name: str) -> None:
        self.missing = tuple(missing)
        super().__init__(
            f"the sharded set is incomplete, {quoted(self.missing[:6])} missing",
            where=name,
            remedy="download every file of the set into one folder, under the names they have on the Hub",
        )


class ShardMismatch(InputError):
    """A file whose own record of its place in the set (`key`) says `found` where `expected` was due."""

    def __init__(self, key: str, found: object, expected: object, *, name: str) -> None:
        self.key = key
        self.found = found
        self.expected = expected
        super().__init__(
            f"{key} is {literal(found)}, but the set has it as {literal(expected)}",
            where=name,
            remedy="the files are of different sets or were renamed: give all files of one set, and only those",
        )


# --- arithmetic on types -------------------------------------------------------------------------


class PartialBlock(InputError):
    """A number of elements that is not a whole number of blocks of a quant type."""

    def __init__(self, type_name: str, elements: int, block: int) -> None:
        self.type_name = type_name
        self.elements = elements
        self.block = block
        super().__init__(
            f"{elements:,} elements are no whole number of {type_name} blocks, which hold {block}",
            remedy=f"choose a type whose block divides {elements:,}: f16, bf16 and f32 always do",
        )


def literal(value: object, longest: int = 80) -> str:
    """Give foreign text as a quoted literal of one line, cut to `longest` characters."""
    text = repr(value[:longest] if isinstance(value, str | bytes) else value)
    return text if len(text) <= longest else text[: longest - 1] + "…"
