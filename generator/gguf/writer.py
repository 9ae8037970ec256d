"""Writing a GGUF header: what an engine's allocation pass needs of a model, without its weights.

The format is that of docs/gguf.md of ggml-org/ggml, version 3. Metadata are those a lock holds: numbers, text, short lists, and of a
list that was passed over when the header was read, its length. For such a list of a vocabulary a stand-in of that length is written,
for allocation counts tokens and does not look at them; any other is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from struct import pack

from generator.errors import InputError
from generator.gguf.arrays import ARRAY, STRING
from generator.gguf.limits import Limits
from generator.gguf.reader import ALIGNMENT_KEY, DEFAULT_ALIGNMENT
from generator.gguf.types import BLOCKS, block

_UINT32, _INT32, _FLOAT32, _BOOL, _UINT64, _INT64 = 4, 5, 6, 7, 10, 11
_NORMAL = 1  # LLAMA_TOKEN_TYPE_NORMAL


@dataclass(frozen=True, slots=True)
class WrittenHeader:
    """A header as bytes, padded to where tensor data begins; `size` is the whole file's, with its tensor data.

    `stand_ins` are the keys whose lists were made up to length, `left_out` those that were not written.
    """

    data: bytes
    size: int
    stand_ins: tuple[str, ...]
    left_out: tuple[str, ...]


def write_header(metadata: Mapping[str, object], rows: Iterable[Sequence[object]]) -> WrittenHeader:
    """Give the header of metadata and rows of name, type, shape and payload bytes, tensors one after the other as they stand.

    Raises InputError for a value that a header cannot say, or a tensor of an unknown type.
    """
    alignment = metadata.get(ALIGNMENT_KEY, DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or isinstance(alignment, bool) or alignment <= 0 or alignment.bit_count() != 1:
        raise InputError(f"'{ALIGNMENT_KEY}' is {alignment!r}, which is no power of two")
    pairs, stand_ins, left_out = list[bytes](), list[str](), list[str]()
    for key, value in metadata.items():
        length = _skipped_length(key, value)
        raw = _value(key, value) if length is None else _stand_in(key, length)
        if raw is None:
            left_out.append(key)
            continue
        pairs.append(_text(key) + raw)
        if length is not None:
            stand_ins.append(key)
    table, end = _tensors(rows, alignment)
    head = b"GGUF" + pack("<IQQ", 3, len(table), len(pairs)) + b"".join(pairs) + b"".join(table)
    padded = head.ljust(-(-len(head) // alignment) * alignment, b"\0")
    return WrittenHeader(padded, len(padded) + end, tuple(stand_ins), tuple(left_out))


def _tensors(rows: Iterable[Sequence[object]], alignment: int) -> tuple[list[bytes], int]:
    """Give the entries of the tensor table, and where the last tensor ends."""
    table, end = list[bytes](), 0
    for name, kind, shape, nbytes in rows:
        if not (isinstance(name, str) and isinstance(kind, str) and isinstance(shape, list | tuple) and isinstance(nbytes, int)):
            raise InputError(f"this is no row of a tensor table: {[name, kind, shape, nbytes]!r}")
        block(kind)
        type_id = BLOCKS[kind.upper()][0]
        offset = -(-end // alignment) * alignment
        table.append(_text(name) + pack(f"<I{len(shape)}QIQ", len(shape), *shape, type_id, offset))
        end = offset + nbytes
    return table, end


def _skipped_length(key: str, value: object) -> int | None:
    """Give the length of a list that was passed over, None for a value that is there."""
    if not isinstance(value, Mapping):
        return None
    length = value.get("length")
    if set(value) != {"length"} or not isinstance(length, int) or not 0 <= length <= Limits().array_length:
        raise InputError(f"'{key}' is no value of a header: {value!r}")
    return length


def _stand_in(key: str, length: int) -> bytes | None:
    """Give a list of a vocabulary made up to its length; merges, which belong to the tokens that are not there, are none."""
    match key.rpartition(".")[2]:
        case "tokens":
            return _array(STRING, length, b"".join(_text(f"<{index}>") for index in range(length)))
        case "token_type":
            return _array(_INT32, length, pack("<i", _NORMAL) * length)
        case "scores":
            return _array(_FLOAT32, length, pack("<f", 0.0) * length)
        case "merges":
            return _array(STRING, 0, b"")
    return None


def _value(key: str, value: object) -> bytes:
    if isinstance(value, list | tuple):
        return _list(key, value)
    kind, raw = _scalar(key, value)
    return pack("<I", kind) + raw


def _scalar(key: str, value: object) -> tuple[int, bytes]:
    """Give type and bytes of a value: whole numbers as the narrowest type from 32 bits on, others in single precision."""
    if isinstance(value, bool):
        return _BOOL, pack("<B", value)
    if isinstance(value, str):
        return STRING, _text(value)
    if isinstance(value, float):
        try:
            return _FLOAT32, pack("<f", value)
        except OverflowError as error:
            raise InputError(f"'{key}' is {value!r}, which is beyond single precision") from error
    if isinstance(value, int):
        for kind, letter, low, high in (
            (_UINT32, "I", 0, 2**32),
            (_INT32, "i", -(2**31), 0),
            (_UINT64, "Q", 0, 2**64),
            (_INT64, "q", -(2**63), 0),
        ):
            if low <= value < high:
                return kind, pack(f"<{letter}", value)
    raise InputError(f"'{key}' is no value of a header: {value!r}")


def _list(key: str, items: Sequence[object]) -> bytes:
    """Give a list; whole numbers are signed in it, as the converter writes them."""
    if all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        wide = any(not -(2**31) <= item < 2**31 for item in items if isinstance(item, int))
        if any(not -(2**63) <= item < 2**63 for item in items if isinstance(item, int)):
            raise InputError(f"'{key}' lists a number beyond 64 bits")
        return _array(_INT64 if wide else _INT32, len(items), pack(f"<{len(items)}{'q' if wide else 'i'}", *items))
    if any(isinstance(item, float) for item in items) and all(isinstance(item, int | float) for item in items):
        items = [float(item) for item in items]  # type: ignore[arg-type]  # numbers all, as was just asked
    written = [_scalar(key, item) for item in items]
    kinds = {kind for kind, _ in written}
    if len(kinds) != 1:
        raise InputError(f"'{key}' lists values of several kinds")
    return _array(kinds.pop(), len(items), b"".join(raw for _, raw in written))


def _array(kind: int, length: int, raw: bytes) -> bytes:
    return pack("<IIQ", ARRAY, kind, length) + raw


def _text(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogateescape")
    return pack("<Q", len(raw)) + raw
