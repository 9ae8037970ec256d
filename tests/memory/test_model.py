from __future__ import annotations

from dataclasses import replace

import pytest

from generator.errors import InputError
from generator.memory.model import MAX_BLOCKS, Model
from generator.quantity import UnitError
from tests.memory.models import apodex, build, dense, hybrid, named, tied


def test_a_hyperparameter_is_read_under_the_architectures_prefix_and_names_its_key() -> None:
    heads = hybrid().number("attention.head_count")
    assert int(heads) == 4
    assert heads.key == "header.attention.head_count"
    assert heads.formula() == "[header.metadata](qwen35moe.attention.head_count)"


def test_a_default_stands_in_where_the_header_is_silent_and_only_there() -> None:
    assert int(hybrid(full_attention_interval=None).number("full_attention_interval", 4)) == 4
    assert int(hybrid(full_attention_interval=2).number("full_attention_interval", 4)) == 2


def test_a_model_with_other_metadata_remembers_nothing_of_the_first() -> None:
    model = hybrid()
    assert int(model.number("attention.head_count")) == 4
    other = replace(model, metadata={**model.metadata, "qwen35moe.attention.head_count": 8})
    assert int(other.number("attention.head_count")) == 8


def test_a_key_that_is_needed_and_missing_is_named() -> None:
    with pytest.raises(InputError, match=r"does not state 'qwen35moe\.block_count'") as raised:
        _ = hybrid(block_count=None).block_count
    assert "converter" in raised.value.remedy


@pytest.mark.parametrize("value", ["nine", 9.0, True, -1, [9], {"length": 4000}])
def test_what_is_no_whole_number_is_refused_with_what_the_header_says(value: object) -> None:
    with pytest.raises(InputError, match="one whole number from 0 up"):
        hybrid(expert_count=value).number("expert_count")


def test_a_block_has_its_entry_of_a_list_or_the_number_for_all() -> None:
    model = dense(**{"attention.head_count_kv": [1, 2, 4, 8]})
    assert [int(model.per_block("attention.head_count_kv", block)) for block in range(4)] == [1, 2, 4, 8]
    assert [int(dense().per_block("attention.head_count_kv", block)) for block in range(4)] == [2, 2, 2, 2]
    assert int(dense(flags=[False, True]).per_block("flags", 1)) == 1


