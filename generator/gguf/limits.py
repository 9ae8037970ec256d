"""How much of a header is believed before it is refused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a header may hold at most; each count or length is checked before anything of that size is read.

    The defaults are well above what is published (the largest vocabularies have about 260,000 tokens and 520,000 merges, the
    longest headers about 20 MB, the longest chat templates some 100 kB, the most tensors, of unfused experts, about 50,000) and
    below what would exhaust a small machine. `nesting` 1 is an array of scalars; `dimensions` is the engine's GGML_MAX_DIMS.
    """

    keys: int = 65_536
    tensors: int = 262_144
    string_length: int = 4 * 1024 * 1024
    array_length: int = 4 * 1024 * 1024
    nesting: int = 4
    dimensions: int = 4
    header_bytes: int = 256 * 1024 * 1024
