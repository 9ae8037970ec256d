"""The report of a night: as Markdown for a pull request, as JSON, and as lines for a terminal.

What other people wrote stands in code spans in the Markdown: there a host reads no markup, pings nobody and closes no thread for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from generator.claims.drift import WORDS, Drift, Kind, Weight, said
from generator.claims.recheck import Unanswered

FORMAT = 1
SHOWN_FACTS = 5
"""How many facts a line of the report names that have the same to say."""

LONGEST = 60_000
"""Characters of the Markdown; a pull request takes 65,536."""

LONGEST_VALUE = 300
"""Characters of a value that the report shows."""


@dataclass(frozen=True, slots=True)
class Report:
    """A night in numbers and findings.

    `failed` are our own faults: pages that could not be built and locks that could not be written, each with the error's words.
    `spent` counts requests by host and outcome.
    """

    now: datetime
    asked: int
    answered: int
    not_due: int
    drifts: Sequence[Drift]
    unanswered: Sequence[Unanswered]
    failed: Sequence[tuple[str, str]] = ()
    spent: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 nothing, 3 drift, 1 where a page could not be built, a lock not be written, or nothing could be asked."""
        if self.failed or (self.asked and not self.answered):
            return 1
        return 3 if self.drifts else 0

    def with_spent(self, spent: Mapping[tuple[str, str], int]) -> Report:
        """Give the report with the requests it took, by host and outcome."""
        by_host: dict[str, dict[str, int]] = {}
        for (host, outcome), count in sorted(spent.items()):
            by_host.setdefault(host, {})[outcome] = count
        return replace(self, spent=by_host)

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
            "failed": [{"file": file, "error": error} for file, error in self.failed],
            "spent": {host: dict(outcomes) for host, outcomes in self.spent.items()},
        }


# --- for a terminal ------------------------------------------------------------------------------


def as_text(report: Report) -> Iterator[str]:
    """Give the report as lines for a terminal, which it does not command."""
    for line in _lines(report):
        yield "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line)


def _lines(report: Report) -> Iterator[str]:
    requests = sum(sum(outcomes.values()) for outcomes in report.spent.values())
    took = f", {requests} requests" if report.spent else ""
    yield f"{report.now:%Y-%m-%d}: {report.answered} of {report.asked} facts answered, {report.not_due} not due{took}"
    for same in _told_as_one(report.drifts):
        yield f"  {same[0].weight.name.lower():8s} {_explained(same)}"
        for touched in same[0].touched:
            moved = ", ".join(f"{key} {old} → {new}" for key, (old, new) in touched.numbers.items())
            yield f"           {touched.page}: {moved or 'claims: ' + ', '.join(touched.claims)}"
        if same[0].advice:
            yield f"           {same[0].advice}"
    if not report.drifts:
        yield "  no drift"
    for group in _grouped(report.unanswered):
        yield f"  not answered ({_why(group[0])}): {_names(each.fact.key for each in group)}, value and date kept; {group[0].detail}"
    for file, error in report.failed:
        yield f"  could not write {file}: {error}"


def _explained(same: Sequence[Drift]) -> str:
    if len(same) == 1:
        return _short(same[0].explain())
    return f"{len(same)} facts were read for the first time: {_names(drift.subject for drift in same)}"


def _why(unanswered: Unanswered) -> str:
    if unanswered.nights:
        return "not found for a night" if unanswered.nights == 1 else f"not found for {unanswered.nights} nights"
    return str(unanswered.outcome)


# --- for a pull request --------------------------------------------------------------------------


def as_markdown(report: Report) -> str:
    """Give the report as the body of a pull request, which takes no more than LONGEST characters: the least is left out, and said so."""
    lines = [f"# What changed by {report.now:%Y-%m-%d}", "", _summary(report), ""]
    for weight in Weight:
        same = [drift for drift in report.drifts if drift.weight is weight]
        if not same:
            continue
        lines += [f"## {WORDS[weight][0].upper()}{WORDS[weight][1:]}", ""]
        for as_one in _told_as_one(same):
            lines += _finding(as_one)
        lines.append("")
    if report.unanswered:
        lines += ["## Could not be asked", "", "These keep their value and their old date.", ""]
        lines += ["| why | facts | oldest check |", "|---|---|---|"]
        lines += [_unanswered(group) for group in _grouped(report.unanswered)]
        lines.append("")
    if report.failed:
        lines += ["## Could not be written", ""]
        lines += [f"- {_code(file)}: {_code(error)}" for file, error in report.failed]
        lines.append("")
    return _shortened(lines)


