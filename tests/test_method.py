"""Pages on how things are worked out: linted, and with figures of the guides they name."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from generator.build import Guide
from generator.guide.ledger import Book
from generator.guide.lint import LintErrors
from generator.guide.page import METHODS
from generator.method import method_pages
from generator.quantity import BYTE, Quantity

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = ROOT / "templates"


@pytest.fixture(scope="module")
def pages(guide: Guide) -> dict[str, str]:
    """Give the pages with figures of the repository's guide."""
    return method_pages([guide], TEMPLATES)


def test_there_is_a_page_for_every_method_that_guides_link_to(pages: dict[str, str], guide: Guide) -> None:
    assert list(pages) == [f"method/{name}.md" for name in METHODS]
    linked = set(re.findall(r"\.\./\.\./method/([a-z-]+)\.md", guide.files[guide.page]))
    assert linked <= set(METHODS)


def test_a_figure_is_the_guides_and_leads_to_it(pages: dict[str, str], guide: Guide) -> None:
    page = pages["method/context.md"]
    for key in ("budget.ceiling", "weights.card", "settings.n_ctx", "kv.bytes_per_token.q8_0/q8_0"):
        own = f"{guide.model}.{guide.card}.{key}"
        assert f"[{guide.ledger[key].display}](#{own})" in page
        assert f'<a id="{own}"></a>' in page
    assert f"({'../' + guide.page})" in page


def test_the_worked_example_divides_what_is_left_by_what_a_token_takes(pages: dict[str, str], guide: Guide) -> None:
    numbers = {key: int(guide.ledger[key].quantity) for key in ("budget.ceiling", "weights.card", "recurrent.card")}
    left = numbers["budget.ceiling"] - numbers["weights.card"] - numbers["recurrent.card"]
    assert f"{left // 10880:,} tokens" in pages["method/context.md"]  # 10,880 bytes a token in q8_0/q8_0, by hand in tests/guide


def test_a_page_changes_with_a_guides_number_and_only_that_page(pages: dict[str, str], guide: Guide) -> None:
    rows, book = dict(guide.ledger.rows), Book()
    quantity = book.add("traffic.host_per_token", Quantity.constant(401_000_000, BYTE))
    display = book.text("traffic.host_per_token")
    rows["traffic.host_per_token"] = replace(rows["traffic.host_per_token"], quantity=quantity, display=display)
    after = method_pages([replace(guide, ledger=replace(guide.ledger, rows=rows))], TEMPLATES)
    assert {name for name in pages if pages[name] != after[name]} == {"method/expert-offload.md"}
    assert display in after["method/expert-offload.md"]


def test_a_number_typed_into_a_template_fails_the_lint(tmp_path: Path, guide: Guide) -> None:
    templates = shutil.copytree(TEMPLATES, tmp_path / "templates")
    path = templates / "method" / "drift.md.j2"
    path.write_text(path.read_text(encoding="utf-8") + "\nIt takes 17 nights.\n", encoding="utf-8")
    with pytest.raises(LintErrors, match="a number that nothing stands behind: '17'"):
        method_pages([guide], templates)
