"""The pages of checks as a whole: what they say, what they do not, and that what is committed is what a build gives."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from generator.build import outdated
from generator.catalog import Catalog
from generator.check.build import CheckPage, build_check
from generator.errors import RefusedSettings
from generator.facts import Fact, Lock
from generator.guide.lint import LintErrors
from tests.check.conftest import CLAIM, DENSE, ROOT, Built, rewrite


def text_of(page: CheckPage) -> str:
    return page.files[page.page]


@pytest.mark.parametrize("which", [CLAIM, DENSE])
def test_the_committed_page_is_what_its_spec_gives(which: tuple[str, str]) -> None:
    page = build_check(Catalog.open(ROOT), *which)
    assert outdated(page.files, ROOT / "site") == []


def test_the_first_screen_says_claim_verdicts_and_dates(page: CheckPage) -> None:
    first, _, _ = text_of(page).partition("## What a token reads")
    assert first.startswith("# Qwen3.6 35B-A3B on RTX 3060 12GB")
    assert "**The speed is credible, but not at that context.**" in first
    for words, verdict in {
        "one of the best Qwen models": "opinion",
        "old (2017) RTX 3060": "wrong",
        "run it on 12GB": "credible",
        "50 tok/s": "credible",
        "with a 128k context": "not at that context",
        "128k": "credible",
    }.items():
        assert re.search(rf"\| .*“{re.escape(words)}”.* \| \*\*{verdict}\*\* \|", first), words
    assert re.search(r"oldest fact on this page \[2026-02-07\].*newest \[2026-12-01\]", first)


def test_the_ledger_has_the_verdicts_with_what_they_rest_on(page: CheckPage) -> None:
    told = json.loads(page.files[page.ledger_path])
    assert told["recipe"]["check"] == "rtx-3060"
    verdict = told["verdicts"]["at_context"]
    assert (verdict["says"], verdict["verdict"]) == ("with a 128k context", "not at that context")
    assert {each["predicate"] for each in verdict["comparisons"] if each["scenario"] == "stated"} == {
        "decode.claim_share_of_ceiling.131072 <= best.share",
        "decode.claim_share_of_ceiling.131072 <= 1",
    }
    keys = {each["predicate"].split()[0] for parts in told["verdicts"].values() for each in parts["comparisons"]}
    assert keys - {"card.released"} <= set(told["numbers"])


def test_a_part_that_a_fact_settles_is_a_claim_with_its_date_and_source(page: CheckPage) -> None:
    claim = page.ledger.claims["part.age"]
    assert claim.predicate.text == 'card.released < "2018-01-01"'
    assert not claim.holds
    assert claim.sources[0].url.startswith("https://www.techpowerup.com/")


def test_threads_are_told_with_their_own_state_and_not_that_of_the_published_guide(page: CheckPage) -> None:
    text = text_of(page)
    for number, state in {27872: "open", 28414: "pull request, open", 28223: "pull request, closed", 27756: "open"}.items():
        assert re.search(rf"\[#{number}\]\([^)]*\), <a id=[^>]*></a>{state}, checked \[2026-", text), number


def test_a_dense_page_says_nothing_of_experts_or_of_two_memories() -> None:
    body, _, _ = text_of(build_check(Catalog.open(ROOT), *DENSE)).partition("## Ledger")
    assert not re.search(r"expert|-ncmoe|mbw|recurrent|system memory\b(?!\.\n)", body)


def test_an_answer_of_a_source_changes_the_page(project: Path, page: CheckPage) -> None:
    catalog = Catalog.open(project)
    check = catalog.check_of(*CLAIM)
    size = check.facts["files.q4_k_m.size"]
    fresh = Fact(size.key, 20_000_000_000, "B", "fetched", size.source, checked=size.checked)
    Lock("rtx-3060").updated([fresh], fresh.checked).write(catalog.lock_of(check))  # type: ignore[arg-type]
    again = build_check(Catalog.open(project), *CLAIM)
    assert again.ledger["weights.file"].display == "18.63 GiB"  # 20,000,000,000 bytes
    assert again.ledger["decode.ceiling.131072"].quantity.number > page.ledger["decode.ceiling.131072"].quantity.number


def test_a_check_without_a_host_says_nothing_of_its_bandwidth(rebuilt: Built) -> None:
    page = rebuilt(("about: a measured speed, as a blog gives it", "about: other words"), which=DENSE)
    assert page.title == "Qwen3 8B on RTX 4070: other words"
    assert "bandwidth.host" not in page.ledger.rows


def test_a_number_typed_into_prose_is_refused(rebuilt: Built) -> None:
    with pytest.raises(LintErrors, match="a number that nothing stands behind: '81'"):
        rebuilt(("The claim names neither a file", "It reaches 81 thousand tokens. The claim names neither a file"))


def test_hostile_words_are_shown_as_words(rebuilt: Built) -> None:
    page = rebuilt(("says: one of the best Qwen models", "says: '<script>alert(1)</script> | {{ 7 }} [x](javascript:y)'"))
    text = text_of(page)
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_the_picture_marks_the_claim_at_its_context(page: CheckPage) -> None:
    svg = page.files["checks/qwen3.6-35b-a3b/rtx-3060/ceiling.svg"]
    assert "the claim: 50 tok/s at 131,072" in svg
    circle = re.search(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="9" class="refuse"', svg)
    line = re.search(r'y1="([\d.]+)"[^>]*class="s-refuse"[^>]*stroke-dasharray="10 6"', svg[svg.index("tokens a second</text>") :])
    assert circle is not None
    assert line is not None
    assert circle[1] == "616"  # the right end of the plot: the longest context is the claim's
    assert circle[2] == line[1]


def test_a_context_that_leaves_no_room_is_said_to_and_has_no_figures(rebuilt: Built) -> None:
    page = rebuilt(("compute: {value: 0.70 GiB", "compute: {value: 8.5 GiB"))
    verdict = page.ledger.verdicts["at_context"]
    assert (verdict["verdict"], verdict["reason"]) == ("not at that context", "no_room")
    assert "At [131,072 tokens](#context.131072) the cache leaves no room." in text_of(page)
    assert list(page.files) == ["checks/qwen3.6-35b-a3b/rtx-3060.md", "checks/qwen3.6-35b-a3b/rtx-3060/check.json"]


def test_a_command_that_the_engine_would_refuse_is_refused_before_a_reader_copies_it(project: Path) -> None:
    path = project / "templates" / "check" / "calibrate.md.j2"
    path.write_text(path.read_text(encoding="utf-8").replace("-fa on -ctk", "-fa off -ctk"), encoding="utf-8")
    rewrite(project, (("caches: [[f16, f16], [q8_0, q8_0], [q4_0, q4_0]]", "caches: [[q8_0, q8_0]]"),))
    with pytest.raises(RefusedSettings, match="flash attention"):
        build_check(Catalog.open(project), *CLAIM)
