from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.measure.printed import Printed, breakdown_row, parts_of, total_of

BYTES = st.integers(0, 2**45)


@given(BYTES)
def test_a_size_is_within_what_the_log_prints_of_it(size: int) -> None:
    # the engine's own `%8.2f` of bytes / 1024.0 / 1024.0; a float's last bit is far below the hundredth
    printed = Printed.rounded(f"{size / 1024.0 / 1024.0:.2f}")
    assert printed.holds(size, slack=1)
    assert not printed.holds(size + 2**20 // 50)


@given(BYTES)
def test_a_size_is_within_the_whole_mib_that_a_table_cuts_it_to(size: int) -> None:
    printed = Printed.cut(str(size // 1024 // 1024))
    assert printed.holds(size) and printed.difference(size) == 0
    assert printed.difference(size + 2**21) > 0 > printed.difference(size - 2**21)


@given(st.lists(BYTES, min_size=1, max_size=5))
def test_sums_of_cut_figures_leave_open_what_their_parts_do(sizes: list[int]) -> None:
    assert Printed.added(Printed.cut(str(size // 2**20)) for size in sizes).holds(sum(sizes))


def test_there_is_no_sum_of_nothing() -> None:
    with pytest.raises(ValueError, match="no figure"):
        Printed.added([])


def test_a_figure_is_as_exact_as_its_last_digit() -> None:
    assert Printed.rounded("0.16") == Printed(Fraction(155, 1000) * 2**20, Fraction(165, 1000) * 2**20, "0.16 MiB")


@pytest.mark.parametrize(
    ("line", "total", "parts"),
    [
        ("KV self size = 1166.62 MiB, c^KV (q8_0): 1166.62 MiB, kv^T: not used", "1166.62 MiB", {"K": "1166.62 MiB"}),
        (
            "KV self size = 6242.19 MiB, K (q8_0): 3121.09 MiB, V (q8_0): 3121.09 MiB",
            "6242.19 MiB",
            {"K": "3121.09 MiB", "V": "3121.09 MiB"},
        ),
        (
            "llama_kv_cache: size =   85.00 MiB (  8192 cells,  10 layers,  1/1 seqs), K (q8_0):   42.50 MiB, V (q8_0):   42.50 MiB",
            "85.00 MiB",
            {"K": "42.50 MiB", "V": "42.50 MiB"},
        ),
        (
            "size = 62.81 MiB ( 1 cells, 40 layers, 1 seqs), R (f32): 2.81 MiB, S (f32): 60.00 MiB",
            "62.81 MiB",
            {"R": "2.81 MiB", "S": "60.00 MiB"},
        ),
        ("total 448.88 MiB (1 cells, 64 layers, 1 seqs, 2 rs_seq)", "448.88 MiB", {}),
        ("llama_kv_cache:        CPU KV buffer size =    85.00 MiB", None, {}),
        ("nothing of the kind", None, {}),
    ],
)
def test_lines_of_caches_and_states(line: str, total: str | None, parts: dict[str, str]) -> None:
    found = total_of(line)
    assert (found.text if found else None) == total
    assert {name: figure.text for name, figure in parts_of(line).items()} == parts


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("| - Vulkan0 (8060S Graphics (RADV)) | 131584 = 105939 + (23425 = 20583 + 2285 + 557) + 2219 |", ("Vulkan0", 20583, 2285, 557)),
        ("| - CUDA0 (RTX 3090) | 24117 = 23773 + (20903 = 12096 + 7504 + 1302) + 17592186023856 |", ("CUDA0", 12096, 7504, 1302)),
        ("|   - Host               |                 20613 = 20385 +     147 +      80                |", ("Host", 20385, 147, 80)),
        ("| - CPU_REPACK | 921 = 921 + 0 + 0 |", ("CPU_REPACK", 921, 0, 0)),
        ("| - MTL0 (Apple M3 Max) | 49152 = 45932 + (3219 = 2368 + 334 + 517) |", ("MTL0", 2368, 334, 517)),
        ("| memory breakdown [MiB] | total free self model context compute unaccounted |", None),
        ("projected to use 23425 MiB of device memory", None),
    ],
)
def test_rows_of_a_breakdown(line: str, row: tuple[str, int, int, int] | None) -> None:
    found = breakdown_row(line)
    assert (row is None) == (found is None)
    if row and found:
        assert (found.device, *(int(part.low) // 2**20 for part in (found.model, found.context, found.compute))) == row


@given(st.text(alphabet="| -+=()0123456789CUDAHostMiB.\n", max_size=2000))
def test_no_line_is_too_much(line: str) -> None:
    breakdown_row(line)
    total_of(line)
    parts_of(line)
