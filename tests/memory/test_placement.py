from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import InputError, RefusedSettings
from generator.facts import Fact
from generator.memory.flags import FlagValueError
from generator.memory.model import Model
from generator.memory.overrides import Override
from generator.memory.placement import HOST, Placement, place
from generator.memory.settings import Settings, parse_flags
from tests.memory.models import build, dense, hybrid, named, tied

ALL = 8 * 10_500 + 8 * 2_000_000 + 4 * 2_000_000 + 4 * 3_000_000  # blocks 0 to 7 of the hybrid: attention, routers, experts


def placed(model: Model, flags: str, gpus: int = 1, *, draft_head: bool = False) -> Placement:
    return place(model, parse_flags(flags, "llama-fit-params"), gpus, draft_head=draft_head)


def weights(placement: Placement, device: int) -> int:
    return int(placement.weights(device, "here"))


# --- layers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ngl", "card"),
    [
        ("0", 0),
        ("1", 25_010),  # the output layer goes first: norm and head
        ("2", 25_010 + 4_000),
        ("4", 25_010 + 3 * 4_000),
        ("5", 25_010 + 4 * 4_000),
        ("99", 25_010 + 4 * 4_000),
        ("all", 25_010 + 4 * 4_000),
        ("auto", 25_010 + 4 * 4_000),
    ],
)
def test_layers_move_from_the_last_one_down_and_the_embedding_stays(ngl: str, card: int) -> None:
    placement = placed(dense(), f"-ngl {ngl}")
    assert weights(placement, 0) == card
    assert weights(placement, HOST) == 20_000 + 25_010 + 4 * 4_000 - card


def test_blocks_of_the_draft_head_count_as_layers_though_they_are_not_loaded() -> None:
    # nine blocks and the output layer: -ngl 2 moves the output layer and block 8, of which nothing is loaded
    assert weights(placed(hybrid(), "-ngl 2"), 0) == 60_000_300
    assert placed(hybrid(), "-ngl 2").layer_devices == (HOST,) * 8 + (0,)
    assert weights(placed(hybrid(), "-ngl 2", draft_head=True), 0) == 60_000_300 + 10_500 + 4_000_000 + 7_000
    assert weights(placed(hybrid(), "-ngl 3"), 0) == 60_000_300 + 10_500 + 5_000_000


def test_without_a_device_everything_is_in_host_memory() -> None:
    for flags, gpus in (("-ngl 99", 0), ("-ngl 99 -dev none", 1), ("-ngl 99 -sm none -mg -1", 2)):
        placement = placed(dense(), flags, gpus)
        assert weights(placement, HOST) == 20_000 + 25_010 + 16_000
        assert weights(placement, 0) == 0
        assert placement.output_device == HOST


def test_a_tied_embedding_is_loaded_once_more_where_the_head_is_on_a_device() -> None:
    assert weights(placed(tied(), "-ngl 1"), 0) == 20_000 + 10
    assert weights(placed(tied(), "-ngl 1"), HOST) == 20_000 + 4 * 4_000
    assert weights(placed(tied(), "-ngl 0"), HOST) == 20_000 + 10 + 4 * 4_000
    assert weights(placed(tied(), "-ngl 0"), 0) == 0


@pytest.mark.parametrize(("buffer_type", "host", "card"), [("CPU", 20_000, 16_010), ("CUDA0", 0, 36_010)])
def test_an_override_sends_both_uses_of_a_tied_embedding_to_one_buffer(buffer_type: str, host: int, card: int) -> None:
    placement = placed(tied(), f"-ngl 99 -ot token_embd={buffer_type}")
    assert (weights(placement, HOST), weights(placement, 0)) == (host, card)


