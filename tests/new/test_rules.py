"""The rules of `gen new` one by one: names, quants, settings, and YAML."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from generator.catalog import Catalog
from generator.memory.model import Model
from generator.new.described import _short
from generator.new.names import cleaned, hub_repository, licence, model_title, quant_names, quant_tag, slug
from generator.new.quants import quant_for, usual
from generator.new.settings import choose
from generator.new.written import flow, scalar
from generator.planning import model_of
from generator.solve.question import usable_of
from generator.solve.space import Quant
from tests.new.files import heads, unpacked

ROOT = Path(__file__).parents[2]
GIB = 2**30


@pytest.mark.parametrize(
    ("file", "tag"),
    [
        ("apodex_Apodex-1.1-mini-Q4_K_M.gguf", "Q4_K_M"),
        ("Qwen3-30B-A3B-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("UD-IQ1_M/Model-UD-IQ1_M-00001-of-00003.gguf", "UD-IQ1_M"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("llama-2-7b.q5_0.gguf", "Q5_0"),
        ("Model-F16-to-Q8_0.gguf", "Q8_0"),
        ("Model-IQ4_NL.gguf", "IQ4_NL"),
        ("Model-TQ1_0.gguf", "TQ1_0"),
        ("Q4.gguf", ""),
        ("FREQ4_K_M.gguf", ""),
        ("model.gguf", ""),
    ],
)
def test_a_file_says_its_quant_by_the_last_word_that_is_one(file: str, tag: str) -> None:
    assert quant_tag(file) == tag


def test_files_of_one_quant_are_told_apart_by_their_own_names() -> None:
    names = quant_names(["a-Q4_K_M.gguf", "b-Q4_K_M.gguf", "c-Q8_0.gguf", "x/plain.gguf", "y/plain.gguf"])
    assert names == {
        "a-Q4_K_M.gguf": "a-Q4_K_M",
        "b-Q4_K_M.gguf": "b-Q4_K_M",
        "c-Q8_0.gguf": "Q8_0",
        "x/plain.gguf": "plain",
        "y/plain.gguf": "plain-2",
    }


@pytest.mark.parametrize(
    ("repository", "title"),
    [
        ("bartowski/apodex_Apodex-1.1-mini-GGUF", "Apodex-1.1-mini"),
        ("unsloth/Qwen3-8B-GGUF", "Qwen3-8B"),
        ("mradermacher/Some-Model-i1-GGUF", "Some-Model"),
        ("x/model_gguf", "model"),
        ("x/my-own_model-GGUF", "my-own_model"),
    ],
)
def test_a_model_is_called_after_its_repository(repository: str, title: str) -> None:
    assert model_title(repository) == title


@given(some.text(max_size=200))
def test_text_made_a_name_is_one_or_nothing(text: str) -> None:
    made = slug(text)
    assert not made or (Catalog.open(ROOT).root / made).parent == ROOT
    assert all(letter in "abcdefghijklmnopqrstuvwxyz0123456789.-" for letter in made)
    assert not made.startswith((".", "-")) and ".." not in made


@given(some.text(max_size=400))
def test_text_of_others_stays_one_value_of_yaml(text: str) -> None:
    told = cleaned(text)
    assert len(told) <= 120 and told.isprintable()
    assert yaml.safe_load(f"key: {scalar(told)}") == {"key": told}
    assert yaml.safe_load(flow([("a", told), ("b", 1)])) == {"a": told, "b": 1}


@pytest.mark.parametrize("text", ["on", "No", "null", "1.5", "2026-12-01", "a: b", "a #b", "- a", "*a", "&a", "{a}", "a, b", "~", "0x1"])
def test_words_that_yaml_reads_otherwise_are_quoted(text: str) -> None:
    assert yaml.safe_load(flow([("a", text)])) == {"a": text}


def test_licences_are_called_by_their_spdx_names() -> None:
    assert [licence("apache-2.0"), licence("mit"), licence("llama3.1"), licence("other"), licence("other", "Own"), licence(3)] == [
        *("Apache-2.0", "MIT", "llama3.1", "", "Own", ""),
    ]


@pytest.mark.parametrize("address", ["https://huggingface.co/a/b", "https://huggingface.co/a/b/", "http://www.huggingface.co/a/b"])
def test_an_address_of_the_hub_names_a_repository(address: str) -> None:
    assert hub_repository(address) == "a/b"


@pytest.mark.parametrize("address", ["https://example.org/a/b", "https://huggingface.co/a", "https://huggingface.co/a/b/c", "a/b", None, 1])
def test_another_address_names_none(address: object) -> None:
    assert hub_repository(address) == ""


def test_a_number_of_32_bits_is_the_shortest_decimal_that_is_it() -> None:
    assert [_short(0.949999988079071), _short(0.6000000238418579), _short(1.0), _short(1.0499999523162842)] == [0.95, 0.6, 1.0, 1.05]


# --- quants --------------------------------------------------------------------------------------

EIGHT = {"F16": 16_060, "Q8_0": 8_540, "Q6_K": 6_600, "Q5_K_M": 5_730, "Q4_K_M": 4_920, "IQ2_M": 2_950}


@pytest.mark.parametrize(
    ("usable", "unified", "quant"),
    [
        (24_000, False, "Q8_0"),  # 8,540 is under three quarters, 18,000; F16 is not quantised
        (11_000, False, "Q6_K"),  # under 8,250
        (7_000, False, "Q4_K_M"),  # under 5,250
        (4_000, False, "Q4_K_M"),  # IQ2_M would be under 3,000, and has fewer bits than the usual one
        (4_000, True, "IQ2_M"),
        (1_000, True, "IQ2_M"),  # nothing is small enough; the smallest shows by how much
    ],
)
def test_a_card_gets_the_largest_quant_that_leaves_room_and_no_less_than_the_usual_one(usable: int, unified: bool, quant: str) -> None:
    assert quant_for(EIGHT, usable, unified=unified) == quant


@pytest.mark.parametrize(
    ("names", "quant"),
    [
        (["Q8_0", "UD-Q4_K_XL", "Q2_K"], "UD-Q4_K_XL"),
        (["UD-Q4_K_M", "Q4_K_M"], "Q4_K_M"),
        (["MXFP4"], "MXFP4"),
        (["own", "own-2"], "own"),
        (["BF16"], "BF16"),
    ],
)
def test_the_usual_quant_has_four_bits_or_is_the_smallest(names: list[str], quant: str) -> None:
    sizes = {name: size for size, name in enumerate(names, 1)}
    assert usual(sizes) == quant
    assert quant_for(sizes, 0, unified=False) == quant


# --- settings ------------------------------------------------------------------------------------


def model(name: str, folder: Path) -> Model:
    return model_of(unpacked(heads()[name], folder, name))


def chosen(name: str, card: str, folder: Path) -> tuple[dict[str, object], bool]:
    catalog = Catalog.open(ROOT)
    found = choose(Quant("", "", model(name, folder)), catalog.card(card), usable_of(catalog, catalog.card(card)), "b10666")
    return found.settings, found.fits


def test_what_fits_whole_has_the_longest_context_that_does(tmp_path: Path) -> None:
    # 36 blocks of 8 heads of 128, K and V: 73,728 elements a token. At the trained 40,960 tokens that is 5.625 GiB in f16 and 2.988 GiB
    # in q8_0 (34 bytes for 32); with 6,719,942,656 B of tensors less the input embedding (151,936 × 4,096 in Q6_K, 0.475 GiB), 5.783 GiB,
    # f16 is over the 11 GiB less 1 GiB, and q8_0 is under.
    settings, fits = chosen("qwen3-8b", "rtx-3060-12gb", tmp_path)
    assert fits
    assert settings == {"n_gpu_layers": "all", "n_parallel": 1, "n_ctx": 40960, "type_k": "q8_0", "type_v": "q8_0", "flash_attn": "on"}
    assert chosen("qwen3-8b", "rtx-3090", tmp_path)[0] == {"n_gpu_layers": "all", "n_parallel": 1, "n_ctx": 40960, "flash_attn": "on"}


def test_experts_are_left_in_system_memory_before_layers_are(tmp_path: Path) -> None:
    settings, fits = chosen("qwen3moe-30b-a3b", "rtx-3060-12gb", tmp_path)
    assert fits
    assert (settings["n_gpu_layers"], settings["n_ctx"]) == ("all", 32768)
    deep = settings["n_cpu_moe"]
    assert isinstance(deep, int) and 20 < deep < 48
    shallower, _ = chosen("qwen3moe-30b-a3b", "rtx-4070-ti-super", tmp_path)
    assert isinstance(shallower["n_cpu_moe"], int) and shallower["n_cpu_moe"] < deep


def test_a_dense_model_that_is_too_large_leaves_layers(tmp_path: Path) -> None:
    settings, fits = chosen("mistral3-8b", "rtx-3070", tmp_path)
    assert fits and settings["n_gpu_layers"] == "all"
    settings, fits = chosen("deci-kv-array", "rtx-3070", tmp_path)
    assert fits
    assert isinstance(settings["n_gpu_layers"], int) and settings["n_ctx"] == 8192 and "n_cpu_moe" not in settings


def test_where_memory_is_one_nothing_is_offloaded_and_what_is_too_large_does_not_fit(tmp_path: Path) -> None:
    settings, fits = chosen("qwen3next-80b", "apple-m4-24gb", tmp_path)
    assert not fits
    assert (settings["n_gpu_layers"], settings["n_ctx"]) == ("all", 4096)
    assert "n_cpu_moe" not in settings


def test_a_head_that_no_quantised_cache_divides_keeps_f16(tmp_path: Path) -> None:
    settings, fits = chosen("open-llama-3b", "rtx-3060-12gb", tmp_path)  # head size 100 (index.json of the record)
    assert fits
    assert "type_k" not in settings and settings["n_ctx"] == 2048
