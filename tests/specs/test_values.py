from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.facts import Fact
from generator.quantity import SHOWN, parsed
from generator.specs.document import MappingNode, RefusedError, Report, parse
from generator.specs.shapes import Place, Shape
from generator.specs.values import SIZE, FactValue, Written

FACT_VALUE = FactValue()


def read(text: str, shape: Shape[Written] = FACT_VALUE) -> Written:
    node = parse(f"value: {text}\n", Report("f"))
    assert isinstance(node, MappingNode)
    value = node.get("value")
    assert value is not None
    return shape.read(value, Place(Report("f")))


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("12 GiB", 12, "GiB"),
        ('"12 GiB"', 12, "GiB"),
        ("11.0 GiB", 11, "GiB"),
        ("7.5 GiB", 7.5, "GiB"),
        ("12,288 MiB", 12288, "MiB"),
        ("6,144", 6144, ""),
        ("6144", 6144, ""),
        ("672 GB/s", 672, "GB/s"),
        ("42 %", 42, "%"),
        ("36.75 tok/s", 36.75, "tok/s"),
        ("2.51 GHz", 2.51, "GHz"),
        ("250 W", 250, "W"),
        ("4294967297 B", 4294967297, "B"),
        ("1.0", 1.0, ""),
        ("true", True, ""),
        ("b10488", "b10488", ""),
        ('"12.8"', "12.8", ""),
        ("595.71.05", "595.71.05", ""),
        ("2026-08-05", "2026-08-05", ""),
        ("on", "on", ""),
        ("16 slots, then 4", "16 slots, then 4", ""),
        ("[452984832, 522190848]", [452984832, 522190848], ""),
        ("[13.5 MiB, 15.6 MiB]", [13.5, 15.6], "MiB"),
        ("[bug-unconfirmed, stale]", ["bug-unconfirmed", "stale"], ""),
    ],
)
def test_a_value_keeps_the_number_and_unit_its_author_wrote(text: str, value: object, unit: str) -> None:
    written = read(text)
    assert written == Written(value, unit)  # type: ignore[arg-type]
    assert type(written.value) is type(value)


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("12 Gib", "'Gib' is no unit", "did you mean 'GiB'"),
        ("12 gb", "'gb' is no unit", "did you mean 'GB'"),
        ("3 bugs", "'bugs' is no unit", "write the number alone"),
        ("0.1000000000000000055511151231257827 GiB", "more digits than can be kept exactly", "smaller unit"),
        ("2026-02-30", "'2026-02-30' is no day", "year-month-day"),
        ("[1 GiB, 1 MiB]", "different kinds or units", "alike"),
        ("[1, a]", "different kinds or units", "alike"),
        ("[]", "the list is empty", "not_published"),
        ("[[1]]", "single values", ""),
        ("{a: 1}", "this is a table", ""),
        ("~", "no value stands here", "not_published"),
        ("''", "text of 1 to 1000", ""),
        ("x" * 1001, "text of 1 to 1000", ""),
    ],
)
def test_a_value_that_cannot_be_kept_is_refused_with_a_remedy(text: str, message: str, remedy: str) -> None:
    report = Report("f")
    node = parse(f"value: {text}\n", report)
    assert isinstance(node, MappingNode)
    value = node.get("value")
    assert value is not None
    with pytest.raises(RefusedError):
        FactValue().read(value, Place(report, "value"))
    (problem,) = report.problems
    assert message in problem.message
    assert remedy in problem.remedy
    assert problem.line == 1


@given(st.decimals(min_value=0, max_value=10**9, places=3), st.sampled_from(sorted(filter(None, SHOWN))))
def test_a_quantity_of_a_fact_is_exactly_what_was_written(number: object, unit: str) -> None:
    written = read(f"{number} {unit}")
    quantity = Fact("card.x", written.value, written.unit).quantity()
    exact, base = parsed(f"{number} {unit}")
    assert (Fraction(quantity.number), quantity.unit) == (exact, base)


@pytest.mark.parametrize("text", ["256", "256 tokens", "true", "big", "[1 GiB]"])
def test_a_size_needs_a_unit_of_bytes(text: str) -> None:
    with pytest.raises(RefusedError):
        read(text, SIZE)
    assert read("256 MiB", SIZE) == Written(256, "MiB")
