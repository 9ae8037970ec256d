"""The report: what weighs how much, what stands together, what other people's text cannot do to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from generator.claims.answers import Outcome
from generator.claims.drift import COMMAND, Drift, Kind, Touched, Weight
from generator.claims.recheck import Unanswered
from generator.facts import Fact, Source
from generator.publish.report import LONGEST, Report, as_markdown, as_text

NOW = datetime(2026, 12, 3, 3, 17, tzinfo=UTC)
PAGE = "guides/apodex-mini/rtx-5070.md"
CLOSED = Drift(
    Kind.CLOSED, "issue.llama.cpp.1.state", "open", "closed", date(2026, 12, 2), date(2026, 12, 3), "https://github.com/a/b/issues/1"
)
HOSTILE = [
    "| a | b |\n\n# heading",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "`code` and ``more``",
    "[click](javascript:alert(1)) ![](https://evil.example/pixel.png)",
    "@maintainer fixes #12, closes octo/cat#13",
    "- [ ] a task\n> quoted\n\n    indented",
    "https://evil.example/ www.evil.example",
    "{{ 7 * 7 }} {% raw %} ${{ secrets.TOKEN }}",
    "\u202egnp.exe",
]


def report(
    *drifts: Drift,
    asked: int = 10,
    answered: int = 10,
    unanswered: tuple[Unanswered, ...] = (),
    failed: tuple[tuple[str, str], ...] = (),
) -> Report:
    return Report(NOW, asked, answered, 3, drifts, unanswered, failed)


def unread(key: str, detail: str = "the server answers with status 503", nights: int = 0) -> Unanswered:
    fact = Fact(key, "open", source=Source("https://example.org"), checked=date(2026, 12, 2))
    return Unanswered(fact, Outcome.GONE if nights else Outcome.UNREACHABLE, detail, nights)


def touching(*numbers: str, claims: tuple[str, ...] = ()) -> tuple[Touched, ...]:
    return (Touched(PAGE, dict.fromkeys(numbers, ("1", "2")), claims),)


# --- how bad -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drift", "weight"),
    [
        (replace(CLOSED, severity="red"), Weight.WARNING),
        (replace(CLOSED, severity="red", kind=Kind.GONE), Weight.WARNING),
        (replace(CLOSED, severity="red", kind=Kind.LABELLED), Weight.WORDS),
        (replace(CLOSED, severity="amber"), Weight.WORDS),
        (replace(CLOSED, severity="amber", touched=touching(claims=("issue.llama.cpp.1.state",))), Weight.CLAIM),
        (replace(CLOSED, severity="red", kind=Kind.MOVED, subject="issue.llama.cpp.1.moved_to"), Weight.WARNING),
        (replace(CLOSED, kind=Kind.CHANGED, touched=touching("budget.total")), Weight.NUMBER),
        (replace(CLOSED, kind=Kind.CHANGED, touched=touching("fallback.shallowest_n_cpu_moe")), Weight.COMMAND),
        (replace(CLOSED, kind=Kind.RESIZED, subject="file.q4_k_m.size", severity=COMMAND), Weight.COMMAND),
        (replace(CLOSED, kind=Kind.RESIZED, subject="file.iq2_m.size", touched=touching("quants.iq2_m.size")), Weight.NUMBER),
        (replace(CLOSED, kind=Kind.MOVED, subject="model.moved_to"), Weight.COMMAND),
        (replace(CLOSED, kind=Kind.GATED, subject="model.gated"), Weight.COMMAND),
        (replace(CLOSED, kind=Kind.FIRST), Weight.DATE),
        (replace(CLOSED, kind=Kind.FIRST, touched=touching("budget.total")), Weight.NUMBER),
    ],
)
def test_how_bad_a_drift_is(drift: Drift, weight: Weight) -> None:
    assert drift.weight is weight


def test_the_worst_stands_first_under_a_heading_of_its_own() -> None:
    worst, middle, least = (
        replace(CLOSED, subject="model.gated", kind=Kind.GATED),
        replace(CLOSED, severity="red"),
        replace(CLOSED, subject="issue.llama.cpp.2.title", kind=Kind.RETITLED),
    )
    headings = [line for line in as_markdown(report(least, middle, worst)).splitlines() if line.startswith("## ")]
    assert headings == ["## Moves the command or what it rests on", "## Changes a red warning", "## Changes wording"]


# --- what stands together ------------------------------------------------------------------------


def test_a_source_that_is_down_is_one_line() -> None:
    down = tuple(unread(f"file.q{number}.size") for number in range(8))
    other = unread("issue.llama.cpp.1.state", "the server allows no more requests now")
    lines = [line for line in as_text(report(unanswered=(*down, other))) if "not answered" in line]
    named = "file.q0.size, file.q1.size, file.q2.size, file.q3.size, file.q4.size and 3 more"
    assert lines == [
        f"  not answered (unreachable): {named}, value and date kept; the server answers with status 503",
        "  not answered (unreachable): issue.llama.cpp.1.state, value and date kept; the server allows no more requests now",
    ]
    rows = [line for line in as_markdown(report(unanswered=(*down, other))).splitlines() if line.startswith("| unreachable")]
    assert rows[0].endswith("| `file.q0.size`, `file.q1.size`, `file.q2.size`, `file.q3.size`, `file.q4.size` and 3 more | 2026-12-02 |")
    assert len(rows) == 2


def test_nights_on_which_a_thing_was_not_found_are_counted() -> None:
    text = "\n".join(as_text(report(unanswered=(unread("a.state", "no such file", 1), unread("b.state", "no such file", 2)))))
    assert "not answered (not found for a night): a.state" in text
    assert "not answered (not found for 2 nights): b.state" in text


def test_first_readings_are_one_line() -> None:
    first = [replace(CLOSED, subject=f"citation.b1.c{number}", kind=Kind.FIRST, old=None, new=number) for number in range(60)]
    lines = [line for line in as_markdown(report(*first)).splitlines() if line.startswith("- ")]
    named = ", ".join(f"`citation.b1.c{number}`" for number in range(5))
    assert lines == [f"- 60 facts were read for the first time: {named} and 55 more"]
    assert "citation.b1.c59" in json.dumps(report(*first).as_dict())


def test_what_a_drift_moves_stands_under_it() -> None:
    drift = replace(CLOSED, touched=(Touched(PAGE, {"budget.total": ("8.891 GiB", "9.001 GiB")}, ("issue.llama.cpp.1.state",)),))
    moved = "`guides/apodex-mini/rtx-5070.md`: `budget.total` `8.891 GiB` → `9.001 GiB`, claims `issue.llama.cpp.1.state`"
    assert f"    - {moved}\n" in as_markdown(report(drift))
    assert "           guides/apodex-mini/rtx-5070.md: budget.total 8.891 GiB → 9.001 GiB" in list(as_text(report(drift)))


def test_a_report_too_long_for_a_pull_request_ends_with_what_is_left_out() -> None:
    many = [replace(CLOSED, subject=f"issue.llama.cpp.{number}.title", kind=Kind.RETITLED, new="x" * 250) for number in range(1000)]
    text = as_markdown(report(*many))
    assert LONGEST - 1000 < len(text) < 65_536
    assert text.endswith("more lines are left out; the report in JSON has everything.\n")
    assert len(report(*many).as_dict()["drifts"]) == 1000  # type: ignore[arg-type]


# --- exit codes and JSON -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (report(), 0),
        (report(asked=0, answered=0), 0),
        (report(CLOSED), 3),
        (report(asked=10, answered=0, unanswered=(unread("a.state"),)), 1),
        (report(asked=10, answered=9, unanswered=(unread("a.state"),)), 0),
        (report(CLOSED, failed=(("site/guides/a/b.md", "a template is broken"),)), 1),
    ],
    ids=["nothing", "nothing due", "drift", "nothing could be asked", "one could not", "our own fault"],
)
def test_the_exit_code(made: Report, code: int) -> None:
    assert made.exit_code == code


def test_the_report_in_json() -> None:
    drift = replace(CLOSED, touched=touching(claims=("issue.llama.cpp.1.state",)), severity="red")
    made = report(drift, unanswered=(unread("a.state", nights=2),), failed=(("site/x.md", "broken"),))
    rows = json.loads(json.dumps(made.with_spent({("api.github.com", "unchanged"): 2, ("huggingface.co", "answered"): 1}).as_dict()))
    assert rows == {
        "format": 1,
        "now": "2026-12-03T03:17:00+00:00",
        "asked": 10,
        "answered": 10,
        "not_due": 3,
        "drifts": [
            {
                "kind": "closed",
                "subject": "issue.llama.cpp.1.state",
                "old": "open",
                "new": "closed",
                "since": "2026-12-02",
                "found": "2026-12-03",
                "source": "https://github.com/a/b/issues/1",
                "detail": "",
                "severity": "red",
                "weight": "warning",
                "advice": "",
                "touched": [{"page": PAGE, "numbers": {}, "claims": ["issue.llama.cpp.1.state"]}],
            }
        ],
        "unanswered": [
            {
                "fact": "a.state",
                "outcome": "gone",
                "detail": "the server answers with status 503",
                "nights": 2,
                "value": "open",
                "checked": "2026-12-02",
            }
        ],
        "failed": [{"file": "site/x.md", "error": "broken"}],
        "spent": {"api.github.com": {"unchanged": 2}, "huggingface.co": {"answered": 1}},
    }
    assert Drift.from_dict(rows["drifts"][0]) == drift


# --- other people's text -------------------------------------------------------------------------


def tokens(text: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        yield token
        yield from token.children or ()


@pytest.mark.parametrize("title", HOSTILE)
def test_foreign_text_stands_in_code_and_nowhere_else(title: str) -> None:
    drift = replace(CLOSED, kind=Kind.RETITLED, subject="issue.llama.cpp.1.title", old=title, new=title, detail=title)
    harmless = as_markdown(report(replace(drift, old="a", new="a", detail="a"), unanswered=(unread("a.b", "a"),), failed=(("x.md", "a"),)))
    hostile = as_markdown(report(drift, unanswered=(unread("a.b", title),), failed=(("x.md", title),)))
    assert [token.type for token in tokens(hostile)] == [token.type for token in tokens(harmless)]
    assert [token.content for token in tokens(hostile) if token.type == "text"] == [
        token.content for token in tokens(harmless) if token.type == "text"
    ]
    assert [token.attrs for token in tokens(hostile) if token.type == "link_open"] == [{"href": "https://github.com/a/b/issues/1"}]


def test_foreign_text_does_not_command_a_terminal() -> None:
    drift = replace(CLOSED, kind=Kind.GONE, detail="\x1b]0;title\x07 is not in a\x1b[2Jb at\r\n 0123")
    made = report(drift, unanswered=(unread("a.b", "\x1b[31m"),), failed=(("x.md", "first\nsecond\x9b"),))
    assert all(line.isprintable() for line in as_text(made))


def test_a_source_that_is_no_web_address_is_no_link() -> None:
    text = as_markdown(report(replace(CLOSED, source="javascript:alert(1)")))
    assert "javascript" not in text
    bracketed = as_markdown(report(replace(CLOSED, source="https://example.org/a) [b](https://evil.example")))
    assert [token.attrs for token in tokens(bracketed) if token.type == "link_open"] == [
        {"href": "https://example.org/a%29%20%5Bb%5D%28https://evil.example"}
    ]
