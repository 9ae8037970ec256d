from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import markdown  # type: ignore[import-untyped]
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from generator.errors import InputError, UnknownNameError
from generator.facts import Fact, Source
from generator.guide.context import Sources
from generator.guide.ledger import Ledger
from generator.guide.lint import Allowed, LintErrors, lint
from generator.guide.marks import Marks, code, escaped, linked, plain, spelled
from generator.guide.prose import ProseError
from generator.quantity import UnitError
from generator.specs import Prose
from generator.specs.common import Quote

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = (
    '<script>alert("x")</script>',
    "<img src=x onerror=alert(1)>",
    "`<script>alert()</script>",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    "`[x](javascript:alert()) and ` more",
    "</a></td></table><b>",
    "{{ 7*7 }} {% raw %} {# c #}",
    "title { #id onclick=alert(1) }",
    "a | b || c",
    "**bold** _it_ ~~gone~~ ## x",
    "- item",
    "--- ---",
    "1. first",
    "# heading",
    "> quoted",
    "&lt;b&gt; &amp; &#60;",
    "$(rm -rf ~); `id` && echo \\",
    "<!-- hidden -->",
    "[ref]: https://evil.example",
    "<https://evil.example>",
    "a\nb\n\n```\nc",
    "trailing \\",
)
TEXTS = st.text("\\`*_{}[]()<>#+-.!|~&\"'=:$%^@/? \nab1é½", min_size=1, max_size=14).filter(plain)

# --- other people's text, in the two kinds of Markdown that read it ------------------------------


@cache
def site() -> markdown.Markdown:
    """Give the Markdown of the published site, as mkdocs.yml sets it up."""
    listed = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("!!python/name:", ""))["markdown_extensions"]
    names = [next(iter(each)) if isinstance(each, dict) else each for each in listed]
    return markdown.Markdown(extensions=[name for name in names if name != "toc"])


def on_the_site(text: str) -> str:
    return str(site().reset().convert(text))


def on_a_code_host(text: str) -> str:
    return str(MarkdownIt("commonmark").enable("table").render(text))


def seen(page: str) -> str:
    """Give what a reader sees of a page of HTML."""
    return plain(html.unescape(re.sub(r"<[^>]*>", "", page)))


CONTEXTS = {
    "paragraph": "{}",
    "sentence": "a {} b",
    "heading": "### {}",
    "item": "- {}",
    "cell": "| x | {} |\n|---|---|\n| {} | y |",
    "link": "see [{}](https://example.org)",
    "strong": "see **{}**",
}
RENDERERS = {"site": on_the_site, "code host": on_a_code_host}


@pytest.mark.parametrize("render", RENDERERS.values(), ids=RENDERERS)
@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
@settings(max_examples=60)
@given(TEXTS)
def test_other_peoples_text_is_shown_as_it_is(render: Callable[[str], str], context: str, text: str) -> None:
    frame = seen(render(context.replace("{}", "ZZZ")))
    assert seen(render(context.replace("{}", escaped(text)))) == plain(frame.replace("ZZZ", plain(text)))


@pytest.mark.parametrize("render", RENDERERS.values(), ids=RENDERERS)
@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
@pytest.mark.parametrize("show", [escaped, spelled])
def test_hostile_text_adds_no_markup(render: Callable[[str], str], context: str, show: Callable[[str], str]) -> None:
    tags = re.compile(r"<[^>]*>")
    expected = tags.findall(render(context.replace("{}", "ZZZ")))
    for text in HOSTILE:
        page = render(context.replace("{}", show(text)))
        found = tags.findall(page)
        assert [tag for tag in found if tag not in {"<code>", "</code>"}] == expected, (text, page)


@pytest.mark.parametrize("render", RENDERERS.values(), ids=RENDERERS)
@settings(max_examples=150)
@given(TEXTS.filter(lambda text: "|" not in text))
def test_code_is_shown_as_it_is(render: Callable[[str], str], text: str) -> None:
    page = render(f"see {code(text)} there")
    assert plain(html.unescape(re.sub(r"</?(?:p|code)>", "", page))) == f"see {plain(text)} there"
    assert page.count("<code>") == 1


