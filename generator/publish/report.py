"""The report of a night: as Markdown for a pull request, as JSON, and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from generator.claims.drift import WORDS, Drift, Weight, said
from generator.claims.recheck import Unanswered

FORMAT = 1
SHOWN_FACTS = 5
"""How many facts a line of the report names that failed for one reason."""


@dataclass(frozen=True, slots=True)
class Report:
    """A night in numbers and findings.

    `failed` are pages that could not be built, each with the error's words; `spent` counts requests by host.
    """

    now: datetime
    asked: int
    answered: int
    not_due: int
    drifts: Sequence[Drift]
    unanswered: Sequence[Unanswered]
    failed: Sequence[tuple[str, str]] = ()
    spent: dict[str, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 nothing, 3 drift, 1 where a page could not be built or nothing could be asked."""
        if self.failed or (self.asked and not self.answered):
            return 1
        return 3 if self.drifts else 0

    def as_dict(self) -> dict[str, object]:
        """Give the report for machines."""
        return {
            "format": FORMAT,
            "now": self.now.isoformat(),
            "asked": self.asked,
            "answered": self.answered,
            "not_due": self.not_due,
            "drifts": [drift.as_dict() for drift in self.drifts],
            "unanswered": [
                {
                    "fact": each.fact.key,
                    "outcome": str(each.outcome),
                    "detail": each.detail,
                    "nights": each.nights,
                    "value": each.fact.value if not isinstance(each.fact.value, list | dict) else "…",
                    "checked": each.fact.checked.isoformat() if each.fact.checked else None,
                }
                for each in self.unanswered
            ],
            "failed": [{"page": page, "error": error} for page, error in self.failed],
            "spent": self.spent,
        }


def as_text(report: Report) -> Iterator[str]:
    """Give the report as lines for a terminal."""
    yield f"{report.now:%Y-%m-%d}: {report.answered} of {report.asked} facts answered, {report.not_due} not due"
    for drift in report.drifts:
        yield f"  {drift.weight.name.lower():8s} {drift.explain()}"
        for touched in drift.touched:
            moved = ", ".join(f"{key} {old} → {new}" for key, (old, new) in touched.numbers.items())
            yield f"           {touched.page}: {moved or 'claims: ' + ', '.join(touched.claims)}"
    if not report.drifts:
        yield "  no drift"
    for same in _grouped(report.unanswered):
        nights = f", missing for {same[0].nights} nights" if same[0].nights else ""
        names = same[0].fact.key if len(same) == 1 else f"{len(same)} facts"
        yield f"  not answered ({same[0].outcome}{nights}): {names}, value and date kept; {same[0].detail}"
    for page, error in report.failed:
        yield f"  could not build {page}: {error}"


def as_markdown(report: Report) -> str:
    """Give the report as the body of a pull request."""
    lines = [f"# What changed by {report.now:%Y-%m-%d}", "", _summary(report), ""]
    for weight in Weight:
        same = [drift for drift in report.drifts if drift.weight is weight]
        if not same:
            continue
        lines += [f"## {WORDS[weight][0].upper()}{WORDS[weight][1:]}", ""]
        for drift in same:
            lines += _finding(drift)
        lines.append("")
    if report.unanswered:
        lines += ["## Could not be asked", "", "These keep their value and their old date.", ""]
        lines += ["| why | facts | nights missing | oldest check |", "|---|---|---|---|"]
        lines += [_unanswered(same) for same in _grouped(report.unanswered)]
        lines.append("")
    if report.failed:
        lines += ["## Pages that could not be built", ""]
        lines += [f"- `{page}`: {_cell(error)}" for page, error in report.failed]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _grouped(unanswered: Sequence[Unanswered]) -> list[list[Unanswered]]:
    """Put together what failed for one reason: a source that is down is one line, not a hundred."""
    groups: dict[tuple[str, str, int], list[Unanswered]] = {}
    for each in unanswered:
        groups.setdefault((str(each.outcome), each.detail, each.nights), []).append(each)
    return list(groups.values())


def _unanswered(same: Sequence[Unanswered]) -> str:
    checks = [each.fact.checked for each in same if each.fact.checked]
    names = ", ".join(f"`{each.fact.key}`" for each in same[:SHOWN_FACTS])
    more = f" and {len(same) - SHOWN_FACTS} more" if len(same) > SHOWN_FACTS else ""
    oldest = min(checks).isoformat() if checks else "never"
    return f"| {same[0].outcome}: {_cell(same[0].detail)} | {names}{more} | {same[0].nights or ''} | {oldest} |"


def _summary(report: Report) -> str:
    words = f"{report.answered} of {report.asked} facts that were due answered."
    if not report.drifts:
        return words + " Nothing changed."
    return words + f" {len(report.drifts)} changed."


def _finding(drift: Drift) -> Iterator[str]:
    link = f" ([source]({drift.source}))" if drift.source else ""
    since = f", was so on {drift.since.isoformat()}" if drift.since else ""
    yield f"- **`{drift.subject}`** {drift.kind}: {_cell(said(drift.old))} → {_cell(said(drift.new))}{since}{link}"
    if drift.detail:
        yield f"    - {_cell(drift.detail)}"
    for touched in drift.touched:
        moved = "; ".join(f"`{key}` {old} → {new}" for key, (old, new) in touched.numbers.items())
        claims = "; ".join(f"`{claim}`" for claim in touched.claims)
        parts = [part for part in (moved, f"claims {claims}" if claims else "") if part]
        yield f"    - `{touched.page}`: {', '.join(parts) or 'wording'}"


def _cell(text: str) -> str:
    """Give other people's text for a table cell or list item: one line, nothing that Markdown or HTML would read."""
    from generator.guide.marks import escaped

    return escaped(text)
