"""The Hub as a run asks it, by the emulator: the client library through our session."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from generator.gguf import read_header
from generator.sources.errors import (
    BadAnswer,
    InvalidAddress,
    SourceDenied,
    SourceError,
    SourceLimited,
    SourceNotFound,
    SourceUnreachable,
)
from generator.sources.hub import FileHead, Hub, HubFile, HubNotFound, HubReference, RepoInfo, open_hub
from generator.sources.session import ATTEMPTS, GIVEN_UP_AFTER, Session
from generator.sources.validators import Validators
from tests.emulator import HUB_TOKEN, Emulator, Fault, Repository, day
from tests.emulator import HubFile as Stored
from tests.gguf.tokenizer import Tokenizer
from tests.sources.nights import new_session
from tests.sources.server import Answer, Server

NAME = "someone/Model-GGUF"
WEIGHTS = "Q4/Model-Q4_K_M.gguf"
CARD = "# Mödel\n\nRuns.\n"


@pytest.fixture(autouse=True)
def no_pauses_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where anything sleeps by itself, as the client library would before its own retries."""

    def slept(seconds: float) -> None:
        pytest.fail(f"slept {seconds} seconds outside the session")

    monkeypatch.setattr(time, "sleep", slept)


@pytest.fixture
def repository(emulator: Emulator) -> Repository:
    """Give a repository of two commits: small files, weights in a folder."""
    repository = emulator.scenario.repository(NAME)
    weights = Stored(Tokenizer(100, 0).header(), size=22_096_321_792, lfs=True)
    repository.commit({"README.md": CARD, "config.json": '{"model_type": "qwen"}', WEIGHTS: weights}, day("2026-08-30"))
    repository.commit({"README.md": CARD + "More.\n"}, day("2026-08-31T23:30:00Z"))
    return repository


