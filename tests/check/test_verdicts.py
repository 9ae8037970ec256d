"""Verdicts: each word where it belongs, and the very place where one turns into another."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.check.judged import judge, judge_leniently
from generator.check.numbers import Worked
from generator.check.verdicts import CREDIBLE, NOT_THERE, OPEN, OPINION, WRONG, Shares, Verdict, context, fact, memory, opinion, speed
from tests.check.conftest import Altered

BEST = Fraction(69, 100)
FINE = Verdict(CREDIBLE, "seen")


def shares(*values: Fraction | None) -> Shares:
    return Shares(8192, {f"scenario {index}": (f"share.{index}", value) for index, value in enumerate(values)})


@pytest.mark.parametrize(
    ("values", "shorter", "word", "reason"),
    [
        ((Fraction(45, 100),), None, CREDIBLE, "seen"),
        ((BEST,), None, CREDIBLE, "seen"),
        ((Fraction(70, 100),), None, OPEN, "unseen"),
        ((Fraction(1),), None, OPEN, "unseen"),
        ((Fraction(101, 100),), None, WRONG, "beyond"),
        ((Fraction(85, 100),), FINE, NOT_THERE, "unseen"),
        ((Fraction(140, 100),), FINE, NOT_THERE, "beyond"),
        ((Fraction(85, 100),), Verdict(OPEN, "unseen"), OPEN, "unseen"),
        ((Fraction(140, 100),), Verdict(OPEN, "unseen"), NOT_THERE, "beyond"),
        ((Fraction(140, 100),), Verdict(WRONG, "beyond"), WRONG, "beyond"),
        ((None,), FINE, NOT_THERE, "no_room"),
        ((None,), None, WRONG, "no_room"),
        ((Fraction(68, 100), Fraction(70, 100)), None, OPEN, "assumptions"),
        ((Fraction(68, 100), Fraction(200, 100)), FINE, OPEN, "assumptions"),
        ((Fraction(80, 100), Fraction(110, 100)), FINE, NOT_THERE, "unseen"),
    ],
)
def test_a_speed_is_judged_by_the_share_that_it_needs(
    values: tuple[Fraction | None, ...], shorter: Verdict | None, word: str, reason: str
) -> None:
    found = speed(shares(*values), BEST, shorter)
    assert (found.word, found.reason) == (word, reason)


@given(st.fractions(0, 3), st.fractions(0, 3))
def test_a_verdict_that_two_scenarios_do_not_share_is_open(one: Fraction, other: Fraction) -> None:
    alone = {speed(shares(value), BEST).word for value in (one, other)}
    both = speed(shares(one, other), BEST).word
    if CREDIBLE in alone and len(alone) > 1:
        assert both == OPEN
    elif len(alone) == 1:
        assert {both} == alone


def test_what_was_compared_is_told_with_the_keys_of_the_ledger() -> None:
    told = speed(shares(Fraction(85, 100)), BEST).as_dict()
    assert told["comparisons"] == [
        {"scenario": "scenario 0", "predicate": "share.0 <= best.share", "holds": False},
        {"scenario": "scenario 0", "predicate": "share.0 <= 1", "holds": True},
    ]


def test_memory_is_judged_at_the_context_of_the_claim() -> None:
    assert memory({"stated": {8: True, 128: True}}, 128).word == CREDIBLE
    assert memory({"stated": {8: True, 128: False}}, 128).word == NOT_THERE
    assert memory({"stated": {8: False, 128: False}}, 128).word == WRONG
    assert memory({"stated": {8: True, 128: False}}, None).word == CREDIBLE
    assert memory({"stated": {8: True, 128: True}, "other": {8: True, 128: False}}, 128).word == OPEN
    assert memory({"stated": {8: True, 128: False}, "other": {8: False, 128: False}}, 128).word == OPEN


def test_a_context_is_judged_by_training_and_by_room() -> None:
    assert context(262144, 131072, FINE).word == CREDIBLE
    assert context(65536, 131072, FINE).word == WRONG
    assert context(None, 131072, FINE).word == OPEN
    assert context(262144, 131072, Verdict(NOT_THERE, "too_long")).word == NOT_THERE


def test_a_fact_settles_what_it_is_about_where_it_is_known() -> None:
    assert fact("card.memory >= 12", holds=True).word == CREDIBLE
    assert fact("card.memory >= 12", holds=False).word == WRONG
    assert fact("card.memory >= 12", holds=None).word == OPEN
    assert opinion().word == OPINION


# --- the claim itself ----------------------------------------------------------------------------


def words(worked: Worked) -> dict[str, str]:
    return {name: verdict.word for name, verdict in judge(worked).items()}


def test_the_parts_of_the_claim_are_judged_as_the_published_guide_does(claim: Worked) -> None:
    assert words(claim) == {
        "praise": OPINION,
        "age": WRONG,
        "memory": CREDIBLE,
        "speed": CREDIBLE,
        "at_context": NOT_THERE,
        "length": CREDIBLE,
    }


def test_a_speed_is_compared_in_every_scenario(claim: Worked) -> None:
    scenarios = {each.scenario for each in judge(claim)["at_context"].comparisons}
    assert scenarios == {"stated", "host_rated", "dense_least", "dense_least_host_rated", "dense_most", "dense_most_host_rated"}


@pytest.mark.parametrize(
    ("claimed", "at_shortest", "at_context"),
    [  # tokens a second that the bytes allow: 110 at 8,192 and 59 at 131,072 as stated, 88 and 52 at the worst, 134 and 66 at the best
        (20, CREDIBLE, CREDIBLE),  # 20 of 52 is 39 %
        (38, CREDIBLE, OPEN),  # 38 of 52 is 74 %, of 59 64 %
        (50, CREDIBLE, NOT_THERE),  # 50 of 66 is 75 %
        (62, OPEN, OPEN),  # 62 of 134 is 46 %, of 88 71 %; of 66 94 %, of 52 more than all
        (80, OPEN, NOT_THERE),  # 80 of 134 is 60 %, of 88 91 %, and 66 is less than 80
        (100, OPEN, NOT_THERE),  # 100 of 134 is 75 %, and 66 is less than 100
        (140, WRONG, WRONG),
    ],
)
def test_the_verdict_turns_where_the_claimed_speed_passes_what_was_seen_and_the_ceiling(
    altered: Altered, claimed: int, at_shortest: str, at_context: str
) -> None:
    found = words(altered(("speed: {value: 50 tok/s", f"speed: {{value: {claimed} tok/s")))
    assert (found["speed"], found["at_context"]) == (at_shortest, at_context)


def test_a_tighter_smallest_type_never_changes_a_verdict_that_was_not_open(altered: Altered, claim: Worked) -> None:
    """A smaller type leaves the split more room, so a verdict may become open and nothing else."""
    before, after = words(claim), words(altered(("  value: Q4_K\n", "  value: Q2_K\n")))
    assert all(after[name] in {word, OPEN} for name, word in before.items())


def test_a_card_of_the_year_that_is_claimed_makes_that_part_credible(altered: Altered) -> None:
    assert words(altered(('holds: card.released < "2018-01-01"', 'holds: card.released < "2022-01-01"')))["age"] == CREDIBLE


def test_a_context_beyond_training_is_wrong_whatever_fits(altered: Altered) -> None:
    assert words(altered(("value: 131072 tokens", "value: 300000 tokens")))["length"] == WRONG


def test_by_the_best_run_of_any_kind_the_speed_at_that_context_would_be_open(claim: Worked) -> None:
    assert judge_leniently(claim)["at_context"].word == OPEN  # 92 % is more than 85 %, and less than the 97 % of the worst split
