"""Bytes read for one token, by the published figures of the Apodex recipe."""

from __future__ import annotations

import pytest

from generator.quantity import BYTE, BYTE_PER_TOKEN, ONE, PER_SECOND, TOKEN, Quantity, UnitError, shown
from generator.traffic.decode import Decode, host_ceiling, memory_bandwidth, step_time, used_share

HOST_EXPERTS = 12_608_077_824
STATE = 65_863_680
PER_TOKEN = 10_880
FULL_WINDOW = 2_866_997_760
"""Read from VRAM for one token with 65,536 in the cache: weights, the cache, the state."""


def size(amount: int) -> Quantity:
    return Quantity.constant(amount, BYTE)


def tokens(amount: int) -> Quantity:
    return Quantity.constant(amount, TOKEN)


def count(amount: int) -> Quantity:
    return Quantity.constant(amount, ONE)


def rated(megatransfers: int, channels: int) -> Quantity:
    return memory_bandwidth(Quantity.constant(megatransfers * 10**6, PER_SECOND), count(channels))


HOST = used_share(size(HOST_EXPERTS), count(8), count(256))
READS = Decode(HOST, size(FULL_WINDOW - STATE - PER_TOKEN * 65_536), size(STATE), Quantity.constant(PER_TOKEN, BYTE_PER_TOKEN))


def test_a_token_reads_the_share_of_the_experts_that_it_uses() -> None:
    assert int(HOST) == HOST.recomputed() == 394_002_432  # 8 of 256 experts: a 32nd
    assert int(used_share(size(452_984_832), count(8), count(256))) == 14_155_776
    assert int(used_share(size(522_190_848), count(8), count(256))) == 16_318_464


@pytest.mark.parametrize(
    ("depth", "card", "ratio"), [(0, 2_153_966_080, "5.47×"), (65_536, FULL_WINDOW, "7.28×"), (131_072, 3_580_029_440, "9.09×")]
)
def test_the_card_reads_more_the_deeper_the_cache_is_filled(depth: int, card: int, ratio: str) -> None:
    assert int(READS.card(tokens(depth))) == card
    crossover = READS.crossover(tokens(depth))
    assert shown(crossover, "×", 2) == ratio
    assert crossover.recomputed() == crossover.value


def test_both_halves_take_equal_time_at_the_crossover() -> None:
    host_bandwidth = rated(3200, 2)
    card_bandwidth = host_bandwidth * READS.crossover(tokens(65_536))
    assert (READS.card(tokens(65_536)) / card_bandwidth).equals(READS.host / host_bandwidth)


@pytest.mark.parametrize(
    ("megatransfers", "channels", "bandwidth", "ceiling"),
    [
        (3200, 2, "51.2 GB/s", "130 tok/s"),  # 51.2e9 / 394,002,432 = 129.9
        (3200, 1, "25.6 GB/s", "65 tok/s"),
        (5600, 2, "89.6 GB/s", "227 tok/s"),  # 227.4
        (6000, 2, "96.0 GB/s", "244 tok/s"),  # 243.7
    ],
)
def test_a_memorys_rated_bandwidth_caps_the_tokens_a_second(megatransfers: int, channels: int, bandwidth: str, ceiling: str) -> None:
    rate = rated(megatransfers, channels)
    assert shown(rate, "GB/s", 1) == bandwidth
    assert shown(host_ceiling(HOST, rate), "tok/s", 0) == ceiling


def test_a_step_costs_the_time_to_read_it() -> None:
    # 14,155,776 / 51.2e9 = 0.27648 ms
    assert shown(step_time(size(14_155_776), rated(3200, 2)), "ms", 5) == "0.27648 ms"


def test_units_keep_the_two_halves_of_a_sentence_apart() -> None:
    with pytest.raises(UnitError):
        READS.card(size(65_536))
