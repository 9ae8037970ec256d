from __future__ import annotations

import json
import re
import shlex
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import InputError, RefusedSettings
from generator.memory.flags import UnknownFlagError
from generator.memory.overrides import Override, buffer_type_of
from generator.memory.settings import FIT_FULL_CONTEXT, Settings, parse_flags, to_arguments

SHARED = Path(__file__).resolve().parents[3] / "shared"

RECIPE = {
    "n_gpu_layers": 99,
    "n_cpu_moe": 26,
    "n_ctx": 65536,
    "n_parallel": 1,
    "type_k": "q8_0",
    "type_v": "q8_0",
    "flash_attn": "on",
    "load_mode": "none",
    "cache_ram": 2048,
    "no_mmproj": True,
    "temp": 0.6,
    "top_k": 20,
    "host": "0.0.0.0",
    "jinja": True,
}


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("-ngl 26", "n_gpu_layers", 26),
        ("--gpu-layers 26", "n_gpu_layers", 26),
        ("--n_gpu_layers 26", "n_gpu_layers", 26),
        ("-ngl auto", "n_gpu_layers", "auto"),
        ("-ngl -1", "n_gpu_layers", "auto"),
        ("-ngl all", "n_gpu_layers", "all"),
        ("-ngl -5", "n_gpu_layers", "all"),
        ("-c 4096", "n_ctx", 4096),
        ("-c +4096", "n_ctx", 4096),
        ("-c ' 4096'", "n_ctx", 4096),
        ("--ubatch-size 128 -ub 64", "n_ubatch", 64),
        ("-np 3", "n_parallel", 3),
        ("-np -1", "n_parallel", None),
        ("-kvu", "kv_unified", True),
        ("-no-kvu", "kv_unified", False),
        ("-kvu --no-kv-unified", "kv_unified", False),
        ("-fa 1", "flash_attn", "on"),
        ("-fa disabled", "flash_attn", "off"),
        ("-fa -1", "flash_attn", "auto"),
        ("-nkvo", "kv_offload", False),
        ("-nkvo -kvo", "kv_offload", True),
        ("--no-op-offload", "op_offload", False),
        ("-nr", "repack", False),
        ("--no-mmproj-auto", "no_mmproj", True),
        ("--no-mmproj --mmproj-auto", "no_mmproj", False),
        ("--no-mmproj-offload", "mmproj_offload", False),
        ("-mmdev none", "mmproj_offload", False),
        ("-dev none", "mmproj_offload", False),
        ("-dev CUDA1,CUDA0", "mmproj_device", "CUDA1"),
        ("-dev CUDA1,CUDA0 -mmdev CUDA0", "mmproj_device", "CUDA0"),
        ("-dev CUDA1,CUDA0", "devices", ("CUDA1", "CUDA0")),
        ("-ts 3,1", "tensor_split", (Fraction(3), Fraction(1))),
        ("-ts 0.55/0.45", "tensor_split", (Fraction(11, 20), Fraction(9, 20))),
        ("-ts 1,,2,", "tensor_split", (Fraction(1), Fraction(2))),
        ("-sm row", "split_mode", "row"),
        ("-lm mmap+mlock", "load_mode", "mmap+mlock"),
        ("-cram -1", "cache_ram", -1),
        ("--swa-checkpoints 4", "ctx_checkpoints", 4),
        ("--fit 0", "fit", False),
        ("-fitt 512,1024", "fit_target", (512, 1024)),
        ("-fitc 8192", "fit_ctx", 8192),
        ("--spec-type draft-mtp --spec-type ngram-mod", "spec_type", ("draft-mtp", "ngram-mod")),
        ("--spec-type draft-mtp,none,nonsense", "spec_type", ()),
        ("--spec-default", "spec_type", ("ngram-mod",)),
        ("--rerank", "pooling", "rank"),
        ("--rerank", "embedding", True),
        ("--lora a.gguf --lora-scaled b.gguf:0.5", "lora", ("a.gguf", "b.gguf:0.5")),
        ("--override-kv a=int:1,b=bool:true --override-kv c=str:", "override_kv", ("a=int:1", "b=bool:true", "c=str:")),
        ("--override-kv '\"a=str:x,y\"'", "override_kv", ("a=str:x,y",)),
        ("-ncmoed 4", "overrides_draft", (Override(r"\.ffn_(up|down|gate|gate_up)_(ch|)exps", blocks=4),)),
        ("-hf u/m:Q4_K_M", "hf_repo", "u/m:Q4_K_M"),
        ("--no-mmap", "load_mode", "none"),
        ("--mlock", "load_mode", "mlock"),
        ("--no-mmap --mlock", "load_mode", "mlock"),
        ("--mlock --no-mmap", "load_mode", "none"),
        ("-dio", "load_mode", "dio"),
    ],
)
def test_a_flag_sets_what_the_engine_sets(text: str, field: str, value: object) -> None:
    assert getattr(parse_flags(text), field) == value


