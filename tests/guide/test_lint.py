from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from generator.build import Guide
from generator.claims import Claim
from generator.errors import Problem
from generator.facts import Fact, Facts, Source
from generator.guide.ledger import Book, Ledger
from generator.guide.lint import Allowed, LintErrors, lint
from generator.quantity import BYTE, Quantity

DAY, OTHER_DAY = date(2026, 8, 31), date(2026, 9, 22)
HUB = Source("https://huggingface.co/a/b")
THREAD = Source("https://github.com/ggml-org/llama.cpp/issues/26609")
SIZE = Fact("budget.total", 9547030528, "B", source=HUB, checked=DAY)  # 8.8913… GiB
STATE = Fact("issue.state", "open", source=THREAD, checked=OTHER_DAY)
QUOTE = "the same test at 243k tokens PASSES"
ALLOWED = Allowed(
    ("RTX 5070", "DDR4-3200"), frozenset({QUOTE, "not fixed"}), frozenset({(HUB.url, "2026-09-01")}), frozenset({"card/vram.svg"})
)


def ledger(*claims: Claim) -> Ledger:
    book = Book()
    book.add("budget.total", SIZE.quantity())
    book.add("sizes", Quantity.read((2**20, 3 * 2**20), BYTE, SIZE), "MiB", 0)
    return Ledger.of({}, book, claims, Facts([SIZE, STATE]))


ANCHORS = '\n\n<a id="budget.total"></a> and <a id="sizes"></a>\n\n<a id="speed"></a>\n'


def problems(text: str, *claims: Claim, allowed: Allowed = ALLOWED, anchors: str = ANCHORS) -> list[str]:
    """Give what the lint says of a page with this text from its third line on, each as `line: message`."""
    found: tuple[Problem, ...] = ()
    try:
        lint(f"# A page\n\n{text}{anchors}", ledger(*claims), allowed, file="page.md")
    except LintErrors as error:
        found = error.problems
    assert all(problem.file == "page.md" and problem.remedy for problem in found)
    return [f"{problem.line}: {problem.message}" for problem in found]


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "No number at all.",
        "[8.891 GiB](#budget.total)",
        "[8.89 GiB](#budget.total) is [9,547,030,528 B](#budget.total)",
        "[9.5 GB](#budget.total)",
        "**[8.891 GiB](#budget.total)**",
        "[2026-08-31](#budget.total)",
        "[this much](#budget.total)",
        "[1 MiB, 3 MiB](#sizes)",
        "`-ncmoe 26` and ``a `1` b``",
        "```\nhere 12 GiB\n```",
        "    indented 12 GiB",
        "RTX 5070, an RTX 5070. (RTX 5070)",
        "DDR4-3200",
        f"“{QUOTE}”",
        f"It says “{QUOTE}”, and “not fixed”",
        f"read [2026-08-31]({HUB.url})",
        f"[report, 2026-09-01]({HUB.url})",
        f"[`b10666`]({HUB.url}) and [`src/x.cpp:12`]({HUB.url})",
        f"[#26609]({THREAD.url}), open, checked [2026-09-22]({THREAD.url})",
        "![a bar](card/vram.svg)",
        "[the ledger](card/vram.svg)",
        "<!-- 12 GiB -->",
        "| a | b |\n|---|---|\n| [8.891 GiB](#budget.total) | `12` |",
        "[what bounds it](#speed)",
        "line one\nline two  \nline three",
    ],
)
def test_what_stands_on_a_number_of_the_ledger_a_date_a_name_or_a_quotation_passes(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "The card has 12 GiB.",
        "## Twelve is 12",
        "Setext 12\n---",
        "- item\n- item with 12",
        "1. first\n2. item with 12",
        "> quoted 12",
        "| a | b 12 |\n|---|---|\n| c | d |",
        "| a | b |\n|---|---|\n| c | 12 |",
        "**12**",
        "a *12* b",
        "1**2**",
        "line\nline 12",
        "![12 GiB](card/vram.svg)",
        '![a bar](card/vram.svg "12 GiB")',
        '[a](#speed "12 GiB")',
        f'[a]({HUB.url} "12 GiB")',
        "&#49;&#50; GiB",
        "١٢ GiB",
        "12 GiB",
        "½ GiB",
        "2² blocks",
        "① first",
        "a\\\n12",
        "RTX 50705",
        "RTX 5070 12",
        "xRTX 5070",
        "RTX 5070Ti",
        "RTX-5070",
        "RTX 5070.5",
        "DDR4-32001",
        "5070",
        "2026-08-31",
        "“12”",
        f"{QUOTE}",
        f"“{QUOTE.replace('243', '244')}”",
        "[12](#speed)",
        "[12 GiB](card/vram.svg)",
        f"[12 GiB]({HUB.url})",
        f"[12 GiB `x`]({HUB.url})",
        f"[`x` 12 GiB]({HUB.url})",
        f"<{HUB.url}/12>",
        f"[{HUB.url}/12]({HUB.url}/12)",
        f"[#26610]({THREAD.url}) checked [2026-09-22]({THREAD.url})",
        f"[#266091]({THREAD.url}) checked [2026-09-22]({THREAD.url})",
        f"[2026-08-311]({HUB.url})",
        f"[a, 2026-08-31T10:00]({HUB.url})",
    ],
)
def test_a_number_that_nothing_stands_behind_is_an_error(text: str) -> None:
    found = problems(text)
    assert any("a number that nothing stands behind" in each for each in found), found


