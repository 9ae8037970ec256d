"""How much is asked for, in how many ranges, and how much memory that takes."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from generator.gguf import RangeSource, SkippedArray, read_header
from tests.gguf.raw import STRING, File, Memory, Typed, array
from tests.gguf.tokenizer import Tokenizer

MIB = 1024 * 1024
TENSOR_DATA = bytes(20 * MIB)  # follows the header, so that reading too far is possible
REQUESTS = 5  # and one to find the file makes six

FLAT = Tokenizer(248_320, 247_200, first_mean=10, last_mean=10, tensors=753)

tokenizers = st.builds(
    Tokenizer,
    tokens=st.one_of(st.integers(0, 4000), st.integers(4000, 300_000)),
    merges=st.one_of(st.just(0), st.integers(0, 600_000)),
    scores=st.booleans(),
    types=st.booleans(),
    first_mean=st.floats(4, 8),
    last_mean=st.floats(8, 13),
    tensors=st.integers(1, 1500),
    template=st.integers(0, 60_000),
)


@settings(max_examples=30)
@given(tokenizers, st.booleans(), st.booleans())
def test_no_more_than_a_mebibyte_beyond_the_header_is_fetched_in_six_requests(tokenizer: Tokenizer, known: bool, every: bool) -> None:
    header = tokenizer.header()
    source = Memory(header + TENSOR_DATA, known=known)
    assert read_header(source, arrays=every and tokenizer.tokens < 50_000, whole=False).data_offset == len(header)
    assert source.fetched <= len(header) + MIB
    assert len(source.asked) <= REQUESTS


@pytest.mark.parametrize(
    "tokenizer",
    [
        Tokenizer(0, 0, types=False, tensors=250),
        Tokenizer(32_000, 0, scores=True),
        Tokenizer(128_256, 280_147, first_mean=4, last_mean=8),
        Tokenizer(262_144, 514_906, scores=True, first_mean=7, last_mean=12),
        FLAT,
        Tokenizer(600_000, 900_000, first_mean=7, last_mean=10),
    ],
    ids=["bare, 20 kB", "llama 2, 0.8 MB", "llama 3, 7 MB", "gemma 4, 16 MB", "flat, 10 MB", "30 MB"],
)
def test_headers_of_known_sizes_stay_within_both_bounds(tokenizer: Tokenizer) -> None:
    header = tokenizer.header()
    source = Memory(header + TENSOR_DATA, known=False)
    read_header(source, whole=False)
    assert source.fetched <= len(header) + MIB
    assert len(source.asked) <= REQUESTS


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 60_000), st.integers(0, 40)), max_size=5))
@example([(3000, 400), (200_000, 0)])
def test_whatever_the_strings_less_than_twice_the_header_and_a_mebibyte_is_fetched(runs: list[tuple[int, int]]) -> None:
    texts = [text for count, length in runs for text in ["x" * length] * count]
    header = File([("strings", array(STRING, texts)), ("after", Typed(STRING, "end"))]).bytes()
    source = Memory(header + TENSOR_DATA, known=False)
    read_header(source, whole=False)
    assert source.fetched <= 2 * len(header) + MIB


def test_no_byte_is_asked_for_twice_nor_any_of_an_array_that_is_passed_over() -> None:
    header = Tokenizer(500_000, 0, scores=True).header()
    source = Memory(header)
    read_header(source, whole=False)
    assert all(start + length <= following for (start, length), (following, _) in pairwise(source.asked))
    assert source.fetched < len(header) - MIB  # scores and types are 4 MB


def test_reading_a_file_takes_less_memory_than_three_times_its_header(tmp_path: Path) -> None:
    path = tmp_path / "flat.gguf"
    header = FLAT.header()
    path.write_bytes(header)
    assert _peak(path) < 3 * len(header)


def test_reading_ranges_takes_less_memory_than_three_times_the_header() -> None:
    header = FLAT.header()
    assert _peak(Memory(header + TENSOR_DATA)) < 3 * len(header)


def test_an_array_that_is_passed_over_leaves_no_objects_behind() -> None:
    source = Memory(FLAT.header())
    tracemalloc.start()
    header = read_header(source, whole=False)
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert header.metadata["tokenizer.ggml.tokens"] == SkippedArray("STRING", FLAT.tokens)
    assert left < 2000 * len(header.tensors)


def _peak(source: Path | RangeSource) -> int:
    tracemalloc.start()
    read_header(source, whole=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
