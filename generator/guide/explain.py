"""A number's derivation for a person: a tree from the number down to facts and their sources."""

from __future__ import annotations

from collections.abc import Iterator

from generator.guide.ledger import Ledger, Row


def summary(ledger: Ledger) -> Iterator[str]:
    """Give the whole ledger, a line for each number: key, value, kind, and when it was last checked."""
    width = max(map(len, ledger.rows), default=0)
    for row in ledger.rows.values():
        yield f"{row.key:{width}s}  {row.display:>24s}  {row.kind:13s} {row.checked or ''}"
    for claim in ledger.claims.values():
        yield f"claim {claim.id}: {claim.predicate.text} {'holds' if claim.holds else 'does not hold'}, checked {claim.checked}"


def explained(ledger: Ledger, key: str) -> Iterator[str]:
    """Give one number's derivation, indented by depth; what was told once is not told again. Raises UnknownNameError."""
    yield from _told(ledger, ledger[key], "", set())


def _told(ledger: Ledger, row: Row, indent: str, told: set[str]) -> Iterator[str]:
    formula = f" = {row.formula}" if row.formula else f"  ({row.kind})"
    exact = f"{row.quantity.value} {row.quantity.unit}".strip() if isinstance(row.quantity.value, int) else ""
    beside = f" ({exact})" if exact and exact.replace(" ", "") != row.display.replace(",", "").replace(" ", "") else ""
    if row.key in told and row.inputs:
        yield f"{indent}{row.key}: {row.display}, as above"
        return
    told.add(row.key)
    yield f"{indent}{row.key}: {row.display}{beside}{formula}"
    if row.note:
        yield f"{indent}    {row.note}"
    for source in row.sources:
        said = ", ".join(part for part in (source.url, source.title, source.revision) if part)
        if said:
            yield f"{indent}    source: {said}" + (f", checked {row.checked}" if row.checked else "")
    for key in row.inputs:
        yield from _told(ledger, ledger[key], indent + "  ", told)
