from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from generator.errors import UnknownNameError
from generator.facts import Source
from generator.specs import Applies, Budget, Card, Citation, CudaFloor, CudaStep, Engine, Issue, MemoryKind, Model, Recipe

Sample = Callable[[str], Any]
Changed = Callable[..., Any]


def test_a_card_has_its_facts_with_source_and_day(sample: Sample) -> None:
    card = sample("card")
    assert isinstance(card, Card)
    assert (card.name, card.vendor, card.backend, card.compute_capability) == ("tiny-8", "nvidia", "cuda", "8.6")
    memory, usable, silent = (card.facts[f"card.{name}"] for name in ("memory", "usable", "memory_bandwidth"))
    assert (memory.value, memory.unit, memory.origin, memory.source) == (8, "GiB", "transcribed", Source("https://example.org/tiny-8"))
    assert (memory.checked, int(memory.quantity())) == (date(2026, 1, 2), 8 * 2**30)
    assert (usable.origin, usable.source, usable.checked, usable.note) == ("declared", Source(""), None, "what is left to a run")
    assert int(usable.quantity()) == 15 * 2**29
    assert (silent.known, silent.value, silent.status, silent.checked) == (False, None, "not_published", date(2026, 1, 2))
    assert card.facts["card.memory_peak"].source.url == "https://example.org/run"
    assert card.facts["card.memory_peak"].checked == date(2026, 1, 3)
    assert card.facts["card.heard"].source == Source("", title="a talk")


def test_a_facts_own_words_are_a_quote_under_its_name(sample: Sample) -> None:
    card = sample("card")
    assert card.quote("memory_peak").text == "peaked at 7123 MiB"
    assert card.quote("memory_peak").source.url == "https://example.org/run"
    assert card.quote("memory_peak").checked == date(2026, 1, 3)
    slogan = card.quote("slogan")
    assert (slogan.text, slogan.said_in, slogan.source.url) == ("tiny but mighty", "front page, 2026-01-02", "https://example.org/tiny-8")
    with pytest.raises(UnknownNameError, match="did you mean 'slogan'"):
        card.quote("slogans")


def test_prose_knows_the_line_it_starts_in(sample: Sample) -> None:
    note = sample("card").notes["usable"]
    assert note.text == "First line {memory}.\n\nThird line."
    assert note.file == "cards/tiny-8.yml"
    rows = (Path(__file__).parents[1] / "catalogue" / "recipes" / note.file).read_text(encoding="utf-8").split("\n")
    assert rows[note.line - 1] == "    First line {memory}."


def test_an_engine_gives_addresses_of_its_citations(sample: Sample) -> None:
    engine = sample("engine")
    assert isinstance(engine, Engine)
    base = "https://github.com/ggml-org/llama.cpp/blob/b100"
    assert engine.url("fit_margin") == f"{base}/common/common.h#L481"
    assert engine.url("list") == f"{base}/ggml/CMakeLists.txt#L40-L52"
    assert engine.url("n_ubatch") == f"{base}/common/common.h"
    assert engine.citation("fit_margin") == Citation(
        name="fit_margin",
        path="common/common.h",
        pattern="fit_params_target",
        line=481,
        end_line=None,
        checked=date(2026, 1, 2),
        quote="fit_params_target = 1024",
        note="",
        read_elsewhere=None,
    )
    with pytest.raises(UnknownNameError, match="did you mean 'fit_margin'"):
        engine.citation("fit_margins")
    with pytest.raises(UnknownNameError, match="no flag is called 'n_batch'"):
        engine.flag("n_batch")


def test_a_fact_that_cites_the_source_has_the_citations_address_and_day(sample: Sample) -> None:
    facts = sample("engine").facts
    at_pin, elsewhere = facts["engine.fit_margin"], facts["engine.n_ubatch_default"]
    assert at_pin.source.url == "https://github.com/ggml-org/llama.cpp/blob/b100/common/common.h#L481"
    assert (at_pin.source.purl, at_pin.source.revision) == ("pkg:github/ggml-org/llama.cpp@b100", "b100")
    assert at_pin.checked == date(2026, 1, 2)
    assert (elsewhere.source.title, elsewhere.source.purl, elsewhere.checked) == ("another copy", "", date(2026, 1, 5))


def test_the_default_none_means_nothing_unless_it_is_a_word_of_the_setting(sample: Sample) -> None:
    engine = sample("engine")
    assert engine.flag("n_cpu_moe").default is None
    assert engine.flag("load_mode").default == "none"
    assert engine.flag("n_ubatch").default == 512
    assert engine.flag("kv_offload").negated == ("-nkvo", "--no-kv-offload")
    assert engine.flag("n_cpu_moe").names == ("-ncmoe", "--n-cpu-moe")


