from __future__ import annotations

import re

import pytest

from generator.build import Guide
from generator.errors import UnknownNameError
from generator.guide.explain import explained, summary


def tree(guide: Guide, key: str) -> list[str]:
    return list(explained(guide.ledger, key))


def test_the_total_is_explained_down_to_the_header_with_source_and_date(guide: Guide) -> None:
    lines = tree(guide, "budget.total")
    total = guide.ledger["budget.total"]
    assert lines[0] == f"budget.total: 8.891 GiB ({total.quantity.value} B) = {total.formula}"
    assert [line.strip().partition(":")[0] for line in lines if re.match(r"  \S", line)] == list(total.inputs)
    table = next(index for index, line in enumerate(lines) if line.strip().startswith("header.q4_k_m.tensors:"))
    assert lines[table].endswith("(reconstructed)")
    below = "\n".join(lines[table : table + 3])
    assert "source: https://huggingface.co/bartowski/apodex_Apodex-1.1-mini-GGUF" in below
    assert "checked 2026-08-31" in below


def test_every_line_of_a_tree_ends_in_facts_or_in_what_was_told(guide: Guide) -> None:
    ledger = guide.ledger
    for key in ("budget.slack", "crossover.65536", "fallback.shallowest_n_cpu_moe", "memory.0.ceiling", "draft.total"):
        told = set()
        lines = tree(guide, key)
        for line in lines:
            match = re.match(r" *([^ :]+): ", line)
            if match is None or match[1] not in ledger.rows:
                continue
            row = ledger[match[1]]
            if line.endswith("as above"):
                assert row.key in told
            told.add(row.key)
            assert row.display in line
        reached = {name for name in told if not ledger[name].inputs}
        assert reached
        assert all(ledger[name].kind != "derived" or not ledger[name].inputs for name in reached)
        assert all(set(ledger[name].inputs) <= told for name in told)


def test_what_was_told_once_is_not_told_again(guide: Guide) -> None:
    lines = tree(guide, "draft.slack")
    formulas = [line.strip() for line in lines if " = " in line]
    assert len(formulas) == len(set(formulas))


def test_a_list_and_a_plain_number_are_explained_without_an_exact_value_beside(guide: Guide) -> None:
    assert tree(guide, "settings.n_cpu_moe") == ["settings.n_cpu_moe: 26  (declared)", "    the recipe's n_cpu_moe"]
    assert tree(guide, "weights.file")[0] == "weights.file: 20.363 GiB (21864082336 B) = [file.q4_k_m.size]"


def test_an_unknown_key_names_the_near_ones(guide: Guide) -> None:
    with pytest.raises(UnknownNameError, match=r"no number is called 'budget\.totle'; did you mean 'budget\.total'"):
        tree(guide, "budget.totle")


def test_the_summary_has_a_line_for_each_number_and_each_claim(guide: Guide) -> None:
    lines = list(summary(guide.ledger))
    assert len(lines) == len(guide.ledger.rows) + len(guide.ledger.claims)
    total = next(line for line in lines if line.startswith("budget.total "))
    assert total.split() == ["budget.total", "8.891", "GiB", "derived", "2026-08-31"]
    claim = next(line for line in lines if line.startswith("claim issue.llama.cpp.26609.state:"))
    assert claim.endswith('issue.llama.cpp.26609.state == "open" holds, checked 2026-09-22')
