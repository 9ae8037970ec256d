"""Which graphs the engine (v0.5.0) reserves for, and which it ends on while it makes them."""

from __future__ import annotations

import pytest

from generator.errors import RefusedSettings
from generator.memory.plan import Plan, make_plan
from generator.memory.settings import parse_flags
from tests.memory.graph.headers.compact import Header, model_of
from tests.memory.graph.headers.decoder import SMOLLM3
from tests.memory.graph.headers.deepseek import PLM
from tests.memory.graph.headers.delta_nets import KIMI_LINEAR, MINIMAX

MIB = 2**20


def planned(header: Header, flags: str, program: str = "llama-fit-params", gpus: int = 1, build: str = "v0.5.0") -> Plan:
    return make_plan(model_of(header), parse_flags(flags, program), gpus=gpus, build=build)


@pytest.mark.parametrize(("split", "computes"), [("1,0", 0), ("0,1", 1)])
def test_devices_without_layers_still_make_a_pipeline(split: str, computes: int) -> None:
    plan = planned(SMOLLM3, f"-ngl 99 -c 8192 -fa on -np 1 -sm layer -ts {split}", gpus=2)
    assert [gpu.compute for gpu in plan.gpus] == [65_585_152 if index == computes else 0 for index in range(2)]
    assert plan.host.compute == 44_097_536


def test_what_grows_with_a_sequences_tokens_is_reserved_for_one_sequence_by_programs_that_run() -> None:
    flags = "-ngl 0 -c 32768 -fa on -np 4"
    assert planned(MINIMAX, flags, "llama-server", gpus=0).host.compute == pytest.approx(164.14 * MIB, abs=0.005 * MIB)
    several = planned(MINIMAX, "-ngl 99 -c 32768 -fa on -np 4")
    assert (several.gpus[0].compute, several.host.compute) == (96_612_512, 29_505_696)


@pytest.mark.parametrize("flags", ["-np 3", "-np 4 -ub 33", "-np 7 -fa off -ub 512"])
def test_sequences_that_do_not_divide_the_micro_batch_cannot_be_reserved_for_as_one(flags: str) -> None:
    with pytest.raises(RefusedSettings, match="do not go together in add") as raised:
        planned(KIMI_LINEAR, f"-ngl 99 -c 8192 {flags}")
    assert raised.value.rule == "graph the engine cannot make"
    planned(KIMI_LINEAR, f"-ngl 99 -c 8192 {flags}", build="v0.4.0")
    planned(KIMI_LINEAR, "-ngl 99 -c 8192 -np 3 -ub 33")


@pytest.mark.parametrize("flags", ["-fa on -np 1", "-fa auto -np 4"])
def test_plm_does_not_store_v_with_flash_attention(flags: str) -> None:
    with pytest.raises(RefusedSettings, match="do not go together"):
        planned(PLM, flags)


@pytest.mark.parametrize("flags", ["-c 1 -np 4", "-c 4096 -b 1 -np 2", "-c 4096 -b 64 -np 65"])
def test_a_sequence_has_the_logits_of_one_token_at_least(flags: str) -> None:
    with pytest.raises(RefusedSettings, match="n_outputs_max") as raised:
        planned(SMOLLM3, flags)
    assert raised.value.rule == "fewer outputs than sequences"
    planned(SMOLLM3, "-c 4096 -b 64 -np 64")


@pytest.mark.parametrize(
    ("flags", "mebibytes"),
    [
        ("-np 4", 25.51),
        ("-np 4 --spec-type ngram-mod", 137.04),
        ("-np 4 --spec-type ngram-simple", 101.53),
        ("-np 64 --spec-type ngram-cache", 260.00),
        ("-b 300 -np 8 --spec-type ngram-mod,draft-simple", 152.36),
        ("-np 2 --pooling mean", 260.00),
    ],
)
def test_a_server_keeps_the_logits_of_every_token_that_may_be_drafted(flags: str, mebibytes: float) -> None:
    wide = (SMOLLM3[0], SMOLLM3[1], SMOLLM3[2].replace("1024x8192", "1024x131072"))
    host = planned(wide, f"-ngl 0 -c 4096 -fa on {flags}", "llama-server", gpus=0).host
    assert host.compute == pytest.approx(mebibytes * MIB, abs=0.005 * MIB)


def test_a_server_with_batches_shorter_than_its_slots_ends_as_well() -> None:
    with pytest.raises(RefusedSettings, match="4 sequences with logits of 2 tokens"):
        planned(SMOLLM3, "-ngl 0 -c 4096 -b 2 -np 4", "llama-server")


@pytest.mark.parametrize(
    ("flags", "device", "host"),
    [
        ("-ot attn_output=CPU -nkvo", 23_595_008, 294_664_192),
        ("-ot attn_output=CPU", 29_894_656, 12_597_248),
        ("-ot attn=CPU", 30_943_232, 18_888_704),
        ("-nkvo", 32_507_904, 12_597_248),
    ],
)
def test_attention_that_is_drawn_to_the_host_is_not_flash_attention_where_that_is_left_to_the_engine(
    flags: str, device: int, host: int
) -> None:
    plan = planned(SMOLLM3, f"-ngl 99 -c 8192 -np 1 -fa auto {flags}")
    assert (plan.gpus[0].compute, plan.host.compute) == (device, host)


FUSED: Header = (
    "phi3",
    {
        "block_count": 40,
        "context_length": 16384,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "rope.dimension_count": 64,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - Q4_K token_embd:1024x8192 output:1024x8192
    - F32 output_norm:1024
    0-39 F32 attn_norm:1024 ffn_norm:1024
    0-39 Q4_K attn_qkv:1024x1536 attn_output:1024x1024 ffn_up:1024x5632 ffn_down:2816x1024
    """,
)


def test_a_file_of_few_tensors_has_no_room_for_the_graph_of_quantised_caches_of_several_sequences() -> None:
    for taken in ("-np 1 -ctk q8_0 -ctv q8_0", "-np 2 -ctk q8_0", "-np 4 -ctv q8_0", "-np 4"):
        planned(FUSED, f"-ngl 99 -c 8192 -fa on {taken}")
    with pytest.raises(RefusedSettings, match="2053") as raised:
        planned(FUSED, "-ngl 99 -c 8192 -fa on -np 2 -ctk q8_0 -ctv q8_0")
    assert raised.value.rule == "graph larger than its room"


def test_generation_of_every_sequence_is_reserved_for_where_a_micro_batch_is_shorter() -> None:
    wide = (SMOLLM3[0], SMOLLM3[1], SMOLLM3[2].replace("1024x8192", "1024x131072"))
    host = planned(wide, "-ngl 0 -c 4096 -fa on -np 7 -ub 1", "llama-server", gpus=0).host
    assert host.compute == pytest.approx(3.55 * MIB, abs=0.005 * MIB)
