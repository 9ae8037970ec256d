from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import partial
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.errors import InputError
from generator.facts import Fact
from generator.quantity import (
    BIT,
    BYTE,
    BYTE_PER_PARAMETER,
    BYTE_PER_SECOND,
    BYTE_PER_TOKEN,
    ONE,
    PARAMETER,
    PER_SECOND,
    SECOND,
    SECOND_PER_TOKEN,
    SHOWN,
    TOKEN,
    TOKEN_PER_SECOND,
    WATT,
    Quantity,
    Unit,
    UnitError,
    Value,
    derived,
    largest,
    parsed,
    rounded,
    shown,
    shows,
    smallest,
    total,
)

UNITS = (
    ONE,
    BYTE,
    PARAMETER,
    TOKEN,
    SECOND,
    WATT,
    BIT,
    PER_SECOND,
    BYTE_PER_TOKEN,
    BYTE_PER_SECOND,
    BYTE_PER_PARAMETER,
    TOKEN_PER_SECOND,
    SECOND_PER_TOKEN,
)


def of(value: int | Fraction, unit: Unit = BYTE) -> Quantity:
    return Quantity.constant(value, unit)


def read(key: str, value: Value, unit: Unit = BYTE, label: str = "") -> Quantity:
    return Quantity.read(value, unit, Fact(key, 0), label)


# --- value and derivation ------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., Fraction]] = {
    "sum": lambda *values: sum(values, Fraction(0)),
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
    "ceil": lambda value, step: Fraction(ceil(value / step) * step),
}
OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
UNIT_BEHIND_NUMBER = re.compile(r"(\d) (?:[A-Za-z][^ ,()]*|1/[^ ,()]+)")
REFERENCE = re.compile(r"\[([^\]]+)\](?:\(([^)]*)\))?")


def evaluated(formula: str, values: Mapping[str, Fraction]) -> Fraction:
    """Evaluate a printed formula over exact values by key, knowing nothing of how it was made."""
    names: dict[str, Fraction] = {}

    def name_of(match: re.Match[str]) -> str:
        name = f"v{len(names)}"
        names[name] = values[match[0]]
        return name

    text = REFERENCE.sub(name_of, UNIT_BEHIND_NUMBER.sub(r"\1", formula))
    return _evaluated(ast.parse(text, mode="eval").body, names)


def _evaluated(node: ast.expr, names: Mapping[str, Fraction]) -> Fraction:
    match node:
        case ast.Constant(value=int(value)):
            return Fraction(value)
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluated(operand, names)
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](_evaluated(left, names), _evaluated(right, names))
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*[_evaluated(each, names) for each in args])
    raise AssertionError(ast.dump(node))


def parts_of(quantity: Quantity) -> Iterator[Quantity]:
    """Give a quantity and everything below it."""
    yield quantity
    for operand in quantity.operands:
        yield from parts_of(operand)


def values_below(quantity: Quantity) -> dict[str, Fraction]:
    """Give the exact value behind every reference that a formula may print."""
    found: dict[str, Fraction] = {}
    for each in parts_of(quantity):
        references = [f"[{each.key}]"] if each.key else []
        references += [each.formula()] if REFERENCE.fullmatch(each.formula()) else []
        found |= {reference: Fraction(each.number) for reference in references}
    return found


NUMBERS = st.one_of(st.integers(-(10**12), 10**12), st.fractions(-1000, 1000, max_denominator=60))
PRODUCTS = {BYTE: [(BYTE, ONE), (BYTE_PER_TOKEN, TOKEN)], TOKEN: [(TOKEN, ONE)], BYTE_PER_TOKEN: [(BYTE_PER_TOKEN, ONE)], ONE: [(ONE, ONE)]}
RATIOS = {
    BYTE: [(BYTE, ONE)],
    TOKEN: [(TOKEN, ONE), (BYTE, BYTE_PER_TOKEN)],
    BYTE_PER_TOKEN: [(BYTE, TOKEN)],
    ONE: [(BYTE, BYTE), (TOKEN, TOKEN)],
}


@st.composite
def leaves(draw: st.DrawFn, unit: Unit) -> Quantity:
    value = draw(NUMBERS)
    if draw(st.booleans()):
        return of(value, unit)
    key = f"fact.{unit}.{value}".replace("/", "_")
    leaf = read(key, Quantity.constant(value).value, unit, draw(st.sampled_from(["", "part"])))
    return leaf.named(key) if draw(st.booleans()) else leaf