@pytest.mark.parametrize(
    "link",
    [
        "[8.892 GiB](#budget.total)",
        "[8.891 GB](#budget.total)",
        "[8.891](#budget.total)",
        "[8.891 tok/s](#budget.total)",
        "[8.891 GiB of 12 GiB](#budget.total)",
        "[8.891 GiB `x` 12](#budget.total)",
        "[`x` 8.892 GiB](#budget.total)",
        "[9,547,030,529 B](#budget.total)",
        "[91 %](#budget.total)",
        "[2026-09-22](#budget.total)",
        "[3 MiB, 1 MiB](#sizes)",
        "[1 MiB](#sizes)",
    ],
)
def test_a_number_that_is_not_what_the_ledger_has_under_its_key_is_an_error(link: str) -> None:
    found = problems(f"It takes\n{link}.")
    assert found, link
    assert all(f"is not what the ledger has under '{re.search(r'#(.*)[)]', link)[1]}'" in each for each in found)  # type: ignore[index]


def test_the_message_says_what_the_ledger_has() -> None:
    assert problems("[8.892 GiB](#budget.total)") == ["3: '8.892 GiB' is not what the ledger has under 'budget.total' (8.891 GiB)"]


def test_every_problem_of_a_page_is_told_at_once_with_its_line() -> None:
    found = problems("one 12\n\n- two 13\n- none\n\n| a |\n|---|\n| 14 |\n\n## Fifteen 15")
    assert [each.partition(":")[0] for each in found] == ["3", "5", "10", "12"]
    assert [each[-4:] for each in found] == ["'12'", "'13'", "'14'", "'15'"]


# --- quotations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["“not quite fixed”", "“Not fixed”", "“not fixed", "not fixed”", "“not `fixed`”", "“not  fixed and ”"])
def test_a_quotation_altered_by_a_word_is_an_error(text: str) -> None:
    assert problems(text) == ["3: quotation marks around what is no quotation of this guide"]


def test_emphasis_inside_a_quotation_does_not_alter_its_words() -> None:
    assert problems("“not *fixed*”") == []


def test_a_quotation_with_quotation_marks_in_it_is_known_whole() -> None:
    inner = "he said “12” twice"
    allowed = Allowed((), frozenset({inner}))
    assert problems(f"“{inner}”", allowed=allowed) == []
    assert problems("“12”", allowed=allowed) != []


# --- dates, claims, threads ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"read [2026-08-30]({HUB.url})",
        f"read [2026-08-31]({HUB.url}/other)",
        "read [2026-08-31](https://example.org)",
        f"read [2026-09-22]({HUB.url})",
        f"read [on 2026-08-31 and 2026-08-30]({HUB.url})",
    ],
)
def test_a_day_on_which_nothing_was_read_at_the_address_is_an_error(text: str) -> None:
    assert any("nothing was read at" in each for each in problems(text))


CLAIM = Claim.of("issue.state", "open", 'issue.state == "open"', Facts([STATE]))
ANCHOR = '<a id="claim.issue.state"></a>'


