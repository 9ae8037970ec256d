"""Which threads a guide tells, in what order, where, and in which words; and that the catalogue's threads fit every guide they reach."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from generator.catalog import Catalog
from generator.claims.scope import Situation
from generator.facts import Facts
from generator.guide.context import Sources
from generator.guide.marks import Marks
from generator.guide.prose import fill
from generator.guide.threads import PLACES, Threads, misplaced
from generator.specs import SEVERITIES, Issue, Prose, Variant

ROOT = Path(__file__).resolve().parents[2]
ISSUES = {ref: Catalog.open(ROOT).issue(ref) for ref in Catalog.open(ROOT).issues()}

NUMBERS = """
    16391 18535 19307 20978 21067 21304 22673 23321 24055 24168 24218 24485 24795 25060 25162 25318 25717 25740 25857 25859 26177 26605
    26609 26622 26663 27109 27171 27207 27215 27442 27623 27698 27717 27756 27861 27872 27894 27987 28159 28185 28196 28223 28403 28414
    28455 28524 28728 23861
"""
"""Threads of llama.cpp that two published guides name or that bear on what they say, and the one behind a trap that both miss."""

GUARANTEED = {
    "": {
        *("budget.total", "budget.ceiling", "budget.slack", "budget.reserve", "budget.card", "weights.resident", "weights.card"),
        *("weights.file", "kv.card", "settings.n_ctx", "settings.n_ubatch", "settings.n_parallel", "host.total"),
    },
    "expert_offload": {"weights.host", "settings.n_cpu_moe", "experts.block.large"},
    "layer_offload": {"weights.host", "settings.n_gpu_layers"},
    "hybrid": {"recurrent.per_sequence", "prompt_cache.entry_crossover_tokens"},
    "draft_head": {"draft.total", "weights.draft_head"},
}
"""Numbers that every guide has, and those that one has under a word."""

ANCHORS = {"fallback": "fallback", "draft-head": "draft_head"}
"""Sections of a page that it has under a word only."""

HERE = Situation(
    architecture="qwen35moe",
    backend="cuda",
    card="rtx-5070",
    compute_capability="12.0",
    build="b10666",
    words=frozenset({"moe", "hybrid", "expert_offload", "flash_attention_on", "quantised_cache", "prompt_cache", "auto_fit"}),
    flags=frozenset({"-c", "-ngl", "-ncmoe", "-fa", "-ctk", "-ctv", "-cram", "--load-mode"}),
)


def threads_of(sources: Sources, marks: Marks, here: Situation, facts: Facts | None = None) -> Threads:
    """Give the threads of a guide whose recipe says nothing of them."""
    recipe = replace(sources.recipe, issues=(), threads={})
    return Threads(sources.issues, recipe, here, marks if facts is None else replace(marks, facts=facts, claims={}))


def with_state(facts: Facts, number: int, state: str) -> Facts:
    fact = facts[f"issue.llama.cpp.{number}.state"]
    return facts.merged([replace(fact, status="gone") if state == "gone" else replace(fact, value=state)])


def numbers(issues: Iterable[Issue]) -> list[int]:
    return [issue.number for issue in issues]


def words(here: Situation, *more: str, without: str = "") -> Situation:
    return replace(here, words=(here.words | set(more)) - {without})


# --- which, and in what order --------------------------------------------------------------------


def test_a_guide_gathers_what_applies_by_what_it_costs_the_reader(sources: Sources, marks: Marks) -> None:
    # one red; then amber: one on cards of this compute capability, two on this architecture (memory and speed differ in topic order,
    # 24055 is speed), the rest by topic memory, speed, number; then the notes, the closed one on this architecture before the others
    assert numbers(threads_of(sources, marks, HERE).gathered()) == [
        26609,
        25060,
        24055,
        27872,
        25859,
        27109,
        27894,
        16391,
        23861,
        18535,
        20978,
    ]


def test_a_recipes_list_comes_first_in_its_order_and_the_rest_follows(sources: Sources, marks: Marks) -> None:
    recipe = replace(sources.recipe, issues=("llama.cpp#27109", "llama.cpp#27442", "llama.cpp#25060"), threads={})
    found = numbers(Threads(sources.issues, recipe, HERE, marks).gathered())
    assert found[:5] == [27109, 27442, 25060, 26609, 24055]
    assert len(found) == len(set(found))


GRID = [
    Situation(architecture, backend, card, capability, build, frozenset({*model, *run, *rest, "prompt_cache"}), flags)
    for (architecture, model), (backend, card, capability), run, rest, build, flags in product(
        [
            ("qwen35moe", ("moe", "hybrid", "draft_head", "vision")),
            ("qwen35", ("dense", "hybrid", "draft_head")),
            ("deepseek2", ("moe", "latent_attention")),
            ("gemma4", ("moe", "sliding_window")),
            ("llama", ("dense",)),
        ],
        [
            ("cuda", "rtx-5070", "12.0"),
            ("cuda", "rtx-4090", "8.9"),
            ("rocm", "rx-9070-xt", ""),
            ("vulkan", "rx-9070-xt", ""),
            ("sycl", "arc-b580", ""),
            ("metal", "apple-m4-16gb", ""),
        ],
        [("whole",), ("expert_offload", "auto_fit"), ("layer_offload", "auto_fit"), ("whole", "two_cards"), ("whole", "unified_memory")],
        [("flash_attention_on", "quantised_cache", "long_context"), ("flash_attention_off", "mixed_cache", "fallback")],
        ["b10666", "b10745", "v0.5.0"],
        [frozenset({"-fa"}), frozenset({"-ts", "-fitt", "-md", "-nkvo", "--moe-expert-cache"})],
    )
]


def test_the_order_does_not_hang_on_the_order_of_files(sources: Sources, marks: Marks) -> None:
    turned = replace(sources, issues=dict(reversed(list(sources.issues.items()))))
    for here in GRID:
        assert numbers(threads_of(sources, marks, here).gathered()) == numbers(threads_of(turned, marks, here).gathered())


def test_the_graver_comes_first_and_the_open_before_the_closed_for_every_reader(sources: Sources, marks: Marks) -> None:
    told = set[int]()
    for here in GRID:
        found = threads_of(sources, marks, here).gathered()
        told.update(numbers(found))
        cost = [(SEVERITIES.index(each.severity), marks.facts[f"{each.prefix}.state"].value != "open") for each in found]
        assert cost == sorted(cost), here
    assert len(told) > 30  # the grid reaches most of the catalogue


def test_a_thread_of_other_builds_is_not_told(sources: Sources, marks: Marks) -> None:
    here = words(HERE, "draft_head")
    told = {build: 28159 in numbers(threads_of(sources, marks, replace(here, build=build)).gathered()) for build in ("b10740", "b10741")}
    assert told == {"b10740": False, "b10741": True}
    assert 28159 not in numbers(threads_of(sources, marks, here).gathered())
    assert 28159 not in numbers(threads_of(sources, marks, replace(here, build="b10749")).gathered())


def test_the_trap_of_cache_types_ends_with_the_build_that_copies_them(sources: Sources, marks: Marks) -> None:
    for backend in ("cuda", "rocm"):
        here = replace(HERE, backend=backend)
        assert 27109 in numbers(threads_of(sources, marks, here).gathered())
        assert 27109 not in numbers(threads_of(sources, marks, replace(here, build="v0.5.0")).gathered())
        assert 27109 not in numbers(threads_of(sources, marks, words(here, "flash_attention_off", without="flash_attention_on")).gathered())
    assert 27109 not in numbers(threads_of(sources, marks, replace(HERE, backend="vulkan")).gathered())


def test_a_thread_that_another_one_tells_has_no_section_beside_it(sources: Sources, marks: Marks) -> None:
    mixed = words(HERE, "mixed_cache")
    assert {24485, 28455}.isdisjoint(numbers(threads_of(sources, marks, mixed).gathered()))
    alone = {ref: issue for ref, issue in sources.issues.items() if issue.number != 27109}
    assert {24485, 28455} <= set(numbers(threads_of(replace(sources, issues=alone), marks, mixed).gathered()))


def test_a_recipe_that_lists_a_thread_gets_its_section_all_the_same(sources: Sources, marks: Marks) -> None:
    recipe = replace(sources.recipe, issues=("llama.cpp#28455",), threads={})
    assert {28455, 27109} <= set(numbers(Threads(sources.issues, recipe, HERE, marks).gathered()))


# --- where ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "more", "place"),
    [
        (26609, (), "troubleshooting"),
        (25060, (), "install"),
        (27872, (), "auto_fit"),
        (25859, (), "prefill"),
        (20978, (), "prefill"),
        (27894, (), "host"),
        (24055, (), "host"),
        (27171, ("draft_head",), "auto_fit"),
        (25318, ("draft_head",), "draft_head"),
        (25717, ("vision",), "vision"),
        (27109, (), "troubleshooting"),
    ],
)
def test_a_thread_is_told_in_the_section_of_its_subject(
    sources: Sources, marks: Marks, number: int, more: tuple[str, ...], place: str
) -> None:
    told = threads_of(sources, marks, words(HERE, *more)).told()
    assert [name for name, rows in told.items() if name != "first" and str(number) in {row.get("number") for row in rows}] == [place]


def test_a_way_to_split_a_dense_model_is_told_where_the_split_is_chosen(sources: Sources, marks: Marks) -> None:
    here = replace(HERE, architecture="llama", words=frozenset({"dense", "layer_offload", "auto_fit", "flash_attention_on"}))
    assert "26622" in {row["number"] for row in threads_of(sources, marks, here).told()["auto_fit"]}


def test_the_gravest_open_thread_of_the_command_is_on_the_first_screen(sources: Sources, marks: Marks) -> None:
    assert [row["number"] for row in threads_of(sources, marks, HERE).told()["first"]] == ["26609"]
    closed = with_state(marks.facts, 26609, "closed")
    assert threads_of(sources, marks, HERE, closed).told()["first"] == []
    advised_against = replace(HERE, architecture="glm4moe", words=HERE.words - {"hybrid"} | {"draft_head"})
    assert threads_of(sources, marks, advised_against).told()["first"] == []


def test_a_grave_thread_of_the_same_model_run_otherwise_is_named_as_near(sources: Sources, marks: Marks) -> None:
    whole = words(HERE, "whole", without="expert_offload")
    assert numbers(threads_of(sources, marks, whole).near()) == [26609]
    assert list(threads_of(sources, marks, whole).told()) == list(PLACES)
    (row,) = threads_of(sources, marks, whole).told()["near"]
    assert "illegal memory access" in row["headline"]
    assert "open, checked" in row["state"]
    for here in (HERE, replace(whole, backend="metal"), replace(whole, architecture="qwen3moe")):
        assert threads_of(sources, marks, here).near() == []
    assert threads_of(sources, marks, whole, with_state(marks.facts, 26609, "closed")).near() == []


# --- in which words ------------------------------------------------------------------------------


def text_of(threads: Threads, number: int) -> str:
    """Give a thread's rows as one text: headline, state and sections."""
    rows = [row for place, rows in threads.told().items() if place not in {"first", "near"} for row in rows]
    return " ".join(row[part] for row in rows if row["number"] == str(number) for part in ("headline", "state", "text"))