def test_flags_that_size_nothing_stay_as_they_were_in_order() -> None:
    settings = parse_flags("--temp 0.6 -c 4096 --jinja --control-vector-layer-range 3 9 --host ::1")
    assert settings.others == (("--temp", "0.6"), ("--jinja",), ("--control-vector-layer-range", "3", "9"), ("--host", "::1"))
    assert settings == replace(Settings(), n_ctx=4096, others=settings.others)


def test_a_context_asked_for_in_full_is_not_to_be_shortened_by_fitting() -> None:
    assert parse_flags("-c 0").fit_ctx == FIT_FULL_CONTEXT == 2**32 - 1
    assert parse_flags("-c 0 -fitc 512").fit_ctx == 512
    assert parse_flags("").fit_ctx == 4096


def test_programs_other_than_the_server_count_sequences_without_auto() -> None:
    assert parse_flags("-np 0", "llama-fit-params").n_parallel == 1
    assert parse_flags("", "llama-fit-params").n_parallel is None
    with pytest.raises(RefusedSettings) as raised:
        parse_flags("-np -1", "llama-fit-params")
    assert raised.value.rule == "invalid_n_parallel"


def test_a_preset_stands_for_the_settings_the_engine_gives_it() -> None:
    # common/arg.cpp: n_ctx = 131072 * n_parallel, n_parallel 2, n_batch 32768, n_ubatch 2048
    settings = parse_flags("--gpt-oss-20b-default -ub 512")
    assert (settings.n_ctx, settings.n_parallel, settings.n_batch, settings.n_ubatch) == (262144, 2, 32768, 512)
    assert (settings.hf_repo, settings.hf_file) == ("ggml-org/gpt-oss-20b-GGUF", "gpt-oss-20b-mxfp4.gguf")


@pytest.mark.parametrize(
    ("text", "own"),
    [("--spec-type draft-mtp", True), ("--spec-type ngram-mod,draft-mtp", True), ("--spec-type draft-mtp -md d.gguf", False), ("", False)],
)
def test_a_draft_head_is_the_models_own_where_no_other_file_is_given(text: str, own: bool) -> None:
    assert parse_flags(text).drafts_with_own_head is own


def test_settings_are_frozen_and_hashable() -> None:
    settings = parse_flags("-ot a=CPU -ts 3,1 --lora x")
    assert hash(settings) == hash(parse_flags("-ot a=CPU -ts 3,1 --lora x"))
    with pytest.raises(FrozenInstanceError):
        settings.n_ctx = 1  # type: ignore[misc]


def test_overrides_keep_the_order_of_the_command_line_and_the_first_match_wins() -> None:
    host_first = parse_flags(r"-ncmoe 2 -ot 'blk\.[0-3]\.ffn_up_exps=CUDA1,output=CPU'")
    card_first = parse_flags(r"-ot 'blk\.[0-3]\.ffn_up_exps=CUDA1,output=CPU' -ncmoe 2")
    assert buffer_type_of("blk.1.ffn_up_exps.weight", host_first.overrides) == "CPU"
    assert buffer_type_of("blk.1.ffn_up_exps.weight", card_first.overrides) == "CUDA1"
    assert buffer_type_of("blk.2.ffn_up_exps.weight", host_first.overrides) == "CUDA1"
    assert buffer_type_of("blk.4.ffn_up_exps.weight", host_first.overrides) is None
    assert buffer_type_of("output.weight", host_first.overrides) == "CPU"


def test_repeated_overrides_add_up() -> None:
    settings = parse_flags("-ncmoe 3 -ncmoe 5 -cmoe -ncffn 2")
    assert (settings.n_cpu_moe, settings.cpu_moe, settings.n_cpu_ffn) == (5, True, 2)
    assert len(settings.overrides) == 4
    assert parse_flags("-ncmoe 0").overrides == ()


names = st.builds(
    "blk.{}.{}{}".format,
    st.integers(0, 40),
    st.sampled_from(["ffn_up", "ffn_down", "ffn_gate", "ffn_gate_up", "ffn_gate_inp", "attn_q", "ffn_up_shexp"]),
    st.sampled_from([".weight", ".bias", "_exps.weight", "_chexps.weight", "_exps.bias", "_exps.scale"]),
)