def test_a_claim_with_its_day_and_source_passes() -> None:
    assert problems(f"It is {ANCHOR}open, checked [2026-09-22]({THREAD.url}).", CLAIM) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("It is open.", "the claim 'issue.state' is in the ledger and not on the page"),
        (f"It is {ANCHOR}open.", "the claim 'issue.state' stands without its date and source"),
        (f"It is {ANCHOR}open, [see]({THREAD.url}).", "the claim 'issue.state' stands without its date and source"),
        (f"It is {ANCHOR}open, checked [2026-08-31]({HUB.url}).", "the claim 'issue.state' stands without its date and source"),
        (f"It is {ANCHOR}open.\n\nChecked [2026-09-22]({THREAD.url}).", "the claim 'issue.state' stands without its date and source"),
    ],
)
def test_a_claim_without_date_and_source_in_its_own_block_is_an_error(text: str, message: str) -> None:
    assert message in [each.partition(": ")[2] for each in problems(text, CLAIM)]


@pytest.mark.parametrize("tail", ["", "#issuecomment-1", "?x=1", "/files"])
@pytest.mark.parametrize("kind", ["issues", "pull", "discussions"])
def test_a_link_to_a_thread_needs_the_date_that_thread_was_checked(kind: str, tail: str) -> None:
    url = f"https://github.com/ggml-org/llama.cpp/{kind}/26609"
    allowed = Allowed((), frozenset(), frozenset({(url, "2026-09-22"), (HUB.url, "2026-08-31")}))
    without = [f"3: a tracker thread without the date it was checked: {url}{tail}"]
    assert problems(f"see [#26609]({url}{tail})", allowed=allowed) == without
    assert problems(f"see [#26609]({url}{tail}), read [2026-08-31]({HUB.url})", allowed=allowed) == without
    assert problems(f"see [#26609]({url}{tail}), checked [2026-09-22]({url})", allowed=allowed) == []
    two = f"see [#26609]({url}{tail}), checked [2026-09-22]({url}), and [#1](https://github.com/ggml-org/llama.cpp/{kind}/1)"
    assert problems(two, allowed=allowed) == [
        f"3: a tracker thread without the date it was checked: https://github.com/ggml-org/llama.cpp/{kind}/1"
    ]


# --- structure and safety ------------------------------------------------------------------------


def test_a_link_to_an_anchor_that_is_nowhere_is_an_error() -> None:
    assert problems("[x](#budget.totals)") == ["3: a link to '#budget.totals', which is nowhere on the page"]
    assert problems("[x](#)") == ["3: a link to '#', which is nowhere on the page"]
    assert problems("[8.891 GiB](#budget.total)", anchors='<a id="sizes"></a>') != []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("## a\n\n### b\n\n## c", []),
        ("## a\n\n#### b", ["5: a heading of level 4 follows one of level 2"]),
        ("### a", ["3: a heading of level 3 follows one of level 1"]),
        ("> ### a", ["3: a heading of level 3 follows one of level 1"]),
    ],
)
def test_no_heading_level_is_skipped(text: str, found: list[str]) -> None:
    assert problems(text) == found


def test_a_page_starts_with_a_heading_of_the_first_level() -> None:
    with pytest.raises(LintErrors, match="level 2 follows one of level 0"):
        lint("## A page\n", Ledger({}, {}, {}), Allowed(), file="page.md")


@pytest.mark.parametrize(
    "html",
    [
        "<script>alert(1)</script>",
        "a <b>bold</b> b",
        "<img src=x onerror=alert(1)>",
        "<div>\n\nx\n\n</div>",
        '<a href="https://example.org">x</a>',
        '<a id="x" onclick="alert(1)">x</a>',
        "<iframe src='https://example.org'></iframe>",
        "<details><summary>x</summary></details>",
        "<!-- fine --> <b>x</b>",
        "<a id='x'></a>",
        "<?php x ?>",
        "<![CDATA[x]]>",
        "<style>p{}</style>",
        '<a id="y">\nhidden 12\n</a>',
    ],
)
def test_raw_html_is_an_error(html: str) -> None:
    assert any("raw HTML" in each for each in problems(html))


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "mailto:a@example.org",
        "//example.org",
        "/etc",
        "../other.md",
        "other.md",
        "card/../../x.svg",
    ],
)
def test_a_link_that_is_no_web_address_is_an_error(address: str) -> None:
    for text in (f"[x]({address})", f"[x][ref]\n\n[ref]: {address}", f"[x](<{address}>)"):
        assert any("a link that is no web address" in each for each in problems(text)), text


