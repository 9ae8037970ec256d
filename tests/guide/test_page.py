from __future__ import annotations

from datetime import date

import pytest

from generator.claims import Claim
from generator.facts import Fact, Facts, Source
from generator.guide.ledger import Book, Ledger
from generator.guide.page import ledger_values, tidied
from generator.quantity import ONE, Quantity

DAY = date(2026, 8, 31)
READ = Fact("a.size", 3, "MiB", source=Source("https://example.org/a", title="a/b: c|d"), checked=DAY, note="as <published>")
TOLD = Fact("a.told", 5, source=Source("", title="a guide"), checked=DAY)


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("a\n\n\n\n\nb", "a\n\nb\n"),
        ("\n\na\n\n", "a\n"),
        ("a  \nb\t\n", "a\nb\n"),
        ("a\n   \n\n\nb\n", "a\n\nb\n"),
        ("```\na  \n\n\n\nb\n```\n\n\n\nc", "```\na  \n\n\n\nb\n```\n\nc\n"),
        ("```bash\na\n```\n", "```bash\na\n```\n"),
        ('<a id="x"></a>a <a id="y"></a>b <a id="x"></a>c', '<a id="x"></a>a <a id="y"></a>b c\n'),
        ("", "\n"),
    ],
)
def test_a_page_is_tidied_outside_its_code(text: str, tidy: str) -> None:
    assert tidied(text) == tidy
    assert tidied(tidy) == tidy


def test_the_page_of_the_ledger_has_a_row_for_each_number_and_a_line_for_each_claim() -> None:
    book = Book()
    book.add("a.size", READ.quantity())
    book.add("a.told", TOLD.quantity())
    book.add("a.third", book["a.size"] / 3)
    book.add("a.rule", Quantity.constant(4, ONE, "bytes of an `F32`"))
    claim = Claim.of("a.size", "It is so large", "a.size > 2", Facts([READ]))
    values = ledger_values(Ledger.of({}, book, [claim], Facts()), "rtx-5070")
    assert values["ledger_path"] == "rtx-5070/guide.json"
    assert values["rows"] == [
        {
            "anchor": '<a id="a.size"></a>`a.size`',
            "display": "`3.0 MiB`",
            "how": "`as <published>; a/b: c\\|d`",
            "kind": "transcribed",
            "checked": "[2026-08-31](https://example.org/a)",
        },
        {"anchor": '<a id="a.told"></a>`a.told`', "display": "`5`", "how": "`a guide`", "kind": "transcribed", "checked": "`2026-08-31`"},
        {
            "anchor": '<a id="a.third"></a>`a.third`',
            "display": "`1.0 MiB`",
            "how": "`a.size / 3`",
            "kind": "derived",
            "checked": "`2026-08-31`",
        },
        {"anchor": '<a id="a.rule"></a>`a.rule`', "display": "`4`", "how": "`` bytes of an `F32` ``", "kind": "declared", "checked": ""},
    ]
    assert values["claims"] == [
        {"link": "[`a.size`](#claim.a.size)", "predicate": "`a.size > 2`", "holds": True, "checked": "[2026-08-31](https://example.org/a)"}
    ]
