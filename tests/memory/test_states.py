"""States by llama_hparams::n_embd_r and n_embd_s, with the shapes of public models, and deepseek4's compressors."""

from __future__ import annotations

import pytest

from generator.memory import kv_cache
from generator.memory.architectures import layers_of
from generator.memory.context import context_of
from generator.memory.plan import make_plan
from generator.memory.settings import parse_flags
from tests.memory.models import build, hybrid, named


@pytest.mark.parametrize(
    ("architecture", "values", "r", "s"),
    [
        ("rwkv7", {"embedding_length": 2560, "wkv.head_size": 64}, 2 * 2560, 2560 * 64),
        (
            "mamba2",
            {"ssm.conv_kernel": 4, "ssm.inner_size": 5120, "ssm.state_size": 128, "ssm.group_count": 1},
            3 * (5120 + 256),
            128 * 5120,
        ),
        ("mamba", {"ssm.conv_kernel": 4, "ssm.inner_size": 8192, "ssm.state_size": 16}, 3 * 8192, 16 * 8192),
        ("lfm2", {"embedding_length": 2048, "shortconv.l_cache": 3}, 2 * 2048, 0),
        ("kimi-linear", {"kda.head_dim": 128, "ssm.conv_kernel": 4}, 3 * 3 * 32 * 128, 128 * 128 * 32),
    ],
)
def test_a_state_has_the_elements_of_its_kind(architecture: str, values: dict[str, object], r: int, s: int) -> None:
    base = {"block_count": 2, "embedding_length": 64, "attention.head_count": 32, "attention.head_count_kv": [0, 0]}
    (state,) = layers_of(build(named(architecture, base | values), [])).states
    assert (state.blocks, int(state.r), int(state.s)) == ((0, 1), r, s)


def test_blocks_without_heads_keep_a_state_unless_they_have_a_width() -> None:
    values: dict[str, object] = {
        "block_count": 4,
        "embedding_length": 64,
        "attention.head_count": 8,
        "attention.head_count_kv": [0, 2, 0, 0],
        "feed_forward_length": [0, 0, 100, 0],
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 128,
        "ssm.state_size": 16,
    }
    assert layers_of(build(named("nemotron_h", values), [])).recurrent == (0, 3)
    assert layers_of(build(named("jamba", values), [])).recurrent == (0, 2, 3)


def test_copies_are_kept_for_a_draft_only_where_the_engine_can_take_a_state_back() -> None:
    kept = {}
    for architecture in ("qwen35moe", "qwen3next"):
        model = build(named(architecture, {**hybrid_values(), "context_length": 256}), [])
        plans = [make_plan(model, parse_flags(f"-np 1 {flags}")) for flags in ("", "--spec-type draft-mtp")]
        kept[architecture] = [plan.host.recurrent + plan.gpus[0].recurrent for plan in plans]
    once = 6 * (576 + 2048) * 4
    assert kept == {"qwen35moe": [once, 4 * once], "qwen3next": [once, once]}


def hybrid_values() -> dict[str, object]:
    return {key.removeprefix("qwen35moe."): value for key, value in hybrid().metadata.items() if key.startswith("qwen35moe.")}


def test_compressed_caches_have_a_cell_for_so_many_tokens_and_a_stream_a_sequence() -> None:
    values: dict[str, object] = {
        "block_count": 3,
        "context_length": 4096,
        "embedding_length": 64,
        "attention.head_count": 8,
        "attention.head_count_kv": 1,
        "attention.key_length": 512,
        "attention.sliding_window": 128,
        "attention.compress_ratios": [0, 4, 128],
        "attention.indexer.key_length": 128,
    }
    model = build(named("deepseek4", values), [])
    layers = layers_of(model)
    context = context_of(model, parse_flags("-c 5000 -ub 512 -np 2 -kvu", "llama-fit-params"))
    cells = [int(kv_cache.cells_of(cache, context)) for cache in layers.caches]
    # 5,120 cells: a window of 128 + 512 in steps of 256; 5,120 / 4 = 1,280; 5,120 / 128 = 40; each twice
    assert cells == [2 * 768, 2 * 1280, 2 * 256, 2 * 1280]
    assert [cache.blocks for cache in layers.caches] == [(0, 1, 2), (1,), (2,), (1,)]
    assert [int(kv_cache.bytes_per_token(cache, cache.blocks[:1], "f16", "f16")) for cache in layers.caches] == [1024, 1024, 1024, 256]
    # as the engine's account has it: 2 * 8 * (1024 + 256) elements for the fine ratio, 2 * 128 * 512 for the coarse one
    elements = {state.blocks: 0 for state in layers.states}
    for state in layers.states:
        elements[state.blocks] += int(state.r) + int(state.s)
    assert elements == {(1,): 2 * 8 * (1024 + 256), (2,): 2 * 128 * 512}
