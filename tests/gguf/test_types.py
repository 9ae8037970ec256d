from __future__ import annotations

import subprocess
import sys

import pytest
from gguf.constants import GGML_QUANT_SIZES

from generator.errors import UnknownNameError
from generator.gguf import block, row_bytes
from generator.gguf.errors import PartialBlock
from generator.gguf.types import BLOCKS, TYPE_NAMES


def test_the_table_is_that_of_the_gguf_package() -> None:
    theirs = {kind.name: (kind.value, *sizes) for kind, sizes in GGML_QUANT_SIZES.items()}
    assert theirs == BLOCKS
    assert {kind.value: kind.name for kind in GGML_QUANT_SIZES} == TYPE_NAMES


def test_the_package_whose_table_it_is_is_not_imported() -> None:
    code = "import sys, generator.gguf; sys.exit('gguf' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("type_name", "elements", "expected"),
    [
        ("F16", 100, 200),  # two bytes each
        ("f16", 100, 200),
        ("q8_0", 64, 68),  # two blocks of a half-precision scale and 32 bytes
        ("Q4_0", 128, 72),  # four blocks of a scale and 16 bytes
        ("Q4_K", 512, 288),  # two superblocks of 144
        ("bf16", 0, 0),
    ],
)
def test_a_row_takes_the_bytes_of_its_blocks(type_name: str, elements: int, expected: int) -> None:
    assert row_bytes(type_name, elements) == expected


def test_a_block_is_known_by_its_name_in_either_case() -> None:
    assert block("iq4_nl") == block("IQ4_NL") == (32, 18)


def test_a_part_of_a_block_is_refused() -> None:
    with pytest.raises(PartialBlock, match="f16") as caught:
        row_bytes("q8_0", 100)
    assert (caught.value.type_name, caught.value.elements, caught.value.block) == ("q8_0", 100, 32)


def test_an_unknown_type_suggests_the_near_ones() -> None:
    with pytest.raises(UnknownNameError) as caught:
        row_bytes("q4_9", 32)
    assert "Q4_0" in caught.value.known