def test_what_closing_means_is_told_of_a_closed_thread_only(sources: Sources, marks: Marks) -> None:
    assert "Closing is not fixing" not in text_of(threads_of(sources, marks, HERE), 26609)
    closed = threads_of(sources, marks, HERE, with_state(marks.facts, 26609, "closed"))
    assert "Closing is not fixing" in text_of(closed, 26609)
    assert "closed, checked" in text_of(closed, 26609)
    assert numbers(closed.gathered())[0] == 26609  # still the gravest


@pytest.mark.parametrize(
    ("state", "said", "silent"),
    [
        ("open", "it is in no build yet", "was not merged"),
        ("closed", "was not merged", "in no build yet"),
        ("merged", "look from which build on", "in no build yet"),
        ("gone", "gone from the tracker", "was not merged"),
    ],
)
def test_a_proposal_is_told_as_what_has_become_of_it(sources: Sources, marks: Marks, state: str, said: str, silent: str) -> None:
    here = replace(HERE, flags=HERE.flags | {"--prefetch-experts-slots"})
    text = text_of(threads_of(sources, marks, here, with_state(marks.facts, 28414, state)), 28414)
    assert said in text
    assert silent not in text


def test_a_variant_is_told_to_the_readers_it_is_for(sources: Sources, marks: Marks) -> None:
    assert "half of the pair is the trap" in text_of(threads_of(sources, marks, words(HERE, without="quantised_cache")), 27109)
    assert "in the default set and equal" in text_of(threads_of(sources, marks, HERE), 27109)
    assert "so it needs a build with" in text_of(threads_of(sources, marks, words(HERE, "mixed_cache")), 27109)
    assert "no report of one was seen" in text_of(threads_of(sources, marks, replace(HERE, backend="rocm")), 27109)