@st.composite
def expressions(draw: st.DrawFn, unit: Unit, depth: int) -> Quantity:
    """Give an expression of a unit: a tree of every operation there is over facts and constants, some of it named."""
    kind = draw(st.sampled_from(["leaf", "+", "-", "*", "/", "sum", "max", "min", "ceil"])) if depth else "leaf"

    def below(of_unit: Unit = unit) -> Quantity:
        return draw(expressions(of_unit, depth - 1))

    if kind == "leaf":
        made = draw(leaves(unit))
    elif kind in {"+", "-"}:
        made = below() + below() if kind == "+" else below() - below()
    elif kind == "*":
        left, right = draw(st.sampled_from(PRODUCTS[unit]))
        made = below(left) * below(right)
    elif kind == "/":
        above, under = draw(st.sampled_from(RATIOS[unit]))
        divisor = below(under)
        made = below(above) / (divisor if divisor.number else of(7, under))
    elif kind == "ceil":
        made = below().rounded_up(draw(st.integers(1, 512)))
    else:
        operands = [below() for _ in range(draw(st.integers(1, 3)))]
        made = {"sum": lambda: total(operands, unit=unit), "max": lambda: largest(operands), "min": lambda: smallest(operands)}[kind]()
    return made.named(f"named.{unit}.{made.value}".replace("/", "_")) if kind != "leaf" and draw(st.booleans()) else made


ANY_EXPRESSION = st.sampled_from([BYTE, TOKEN, BYTE_PER_TOKEN, ONE]).flatmap(lambda unit: expressions(unit, 3))
few = settings(max_examples=60)


@few
@given(ANY_EXPRESSION)
def test_value_and_derivation_never_disagree(quantity: Quantity) -> None:
    for each in parts_of(quantity):
        assert each.recomputed() == each.value


@few
@given(ANY_EXPRESSION)
def test_the_printed_formula_gives_the_value(quantity: Quantity) -> None:
    for each in parts_of(quantity):
        assert evaluated(each.formula(), values_below(each)) == each.value


@few
@given(ANY_EXPRESSION)
def test_whole_numbers_are_ints_and_never_fractions_in_disguise(quantity: Quantity) -> None:
    for each in parts_of(quantity):
        assert isinstance(each.value, int) == (Fraction(each.number).denominator == 1)


@few
@given(ANY_EXPRESSION)
def test_inputs_are_what_the_formula_refers_to(quantity: Quantity) -> None:
    named = {each.key or REFERENCE.match(each.formula())[1] for each in quantity.inputs()}  # type: ignore[index]
    own = {match[1] for match in REFERENCE.finditer(quantity.formula())}
    if quantity.operands:
        assert named == own


@pytest.mark.parametrize(
    ("quantity", "formula"),
    [
        (read("a", 1) - (read("b", 2) - read("c", 3)), "[a] - ([b] - [c])"),
        (read("a", 1) - read("b", 2) - read("c", 3), "[a] - [b] - [c]"),
        (read("a", 1, ONE) / (read("b", 2, ONE) / read("c", 3, ONE)), "[a] / ([b] / [c])"),
        ((read("a", 1) + read("b", 2)) * 3, "([a] + [b]) * 3"),
        (read("a", 6, ONE) / of(Fraction(3, 2), ONE), "[a] / (3/2)"),
        (read("a", 6) - of(-4), "[a] - (-4 B)"),
        (read("a", 6, label="blk.0"), "[a](blk.0)"),
        (total([read("a", 1), read("b", 2)]), "sum([a], [b])"),
        (total([read("a", 1), read("b", 2)], words="all there is"), "all there is"),
        (read("a", 6) - total([read("b", 1)], words="the bytes, of b"), "[a] - (the bytes, of b)"),
        (largest([read("a", 1), read("b", 2)]), "max([a], [b])"),
        (read("a", 5, TOKEN).rounded_up(256), "ceil([a], 256 tok)"),
        ((read("a", 1).named("a") + of(2)).named("sum").named("alias"), "[sum]"),
        ((read("a", 1).named("a") + of(2)).named("sum"), "[a] + 2 B"),
        (read("list", (1, 2)).length(), "count([list])"),
        (read("a", 8, TOKEN).without_unit(TOKEN, "a cell each"), "[a] / 1 tok"),
    ],
)
def test_a_formula_reads_as_one_would_write_it(quantity: Quantity, formula: str) -> None:
    assert quantity.formula() == formula


def test_a_rule_that_is_no_arithmetic_is_told_in_words_and_evaluated_again() -> None:
    sizes = [read("a", 3), read("b", 5)]
    biggest = derived(5, BYTE, sizes, max, "the larger of the two")
    assert (biggest.formula(), biggest.recomputed(), biggest.inputs()) == ("the larger of the two", 5, sizes)
    lie = derived(4, BYTE, sizes, max, "the larger of the two")
    assert lie.recomputed() != lie.value


