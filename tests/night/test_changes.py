"""The list of changes: what goes in, once; a feed that readers' programs take; other people's text."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from generator.claims.drift import Drift, Kind, Touched
from generator.errors import InputError
from generator.publish.changes import KEPT, read_changes, record
from tests.night.test_report import HOSTILE

ATOM = "{http://www.w3.org/2005/Atom}"
SITE = "https://guides.example/"
PAGE = "guides/apodex-mini/rtx-5070.md"
CLOSED = Drift(
    Kind.CLOSED,
    "issue.llama.cpp.1.state",
    "open",
    "closed",
    date(2026, 12, 2),
    date(2026, 12, 3),
    "https://github.com/a/b/issues/1",
    touched=(Touched(PAGE, {}, ("issue.llama.cpp.1.state",)),),
)


def feed(site: Path) -> ET.Element:
    return ET.fromstring((site / "changes.atom").read_bytes())


def ids(site: Path) -> list[str]:
    return [str(entry.findtext(f"{ATOM}id")) for entry in feed(site).findall(f"{ATOM}entry")]


def test_a_feed_has_what_the_format_requires(tmp_path: Path) -> None:
    """RFC 4287, 4.1.1 and 4.1.2: id, title and updated of the feed and of each entry, an author, and a link to an entry without content."""
    record(tmp_path, [CLOSED], SITE)
    found = feed(tmp_path)
    assert found.tag == f"{ATOM}feed"
    assert all(found.findtext(f"{ATOM}{name}") for name in ("id", "title", "updated"))
    assert found.findtext(f"{ATOM}author/{ATOM}name")
    assert [link.get("href") for link in found.findall(f"{ATOM}link")] == [f"{SITE}changes.atom", f"{SITE}changes/"]
    (entry,) = found.findall(f"{ATOM}entry")
    assert all(entry.findtext(f"{ATOM}{name}") for name in ("id", "title", "updated", "summary"))
    assert [link.get("href") for link in entry.findall(f"{ATOM}link")] == [f"{SITE}changes/"]
    assert entry.findtext(f"{ATOM}updated") == found.findtext(f"{ATOM}updated") == "2026-12-03T00:00:00Z"
    assert entry.findtext(f"{ATOM}title") == "issue.llama.cpp.1.state closed: open → closed"


def test_the_page_names_day_change_source_and_page(tmp_path: Path) -> None:
    record(tmp_path, [CLOSED], SITE)
    text = (tmp_path / "changes.md").read_text(encoding="utf-8")
    where = f"[apodex-mini/rtx-5070]({PAGE})"
    source = "([source](https://github.com/a/b/issues/1))"
    assert text.endswith(f"\n## 2026-12-03\n\n- `issue.llama.cpp.1.state` closed: open → closed {source}; on {where}\n")


def test_a_change_is_listed_once_however_often_it_is_recorded(tmp_path: Path) -> None:
    assert len(record(tmp_path, [CLOSED], SITE)) == 3
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert record(tmp_path, [CLOSED], SITE) == []
    assert record(tmp_path, [replace(CLOSED, touched=(), severity="red")], SITE) == []  # what it touches is no part of what it is
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_same_change_on_another_day_is_another_one_and_ids_stay(tmp_path: Path) -> None:
    record(tmp_path, [CLOSED], SITE)
    first = ids(tmp_path)
    record(tmp_path, [replace(CLOSED, kind=Kind.REOPENED, old="closed", new="open", found=date(2026, 12, 5))], SITE)
    record(tmp_path, [replace(CLOSED, found=date(2026, 12, 9))], SITE)
    assert len(set(ids(tmp_path))) == 3
    assert ids(tmp_path)[2:] == first
    assert [change["found"] for change in read_changes(tmp_path / "changes.json")] == ["2026-12-09", "2026-12-05", "2026-12-03"]


def test_a_first_reading_changes_nothing_that_a_reader_had(tmp_path: Path) -> None:
    record(tmp_path, [CLOSED], SITE)
    assert record(tmp_path, [replace(CLOSED, kind=Kind.FIRST, subject="citation.b1.a", touched=())], SITE) == []


def test_without_any_change_the_page_says_so_and_the_feed_is_whole(tmp_path: Path) -> None:
    record(tmp_path, [], SITE)
    assert "Nothing has changed since the first check." in (tmp_path / "changes.md").read_text(encoding="utf-8")
    assert feed(tmp_path).findall(f"{ATOM}entry") == []
    assert feed(tmp_path).findtext(f"{ATOM}updated") == "1970-01-01T00:00:00Z"


def test_without_a_known_address_links_are_relative(tmp_path: Path) -> None:
    record(tmp_path, [CLOSED], "")
    assert [link.get("href") for link in feed(tmp_path).findall(f"{ATOM}link")] == ["changes.atom", "changes/"]


@pytest.mark.parametrize("lost", [["changes.json"], ["changes.json", "changes.atom"]])
def test_a_run_that_was_killed_between_the_files_is_made_good(tmp_path: Path, lost: list[str]) -> None:
    record(tmp_path, [CLOSED], SITE)
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in lost:
        (tmp_path / name).unlink()
    record(tmp_path, [CLOSED], SITE)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == whole


def test_the_list_is_written_last_so_that_a_killed_run_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from generator.publish import changes

    written: list[str] = []
    monkeypatch.setattr(changes, "write_whole", lambda path, _text: written.append(path.name))
    record(tmp_path, [CLOSED], SITE)
    assert written[-1] == "changes.json"


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2, "changes": []}', '{"format": 1}', '{"format": 1, "changes": [1]}'])
def test_a_list_that_cannot_be_read_is_not_overwritten(tmp_path: Path, text: str) -> None:
    (tmp_path / "changes.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="not readable") as raised:
        record(tmp_path, [CLOSED], SITE)
    assert raised.value.remedy == "restore it with `git checkout`"
    assert (tmp_path / "changes.json").read_text(encoding="utf-8") == text


def test_old_changes_make_room(tmp_path: Path) -> None:
    many = [replace(CLOSED, found=CLOSED.found + timedelta(days=number)) for number in range(KEPT + 5)]
    for number in range(0, len(many), 101):
        record(tmp_path, many[number : number + 101], SITE)
    assert len(read_changes(tmp_path / "changes.json")) == len(ids(tmp_path)) == KEPT


@pytest.mark.parametrize("title", [*HOSTILE, "\x00\x1b[31mred\x1b[0m\x0b \ufffe \U000e0001", "]]> <![CDATA[ &lt; &amp; \" '"])
def test_foreign_text_breaks_neither_page_nor_feed(tmp_path: Path, title: str) -> None:
    drift = replace(CLOSED, kind=Kind.RETITLED, subject="issue.llama.cpp.1.title", old=title, new=title)
    record(tmp_path / "hostile", [drift], SITE)
    (entry,) = feed(tmp_path / "hostile").findall(f"{ATOM}entry")
    assert str(entry.findtext(f"{ATOM}title")).startswith("issue.llama.cpp.1.title retitled: ")
    assert json.loads((tmp_path / "hostile" / "changes.json").read_text(encoding="utf-8"))["changes"][0]["old"] == title

    record(tmp_path / "plain", [replace(drift, old="a", new="a")], SITE)
    shapes = []
    for name in ("hostile", "plain"):
        tokens = MarkdownIt("commonmark", {"html": True}).parse((tmp_path / name / "changes.md").read_text(encoding="utf-8"))
        shapes.append([child.type for token in tokens for child in token.children or () if child.type not in {"text", "text_special"}])
    assert shapes[0] == shapes[1]


def test_an_address_that_is_none_is_no_link(tmp_path: Path) -> None:
    record(tmp_path, [replace(CLOSED, source="javascript:alert(1)")], SITE)
    assert "javascript" not in (tmp_path / "changes.md").read_text(encoding="utf-8")
