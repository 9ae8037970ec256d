"""What the engine refuses once it has a model in hand (src/llama-context.cpp, `llama_init_from_model`)."""

from __future__ import annotations

import pytest

from generator.errors import InputError, RefusedSettings
from generator.memory.model import Model
from generator.memory.refusals import refuse
from generator.memory.settings import parse_flags
from tests.memory.models import build, dense, hybrid, named

ODD = dense(embedding_length=800)  # heads of 100 elements, rows of 200


@pytest.mark.parametrize("cache_type", ["q8_0", "q4_0", "q5_1", "iq4_nl"])
def test_quantised_v_needs_flash_attention(cache_type: str) -> None:
    with pytest.raises(RefusedSettings, match="requires flash_attn") as raised:
        refuse(dense(), parse_flags(f"-fa off -ctv {cache_type}"))
    assert (raised.value.rule, raised.value.where) == ("quantised V without flash attention", "-ctv")
    assert raised.value.exit_code == 2
    for flags in (f"-fa on -ctv {cache_type}", f"-fa auto -ctv {cache_type}", f"-ctv {cache_type}", f"-fa off -ctk {cache_type}"):
        refuse(dense(), parse_flags(flags))


@pytest.mark.parametrize("cache_type", ["f16", "bf16", "f32"])
def test_v_in_floating_point_does_not(cache_type: str) -> None:
    refuse(dense(), parse_flags(f"-fa off -ctv {cache_type} -ctk {cache_type}"))


@pytest.mark.parametrize(("flags", "where"), [("-ctk q8_0", "-ctk"), ("-ctv q4_0", "-ctv"), ("-fa auto -ctk q5_0", "-ctk")])
def test_blocks_of_a_cache_must_divide_the_head(flags: str, where: str) -> None:
    with pytest.raises(RefusedSettings, match="32 elements do not divide the head length of 100") as raised:
        refuse(ODD, parse_flags(flags))
    assert (raised.value.rule, raised.value.where) == ("cache block does not divide the head", where)
    refuse(ODD, parse_flags("-ctk f16 -ctv bf16"))


def test_without_flash_attention_they_must_divide_the_row() -> None:
    refuse(dense(embedding_length=800, **{"attention.head_count_kv": 8}), parse_flags("-fa off -ctk q8_0"))  # a row of 800
    with pytest.raises(RefusedSettings, match="do not divide the row of 200"):
        refuse(ODD, parse_flags("-fa off -ctk q8_0"))


def test_a_draft_head_must_be_in_the_file_unless_another_file_drafts() -> None:
    with pytest.raises(RefusedSettings, match="no draft head") as raised:
        refuse(dense(), parse_flags("--spec-type draft-mtp"))
    assert raised.value.rule == "no draft head"
    refuse(hybrid(), parse_flags("--spec-type draft-mtp"))
    refuse(dense(), parse_flags("--spec-type draft-mtp -md draft.gguf"))
    refuse(dense(), parse_flags("--spec-type ngram-mod"))


def test_the_draft_heads_cache_is_held_to_the_same_rules() -> None:
    with pytest.raises(RefusedSettings) as raised:
        refuse(hybrid(), parse_flags("--spec-type draft-mtp -fa off -ctvd q8_0"))
    assert raised.value.where == "-ctvd"
    refuse(hybrid(), parse_flags("-fa off -ctvd q8_0"))
    model: Model = hybrid(**{"attention.key_length": 100})
    with pytest.raises(RefusedSettings) as raised:
        refuse(model, parse_flags("--spec-type draft-mtp -ctkd q8_0"))
    assert raised.value.where == "-ctkd"


def test_a_cache_of_k_alone_takes_one_type() -> None:
    model = build(named("deepseek2", {"block_count": 1, "attention.head_count": 1, "attention.head_count_kv": 1, **LENGTHS}), [])
    with pytest.raises(RefusedSettings, match="does not support different K and V") as raised:
        refuse(model, parse_flags("-fa off -ctk q8_0"))
    assert (raised.value.rule, raised.value.where) == ("K and V of different types", "-ctv")
    refuse(model, parse_flags("-ctk q8_0 -ctv q8_0"))


LENGTHS = {"attention.key_length": 576, "attention.value_length": 512, "attention.key_length_mla": 192, "attention.value_length_mla": 128}


@pytest.mark.parametrize(("used", "count"), [(0, 8), (9, 8), (None, 8), (2, None)])
def test_routers_choose_one_expert_or_more_and_no_more_than_there_are(used: int | None, count: int | None) -> None:
    with pytest.raises(InputError, match=rf"{used or 0} of {count or 0} experts are used for a token") as caught:
        refuse(hybrid(expert_used_count=used, expert_count=count), parse_flags("", "llama-server"))
    assert f"'qwen35moe.expert_used_count' should be {'1 to 8' if count else 'left out'}" in caught.value.remedy


def test_tensors_of_experts_need_experts() -> None:
    with pytest.raises(InputError, match="there are no experts, and has tensors of some"):
        refuse(hybrid(expert_count=0, expert_used_count=0), parse_flags("", "llama-server"))
