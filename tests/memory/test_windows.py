"""Windows by the engine's pattern (src/llama-hparams.cpp, `set_swa_pattern`), and the cells they take (src/llama-kv-cache-iswa.cpp)."""

from __future__ import annotations

import pytest

from generator.errors import InputError
from generator.memory import kv_cache
from generator.memory.architectures import layers_of
from generator.memory.context import context_of
from generator.memory.model import Model
from generator.memory.settings import parse_flags
from generator.memory.windows import window_of, windowed_blocks
from tests.memory.models import build, named

BASE: dict[str, object] = {
    "block_count": 8,
    "context_length": 32768,
    "embedding_length": 256,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
    "attention.sliding_window": 512,
}


def model(architecture: str, **changes: object) -> Model:
    return build(named(architecture, BASE | changes), [])


@pytest.mark.parametrize(
    ("architecture", "changes", "windowed"),
    [
        ("gpt-oss", {}, {0, 2, 4, 6}),
        ("gemma3", {}, {0, 1, 2, 3, 4, 6, 7}),
        ("gemma3", {"attention.sliding_window": None}, set()),
        ("gemma3", {"attention.sliding_window_pattern": 2}, {0, 2, 4, 6}),
        ("gemma4", {"attention.sliding_window_pattern": [True, False] * 4}, {0, 2, 4, 6}),
        ("cohere2moe", {}, {1, 2, 3, 5, 6, 7}),
        ("phi3", {}, set()),
        ("llama", {}, set()),
        ("exaone4", {}, set()),
    ],
)
def test_blocks_have_windows_by_the_architectures_pattern_or_the_headers(
    architecture: str, changes: dict[str, object], windowed: set[int]
) -> None:
    assert windowed_blocks(model(architecture, **changes)) == windowed


def test_a_chunk_is_of_the_engines_size_unless_it_is_switched_off() -> None:
    window = window_of(model("llama4"))
    assert window is not None and int(window) == 8192
    assert window_of(model("llama4", **{"attention.sliding_window": 0})) is None


def test_an_architecture_that_must_list_its_windows_and_does_not_is_refused() -> None:
    with pytest.raises(InputError, match="sliding_window_pattern"):
        windowed_blocks(model("gemma4"))


@pytest.mark.parametrize(
    ("flags", "cells"),
    [
        ("-c 8192 -ub 512 -np 1", 1024),  # 512 + 512
        ("-c 8192 -ub 100 -np 1", 768),  # 512 + 100, in steps of 256
        ("-c 512 -ub 512 -np 1", 512),  # no more than the context
        ("-c 8192 -ub 512 -np 4", 4 * 1024),  # a stream a sequence
        ("-c 8192 -ub 512 -np 4 -kvu", 2560),  # 4 * 512 + 512
        ("-c 8192 -ub 512 -np 1 --swa-full", 8192),
    ],
)
def test_a_window_has_cells_for_its_tokens_and_a_micro_batch(flags: str, cells: int) -> None:
    settings = parse_flags(flags, "llama-fit-params")
    full, window = layers_of(model("gpt-oss")).caches
    context = context_of(model("gpt-oss"), settings)
    given = kv_cache.cells_of(window, context, swa_full=settings.swa_full)
    assert int(given) == given.recomputed() == cells
    assert kv_cache.cells_of(full, context).value == context.total_cells.value


def test_heads_behind_a_window_may_have_a_length_of_their_own_and_v_is_padded_to_the_widest_without_flash_attention() -> None:
    pattern = {"attention.sliding_window_pattern": [True, False] * 4}
    lengths = {"attention.key_length": 64, "attention.value_length": 64, "attention.key_length_swa": 32, "attention.value_length_swa": 32}
    full, window = layers_of(model("gemma4", **pattern, **lengths)).caches
    assert int(kv_cache.bytes_per_token(full, (1,), "f16", "f16")) == 2 * (64 + 64) * 2
    assert int(kv_cache.bytes_per_token(window, (0,), "f16", "f16")) == 2 * (32 + 32) * 2
    assert int(kv_cache.bytes_per_token(window, (0,), "f16", "f16", padded_values=True)) == 2 * (32 + 64) * 2


def test_blocks_that_share_the_cache_of_an_earlier_one_own_none() -> None:
    pattern = {"attention.sliding_window_pattern": [True, False] * 4, "attention.shared_kv_layers": 4}
    layers = layers_of(model("gemma4", **pattern))
    assert layers.attention.blocks == (0, 1, 2, 3)
    assert [cache.blocks for cache in layers.caches] == [(1, 3), (0, 2)]
