from __future__ import annotations

from datetime import date

import pytest

from generator.claims import Claim
from generator.errors import InputError, UnknownNameError
from generator.facts import Fact, Facts, Source

OLD, NEW = date(2026, 2, 7), date(2026, 8, 31)
HERE, THERE = Source("https://example.org/here"), Source("https://example.org/there", title="There")
FACTS = Facts(
    [
        Fact("a.state", "open", source=HERE, checked=NEW),
        Fact("a.size", 12, "GiB", source=THERE, checked=OLD),
        Fact("a.speed", None, source=HERE, checked=NEW, status="not_published"),
        Fact("a.page", 1, source=HERE, checked=NEW, status="gone"),
        Fact("a.down", 1, source=HERE, checked=NEW, status="unreachable"),
        Fact("a.own", 1, origin="declared"),
    ]
)


def test_a_claim_knows_its_facts_sources_and_the_oldest_check_among_them() -> None:
    claim = Claim.of("a", "It is open and fits", 'a.state == "open" and a.size > 8 and a.speed is not_published', FACTS)
    assert claim.holds
    assert [fact.key for fact in claim.facts] == ["a.state", "a.size", "a.speed"]
    assert claim.sources == (HERE, THERE)
    assert claim.checked == OLD


def test_a_claim_that_is_not_true_says_so() -> None:
    assert not Claim.of("a", "It is closed", 'a.state == "closed"', FACTS).holds


def test_a_claim_on_a_fact_that_was_never_checked_has_no_date() -> None:
    assert Claim.of("a", "It is one", 'a.own == 1 and a.state == "open"', FACTS).checked is None


@pytest.mark.parametrize(
    ("predicate", "status"),
    [
        ('a.state == "open"', "ok"),
        ("a.speed is not_published", "ok"),
        ("a.page is gone", "overdue"),
        ("a.down == 1", "overdue"),
        ('a.state == "open" and a.down == 1', "overdue"),
    ],
)
def test_a_claim_is_overdue_once_a_source_of_it_no_longer_answers(predicate: str, status: str) -> None:
    assert Claim.of("a", "So it is", predicate, FACTS).as_dict()["status"] == status


def test_a_claim_is_told_to_machines_in_the_form_of_the_ledger() -> None:
    claim = Claim.of("a", "It is open", 'a.state == "open"', FACTS, {"backends": ("cuda",), "cards": ()})
    assert claim.as_dict() == {
        "text": "It is open",
        "predicate": 'a.state == "open"',
        "holds": True,
        "scope": {"backends": ["cuda"], "cards": []},
        "sources": [{"url": "https://example.org/here", "retrieved": "2026-08-31"}],
        "checked": "2026-08-31",
        "status": "ok",
    }


def test_a_claim_needs_a_predicate_and_facts_that_are_there() -> None:
    with pytest.raises(InputError, match="no predicate"):
        Claim.of("a", "It is open", "open", FACTS)
    with pytest.raises(UnknownNameError, match=r"no fact is called 'a\.stat'"):
        Claim.of("a", "It is open", 'a.stat == "open"', FACTS)
