"""The world as the project's own catalogue believes it to be: asked by our sources, it says nothing new."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from generator.catalog import Catalog
from generator.claims.answers import Answer, Live, Outcome, answers
from generator.claims.questions import Question, questions
from generator.gguf import read_header
from generator.planning import metadata_of, rows_of
from generator.sources.github import GitHub
from generator.sources.hub import Hub, HubReference, open_hub
from generator.sources.session import Session
from generator.sources.web import Web
from tests.emulator import Clock, Emulator, Scenario, day
from tests.emulator.catalogue import scenario_from_catalogue

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.open(ROOT)


@pytest.fixture
def scenario(catalog: Catalog) -> Scenario:
    return scenario_from_catalogue(catalog)


@pytest.fixture(params=[True, False], ids=["token", "anonymous"])
def live(request: pytest.FixtureRequest, emulator: Emulator, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    for name, value in emulator.environment(tokens=request.param).items():
        monkeypatch.setenv(name, value)
    with Session(sleep=clock.sleep, clock=clock) as session:
        emulator.mount(session._http)
        yield Live(Hub(session), GitHub(session), Web(session))


def asked(catalog: Catalog, live: Live) -> list[tuple[Question, Answer]]:
    every = {question.key: question for question in questions(catalog, catalog.recipes())}
    with ThreadPoolExecutor(4) as executor:
        return [(every[answer.key], answer) for answer in answers(every.values(), live, executor)]


def values(told: list[tuple[Question, Answer]]) -> dict[str, object]:
    return {answer.key: answer.value for _, answer in told if answer.outcome is not Outcome.LIMITED}


def test_every_question_is_answered_with_what_is_known(catalog: Catalog, live: Live) -> None:
    told = asked(catalog, live)
    assert {question.ask.kind for question, _ in told} >= {"github_thread", "github_source", "hub_file", "hub_search", "web"}
    wrong = {
        question.key: (question.fact.value, answer.value, answer.outcome, answer.detail)
        for question, answer in told
        if answer.outcome is not Outcome.VALUE
        or answer.moved_to
        or (question.fact.known and _plain(answer.value) != _plain(question.fact.value))
        or (question.fact.status == "not_published" and answer.value is not None)
    }
    limited = {key for key, (_, _, outcome, _) in wrong.items() if outcome is Outcome.LIMITED}
    assert wrong.keys() - limited == set()
    assert not limited or not os.environ["GITHUB_TOKEN"]  # there are more threads than GitHub tells within an hour to who has none


def _plain(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, list | tuple) else value


def test_the_locked_header_is_read_back_as_it_was_locked(catalog: Catalog, emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    model = catalog.model("apodex-mini")
    lock = catalog.lock("apodex-mini").facts
    with open_hub(HubReference(model.repository, model.quants["Q4_K_M"].file)) as source:
        header = read_header(source)
    assert header.file_size == 21_864_082_336
    locked = lock["header.q4_k_m.metadata"].value
    assert {key: list(value) if isinstance(value, tuple) else value for key, value in metadata_of(header).items()} == locked
    assert rows_of(header) == lock["header.q4_k_m.tensors"].value


def test_the_published_counts_of_the_search_hold(scenario: Scenario) -> None:
    """22 repositories of 11 publishers, 21 with a card, none of which names this board and 5 name an AMD one."""
    found = [repository for name, repository in scenario.repositories.items() if "apodex-1.1-mini" in name.lower()]
    cards = [repository.files["README.md"].content.decode() for repository in found if "README.md" in repository.files]
    assert (len(found), len({repository.name.partition("/")[0] for repository in found}), len(cards)) == (22, 11, 21)
    assert not any("5070" in card or "Blackwell" in card for card in cards)
    assert sum("7900" in card or "gfx1100" in card for card in cards) == 5


def test_builds_are_prereleases_and_the_latest_release_is_older(scenario: Scenario) -> None:
    tracker = scenario.trackers["ggml-org/llama.cpp"]
    newest = max(tracker.releases, key=lambda release: release.published)
    assert (newest.tag, newest.prerelease, newest.published) == ("b10712", True, day("2026-08-31T05:39:28Z"))
    assert [release.tag for release in tracker.releases if not release.prerelease] == ["v0.3.0"]
    assert b"fit_params_target" in tracker.tags["b10666"].files["common/common.h"].splitlines()[480]
    assert tracker.tags["b10712"].files == tracker.tags["b10666"].files


def test_a_change_in_the_world_is_the_one_answer_that_differs(catalog: Catalog, scenario: Scenario, live: Live, clock: Clock) -> None:
    before = values(asked(catalog, live))
    scenario.trackers["ggml-org/llama.cpp"].threads[26609].close(day("2026-09-22T12:00:00Z"))
    clock.go_to(day("2026-09-23T03:00:00Z"))
    after = values(asked(catalog, live))
    moved = {key for key in before.keys() & after.keys() if before[key] != after[key]}
    assert {"issue.llama.cpp.26609.state", "issue.llama.cpp.26609.reason"} <= moved
    assert all(key.startswith("issue.llama.cpp.26609.") for key in moved)
