from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import GenError, InputError, RefusedSettings, UnknownNameError
from generator.memory.flags import FlagValueError, UnknownFlagError, all_flags, flags_of
from generator.memory.overrides import Override
from generator.memory.settings import Settings, parse_flags


@pytest.mark.parametrize(
    ("name", "values", "negated"),
    [
        ("-c", 1, ()),
        ("--swa-full", 0, ()),
        ("-fa", 1, ()),
        ("-ncmoe", 1, ()),
        ("-cmoe", 0, ()),
        ("-ot", 1, ()),
        ("-kvo", 0, ("-nkvo", "--no-kv-offload")),
        ("--repack", 0, ("-nr", "--no-repack")),
        ("--no-host", 0, ()),
        ("-cb", 0, ("-nocb", "--no-cont-batching")),
        ("-kvu", 0, ("-no-kvu", "--no-kv-unified")),
        ("--mmproj-auto", 0, ("--no-mmproj", "--no-mmproj-auto")),
        ("--ui", 0, ("--no-ui", "--no-webui")),
        ("--control-vector-layer-range", 2, ()),
        ("-dt", 1, ()),
        ("--spec-default", 0, ()),
    ],
)
def test_a_flag_has_the_arity_and_the_negations_that_the_engine_defines(name: str, values: int, negated: tuple[str, ...]) -> None:
    flag = flags_of("llama-server")[name]
    assert (flag.values, flag.negated) == (values, negated)


def test_no_name_means_two_flags_of_one_program() -> None:
    for program in ("llama-server", "llama-cli", "llama-completion", "llama-perplexity"):
        names = [name for flag in all_flags() if program in flag.programs for name in flag.names + flag.negated]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("flag", "field"),
    [
        ("-ngl", "n_gpu_layers"),
        ("-c", "n_ctx"),
        ("-b", "n_batch"),
        ("-ub", "n_ubatch"),
        ("-ctk", "type_k"),
        ("-ctv", "type_v"),
        ("-fa", "flash_attn"),
        ("-sm", "split_mode"),
        ("-mg", "main_gpu"),
        ("-fitc", "fit_ctx"),
        ("-lm", "load_mode"),
        ("-lzm", "lazy_mode"),
        ("-cram", "cache_ram"),
        ("-ctxcp", "ctx_checkpoints"),
        ("--mtmd-batch-max-tokens", "mtmd_batch_max_tokens"),
        ("--spec-draft-n-max", "spec_draft_n_max"),
        ("--spec-ngram-mod-n-max", "spec_ngram_mod_n_max"),
        ("--spec-ngram-simple-size-m", "spec_ngram_simple_size_m"),
        ("--spec-ngram-map-k-size-m", "spec_ngram_map_k_size_m"),
        ("--spec-ngram-map-k4v-size-m", "spec_ngram_map_k4v_size_m"),
        ("-ngld", "n_gpu_layers_draft"),
        ("-ctkd", "type_k_draft"),
        ("-ctvd", "type_v_draft"),
    ],
)
def test_a_default_is_the_one_the_engines_help_states(flag: str, field: str) -> None:
    assert str(getattr(Settings(), field)) == flags_of("llama-server")[flag].default


def test_switches_default_to_what_the_engines_help_states() -> None:
    said = {"true": True, "enabled": True, "on": True, "false": False, "disabled": False}
    flags = flags_of("llama-server")
    plain = Settings()
    assert plain.swa_full is said[flags["--swa-full"].default]
    assert plain.kv_offload is said[flags["--kv-offload"].default]
    assert plain.op_offload is said[flags["--op-offload"].default]
    assert plain.repack is said[flags["--repack"].default]
    assert plain.no_mmproj is not said[flags["--mmproj-auto"].default]
    assert plain.mmproj_offload is said[flags["--mmproj-offload"].default]
    assert plain.embedding is said[flags["--embedding"].default]
    assert plain.backend_sampling is said[flags["-bs"].default]
    assert plain.spec_draft_backend_sampling is said[flags["--spec-draft-backend-sampling"].default]
    assert plain.fit is said[flags["-fit"].default]
    assert plain.fit_target == (int(flags["-fitt"].default),)


def test_the_cache_types_are_the_nine_the_engine_lists() -> None:
    # common/arg.cpp, kv_cache_types
    expected = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
    assert all(flags_of("llama-server")[flag].choices == expected for flag in ("-ctk", "-ctv", "-ctkd", "-ctvd"))


