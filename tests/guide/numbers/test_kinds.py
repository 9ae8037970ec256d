"""The numbers of every kind of guide, for headers of public shapes: against what the engine says of them, and by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from generator.facts import Fact, Facts
from generator.guide.numbers import Row, Subject, ladder_rows, rung_total, write_numbers
from generator.guide.numbers.budget import fits
from generator.memory.budget import Policy
from generator.memory.settings import Settings
from generator.specs.recipe import Budget, Ladder
from tests.solve.spaces import HEADERS, header

Made = Callable[..., Subject]

WHOLE = {"n_gpu_layers": 99, "n_ctx": 8192, "n_parallel": 1, "flash_attn": "on"}
GIB = 2**30


@cache
def truth() -> dict[str, Any]:
    """Give what the engine said, by the line's name."""
    rows = [json.loads(line) for line in (HEADERS / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row for row in rows}


@pytest.fixture
def made(subject: Subject) -> Made:
    """Make a subject of a header: on a card of 12 GiB, of which 11 are usable and the engine keeps one free."""

    def make(
        name: str, settings: Mapping[str, Any], *, gpus: int = 1, build: str = "v0.4.0", unified: bool = False, facts: tuple[Fact, ...] = ()
    ) -> Subject:
        model = header(name)
        size = sum(int(tensor.size) for tensor in model.tensors) + 1_000_000
        bare = replace(subject.recipe, budget=Budget(), fallbacks=(), ladder=Ladder(), scores=(), draft=None, depths=(), gpus=gpus)
        recipe = replace(bare, settings=dict(settings), build=build)
        known = Facts(fact for fact in subject.facts if not fact.key.startswith("model.projector"))
        given = known.merged([Fact("file.q4_k_m.size", size, "B", checked=subject.facts["file.q4_k_m.size"].checked), *facts])
        return Subject(recipe, Settings.from_recipe(settings), model, given, unified=unified)

    return make


# --- against the engine --------------------------------------------------------------------------

TWICE = 256
"""Bytes of the rotary factors, which the engine keeps on each side of a split in layers."""

OF_32K = {**WHOLE, "n_ctx": 32768}


@pytest.mark.parametrize(
    ("line", "gpus", "settings"),
    [
        pytest.param("llama31-8b/B/00", 1, {**WHOLE, "n_ctx": 4096}, id="whole"),
        pytest.param("llama31-8b/B/01", 1, {**WHOLE, "n_ctx": 5000}, id="whole-padded"),
        pytest.param("llama31-8b/B/38", 1, {**OF_32K, "type_k": "q5_1", "type_v": "q5_1"}, id="whole-quantised"),
        pytest.param("llama31-8b/B/28", 1, {**OF_32K, "kv_offload": False}, id="whole-cache-on-host"),
        pytest.param("qwen3moe-30b-a3b/B/19", 1, {**WHOLE, "n_ctx": 10000, "n_parallel": 3}, id="whole-three-sequences"),
        pytest.param("qwen3moe-30b-a3b/B/45", 1, {**OF_32K, "n_ubatch": 2048, "n_cpu_moe": 24}, id="experts"),
        pytest.param("qwen3moe-30b-a3b/B/37", 1, {**OF_32K, "cpu_moe": True}, id="experts-all"),
        pytest.param("llama31-8b/B/25", 1, {**OF_32K, "n_gpu_layers": 32}, id="layers"),
        pytest.param("llama31-8b/B/26", 1, {**OF_32K, "n_gpu_layers": 1}, id="layers-one"),
        pytest.param("qwen3moe-30b-a3b/B/24", 1, {**OF_32K, "n_gpu_layers": 24}, id="layers-of-a-mixture"),
        pytest.param("qwen3moe-30b-a3b/A/11", 2, {**OF_32K, "tensor_split": "1,1"}, id="two-cards"),
        pytest.param("glm47-flash/B/31", 1, {**OF_32K, "n_parallel": 4}, id="latent"),
        pytest.param("gpt-oss-20b/B/40", 1, {**OF_32K, "n_cpu_moe": 3}, id="windowed"),
        pytest.param("gpt-oss-20b/A/11", 1, {**OF_32K, "swa_full": True}, id="windowed-whole"),
        pytest.param("kimi-linear-48b/B/40", 1, {**OF_32K, "n_cpu_moe": 3}, id="hybrid-latent"),
        pytest.param("qwen35moe-mtp/B/39", 1, {**WHOLE, "n_ctx": 131072, "type_k": "q8_0", "type_v": "q8_0", "n_cpu_moe": 20}, id="hybrid"),
        pytest.param("qwen35moe-mtp/B/24", 1, {**OF_32K, "n_gpu_layers": 20}, id="hybrid-layers"),
    ],
)
def test_the_total_is_what_the_engine_says_it_would_allocate(made: Made, line: str, gpus: int, settings: dict[str, Any]) -> None:
    said = truth()[line]
    subject = made(said["model"], settings, gpus=gpus, build=said["engine"])
    book = write_numbers(subject)
    cards = [said["devices"][f"gpu{index}"] for index in range(gpus)]
    fullest = max(cards, key=lambda each: each["weights"] + each["context"])
    state = int(book["recurrent.card"]) if "recurrent.card" in book else 0
    assert abs(int(book["weights.card"]) - fullest["weights"]) <= TWICE
    assert int(book["kv.card"]) + state == fullest["context"]
    assert abs(int(book["budget.total"]) - fullest["weights"] - fullest["context"]) <= TWICE
    assert int(book["weights.host"]) + int(book["weights.input_embedding"]) == said["devices"]["host"]["weights"]
    for index, card in enumerate(cards if gpus > 1 else []):
        assert abs(int(book[f"gpu.{index}.held"]) - card["weights"] - card["context"]) <= TWICE


# --- every kind, by hand -------------------------------------------------------------------------

KINDS = [
    pytest.param("llama31-8b", WHOLE, {}, id="whole"),
    pytest.param("qwen3moe-30b-a3b", WHOLE | {"n_cpu_moe": 30}, {}, id="experts"),
    pytest.param("llama31-8b", WHOLE | {"n_gpu_layers": 12}, {}, id="layers"),
    pytest.param("gemma3-27b", WHOLE, {"gpus": 2}, id="two-cards"),
    pytest.param("llama31-8b", WHOLE, {"unified": True}, id="unified"),
    pytest.param("glm47-flash", WHOLE, {}, id="latent"),
    pytest.param("gpt-oss-20b", WHOLE, {}, id="windowed"),
    pytest.param("qwen35moe-mtp", WHOLE | {"n_cpu_moe": 10}, {}, id="hybrid"),
    pytest.param("mamba2-2p7b", WHOLE, {}, id="only-states"),
    pytest.param("qwen35-4b-tied", WHOLE, {}, id="tied"),
    pytest.param("nemotron-h-moe-30b", WHOLE | {"n_cpu_moe": 20}, {}, id="hybrid-few-experts"),
]


@pytest.mark.parametrize(("name", "settings", "given"), KINDS)
def test_every_number_is_what_its_derivation_gives_and_can_be_said(
    made: Made, name: str, settings: dict[str, Any], given: dict[str, Any]
) -> None:
    book = write_numbers(made(name, settings, **given))
    for key, quantity in book.numbers.items():
        assert quantity.recomputed() == quantity.value, key
        assert quantity.key == key
        assert book.text(key)


@pytest.mark.parametrize(("name", "settings", "given"), KINDS)
def test_the_rung_of_the_recipe_is_its_total_under_either_policy(
    made: Made, name: str, settings: dict[str, Any], given: dict[str, Any]
) -> None:
    subject = made(name, settings, **given)
    book = write_numbers(subject)
    offload = settings.get("n_cpu_moe") or (settings["n_gpu_layers"] if settings["n_gpu_layers"] < 99 else None)
    own = Row(offload, 8192)
    assert own in ladder_rows(subject)
    assert rung_total(book, subject, own, subject.caches).equals(book["budget.total"])
    assert rung_total(book, subject, own, subject.caches, Policy.PUBLISHED).equals(book["budget.published.total"])


def test_a_token_of_a_dense_model_reads_all_of_it_and_the_whole_cache(made: Made) -> None:
    book = write_numbers(made("llama31-8b", WHOLE))
    # 32 blocks of 8 heads of 128 elements, K and V, two bytes each; every tensor but the embedding, which is read a row at a time
    assert book["kv.bytes_per_token.f16/f16"].value == 32 * 8 * 128 * 2 * 2 == 131072
    assert book["traffic.card.0"].value == 4617396480
    assert book["traffic.card.8192"].value == 4617396480 + 8192 * 131072
    assert not [key for key in book.numbers if key.startswith(("crossover.", "traffic.host", "experts.", "memory.0.ceiling"))]


def test_of_experts_in_system_memory_a_token_reads_its_share(made: Made) -> None:
    book = write_numbers(made("qwen3moe-30b-a3b", WHOLE | {"n_cpu_moe": 10}))
    # 8 of 128 experts in each of the first ten blocks, which take 3,760,717,824 bytes
    assert book["weights.host"].value == 3760717824
    assert book["traffic.host_per_token"].value == 3760717824 * 8 // 128 == 235044864
    assert book["prefill.passes"].value == 8192 // 512 == 16
    assert book["prefill.moved"].value == 16 * 3760717824


def test_layers_in_system_memory_are_read_there_whole_with_their_cache(made: Made) -> None:
    book = write_numbers(made("llama31-8b", WHOLE | {"n_gpu_layers": 12}))
    # the output layer is one of the twelve: eleven of 32 blocks are on the card, 21 on the host
    assert book["kv.card"].value == 11 * 8192 * 4096 == 369098752
    assert book["kv.host"].value == 21 * 8192 * 4096
    assert int(book["weights.host"]) + int(book["weights.card"]) == 4617396480
    assert book["traffic.host_per_token"].value == book["weights.host"].value
    assert book["crossover.8192"].number * (int(book["weights.host"]) + 21 * 8192 * 4096) == book["traffic.card.8192"].number


def test_the_budget_of_two_cards_is_that_of_the_fuller_one(made: Made) -> None:
    book = write_numbers(made("llama31-8b", WHOLE, gpus=2))
    held = [int(book[f"gpu.{index}.held"]) for index in (0, 1)]
    assert int(book["budget.total"]) == max(held)
    assert sum(held) == 4617396480 + 8192 * 131072
    assert book["settings.gpus"].value == 2


def test_where_memory_is_shared_the_machine_holds_both_sides(made: Made) -> None:
    apart, shared = (write_numbers(made("llama31-8b", WHOLE, unified=unified)) for unified in (False, True))
    assert int(shared["host.need"]) - int(apart["host.need"]) == int(shared["budget.total"])
    assert "host.machine" not in shared
    assert not [key for key in shared.numbers if key.startswith("memory.")]
    # 120 GB/s over the weights and an empty cache
    rated = made("llama31-8b", WHOLE, unified=True, facts=(Fact("card.memory_bandwidth", 120, "GB/s", "declared", note="a test's"),))
    assert float(write_numbers(rated)["speed.ceiling.0"].number) == pytest.approx(120e9 / 4617396480)


def test_a_latent_cache_is_one_row_for_k_and_v(made: Made) -> None:
    book = write_numbers(made("glm47-flash", WHOLE))
    # 48 blocks (v0.4.0 caches for the draft head's too) of 512 latent and 64 rotary elements
    assert book["kv.bytes_per_token.f16/f16"].value == 48 * (512 + 64) * 2 == 55296
    assert "kv.elements_per_token" not in book
    assert not [key for key in book.numbers if key.startswith("kv.total.") and len(set(key.removeprefix("kv.total.").split("/"))) > 1]


def test_blocks_with_a_window_keep_no_more_than_it_and_grow_no_further(made: Made) -> None:
    book = write_numbers(made("gpt-oss-20b", WHOLE))
    # 12 blocks of 8 heads of 64 elements for the whole context, 12 with a window of 128 tokens
    row = 12 * 8 * 64 * 2 * 2
    assert book["kv.bytes_per_token.f16/f16"].value == row == 24576
    assert (book["cache.0.cells"].value, book["cache.1.window"].value) == (8192, 128)
    # one window and a micro-batch, in steps of 256 cells: 128 + 512 -> 768
    assert book["cache.1.cells"].value == 768
    assert book["kv.card"].value == row * (8192 + 768)
    assert int(book["traffic.card.8192"]) - int(book["traffic.card.0"]) == row * (8192 + 128)


def test_a_hybrid_caches_in_a_few_blocks_and_keeps_a_state_in_the_others(made: Made) -> None:
    book = write_numbers(made("qwen35moe-mtp", WHOLE | {"n_cpu_moe": 10}))
    assert book["kv.full_attention_blocks"].value == tuple(range(3, 40, 4))
    assert book["kv.card"].value == 8192 * 10 * 2 * 256 * 2 * 2
    assert book["recurrent.card"].value == 30 * (3 * (4096 + 2 * 16 * 128) + 128 * 4096) * 4
    assert "draft.total" in book


def test_a_model_without_a_cache_has_a_budget_and_no_ladder_of_types(made: Made) -> None:
    book = write_numbers(made("mamba2-2p7b", WHOLE))
    assert not [key for key in book.numbers if key.startswith(("kv.total.", "ladder."))]
    assert int(book["budget.total"]) == int(book["weights.card"]) + int(book["recurrent.card"])


# --- whether it fits -----------------------------------------------------------------------------


def estimate(rest: float) -> tuple[Fact, ...]:
    return tuple(Fact(f"estimate.{name}", value, "%", "declared", note="a test's") for name, value in (("experts", 1), ("rest", rest)))


def usable(amount: int) -> Fact:
    """Give what is usable so that the ceiling is an amount: the engine keeps 1 GiB free."""
    return Fact("card.usable", amount + GIB, "B", "declared", note="a test's")


@pytest.mark.parametrize(("over", "rest", "said"), [(0, None, "yes"), (-1, None, "no"), (0, 5, "open"), (10**9, 5, "yes"), (-1, 5, "no")])
def test_it_fits_under_the_ceiling_and_is_open_where_that_hangs_on_an_estimate(
    made: Made, over: int, rest: float | None, said: str
) -> None:
    total = 4617396480 + 8192 * 131072
    facts = (usable(total + over), *(estimate(rest) if rest else ()))
    assert fits(write_numbers(made("llama31-8b", WHOLE, facts=facts))) == said


def test_an_estimate_goes_no_further_up_than_the_file(made: Made) -> None:
    book = write_numbers(made("llama31-8b", WHOLE, facts=estimate(3)))
    assert book["estimate.weights_highest"].number * 100 == 4617396480 * 103
    far = write_numbers(made("llama31-8b", WHOLE, facts=estimate(90)))
    assert far["estimate.weights_highest"].equals(far["weights.file"])


def test_of_experts_an_estimate_is_off_by_a_share_of_all_of_them(made: Made) -> None:
    book = write_numbers(made("qwen3moe-30b-a3b", WHOLE | {"n_cpu_moe": 10}, facts=estimate(3)))
    experts, on_card = int(book["experts.all_blocks"]), int(book["experts.loaded_blocks"]) - 3760717824
    rest = int(book["weights.card"]) - on_card
    assert float(book["estimate.weights_highest"].number) == pytest.approx(on_card + experts / 100 + rest * 1.03)


def test_a_run_whose_buffers_go_beyond_what_is_usable_does_not_fit(made: Made) -> None:
    book = write_numbers(made("llama31-8b", WHOLE | {"n_ubatch": 4096, "n_batch": 4096, "flash_attn": "off", "n_ctx": 65536}))
    assert int(book["compute.card"]) > GIB
    tight = write_numbers(
        made(
            "llama31-8b",
            WHOLE | {"n_ubatch": 4096, "n_batch": 4096, "flash_attn": "off", "n_ctx": 65536},
            facts=(usable(int(book["budget.total"])),),
        )
    )
    assert tight["budget.slack"].value == 0
    assert fits(tight) == "no"
