"""GitHub's releases, tags, searches and files, by the emulator."""

from __future__ import annotations

from datetime import date

import pytest

from generator.sources.errors import BadAnswer, SourceError, SourceNotFound, SourceUnreachable
from generator.sources.github import GitHub
from generator.sources.session import Session
from generator.sources.validators import Validators
from tests.emulator import Emulator, Tag, day
from tests.sources.answers import answered
from tests.sources.nights import new_session
from tests.sources.server import Server

LLAMA = "ggml-org/llama.cpp"


def test_the_newest_build_is_found_by_pages_and_is_not_the_latest_release(emulator: Emulator, live: Session) -> None:
    tracker = emulator.scenario.tracker(LLAMA)
    for number in range(10_600, 10_667):
        tracker.release(f"b{number}", day("2026-08-31") if number == 10_666 else day("2026-08-30"))
    tracker.release("v1.0", day("2026-01-05"), prerelease=False)
    for number in range(70):
        tracker.release(f"nightly-{number}", day("2026-09-07"))
    github = GitHub(live)
    assert github.newest_build(LLAMA) == ("b10666", date(2026, 8, 31))
    assert [exchange.query for exchange in emulator.requests] == ["per_page=30", "per_page=30&page=2", "per_page=30&page=3"]
    assert github.latest_release(LLAMA) == "v1.0"


def test_builds_are_compared_as_numbers(emulator: Emulator, live: Session) -> None:
    tracker = emulator.scenario.tracker(LLAMA)
    for tag in ("b9999", "b10000", "b999"):
        tracker.release(tag, day("2026-08-30"))
    assert GitHub(live).newest_build(LLAMA)[0] == "b10000"


def test_a_list_of_releases_without_a_build_is_no_answer(emulator: Emulator, live: Session) -> None:
    emulator.scenario.tracker(LLAMA)
    with pytest.raises(BadAnswer, match="build"):
        GitHub(live).newest_build(LLAMA)
    with pytest.raises(SourceNotFound):
        GitHub(live).latest_release(LLAMA)


def test_a_build_that_is_not_published_yet_is_none(server: Server, github: GitHub) -> None:
    rows = [
        {"tag_name": "b10667", "draft": True, "published_at": None},
        {"tag_name": "b10666", "draft": False, "published_at": "2026-08-31T12:00:00Z"},
    ]
    server.otherwise = lambda _: answered(rows)
    assert github.newest_build(LLAMA) == ("b10666", date(2026, 8, 31))


def test_pages_that_lead_in_circles_are_left(server: Server, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", server.address)
    server.otherwise = lambda request: answered([], Link=f'<{server.address}{request.path}>; rel="next"')
    with pytest.raises(BadAnswer):
        GitHub(session, "").newest_build(LLAMA)
    assert len(server.received) == 20


@pytest.mark.parametrize("annotated", [False, True])
def test_a_tag_names_its_commit(emulator: Emulator, live: Session, annotated: bool) -> None:
    tag = Tag("b10666", annotated=annotated)
    emulator.scenario.tracker(LLAMA).tags["b10666"] = tag
    assert GitHub(live).commit_of(LLAMA, "b10666") == tag.commit
    with pytest.raises(SourceNotFound):
        GitHub(live).commit_of(LLAMA, "b1")


SOURCE = "// ünïcode\nstd::vector<size_t> fit_params_target;\r\n"


def test_a_file_at_a_build_is_asked_for_once(emulator: Emulator, live: Session, validators: Validators) -> None:
    tracker = emulator.scenario.tracker(LLAMA)
    tracker.release("b10666", day("2026-08-31"), files={"common/common.h": SOURCE.encode()})
    assert GitHub(live).file(LLAMA, "b10666", "common/common.h") == SOURCE
    assert GitHub(new_session(emulator, validators)).file(LLAMA, "b10666", "common/common.h") == SOURCE
    assert [(exchange.path, exchange.query) for exchange in emulator.requests] == [
        ("/repos/ggml-org/llama.cpp/contents/common/common.h", "ref=b10666")
    ]


def test_a_file_at_a_branch_is_asked_for_again(emulator: Emulator, live: Session) -> None:
    tracker = emulator.scenario.tracker(LLAMA)
    tracker.release("b10666", day("2026-08-31"), files={"a b/#?.h": b"one"})
    github = GitHub(live)
    assert [github.file(LLAMA, "master", "a b/#?.h") for _ in range(2)] == ["one", "one"]
    assert [exchange.status for exchange in emulator.requests] == [200, 304]
    tracker.release("b10667", day("2026-09-01"), files={"a b/#?.h": b"two"})
    assert github.file(LLAMA, "master", "a b/#?.h") == "two"


@pytest.mark.parametrize(
    ("ref", "path", "error"),
    [
        ("b10666", "common", BadAnswer),
        ("b10666", "no.h", SourceNotFound),
        ("b1", "common/common.h", SourceNotFound),
        ("b10666", "e.h", BadAnswer),
    ],
)
def test_what_is_no_file_with_content_is_an_error(emulator: Emulator, live: Session, ref: str, path: str, error: type[SourceError]) -> None:
    tracker = emulator.scenario.tracker(LLAMA)
    tracker.release("b10666", day("2026-08-31"), files={"common/common.h": SOURCE.encode(), "e.h": b""})
    with pytest.raises(error):
        GitHub(live).file(LLAMA, ref, path)


def test_a_search_that_did_not_finish_counts_nothing(server: Server, github: GitHub) -> None:
    server.otherwise = lambda _: answered({"total_count": 3, "incomplete_results": True, "items": []})
    with pytest.raises(SourceUnreachable, match="did not finish"):
        github.count("x")


def test_a_search_in_what_is_not_there_is_no_count(live: Session) -> None:
    with pytest.raises(BadAnswer, match="422"):
        GitHub(live).count("repo:no/such crash")