def test_a_recipes_own_words_stand_instead_of_a_section(sources: Sources, marks: Marks) -> None:
    own = {"llama.cpp#27109": {"advice": Prose("Ask the neighbour, at {settings.n_ctx}.", "recipe.yml", 1)}}
    recipe = replace(sources.recipe, issues=(), threads=own)
    text = text_of(Threads(sources.issues, recipe, HERE, marks), 27109)
    assert "Ask the neighbour, at [65,536 tokens](#settings.n_ctx)." in text
    assert "in the default set" not in text
    assert "no error, no line in the log" in text  # the other sections stay


def test_a_recipe_may_list_threads_of_other_models_and_not_of_other_cards(sources: Sources) -> None:
    here = replace(HERE, architecture="llama")
    recipe = replace(sources.recipe, issues=("llama.cpp#26609", "llama.cpp#25162", "llama.cpp#26663", "llama.cpp#1"), threads={})
    found = list(misplaced(recipe, sources.issues, here))
    assert [place for place, _, _ in found] == ["issues[2]", "issues[3]"]
    assert "other cards" in found[0][1]
    assert "no thread 'llama.cpp#1'" in found[1][1]


# --- the catalogue's threads ---------------------------------------------------------------------


def test_every_thread_has_its_file() -> None:
    assert sorted(ISSUES) == sorted(f"llama.cpp#{number}" for number in NUMBERS.split())