def test_a_bar_in_code_does_not_end_a_cell() -> None:
    page = on_a_code_host(f"| a | b |\n|---|---|\n| {code('x | grep `y`')} | c |")
    assert "<td><code>x | grep `y`</code></td>\n<td>c</td>" in page
    assert "<td>c</td>" in on_the_site(f"| a | b |\n|---|---|\n| {code('x | grep `y`')} | c |")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("report, 2026-08-18", "report, 2026-08-18"),
        ("comment (2026-08-18), by someone", "comment (2026-08-18), by someone"),
        ("b10666 of llama.cpp", "`b10666` of llama.cpp"),
        ("at 2026-08-18T10:00", "at `2026-08-18T10:00`"),
        ("the <b>3rd</b> try", "the `<b>3rd</b>` try"),
        ("`2026-08-18`<b>", "`` `2026-08-18`<b> ``"),
        ("a_b", "a\\_b"),
    ],
)
def test_words_with_digits_are_spelled_as_code_and_dates_are_not(text: str, shown: str) -> None:
    assert spelled(text) == shown


def test_brackets_in_an_address_do_not_end_a_link() -> None:
    page = on_a_code_host(linked("x", "https://example.org/a_(b) c"))
    assert page == '<p><a href="https://example.org/a_%28b%29%20c">x</a></p>\n'


# --- numbers and facts ---------------------------------------------------------------------------


def test_a_number_links_to_its_row(marks: Marks) -> None:
    assert marks.number("budget.total") == "[8.891 GiB](#budget.total)"
    assert marks.number("weights.file", "GB", 1) == "[21.9 GB](#weights.file)"


def test_a_number_is_not_shown_in_a_unit_that_measures_something_else(marks: Marks) -> None:
    with pytest.raises(UnitError):
        marks.number("budget.total", "tok/s", 1)


def test_an_unknown_number_names_the_near_ones(marks: Marks) -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'budget\.total'"):
        marks.number("budget.totl")


def with_fact(marks: Marks, fact: Fact) -> Marks:
    return replace(marks, facts=marks.facts.merged([fact]))


HERE = Source("https://example.org/here")


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (12, "GiB", "[12 GiB](#x.y)"),
        (2.51, "GHz", "[2.51 GHz](#x.y)"),
        (5, "", "[5](#x.y)"),
        (0, "", "[0](#x.y)"),
        (100.0, "", "[100](#x.y)"),
        (0.00001, "", "[0.00001](#x.y)"),
        (64.87, "tok/s", "[64.87 tok/s](#x.y)"),
        ("2026-08-05", "", "[2026-08-05](https://example.org/here)"),
        ("b10488", "", "`b10488`"),
        ("a`b", "", "``a`b``"),
        (True, "", "yes"),
        (False, "", "no"),
        (["stale", "bug"], "", "`stale`, `bug`"),
    ],
)
def test_a_fact_is_said_as_a_reader_should_see_it(marks: Marks, value: object, unit: str, said: str) -> None:
    fact = Fact("x.y", value, unit, source=HERE, checked=date(2026, 8, 31))
    assert with_fact(marks, fact).fact("x.y") == said


def test_a_number_that_prose_takes_from_a_fact_comes_into_the_ledger(marks: Marks) -> None:
    assert "model.imatrix_chunks" not in marks.book
    marks.fact("model.imatrix_chunks")
    assert marks.book["model.imatrix_chunks"].value == 590


@pytest.mark.parametrize("status", ["not_published", "gone"])
def test_a_fact_without_a_value_is_not_shown(marks: Marks, status: str) -> None:
    fact = Fact("x.y", None if status == "not_published" else 7, source=HERE, status=status)
    with pytest.raises(InputError, match=f"has no value to show .{status}."):
        with_fact(marks, fact).fact("x.y")


def test_a_day_links_to_where_the_fact_was_read_or_to_its_row(marks: Marks) -> None:
    read = with_fact(marks, Fact("x.y", 1, source=HERE, checked=date(2026, 8, 31)))
    assert read.checked("x.y") == "checked [2026-08-31](https://example.org/here)"
    told = with_fact(marks, Fact("x.z", 1, source=Source("", title="a guide"), checked=date(2026, 8, 31)))
    assert told.day("x.z") == "[2026-08-31](#x.z)"
    assert "x.z" in told.book


def test_no_date_is_given_for_what_was_never_checked(marks: Marks) -> None:
    with pytest.raises(InputError, match="never checked"):
        with_fact(marks, Fact("x.y", 1, source=HERE)).day("x.y")


# --- claims --------------------------------------------------------------------------------------


