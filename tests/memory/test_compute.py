from __future__ import annotations

import pytest

from generator.memory.compute import attention_scores, declared_reserve
from generator.quantity import ONE, TOKEN, Quantity, UnitError, shown
from tests.memory.models import apodex, dense


@pytest.mark.parametrize(
    ("cells", "n_ubatch", "scores"), [(65_536, 512, 2_147_483_648), (65_536, 128, 536_870_912), (32_768, 512, 1_073_741_824)]
)
def test_scores_are_one_f32_for_each_cell_token_and_head(cells: int, n_ubatch: int, scores: int) -> None:
    # 16 heads: 65,536 x 512 x 16 x 4 bytes is 2 GiB
    given = attention_scores(apodex(), 3, Quantity.constant(cells, TOKEN), Quantity.constant(n_ubatch, TOKEN))
    assert int(given) == given.recomputed() == scores


def test_scores_follow_the_heads_of_their_block() -> None:
    model = dense(**{"attention.head_count": [8, 4, 8, 8]})
    each = [attention_scores(model, block, Quantity.constant(256, TOKEN), Quantity.constant(1, TOKEN)) for block in (0, 1)]
    assert [int(scores) for scores in each] == [256 * 8 * 4, 256 * 4 * 4]


def test_scores_take_tokens_not_counts() -> None:
    with pytest.raises(UnitError):
        attention_scores(dense(), 0, Quantity.constant(256, ONE), Quantity.constant(1, TOKEN))


def test_the_reserve_is_the_engines_own_margin() -> None:
    assert shown(declared_reserve(), "MiB") == "1,024 MiB"
