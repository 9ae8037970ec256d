from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from generator.errors import GenError, RefusedSettings, UnsupportedArchitecture
from generator.memory.model import Model
from generator.memory.plan import Plan, make_plan
from generator.memory.settings import Settings, parse_flags
from generator.quantity import BYTE, Quantity
from tests.memory.models import apodex, build, dense, hybrid, named, tied

STATE = 10_496  # of one recurrent block for one sequence
CELL = 256  # bytes of one cell in one block of the hybrid, K and V in f16


def planned(model: Model, flags: str, gpus: int = 1, program: str = "llama-fit-params") -> Plan:
    return make_plan(model, parse_flags(flags, program), gpus=gpus)


def test_each_device_has_weights_cache_state_and_reserve() -> None:
    plan = planned(hybrid(), "-ngl 99 -c 1000 -np 1 -ncmoe 2")
    card = plan.gpus[0]
    assert card.weights == 60_000_300 + 8 * 10_500 + 27_000_000
    assert card.kv == 1024 * 2 * CELL
    assert card.recurrent == 6 * STATE
    assert card.compute == 2**30
    assert card.total == card.weights + card.kv + card.recurrent + card.compute
    assert plan.host.weights == 50_000_000 + 9_000_000
    assert (plan.host.kv, plan.host.recurrent) == (0, 0)
    assert plan.draft is None
    assert [plan.host.name, card.name] == ["host", "gpu0"]
    assert (plan.n_ctx, plan.n_ctx_seq, plan.program) == (1024, 1024, "llama-fit-params")


def test_cache_and_state_are_where_their_block_is() -> None:
    # -ngl 4 moves the output layer and blocks 8, 7, 6: of the two blocks that cache, 7 only
    plan = planned(hybrid(), "-ngl 4 -c 1024 -np 1")
    assert (plan.gpus[0].kv, plan.host.kv) == (1024 * CELL, 1024 * CELL)
    assert (plan.gpus[0].recurrent, plan.host.recurrent) == (1 * STATE, 5 * STATE)


def test_two_devices_share_layers_and_what_belongs_to_them() -> None:
    # ten layers: blocks 0 to 4 on the first device, 5 to 8 and the output layer on the second
    plan = planned(hybrid(), "-ngl 99 -c 1024 -np 1 -ts 1,1", 2)
    assert [device.kv for device in plan.gpus] == [1024 * CELL, 1024 * CELL]
    assert [device.recurrent for device in plan.gpus] == [4 * STATE, 2 * STATE]
    assert plan.gpus[0].weights == 5 * 10_500 + 3 * 4_000_000 + 2 * 5_000_000


def test_the_cache_stays_on_the_host_where_it_is_told_to() -> None:
    plan = planned(hybrid(), "-ngl 99 -c 1024 -np 1 -nkvo")
    assert (plan.gpus[0].kv, plan.gpus[0].recurrent) == (0, 0)
    assert (plan.host.kv, plan.host.recurrent) == (1024 * 2 * CELL, 6 * STATE)


def test_streams_and_sequences_multiply_cache_and_state() -> None:
    plan = planned(hybrid(), "-ngl 99 -c 10000 -np 3")
    assert (plan.n_ctx, plan.n_ctx_seq) == (10_752, 3_584)
    assert plan.gpus[0].kv == 10_752 * 2 * CELL
    assert plan.gpus[0].recurrent == 3 * 6 * STATE
    unified = planned(hybrid(), "-ngl 99 -c 10000 -np 3 -kvu")
    assert unified.gpus[0].kv == 10_240 * 2 * CELL
    assert unified.gpus[0].recurrent == 3 * 6 * STATE


