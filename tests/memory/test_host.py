from __future__ import annotations

import pytest

from generator.memory.host import entry_crossover, prompt_cache_limit
from generator.quantity import BYTE, BYTE_PER_TOKEN, Quantity


@pytest.mark.parametrize(("state", "per_token", "tokens"), [(65_863_680, 10_880, 6_054), (1_000, 10, 100), (1_001, 10, 101), (0, 10, 0)])
def test_an_entrys_cells_outweigh_its_state_from_so_many_tokens_on(state: int, per_token: int, tokens: int) -> None:
    # 65,863,680 / 10,880 = 6,053.6
    crossover = entry_crossover(Quantity.constant(state, BYTE), Quantity.constant(per_token, BYTE_PER_TOKEN))
    assert int(crossover) == crossover.recomputed() == tokens
    assert per_token * tokens >= state > per_token * (tokens - 1)


def test_the_prompt_cache_is_limited_in_mebibytes_or_not_at_all() -> None:
    limit = prompt_cache_limit(2048)
    assert limit is not None and int(limit) == 2 * 2**30
    nothing = prompt_cache_limit(0)
    assert nothing is not None and int(nothing) == 0
    assert prompt_cache_limit(-1) is None
