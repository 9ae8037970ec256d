"""Cells, streams and batches as src/llama-context.cpp rounds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import InputError, RefusedSettings
from generator.memory.context import CELL_PADDING, context_of
from generator.memory.settings import Settings, parse_flags
from tests.memory.models import dense


@pytest.mark.parametrize(
    ("flags", "program", "cells", "streams"),
    [
        ("-c 4096", "llama-fit-params", 4096, 1),
        ("-c 5000", "llama-fit-params", 5120, 1),  # 20 x 256
        ("-c 1", "llama-fit-params", 256, 1),
        ("-c 0", "llama-fit-params", 1024, 1),  # trained on 1000
        ("", "llama-fit-params", 1024, 1),
        ("-c 32768 -np 4", "llama-fit-params", 8192, 4),
        ("-c 10000 -np 3", "llama-fit-params", 3584, 3),  # 10240 / 3 = 3413, padded; 10752 in all, though the engine logs "rounding down"
        ("-c 100000 -np 4", "llama-fit-params", 25088, 4),  # 100096 / 4 = 25024
        ("-c 256 -np 7", "llama-fit-params", 256, 7),  # 36 each, padded
        ("-c 10000 -np 3 -kvu", "llama-fit-params", 10240, 1),
        ("-c 10000", "llama-server", 10240, 1),  # four slots, unified
        ("-c 10000 -no-kvu", "llama-server", 10240, 1),  # an automatic count of slots unifies them all the same
        ("-c 10000 -np 3", "llama-server", 3584, 3),
        ("-c 8192 -np 256", "llama-server", 256, 256),
        ("--kv-unified-per-slot 3000", "llama-server", 12032, 1),  # four slots of 3000 tokens: 47 x 256
        ("--kv-unified-per-slot 3000 -np 2 -kvu", "llama-server", 6144, 1),
        ("--kv-unified-per-slot 3000 -c 4096", "llama-server", 4096, 1),
        ("--kv-unified-per-slot 3000 -c 0", "llama-server", 1024, 1),  # the trained context, asked for in full
    ],
)
def test_cells_are_padded_and_shared_out_as_the_engine_does(flags: str, program: str, cells: int, streams: int) -> None:
    context = context_of(dense(), parse_flags(flags, program))
    assert (int(context.cells), int(context.streams)) == (cells, streams)
    assert int(context.total_cells) == cells * streams


def test_an_automatic_count_is_four_slots_in_the_server_and_one_elsewhere() -> None:
    assert int(context_of(dense(), parse_flags("", "llama-server")).sequences) == 4
    assert int(context_of(dense(), parse_flags("", "llama-cli")).sequences) == 1


@pytest.mark.parametrize(
    ("flags", "n_batch", "n_ubatch"),
    [
        ("-c 4096", 2048, 512),
        ("-c 300", 300, 300),  # clamped before the cells are padded
        ("-c 4096 -b 256", 256, 256),
        ("-c 4096 -ub 4096", 2048, 2048),
        ("-c 4096 -b 1024 -ub 0", 1024, 1024),
        ("-c 4096 -ub 64", 2048, 64),
        ("-c 0", 1000, 512),
    ],
)
def test_batches_are_clamped_by_the_context_as_asked_for(flags: str, n_batch: int, n_ubatch: int) -> None:
    context = context_of(dense(), parse_flags(flags, "llama-fit-params"))
    assert (int(context.n_batch), int(context.n_ubatch)) == (n_batch, n_ubatch)


def test_more_sequences_than_the_engine_has_are_refused() -> None:
    with pytest.raises(RefusedSettings, match="300 sequences") as raised:
        context_of(dense(), parse_flags("-np 300"))
    assert raised.value.rule == "too many sequences"


def test_the_trained_context_must_be_stated_where_none_is_asked_for() -> None:
    assert int(context_of(dense(context_length=None), parse_flags("-c 512")).cells) == 512
    with pytest.raises(InputError, match=r"'llama\.context_length'"):
        context_of(dense(context_length=None), parse_flags("-c 0"))


@given(n_ctx=st.integers(1, 2**24), n_parallel=st.integers(1, 256), unified=st.booleans())
def test_there_are_never_fewer_cells_than_asked_for_and_rarely_many_more(n_ctx: int, n_parallel: int, unified: bool) -> None:
    context = context_of(dense(), Settings(n_ctx=n_ctx, n_parallel=n_parallel, kv_unified=unified))
    total = int(context.total_cells)
    assert n_ctx <= total < n_ctx + CELL_PADDING * (int(context.streams) + 1)
    assert int(context.cells) % CELL_PADDING == 0
    assert context.total_cells.recomputed() == total
    assert context.n_ubatch.recomputed() == int(context.n_ubatch) <= int(context.n_batch)