def test_recomputing_trusts_no_stored_value() -> None:
    right = (read("a", 2) + read("b", 3)).named("sum")
    wrong = Quantity(99, BYTE, right.derivation, "sum")
    assert (wrong * 2).value == 198
    assert (wrong * 2).recomputed() == 10


# --- units ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", UNITS, ids=str)
def test_only_like_is_added_subtracted_compared_and_gathered(left: Unit) -> None:
    for right in UNITS:
        one, two = of(1, left), of(2, right)
        steps: list[Callable[[], object]] = [
            partial(operator.add, one, two),
            partial(operator.sub, one, two),
            partial(operator.lt, one, two),
            partial(operator.le, one, two),
            partial(largest, [one, two]),
            partial(smallest, [one, two]),
            partial(total, [one, two], unit=left),
        ]
        for step in steps:
            if left == right:
                step()
            else:
                with pytest.raises(UnitError):
                    step()


def test_adding_gibibytes_to_gigabytes_a_second_says_what_is_wrong() -> None:
    size = Fact("size", 3, "GiB").quantity()
    rate = Fact("rate", 3, "GB/s").quantity()
    with pytest.raises(UnitError, match=r"cannot add a value in 'B' and one in 'B/s'"):
        _ = size + rate


@pytest.mark.parametrize(
    ("quantity", "unit"),
    [
        (of(6, BYTE) / of(2, TOKEN), BYTE_PER_TOKEN),
        (of(6, BYTE) / of(2, BYTE), ONE),
        (of(6, BYTE_PER_TOKEN) * of(2, TOKEN), BYTE),
        (of(6, BYTE_PER_SECOND) / of(2, BYTE_PER_TOKEN), TOKEN_PER_SECOND),
        (of(6, BYTE_PER_TOKEN) / of(2, BYTE_PER_SECOND), SECOND_PER_TOKEN),
        (of(6, PER_SECOND) * of(8, BYTE), BYTE_PER_SECOND),
        (of(6, BYTE) * 4, BYTE),
        (4 * of(6, BYTE), BYTE),
        (of(6, BYTE) / 4, BYTE),
    ],
)
def test_products_and_ratios_have_the_unit_that_follows(quantity: Quantity, unit: Unit) -> None:
    assert quantity.unit == unit


@pytest.mark.parametrize(
    ("unit", "text"),
    [(ONE, ""), (BYTE, "B"), (BYTE_PER_TOKEN, "B/tok"), (PER_SECOND, "1/s"), ((of(1, BYTE) * of(1, BYTE) * of(1, TOKEN)).unit, "B^2·tok")],
)
def test_a_unit_prints_as_it_is_written(unit: Unit, text: str) -> None:
    assert str(unit) == text


def test_counting_what_is_in_a_value_needs_the_right_unit() -> None:
    count = of(8, TOKEN).without_unit(TOKEN, "a row each")
    assert (count.value, count.unit) == (8, ONE)
    with pytest.raises(UnitError):
        of(8, BYTE).without_unit(TOKEN, "a row each")


def test_division_by_zero_is_an_error_of_ours() -> None:
    with pytest.raises(UnitError, match="zero"):
        _ = of(1) / of(0)


def test_a_list_is_no_number() -> None:
    both = read("sizes", (1, 2)).named("sizes")
    for step in (lambda: both + both, lambda: both.number, lambda: both * 2, lambda: float(both)):
        with pytest.raises(UnitError, match="list of 2"):
            step()
    assert both.length().value == 2


@pytest.mark.parametrize(
    ("value", "step", "up"), [(0, 256, 0), (1, 256, 256), (256, 256, 256), (257, 256, 512), (Fraction(5, 2), 1, 3), (-1, 4, 0)]
)
def test_rounding_up_gives_the_next_multiple(value: int | Fraction, step: int, up: int) -> None:
    assert of(value).rounded_up(step).value == up


def test_only_whole_numbers_become_ints() -> None:
    assert int(of(7)) == 7
    with pytest.raises(UnitError, match="is not a whole number"):
        int(of(Fraction(1, 2)))
    assert float(of(Fraction(1, 2))) == 0.5


def test_halves_that_meet_are_whole_again() -> None:
    half = of(Fraction(1, 2))
    assert type((half + half).value) is int
    assert type((half - half).value) is int
    assert type((half * 2).value) is int
    assert type((of(1) / half).value) is int


# --- showing and reading -------------------------------------------------------------------------

