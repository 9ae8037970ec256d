"""What `mkdocs build --strict` lets through. The pages themselves are opened in tests/browser/."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scripts.browser import ROOT, build_site

PAGE = """# A page

[8.891 GiB](#budget.total), at another depth [9.799 GiB](#ladder.24@65536.q8_0/q8_0), [as data](page/guide.json).

| key | value |
| --- | --- |
| <a id="budget.total"></a>`budget.total` | 8.891 GiB |
| <a id="ladder.24@65536.q8_0/q8_0"></a>`ladder.24@65536.q8_0/q8_0` | 9.799 GiB |
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The project's configuration beside a site of one page that links to its own ledger."""
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "site" / "assets", tmp_path / "site" / "assets")
    (tmp_path / "site" / "index.md").write_text("# Home\n\n[A page](page.md)\n")
    (tmp_path / "site" / "page.md").write_text(PAGE)
    (tmp_path / "site" / "page").mkdir()
    (tmp_path / "site" / "page" / "guide.json").write_text("{}")
    return tmp_path / "mkdocs.yml"


def test_links_to_rows_of_the_ledger_and_to_files_beside_the_page_resolve(config: Path, tmp_path: Path) -> None:
    built = build_site(tmp_path / "public", config)
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "public" / "page" / "index.html").read_text()
    assert '<a id="ladder.24@65536.q8_0/q8_0"></a>' in page
    assert '<a href="#ladder.24@65536.q8_0/q8_0">9.799 GiB</a>' in page
    assert '<a href="guide.json">' in page
    assert (tmp_path / "public" / "page" / "guide.json").exists()


def test_a_link_that_leads_nowhere_stops_the_build(config: Path, tmp_path: Path) -> None:
    mistakes = {
        "[x](#budget.totals)": "no such anchor on this page",
        "[x](gone.md)": "'gone.md', but the target is not found",
        "[x](index.md#gone)": "does not contain an anchor '#gone'",
        "[x](/page/)": "absolute link '/page/'",
        "![x](page/gone.svg)": "'page/gone.svg', but the target",
    }
    (tmp_path / "site" / "page.md").write_text(PAGE + "\n" + "\n\n".join(mistakes) + "\n")
    built = build_site(tmp_path / "public", config)
    assert built.returncode == 1
    assert [message for message in mistakes.values() if message not in built.stderr] == []
