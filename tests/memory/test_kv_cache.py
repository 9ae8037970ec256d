from __future__ import annotations

from collections.abc import Sequence

import pytest

from generator.memory import kv_cache
from generator.memory.architectures import layers_of
from generator.memory.context import context_of
from generator.memory.model import Model
from generator.memory.settings import parse_flags
from generator.quantity import Quantity
from tests.memory.models import apodex, dense, hybrid

FULL_ATTENTION = (3, 7, 11, 15, 19, 23, 27, 31, 35, 39)


def bytes_per_token(model: Model, blocks: Sequence[int], type_k: str, type_v: str, *, padded_values: bool = False) -> Quantity:
    """Give what one cell of a model's only cache takes in some blocks."""
    (cache,) = layers_of(model).caches
    return kv_cache.bytes_per_token(cache, blocks, type_k, type_v, padded_values=padded_values)


@pytest.mark.parametrize(
    ("cache_type", "row"),
    [
        # a row of two heads of 32, in ggml's blocks: elements / elements a block * bytes a block (ggml/src/ggml-common.h)
        ("f32", 64 * 4),
        ("f16", 64 * 2),
        ("bf16", 64 * 2),
        ("q8_0", 64 // 32 * 34),
        ("q5_1", 64 // 32 * 24),
        ("q5_0", 64 // 32 * 22),
        ("q4_1", 64 // 32 * 20),
        ("q4_0", 64 // 32 * 18),
        ("iq4_nl", 64 // 32 * 18),
    ],
)
def test_a_cell_takes_a_row_of_k_and_one_of_v_in_each_block(cache_type: str, row: int) -> None:
    assert int(bytes_per_token(hybrid(), (3,), cache_type, cache_type)) == 2 * row
    assert int(bytes_per_token(hybrid(), (3, 7), cache_type, "f16")) == 2 * (row + 64 * 2)
    assert int(bytes_per_token(hybrid(), (3, 7), "f16", cache_type)) == 2 * (64 * 2 + row)


@pytest.mark.parametrize(("caches", "per_token"), [(("q8_0", "q8_0"), 10_880), (("q8_0", "f16"), 15_680), (("f16", "f16"), 20_480)])
def test_the_published_bytes_per_token_of_the_apodex_model_come_out(caches: tuple[str, str], per_token: int) -> None:
    # ten blocks of two heads of 256: q8_0 takes 512 / 32 * 34 = 544, f16 512 * 2 = 1024 for each of K and V
    assert int(bytes_per_token(apodex(), FULL_ATTENTION, *caches)) == per_token
    assert int(kv_cache.elements_per_token(apodex(), FULL_ATTENTION)) == 10 * 2 * 2 * 256


def test_every_cell_of_every_stream_is_paid_for() -> None:
    per_token = bytes_per_token(hybrid(), (3, 7), "f16", "f16")
    assert int(per_token) == 512
    context = context_of(hybrid(), parse_flags("-c 10000 -np 3", "llama-fit-params"))
    assert int(kv_cache.cache_bytes(per_token, context.total_cells)) == 512 * 10_752


def test_the_head_length_is_the_embedding_shared_out_where_the_header_does_not_say() -> None:
    # 256 / 8 heads = 32 elements, two KV heads: 64 a row
    assert int(bytes_per_token(dense(), (0,), "f16", "f16")) == 2 * 64 * 2
    assert int(bytes_per_token(dense(**{"attention.value_length": 16}), (0,), "f16", "f16")) == 64 * 2 + 32 * 2


def test_every_head_has_its_own_cache_where_the_header_states_no_kv_heads() -> None:
    # src/llama-model.cpp: "n_head_kv is optional, default to n_head"
    model = dense(**{"attention.head_count_kv": None})
    assert int(bytes_per_token(model, (0,), "f16", "f16")) == 2 * 256 * 2


def test_blocks_with_kv_heads_of_their_own_are_added_up() -> None:
    model = dense(**{"attention.head_count_kv": [0, 2, 4, 2]})
    per_token = bytes_per_token(model, (0, 1, 2, 3), "f16", "q8_0")
    # 32 elements a head: f16 64 bytes, q8_0 34 bytes; heads 0 + 2 + 4 + 2
    assert int(per_token) == per_token.recomputed() == 8 * (64 + 34)
    assert int(kv_cache.elements_per_token(model, (0, 1, 2, 3))) == 8 * 2 * 32


def test_no_block_caches_nothing() -> None:
    assert int(bytes_per_token(hybrid(), (), "f16", "f16")) == 0