def test_a_draft_head_brings_its_block_its_cache_and_copies_of_the_state() -> None:
    flags = "-ngl 99 -c 1024 -np 2 -ctk q8_0 -ctv q8_0"
    without, drafting = planned(hybrid(), flags), planned(hybrid(), f"{flags} --spec-type draft-mtp")
    assert drafting.gpus[0].weights - without.gpus[0].weights == 10_500 + 4_000_000 + 7_000
    assert drafting.gpus[0].recurrent == without.gpus[0].recurrent * (1 + 3)
    assert drafting.gpus[0].kv == without.gpus[0].kv
    assert drafting.draft is not None
    assert drafting.draft.kv == int(drafting.draft.gpus[0]) == 1024 * CELL  # one block, f16 unless -ctkd says otherwise
    shorter = planned(hybrid(), f"{flags} --spec-type draft-mtp --spec-draft-n-max 1 -ctkd q8_0 -ctvd q8_0")
    assert shorter.gpus[0].recurrent == without.gpus[0].recurrent * 2
    assert shorter.draft is not None and shorter.draft.kv == 1024 * 136


def test_the_draft_heads_cache_is_where_its_block_is() -> None:
    for flags, host, card in (("-ngl 1", 1, 0), ("-ngl 2", 0, 1), ("-ngl 2 -nkvo", 1, 0)):
        draft = planned(hybrid(), f"{flags} -c 1024 -np 1 --spec-type draft-mtp").draft
        assert draft is not None
        assert (int(draft.host), int(draft.gpus[0])) == (host * 1024 * CELL, card * 1024 * CELL)


def test_with_a_draft_model_beside_it_the_head_is_loaded_and_keeps_no_context() -> None:
    plan = planned(hybrid(), "-ngl 99 -c 1024 -np 1 --spec-type draft-mtp -md other.gguf")
    assert plan.draft is None
    assert plan.gpus[0].weights == planned(hybrid(), "-ngl 99 -c 1024 -np 1 --spec-type draft-mtp").gpus[0].weights
    assert planned(hybrid(), "-ngl 99 --spec-type ngram-mod").draft is None


def test_without_devices_all_of_it_is_the_hosts() -> None:
    plan = planned(hybrid(), "-ngl 99 -c 1024 -np 1", 0)
    assert plan.gpus == ()
    assert plan.host.weights == 110_000_300 + 8 * 10_500 + 36_000_000
    assert (plan.host.kv, plan.host.recurrent) == (1024 * 2 * CELL, 6 * STATE)


def test_a_device_that_is_not_used_holds_nothing() -> None:
    plan = planned(dense(), "-ngl 99 -c 1024 -sm none -mg 1", 2)
    assert (plan.gpus[0].weights, plan.gpus[0].kv) == (0, 0)
    assert (plan.gpus[1].weights, plan.gpus[1].kv) == (41_010, 1024 * 4 * 256)


def test_the_published_budget_of_the_apodex_recipe_comes_out() -> None:
    plan = planned(apodex(), "-ngl 99 -ncmoe 26 -c 65536 -np 1 -ctk q8_0 -ctv q8_0 -fa on", program="llama-server")
    embedding = plan.model.named("token_embd.weight")
    assert embedding is not None
    card = plan.gpus[0]
    assert card.kv == 713_031_680
    assert card.recurrent == 65_863_680
    assert card.weights + int(embedding.size) == 21_376_133_632 - 12_608_077_824  # resident less the experts of blocks 0 to 25
    assert plan.host.weights == 12_608_077_824 + int(embedding.size)
    total = card.weights + int(embedding.size) + card.kv + card.recurrent
    assert f"{total / 2**30:.3f}" == "8.891"


def test_an_architecture_without_rules_gets_no_plan() -> None:
    with pytest.raises(UnsupportedArchitecture):
        planned(build(named("unheard-of", {"block_count": 2}), []), "")


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        ("-ctv q8_0 -fa off", "quantised V without flash attention"),
        ("-np 300", "too many sequences"),
        ("-ot exps=CUDA7", "unknown buffer type"),
    ],
)
def test_refusals_come_before_figures(flags: str, rule: str) -> None:
    with pytest.raises(RefusedSettings) as raised:
        planned(dense(), flags)
    assert raised.value.rule == rule


# --- properties -------------------------------------------------------------------------------------

