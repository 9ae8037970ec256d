"""A llama.cpp command line is put to each estimator in that estimator's own words (benchmarks/peers.py)."""

from __future__ import annotations

import pytest

from benchmarks.peers import flags_of, for_llama_mdl, for_node_llama_cpp

PLAIN = "-ngl 99 -c 32768 -ctk f16 -ctv f16 -fa on -b 2048 -ub 512"


def mdl(more: str = "", program: str = "llama-server", gpus: int = 1) -> dict[str, object] | str:
    return for_llama_mdl(f"{PLAIN} {more}", program, gpus)


def node(more: str = "", program: str = "llama-server", gpus: int = 1) -> dict[str, object] | str:
    return for_node_llama_cpp(f"{PLAIN} {more}", program, gpus)


def changed(before: dict[str, object] | str, after: dict[str, object] | str) -> dict[str, object]:
    assert isinstance(before, dict) and isinstance(after, dict)
    return {key: after[key] for key in after if after[key] != before[key]}


def test_a_command_line_becomes_flags_and_values() -> None:
    assert flags_of("-ngl 99 -kvu -ot 'blk\\.1[0-9]\\.ffn_down=CPU'") == {"-ngl": "99", "-kvu": "", "-ot": r"blk\.1[0-9]\.ffn_down=CPU"}


def test_a_flag_the_benchmark_does_not_know_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="--no-mmap"):
        flags_of("-ngl 99 --no-mmap")


def test_llama_mdl_gets_the_flags_as_its_own_parser_names_them() -> None:
    assert mdl("-np 1") == {
        "ngl": 99,
        "ctx": 32768,
        "ctk": "f16",
        "ctv": "f16",
        "fa": True,
        "b": 2048,
        "ub": 512,
        "np": 1,
        "kvu": False,
        "ncmoe": 0,
        "swa_full": False,
        "mtp": False,
    }


def test_node_llama_cpp_gets_one_batch_size_and_types_by_their_enumerators() -> None:
    assert node("-np 1") == {
        "gpuLayers": 99,
        "contextSize": 32768,
        "sequences": 1,
        "batchSize": 512,
        "flashAttention": True,
        "swaFullCache": False,
        "kvCacheKeyType": "F16",
        "kvCacheValueType": "F16",
    }


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("-np 4", {"np": 4}),
        ("-np 4 -kvu", {"np": 4, "kvu": True}),
        ("-np 1 -ncmoe 20", {"ncmoe": 20}),
        ("-np 1 -cmoe", {"ncmoe": 999}),
        ("-np 1 --swa-full", {"swa_full": True}),
        ("-np 1 --spec-type draft-mtp", {"mtp": True}),
        ("-np 1 -fa off", {"fa": False}),
        ("-np 1 -fa auto", {}),
        ("-np 1 -ctk q8_0 -ctv iq4_nl", {"ctk": "q8_0", "ctv": "iq4_nl"}),
        ("-np 1 -c 0", {"ctx": 0}),
    ],
)
def test_llama_mdl_has_a_word_for(more: str, expected: dict[str, object]) -> None:
    assert changed(mdl("-np 1"), mdl(more)) == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("-np 4", {"sequences": 4, "contextSize": 8192}),
        ("-np 3 -c 10000", {"sequences": 3, "contextSize": 3334}),
        ("-np 1 -kvu", {}),
        ("-np 1 --swa-full", {"swaFullCache": True}),
        ("-np 1 -fa off", {"flashAttention": False}),
        ("-np 1 -fa auto", {}),
        ("-np 1 -ub 2048 -b 1024", {"batchSize": 1024}),
        ("-np 1 -c 300", {"contextSize": 300, "batchSize": 300}),
        ("-np 1 -c 0", {"contextSize": None}),
        ("-np 1 -ctk q8_0 -ctv iq4_nl", {"kvCacheKeyType": "Q8_0", "kvCacheValueType": "IQ4_NL"}),
    ],
)
def test_node_llama_cpp_has_a_word_for(more: str, expected: dict[str, object]) -> None:
    assert changed(node("-np 1"), node(more)) == expected


def test_the_four_slots_that_llama_server_opens_unasked_share_a_cache() -> None:
    assert changed(mdl("-np 1"), mdl()) == {"np": 4, "kvu": True}
    assert node() == "llama-server's four slots"
    assert mdl(program="llama-fit-params") == mdl("-np 1")
    assert node(program="llama-fit-params") == node("-np 1")


def test_without_a_device_node_llama_cpp_is_asked_for_no_layers_on_one() -> None:
    assert changed(node("-np 1"), node("-np 1", gpus=0)) == {"gpuLayers": 0}


@pytest.mark.parametrize("more", ["-ot ffn_up_exps=CPU", "-ncffn 16", "-nkvo", "-cmoe --no-op-offload", "--spec-type ngram-mod"])
def test_what_neither_has_a_word_for_neither_can_say(more: str) -> None:
    assert isinstance(mdl(f"-np 1 {more}"), str)
    assert isinstance(node(f"-np 1 {more}"), str)


@pytest.mark.parametrize("more", ["-np 1 -ncmoe 20", "-np 1 -cmoe", "-np 4 -kvu", "-np 1 --spec-type draft-mtp"])
def test_what_node_llama_cpp_alone_cannot_say(more: str) -> None:
    assert isinstance(node(more), str)
    assert isinstance(mdl(more), dict)


def test_the_length_of_a_draft_llama_mdl_cannot_say() -> None:
    assert mdl("-np 1 --spec-type draft-mtp --spec-draft-n-max 1") == "--spec-draft-n-max"


def test_of_two_devices_neither_can_say() -> None:
    assert (mdl("-np 1", gpus=2), node("-np 1", gpus=2)) == ("two devices", "two devices")