@given(names, st.integers(0, 40))
def test_counted_overrides_match_what_the_engines_list_of_patterns_matches(name: str, blocks: int) -> None:
    # common/common.h, llm_add_n_cpu_ffn_overrides: one pattern a block, searched for anywhere in the name
    experts = [rf"blk\.{block}\.ffn_(up|down|gate|gate_up)_(ch|)exps" for block in range(blocks)]
    dense = [rf"blk\.{block}\.ffn_(up|down|gate)\." for block in range(blocks)]
    on_host = buffer_type_of(name, parse_flags(f"-ncmoe {blocks}").overrides)
    assert (on_host == "CPU") == any(re.search(pattern, name) for pattern in experts)
    on_host = buffer_type_of(name, parse_flags(f"-ncffn {blocks}").overrides)
    assert (on_host == "CPU") == any(re.search(pattern, name) for pattern in dense)


def test_another_number_of_expert_blocks_takes_the_first_ones_place() -> None:
    settings = parse_flags("-ot a=CPU -ncmoe 4 -ot b=CPU -ncmoe 6")
    assert settings.with_n_cpu_moe(9) == parse_flags("-ot a=CPU -ncmoe 9 -ot b=CPU")
    assert settings.with_n_cpu_moe(0) == parse_flags("-ot a=CPU -ot b=CPU")
    assert parse_flags("-ot a=CPU").with_n_cpu_moe(3) == parse_flags("-ot a=CPU -ncmoe 3")
    assert settings.with_n_cpu_moe(9).n_cpu_moe == 9


def test_a_recipe_becomes_the_flags_people_copy_in_its_order() -> None:
    assert shlex.join(word for flag in to_arguments(RECIPE) for word in flag) == (
        "-ngl 99 -ncmoe 26 -c 65536 -np 1 -ctk q8_0 -ctv q8_0 -fa on --load-mode none -cram 2048 --no-mmproj "
        "--temp 0.6 --top-k 20 --host 0.0.0.0 --jinja"
    )


def test_a_recipe_is_read_as_its_flags() -> None:
    settings = Settings.from_recipe(RECIPE)
    assert settings == parse_flags([word for flag in to_arguments(RECIPE) for word in flag])
    assert (settings.n_gpu_layers, settings.n_cpu_moe, settings.n_ctx, settings.n_parallel) == (99, 26, 65536, 1)
    assert (settings.type_k, settings.type_v, settings.flash_attn) == ("q8_0", "q8_0", "on")
    assert (settings.load_mode, settings.cache_ram, settings.no_mmproj) == ("none", 2048, True)
    assert settings.others == (("--temp", "0.6"), ("--top-k", "20"), ("--host", "0.0.0.0"), ("--jinja",))


@pytest.mark.parametrize(
    ("settings", "flags"),
    [
        ({"flash_attn": True}, [("-fa", "on")]),
        ({"fit": False}, [("--fit", "off")]),
        ({"no_mmproj": False}, [("--mmproj-auto",)]),
        ({"kv_unified": True}, [("-kvu",)]),
        ({"kv_unified": False}, [("--no-kv-unified",)]),
        ({"kv_offload": False}, [("--no-kv-offload",)]),
        ({"swa_full": False, "n_ctx": 1}, [("-c", "1")]),
        ({"n_parallel": None}, []),
        ({"tensor_split": [3, 1.5]}, [("-ts", "3,1.5")]),
        ({"override_tensor": [r"blk\.1=CPU", "b=CUDA0"]}, [("-ot", r"blk\.1=CPU,b=CUDA0")]),
        ({"control_vector_layer_range": [3, 9]}, [("--control-vector-layer-range", "3", "9")]),
        ({"top_p": 0.95, "repeat_penalty": 1.1, "port": 8080}, [("--top-p", "0.95"), ("--repeat-penalty", "1.1"), ("--port", "8080")]),
    ],
)
def test_a_setting_is_written_as_its_flag(settings: dict[str, object], flags: list[tuple[str, ...]]) -> None:
    assert to_arguments(settings) == flags


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"n_cpu_mo": 3}, "did you mean 'n_cpu_moe'"),
        ({"ctx_size": 3}, "no setting is called 'ctx_size'"),
        ({"others": []}, "no setting is called 'others'"),
        ({"n_ctx": "64k"}, "settings.n_ctx: llama.cpp reads '64k' as 64"),
        ({"n_ctx": 4096, "type_k": "q4_k"}, "settings.type_k: -ctk does not take 'q4_k'"),
        ({"n_ctx": True}, "settings.n_ctx"),
        ({"n_ctx": {}}, "settings.n_ctx"),
        ({"swa_full": "yes"}, "settings.swa_full: --swa-full is a switch"),
        ({"override_tensor": ["a{1,2}=CPU", "b=CPU"]}, "settings.override_tensor"),
        ({"control_vector_layer_range": [3]}, "settings.control_vector_layer_range"),
    ],
)
def test_a_recipes_fault_is_told_with_the_settings_name(settings: dict[str, object], told: str) -> None:
    with pytest.raises(InputError) as raised:
        Settings.from_recipe(settings)
    assert told in str(raised.value)