# --- several devices ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "gpus", "devices"),
    [
        # four blocks and the output layer, at positions 0, 1/5, 2/5, 3/5, 4/5
        ("-ngl 99", 2, (0, 0, 0, 1, 1)),
        ("-ngl 99 -ts 3,1", 2, (0, 0, 0, 0, 1)),
        ("-ngl 99 -ts 1,3", 2, (0, 0, 1, 1, 1)),
        ("-ngl 99 -ts 1,0", 2, (0, 0, 0, 0, 0)),
        ("-ngl 99 -ts 0,1", 2, (1, 1, 1, 1, 1)),
        ("-ngl 99 -ts 0,0", 2, (0, 0, 0, 1, 1)),
        ("-ngl 99 -ts 2,3", 2, (0, 0, 1, 1, 1)),  # a layer that begins where a share ends is the next device's
        ("-ngl 99 -ts 1,1,8", 2, (0, 0, 0, 1, 1)),  # of three shares, two devices take two
        ("-ngl 99 -ts 1,1", 3, (0, 0, 0, 1, 1)),
        ("-ngl 99", 3, (0, 0, 1, 1, 2)),
        ("-ngl 3 -ts 1,1", 2, (HOST, HOST, 0, 0, 1)),
        ("-ngl 99 -dev CUDA1", 2, (1, 1, 1, 1, 1)),
        ("-ngl 99 -dev CUDA1,CUDA0 -ts 3,1", 2, (1, 1, 1, 1, 0)),
        ("-ngl 99 -dev Vulkan0", 1, (0, 0, 0, 0, 0)),
        ("-ngl 99 -sm none", 2, (0, 0, 0, 0, 0)),
        ("-ngl 99 -sm none -mg 1", 2, (1, 1, 1, 1, 1)),
        ("-ngl 99 -sm none -mg 1 -dev CUDA2,CUDA0", 3, (0, 0, 0, 0, 0)),
        ("-ngl 99 -sm row", 1, (0, 0, 0, 0, 0)),
    ],
)
def test_layers_are_shared_out_between_the_devices_in_use(flags: str, gpus: int, devices: tuple[int, ...]) -> None:
    placement = placed(dense(), flags, gpus)
    assert (*placement.layer_devices, placement.output_device) == devices


def test_a_layer_is_held_against_the_split_points_in_single_precision() -> None:
    # 20 / 21 and 2 / 2.1 are one number in double precision and two in single: the engine keeps layer 20 on device 0
    model = dense(block_count=20)
    assert placed(model, "-ngl 99 -ts 2,0.1", 2).output_device == 0


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        ("-ot output=CUDA_Host", "unknown buffer type"),
        ("-ot output=CUDA7", "unknown buffer type"),
        ("-ot output=cpu", "unknown buffer type"),
        ("-ot nothing=CUDA1", "unknown buffer type"),  # the engine reads the list before it looks at a tensor
        ("-ncmoe 4 -ot nothing=ROCm1", "unknown buffer type"),
        ("-dev CUDA1", "no such device"),
        ("-dev CPU", "no such device"),
        ("-dev nonsense", "no such device"),
        ("-sm none -mg 1", "no such main GPU"),
    ],
)
def test_what_is_not_in_this_machine_is_refused(flags: str, rule: str) -> None:
    with pytest.raises(RefusedSettings) as raised:
        placed(hybrid(), f"-ngl 99 {flags}")
    assert raised.value.rule == rule
    assert raised.value.remedy


def test_a_tensor_may_not_go_to_a_device_that_is_left_out() -> None:
    with pytest.raises(RefusedSettings, match=r"'output\.weight' is sent to device 1, which this run does not use"):
        placed(dense(), "-ngl 99 -sm none -ot output.weight=CUDA1", 2)
    assert weights(placed(dense(), "-ngl 99 -sm none -ot nothing=CUDA1", 2), 0) == 41_010


@pytest.mark.parametrize("mode", ["row", "tensor"])
def test_a_split_within_tensors_is_not_guessed(mode: str) -> None:
    with pytest.raises(InputError, match=f"-sm {mode} divides tensors"):
        placed(dense(), f"-ngl 99 -sm {mode}", 2)


@pytest.mark.parametrize("name", ["CUDA0", "ROCm0", "Vulkan0", "SYCL0", "MTL0", "Metal", "RPC0[10.0.0.7:50052]"])
def test_a_devices_buffer_is_known_by_its_backends_name(name: str) -> None:
    assert weights(placed(dense(), f"-ngl 0 -ot output.weight={name}"), 0) == 25_000