def _shortened(lines: list[str]) -> str:
    """Give lines as a text, without its end where it is too long."""
    kept, length = 0, 0
    while kept < len(lines) and length + len(lines[kept]) + 1 <= LONGEST:
        length += len(lines[kept]) + 1
        kept += 1
    left_out = len(lines) - kept
    note = ["", f"{left_out} more lines are left out; the report in JSON has everything."] if left_out else []
    return "\n".join([*lines[:kept], *note]).rstrip("\n") + "\n"


def _summary(report: Report) -> str:
    words = f"{report.answered} of {report.asked} facts that were due answered."
    if not report.drifts:
        return words + " Nothing changed."
    return words + f" {len(report.drifts)} changed."


def _finding(same: Sequence[Drift]) -> Iterator[str]:
    drift = same[0]
    link = f" ({_linked(drift.source)})" if drift.source.startswith(("https://", "http://")) else ""
    since = f", was so on {drift.since.isoformat()}" if drift.since else ""
    if len(same) > 1:
        yield f"- {len(same)} facts were read for the first time: {_names((each.subject for each in same), _code)}"
        return
    if drift.kind is Kind.RETURNED:
        yield f"- **{_code(drift.subject)}** {drift.kind}: {_code(said(drift.new))}{link}"
    else:
        yield f"- **{_code(drift.subject)}** {drift.kind}: {_code(said(drift.old))} → {_code(said(drift.new))}{since}{link}"
    if drift.detail:
        yield f"    - {_code(drift.detail)}"
    if drift.advice:
        yield f"    - {drift.advice}"
    for touched in drift.touched:
        moved = "; ".join(f"{_code(key)} {_code(old)} → {_code(new)}" for key, (old, new) in touched.numbers.items())
        claims = "; ".join(_code(claim) for claim in touched.claims)
        parts = [part for part in (moved, f"claims {claims}" if claims else "") if part]
        yield f"    - {_code(touched.page)}: {', '.join(parts)}"


def _unanswered(same: Sequence[Unanswered]) -> str:
    checks = [each.fact.checked for each in same if each.fact.checked]
    oldest = min(checks).isoformat() if checks else "never"
    return f"| {_why(same[0])}: {_code(same[0].detail)} | {_names((each.fact.key for each in same), _code)} | {oldest} |"


# --- for both ------------------------------------------------------------------------------------


def _told_as_one(drifts: Sequence[Drift]) -> list[list[Drift]]:
    """Put first readings together, which a reader takes in as one; every other drift stands alone."""
    first = [drift for drift in drifts if drift.weight is Weight.DATE]
    return [[drift] for drift in drifts if drift.weight is not Weight.DATE] + ([first] if first else [])


def _grouped(unanswered: Iterable[Unanswered]) -> list[list[Unanswered]]:
    """Put together what failed for one reason: a source that is down is one line, not a hundred."""
    groups: dict[tuple[str, str, int], list[Unanswered]] = {}
    for each in unanswered:
        groups.setdefault((str(each.outcome), each.detail, each.nights), []).append(each)
    return list(groups.values())


def _names(keys: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """Name facts, the first few of many."""
    every = list(keys)
    more = f" and {len(every) - SHOWN_FACTS} more" if len(every) > SHOWN_FACTS else ""
    return ", ".join(map(shown, every[:SHOWN_FACTS])) + more


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _code(text: str) -> str:
    from generator.guide.marks import code

    return code(_short(text)) if text.strip() else "nothing"


def _linked(address: str) -> str:
    from generator.guide.marks import linked

    return linked("source", address)
