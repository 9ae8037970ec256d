"""The quant types of tensors and caches: how many elements make a block, and how many bytes it takes.

`BLOCKS` is a copy of `gguf.constants.GGML_QUANT_SIZES`, and a test holds it against that package entry for entry. It is
copied because importing the package takes about 0.3 s (it brings numpy), more than a whole `gen --help` may take.
"""

from __future__ import annotations

from functools import cache

from generator.errors import UnknownNameError
from generator.gguf.errors import PartialBlock

BLOCKS: dict[str, tuple[int, int, int]] = {
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "Q4_0": (2, 32, 18),
    "Q4_1": (3, 32, 20),
    "Q5_0": (6, 32, 22),
    "Q5_1": (7, 32, 24),
    "Q8_0": (8, 32, 34),
    "Q8_1": (9, 32, 40),
    "Q2_K": (10, 256, 84),
    "Q3_K": (11, 256, 110),
    "Q4_K": (12, 256, 144),
    "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210),
    "Q8_K": (15, 256, 292),
    "IQ2_XXS": (16, 256, 66),
    "IQ2_XS": (17, 256, 74),
    "IQ3_XXS": (18, 256, 98),
    "IQ1_S": (19, 256, 50),
    "IQ4_NL": (20, 32, 18),
    "IQ3_S": (21, 256, 110),
    "IQ2_S": (22, 256, 82),
    "IQ4_XS": (23, 256, 136),
    "I8": (24, 1, 1),
    "I16": (25, 1, 2),
    "I32": (26, 1, 4),
    "I64": (27, 1, 8),
    "F64": (28, 1, 8),
    "IQ1_M": (29, 256, 56),
    "BF16": (30, 1, 2),
    "TQ1_0": (34, 256, 54),
    "TQ2_0": (35, 256, 66),
    "MXFP4": (39, 32, 17),
    "NVFP4": (40, 64, 36),
    "Q1_0": (41, 128, 18),
}
"""Type name: its number in the file, elements of a block, bytes of a block."""

F16_BYTES, F32_BYTES = BLOCKS["F16"][2], BLOCKS["F32"][2]

TYPE_NAMES: dict[int, str] = {type_id: type_name for type_name, (type_id, _, _) in BLOCKS.items()}


class SizedType(str):
    """A type that stands for several of them: it brings the elements and the bytes of its block, and its name is in no table."""

    __slots__ = ("sizes",)

    sizes: tuple[int, int]

    @staticmethod
    def of(name: str, elements: int, size: int) -> SizedType:
        """Give the type of a name that always stands for the same sizes."""
        made = SizedType(name)
        made.sizes = elements, size
        return made


@cache
def block(type_name: str) -> tuple[int, int]:
    """Give (elements, bytes) of one block of a type, named in upper or lower case. Raises UnknownNameError."""
    if isinstance(type_name, SizedType):
        return type_name.sizes
    found = BLOCKS.get(type_name.upper())
    if found is None:
        raise UnknownNameError("tensor type", type_name, BLOCKS)
    return found[1], found[2]


def row_bytes(type_name: str, elements: int) -> int:
    """Give the bytes that `elements` elements of a type take.

    Raises UnknownNameError, and PartialBlock where they are no whole number of blocks: the engine stores no part of one.
    """
    per_block, block_bytes = block(type_name)
    blocks, rest = divmod(elements, per_block)
    if rest:
        raise PartialBlock(type_name, elements, per_block)
    return blocks * block_bytes