def test_a_claim_is_said_with_its_anchor_its_day_and_its_source_and_remembered(marks: Marks) -> None:
    marks = with_fact(marks, Fact("x.y", None, source=HERE, checked=date(2026, 8, 31), status="not_published"))
    said = marks.claim("x.y", "The vendor publishes none", "x.y is not_published")
    assert said == '<a id="claim.x.y"></a>The vendor publishes none, checked [2026-08-31](https://example.org/here)'
    assert marks.claims["x.y"].holds


def test_a_claim_on_what_was_never_checked_is_refused(marks: Marks) -> None:
    with pytest.raises(InputError, match="never checked"):
        with_fact(marks, Fact("x.y", 1, source=HERE)).claim("x.y", "It is one", "x.y == 1")


def test_a_claim_without_an_address_is_refused_with_what_to_say_instead(marks: Marks) -> None:
    told = with_fact(marks, Fact("x.y", 1, source=Source("", title="a guide"), checked=date(2026, 8, 31)))
    with pytest.raises(InputError, match="without an address") as caught:
        told.claim("x.y", "It is one", "x.y == 1")
    assert "{checked KEY}" in caught.value.remedy


@pytest.mark.parametrize("value", [1, False, 'black and white "and" grey', ["a", "b and c"], "größer"])
def test_any_value_can_be_said_to_still_hold(marks: Marks, value: object) -> None:
    marks = with_fact(marks, Fact("x.y", value, source=HERE, checked=date(2026, 8, 31), note="what | it is"))
    assert marks.holds("x.y") == '<a id="claim.x.y"></a>checked [2026-08-31](https://example.org/here)'
    assert marks.claims["x.y"].holds
    assert "what | it is" in marks.claims["x.y"].text


def test_the_state_of_a_thread_is_a_claim_with_the_scope_of_its_report(marks: Marks, sources: Sources) -> None:
    issue = sources.issues["llama.cpp#26609"]
    said = marks.state(issue)
    assert said.endswith("open, checked [2026-09-22](https://github.com/ggml-org/llama.cpp/issues/26609)")
    scope = marks.claims["issue.llama.cpp.26609.state"].scope
    assert scope["architectures"] == ("qwen35moe",)
    assert scope["techniques"] == ("expert_offload", "flash_attention_on")


# --- quotations and citations --------------------------------------------------------------------


def quote(text: str, said_in: str = "report, 2026-08-18", checked: date | None = None) -> Quote:
    return Quote("q", text, said_in, HERE, checked)


def test_a_quotation_is_marked_with_who_said_it_where_and_when(marks: Marks) -> None:
    assert marks.quote(quote("not fixed")) == "“not fixed” ([report, 2026-08-18](https://example.org/here))"
    read = marks.quote(quote("not fixed", "the model card", date(2026, 8, 31)))
    assert read == "“not fixed” ([the model card, read 2026-08-31](https://example.org/here))"
    assert marks.quote(quote("not fixed", ""), date(2026, 9, 1)) == "“not fixed” ([source, read 2026-09-01](https://example.org/here))"


def on_a_page(marks: Marks, text: str) -> None:
    """Hold a sentence of a guide against what the marks remember."""
    lint(f"# A page\n\n{text}\n", Ledger({}, {}, {}), Allowed((), frozenset(marks.quotes), frozenset(marks.days)), file="page.md")


@pytest.mark.parametrize("text", [*HOSTILE, "243k tokens  pass,\n30 layers", "he said “12” and “13”", "IQ1_M is 1.75-bit"])
def test_any_quotation_passes_the_lint_as_the_words_it_is(marks: Marks, text: str) -> None:
    for said_in in ("report, 2026-08-18", "comment 12 by <b>x9</b>", "`[x](javascript:a())", "on 2026-08-18T10:00, 2026-08-18"):
        said = marks.quote(quote(text, said_in, date(2026, 8, 31)))
        on_a_page(marks, said)
        assert f"“{plain(text)}”" in seen(on_a_code_host(said))
        with pytest.raises(LintErrors):
            on_a_page(marks, said.replace("“", "“not ", 1))


def test_a_citation_links_to_file_and_line_at_the_pin(marks: Marks) -> None:
    said = marks.cite("fit_margin")
    assert re.fullmatch(r"\[`[^`]+:\d+`\]\(https://github\.com/ggml-org/llama\.cpp/blob/b10666/[^)]+#L\d+[^)]*\)", said)
    assert not marks.uncited


def test_a_citation_whose_line_was_not_read_at_the_pin_is_noted(marks: Marks, sources: Sources) -> None:
    name = next(name for name, citation in sources.engine.citations.items() if citation.line is None)
    assert ":" not in marks.cite(name).partition("](")[0]
    assert name in marks.uncited


