from __future__ import annotations

import pytest

from generator.memory.architectures import layers_of
from generator.memory.compute import attention_scores, declared_reserve, graph_inputs
from generator.memory.context import context_of
from generator.memory.settings import parse_flags
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


@pytest.mark.parametrize(
    ("flags", "masks", "indices"),
    [
        ("-np 1 -c 1000 -ub 512 -fa on", 512 * 1024 * 2, 0),
        ("-np 1 -c 1000 -ub 512 -fa off", 512 * 1024 * 4, 512 * 64 * 8),  # V rows of 2 heads of 32
        ("-np 4 -c 1000 -ub 512 -fa on", 512 * 256 * 2, 0),  # each token sees its own stream
        ("-np 3 -c 4096 -ub 512 -fa on -kvu", 513 * 4096 * 2, 0),  # in whole shares of three sequences
    ],
)
def test_inputs_are_two_embeddings_a_row_of_the_mask_and_places_of_transposed_values(flags: str, masks: int, indices: int) -> None:
    model, settings = dense(), parse_flags(flags, "llama-fit-params")
    context = context_of(model, settings)
    given = graph_inputs(model, layers_of(model), context, settings)
    tokens = 513 if "-np 3" in flags else 512
    assert int(given) == given.recomputed() == tokens * 256 * 8 + masks + indices