DECIMALS = st.decimals(-(10**15), 10**15, allow_nan=False, allow_infinity=False, places=8)


@given(DECIMALS, st.integers(0, 7))
def test_numbers_are_rounded_half_to_even_at_the_shown_digits(value: Decimal, digits: int) -> None:
    expected = value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN, Context(prec=60))
    assert rounded(Fraction(value), digits) == f"{expected or abs(expected):,.{digits}f}"


@given(st.integers(-(10**9), 10**9), st.integers(0, 6))
def test_an_exact_tie_goes_to_the_even_digit(whole: int, digits: int) -> None:
    tie = (Fraction(whole) + Fraction(1, 2)) / 10**digits
    even = whole if whole % 2 == 0 else whole + 1
    assert Fraction(rounded(tie, digits).replace(",", "")) == Fraction(even, 10**digits)


@given(st.fractions(-(10**9), 10**9), st.integers(0, 9))
def test_no_rounding_is_off_by_more_than_half_a_digit(value: Fraction, digits: int) -> None:
    assert abs(Fraction(rounded(value, digits).replace(",", "")) - value) <= Fraction(1, 2 * 10**digits)


@pytest.mark.parametrize(
    ("quantity", "unit", "digits", "text"),
    [
        (of(9547030528), "GiB", 3, "8.891 GiB"),  # 9547030528 / 1073741824 = 8.8913…
        (of(9547030528), "GB", 3, "9.547 GB"),
        (of(21864082336), None, None, "21,864,082,336 B"),
        (of(1536), "KiB", 1, "1.5 KiB"),
        (of(1024), "MiB", 4, "0.0010 MiB"),  # 1/1024 = 0.00097…
        (of(-(2**30)), "GiB", 2, "-1.00 GiB"),
        (of(-1), "GiB", 3, "0.000 GiB"),
        (of(0), "GiB", 3, "0.000 GiB"),
        (of(Fraction(1, 8), ONE), "%", 0, "12 %"),  # 12.5 rounds to the even 12
        (of(Fraction(3, 8), ONE), "%", 0, "38 %"),  # 37.5 rounds to the even 38
        (of(Fraction(9124, 10000), ONE), "%", 2, "91.24 %"),
        (of(Fraction(15, 2), ONE), "×", 2, "7.50×"),
        (of(26, ONE), None, None, "26"),
        (of(65536, TOKEN), "tokens", None, "65,536 tokens"),
        (of(Fraction(1709, 100000), SECOND), "ms", 2, "17.09 ms"),
        (of(32210000000, PARAMETER), "G", 2, "32.21 G"),
        (of(2510000000, PER_SECOND), "GHz", 2, "2.51 GHz"),
        (read("sizes", (2**20, 3 * 2**20)), "MiB", 0, "1 MiB, 3 MiB"),
    ],
)
def test_a_quantity_is_shown_in_the_unit_asked_for(quantity: Quantity, unit: str | None, digits: int | None, text: str) -> None:
    assert shown(quantity, unit, digits) == text


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_nothing_is_shown_in_a_unit_that_measures_something_else(unit: Unit) -> None:
    for name, (_, base) in SHOWN.items():
        if base == unit:
            assert shown(of(1, unit), name, 12).endswith(name)
        else:
            with pytest.raises(UnitError, match="cannot be shown"):
                shown(of(1, unit), name, 12)


def test_bytes_are_not_shown_as_tokens_a_second_and_no_unit_is_made_up() -> None:
    with pytest.raises(UnitError, match="cannot be shown in 'tok/s'"):
        shown(of(1), "tok/s", 1)
    with pytest.raises(UnitError, match="nothing is shown in 'furlongs'"):
        shown(of(1), "furlongs", 1)
    with pytest.raises(UnitError, match=r"nothing is shown in 'B\^2'"):
        shown(of(1) * of(1))


def test_a_broken_number_is_shown_only_at_stated_digits() -> None:
    with pytest.raises(UnitError, match="how many digits"):
        shown(of(1), "GiB")
    with pytest.raises(UnitError, match="how many digits"):
        shown(of(Fraction(1, 3)))


@pytest.mark.parametrize(
    ("name", "in_base"),
    [("KiB", 1024), ("MiB", 1048576), ("GiB", 1073741824), ("kB", 1000), ("MB", 1000000), ("GB", 1000000000), ("B", 1)],
)
def test_binary_and_decimal_prefixes_are_what_the_standards_say(name: str, in_base: int) -> None:
    assert parsed(f"1 {name}") == (Fraction(in_base), BYTE)


