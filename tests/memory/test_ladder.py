from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.memory import kv_cache
from generator.memory.architectures import layers_of
from generator.memory.budget import Pool
from generator.memory.ladder import Caches, Rung, experts_up_to, shallowest
from generator.quantity import BYTE, TOKEN, Quantity, shown
from tests.memory.models import apodex, dense, hybrid

MIB = 2**20
GIB = 2**30
PAIRS: tuple[Caches, ...] = (("q8_0", "q8_0"), ("q8_0", "f16"), ("f16", "f16"))
POOL = Pool.of(Quantity.constant(11 * GIB, BYTE), Quantity.constant(1 * GIB, BYTE))
STATE = 65_863_680


def size(amount: int) -> Quantity:
    return Quantity.constant(amount, BYTE)


def rung(depth: int, n_ctx: int, caches: Caches) -> Quantity:
    """Give a rung's total as the published page counts it: loaded tensors less the experts on the host, cache, state."""
    model = apodex()
    cells = Quantity.constant(n_ctx, TOKEN)
    cache = kv_cache.bytes_per_token(layers_of(model).caches[0], layers_of(model).attention.blocks, *caches) * cells
    return model.size_of(model.loaded(), "loaded") - experts_up_to(model, depth) + cache + size(STATE)


@pytest.mark.parametrize(
    ("depth", "host"), [(0, 0), (1, 4_000_000), (2, 9_000_000), (7, 31_000_000), (8, 36_000_000), (9, 36_000_000), (99, 36_000_000)]
)
def test_the_experts_of_so_many_leading_blocks_leave_the_card(depth: int, host: int) -> None:
    assert int(experts_up_to(hybrid(), depth)) == host
    assert int(experts_up_to(dense(), depth)) == 0


def test_the_words_of_a_depth_name_its_last_block() -> None:
    assert experts_up_to(hybrid(), 2).formula() == "sum of payload bytes, routed experts of blocks 0 to 1"


@pytest.mark.parametrize(
    ("depth", "n_ctx", "totals"),
    [
        (24, 65_536, ("9.799", "10.092", "10.385")),
        (25, 65_536, ("9.378", "9.671", "9.964")),
        (26, 65_536, ("8.891", "9.184", "9.477")),
        (26, 131_072, ("9.555", "10.141", "10.727")),
        (20, 32_768, ("11.219",)),
        (22, 32_768, ("10.376",)),
        (30, 262_144, ("9.132", "10.303")),
    ],
)
def test_the_published_ladder_comes_out(depth: int, n_ctx: int, totals: tuple[str, ...]) -> None:
    for caches, total in zip(PAIRS, totals, strict=False):
        assert shown(rung(depth, n_ctx, caches), "GiB", 3) == f"{total} GiB"


def test_a_rung_is_called_by_depth_context_and_caches() -> None:
    assert Rung(26, 65_536, ("q8_0", "f16"), size(0)).key == "26@65536.q8_0/f16"


def test_the_published_depth_is_the_shallowest_from_which_every_fallback_fits() -> None:
    # at 25 a cache all in f16 clears 10 GiB by 0.036 GiB only, at 26 by 0.523 GiB
    margin = size(256 * MIB)
    assert shallowest(range(41), PAIRS, lambda depth, caches: rung(depth, 65_536, caches), POOL, margin) == 26
    assert shallowest(range(41), PAIRS[:1], lambda depth, caches: rung(depth, 65_536, caches), POOL, margin) == 25
    assert shallowest(range(41), PAIRS, lambda depth, caches: rung(depth, 65_536, caches), POOL, size(0)) == 25


def test_the_margin_must_be_cleared_by_more_than_nothing() -> None:
    def total_at(depth: int, caches: Caches) -> Quantity:
        return size({1: 10 * GIB - 100, 2: 10 * GIB - 101}.get(depth, 11 * GIB) if caches == PAIRS[0] else 0)

    assert shallowest([0, 1, 2, 3], PAIRS, total_at, POOL, size(100)) == 2
    assert shallowest([0, 1], PAIRS, total_at, POOL, size(100)) is None
    assert shallowest([], PAIRS, total_at, POOL, size(0)) is None


@given(st.integers(0, 41), st.integers(0, 41), st.integers(1, 400_000), st.integers(1, 400_000), st.sampled_from(PAIRS))
def test_a_ladder_only_falls_with_depth_and_only_rises_with_context_and_precision(
    depth: int, other: int, n_ctx: int, longer: int, caches: Caches
) -> None:
    total = rung(depth, n_ctx, caches)
    assert rung(max(depth, other), n_ctx, caches) <= total
    assert total <= rung(depth, max(n_ctx, longer), caches)
    assert total <= rung(depth, n_ctx, ("f16", "f16"))
    assert total.recomputed() == total.value
