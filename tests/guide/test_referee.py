"""What an engine said, on the page: agreement in words, a difference as a number, nothing where it was asked about something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest

from generator.facts import Fact, Facts, Source
from generator.guide.ledger import Book
from generator.guide.numbers import Subject, write_numbers
from generator.guide.referee import write_referee

DAY = date(2026, 11, 30)

# of the recipe's own rung and of another, as llama-fit-params of v0.5.0 printed them
OWN, OTHER = ["26@65536.q8_0/q8_0", "gpu0", 8089, 742, 497], ["24@65536.q8_0/f16", "gpu0", 9019, 1042, 497]
HOST = ["26@65536.q8_0/q8_0", "host", 12296, 0, 128]

Asked = Callable[..., Book]


@pytest.fixture
def asked(subject: Subject) -> Asked:
    """Give the book of a guide whose engine gave these readings."""

    def book(*rows: list[object], posed: bool = False, **settings: object) -> Book:
        source = Source("", title="llama-fit-params v0.5.0-dev")
        said = {"quant": "Q4_K_M", "settings": {**subject.recipe.settings, **settings}}
        facts = [
            Fact("measured.ladder", list(rows), "MiB", "measured", source, checked=DAY),
            Fact("measured.posed", posed, "", "measured", source, checked=DAY),
            Fact("measured.settings", said, "", "measured", source, checked=DAY),
        ]
        others = Facts(fact for fact in subject.facts if not fact.key.startswith("measured."))
        about = replace(subject, facts=others.merged(facts))
        written = write_numbers(about)
        write_referee(written, about)
        return written

    return book


def test_what_the_engine_printed_is_no_difference(asked: Asked) -> None:
    book = asked(OWN, HOST, OTHER)
    assert [int(book[f"referee.{name}"]) // 2**20 for name in ("weights", "context", "compute")] == [8089, 742, 497]
    assert (int(book["referee.rungs"]), int(book["referee.difference"])) == (2, 0)


@pytest.mark.parametrize("step", [3, -3])
def test_the_largest_distance_of_any_rung_is_the_difference(asked: Asked, step: int) -> None:
    name, device, weights, context, compute = OTHER
    assert isinstance(context, int)
    book = asked(OWN, [name, device, weights, context + step, compute])
    # ours is 9019.06 + 1042.81 MiB, counted as the engine places things; the engine's two figures stand for two MiB, and 64 KiB are the
    # alignment's: 3 MiB more leave 10064 - 10061.87 - 0.06, 3 MiB fewer 10061.87 - 10060 - 0.06
    assert int(book["referee.difference"]) / 2**20 == pytest.approx(2.07 if step > 0 else 1.81, abs=0.01)


def test_a_stand_in_s_working_buffers_are_not_a_card_s(asked: Asked) -> None:
    book = asked(OWN, HOST, posed=True)
    assert "referee.weights" in book and "referee.compute" not in book


def test_an_engine_asked_about_other_settings_says_nothing_of_these(asked: Asked) -> None:
    assert "referee.difference" not in asked(OWN, OTHER, n_ubatch=1024)


def test_without_the_recipe_s_own_rung_there_is_nothing_to_say(asked: Asked) -> None:
    assert "referee.difference" not in asked(OTHER)


def test_without_an_engine_there_is_nothing_to_say(subject: Subject) -> None:
    about = replace(subject, facts=Facts(fact for fact in subject.facts if not fact.key.startswith("measured.")))
    book = write_numbers(about)
    write_referee(book, about)
    assert not [key for key in book.numbers if key.startswith("referee.")]
