from __future__ import annotations

import pytest

from generator.errors import InputError, UnsupportedArchitecture
from generator.memory.architectures import ARCHITECTURES, layers_of
from generator.memory.model import Model
from tests.memory.models import apodex, build, dense, hybrid, named


def test_every_block_of_a_dense_model_caches() -> None:
    layers = layers_of(dense())
    assert layers.attention.blocks == layers.caches[0].blocks == (0, 1, 2, 3)
    assert layers.recurrent == layers.draft_attention == ()
    assert layers.states == ()


@pytest.mark.parametrize(
    ("interval", "attention"), [(4, (3, 7)), (2, (1, 3, 5, 7)), (3, (2, 5)), (1, tuple(range(8))), (9, ()), (None, (3, 7))]
)
def test_a_hybrid_caches_in_every_nth_block_and_keeps_a_state_in_the_others(interval: int | None, attention: tuple[int, ...]) -> None:
    layers = layers_of(hybrid(full_attention_interval=interval))
    assert layers.attention.blocks == attention
    assert sorted(layers.attention.blocks + layers.recurrent) == list(range(8))
    assert layers.draft_attention == (8,)


def test_a_header_may_list_its_recurrent_blocks_instead() -> None:
    # what llama.cpp's own writer of GGUF files leaves of the interval (src/llama-model-saver.cpp)
    marks = [True, False, True, True, True, True, False, True, False]
    layers = layers_of(hybrid(**{"attention.recurrent_layers": marks, "full_attention_interval": None}))
    assert layers.attention.blocks == (1, 6)
    assert layers.recurrent == (0, 2, 3, 4, 5, 7)
    assert layers.draft_attention == (8,)
    chosen = layers.attention
    assert chosen.evaluate([quantity.value for quantity in chosen.inputs]) == (1, 6)


@pytest.mark.parametrize("model", [dense(), hybrid(), apodex()], ids=["dense", "hybrid", "apodex"])
def test_the_list_of_blocks_follows_again_from_its_inputs(model: Model) -> None:
    chosen = layers_of(model).attention
    assert chosen.evaluate([quantity.value for quantity in chosen.inputs]) == chosen.blocks
    assert chosen.words


def test_the_state_is_that_of_the_published_formula() -> None:
    (state,) = layers_of(hybrid()).states
    assert int(state.r) == (4 - 1) * (128 + 2 * 2 * 16) == 576
    assert int(state.s) == 16 * 128 == 2048


def test_the_apodex_model_caches_in_ten_blocks() -> None:
    assert layers_of(apodex()).attention.blocks == (3, 7, 11, 15, 19, 23, 27, 31, 35, 39)


def test_an_interval_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="full_attention_interval' is 0"):
        layers_of(hybrid(full_attention_interval=0))


def test_an_architecture_without_rules_is_refused_with_those_that_have_them() -> None:
    with pytest.raises(UnsupportedArchitecture, match="'unheard-of' are not known here") as raised:
        layers_of(build(named("unheard-of", {"block_count": 27}), []))
    assert raised.value.architecture == "unheard-of"
    assert all(f"'{name}'" in raised.value.remedy for name in ARCHITECTURES)


LATENT: dict[str, object] = {
    "block_count": 3,
    "nextn_predict_layers": 1,
    "embedding_length": 2048,
    "attention.head_count": 16,
    "attention.head_count_kv": 1,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
    "attention.indexer.key_length": 128,
}


def test_a_latent_is_cached_once_and_a_header_that_states_none_caches_k_and_v() -> None:
    (cache,) = layers_of(build(named("deepseek2", LATENT), [])).caches
    assert cache.values is None
    assert {block: int(row) for block, row in cache.keys.items()} == {0: 576, 1: 576}
    full = {"attention.key_length_mla": None, "attention.value_length_mla": None, "attention.head_count_kv": 16}
    (cache,) = layers_of(build(named("deepseek2", LATENT | full), [])).caches
    assert cache.values is not None
    assert (int(cache.keys[0]), int(cache.values[0])) == (16 * 576, 16 * 512)


def test_an_indexer_keeps_a_row_of_its_own() -> None:
    latent, indexer = layers_of(build(named("deepseek32", LATENT), [])).caches
    assert (latent.blocks, indexer.blocks) == ((0, 1), (0, 1))
    assert (int(indexer.keys[1]), indexer.values) == (128, None)


def test_builds_before_the_filter_cache_for_every_block_in_both_contexts() -> None:
    # src/llama-model.cpp, `create_memory`: the filter of nextn layers came between v0.4.0 and v0.5.0. Before #26534, of b10603, the
    # engine counted such layers out by itself: at b6168 it printed 46 layers for the 47 blocks of GLM-4.5-Air.
    model = build(named("glm4moe", LATENT), [])
    for name, normal, draft in (
        ("b6168", (0, 1), (2,)),
        ("v0.4.0", (0, 1, 2), (0, 1, 2)),
        ("b10666", (0, 1, 2), (0, 1, 2)),
        ("v0.5.0", (0, 1), (2,)),
        (None, (0, 1), (2,)),
    ):
        layers = layers_of(model, name)
        assert (layers.attention.blocks, layers.draft_attention) == (normal, draft), name
