"""The comparison with recorded runs as lines for a terminal and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from generator.errors import counted
from generator.measure.agreement import AGREES, DIFFERS, NO_TENSORS, NOT_COMPARED, TERMS, Agreement, Comparison, Term
from generator.quantity import BYTE, Quantity, shown

FORMAT = 1

COMPARED = ("KV", "K", "V", "state", "R", "S", "context", "draft KV")
"""Terms that decide; the others are informational."""


def agreement_as_text(agreement: Agreement) -> Iterator[str]:
    """Give a line for each case, its differences, the rules that were needed, and agreement by term."""
    for each in agreement.comparisons:
        yield from _case(each)
    yield ""
    yield from _rules(agreement)
    yield from _by_term(agreement)
    yield from _rest(agreement)


def _case(each: Comparison) -> Iterator[str]:
    case = each.case
    engine = case.engine + (f" {case.build}" if case.build else "")
    named = [f"{term.name} {term.printed.text}" for term in each.terms if term.name in {"KV", "state", "context"} and term.printed]
    incomplete = "" if case.complete else " (incomplete)"
    yield f"{case.name:44.44s} {engine:20.20s} {each.status + incomplete:26s} {', '.join(named)}".rstrip()
    for term in each.terms:
        if term.status == DIFFERS:
            yield f"    {_difference(term)}"
    if each.error:
        yield f"    not predicted: {each.error}"
    for rule in each.rules:
        yield f"    by another rule: {rule.name} ({rule.builds})"


def _difference(term: Term) -> str:
    assert term.printed is not None and term.ours is not None
    ours, outside = shown(Quantity.constant(term.ours, BYTE), "MiB", 2), term.printed.difference(term.ours)
    return f"{term.name}: printed {term.printed.text}, ours {ours}; {outside:,} bytes outside of what was printed"


def _rules(agreement: Agreement) -> Iterator[str]:
    if not agreement.rules:
        return
    yield "rules of other builds and forks that were needed:"
    for rule in agreement.rules:
        yield f"  {rule.name} ({rule.builds}): {rule.words}"
        yield f"    {rule.source}"
    yield ""


def _by_term(agreement: Agreement) -> Iterator[str]:
    counts = counts_by_term(agreement)
    yield "complete cases by term:"
    for name in COMPARED:
        found = counts[name]
        if sum(found.values()):
            left = f", {found[NOT_COMPARED]} not compared" if found[NOT_COMPARED] else ""
            yield f"  {name:8s} {found[AGREES]} agree, {found[DIFFERS]} differ{left}"
    yield f"  weights  not compared: {NO_TENSORS}"
    yield "  compute  as reported, for information (--json)"


def counts_by_term(agreement: Agreement) -> dict[str, Counter[str]]:
    """Give how many complete cases agree, differ or were not compared in each term."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in TERMS}
    for each in agreement.comparisons:
        for term in each.terms if each.case.complete else ():
            counts[term.name][term.status] += 1
    return counts


def _rest(agreement: Agreement) -> Iterator[str]:
    yield ""
    complete = sum(each.case.complete for each in agreement.comparisons)
    agreeing = complete - len(agreement.failed)
    yield f"{agreeing} of {counted(complete, 'complete case')} agree within the rounding of what was printed"
    incomplete = [each for each in agreement.comparisons if not each.case.complete]
    if incomplete:
        found = Counter(each.status for each in incomplete)
        words = ", ".join(f"{found[status]} {status}" for status in (AGREES, DIFFERS, NOT_COMPARED) if found[status])
        yield f"{counted(len(incomplete), 'case')} without everything that a prediction needs, which decide nothing: {words}"
    if agreement.others:
        yield f"{counted(len(agreement.others), 'file')} without a report of memory (llama-bench tables and the like) left out"
    for error in agreement.errors:
        yield f"not read: {error}"


def agreement_as_dict(agreement: Agreement) -> dict[str, object]:
    """Give the comparison for JSON; sizes are in bytes, what was printed as printed."""
    complete = sum(each.case.complete for each in agreement.comparisons)
    return {
        "format": FORMAT,
        "complete": complete,
        "agree": complete - len(agreement.failed),
        "failed": [each.case.name for each in agreement.failed],
        "by_term": {name: dict(sorted(found.items())) for name, found in counts_by_term(agreement).items() if found},
        "rules": [rule.as_dict() for rule in agreement.rules],
        "cases": [each.as_dict() for each in agreement.comparisons],
        "left_out": list(agreement.others),
        "errors": [error.as_dict() for error in agreement.errors],
    }
