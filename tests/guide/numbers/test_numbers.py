from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from generator.facts import Fact, Facts
from generator.guide.context import Sources
from generator.guide.ledger import Book
from generator.guide.numbers import Row, Subject, rung_total, write_numbers
from generator.guide.working import write_working
from generator.memory.budget import Policy, Pool
from generator.memory.plan import make_plan
from generator.memory.settings import Settings, parse_flags
from generator.quantity import BYTE, ONE, Quantity
from generator.specs.recipe import Budget, Draft, Fallback
from tests.memory.models import hybrid

Changed = Callable[..., Book]


@pytest.fixture
def changed(subject: Subject) -> Changed:
    """Give the numbers of the recipe with some of its settings, or other parts of it, replaced."""

    def numbers(settings: Mapping[str, Any] | None = None, facts: Facts | None = None, **parts: Any) -> Book:
        recipe = replace(subject.recipe, settings={**subject.recipe.settings, **(settings or {})}, **parts)
        return write_numbers(Subject(recipe, Settings.from_recipe(recipe.settings), subject.model, facts or subject.facts))

    return numbers


def test_every_number_of_the_guide_is_what_its_derivation_gives(numbers: Book) -> None:
    for key, quantity in numbers.numbers.items():
        assert quantity.recomputed() == quantity.value, key
        assert quantity.key == key


def test_every_number_of_the_guide_can_be_said(numbers: Book) -> None:
    for key in numbers.numbers:
        assert numbers.text(key)