@pytest.mark.parametrize(
    ("text", "rule", "told"),
    [
        # each one tried on the engine that the table was made from, which stopped at it
        ("-np 0", "invalid_n_parallel", "-np does not take '0'"),
        ("-ctk q4_k", "invalid_type_k", "'iq4_nl'"),
        ("-ctv Q8_0", "invalid_type_v", "'q8_0'"),
        ("-ctkd q4_k", "invalid_type_k_draft", "'q8_0'"),
        ("-fa -ctk q8_0", "invalid_flash_attn", "'on', 'off', 'auto'"),
        ("-fa ON", "invalid_flash_attn", "'on', 'off', 'auto'"),
        ("--fit maybe", "invalid_fit", "'on', 'off'"),
        ("--fit auto", "invalid_fit", "'on', 'off'"),
        ("-lm foo", "invalid_load_mode", "'mmap+mlock'"),
        ("-ngl x", "invalid_n_gpu_layers", "'auto' or 'all'"),
        ("-ngl -c", "invalid_n_gpu_layers", "-ngl does not take '-c'"),
        ("-c x", "invalid_n_ctx", "whole number"),
        ("-c ''", "invalid_n_ctx", "whole number"),
        ("-c 99999999999", "invalid_n_ctx", "whole number"),
        (f"-c {'9' * 6000}", "invalid_n_ctx", "whole number"),
        ("-ncmoe -1", "invalid_n_cpu_moe", "from 0 up"),
        ("-ot foo", "invalid_override_tensor", "exps=CPU"),
        ("-ot a=CPU,", "invalid_override_tensor", "exps=CPU"),
        ("-ot =", "invalid_override_tensor", "exps=CPU"),
        ("-ot '(=CPU'", "invalid_override_tensor", "regular expression"),
        ("-ts a,b", "invalid_tensor_split", "3,1"),
        ("-ts ,1", "invalid_tensor_split", "3,1"),
        ("-ts 1e400", "invalid_tensor_split", "3,1"),
        ("-ts 1e-50", "invalid_tensor_split", "3,1"),
        ("-ts 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", "invalid_tensor_split", "fewer than 16"),
        ("-fitt x", "invalid_fit_target", "MiB"),
        ("-sm foo", "invalid_split_mode", "'tensor'"),
        ("-dev none,none", "invalid_devices", "'none' alone"),
        ("-mmdev CUDA0,CUDA1", "invalid_mmproj_device", "one device"),
        ("--spec-type foo", "invalid_spec_type", "'draft-mtp'"),
        ("--spec-draft-n-max -1", "invalid_spec_draft_n_max", "from 0 up"),
        ("--spec-ngram-simple-size-m 0", "invalid_spec_ngram_simple_size_m", "from 1 to 1024"),
        ("--pooling foo", "invalid_pooling", "'rank'"),
        ("--rope-scaling foo", "invalid_rope_scaling", "'yarn'"),
        ("--override-kv a=1", "invalid_override_kv", "key=type:value"),
        ("--override-kv a=bool:1", "invalid_override_kv", "key=type:value"),
        ("--lora-scaled a.gguf", "invalid_lora_scaled", "FNAME:SCALE"),
        ("--draft-max 4", "removed_flag", "use --spec-draft-n-max or --spec-ngram-mod-n-max"),
    ],
)
def test_what_the_engine_refuses_while_it_reads_flags_is_refused(text: str, rule: str, told: str) -> None:
    with pytest.raises(RefusedSettings) as raised:
        parse_flags(text)
    assert raised.value.rule == rule
    assert told in str(raised.value)
    assert "word 1 of the command line" in str(raised.value)


def test_fifteen_shares_are_not_too_many() -> None:
    assert len(parse_flags("-ts 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15").tensor_split) == 15


@pytest.mark.parametrize(
    ("text", "flag", "value", "told"),
    [
        ("-c 32k", "-c", "32k", "llama.cpp reads '32k' as 32"),
        ("-c 4096.7", "-c", "4096.7", "as 4096"),
        ("-ngl 12abc", "-ngl", "12abc", "as 12"),
        ("-c -1", "-c", "-1", "as 4294967295"),
        ("-ub -512", "-ub", "-512", "a whole number from 0 up"),
        ("-ts 3:1", "-ts", "3:1", "'3:1'"),
        ("-fitt -5", "-fitt", "-5", "MiB"),
        ("-ot '[[:digit:]]=CPU'", "-ot", "[[:digit:]]=CPU", "brackets"),
        ("-c", "-c", None, "the value of -c is missing"),
        ("-fa", "-fa", None, "-fa takes 'on', 'off', 'auto'"),
        ("--control-vector-layer-range 3", "--control-vector-layer-range", None, "two values"),
    ],
)
def test_a_value_that_is_missing_or_misread_is_named_with_what_is_accepted(text: str, flag: str, value: str | None, told: str) -> None:
    with pytest.raises(FlagValueError) as raised:
        parse_flags(text)
    assert (raised.value.flag, raised.value.value) == (flag, value)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("text", "near", "told"),
    [
        ("-c 1 --n-cpu-mo 3", ["--n-cpu-moe", "--n-cpu-moe-draft"], "word 3 of the command line: llama-server has no flag '--n-cpu-mo'"),
        ("-NGL 3", ["-ngl", "-ngld"], "did you mean '-ngl'"),
        ("--ctx 3", ["--ctx-size", "--ctx-checkpoints"], "did you mean '--ctx-size'"),
        ("–ngl 3", ["-ngl"], "typographic"),
        ("–ctx-size 3", ["--ctx-size"], "typographic"),
        ("--ctx-size=5", [], "a word of its own: --ctx-size 5"),
        ("--swa-full true", [], "--swa-full takes no value"),
        ("-ngl 99 model.gguf", [], "-m"),
        ("-no-cnv", [], "it is a flag of llama-completion"),
        ("-ger", [], "llama-server has no flag '-ger'"),
    ],
)
def test_an_unknown_flag_is_told_with_its_place_and_what_was_meant(text: str, near: list[str], told: str) -> None:
    with pytest.raises(UnknownFlagError) as raised:
        parse_flags(text)
    assert raised.value.near == near
    assert told in str(raised.value)
    assert raised.value.exit_code == 2