@given(
    st.integers(10**6, 10**15), st.sampled_from([("KiB", "kB"), ("MiB", "MB"), ("GiB", "GB"), ("GiB/s", "GB/s"), ("MiB/token", "MB/token")])
)
def test_binary_and_decimal_prefixes_are_never_taken_for_each_other(value: int, pair: tuple[str, str]) -> None:
    quantity = of(value, SHOWN[pair[0]][1])
    for name, other in (pair, pair[::-1]):
        text = shown(quantity, name, 6)
        assert shows(text, quantity)
        assert not shows(text.replace(name, other), quantity)


@given(st.fractions(-(10**15), 10**15, max_denominator=10**6), st.sampled_from(sorted(SHOWN)), st.integers(0, 8))
def test_what_is_shown_is_read_back_as_the_same_to_the_shown_digits(value: Fraction, name: str, digits: int) -> None:
    scale, unit = SHOWN[name]
    quantity = of(value, unit)
    text = shown(quantity, name, digits)
    again, of_unit = parsed(text)
    assert of_unit == unit
    assert abs(again - value) <= scale / (2 * 10**digits)
    assert shows(text, quantity)
    assert shown(of(again, unit), name, digits) == text


@given(st.fractions(-(10**9), 10**9, max_denominator=1000), st.integers(0, 4), st.integers(1, 9), st.booleans())
def test_a_text_with_another_last_digit_does_not_show_the_quantity(value: Fraction, digits: int, off: int, up: bool) -> None:
    quantity = of(value, ONE)
    other = of(value + Fraction(off if up else -off, 10**digits), ONE)
    assert not shows(shown(other, "", digits), quantity)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("8.891 GiB", True),
        ("8.89 GiB", True),
        ("9 GiB", True),
        ("9,547,030,528 B", True),
        ("9547030528 B", True),
        ("9,547 MB", True),
        ("8.892 GiB", False),
        ("8.8 GiB", False),
        ("8.891 GB", False),
        ("8.891 GiB/s", False),
        ("8.891 tokens", False),
        ("8.891", False),
        ("9547030528", False),
        ("8.891 GiB of 12", False),
        ("about 8.891 GiB", False),
        ("-8.891 GiB", False),
        ("", False),
        ("8.891 gib", False),
    ],
)
def test_a_text_shows_a_quantity_only_in_its_unit_and_correctly_rounded(text: str, says: bool) -> None:
    assert shows(text, of(9547030528)) is says


def test_a_text_shows_a_list_when_it_shows_each_of_it_in_order() -> None:
    both = read("sizes", (2**20, 3 * 2**20))
    assert shows("1 MiB, 3 MiB", both)
    assert not shows("3 MiB, 1 MiB", both)
    assert not shows("1 MiB", both)
    assert not shows("1 MiB, 3 MiB, 3 MiB", both)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("12 GiB", 12 * 2**30, BYTE),
        ("1,024 MiB", 2**30, BYTE),
        ("65 GB/s", 65 * 10**9, BYTE_PER_SECOND),
        ("26", 26, ONE),
        (" 12.5 % ", Fraction(1, 8), ONE),
        ("0.1 ms", Fraction(1, 10000), SECOND),
        ("-3 W", -3, WATT),
        ("192 bit", 192, BIT),
        ("5600 MT/s", 5600 * 10**6, PER_SECOND),
        ("226 tok/s", 226, TOKEN_PER_SECOND),
    ],
)
def test_a_quantity_is_read_exactly(text: str, value: int | Fraction, unit: Unit) -> None:
    assert parsed(text) == (Fraction(value), unit)


@pytest.mark.parametrize(
    "text", ["", "GiB", "12 gib", "1,2 GiB", "1.2.3", "12 GiB 3", "0x10 B", "1e3 B", "12 GiB; 3", "∞ B", "½ GiB", "--1 B"]
)
def test_what_is_no_quantity_is_refused_with_the_units_there_are(text: str) -> None:
    with pytest.raises(InputError, match="is no quantity") as caught:
        parsed(text, where="card.yml:3")
    assert caught.value.where == "card.yml:3"
    assert "GiB" in caught.value.remedy


def _sizes(values: Sequence[int]) -> list[Quantity]:
    return [read(f"size.{index}", value) for index, value in enumerate(values)]


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=30))
def test_totals_and_extremes_agree_with_pythons_own(values: list[int]) -> None:
    assert total(_sizes(values)).value == sum(values)
    assert largest(_sizes(values)).value == max(values)
    assert smallest(_sizes(values)).value == min(values)


def test_a_total_of_nothing_is_nothing() -> None:
    assert total([]).value == 0
    assert total([]).unit == BYTE