cache_types = st.sampled_from(["f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"])
hostile = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES: dict[str, st.SearchStrategy[object]] = {
    "model": hostile,
    "mmproj": hostile,
    "hf_repo": hostile,
    "model_draft": hostile,
    "n_gpu_layers": st.integers(0, 999) | st.sampled_from(["auto", "all"]),
    "n_ctx": st.integers(0, 2**31 - 1),
    "n_batch": st.integers(0, 2**31 - 1),
    "n_ubatch": st.integers(0, 2**31 - 1),
    "n_parallel": st.integers(1, 300),
    "kv_unified": st.booleans(),
    "kv_offload": st.booleans(),
    "op_offload": st.booleans(),
    "swa_full": st.booleans(),
    "no_mmproj": st.booleans(),
    "type_k": cache_types,
    "type_v": cache_types,
    "flash_attn": st.sampled_from(["on", "off", "auto"]),
    "load_mode": st.sampled_from(["auto", "none", "mmap", "mlock", "mmap+mlock", "dio"]),
    "split_mode": st.sampled_from(["none", "layer", "row", "tensor"]),
    "cache_ram": st.integers(-1, 2**31 - 1),
    "spec_draft_n_max": st.integers(0, 64),
    "fit": st.booleans(),
    "n_cpu_moe": st.integers(0, 200),
    "n_cpu_ffn": st.integers(0, 200),
}
others = st.dictionaries(st.sampled_from(["alias", "host", "chat_template", "grammar", "api_key"]), hostile)


@given(st.fixed_dictionaries({}, optional=VALUES), others)
def test_a_recipes_values_survive_being_written_as_a_command_line(sized: dict[str, object], rest: dict[str, object]) -> None:
    line = shlex.join(word for flag in to_arguments({**sized, **rest}) for word in flag)
    settings = parse_flags(["llama-server", *shlex.split(line)])
    for name, value in sized.items():
        assert getattr(settings, name) == value
    assert settings.others == tuple((f"--{name.replace('_', '-')}", value) for name, value in rest.items())
    untouched = {field.name for field in fields(Settings)} - {*sized, "overrides", "others", "fit_ctx"}
    assert all(getattr(settings, name) == getattr(Settings(), name) for name in untouched)


def test_every_flag_of_the_recorded_runs_is_read() -> None:
    truth = SHARED / "engine-truth" / "truth.jsonl"
    if not truth.exists():
        pytest.skip("the recorded runs are not here")
    seen = {(line["flags"], line["program"]) for line in map(json.loads, truth.read_text("utf-8").splitlines())}
    assert len(seen) > 100
    for flags, program in seen:
        settings = parse_flags(flags, program)
        assert settings.others == ()
        assert settings.program == program
        for short, field in (("-c", "n_ctx"), ("-ub", "n_ubatch"), ("-ctk", "type_k"), ("-ncmoe", "n_cpu_moe"), ("-fa", "flash_attn")):
            if given_value := re.search(rf"(?:^| ){short} (\S+)", flags):
                assert str(getattr(settings, field)) == given_value[1]


LATER_BUILDS_REFUSE = {
    "006": "-no-cnv",  # llama-cli before it was split from llama-completion
    "010": "-fa",  # a plain switch until August 2025
    "046": "-no-cnv",
    "081": "-no-cnv",
}
FORKS_FLAGS = {"065": "-fa", "069": "--flash-attn", "070": "-ger", "071": "-amb", "073": "-mla", "077": "-mla"}
TOLD_IN_WORDS = {"013", "014", "015", "020", "024", "039", "041", "044", "047", "052", "086"}


def test_every_command_of_the_public_logs_is_read_or_refused_for_a_known_flag() -> None:
    logs = SHARED / "engine-logs"
    if not logs.exists():
        pytest.skip("the public logs are not here")
    failed, read_ok = {}, 0
    for path in sorted(logs.glob("[0-9]*.yml")):
        command, number = yaml.safe_load(path.read_text("utf-8")).get("command"), path.name[:3]
        program = re.match(r"(?:\w+=\S+ )*(?:(llama-(?:server|cli|completion|perplexity))\b|(?=-))", command or "not shown")
        if program is None or number in TOLD_IN_WORDS:
            continue
        try:
            parse_flags(command)
            read_ok += 1
        except UnknownFlagError as error:
            failed[number] = error.flag
        except RefusedSettings as error:
            failed[number] = error.problem.split()[0]
    assert failed == LATER_BUILDS_REFUSE | FORKS_FLAGS
    assert read_ok >= 15
