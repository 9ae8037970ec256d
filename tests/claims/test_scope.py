"""A scope, held against what a reader has and does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.claims.scope import Situation, nearness, outside
from generator.errors import InputError
from generator.specs import Applies

HERE = Situation(
    architecture="qwen35moe",
    backend="cuda",
    card="rtx-5070",
    compute_capability="12.0",
    build="b10666",
    words=frozenset({"moe", "expert_offload", "flash_attention_on"}),
    flags=frozenset({"-ncmoe", "-ts", "-nkvo"}),
)


@pytest.mark.parametrize(
    ("applies", "parts"),
    [
        (Applies(), ()),
        (Applies(architectures=("qwen35moe",), backends=("cuda",), techniques=("expert_offload", "flash_attention_on")), ()),
        (Applies(architectures=("qwen35", "qwen35moe")), ()),
        (Applies(architectures=("qwen35",)), ("architectures",)),
        (Applies(backends=("rocm", "vulkan")), ("backends",)),
        (Applies(cards=("rtx-5070", "rtx-5080")), ()),
        (Applies(cards=("rtx-5080",)), ("cards",)),
        (Applies(compute_capabilities=("7.5", "12.0")), ()),
        (Applies(compute_capabilities=("8.9",)), ("compute_capabilities",)),
        (Applies(techniques=("expert_offload", "draft_head")), ("techniques",)),
        (Applies(techniques=("not draft_head",)), ()),
        (Applies(techniques=("not moe",)), ("techniques",)),
        (Applies(confirmed_builds=("b9000",)), ()),
        (Applies(architectures=("llama",), backends=("metal",), techniques=("whole",)), ("architectures", "backends", "techniques")),
    ],
)
def test_a_thread_applies_where_every_part_of_its_scope_does(applies: Applies, parts: tuple[str, ...]) -> None:
    assert outside(applies, HERE) == parts


@pytest.mark.parametrize(
    ("first", "end", "build", "within"),
    [
        ("", "", "b10666", True),
        ("b10741", "b10749", "b10666", False),
        ("b10741", "b10749", "b10741", True),
        ("b10741", "b10749", "b10748", True),
        ("b10741", "b10749", "b10749", False),
        ("b10741", "", "v0.4.0", True),
        ("", "v0.5.0", "b10666", True),
        ("", "v0.5.0", "v0.4.3", True),
        ("", "v0.5.0", "v0.5.0", False),
        ("b9999", "", "b10666", True),
    ],
)
def test_the_end_of_a_range_of_builds_is_the_first_build_outside_of_it(first: str, end: str, build: str, within: bool) -> None:
    found = outside(Applies(from_build=first, before_build=end), replace(HERE, build=build))
    assert found == (() if within else ("builds",))


def test_what_names_no_build_is_refused() -> None:
    with pytest.raises(InputError, match="'latest' names no build"):
        outside(Applies(), replace(HERE, build="latest"))


@pytest.mark.parametrize(
    ("flag", "given"),
    [
        ("-ts", True),
        ("--tensor-split", True),
        ("--no-kv-offload", True),
        ("--kv-offload", False),
        ("--override-tensor", False),
        ("--moe-expert-cache", False),
    ],
)
def test_a_flag_is_met_under_any_of_its_names_and_not_by_the_one_that_negates_it(flag: str, given: bool) -> None:
    assert outside(Applies(flags=(flag,)), HERE) == (() if given else ("flags",))


def test_one_flag_of_several_is_enough() -> None:
    assert outside(Applies(flags=("--lora", "-ncmoe")), HERE) == ()


def test_a_flag_that_the_engine_does_not_have_yet_is_met_by_its_own_name() -> None:
    here = replace(HERE, flags=frozenset({"--moe-expert-cache"}))
    assert outside(Applies(flags=("--moe-expert-cache",)), here) == ()


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("moe", True),
        ("not moe", False),
        ("vision", False),
        ("not vision", True),
        ("cuda", True),
        ("not metal", True),
        ("qwen35moe", True),
    ],
)
def test_a_condition_is_a_word_a_backend_or_an_architecture(condition: str, holds: bool) -> None:
    assert HERE.meets(condition) is holds


def test_a_report_of_the_readers_own_card_is_nearer_than_one_of_its_generation_and_that_than_one_of_its_model() -> None:
    scopes = [
        Applies(backends=("cuda",)),
        Applies(architectures=("qwen35moe",)),
        Applies(architectures=("qwen35moe",), compute_capabilities=("12.0",)),
        Applies(cards=("rtx-5070",)),
    ]
    near = [nearness(each, HERE) for each in scopes]
    assert near == sorted(set(near))


def test_a_card_without_a_compute_capability_is_near_no_generation() -> None:
    assert nearness(Applies(compute_capabilities=("",)), replace(HERE, compute_capability="")) == nearness(Applies(), HERE)
