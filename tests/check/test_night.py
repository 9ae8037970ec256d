"""Checks by night: what is asked, and which page a drift is told of."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from generator import nightly
from generator.catalog import Catalog
from generator.claims.drift import Drift, Kind
from generator.claims.questions import Question
from generator.claims.recheck import Night
from generator.facts import Fact
from tests.check.conftest import CLAIM, DENSE, ROOT

NOW = datetime(2026, 12, 2, 3, 0, tzinfo=UTC)


def answering(key: str, value: int) -> Any:
    """Give a re-check in which one source answers something else, and no other is asked."""

    def recheck(asked: Iterable[Question], *_: object, now: datetime, **__: object) -> Night:
        question = next(each for each in asked if each.key == key)
        fact = Fact(key, value, "B", "fetched", question.fact.source, checked=now.date())
        drift = Drift(Kind.RESIZED, key, question.fact.value, value, date(2026, 9, 7), now.date(), question.fact.source.url)
        return Night(now, asked=1, answered=1, drifts=[drift], changed={question.lock: [fact]})

    return recheck


def test_a_file_that_was_replaced_is_told_of_the_check_that_rests_on_it_and_of_no_other_page(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "site" / "checks", project / "site" / "checks")
    monkeypatch.setattr(nightly, "recheck", answering("files.q4_k_m.size", 20_000_000_000))
    live, session = nightly.open_live(project)
    with session:
        report = nightly.check(project, [CLAIM], live, now=NOW)
    assert list(report.failed) == []
    (drift,) = report.drifts
    (touched,) = drift.touched
    assert touched.page == "checks/qwen3.6-35b-a3b/rtx-3060.md"
    assert touched.numbers["weights.file"] == ("19.02 GiB", "18.63 GiB")
    assert "params.total" not in touched.numbers


def test_how_bad_it_is_when_a_thread_of_a_check_moves_is_known() -> None:
    catalog = Catalog.open(ROOT)
    known = nightly.severities(catalog, [CLAIM])
    assert known == {catalog.issue(ref).prefix: catalog.issue(ref).severity for ref in catalog.check_of(*CLAIM).threads}


def test_a_check_that_cannot_be_built_is_a_failure_of_its_own_page(project: Path) -> None:
    path = project / "recipes" / "checks" / CLAIM[0] / f"{CLAIM[1]}.yml"
    path.write_text(path.read_text(encoding="utf-8").replace("  value: Q4_K\n", "  value: Q8_0\n"), encoding="utf-8")
    pages = nightly.Pages.build(project, [CLAIM, DENSE])
    assert list(pages.built) == [DENSE]
    assert "smaller than all its parameters at Q8_0" in pages.failed[CLAIM]