# --- placeholders --------------------------------------------------------------------------------


def filled(marks: Marks, sources: Sources, text: str, ref: str = "llama.cpp#26609") -> str:
    issue = sources.issues[ref]
    return marks.prose(Prose(text, issue.file, 30), issue, issue.prefix)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{comments}", "[4](#issue.llama.cpp.26609.comments)"),
        ("{issue.llama.cpp.26609.comments}", "[4](#issue.llama.cpp.26609.comments)"),
        ("{opened}", "[2026-08-05](https://github.com/ggml-org/llama.cpp/issues/26609)"),
        ("{budget.total}", "[8.891 GiB](#budget.total)"),
        ("{budget.total|GB|2}", "[9.55 GB](#budget.total)"),
        ("{budget.total||1}", "[8.9 GiB](#budget.total)"),
        ("{model} on {card} at {build}", "Apodex 1.1 mini on RTX 5070 at `b10666`"),
        ("{checked}", "checked [2026-09-22](https://github.com/ggml-org/llama.cpp/issues/26609)"),
        ("{day comments}", "[2026-08-31](https://github.com/ggml-org/llama.cpp/issues/26609)"),
        ("{checked comments}", "checked [2026-08-31](https://github.com/ggml-org/llama.cpp/issues/26609)"),
        ("`{model}`", "`{model}`"),
    ],
)
def test_placeholders_of_prose(marks: Marks, sources: Sources, text: str, said: str) -> None:
    assert filled(marks, sources, text) == said


def test_placeholders_for_threads_quotations_and_claims(marks: Marks, sources: Sources) -> None:
    assert filled(marks, sources, "{state}").endswith("open, checked [2026-09-22](https://github.com/ggml-org/llama.cpp/issues/26609)")
    assert filled(marks, sources, "{issue 25060}").startswith("[#25060](https://github.com/ggml-org/llama.cpp/issues/25060) (")
    assert filled(marks, sources, "{quote not_fixed}").startswith("“not fixed as of that build” ([report, 2026-08-18](")
    assert 'id="claim.issue.llama.cpp.26609.comments"' in filled(marks, sources, "{claim comments}")
    assert filled(marks, sources, "{cite fit_margin}") == marks.cite("fit_margin")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{coments}", "no number or fact is called 'coments'; did you mean 'comments'"),
        ("{budget.totl}", "no number or fact is called 'budget.totl'; did you mean 'budget.total'"),
        ("{budget.total|furlongs|1}", "nothing is shown in 'furlongs'"),
        ("{budget.total|tok/s|1}", "cannot be shown in 'tok/s'"),
        ("{budget.total|GiB}", "say how many digits"),
        ("{budget.total|GiB|x}", "unit and digits are not understood"),
        ("{budget.total|GiB|3|4}", "unit and digits are not understood"),
        ("{budget.total|GiB|999}", "unit and digits are not understood"),
        ("{quote not_fixd}", "no quote is called 'not_fixd'; did you mean"),
        ("{issue 1}", "there is no thread 'llama.cpp#1' in the catalogue"),
        ("{issue x}", "there is no thread 'llama.cpp#x' in the catalogue"),
        ("{cite fit_margn}", "no citation is called 'fit_margn'"),
        ("{chekced comments}", "there is no placeholder 'chekced'"),
        ("{{ 7*7 }}", "no number or fact is called '7\\*7'"),
    ],
)
def test_a_placeholder_that_means_nothing_is_told_with_file_line_and_what_would_be_right(
    marks: Marks, sources: Sources, text: str, problem: str
) -> None:
    with pytest.raises(ProseError, match=problem) as caught:
        filled(marks, sources, f"first line\n{text}")
    assert caught.value.where == "recipes/issues/llama.cpp/26609.md:31"


def test_the_days_of_a_guide_are_the_checks_of_what_it_says(marks: Marks) -> None:
    marks = replace(marks, book=replace(marks.book, numbers={}, shows={}))
    assert marks.checks() == []
    marks.fact("model.imatrix_chunks")
    marks.fact("card.memory_bandwidth_third_party")
    assert [day for day, _ in marks.checks()] == [date(2026, 2, 7), date(2026, 8, 31)]


def test_a_page_of_only_hostile_text_is_a_page_of_words(marks: Marks) -> None:
    every: Any = "\n\n".join(marks.quoted(text) for text in HOSTILE)
    on_a_page(marks, every)