MODELS = {"hybrid": hybrid(), "dense": dense(), "tied": tied(), "apodex": apodex()}
settings = st.builds(
    Settings,
    program=st.sampled_from(["llama-server", "llama-cli"]),
    n_gpu_layers=st.one_of(st.sampled_from(["auto", "all"]), st.integers(0, 45)),
    n_ctx=st.one_of(st.just(0), st.integers(9, 300_000)),
    n_parallel=st.one_of(st.none(), st.integers(1, 9)),
    kv_unified=st.booleans(),
    kv_offload=st.booleans(),
    type_k=st.sampled_from(["f16", "q8_0", "q4_0", "f32"]),
    type_v=st.sampled_from(["f16", "q8_0", "iq4_nl"]),
    flash_attn=st.just("on"),
    spec_type=st.sampled_from([(), ("ngram-mod",)]),
)


@given(st.sampled_from(sorted(MODELS)), settings, st.integers(0, 12), st.integers(0, 3), st.booleans())
def test_every_term_follows_again_from_its_derivation(name: str, given_settings: Settings, depth: int, gpus: int, drafts: bool) -> None:
    model = MODELS[name]
    assume(not given_settings.n_ctx or given_settings.n_ctx >= (given_settings.n_parallel or 4))
    asked = given_settings.with_n_cpu_moe(depth)
    if drafts and int(model.draft_blocks):
        asked = replace(asked, spec_type=("draft-mtp",))
    plan = make_plan(model, asked, gpus=gpus)
    devices = (plan.host, *plan.gpus)
    terms = [term for device in devices for term in (device.terms.weights, device.terms.kv, device.terms.recurrent, device.terms.compute)]
    terms += [device.terms.total for device in devices]
    terms += [plan.draft.host, *plan.draft.gpus] if plan.draft else []
    for term in terms:
        assert term.unit == BYTE
        assert term.recomputed() == term.value == int(term) >= 0
    assert len(plan.gpus) == gpus
    # nothing depends on where it is: the cache and the state of all devices together are those of a run without any
    alone = make_plan(model, replace(asked, kv_offload=False), gpus=0).host
    assert sum(device.kv for device in devices) == alone.kv
    assert sum(device.recurrent for device in devices) == alone.recurrent


@given(st.sampled_from(sorted(MODELS)), settings, st.integers(1, 200_000), st.integers(0, 2))
def test_a_longer_context_never_lowers_a_cache_nor_changes_weights_or_state(name: str, given: Settings, more: int, gpus: int) -> None:
    shorter = replace(given, n_ctx=max(given.n_ctx, 1))
    assume(shorter.n_ctx >= (shorter.n_parallel or 4))  # each sequence has the logits of a token, of a batch no longer than the context
    plans = [make_plan(MODELS[name], each, gpus=gpus) for each in (shorter, replace(shorter, n_ctx=shorter.n_ctx + more))]
    for before, after in zip(*((plan.host, *plan.gpus) for plan in plans), strict=True):
        assert before.kv <= after.kv
        assert (before.weights, before.recurrent) == (after.weights, after.recurrent)


@given(st.sampled_from(sorted(MODELS)), settings, st.integers(0, 2))
def test_a_total_is_the_sum_of_its_terms_and_a_buffer_that_of_its_parts(name: str, given: Settings, gpus: int) -> None:
    assume(not given.n_ctx or given.n_ctx >= (given.n_parallel or 4))
    plan = make_plan(MODELS[name], given, gpus=gpus)
    for device in (plan.host, *plan.gpus):
        assert device.total == device.weights + device.kv + device.recurrent + device.compute
        buffer = device.terms.buffer
        assert not buffer.parts or device.compute == sum(int(size) for _, size in buffer.parts)


junk = st.one_of(
    st.integers(-2, 2**70), st.text(max_size=3), st.booleans(), st.none(), st.floats(), st.lists(st.integers(-1, 9), max_size=10)
)
KEYS = sorted(key for key in hybrid().metadata if key.startswith("qwen35moe."))


@given(st.sampled_from(KEYS), junk, st.booleans())
def test_a_header_that_states_nonsense_is_told_to_and_breaks_nothing(key: str, value: object, drop: bool) -> None:
    name = key.removeprefix("qwen35moe.")
    with suppress(GenError):
        plan = make_plan(hybrid(**{name: None if drop else value}), parse_flags("-c 512 --spec-type draft-mtp"), gpus=1)
        assert isinstance(plan.gpus[0].terms.total, Quantity)
