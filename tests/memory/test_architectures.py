from __future__ import annotations

import pytest

from generator.errors import InputError, UnsupportedArchitecture
from generator.memory.architectures import ARCHITECTURES, layers_of
from generator.memory.model import Model
from tests.memory.models import apodex, build, dense, hybrid, named


def test_every_block_of_a_dense_model_caches() -> None:
    layers = layers_of(dense())
    assert layers.attention == (0, 1, 2, 3)
    assert layers.recurrent == layers.draft_attention == ()
    assert layers.state is None


@pytest.mark.parametrize(
    ("interval", "attention"), [(4, (3, 7)), (2, (1, 3, 5, 7)), (3, (2, 5)), (1, tuple(range(8))), (9, ()), (None, (3, 7))]
)
def test_a_hybrid_caches_in_every_nth_block_and_keeps_a_state_in_the_others(interval: int | None, attention: tuple[int, ...]) -> None:
    layers = layers_of(hybrid(full_attention_interval=interval))
    assert layers.attention == attention
    assert sorted(layers.attention + layers.recurrent) == list(range(8))
    assert layers.draft_attention == (8,)


def test_a_header_may_list_its_recurrent_blocks_instead() -> None:
    # what llama.cpp's own writer of GGUF files leaves of the interval (src/llama-model-saver.cpp)
    marks = [True, False, True, True, True, True, False, True, False]
    layers = layers_of(hybrid(**{"attention.recurrent_layers": marks, "full_attention_interval": None}))
    assert layers.attention == (1, 6)
    assert layers.recurrent == (0, 2, 3, 4, 5, 7)
    assert layers.draft_attention == (8,)
    assert layers.evaluate([quantity.value for quantity in layers.inputs]) == (1, 6)


@pytest.mark.parametrize("model", [dense(), hybrid(), apodex()], ids=["dense", "hybrid", "apodex"])
def test_the_list_of_blocks_follows_again_from_its_inputs(model: Model) -> None:
    layers = layers_of(model)
    assert layers.evaluate([quantity.value for quantity in layers.inputs]) == layers.attention
    assert layers.words


def test_the_state_is_that_of_the_published_formula() -> None:
    state = layers_of(hybrid()).state
    assert state is not None
    assert int(state.r) == (4 - 1) * (128 + 2 * 2 * 16) == 576
    assert int(state.s) == 16 * 128 == 2048


def test_the_apodex_model_caches_in_ten_blocks() -> None:
    assert layers_of(apodex()).attention == (3, 7, 11, 15, 19, 23, 27, 31, 35, 39)


def test_an_interval_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="full_attention_interval' is 0"):
        layers_of(hybrid(full_attention_interval=0))


def test_an_architecture_without_rules_is_refused_with_those_that_have_them() -> None:
    with pytest.raises(UnsupportedArchitecture, match="'deepseek2' are not known here") as raised:
        layers_of(build(named("deepseek2", {"block_count": 27}), []))
    assert raised.value.architecture == "deepseek2"
    assert all(f"'{name}'" in raised.value.remedy for name in ARCHITECTURES)