def test_an_engine_says_which_toolkit_a_card_needs(sample: Sample) -> None:
    cuda = sample("engine").cuda
    assert cuda.floors == (CudaFloor("12.0", "12.8", "120a-real", "list"),)
    assert cuda.fallback_list == (CudaStep("", "13", ("50-virtual", "61-virtual"), "list"), CudaStep("12.8", "", ("120a-real",), "list"))


def test_an_engine_says_what_its_backends_do_and_since_when_it_runs_an_architecture(sample: Sample) -> None:
    engine = sample("engine")
    cuda = engine.backend("cuda")
    assert (cuda.cache_types, cuda.one_type, cuda.all_types) == (("f16", "q8_0"), True, "GGML_CUDA_FA_ALL_QUANTS")
    with pytest.raises(UnknownNameError, match="no backend is called 'metal'"):
        engine.backend("metal")
    floor = engine.architectures["llama"].floor
    assert floor == engine.facts["engine.floor.llama"]
    assert (floor.value, floor.source.url, floor.checked) == ("b1", "https://github.com/ggml-org/llama.cpp/pull/1", date(2026, 1, 2))
    assert engine.architectures["llama"].seen is None


def test_an_engine_that_is_only_compared_with_lends_its_facts_under_its_own_name(sample: Sample) -> None:
    facts = sample("engine").beside()
    assert facts["llama.cpp.newest_build"].value == "b101"
    assert "engine.newest_build" not in facts


def test_a_model_has_quants_with_sizes_among_its_facts(sample: Sample) -> None:
    model = sample("model")
    assert isinstance(model, Model)
    quant = model.quant("Q4_K_M")
    assert (quant.name, quant.file, quant.fidelity) == ("Q4_K_M", "tiny-Q4_K_M.gguf", "header")
    assert quant.size is not None
    assert quant.size == model.facts["file.q4_k_m.size"]
    assert int(quant.size.quantity()) == 1000
    assert model.quant("IQ2_M").size is None
    assert [name for name, quant in model.quants.items() if quant.converted] == ["Q8_0"]
    assert model.projector is not None
    assert model.projector.size == model.facts["model.projector.size"]
    assert model.facts["model.image_words"].value == 0
    assert (model.sampling["model.sampling.temp"].value, model.sampling["model.sampling.top_k"].value) == (1.0, 20)
    with pytest.raises(UnknownNameError, match="no quant is called 'Q4_K_S'; did you mean 'Q4_K_M'"):
        model.quant("Q4_K_S")


def test_a_models_shape_is_facts_with_the_sources_of_its_file(sample: Sample) -> None:
    facts = sample("model").facts
    assert {fact.key: fact.value for fact in facts.under("config")} == {
        "config.block_count": 4,
        "config.tied_embeddings": False,
        "config.attention.head_count_kv": [2, 2, 0, 2],
    }
    assert facts["config.block_count"].source.url == "https://example.org/tiny"
    assert facts["config.attention.head_count_kv"].source.url == "https://example.org/tiny/config.json"
    assert {fact.checked for fact in facts.under("config")} == {date(2026, 1, 2)}


def test_a_recipe_keeps_its_settings_in_order_and_as_typed(sample: Sample) -> None:
    recipe = sample("recipe")
    assert isinstance(recipe, Recipe)
    assert list(recipe.settings.items()) == [
        ("n_ctx", 4096),
        ("n_cpu_moe", "auto"),
        ("flash_attn", "on"),
        ("type_k", "q8_0"),
        ("type_v", "q8_0"),
        ("load_mode", "none"),
        ("kv_offload", True),
        ("temp", 1.0),
    ]
    assert (recipe.fallbacks[0].name, recipe.fallbacks[0].settings) == ("attention off", {"flash_attn": "off", "type_v": "f16"})
    assert recipe.issues == ("llama.cpp#7",)


def test_a_recipe_expands_its_ladder_each_row_once(sample: Sample) -> None:
    recipe = sample("recipe")
    assert recipe.ladder.rows == ((1, 4096), (1, 8192), (2, 4096), (2, 8192), (3, 512))
    assert recipe.ladder.cache == (("q8_0", "q8_0"), ("f16", "f16"))
    assert recipe.scores == ((4096, 512),)
    assert (recipe.draft.n_max, recipe.draft.type_k) == (3, "f16")
    assert recipe.memory_kinds == (MemoryKind("DDR4-3200", 3200, 2),)
    assert [int(size.quantity()) for size in recipe.machine.sizes] == [16 * 2**30, 32 * 2**30]
    assert int(recipe.machine.system.quantity()) == 4 * 2**30


