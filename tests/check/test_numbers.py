"""The numbers of a check against arithmetic done here by hand, and against those of the published guide that the claim was taken from."""

from __future__ import annotations

from fractions import Fraction

import pytest

from generator.check.numbers import Worked
from generator.errors import InputError
from tests.check.conftest import Altered

GIB = 2**30

# The published shape of Qwen3.6-35B-A3B: 40 blocks of which every fourth has attention, 256 experts of which 8 are used.
ROUTED = 256 * 3 * 2048 * 512 * 40
TOTAL = 64.61 * GIB / 2
EMBEDDING = 248320 * 2048
FILE = 19.02 * GIB
EXPERTS = FILE * ROUTED / TOTAL
DENSE_READ = FILE * (TOTAL - ROUTED - EMBEDDING) / TOTAL
EXPERTS_READ = FILE * ROUTED / TOTAL * 8 / 256
CACHE = 2 * 2 * 256 * 10 * 2  # K and V, two heads of 256 elements, ten blocks, two bytes
STATE = 30 * 4 * ((4 - 1) * (4096 + 2 * 16 * 128) + 128 * 4096)  # thirty blocks, four bytes, convolution and state
CARD, HOST = 192 / 8 * 15e9, 65e9


def resident(context: int) -> float:
    """Give the share of the experts that fits on the card, by hand."""
    return (11 * GIB - (FILE - EXPERTS) - CACHE * context - STATE - 0.70 * GIB) / EXPERTS


def seconds(context: int) -> float:
    """Give the seconds of one token, by hand."""
    share = resident(context)
    return DENSE_READ / CARD + EXPERTS_READ * (share / CARD + (1 - share) / HOST) + CACHE * context / CARD


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("params.routed_experts", ROUTED),
        ("params.active_experts", ROUTED / 32),
        ("params.embeddings", 2 * EMBEDDING),
        ("params.shared_expert", 40 * (3 * 2048 * 512 + 2048)),  # three matrices and the vector that weighs them
        ("params.router", 40 * 2048 * 256),
        ("params.total", TOTAL),
        ("params.read_per_token", ROUTED / 32 + TOTAL - ROUTED - EMBEDDING),
        ("weights.experts", EXPERTS),
        ("weights.dense", FILE - EXPERTS),
        ("weights.dense_per_token", DENSE_READ),
        ("weights.experts_per_token", EXPERTS_READ),
        ("kv.bytes_per_token.f16/f16", CACHE),
        ("recurrent.per_sequence", STATE),
        ("bandwidth.card", 360e9),
        ("bandwidth.host_rated", 6000e6 * 8 * 2),
        ("best.share", 41.4 / 59.6),
        ("experts_cache.resident_share.8192", resident(8192)),
        ("experts_cache.resident_share.131072", resident(131072)),
        ("decode.time_per_token.8192", seconds(8192)),
        ("decode.time_per_token.131072", seconds(131072)),
        ("decode.ceiling.65536", 1 / seconds(65536)),
        ("decode.claim_share_of_ceiling.131072", 50 * seconds(131072)),
        ("prefill.host_bytes_per_pass", EXPERTS * (1 - resident(131072))),
        ("prefill.floor.512", 131072 / 512 * EXPERTS * (1 - resident(131072)) / HOST),
        ("prefill.over_bus.2048", 131072 / 2048 * EXPERTS * (1 - resident(131072)) / 25e9),
        ("stream.ratio", 65 / 25),
    ],
)
def test_a_number_is_what_the_arithmetic_by_hand_gives(claim: Worked, key: str, value: float) -> None:
    assert float(claim.book[key]) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("key", "shown"),
    [  # as the published guide prints them
        ("params.total", "34.69 G"),
        ("params.attention_and_norms", "1.31 G"),
        ("params.read_per_token", "2.97 G"),
        ("weights.experts", "17.7 GiB"),
        ("experts_cache.left.8192", "8.73 GiB"),
        ("experts_cache.left.131072", "6.38 GiB"),
        ("decode.time_per_token.8192", "9.11 ms"),
        ("decode.time_per_token.131072", "17.09 ms"),
        ("decode.ceiling.8192", "110 tok/s"),
        ("decode.ceiling.131072", "59 tok/s"),
        ("prefill.floor.512", "47.7 s"),
        ("prefill.floor.2048", "11.9 s"),
    ],
)
def test_a_number_is_shown_as_the_published_guide_has_it(claim: Worked, key: str, shown: str) -> None:
    assert claim.book.text(key) == shown


def test_every_number_is_found_again_from_what_it_follows_from(claim: Worked, dense: Worked) -> None:
    for worked in (claim, dense):
        for key, quantity in worked.book.numbers.items():
            assert quantity.recomputed() == quantity.value, key


def test_without_a_file_of_full_precision_the_shape_counts_the_parameters(altered: Altered) -> None:
    worked = altered(("full_precision: BF16\n", ""))
    assert worked.book["params.total"].value == 34_660_610_688  # what llama-bench prints of the model as 34.66 B