def test_the_first_fault_of_a_command_line_is_the_one_told() -> None:
    with pytest.raises(RefusedSettings, match="-fa does not take '-c'"):
        parse_flags("-fa -c 4096")


PASTED = r"""
# how I start it; don't ask
CUDA_VISIBLE_DEVICES=0 numactl --interleave=all ./build/bin/llama-server \
  -m "/models/my model.gguf" -ngl 99 \
  -ot 'blk\.(1|2)\.ffn_.*_exps=CPU' --alias qwen#1 \
  --chat-template-kwargs "{\"a\": 1}" \
  -c 4096   # enough
"""


def test_a_pasted_command_line_is_read_as_a_shell_would() -> None:
    settings = parse_flags(PASTED)
    assert settings.program == "llama-server"
    assert settings.environment == (("CUDA_VISIBLE_DEVICES", "0"),)
    assert settings.model == "/models/my model.gguf"
    assert settings.overrides == (Override(r"blk\.(1|2)\.ffn_.*_exps"),)
    assert (settings.n_gpu_layers, settings.n_ctx) == (99, 4096)
    assert settings.others == (("--alias", "qwen#1"), ("--chat-template-kwargs", '{"a": 1}'))


@pytest.mark.parametrize(
    "text",
    [
        "llama-server -c 4096",
        "$ ./llama-server -c 4096",
        r"'C:\llama\llama-server.exe' -c 4096",
        "export A=1\nsudo -E llama-server\n  -c 4096",
        "llama-server ^\r\n  -c 4096",
        "llama-server -c 4096 2>&1 | tee log.txt",
        "-c 4096 &",
        "A=1 B='x y' -c 4096",
    ],
)
def test_what_surrounds_the_flags_is_no_flag(text: str) -> None:
    assert replace(parse_flags(text), environment=()) == parse_flags(["-c", "4096"])


def test_a_named_program_wins_over_the_one_asked_for() -> None:
    assert parse_flags("llama-completion -no-cnv", "llama-server").program == "llama-completion"
    with pytest.raises(UnknownNameError, match="no program is called 'ollama'"):
        parse_flags("ollama run x")
    with pytest.raises(UnknownNameError, match="did you mean 'llama-server'"):
        parse_flags("-c 1", "lama-server")


def test_an_open_quotation_is_told() -> None:
    with pytest.raises(InputError, match="cannot be split"):
        parse_flags("-m 'x.gguf")


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("LLAMA_ARG_CTX_SIZE=4096 llama-server", "n_ctx", 4096),
        ("LLAMA_ARG_CTX_SIZE=4096 llama-server -c 512", "n_ctx", 512),
        ("LLAMA_ARG_SWA_FULL=on llama-server", "swa_full", True),
        ("LLAMA_ARG_SWA_FULL=off llama-server", "swa_full", False),
        ("LLAMA_ARG_KV_OFFLOAD=0 llama-server", "kv_offload", False),
        ("LLAMA_ARG_NO_KV_OFFLOAD=1 llama-server", "kv_offload", False),
        ("LLAMA_ARG_NO_KV_OFFLOAD=1 LLAMA_ARG_KV_OFFLOAD=1 llama-server", "kv_offload", False),
    ],
)
def test_an_environment_variable_is_a_flag_that_the_command_line_overrules(text: str, field: str, value: object) -> None:
    assert getattr(parse_flags(text), field) == value


def test_a_variable_of_another_programs_flag_is_no_flag() -> None:
    # LLAMA_ARG_CHAT_TEMPLATE is llama-server's, LLAMA_ARG_FIT_ESTIMATE llama-fit-params'
    assert parse_flags("LLAMA_ARG_CHAT_TEMPLATE=chatml llama-server").others == (("--chat-template", "chatml"),)
    assert parse_flags("LLAMA_ARG_FIT_ESTIMATE=on llama-server").others == ()


def test_a_switch_in_the_environment_takes_only_words_for_yes_and_no() -> None:
    with pytest.raises(RefusedSettings, match="LLAMA_ARG_KV_OFFLOAD"):
        parse_flags("LLAMA_ARG_KV_OFFLOAD=maybe llama-server")


@given(st.lists(st.text(max_size=12), max_size=8))
def test_no_words_raise_anything_but_an_error_of_ours(words: list[str]) -> None:
    for given_words in (words, " ".join(words)):
        with suppress(GenError):
            parse_flags(given_words)
