"""Tables in the shapes that sites have them in."""

from __future__ import annotations

import pytest

from generator.errors import InputError
from generator.new.tables import beside_labels, tables_of

TWO_CARDS = """
<title>Compare | Example</title><h1> Example <b>50</b> family </h1>
<table>
 <tr><th colspan="2"></th><th>Example 50 Ti</th><th>Example 50</th></tr>
 <tr><td rowspan="2">Memory:</td><td>Size<sup>1</sup></td><td>16 GB</td><td>12 GB</td></tr>
 <tr><td>Bus</td><td>256-bit</td><td>192-bit</td></tr>
 <tr><td>Power</td><td>TGP (W)</td><td>300</td><td>250</td></tr>
</table>
"""


def is_label(text: str) -> bool:
    return text in {"Size", "Bus", "TGP (W)"}


def test_cells_that_span_stand_in_each_row_and_column_they_span() -> None:
    page = tables_of(TWO_CARDS)
    assert page.heading == "Example 50 family"
    assert page.tables == (
        [
            ["", "", "Example 50 Ti", "Example 50"],
            ["Memory:", "Size", "16 GB", "12 GB"],
            ["Memory:", "Bus", "256-bit", "192-bit"],
            ["Power", "TGP (W)", "300", "250"],
        ],
    )


@pytest.mark.parametrize("column", ["Example 50", "example 50"])
def test_a_column_that_is_called_so_goes_before_one_whose_name_is_longer(column: str) -> None:
    assert list(beside_labels(tables_of(TWO_CARDS), is_label, column)) == [("Size", "12 GB"), ("Bus", "192-bit"), ("TGP (W)", "250")]


def test_the_end_of_a_name_is_enough() -> None:
    assert dict(beside_labels(tables_of(TWO_CARDS), is_label, "50 Ti"))["Size"] == "16 GB"


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("", "the page has a table of several cards"),
        ("Exam", "more than one column is called 'Exam'"),
        ("Example 60", "no column is called 'Example 60'"),
    ],
)
def test_a_column_that_is_needed_or_not_told_apart_lists_those_there_are(column: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        list(beside_labels(tables_of(TWO_CARDS), is_label, column))
    assert caught.value.problem == problem
    assert "'Example 50 Ti', 'Example 50'" in caught.value.remedy


def test_lists_of_terms_are_tables_too_and_scripts_say_nothing() -> None:
    source = "<dl><dt>Size</dt><dd>12 GB<br>soldered<script>var x = '<td>9 GB</td>'</script></dd><dt>Bus</dt><dd>192 bit</dd></dl>"
    assert list(beside_labels(tables_of(source), is_label, "")) == [("Size", "12 GB soldered"), ("Bus", "192 bit")]


def test_a_table_inside_a_table_is_one_of_its_own() -> None:
    source = "<table><tr><td>Size</td><td>8 GB</td></tr><tr><td><table><tr><td>Bus</td><td>64 bit</td></tr></table></td></tr></table>"
    assert list(beside_labels(tables_of(source), is_label, "")) == [("Bus", "64 bit"), ("Size", "8 GB")]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "<p>Size 12 GB</p>",
        "<table><tr><td>Size</td></tr></table>",
        "<table></table>",
        "<table><tr><td>Colour</td><td>red</td></tr></table>",
        "</td></tr></table></dl>",
    ],
)
def test_a_page_without_a_known_row_is_refused(source: str) -> None:
    with pytest.raises(InputError, match="no table of this page has a row that is known"):
        list(beside_labels(tables_of(source), is_label, ""))


def test_what_is_never_closed_loses_only_itself() -> None:
    source = "<table><tr><td>Size<sup>1<td>12 GB<tr><td>Bus<td>192 bit"
    assert tables_of(source).tables == ()
    assert list(beside_labels(tables_of(source + "</table>"), is_label, "")) == [("Size", "12 GB"), ("Bus", "192 bit")]


def test_a_span_beyond_belief_is_not_believed() -> None:
    source = '<table><tr><td colspan="999999999">Size</td><td rowspan="999999999">12 GB</td></tr><tr><td>Bus</td></tr></table>'
    assert max(len(row) for row in tables_of(source).tables[0]) < 200
