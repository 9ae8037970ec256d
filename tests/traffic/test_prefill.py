from __future__ import annotations

import pytest

from generator.quantity import BYTE, ONE, TOKEN, Quantity
from generator.traffic.prefill import moved, passes


def tokens(amount: int) -> Quantity:
    return Quantity.constant(amount, TOKEN)


@pytest.mark.parametrize(
    ("prompt", "n_ubatch", "count"), [(65_536, 512, 128), (5_000, 512, 10), (512, 512, 1), (513, 512, 2), (1, 512, 1), (0, 512, 0)]
)
def test_a_prompt_takes_a_pass_for_each_micro_batch_begun(prompt: int, n_ubatch: int, count: int) -> None:
    given = passes(tokens(prompt), tokens(n_ubatch))
    assert int(given) == given.recomputed() == count
    assert given.unit == ONE


def test_every_pass_may_copy_all_experts_of_the_host() -> None:
    everything = moved(Quantity.constant(12_608_077_824, BYTE), passes(tokens(65_536), tokens(512)))
    assert int(everything) == 128 * 12_608_077_824


def test_passes_are_a_count() -> None:
    with pytest.raises(ValueError, match="bare count"):
        moved(Quantity.constant(1, BYTE), tokens(128))
