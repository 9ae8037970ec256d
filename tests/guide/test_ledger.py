from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import pytest
import yaml

from generator.build import Guide
from generator.cli import main
from generator.errors import UnknownNameError
from generator.facts import Fact, Facts, Source
from generator.guide.ledger import Book, DuplicateKeyError, Ledger, usual_show
from generator.quantity import BYTE, BYTE_PER_SECOND, BYTE_PER_TOKEN, ONE, SECOND, TOKEN, TOKEN_PER_SECOND, Quantity, Unit

ROOT = Path(__file__).resolve().parents[2]
FIGURES: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "figures.yml").read_text(encoding="utf-8"))
KINDS = {"fetched", "header", "derived", "measured", "transcribed", "reconstructed", "declared"}
STATUSES = {"ok", "overdue"}
SCALE = {"": Fraction(1), "%": Fraction(1, 100), "MiB": Fraction(2**20), "GiB": Fraction(2**30)}


@pytest.fixture(scope="session")
def told(guide: Guide) -> dict[str, Any]:
    """Give guide.json as a machine reads it."""
    rows: dict[str, Any] = json.loads(guide.files["guides/apodex-mini/rtx-5070/guide.json"])
    return rows


# --- the published figures -----------------------------------------------------------------------


def flattened(tree: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, dict):
            yield from flattened(value, name)
        else:
            yield name, value


def test_every_published_figure_is_what_explain_tells_a_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["explain", "apodex-mini", "rtx-5070", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)["numbers"]
    figures = dict(flattened(FIGURES))
    assert len(figures) == 59
    for key, want in figures.items():
        value = numbers[key]["value"]
        if isinstance(want, int | list):
            assert value == want, key
            continue
        number, _, unit = str(want).partition(" ")
        exact = Fraction(numbers[key].get("exact", value)) / SCALE[unit]
        digits = Decimal(1).scaleb(-len(number.partition(".")[2]))
        rounded = (Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(digits, ROUND_HALF_EVEN)
        assert rounded == Decimal(number), key


# --- the form of guide.json ----------------------------------------------------------------------


def test_the_ledger_says_its_format_and_what_was_built(told: dict[str, Any]) -> None:
    assert list(told) == ["format", "recipe", "numbers", "claims"]
    assert told["format"] == 1
    recipe = told["recipe"]
    assert (recipe["model"], recipe["card"], recipe["quant"], recipe["build"]) == ("apodex-mini", "rtx-5070", "Q4_K_M", "b10666")
    assert recipe["settings"]["n_cpu_moe"] == 26
    assert recipe["budget_policy"] == "published"
    assert recipe["purls"] == ["pkg:huggingface/bartowski/apodex_Apodex-1.1-mini-GGUF", "pkg:github/ggml-org/llama.cpp@b10666"]


def test_a_number_has_a_value_a_unit_a_kind_and_a_day(told: dict[str, Any]) -> None:
    for key, row in told["numbers"].items():
        assert set(row) <= {"value", "unit", "display", "kind", "checked", "exact", "formula", "inputs", "sources", "note"}, key
        assert {"value", "unit", "display", "kind", "checked"} <= set(row), key
        assert row["kind"] in KINDS, key
        assert isinstance(row["value"], int | float | list) and not isinstance(row["value"], bool), key
        assert row["checked"] is None or date.fromisoformat(row["checked"]) > date(2026, 1, 1), key
        if "exact" in row:
            assert float(Fraction(row["exact"])) == row["value"], key


def test_keys_are_dotted_and_lower_case(told: dict[str, Any]) -> None:
    for key in told["numbers"]:
        assert re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z0-9_@/-]+)*", key), key


def test_what_was_read_names_its_source_and_what_was_derived_names_what_it_follows_from(told: dict[str, Any]) -> None:
    for key, row in told["numbers"].items():
        if row["kind"] == "derived":
            assert row["formula"] and "sources" not in row, key
            assert row.get("inputs") or not re.search(r"\[", row["formula"]), key
        elif row["kind"] == "declared":
            assert "inputs" not in row and row["note"], key
        else:
            assert "inputs" not in row and "formula" not in row, key
            assert row["sources"] and row["checked"], key
            assert all(source.get("url") or source.get("title") for source in row["sources"]), key
            assert all(source["retrieved"] == row["checked"] for source in row["sources"]), key


def test_every_input_is_a_number_of_the_ledger_that_stands_before_it(told: dict[str, Any]) -> None:
    before: set[str] = set()
    for key, row in told["numbers"].items():
        assert set(row.get("inputs", [])) <= before, key
        before.add(key)