@pytest.fixture
def with_token(emulator: Emulator, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the token that the environment now has, and that may read the repository."""
    assert emulator.scenario.hub_tokens == {HUB_TOKEN}
    repository.readers.add(HUB_TOKEN)
    monkeypatch.setenv("HF_TOKEN", HUB_TOKEN)
    return HUB_TOKEN


# --- trees ---------------------------------------------------------------------------------------


def test_a_tree_has_each_file_with_its_size_hashes_and_last_commit(repository: Repository, live: Session) -> None:
    tree = Hub(live).tree(NAME)
    first, second = repository.commits
    weights, card = repository.files[WEIGHTS], repository.files["README.md"]
    assert (tree.repo, tree.commit, set(tree.files)) == (NAME, second.id, {"README.md", "config.json", WEIGHTS})
    assert tree.files[WEIGHTS] == HubFile(WEIGHTS, 22_096_321_792, weights.digest, weights.xet_hash, weights.blob, first.id)
    assert tree.files["README.md"] == HubFile("README.md", len(CARD.encode()) + 6, None, None, card.blob, second.id)


def test_a_tree_of_many_pages_is_read_to_its_end(emulator: Emulator, repository: Repository, live: Session) -> None:
    repository.commit({f"part-{number:03}.txt": str(number) for number in range(120)}, day("2026-09-01"))
    tree = Hub(live).tree(NAME)
    assert len(tree.files) == 123
    assert tree.files["part-119.txt"].size == 3
    assert [len(emulator.asked(path=part)) for part in ("/revision/main", f"/tree/{tree.commit}")] == [1, 3]


def test_a_tree_at_a_commit_is_never_asked_for_twice(
    emulator: Emulator, repository: Repository, live: Session, validators: Validators
) -> None:
    tree = Hub(live).tree(NAME)
    tonight = Hub(new_session(emulator, validators))
    emulator.reset_log()
    assert tonight.tree(NAME) == tree
    assert [(exchange.status, "/tree/" in exchange.path) for exchange in emulator.requests] == [(304, False)]
    assert tonight.tree(NAME, tree.commit) == tree
    assert len(emulator.requests) == 1
    commit = repository.commit({WEIGHTS: Stored(b"GGUF", size=5, lfs=True)}, day("2026-09-02"))
    changed = tonight.tree(NAME)
    assert (changed.commit, changed.files[WEIGHTS].size) == (commit.id, 5)
    assert changed.files[WEIGHTS].sha256 != tree.files[WEIGHTS].sha256


def test_answers_are_kept_in_a_folder_without_the_token(
    emulator: Emulator, repository: Repository, with_token: str, tmp_path: Path
) -> None:
    trees = [Hub(new_session(emulator, Validators(tmp_path))).tree(NAME) for _ in range(2)]
    assert trees[0] == trees[1]
    assert len(emulator.asked(path="/tree/")) == 1
    assert emulator.requests[0].authorised
    assert with_token not in "".join(path.read_text() for path in tmp_path.iterdir())
    assert repository.name == NAME


@pytest.mark.parametrize("revision", ["main", "v1.0", "commit"])
def test_a_tree_can_be_had_at_a_revision(repository: Repository, live: Session, revision: str) -> None:
    repository.tags["v1.0"] = repository.commits[0].id
    asked = repository.commits[0].id if revision == "commit" else revision
    tree = Hub(live).tree(NAME, asked)
    assert tree.commit == repository.commits[1 if revision == "main" else 0].id
    with pytest.raises(SourceNotFound) as caught:
        Hub(live).tree(NAME, "v2.0")
    assert caught.value.code == "RevisionNotFound"


def test_a_renamed_repository_is_found_and_the_new_name_told(emulator: Emulator, repository: Repository, live: Session) -> None:
    emulator.scenario.rename_repository(NAME, "else/Where")
    hub = Hub(live)
    assert (hub.tree(NAME).repo, hub.info(NAME).repo) == ("else/Where", "else/Where")
    assert hub.tree(NAME).files.keys() == repository.files.keys()
    assert hub.tree("ELSE/where").repo == "else/Where"
    assert hub.card(NAME) == CARD + "More.\n"
    assert hub.head(NAME, WEIGHTS).size == 22_096_321_792


def test_a_repository_without_files_is_no_answer(emulator: Emulator, live: Session) -> None:
    emulator.scenario.repository("someone/empty")
    with pytest.raises(BadAnswer, match="no commit"):
        Hub(live).tree("someone/empty")
    emptied = emulator.scenario.repository("someone/emptied")
    emptied.commit({"a": "b"}, day("2026-08-30"))
    emptied.commit({"a": None}, day("2026-08-31"))
    with pytest.raises(BadAnswer, match="no file"):
        Hub(live).tree("someone/emptied")


# --- what is said of a repository ----------------------------------------------------------------


def test_a_repository_is_described(repository: Repository, live: Session) -> None:
    repository.gated = "manual"
    commit = repository.commits[-1].id
    assert Hub(live).info(NAME) == RepoInfo(NAME, commit, date(2026, 8, 31), gated=True, private=False, pipeline="text-generation")
    repository.gated, repository.pipeline = "", ""
    found = Hub(live).info(NAME)
    assert (found.gated, found.pipeline) == (False, "")


def test_the_card_and_the_config_are_read(emulator: Emulator, repository: Repository, live: Session, validators: Validators) -> None:
    hub = Hub(live)
    assert (hub.card(NAME), hub.card(NAME, repository.commits[0].id)) == (CARD + "More.\n", CARD)
    assert hub.config(NAME) == {"model_type": "qwen"}
    emulator.reset_log()
    tonight = Hub(new_session(emulator, validators))
    assert (tonight.card(NAME), tonight.card(NAME, repository.commits[0].id)) == (CARD + "More.\n", CARD)
    assert [exchange.status for exchange in emulator.requests] == [307, 304]


def test_a_repository_without_a_card_or_with_an_empty_one(repository: Repository, live: Session) -> None:
    repository.commit({"README.md": None, "config.json": "[1]"}, day("2026-09-01"))
    hub = Hub(live)
    assert hub.card(NAME) is None
    with pytest.raises(BadAnswer, match="no table"):
        hub.config(NAME)
    repository.commit({"README.md": b"", "config.json": None}, day("2026-09-02"))
    assert hub.card(NAME) == ""
    with pytest.raises(SourceNotFound) as caught:
        hub.config(NAME)
    assert caught.value.code == "EntryNotFound"


def test_a_card_of_which_nothing_came_is_no_empty_card(emulator: Emulator, repository: Repository, live: Session) -> None:
    emulator.scenario.faults.append(Fault("body", host="hub", path="resolve-cache", body=""))
    with pytest.raises(BadAnswer, match="nothing at all"):
        Hub(live).card(NAME)
    assert repository.name == NAME


def test_a_search_gives_every_name_of_every_page(emulator: Emulator, live: Session) -> None:
    names = [f"owner-{number % 7}/Qwen3-{number}-GGUF" for number in range(2300)]
    for name in [*names, "someone/else"]:
        emulator.scenario.repository(name)
    assert Hub(live).search("qwen3 gguf") == names
    assert [exchange.status for exchange in emulator.requests] == [200, 200, 200]
    assert Hub(live).search("nothing is called so") == []


def test_a_search_that_finds_too_much_is_no_answer(emulator: Emulator, live: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.sources.hub.MOST", 10)
    for number in range(11):
        emulator.scenario.repository(f"a/b{number}").commit({f"{each}.txt": "x" for each in range(11)}, day("2026-08-30"))
    with pytest.raises(BadAnswer, match="more than 10"):
        Hub(live).search("b")
    with pytest.raises(BadAnswer, match="more than 10"):
        Hub(live).tree("a/b1")


# --- download addresses --------------------------------------------------------------------------


def test_a_download_address_tells_size_and_hash_and_not_the_token_to_the_storage(
    emulator: Emulator, repository: Repository, with_token: str, live: Session
) -> None:
    weights = repository.files[WEIGHTS]
    found = Hub(live).head(NAME, WEIGHTS)
    assert (found.size, found.etag, found.commit) == (22_096_321_792, weights.digest, repository.commits[-1].id)
    assert found.location.startswith(emulator.hub.storage)
    assert found.location not in repr(found)
    assert [(exchange.method, exchange.host, exchange.token) for exchange in emulator.requests] == [("HEAD", "hub", with_token)]
    small = Hub(live).head(NAME, "config.json")
    assert small == FileHead(22, repository.files["config.json"].blob, repository.commits[-1].id, small.location)
    with pytest.raises(SourceNotFound) as caught:
        Hub(live).head(NAME, "no.gguf")
    assert caught.value.code == "EntryNotFound"


def test_a_download_address_is_asked_for_the_size_of_the_file_not_of_a_packed_one(
    server: Server, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    server.otherwise = lambda _: Answer(200, {"X-Repo-Commit": "0" * 40, "ETag": '"e"'}, b"12345")
    assert (Hub(session).head("a/b", "x.gguf").size, server.received[0].headers["accept-encoding"]) == (5, "identity")


@pytest.mark.parametrize("reference", [HubReference(NAME, WEIGHTS), HubReference(NAME, quant="Q4_K_M")])
def test_a_header_is_read_by_ranges_and_its_requests_are_counted(
    emulator: Emulator, repository: Repository, with_token: str, live: Session, reference: HubReference
) -> None:
    with Hub(live).open(reference) as source:
        header = read_header(source)
        assert (source.sha256, source.commit) == (repository.files[WEIGHTS].digest, repository.commits[-1].id)
        assert (source.size, len(header.tensors)) == (22_096_321_792, 300)
        asked = emulator.asked("hub")
        assert live.requests == len(asked) == (1 if reference.file else 2)
        assert {exchange.token for exchange in asked} == {with_token}
        assert {(exchange.status, exchange.token) for exchange in emulator.asked("storage")} == {(206, "")}


def test_a_file_that_is_not_there_cannot_be_opened(repository: Repository, live: Session) -> None:
    with pytest.raises(SourceNotFound):
        Hub(live).open(HubReference(NAME, "no.gguf"))
    with pytest.raises(HubNotFound, match="quant"):
        Hub(live).open(HubReference(NAME, quant="Q9"))
    assert repository.name == NAME


# --- who may read --------------------------------------------------------------------------------

ASKED: list[Callable[[Hub], object]] = [
    lambda hub: hub.info(NAME),
    lambda hub: hub.tree(NAME),
    lambda hub: hub.card(NAME),
    lambda hub: hub.config(NAME),
    lambda hub: hub.head(NAME, WEIGHTS),
]


def test_a_gate_hides_the_files_but_not_what_is_said_of_them(repository: Repository, live: Session) -> None:
    repository.gated = "auto"
    hub = Hub(live)
    assert hub.info(NAME).gated
    assert hub.tree(NAME).files[WEIGHTS].size == 22_096_321_792
    for ask in ASKED[2:]:
        with pytest.raises(SourceDenied):
            ask(hub)


@pytest.mark.parametrize("state", ["private", "deleted"])
@pytest.mark.parametrize("ask", ASKED)
def test_without_a_token_private_and_deleted_look_the_same_and_neither_is_gone(
    repository: Repository, live: Session, state: str, ask: Callable[[Hub], object]
) -> None:
    setattr(repository, state, True)
    with pytest.raises(SourceDenied) as caught:
        ask(Hub(live))
    assert caught.value.status == 401


@pytest.mark.parametrize("ask", ASKED)
def test_with_a_token_a_deleted_repository_is_not_found(
    repository: Repository, with_token: str, live: Session, ask: Callable[[Hub], object]
) -> None:
    repository.deleted = True
    with pytest.raises(SourceNotFound) as caught:
        ask(Hub(live))
    assert (caught.value.code, caught.value.gone) == ("RepoNotFound", False)
    assert with_token not in str(caught.value)


@pytest.mark.parametrize("ask", ASKED)
def test_a_reader_of_a_private_repository_reads_it(
    repository: Repository, with_token: str, live: Session, ask: Callable[[Hub], object]
) -> None:
    repository.private = True
    assert ask(Hub(live))
    assert with_token not in repr(live)


def test_a_token_that_is_not_accepted_is_said_so(
    emulator: Emulator, repository: Repository, live: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_" + "x" * 34)
    with pytest.raises(SourceDenied):
        Hub(live).info(NAME)
    repository.disabled = True
    monkeypatch.setenv("HF_TOKEN", "")
    with pytest.raises(SourceDenied):
        Hub(new_session(emulator, Validators())).card(NAME)


@pytest.mark.parametrize("name", ["", "no name", "a/b/c", "../x", "a/..", "a//b", "-a/b", "a/b.git"])
def test_what_is_no_name_is_not_asked_for(live: Session, name: str) -> None:
    hub = Hub(live)
    for ask in (hub.info, hub.tree, hub.card, hub.config):
        with pytest.raises(InvalidAddress):
            ask(name)
    assert live.requests == 0


# --- limits and failures -------------------------------------------------------------------------


def test_no_more_is_asked_than_the_hub_allows(emulator: Emulator, live: Session) -> None:
    for number in range(30):
        emulator.scenario.repository(f"a/b{number}").commit({"x": "y"}, day("2026-08-30"))
    emulator.budgets.limits["hub.api"].anonymous = 21
    hub = Hub(live)
    answered = 0
    for number in range(30):
        try:
            hub.info(f"a/b{number}")
        except SourceLimited as error:
            assert error.reset == datetime(2026, 9, 8, 0, 5, tzinfo=UTC)  # noqa: PT017  a window of five minutes
        else:
            answered += 1
    assert answered == 21
    assert {exchange.status for exchange in emulator.requests} == {200}
    assert hub.card("a/b0") is None
    emulator.clock.sleep(301)  # type: ignore[attr-defined]
    assert hub.info("a/b29").repo == "a/b29"


def test_a_limit_that_is_met_is_waited_for_where_that_is_short(emulator: Emulator, repository: Repository, live: Session) -> None:
    emulator.budgets.limits["hub.api"].seconds = 50
    emulator.budgets.leave("hub.api", 0, now=emulator.clock())
    before = emulator.clock()
    assert Hub(live).info(NAME).repo == repository.name
    assert emulator.clock() - before == 50
    assert [exchange.status for exchange in emulator.requests] == [429, 200]


def test_a_limit_that_is_met_and_long_is_an_error(emulator: Emulator, repository: Repository, live: Session) -> None:
    emulator.budgets.leave("hub.api", 0, now=emulator.clock())
    for _ in range(2):
        with pytest.raises(SourceLimited):
            Hub(live).info(NAME)
    assert [exchange.status for exchange in emulator.requests] == [429]
    assert repository.name == NAME


@pytest.mark.parametrize("ask", ASKED)
def test_a_hub_that_is_down_is_asked_again_by_the_session_and_by_nobody_else(
    emulator: Emulator, repository: Repository, live: Session, ask: Callable[[Hub], object]
) -> None:
    emulator.scenario.faults.append(Fault("status", host="hub", status=503))
    with pytest.raises(SourceUnreachable):
        ask(Hub(live))
    assert len(emulator.requests) == ATTEMPTS
    emulator.scenario.faults[:] = [Fault("hang_up", host="hub", times=ATTEMPTS - 1)]
    assert ask(Hub(live))
    assert repository.name == NAME


def test_a_hub_that_is_down_is_left_alone_soon(emulator: Emulator, repository: Repository, live: Session) -> None:
    emulator.scenario.faults.append(Fault("html", host="hub", status=502))
    for _ in range(20):
        with pytest.raises(SourceUnreachable):
            Hub(live).tree(NAME)
    assert len(emulator.requests) == GIVEN_UP_AFTER * ATTEMPTS
    assert repository.name == NAME


@pytest.mark.parametrize("ask", [*ASKED[:4], lambda hub: hub.search("Model")])
@pytest.mark.parametrize(
    "fault",
    [
        Fault("html", host="hub", status=200),
        Fault("html", host="hub", status=404),
        Fault("body", host="hub", body=""),
        Fault("body", host="hub", body="5"),
        Fault("body", host="hub", body='["5"]'),
        Fault("truncated", host="hub", keep=1),
        Fault("drop", host="hub", keep=1),
        Fault("length", host="hub", by=7),
    ],
    ids=lambda value: f"{value.kind}{value.status}{value.body}" if isinstance(value, Fault) else None,
)
def test_nonsense_is_no_answer(
    emulator: Emulator, repository: Repository, live: Session, ask: Callable[[Hub], object], fault: Fault
) -> None:
    fault.met = 0
    emulator.scenario.faults.append(fault)
    try:
        found = ask(Hub(live))
    except BadAnswer as error:
        assert error.url.startswith(emulator.hub_endpoint)  # noqa: PT017
    else:
        assert isinstance(found, str)
        assert fault.kind in {"body", "truncated"}
    assert repository.name == NAME


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "file", "path": "x", "oid": "1", "size": -1},
        {"type": "file", "path": "x", "oid": "1", "size": "1"},
        {"type": "file", "path": "x", "oid": "1"},
        {"type": "file", "path": "x", "oid": "1", "size": 1, "lfs": {"oid": "../../x", "size": 1, "pointerSize": 1}},
        {"type": "file", "path": "x", "oid": "1", "size": 1, "lfs": {"size": 1}},
        5,
    ],
)
def test_a_file_of_another_form_is_not_listed(
    server: Server, session: Session, monkeypatch: pytest.MonkeyPatch, entry: dict[str, object]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    server.otherwise = lambda _: Answer(200, {"Content-Type": "application/json"}, json.dumps([entry]).encode())
    with pytest.raises(BadAnswer):
        Hub(session).tree(NAME, "0" * 40)


def test_a_page_after_which_comes_no_address_is_no_answer(server: Server, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    row = json.dumps([{"id": "a/b"}]).encode()
    for link in ("<ftp://x/y>", "<http://[::1>", "<//>"):
        server.otherwise = lambda _, link=link: Answer(200, {"Content-Type": "application/json", "Link": f'{link}; rel="next"'}, row)  # type: ignore[misc]
        with pytest.raises(SourceError):
            Hub(session).search("a")


def test_pages_that_lead_in_circles_end(server: Server, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    monkeypatch.setattr("generator.sources.hub.MOST", 30)
    row = json.dumps([{"id": "a/b"}]).encode()
    server.otherwise = lambda request: Answer(
        200, {"Content-Type": "application/json", "Link": f'<{server.address}{request.path}>; rel="next"'}, row
    )
    assert Hub(session).search("a") == ["a/b"]
    assert len(server.received) <= 32


def test_offline_is_said_so(repository: Repository, live: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(SourceUnreachable, match="HF_HUB_OFFLINE"):
        Hub(live).info(NAME)
    assert repository.name == NAME


# --- together ------------------------------------------------------------------------------------


def test_a_file_is_still_opened_without_a_session(emulator: Emulator, repository: Repository, live: Session, with_token: str) -> None:
    Hub(live).info(NAME)
    spent = live.requests
    with open_hub(HubReference(NAME, WEIGHTS)) as source:
        assert source.sha256 == repository.files[WEIGHTS].digest
    assert live.requests == spent
    assert emulator.requests[-1].token == with_token


def test_workers_share_the_session(emulator: Emulator, live: Session, with_token: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for number in range(40):
        emulator.scenario.repository(f"a/b{number}").commit({f"{number}.txt": "x"}, day("2026-08-30"))
    hub = Hub(live)
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(lambda number: hub.tree(f"a/b{number}"), range(40)))
    assert [list(tree.files) for tree in trees] == [[f"{number}.txt"] for number in range(40)]
    assert live.requests == len(emulator.requests) == 80
    assert {(exchange.token, exchange.agent.partition("/")[0]) for exchange in emulator.requests} == {(with_token, "gen")}
    assert with_token not in caplog.text + repr(hub) + repr(live) + repr(live.spent)