@pytest.mark.parametrize(
    ("values", "told"), [([1, 2], "lists 2 blocks, block 3"), ([1, 2, 4, "8"], "block 3 has '8'"), ([1, 1, 1, -1], "has -1")]
)
def test_a_list_that_does_not_fit_the_blocks_is_refused(values: list[object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        dense(**{"attention.head_count_kv": values}).per_block("attention.head_count_kv", 3)


def test_blocks_of_a_draft_head_are_counted_off_the_end() -> None:
    assert [int(count) for count in (hybrid().block_count, hybrid().draft_blocks, hybrid().loaded_blocks)] == [9, 1, 8]
    assert [int(count) for count in (dense().block_count, dense().draft_blocks, dense().loaded_blocks)] == [4, 0, 4]


@pytest.mark.parametrize("count", [0, MAX_BLOCKS + 1, 2**40])
def test_as_many_blocks_as_the_engine_never_loads_are_refused_before_memory_is_taken(count: int) -> None:
    # src/llama-hparams.h: LLAMA_MAX_LAYERS 512; src/llama-model.cpp asserts n_layer_all in 1 to that
    assert MAX_BLOCKS == 512
    with pytest.raises(InputError, match=f"states {count} blocks"):
        _ = dense(block_count=count).loaded_blocks


def test_a_draft_head_of_more_blocks_than_there_are_is_refused() -> None:
    with pytest.raises(InputError, match="9 blocks, and 10 of a draft head"):
        _ = hybrid(nextn_predict_layers=10).loaded_blocks


@pytest.mark.parametrize("metadata", [{}, {"general.architecture": ""}, {"general.architecture": 3}])
def test_a_header_that_names_no_architecture_is_said_to(metadata: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"does not state 'general\.architecture'"):
        build(metadata, [])


def test_a_normal_run_leaves_the_draft_heads_block_in_the_file() -> None:
    # embedding, norm, head; five tensors in each of 8 blocks; the ninth block has six
    assert len(hybrid().tensors) == 3 + 8 * 5 + 6
    assert len(hybrid().loaded()) == 3 + 8 * 5
    assert len(hybrid().loaded(draft_head=True)) == 3 + 8 * 5 + 6


def test_sizes_of_tensors_add_up() -> None:
    model = hybrid()
    every_block = 9 * 10_500 + 5 * 4_000_000 + 4 * 5_000_000  # even blocks 0, 2, 4, 6, 8; odd ones 1, 3, 5, 7
    assert int(model.size_of(model.tensors, "all")) == 50_000_000 + 300 + 60_000_000 + every_block + 7_000
    assert int(model.size_of([], "none")) == 0
    assert model.size_of(model.experts(1), "block 1").formula() == "sum of payload bytes, block 1"


def test_routed_experts_are_told_from_routers_and_dense_layers() -> None:
    assert [tensor.name for tensor in hybrid().experts(1)] == [f"blk.1.ffn_{part}_exps.weight" for part in ("gate", "up", "down")]
    assert len(hybrid().experts()) == 27
    assert hybrid().experts(99) == ()
    assert dense().experts() == ()
    rows = [
        ("blk.0.ffn_up_chexps.weight", 2),
        ("blk.0.ffn_gate_up_exps.bias", 2),
        ("blk.0.ffn_up_shexp.weight", 2),
        ("blk.0.ffn_up.weight", 2),
    ]
    names = [tensor.name for tensor in build(named("llama", {}), rows).experts()]
    assert names == ["blk.0.ffn_up_chexps.weight", "blk.0.ffn_gate_up_exps.bias"]


def test_a_head_is_tied_where_the_file_has_an_embedding_and_no_output_matrix() -> None:
    assert tied().tied_embedding
    assert not dense().tied_embedding
    assert not build(named("llama", {}), [("blk.0.attn_q.weight", 2)]).tied_embedding


def test_only_the_input_layer_is_input() -> None:
    rows = [("token_embd.weight", 2), ("per_layer_token_embd.weight", 2), ("token_embd_norm.weight", 2), ("blk.0.token_embd.weight", 2)]
    model = build(named("llama", {}), rows)
    assert [tensor.name for tensor in model.tensors if tensor.is_input] == ["token_embd.weight", "per_layer_token_embd.weight"]


def test_the_published_totals_of_the_apodex_file_come_out() -> None:
    model: Model = apodex()
    assert int(model.size_of(model.tensors, "all")) == 21_853_090_304
    assert int(model.size_of(model.loaded(), "loaded")) == 21_376_133_632
    assert int(model.size_of(model.blocks[40], "draft head")) == 476_956_672
    assert (int(model.tensor_count), len(model.experts())) == (753, 123)


def test_sizes_are_bytes_and_do_not_mix_with_counts() -> None:
    with pytest.raises(UnitError):
        _ = hybrid().tensors[0].size + hybrid().block_count


def test_a_draft_head_that_is_loaded_anyway_is_one_of_the_blocks_stated() -> None:
    rows = [("token_embd.weight", 100), *((f"blk.{block}.ffn_up.weight", 10 + block) for block in range(4))]
    model = build(named("step35", {"block_count": 3, "nextn_predict_layers": 1}), rows)
    assert [tensor.name for tensor in model.loaded()] == [
        *("token_embd.weight", "blk.0.ffn_up.weight", "blk.1.ffn_up.weight", "blk.2.ffn_up.weight")
    ]  # block 2 is the draft head, block 3 is beyond the blocks
