"""Recorded runs of many machines: what they printed is the expectation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.measure.agreement import AGREES, DIFFERS, NOT_COMPARED, Agreement, Comparison, compare, compare_folder
from generator.measure.agreement_report import agreement_as_dict, agreement_as_text, counts_by_term
from generator.measure.cases import Case, read_case
from generator.measure.rules import RULES

CASES = Path(__file__).parent / "data" / "cases"
ALL = Path(__file__).resolve().parents[3] / "shared" / "engine-logs"


@cache
def read(name: str) -> Case:
    return read_case(CASES / f"{name}.yml")


def case(name: str, **changed: object) -> Case:
    """Give a case, with some of its settings or metadata changed."""
    found = read(name)
    metadata = {key: value for key, value in changed.items() if "." in key}
    settings: dict[str, Any] = {key: value for key, value in changed.items() if "." not in key}
    return replace(found, metadata={**found.metadata, **metadata}, settings={**found.settings, **settings})


def terms(comparison: Comparison) -> dict[str, str]:
    return {term.name: term.status for term in comparison.terms if term.name not in {"weights", "compute"}}


@pytest.mark.parametrize(
    ("name", "agreeing", "rules"),
    [
        ("gpt-oss-windows", {"KV", "K", "V"}, []),
        ("glm45-air-before-its-head", {"KV", "K", "V"}, []),
        ("glm45-air-fork-september", {"KV", "K", "V"}, ["cache for a draft head's blocks"]),
        ("gemma3-fork-whole-window", {"KV", "K", "V"}, ["whole window"]),
        ("deepseek-r1-fork-latent", {"KV", "K"}, ["latent cache by -mla"]),
        ("gemma4-turboquant", {"KV", "K", "V"}, ["TurboQuant's windows in f16"]),
        ("qwen36-35b-state", {"KV", "K", "V", "state", "R", "S"}, []),
        ("qwen36-27b-draft-head", {"KV", "state", "draft KV"}, []),
        ("qwen36-27b-before-rollback", {"KV", "K", "V", "state", "R", "S"}, ["no copies of a recurrent state"]),
        ("minimax-m2-breakdown", {"context"}, []),
    ],
)
def test_what_a_machine_printed_is_what_we_calculate(name: str, agreeing: set[str], rules: list[str]) -> None:
    found = compare(case(name))
    assert terms(found) == dict.fromkeys(agreeing, AGREES)
    assert [rule.name for rule in found.rules] == rules


@pytest.mark.parametrize("name", ["gpt-oss-windows", "deepseek-r1-fork-latent", "minimax-m2-breakdown"])
def test_another_context_than_the_one_that_ran_does_not_agree(name: str) -> None:
    found = compare(case(name, n_ctx=int(str(case(name).settings["n_ctx"])) + 256))
    assert found.status == DIFFERS
    assert all(term.printed.difference(term.ours) > 0 for term in found.terms if term.status == DIFFERS and term.printed and term.ours)


def test_without_its_rule_a_fork_s_figures_do_not_agree() -> None:
    latent = case("deepseek-r1-fork-latent", cache_type_v="q8_0")
    for found in (case("gemma3-fork-whole-window"), case("glm45-air-fork-september"), latent):
        assert compare(replace(found, family="llama.cpp")).status == DIFFERS, found.name


def test_a_rule_ends_with_its_build_or_where_no_build_is_known_with_its_day() -> None:
    [rule] = [rule for rule in RULES if rule.name == "cache for a draft head's blocks"]
    dated = case("glm45-air-fork-september")
    assert dated.day is not None
    for changed, holds in (
        (dated, True),
        (replace(dated, day=rule.until_day), False),
        (replace(dated, day=None), False),
        (replace(dated, build="b3902"), True),
        (replace(dated, build="b3918"), False),
        (replace(dated, family="llama.cpp"), False),
    ):
        assert rule.holds_for(changed) == holds


def test_a_latent_s_transposed_copy_is_kept_by_mode_1_without_flash_attention() -> None:
    # ikawrakow/ik_llama.cpp src/llama.cpp, `llama_kv_cache_init`: kv_lora_rank elements more a cell, in the type of V
    found = compare(case("deepseek-r1-fork-latent", mla_attn=1, flash_attn=0, cache_type_v="f16"))
    ours = {term.name: term.ours for term in found.terms}
    k = 61 * 32768 * (512 + 64) // 32 * 34
    assert ours["K"] == k
    assert ours["KV"] == k + 61 * 32768 * 512 * 2


def test_a_buffer_s_padding_does_not_decide_where_the_total_is_printed() -> None:
    found = case("deepseek-r1-fork-latent")
    assert sum(figure.low for _, figure in found.reported.kv_buffers) > 1166.63 * 2**20
    assert compare(found).status == AGREES


def test_buffers_decide_where_lines_of_some_caches_are_missing() -> None:
    found = case("gpt-oss-windows")
    one_line = replace(found, reported=replace(found.reported, kv_totals=found.reported.kv_totals[:1]))
    assert terms(compare(one_line)) == {"KV": AGREES}


def test_what_the_metadata_do_not_tell_is_not_compared_and_says_why() -> None:
    found = compare(case("falcon-h1-unknown-state"))
    assert (found.status, terms(found)) == (NOT_COMPARED, dict.fromkeys(("KV", "K", "V"), NOT_COMPARED))
    assert "falcon-h1.attention.head_count" in found.error
    assert all(term.why for term in found.terms)


@pytest.mark.parametrize(
    ("key", "value"), [("n_ctx", None), ("gpt-oss.attention.head_count_kv", "eight"), ("general.architecture", "unheard-of")]
)
def test_a_complete_case_that_cannot_be_predicted_fails(key: str, value: object) -> None:
    found = Agreement((compare(case("gpt-oss-windows", **{key: value})),), (), ())
    assert (len(found.failed), found.exit_code) == (1, 3)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8), st.lists(st.integers(-2, 99), max_size=4)
)


@given(st.sampled_from(sorted(path.stem for path in CASES.glob("*.yml") if path.stem != "bench-table")), st.data())
def test_any_metadata_are_compared_or_said_to_be_wrong(name: str, data: st.DataObject) -> None:
    found = case(name)
    keys = data.draw(st.lists(st.sampled_from(sorted(found.metadata)), max_size=3))
    changed = {key: data.draw(SCALARS) for key in keys}
    settings = {key: data.draw(SCALARS) for key in data.draw(st.lists(st.sampled_from(sorted(found.settings)), max_size=2))}
    result = compare(replace(found, metadata={**found.metadata, **changed}, settings={**found.settings, **settings}))
    assert result.status in {AGREES, DIFFERS, NOT_COMPARED}


def test_the_report_names_rules_with_their_builds_and_counts_by_term() -> None:
    found = compare_folder(CASES)
    text = "\n".join(agreement_as_text(found))
    assert "by another rule: cache for a draft head's blocks (ik_llama.cpp before b3918)" in text
    assert "10 of 10 complete cases agree" in text
    assert (found.exit_code, found.others, counts_by_term(found)["KV"]) == (0, ("bench-table",), {AGREES: 9})
    rows = agreement_as_dict(found)
    assert (rows["complete"], rows["agree"], rows["failed"]) == (10, 10, [])


def test_the_report_says_by_how_much_a_figure_is_off() -> None:
    # 256 cells more of 24 KiB each: 6 MiB
    lines = list(agreement_as_text(Agreement((compare(case("gpt-oss-windows", n_ctx=131072 + 256)),), (), ())))
    [line] = [line for line in lines if line.strip().startswith("KV:")]
    assert "printed 3072.00 MiB + 18.00 MiB, ours 3,096.00 MiB" in line


def test_a_file_that_cannot_be_read_is_reported_and_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "good.yml").write_text((CASES / "gpt-oss-windows.yml").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "bad.yml").write_text("engine: [", encoding="utf-8")
    found = compare_folder(tmp_path)
    assert (found.exit_code, len(found.comparisons)) == (2, 1)
    assert any("bad.yml" in line for line in agreement_as_text(found))


@pytest.mark.skipif(not ALL.is_dir(), reason="the folder of recorded runs is not beside this repository")
def test_every_complete_recorded_run_agrees() -> None:
    found = compare_folder(ALL)
    assert [each.case.name for each in found.failed] == []
    assert not found.errors
    assert sum(each.case.complete for each in found.comparisons) == 42