def test_a_derived_number_is_as_old_as_the_oldest_check_below_it(told: dict[str, Any]) -> None:
    numbers = told["numbers"]
    for key, row in numbers.items():
        if row["kind"] == "derived":
            days = [numbers[name]["checked"] for name in row["inputs"] if numbers[name]["checked"]]
            assert row["checked"] == min(days, default=None), key


def test_a_claim_says_its_text_predicate_scope_sources_and_day(told: dict[str, Any]) -> None:
    assert len(told["claims"]) > 20
    for name, claim in told["claims"].items():
        assert set(claim) == {"text", "predicate", "holds", "scope", "sources", "checked", "status"}, name
        assert claim["holds"] is True, name
        assert claim["status"] in STATUSES, name
        assert date.fromisoformat(claim["checked"]) > date(2026, 1, 1), name
        assert all(source["url"].startswith("https://") and source["retrieved"] for source in claim["sources"]), name


def test_the_anchors_of_the_page_are_the_keys_of_the_ledger(guide: Guide, told: dict[str, Any]) -> None:
    anchors = re.findall(r'<a id="([^"]+)"></a>', guide.files[guide.page])
    assert len(anchors) == len(set(anchors))
    keys = {*told["numbers"], *(f"claim.{name}" for name in told["claims"])}
    others = {anchor for anchor in anchors if anchor not in keys}
    assert keys <= set(anchors)
    assert all(re.fullmatch(r"issue-\d+|[a-z-]+", anchor) for anchor in others), others


# --- formulas, evaluated from guide.json alone ---------------------------------------------------

OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
FUNCTIONS: dict[str, Callable[..., Fraction]] = {
    "sum": lambda *values: sum(values, Fraction(0)),
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
    "ceil": lambda value, step: Fraction(ceil(value / step) * step),
    "count": lambda values: Fraction(len(values)),
}
REFERENCE = re.compile(r"\[([^\]]+)\]")
UNIT = re.compile(r"(\d) (?:[A-Za-z][^ ,()]*|1/[^ ,()]+)")


def arithmetic(formula: str) -> str | None:
    """Give a formula with its references as names, None where it is told in words."""
    text = REFERENCE.sub(lambda match: f"v{match[1].encode().hex()}", UNIT.sub(r"\1", formula))
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return None
    return text


def evaluated(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int(value)):
            return Fraction(value)
        case ast.Name(id=name):
            return values[bytes.fromhex(name[1:]).decode()]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluated(operand, values)
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](evaluated(left, values), evaluated(right, values))
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*[evaluated(each, values) for each in args])
    raise AssertionError(ast.dump(node))


def test_every_formula_of_the_ledger_gives_its_value_from_the_values_of_its_inputs(told: dict[str, Any]) -> None:
    numbers = told["numbers"]
    exact = {
        key: row["value"] if isinstance(row["value"], list) else Fraction(row.get("exact", row["value"])) for key, row in numbers.items()
    }
    words, checked = [], 0
    for key, row in numbers.items():
        if row["kind"] != "derived":
            continue
        assert set(REFERENCE.findall(row["formula"])) <= set(row["inputs"]), key
        text = arithmetic(row["formula"])
        if text is None:
            words.append(key)
            continue
        assert set(REFERENCE.findall(row["formula"])) == set(row["inputs"]), key
        assert evaluated(ast.parse(text, mode="eval").body, exact) == exact[key], (key, row["formula"])
        checked += 1
    assert checked > 90
    said = (
        "weights.",
        "experts.",
        "kv.full_attention_blocks",
        "ladder.",
        "traffic.step",
        "fallback.",
        "referee.",
        "compute.",
        "recurrent.card",
        "kv.card",
        "kv.block_count",
        "ollama.",
    )
    assert [key for key in words if not key.startswith(said)] == []


# --- book and rows -------------------------------------------------------------------------------

DAY, OLDER = date(2026, 8, 31), date(2026, 2, 7)
SIZE = Fact("a.size", 3, "MiB", source=Source("https://example.org/a", revision="c0ffee"), checked=DAY, note="as published")
SHARE = Fact("a.share", 1, source=Source("https://example.org/b"), checked=OLDER)
TABLE = Fact("a.table", [["x", 1], ["y", 2]], origin="reconstructed", source=Source("https://example.org/t"), checked=DAY)


def test_a_key_names_one_number() -> None:
    book = Book()
    book.add("a.size", SIZE.quantity())
    with pytest.raises(DuplicateKeyError, match=r"two numbers of the guide are called 'a\.size'"):
        book.add("a.size", SIZE.quantity())


def test_an_unknown_key_names_the_near_ones() -> None:
    book = Book()
    book.add("a.size", SIZE.quantity())
    for place in (book, Ledger.of({}, book, [], Facts())):
        with pytest.raises(UnknownNameError, match=r"did you mean 'a\.size'") as caught:
            place["a.sise"]
        assert "gen explain" in caught.value.remedy