# --- overrides --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "host_experts"),
    [
        ("", 0),
        ("-ncmoe 0", 0),
        ("-ncmoe 1", 4_000_000),
        ("-ncmoe 2", 9_000_000),
        ("-ncmoe 8", 36_000_000),
        ("-ncmoe 99", 36_000_000),
        ("-cmoe", 36_000_000),
        ("-ncmoe 2 -ncmoe 4", 18_000_000),
        ("-ncmoe 4 -ncmoe 2", 18_000_000),  # both are on the list, and the first that matches sends a tensor to the host
        ("-ot exps=CPU", 36_000_000),
        (r"-ot 'blk\.[0-3]\.ffn_down_exps=CPU'", 10_000_000),
        ("-ncmoe 2 -ot exps=CUDA0", 9_000_000),
        ("-ot exps=CUDA0 -ncmoe 2", 0),
        ("-ot exps=CUDA0,exps=CPU", 0),
        ("-ot exps=CPU,exps=CUDA0", 36_000_000),
    ],
)
def test_experts_go_where_the_first_match_sends_them_and_nothing_else_does(flags: str, host_experts: int) -> None:
    placement = placed(hybrid(), f"-ngl 99 {flags}")
    assert weights(placement, HOST) == 50_000_000 + host_experts
    assert weights(placement, 0) == 60_000_300 + ALL - host_experts


def test_experts_of_the_draft_head_follow_its_block_number() -> None:
    assert weights(placed(hybrid(), "-ngl 99 -ncmoe 8", draft_head=True), HOST) == 50_000_000 + 36_000_000
    assert weights(placed(hybrid(), "-ngl 99 -ncmoe 9", draft_head=True), HOST) == 50_000_000 + 36_000_000 + 4_000_000


def test_dense_layers_have_a_flag_of_their_own() -> None:
    assert weights(placed(dense(), "-ngl 99 -ncffn 3"), HOST) == 20_000 + 3 * 3_000
    assert weights(placed(dense(), "-ngl 99 -ncmoe 3"), HOST) == 20_000
    assert weights(placed(hybrid(), "-ngl 99 -ncffn 3"), HOST) == 50_000_000


def test_an_override_moves_what_would_stay_too() -> None:
    assert weights(placed(hybrid(), "-ngl 99 -ot token_embd=CUDA0"), HOST) == 0
    assert weights(placed(hybrid(), "-ngl 0 -ot token_embd=CUDA0"), 0) == 50_000_000
    assert weights(placed(dense(), "-ngl 99 -ot .=CPU"), 0) == 0


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "*",
        "[z-a]",
        "(?i)EXPS",
        "(?P<name>exps)",
        "(?<!x)blk",
        "(?>blk)",
        "blk{",
        "{",
        "(?#note)exps",
        "x{1",
    ],
)
def test_a_pattern_that_the_engines_std_regex_refuses_is_refused(pattern: str) -> None:
    # each was given to libstdc++'s std::regex, which threw regex_error for it; Python's re takes most
    with pytest.raises(RefusedSettings, match=r"-ot does not take") as raised:
        parse_flags(["-ot", f"{pattern}=CPU"])
    assert pattern in raised.value.remedy
    assert "regular expression" in raised.value.remedy


@pytest.mark.parametrize("pattern", [r"\Ablk", r"weight\Z", "[]b]", "[^]b]", "[[:digit:]]", r"\N", r"\U00000062"])
def test_a_pattern_that_means_another_thing_to_the_engine_is_not_guessed_at(pattern: str) -> None:
    with pytest.raises(FlagValueError, match=re.escape(pattern)):
        parse_flags(["-ot", f"{pattern}=CPU"])


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        (r"blk\.(0|1|2)\.", True),
        (r"^blk", True),
        ("weight$", True),
        ("(?:blk)", True),
        ("(?!blk).*exps", True),
        ("[.]ffn", True),
        (r"\bffn_up_exps\b", True),
        (r"blk\.\d{1}\.", True),
        (r"blk\.[0-9]{2}\.", False),
        (r"(f)\1n", True),
        (r"\x62lk", True),
        ("BLK", False),
        (r"[\w.]+up", True),
        ("", True),
    ],
)
def test_a_pattern_of_both_dialects_is_searched_for_anywhere_in_the_name(pattern: str, matches: bool) -> None:
    # as libstdc++'s std::regex_search answered
    overrides = parse_flags(["-ot", f"{pattern}=CPU"]).overrides
    assert overrides[0].matches("blk.0.ffn_up_exps.weight") is matches


# --- properties -------------------------------------------------------------------------------------

