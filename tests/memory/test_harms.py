"""What the engine takes without a word although it does nothing, or harm.

Pairs of cache types are those of ggml's sources of August 2026.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from generator.errors import RefusedSettings
from generator.memory.backends import reads
from generator.memory.harms import ALL_TYPES, Run, refuse_printed
from generator.memory.model import Model
from generator.memory.settings import parse_flags
from generator.specs import CACHE_TYPES, load_engine
from tests.memory.models import dense, hybrid

ROOT = Path(__file__).parents[2]
PINNED = "b10666"
PLAIN = dense(**{"attention.key_length": 128, "attention.value_length": 128})


def refused(model: Model, flags: str, run: Run) -> str:
    with pytest.raises(RefusedSettings) as raised:
        refuse_printed(model, parse_flags(flags), run)
    assert raised.value.source
    assert raised.value.source in raised.value.problem
    return f"{raised.value.where} {raised.value.rule}"


@pytest.mark.parametrize(
    ("backend", "read"),
    [
        ("cuda", {("f16", "f16"), ("bf16", "bf16"), ("f32", "f32"), ("q8_0", "q8_0"), ("q4_0", "q4_0")}),
        ("rocm", {("f16", "f16"), ("bf16", "bf16"), ("f32", "f32"), ("q8_0", "q8_0"), ("q4_0", "q4_0")}),
        ("metal", {(each, each) for each in CACHE_TYPES if each != "iq4_nl"}),
        ("sycl", {pair for pair in product(CACHE_TYPES, repeat=2) if "iq4_nl" not in pair}),
        ("vulkan", {pair for pair in product(CACHE_TYPES, repeat=2) if (pair[0] == "bf16") == (pair[1] == "bf16")}),
    ],
)
def test_each_backend_reads_its_own_pairs_of_cache_types(backend: str, read: set[tuple[str, str]]) -> None:
    assert {pair for pair in product(CACHE_TYPES, CACHE_TYPES) if reads(backend, pair, PINNED)} == read


@pytest.mark.parametrize("backend", ["cuda", "rocm", "metal", "sycl", "vulkan"])
def test_the_engines_file_says_the_same_of_cache_types(backend: str) -> None:
    told = load_engine(ROOT / f"recipes/engines/llama.cpp/{PINNED}.yml").backend(backend)
    for pair in product(CACHE_TYPES, CACHE_TYPES):
        expected = set(pair) <= set(told.cache_types) and (pair[0] == pair[1] or not told.one_type)
        if backend == "vulkan" and (pair[0] == "bf16") != (pair[1] == "bf16"):
            expected = False  # what its note says
        assert reads(backend, pair, PINNED) == expected, pair


@pytest.mark.parametrize("flags", ["-fa on -ctk q8_0 -ctv f16", "-fa auto -ctk f16 -ctv q8_0", "-fa on -ctk q5_1 -ctv q5_1"])
def test_attention_that_a_default_build_leaves_to_the_cpu_is_refused(flags: str) -> None:
    run = Run("cuda", build=PINNED)
    assert refused(PLAIN, flags, run) == "-ctv flash attention on the CPU"
    refuse_printed(PLAIN, parse_flags(flags), Run("cuda", build=PINNED, options=(ALL_TYPES,)))
    refuse_printed(PLAIN, parse_flags(flags), Run("vulkan", build=PINNED))


def test_the_engine_may_still_choose_to_do_without_flash_attention() -> None:
    refuse_printed(dense(), parse_flags("-fa auto -ctk q8_0 -ctv f16"), Run("cuda", build=PINNED))
    refuse_printed(dense(), parse_flags("-fa off -ctk q8_0 -ctv f16"), Run("cuda", build=PINNED))


def test_heads_without_a_kernel_are_refused_where_flash_attention_is_insisted_on() -> None:
    odd = dense(**{"attention.key_length": 384, "attention.value_length": 384})
    assert refused(odd, "-fa on", Run("cuda", build=PINNED)) == "-fa flash attention on the CPU"
    refuse_printed(odd, parse_flags("-fa auto"), Run("cuda", build=PINNED))
    refuse_printed(odd, parse_flags("-fa on"), Run("vulkan", build=PINNED))


def test_the_draft_heads_cache_is_looked_at_too() -> None:
    assert refused(hybrid(), "--spec-type draft-mtp -fa on -ctkd q8_0", Run("cuda", build=PINNED)) == "-ctvd flash attention on the CPU"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("-ncmoe 3", "-ncmoe override without effect"),
        ("-cmoe", "-cmoe override without effect"),
        ("-ot exps=CPU", "-ot override without effect"),
        ("--swa-full", "--swa-full no sliding window"),
        ("-b 256 -ub 512", "-ub micro-batch over the batch"),
        ("--no-mmproj --mmproj x.gguf", "--mmproj projector wanted and not"),
        ("--spec-draft-n-max 5", "--spec-draft-n-max draft length without speculation"),
        ("-ts 3,1", "-ts shares for cards that are not there"),
        ("-sm row", "-sm split of one card"),
        ("-no-kvu", "-kvu unified cache of automatic slots"),
    ],
)
def test_a_flag_without_effect_on_a_dense_model_is_refused(flags: str, told: str) -> None:
    assert refused(dense(), flags, Run("cuda", build=PINNED)) == told


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("-ncmoe 3 -cmoe", "-cmoe all experts and some"),
        ("-ot exps=CPU -ncmoe 3", "-ncmoe override without effect"),
        ("-ncffn 2", "-ncffn override without effect"),
        ("-sm tensor -fa off", "-sm split of tensors without flash attention"),
    ],
)
def test_flags_that_undo_each_other_on_a_mixture_are_refused(flags: str, told: str) -> None:
    assert refused(hybrid(), flags, Run("cuda", gpus=2, build=PINNED)) == told


@pytest.mark.parametrize(
    ("flags", "gpus"),
    [("-ncmoe 3", 1), ("-ncmoe 3 -ot exps=CPU", 1), ("-ts 3,1", 2), ("-sm row", 2), ("-b 512 -ub 512", 1), ("-np 2 -no-kvu", 1)],
)
def test_flags_that_do_something_are_taken(flags: str, gpus: int) -> None:
    refuse_printed(hybrid(), parse_flags(flags), Run("cuda", gpus=gpus, build=PINNED))


def test_more_shares_than_cards_are_refused() -> None:
    assert refused(hybrid(), "-ts 1,1,1", Run("cuda", gpus=2, build=PINNED)) == "-ts shares for cards that are not there"


def test_what_the_engine_itself_refuses_comes_first() -> None:
    assert refused(dense(), "-fa off -ctv q8_0 --swa-full", Run("cuda", build=PINNED)) == "-ctv quantised V without flash attention"