def test_a_number_is_said_in_its_usual_unit_or_in_the_one_asked_for() -> None:
    book = Book()
    book.add("a.size", SIZE.quantity(), "KiB")
    assert book.text("a.size") == "3,072 KiB"
    assert book.text("a.size", digits=1) == "3,072.0 KiB"
    assert book.text("a.size", "MiB", 2) == "3.00 MiB"


@pytest.mark.parametrize(
    ("value", "unit", "show"),
    [
        (1000, BYTE, ("B", 0)),
        (2**20, BYTE, ("MiB", 1)),
        (2**27 - 1, BYTE, ("MiB", 1)),
        (2**27, BYTE, ("GiB", 3)),
        (-(2**31), BYTE, ("GiB", 3)),
        ((2**30, 1), BYTE, ("B", 0)),
        (10880, BYTE_PER_TOKEN, ("B/token", 0)),
        (51200000000, BYTE_PER_SECOND, ("GB/s", 1)),
        (Fraction(1, 3), SECOND, ("ms", 2)),
        (65536, TOKEN, ("tokens", 0)),
        (Fraction(1, 3), TOKEN, ("tokens", 2)),
        (26, ONE, ("", 0)),
        (Fraction(1, 3), ONE, ("", 2)),
        (130, TOKEN_PER_SECOND, ("tok/s", 0)),
    ],
)
def test_a_number_that_nobody_said_how_to_show_has_a_usual_way(value: int | Fraction, unit: Unit, show: tuple[str, int]) -> None:
    usual = usual_show(Quantity(value, unit))
    assert (usual.unit, usual.digits) == show


def small() -> Ledger:
    book = Book()
    book.add("a.size", SIZE.quantity())
    part = Quantity.read(2, ONE, TABLE, "y")
    book.add("a.third", book["a.size"] * part / 3 * SHARE.quantity())
    book.add("a.rule", Quantity.constant(512, TOKEN, "the engine's default"))
    book.add("a.again", book["a.third"])
    return Ledger.of({"model": "m"}, book, [], Facts([SIZE, SHARE, TABLE]))


def test_everything_a_number_follows_from_is_in_the_ledger_before_it() -> None:
    ledger = small()
    assert list(ledger.rows) == ["a.size", "a.table", "a.share", "a.third", "a.rule", "a.again"]
    assert ledger["a.third"].inputs == ("a.size", "a.table", "a.share")
    assert ledger["a.third"].checked == OLDER
    assert (ledger["a.again"].formula, ledger["a.again"].inputs) == ("[a.third]", ("a.third",))


def test_a_row_is_told_to_machines_with_what_is_known_of_it() -> None:
    rows: Any = small().as_dict()["numbers"]
    assert rows["a.size"] == {
        "value": 3145728,
        "unit": "B",
        "display": "3.0 MiB",
        "kind": "transcribed",
        "checked": "2026-08-31",
        "sources": [{"url": "https://example.org/a", "revision": "c0ffee", "retrieved": "2026-08-31"}],
        "note": "as published",
    }
    assert rows["a.third"] == {
        "value": 2097152,
        "unit": "B",
        "display": "2.0 MiB",
        "kind": "derived",
        "checked": "2026-02-07",
        "formula": "[a.size] * [a.table](y) / 3 * [a.share]",
        "inputs": ["a.size", "a.table", "a.share"],
    }
    assert (rows["a.table"]["value"], rows["a.table"]["kind"]) == (2, "reconstructed")
    assert rows["a.rule"]["kind"] == "declared"
    assert rows["a.rule"]["note"] == "the engine's default"


def test_a_broken_number_is_told_exactly_beside_its_decimal() -> None:
    book = Book()
    book.add("a.third", Quantity.constant(1) / 3)
    row: Any = Ledger.of({}, book, [], Facts()).as_dict()["numbers"]["a.third"]  # type: ignore[index]
    assert (row["value"], row["exact"], row["display"]) == (1 / 3, "1/3", "0.33")


def test_the_days_of_a_ledger_are_those_on_which_its_addresses_were_read_or_that_a_fact_states() -> None:
    opened = Fact("t.opened", "2026-08-05", source=Source("https://example.org/t"), checked=DAY)
    dates = Ledger.of({}, Book(), [], Facts([SIZE, opened])).dates
    assert dates == {
        ("https://example.org/a", "2026-08-31"),
        ("https://example.org/t", "2026-08-31"),
        ("https://example.org/t", "2026-08-05"),
    }


def test_the_same_ledger_is_the_same_text() -> None:
    assert small().json() == small().json()
    assert json.loads(small().json()) == small().as_dict()