MODELS = {"hybrid": hybrid(), "dense": dense(), "tied": tied()}
patterns = st.sampled_from(["exps", "token_embd", "output", r"blk\.[0-4]\.", "ffn_down", ".", "nothing"])
overrides = st.lists(st.builds(Override, patterns, st.sampled_from(["CPU", "CUDA0", "CUDA1"])), max_size=3).map(tuple)
layers = st.one_of(st.sampled_from(["auto", "all"]), st.integers(0, 12))
shares = st.lists(st.fractions(0, 9, max_denominator=10), max_size=2).map(tuple)


@given(st.sampled_from(sorted(MODELS)), layers, overrides, shares, st.booleans())
def test_every_loaded_tensor_is_somewhere_once(
    name: str, n_gpu_layers: int | str, overrides: tuple[Override, ...], tensor_split: Sequence[object], draft_head: bool
) -> None:
    model = MODELS[name]
    settings = Settings(n_gpu_layers=n_gpu_layers, overrides=overrides, tensor_split=tensor_split)  # type: ignore[arg-type]
    placement = place(model, settings, 2, draft_head=draft_head)
    loaded = sum(int(tensor.size) for tensor in model.loaded(draft_head=draft_head))
    again = placement.output_device != HOST and not any(override.matches("token_embd.weight") for override in overrides)
    copies = 20_000 if name == "tied" and again else 0
    assert sum(weights(placement, device) for device in (HOST, 0, 1)) == loaded + copies
    for device in (HOST, 0, 1):
        given_weights = placement.weights(device, "here")
        assert given_weights.recomputed() == given_weights.value


@given(layers, st.integers(0, 12), st.integers(0, 12))
def test_deeper_offload_never_puts_more_on_the_card(n_gpu_layers: int | str, depth: int, more: int) -> None:
    def card(blocks: int) -> int:
        settings = Settings(n_gpu_layers=n_gpu_layers).with_n_cpu_moe(blocks)  # type: ignore[arg-type]
        return weights(place(hybrid(), settings, 1, draft_head=False), 0)

    assert card(depth + more) <= card(depth)


# --- what goes elsewhere by its name ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("architecture", "flags", "host", "card"),
    [
        ("gemma3", "-ngl 0", 1_000, 0),
        ("gemma3", "-ngl 99", 1_000, 1_000),
        ("gemma4", "-ngl 0", 2_000, 0),  # its head is made before the input layer, so the second load finds no copy to use
        ("gemma4", "-ngl 99", 1_000, 1_000),
        ("gemma4", "-ngl 99 -ot token_embd=CPU", 2_000, 0),
        ("gemma3", "-ngl 99 -ot token_embd=CPU", 1_000, 0),
    ],
)
def test_a_tied_embedding_is_loaded_twice_in_one_buffer_only_where_the_head_is_made_first(
    architecture: str, flags: str, host: int, card: int
) -> None:
    placement = placed(build(named(architecture, {"block_count": 1}), [("token_embd.weight", 1_000)]), flags)
    assert (weights(placement, HOST), weights(placement, 0)) == (host, card)


@pytest.mark.parametrize(("architecture", "ngl", "card"), [("rwkv7", 2, 0), ("rwkv7", 3, 10), ("lfm2", 1, 10), ("lfm2", 0, 0)])
def test_a_norm_of_the_embedding_goes_with_the_first_block_but_for_lfm2_where_it_is_the_outputs(
    architecture: str, ngl: int, card: int
) -> None:
    model = build(named(architecture, {"block_count": 2}), [("token_embd_norm.weight", 10)])
    assert weights(placed(model, f"-ngl {ngl}"), 0) == card


def test_a_weight_whose_operation_the_backend_lacks_stays_on_the_host() -> None:
    model = Model.build(
        SCANNING, SCANNED, Fact("header.metadata", SCANNING, origin="header"), Fact("header.tensors", SCANNED, origin="header")
    )
    by_backend = [place(model, parse_flags("-ngl 99"), 1, draft_head=False, backend=backend) for backend in ("cuda", "vulkan")]
    assert [weights(placement, 0) for placement in by_backend] == [524_288 + 100, 100]


SCANNING = named("jamba", {"block_count": 1, "ssm.inner_size": 8192, "ssm.state_size": 16})
SCANNED = [["blk.0.ssm_a", "F32", [16, 8192], 524_288], ["blk.0.ssm_d", "F32", [8192], 100]]