def test_the_depth_of_offload_leaves_no_more_on_the_card_than_fits(claim: Worked) -> None:
    for context, depth in {8192: 21, 131072: 26}.items():  # 40 blocks, of which 49 % and 36 % fit
        assert int(claim.book[f"experts_cache.n_cpu_moe.{context}"]) == depth
        assert (40 - depth) / 40 <= resident(context) < (41 - depth) / 40


def test_the_ceiling_is_reached_again_by_the_context_up_to_which_the_claim_is_credible(claim: Worked) -> None:
    reach = int(claim.book["reach.stated"])
    assert 50 * seconds(reach) <= 41.4 / 59.6 < 50 * seconds(reach + 256)
    assert int(claim.book["reach.least"]) < reach < int(claim.book["reach.most"])


def test_the_bandwidth_that_the_claim_would_need_gives_the_share_that_was_seen(claim: Worked) -> None:
    share = resident(131072)
    needed = float(claim.book["reach.host_bandwidth.131072"])
    time = DENSE_READ / CARD + EXPERTS_READ * (share / CARD + (1 - share) / needed) + CACHE * 131072 / CARD
    assert 50 * time == pytest.approx(41.4 / 59.6)


def test_a_draft_that_yields_as_many_tokens_a_pass_brings_the_claim_to_the_share_that_was_seen(claim: Worked) -> None:
    draft = 0.39 * GIB
    share = resident(131072) - draft / EXPERTS
    tokens = float(claim.book["ways.draft.dflash.tokens_per_pass"])
    once = (DENSE_READ + CACHE * 131072 + draft) / CARD
    each = EXPERTS_READ * (share / CARD + (1 - share) / HOST)
    assert 50 * (once / tokens + each) == pytest.approx(41.4 / 59.6)


def test_two_depths_with_one_offload_differ_by_the_cache_alone(claim: Worked) -> None:
    share = resident(131072)
    shallow = DENSE_READ / CARD + EXPERTS_READ * (share / CARD + (1 - share) / HOST) + CACHE * 8192 / CARD
    assert float(claim.book["calibration.ratio"]) == pytest.approx(seconds(131072) / shallow)
    assert float(claim.book["calibration.difference"]) == pytest.approx(CACHE * (131072 - 8192) / CARD)


def test_a_dense_model_on_the_card_reads_everything_but_the_input_embedding(dense: Worked) -> None:
    embedding = 151936 * 4096
    total = 2 * embedding + 4096 + 36 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 12288 + 2 * 4096 + 2 * 128)
    cache = 36 * 2 * 8 * 128 * 2
    assert dense.book["params.total"].value == total
    assert dense.book["kv.bytes_per_token.f16/f16"].value == cache
    time = (5027783488 * (total - embedding) / total + cache * 8192) / 504.2e9
    assert float(dense.book["decode.ceiling.8192"]) == pytest.approx(1 / time)
    assert not [key for key in dense.book.numbers if key.startswith(("experts_cache", "prefill", "bandwidth.host"))]


def test_a_dense_model_larger_than_the_card_is_read_from_both_memories(altered: Altered) -> None:
    host = "bandwidths: {host: {name: DDR4-3200, transfers: 3200, channels: 2, realised: {value: 30 GB/s, origin: declared, note: so}}}\n"
    worked = altered(("compute: {value: 0.50 GiB", host + "compute: {value: 7 GiB"), which=("qwen3-8b", "rtx-4070-speed"))
    cache = 147456 * 8192
    share = (11 * GIB - cache - 7 * GIB) / 5027783488
    read = float(worked.book["weights.dense_per_token"])
    assert float(worked.book["dense_cache.resident_share.8192"]) == pytest.approx(share)
    assert float(worked.book["decode.time_per_token.8192"]) == pytest.approx(
        read * (share / 504.2e9 + (1 - share) / 30e9) + cache / 504.2e9
    )


def test_weights_in_system_memory_of_which_nothing_is_said_are_refused(altered: Altered) -> None:
    with pytest.raises(InputError, match="its bandwidth is not given"):
        altered(("compute: {value: 0.50 GiB", "compute: {value: 7 GiB"), which=("qwen3-8b", "rtx-4070-speed"))


def test_a_context_without_room_has_no_ceiling(altered: Altered) -> None:
    worked = altered(("compute: {value: 0.70 GiB", "compute: {value: 8.5 GiB"))
    assert "decode.ceiling.65536" in worked.book
    assert "decode.ceiling.131072" not in worked.book


def test_the_claims_own_context_is_always_among_those_worked_out(altered: Altered) -> None:
    worked = altered(("value: 131072 tokens", "value: 100000 tokens"))
    assert worked.subject.contexts == (8192, 32768, 65536, 100000, 131072)
    assert Fraction(worked.book["decode.ceiling.100000"].number) > Fraction(worked.book["decode.ceiling.131072"].number)