@pytest.mark.parametrize("issue", ISSUES.values(), ids=ISSUES)
def test_a_thread_says_what_is_reported_what_to_do_and_what_closing_means(issue: Issue) -> None:
    assert {"headline", "report", "advice", "if closed"} <= set(issue.sections)
    if issue.severity != "note":
        assert {"established", "not established"} & set(issue.sections)


@pytest.mark.parametrize("issue", ISSUES.values(), ids=ISSUES)
def test_a_thread_names_only_numbers_and_sections_that_its_readers_pages_have(issue: Issue) -> None:
    own = {fact.key.removeprefix(f"{issue.prefix}.") for fact in issue.facts}
    for name, variants in issue.sections.items():
        for variant in variants:
            held = {"", *issue.applies.techniques, *variant.when}
            known = own.union({"model", "card", "build", "state", "checked"}, *(GUARANTEED.get(word, ()) for word in held))
            assert named(variant) <= known, (name, variant.when)
            for anchor in re.findall(r"\]\(#([a-z-]+)\)", variant.prose.text):
                assert ANCHORS.get(anchor, "") in held, (name, variant.when, anchor)


def named(variant: Variant) -> set[str]:
    """Give the keys of facts and numbers that a section names."""
    found = set[str]()

    def look(content: str) -> str:
        word, _, rest = content.partition(" ")
        if not rest or word in {"checked", "day", "claim"}:
            found.add((rest or word).split("|")[0])
        return ""

    fill(variant.prose, look)
    return found


@pytest.mark.parametrize("issue", ISSUES.values(), ids=ISSUES)
def test_a_thread_that_others_tell_is_told_by_each_of_them(issue: Issue) -> None:
    for number in issue.told_in:
        other = ISSUES[f"llama.cpp#{number}"]
        texts = [variant.prose.text for variants in other.sections.values() for variant in variants]
        assert any(f"{{issue {issue.number}}}" in text for text in texts), other.ref


@pytest.mark.parametrize("issue", ISSUES.values(), ids=ISSUES)
def test_every_fact_of_a_thread_is_dated(issue: Issue) -> None:
    # a title of our own words, of a thread nobody could read again, is the one that cannot be
    undated = [fact.key for fact in issue.facts if fact.checked is None]
    assert undated == (["issue.llama.cpp.25857.title"] if issue.number == 25857 else [])