def test_a_reserve_is_a_size_or_the_engines_own(sample: Sample, changed: Changed) -> None:
    reserve = sample("recipe").budget.reserve
    assert (reserve.key, int(reserve.quantity()), reserve.origin) == ("recipe.reserve", 512 * 2**20, "declared")
    assert int(sample("recipe").fallback_margin.quantity()) == 256 * 2**20
    assert changed("recipe", "reserve: 512 MiB", "reserve: engine").budget == Budget("published", None)
    assert changed("recipe", "budget:\n  policy: published\n  reserve: 512 MiB\n", "").budget == Budget("engine", None)
    assert int(changed("recipe", "fallback_margin: 256 MiB\n", "").fallback_margin.quantity()) == 0


def test_a_spec_names_the_line_of_a_key(sample: Sample) -> None:
    recipe = sample("recipe")
    assert recipe.where("settings.type_v") == "models/tiny/tiny-8.yml:12: settings.type_v"
    assert recipe.where("fallbacks[0].settings.type_v").startswith("models/tiny/tiny-8.yml:23")
    assert recipe.where("nothing.of.that.name") == "models/tiny/tiny-8.yml"


def test_an_issue_says_what_it_is_about(sample: Sample, changed: Changed) -> None:
    issue = sample("issue")
    assert isinstance(issue, Issue)
    assert (issue.ref, issue.prefix, issue.url) == ("llama.cpp#7", "issue.llama.cpp.7", "https://github.com/ggml-org/llama.cpp/pull/7")
    assert issue.applies == Applies(
        architectures=("llama",),
        backends=("cuda",),
        compute_capabilities=("8.6",),
        techniques=("expert_offload", "flash_attention_on"),
        confirmed_builds=("b90", "b91"),
    )
    assert issue.symptom == "The server dies"
    assert changed("issue", "symptom: The server dies\n", "").symptom == "It dies: often"
    assert changed("issue", "kind: pull_request", "kind: issue").url == "https://github.com/ggml-org/llama.cpp/issues/7"


def test_facts_and_quotes_of_an_issue_come_from_its_thread(sample: Sample) -> None:
    issue = sample("issue")
    assert issue.facts["issue.llama.cpp.7.state"].source.url == issue.url
    assert issue.facts["issue.llama.cpp.7.comments"].source.url == "https://example.org/copy"
    assert issue.quote("cause").source.url == issue.url


def test_sections_of_an_issue_keep_their_lines_and_fences(sample: Sample) -> None:
    issue = sample("issue")
    assert list(issue.sections) == ["headline", "report", "not established"]
    told = {name: (variant.prose.text, variant.prose.line, variant.when) for name, (variant,) in issue.sections.items()}
    assert told == {
        "headline": ("It dies with {comments} comments", 24, ()),
        "report": ("First.\n\n```\n## not a heading\n```", 28, ()),
        "not established": ("Much.", 36, ()),
    }


def test_a_section_has_variants_and_the_first_whose_conditions_hold_is_told(changed: Changed) -> None:
    more = "## advice when expert_offload,  not cuda\n\nBoth.\n\n## advice when merged\n\nIn.\n\n## advice\n\nAny.\n\n## Not established"
    issue = changed("issue", "## Not established", more)
    assert [variant.when for variant in issue.sections["advice"]] == [("expert_offload", "not cuda"), ("merged",), ()]
    for holding, text in {("expert_offload", "not cuda", "merged"): "Both.", ("expert_offload", "merged"): "In.", (): "Any."}.items():
        assert issue.section("advice", holding.__contains__).text == text
    assert issue.section("established", lambda _: True) is None


def test_the_scope_of_an_issue_has_builds_flags_and_what_a_reader_must_not_have(changed: Changed) -> None:
    issue = changed(
        "issue",
        "builds: {confirmed: [b90, b91]}",
        "builds: {from: b80, before: v0.5.0}\n  flags: [-ts, --tensor-split]",
        "[expert_offload, flash_attention_on]",
        "[not draft_head]",
        "facts:\n",
        "told_in: [8, 9]\nfacts:\n",
    )
    assert (issue.applies.from_build, issue.applies.before_build, issue.applies.confirmed_builds) == ("b80", "v0.5.0", ())
    assert issue.applies.flags == ("-ts", "--tensor-split")
    assert issue.applies.techniques == ("not draft_head",)
    assert issue.told_in == (8, 9)