def test_an_automatic_link_to_something_else_is_an_error() -> None:
    assert any("a link that is no web address" in each for each in problems("<javascript:alert>"))


@pytest.mark.parametrize("source", ["https://example.org/x.png", "card/other.svg", "javascript:alert(1)", "data:image/svg+xml,x"])
def test_a_picture_that_is_not_the_guides_own_is_an_error(source: str) -> None:
    assert any("a picture that is not among the guide's files" in each for each in problems(f"![x]({source})"))


def test_the_errors_are_told_to_people_and_to_machines() -> None:
    with pytest.raises(LintErrors) as caught:
        lint("# A page\n\n12\n", Ledger({}, {}, {}), Allowed(), file="page.md")
    assert str(caught.value).startswith("page.md:3: a number that nothing stands behind: '12'\n  ")
    row = {"file": "page.md", "line": 3, "message": "a number that nothing stands behind: '12'"}
    assert caught.value.as_dict()["problems"] == [row | {"remedy": caught.value.problems[0].remedy}]
    assert caught.value.exit_code == 1


# --- the real page -------------------------------------------------------------------------------


def places(page: str) -> Iterator[int]:
    """Give every position of a page at which its parser sees plain text: outside code, links, HTML and fences."""
    starts = [0]
    for row in page.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        if token.type != "inline" or token.map is None:
            continue
        begin, end, depth = starts[token.map[0]], starts[token.map[1]], 0
        for child in token.children or []:
            depth += child.nesting if child.type in {"link_open", "link_close"} else 0
            words = re.escape(child.content) if child.type == "text" and not depth else ""
            if words and len(re.findall(words, page[begin:end])) == 1:
                at = page.index(child.content, begin, end)
                yield from range(at, at + len(child.content) + 1)


@pytest.fixture(scope="session")
def text_places(guide: Guide) -> list[int]:
    """Give the positions of plain text on the guide of the repository."""
    return sorted(set(places(guide.files[guide.page])))


def test_the_page_of_the_repository_is_clean(linted: tuple[Guide, Allowed], text_places: list[int]) -> None:
    guide, allowed = linted
    lint(guide.files[guide.page], guide.ledger, allowed, file="page.md")
    assert len(text_places) > 10_000


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_digits_typed_anywhere_into_the_text_of_the_page_are_an_error(
    linted: tuple[Guide, Allowed], text_places: list[int], data: st.DataObject
) -> None:
    guide, allowed = linted
    at = data.draw(st.sampled_from(text_places))
    digits = data.draw(st.from_regex(r"\A[0-9]{1,6}(\.[0-9]{1,3})?\Z"))
    page = guide.files[guide.page]
    with pytest.raises(LintErrors):
        lint(f"{page[:at]}{digits}{page[at:]}", guide.ledger, allowed, file="page.md")


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_digit_changed_in_any_number_of_the_page_is_an_error(linted: tuple[Guide, Allowed], data: st.DataObject) -> None:
    guide, allowed = linted
    page = guide.files[guide.page]
    links = re.finditer(r"\[([^\]`]*\d[^\]`]*)\]\(((?:#|https:)[^)]*)\)", page)
    number = data.draw(st.sampled_from([match for match in links if not match[1].startswith("#")]))
    digit = data.draw(st.sampled_from([at for at in range(number.start(1), number.end(1)) if page[at].isdecimal()]))
    other = data.draw(st.sampled_from([each for each in "0123456789" if each != page[digit]]))
    altered = f"{page[number.start(1) : digit]}{other}{page[digit + 1 : number.end(1)]}"
    assume((number[2], altered) not in guide.ledger.dates)  # another day on which the same address was read
    with pytest.raises(LintErrors):
        lint(f"{page[:digit]}{other}{page[digit + 1 :]}", guide.ledger, allowed, file="page.md")