def test_the_cache_and_the_state_follow_from_the_header(numbers: Book) -> None:
    # 10 of 40 blocks keep a cache, of 2 key heads of 256; q8_0 stores 32 elements in 34 bytes, f16 one in 2.
    assert numbers["kv.bytes_per_token.q8_0/q8_0"].value == 10 * 2 * (256 // 32 * 34) * 2 == 10880
    assert numbers["kv.bytes_per_token.q8_0/f16"].value == 10 * 2 * (256 // 32 * 34 + 256 * 2) == 15680
    # 30 blocks keep a state in f32: 3 columns of a convolution over 4096 + 2 * 16 * 128 channels, and 128 x 4096.
    assert numbers["recurrent.per_block"].value == (3 * (4096 + 2 * 16 * 128) + 128 * 4096) * 4 == 2195456
    assert numbers["recurrent.total"].value == 30 * 2195456


def test_the_total_is_the_sum_of_what_is_on_the_card_and_the_policies_differ_by_the_input_embedding(numbers: Book) -> None:
    parts = [numbers[key] for key in ("weights.resident", "kv.total.q8_0/q8_0", "recurrent.total")]
    assert int(numbers["budget.total"]) == sum(map(int, parts)) - int(numbers["weights.host"])
    assert int(numbers["budget.total"]) - int(numbers["budget.engine.total"]) == int(numbers["weights.input_embedding"])
    assert int(numbers["budget.ceiling"]) == 11 * 2**30 - 2**30
    assert int(numbers["budget.slack"]) == int(numbers["budget.ceiling"]) - int(numbers["budget.total"])


def test_under_the_engines_policy_the_same_keys_say_the_other_sum(numbers: Book, changed: Changed) -> None:
    engine = changed(budget=Budget("engine"))
    assert engine["budget.total"].equals(numbers["budget.engine.total"])
    assert engine["budget.published.total"].equals(numbers["budget.total"])
    assert "budget.engine.total" not in engine
    assert engine["fallback.shallowest_n_cpu_moe"].value == numbers["fallback.engine.shallowest_n_cpu_moe"].value


def test_a_reserve_of_the_recipe_replaces_the_engines(changed: Changed) -> None:
    budget = Budget("published", Fact("recipe.reserve", 512, "MiB", "declared", note="the recipe's reserve"))
    book = changed(budget=budget)
    assert book["budget.reserve"].value == 512 * 2**20
    assert int(book["budget.ceiling"]) == 11 * 2**30 - 512 * 2**20


def test_every_sequence_keeps_a_state_of_its_own_and_shares_the_cache(numbers: Book, changed: Changed) -> None:
    four = changed({"n_parallel": 4})
    assert int(four["recurrent.total"]) == 4 * int(numbers["recurrent.total"])
    assert four["kv.total.q8_0/q8_0"].equals(numbers["kv.total.q8_0/q8_0"])


def test_a_setting_is_said_with_the_decimals_it_was_written_with(changed: Changed) -> None:
    book = changed({"min_p": 0.00001, "temp": 0.7})
    assert (book.text("settings.min_p"), book.text("settings.temp"), book.text("settings.top_k")) == ("0.00001", "0.7", "20")


def test_a_context_is_padded_to_whole_cells(changed: Changed) -> None:
    book = changed({"n_ctx": 1000})
    assert book["settings.n_ctx"].value == 1000
    assert book["kv.cells"].value == 1024
    assert book["kv.total.q8_0/q8_0"].value == 1024 * 10880


def test_a_deeper_offload_moves_the_block_it_names(numbers: Book, changed: Changed) -> None:
    deeper = changed({"n_cpu_moe": 27})
    # block 26 is no large one: its three expert tensors take 452,984,832 B
    assert int(deeper["weights.host"]) - int(numbers["weights.host"]) == 452984832
    assert int(numbers["weights.card"]) - int(deeper["weights.card"]) == 452984832


def test_the_rung_of_the_recipe_is_its_total(numbers: Book, subject: Subject) -> None:
    own = Row(26, 65536)
    assert rung_total(numbers, subject, own, ("q8_0", "q8_0")).equals(numbers["budget.total"])
    assert rung_total(numbers, subject, own, ("q8_0", "q8_0"), Policy.ENGINE).equals(numbers["budget.engine.total"])
    assert numbers["ladder.26@65536.q8_0/q8_0"].equals(numbers["budget.total"])


def test_a_fallback_stands_on_its_own_depth_context_and_cache_types(changed: Changed, subject: Subject) -> None:
    short = Fallback("shorter", {"n_ctx": 32768})
    bare = Fallback("bare", {"flash_attn": "off", "type_v": "bf16", "n_cpu_moe": 28})
    book = changed(fallbacks=(short, bare))
    assert "ladder.26@32768.q8_0/q8_0" in book
    assert "ladder.28@65536.q8_0/bf16" in book
    assert int(book["ladder.26@32768.q8_0/q8_0"]) == int(book["budget.total"]) - 32768 * 10880
    given = Subject(replace(subject.recipe, fallbacks=(short, bare)), subject.settings, subject.model, subject.facts)
    assert [(step.n_cpu_moe, step.n_ctx, step.type_k, step.type_v) for step in given.fallbacks] == [
        (26, 32768, "q8_0", "q8_0"),
        (28, 65536, "q8_0", "bf16"),
    ]


def test_what_no_depth_can_hold_has_no_shallowest_one(changed: Changed) -> None:
    assert "fallback.shallowest_n_cpu_moe" not in changed({"n_ctx": 1048576})


def test_a_machine_that_is_not_among_the_sizes_is_left_out(changed: Changed, sources: Sources) -> None:
    machine = sources.recipe.machine
    small = changed(machine=replace(machine, sizes=machine.sizes[:1]))
    assert "host.machine" not in small
    assert small["host.too_small"].value == 16 * 2**30
    large = changed(machine=replace(machine, sizes=machine.sizes[1:]))
    assert large["host.machine"].value == 32 * 2**30
    assert "host.too_small" not in large


def test_without_a_limit_the_prompt_cache_is_left_out_of_the_sum(numbers: Book, changed: Changed) -> None:
    book = changed({"cache_ram": -1})
    assert "prompt_cache.limit" not in book
    assert int(numbers["host.total"]) - int(book["host.total"]) == 2048 * 2**20


def test_the_sizes_of_other_quants_are_told_whatever_they_are_called(changed: Changed, subject: Subject) -> None:
    odd = Fact("file.ud-q4.5_k.size", 7, "MiB", checked=subject.facts["file.iq2_m.size"].checked)
    other = Fact("file.ud-q4.5_k.sha256", "00")
    book = changed(facts=subject.facts.merged([odd, other]))
    assert book["quants.ud-q4.5_k.size"].value == 7 * 2**20
    assert "quants.q4_k_m.size" not in book
    assert book["quants.iq2_m.size"].value == 12543404960


def test_a_draft_head_is_priced_at_the_engines_defaults_where_the_recipe_does_not_say(numbers: Book, changed: Changed) -> None:
    assert changed(draft=None)["draft.total"].equals(numbers["draft.total"])  # the recipe says 3 and f16 too
    assert int(changed(draft=Draft(1, "f16", "f16"))["draft.total"]) < int(numbers["draft.total"])


def test_a_draft_head_that_is_loaded_is_no_price_of_its_own(changed: Changed) -> None:
    assert not [key for key in changed({"spec_type": "draft-mtp"}).numbers if key.startswith("draft.")]


def test_working_buffers_that_are_not_known_are_not_in_the_book() -> None:
    plan, book = make_plan(hybrid(), parse_flags("-ngl 99 -c 1000 -np 1", "llama-server")), Book()
    assert plan.unknown_graph
    gibibyte = Quantity.constant(2**30, BYTE)
    write_working(book, plan, Pool.of(gibibyte * Quantity.constant(8, ONE), gibibyte), None)
    assert "compute.card" not in book
    assert "compute.slack" not in book
