"""What follows from an answer and from none: nothing is concluded from silence, nothing is told twice, and no date is given away."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from generator import nightly
from generator.catalog import Catalog
from generator.claims.answers import Answer, Outcome, answers
from generator.claims.drift import Drift
from generator.claims.questions import Question, questions
from generator.claims.recheck import Night, recheck, write_locks
from generator.claims.state import GRACE, State
from generator.facts import Ask, Fact, Lock, Source
from tests.emulator import Fault, Page
from tests.night.conftest import FIRST
from tests.night.world import CHANGES, HUB, LEDGER, PAGE, THREADS, TRACKER, World

VENDOR = "https://www.nvidia.com/en-us/geforce/graphics-cards/50-series/rtx-5070-family/"
WEEK = FIRST + timedelta(days=7)
"""When everything but the engine's source is due again."""


def asked(world: World, now: datetime, *, everything: bool = False, lock: bool = False) -> Night:
    """Ask what is due, and write the state; write the locks where that is wanted, and no page in any case."""
    world.clock.go_to(now)
    catalog = Catalog.open(world.root)
    state = State.read(world.root / ".gen" / "state.json")
    live, session = nightly.open_live(world.root)
    with session, ThreadPoolExecutor(4) as executor:
        night = recheck(questions(catalog, catalog.recipes()), live, state, executor, now=now, everything=everything)
    if lock:
        write_locks(night, state)
    return night


def drifts(night: Night) -> dict[str, Drift]:
    return {drift.subject: drift for drift in night.drifts}


def unanswered(night: Night) -> dict[str, tuple[str, str, int]]:
    return {each.fact.key: (str(each.outcome), each.detail, each.nights) for each in night.unanswered}


def answer(world: World, ask: Ask, value: object) -> Answer:
    """Give the answer to one question of one's own, about a fact that has a value."""
    fact = Fact("model.own", value, source=Source("https://example.org"), ask=ask)
    question = Question(fact, ask, world.root / "own.lock.json", Fact("model.moved_to", None))
    live, session = nightly.open_live(world.root)
    with session, ThreadPoolExecutor(1) as executor:
        return next(answers([question], live, executor))


# --- sources that say nothing --------------------------------------------------------------------


def test_a_search_that_finds_nothing_any_more_is_no_update(world: World) -> None:
    world.scenario.faults = [Fault("body", host="hub", path=r"/api/models\?", body="[]")]
    world.scenario.trackers[TRACKER].searches["qwen35moe"] = 0
    night = asked(world, WEEK)
    assert night.drifts == []
    detail = "the search finds nothing at all, where it found something"
    searched = ["repositories", "namespaces", "cards_read", "cards_naming_this_card", "cards_naming_amd_boards"]
    assert unanswered(night) == {f"model.{name}": ("unreachable", detail, 0) for name in (*searched, "tracker_hits_architecture")}
    state = State.read(world.root / ".gen" / "state.json").facts
    assert state["model.repositories"].answered == FIRST
    assert state["model.tracker_hits"].answered == WEEK  # it finds nothing, as it did before


def test_a_page_that_is_not_the_one_meant_confirms_nothing(world: World) -> None:
    """A page of a firewall does not name the bandwidth either."""
    world.scenario.pages[VENDOR] = Page("<html><title>Checking your browser</title><p>One moment, please.</p></html>")
    night = asked(world, WEEK)
    assert night.drifts == []
    found = unanswered(night)
    assert found.keys() == {"card.memory_bandwidth", "card.memory_speed", "card.pcie_lanes"}
    assert found["card.memory_bandwidth"][1] == "the page does not say 'GDDR7', so it is not the one that was meant"


def test_what_a_vendor_begins_to_publish_is_told(world: World) -> None:
    page = world.scenario.pages[VENDOR]
    page.body = str(page.body).replace("</ul>", "<li>Memory Bandwidth 672 GB/s</li></ul>")
    night = asked(world, WEEK)
    assert [(drift.subject, str(drift.kind), drift.new) for drift in night.drifts] == [("card.memory_bandwidth", "published", 1)]


def test_a_page_that_is_gone_keeps_what_it_did_not_publish_and_is_listed_until_somebody_looks(world: World) -> None:
    del world.scenario.pages[VENDOR]
    for number in range(5):
        night = asked(world, WEEK + timedelta(days=number), lock=True)
        assert night.drifts == []
        assert unanswered(night)["card.memory_bandwidth"] == ("gone", "there is no such file on the server", number + 1)


def test_one_card_that_may_not_be_read_spoils_no_count_but_its_own(world: World) -> None:
    name = next(name for name, repository in world.scenario.repositories.items() if name != HUB and "Apodex" in name)
    world.scenario.repositories[name].gated = "manual"
    night = asked(world, WEEK)
    assert {key: (drift.old, drift.new) for key, drift in drifts(night).items()}["model.cards_read"] == (21, 20)
    assert drifts(night).keys() <= {"model.cards_read", "model.cards_naming_amd_boards"}
    assert night.unanswered == []


def test_words_of_a_card_that_is_not_there_are_not_counted_as_none(world: World) -> None:
    ask = Ask.of("hub_card", repository=HUB, words="vision|visual")
    assert answer(world, ask, 0).value == 0
    world.scenario.repositories[HUB].commit({"README.md": None}, WEEK)
    gone = answer(world, ask, 0)
    assert (gone.outcome, gone.detail) == (Outcome.GONE, f"{HUB} has no model card")


def test_one_source_that_is_down_stops_no_other(world: World) -> None:
    world.scenario.faults = [Fault("hang_up", host="github"), Fault("html", host="web", status=200)]
    night = asked(world, WEEK)
    kinds = {each.fact.key.partition(".")[0] for each in night.unanswered}
    assert kinds == {"issue", "card", "model"}  # of the model, what GitHub's search counts
    assert {each.fact.key for each in night.unanswered if each.fact.key.startswith("model.")} == {
        "model.tracker_hits",
        "model.tracker_hits_architecture",
    }
    assert night.answered + len(night.unanswered) == night.asked
    assert night.answered > 10


# --- vanishing -----------------------------------------------------------------------------------


def test_a_repository_that_is_gone_takes_its_files_along_and_leaves_what_was_said_of_it(world: World) -> None:
    world.scenario.repositories[HUB].deleted = True
    nights = [asked(world, FIRST + timedelta(days=number), lock=True) for number in range(1, 5)]
    assert [night.drifts for night in nights[:2]] == [[], []]
    gone = {drift.subject: str(drift.kind) for drift in nights[2].drifts}
    assert gone == dict.fromkeys(("file.q4_k_m.size", "file.iq4_xs.size", "file.iq2_m.size"), "gone")
    assert nights[3].drifts == []
    assert unanswered(nights[3]).keys() == {"model.gated", "model.repository_modified", "model.quant_pipeline"}
    assert world.gen("lint", "--all").code == 0
    size = Catalog.open(world.root).lock("apodex-mini").facts["file.q4_k_m.size"]
    assert (size.value, size.status, str(size.checked)) == (21_864_082_336, "gone", "2026-12-01")  # the day it was last read
    assert size.note == "gone by 2026-12-04: there is no such file on the server"


def test_to_one_without_a_token_a_missing_repository_is_never_gone(world: World) -> None:
    """The Hub then says 401, of which nothing follows."""
    world.tokens(given=False)
    world.scenario.repositories[HUB].deleted = True
    for number in range(1, 6):
        night = asked(world, FIRST + timedelta(days=number))
        assert night.drifts == []
        assert unanswered(night)["file.q4_k_m.size"][0] == "denied"


def test_a_night_of_failure_between_counts_for_nothing(world: World) -> None:
    thread = world.scenario.trackers[TRACKER].threads.pop(27109)
    key = "issue.llama.cpp.27109.state"
    for number, down in enumerate((False, True, False, True), 1):
        world.scenario.faults = [Fault("status", host="github", status=503)] if down else []
        night = asked(world, FIRST + timedelta(days=number))
        assert night.drifts == []
        assert unanswered(night)[key][2] == (0 if down else (number + 1) // 2)
    world.scenario.faults = []
    world.scenario.trackers[TRACKER].threads[27109] = thread
    assert asked(world, FIRST + timedelta(days=5)).unanswered == []
    del world.scenario.trackers[TRACKER].threads[27109]
    assert unanswered(asked(world, FIRST + timedelta(days=6)))[key][2] == 1  # an answer begins the count anew


def test_two_runs_in_one_night_are_one_night(world: World) -> None:
    del world.scenario.trackers[TRACKER].threads[27109]
    for hours in range(5):
        night = asked(world, FIRST + timedelta(days=1, hours=hours))
        assert unanswered(night)["issue.llama.cpp.27109.state"][2] == 1


def test_a_pattern_that_is_not_at_the_pin_is_lost_at_once_and_told_once(world: World) -> None:
    tag = world.scenario.trackers[TRACKER].tags["b10666"]
    tag.files["common/common.h"] = tag.files["common/common.h"].replace(b"fit_params_target", b"fit_target")
    shutil.rmtree(world.root / ".gen" / "answers")  # the source of a build is asked for once and kept
    night = asked(world, WEEK, everything=True, lock=True)
    lost = {drift.subject: drift for drift in night.drifts}
    assert {key: str(drift.kind) for key, drift in lost.items()} == {"citation.b10666.fit_margin": "line lost"}
    assert lost["citation.b10666.fit_margin"].detail == "'std::vector<size_t> fit_params_target' is not in common/common.h at b10666"
    assert lost["citation.b10666.fit_margin"].advice
    assert asked(world, WEEK + timedelta(days=1), everything=True, lock=True).drifts == []
    assert world.gen("lint", "--all").code == 0


def test_a_repository_that_has_its_old_name_again_is_told(world: World) -> None:
    world.scenario.rename_repository(HUB, "bartowski/other")
    moved = asked(world, FIRST + timedelta(days=1), lock=True)
    assert [(drift.subject, drift.old, drift.new) for drift in moved.drifts] == [("model.moved_to", HUB, "bartowski/other")]
    assert asked(world, FIRST + timedelta(days=2), lock=True).drifts == []
    del world.scenario.moved_repositories[HUB]
    world.scenario.rename_repository("bartowski/other", HUB)
    back = asked(world, FIRST + timedelta(days=3), lock=True)
    assert [(drift.subject, drift.old, drift.new) for drift in back.drifts] == [("model.moved_to", "bartowski/other", HUB)]
    assert asked(world, FIRST + timedelta(days=4), lock=True).drifts == []


def test_foreign_text_is_kept_without_what_no_file_or_terminal_should_hold(world: World) -> None:
    world.scenario.trackers[TRACKER].threads[26609].title = "crash \x1b[31mred\x00 \u2028 end"
    night = asked(world, FIRST + timedelta(days=1), lock=True)
    assert drifts(night)["issue.llama.cpp.26609.title"].new == "crash \ufffd[31mred\ufffd \u2028 end"
    assert Lock.read(world.root / THREADS).facts["issue.llama.cpp.26609.title"].value == "crash \ufffd[31mred\ufffd \u2028 end"


def test_a_discussion_is_not_asked_and_so_never_gone(world: World) -> None:
    path = world.root / "recipes" / "issues" / "llama.cpp" / "27109.md"
    path.write_text(path.read_text(encoding="utf-8").replace("kind: issue", "kind: discussion"), encoding="utf-8")
    catalog = Catalog.open(world.root)
    assert not [question for question in questions(catalog, catalog.recipes()) if ".27109." in question.key]


# --- what is remembered --------------------------------------------------------------------------


def test_without_the_state_everything_is_asked_again_and_nothing_told_twice(world: World) -> None:
    shutil.rmtree(world.root / ".gen")
    night = asked(world, FIRST + timedelta(days=1))
    assert night.not_due == 0
    assert night.drifts == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1, "facts": {}}', '{"format": 2, "facts": {"a.b": {"missing": 7}}}'])
def test_a_state_that_cannot_be_read_is_an_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text, encoding="utf-8")
    assert State.read(tmp_path / "state.json").facts == {}


def test_a_fact_is_due_when_its_period_is_over_or_it_is_not_what_was_answered(tmp_path: Path) -> None:
    state = State(tmp_path / "state.json")
    fact = Fact("a.state", "open", checked=FIRST.date())
    day = timedelta(days=1)
    assert state.due(fact, day, FIRST)
    state.note_answer("a.state", "open", FIRST)
    assert not state.due(fact, day, FIRST + day - GRACE - timedelta(minutes=1))
    assert state.due(fact, day, FIRST + day - GRACE)
    assert state.due(Fact("a.state", "closed"), day, FIRST + timedelta(minutes=1))
    assert state.due(Fact("a.state", "open", status="gone"), day, FIRST + timedelta(minutes=1))


def test_a_date_speaks_for_a_fact_only_while_that_is_what_was_answered(tmp_path: Path) -> None:
    state = State(tmp_path / "state.json")
    is_open, is_closed = Fact("a.state", "open", checked=FIRST.date()), Fact("a.state", "closed")
    state.note_answer("a.state", "open", FIRST + timedelta(days=1))
    state.note_answer("a.state", "closed", FIRST + timedelta(days=2))
    state.note_answer("a.state", "closed", FIRST + timedelta(days=3))
    state.write()
    read = State.read(tmp_path / "state.json")
    assert (read.answered_on(is_open), str(read.answered_on(is_closed))) == (None, "2026-12-04")
    assert (str(read.so_until(is_open)), str(read.first_said("a.state"))) == ("2026-12-02", "2026-12-03")


def told(world: World, *words: str) -> Mapping[str, Any]:
    done = world.gen(*words, "--json")
    assert done.err == ""
    found: Mapping[str, Any] = json.loads(done.out)
    return found


def moment(days: int, hours: int = 0) -> str:
    return (FIRST + timedelta(days=days, hours=hours)).strftime("%Y-%m-%dT%H:%M")


def test_a_change_that_waits_in_a_branch_is_found_again_as_of_its_first_night(world: World) -> None:
    """Each night of a scheduled run begins from what was merged; only the state goes on."""
    world.scenario.trackers[TRACKER].threads[26609].close(FIRST)
    world.scenario.trackers[TRACKER].searches["apodex"] = 2  # asked every week
    evening = world.files()
    first = world.night(FIRST + timedelta(days=7))
    subjects = {"issue.llama.cpp.26609.state", "issue.llama.cpp.26609.reason", "model.tracker_hits"}
    assert first.drifts.keys() == subjects
    for path in first.after:
        (world.root / path).unlink()
    for path, content in evening.items():
        (world.root / path).write_bytes(content)

    assert world.gen("build", "--all", "--dated").code == 0
    dated = (world.root / PAGE).read_text(encoding="utf-8")
    assert "open, checked [2026-09-22](https://github.com/ggml-org/llama.cpp/issues/26609)" in dated  # open was not answered since
    assert "open, checked [2026-12-08](https://github.com/ggml-org/llama.cpp/issues/25060)" in dated
    assert world.gen("build", "--all").code == 0

    second = world.night(FIRST + timedelta(days=8))
    assert second.code == 3
    for key in subjects:
        row, before = second.drifts[key], first.drifts[key]
        assert (row["found"], row["since"], row["old"], row["new"]) == ("2026-12-08", before["since"], before["old"], before["new"])
    assert second.after["site/changes.atom"] == first.after["site/changes.atom"]
    assert second.changed == {THREADS, "recipes/models/apodex-mini/model.lock.json", PAGE, LEDGER, *CHANGES}


def test_a_check_tells_once_and_the_night_tells_it_for_the_list_of_changes(world: World) -> None:
    world.scenario.trackers[TRACKER].threads[26609].close(FIRST)
    before = world.files()
    first = told(world, "check", "--now", moment(1))
    assert {row["subject"] for row in first["drifts"]} == {"issue.llama.cpp.26609.state", "issue.llama.cpp.26609.reason"}
    assert {path for path, content in world.files().items() if content != before.get(path)} == {THREADS}
    again = world.gen("check", "--now", moment(1, 1))
    assert (again.code, again.out.splitlines()[0][:33]) == (0, "2026-12-02: 0 of 0 facts answered")
    assert "no drift" in again.out
    night = world.night(FIRST + timedelta(days=1, hours=2))
    assert night.code == 3
    assert night.drifts.keys() == {row["subject"] for row in first["drifts"]}
    assert b"26609" in night.after["site/changes.json"]
    assert world.night(FIRST + timedelta(days=1, hours=3)).report["drifts"] == []


def test_drift_of_a_run_that_wrote_no_lock_is_forgotten_where_it_is_not_so_any_more(world: World) -> None:
    world.scenario.trackers[TRACKER].threads[26609].close(FIRST)
    evening = (world.root / THREADS).read_bytes()
    first = told(world, "check", "--now", moment(1))
    pending = world.root / ".gen" / "pending.json"
    rows = json.loads(pending.read_text(encoding="utf-8"))
    pending.write_text(json.dumps({**rows, "told": []}), encoding="utf-8")
    (world.root / THREADS).write_bytes(evening)
    world.scenario.trackers[TRACKER].threads[26609].reopen(FIRST + timedelta(hours=1))
    second = told(world, "check", "--now", moment(1, 1))
    assert first["drifts"]
    assert {row["subject"] for row in second["drifts"]} <= {"issue.llama.cpp.26609.reason"}  # it is open, as "reopened"


# --- our own faults ------------------------------------------------------------------------------


def test_a_lock_that_cannot_be_written_is_our_fault_and_stops_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.scenario.trackers[TRACKER].threads[26609].close(FIRST)
    world.scenario.repositories[HUB].gated = "auto"
    write = Lock.write

    def refuse(lock: Lock, path: Path) -> bool:
        if path.name == "threads.lock.json":
            raise PermissionError(13, "Permission denied", str(path))
        return write(lock, path)

    with monkeypatch.context() as patch:
        patch.setattr(Lock, "write", refuse)
        night = world.night(FIRST + timedelta(days=1))
    assert night.code == 1
    assert night.report["failed"] == [{"file": THREADS, "error": "Permission denied"}]
    assert f"- `{THREADS}`: `Permission denied`" in night.markdown
    assert night.changed == {"recipes/models/apodex-mini/model.lock.json", *CHANGES}
    assert "open, checked [2026-09-22](https://github.com/ggml-org/llama.cpp/issues/26609)" in night.page

    again = world.night(FIRST + timedelta(days=1, hours=1))
    assert again.code == 3
    assert again.drifts.keys() == {"issue.llama.cpp.26609.state", "issue.llama.cpp.26609.reason"}


def test_a_page_that_cannot_be_built_is_our_fault_and_the_old_one_stays(world: World) -> None:
    template = world.root / "templates" / "sections" / "speed.md.j2"
    template.write_text(template.read_text(encoding="utf-8") + "\nIt is 12 times faster.\n", encoding="utf-8")
    world.scenario.trackers[TRACKER].threads[26609].close(FIRST)
    night = world.night(FIRST + timedelta(days=1))
    assert night.code == 1
    assert [row["file"] for row in night.report["failed"]] == [PAGE]
    assert "12" in night.report["failed"][0]["error"]
    assert night.changed == {THREADS, *CHANGES}


def test_a_night_on_which_nothing_could_be_asked_fails(world: World) -> None:
    world.scenario.faults = [Fault("hang_up")]
    night = world.night(FIRST + timedelta(days=1))
    assert night.code == 1
    assert night.changed == set()
    assert night.report["answered"] == 0
    assert len(night.report["unanswered"]) == night.report["asked"]


def test_check_of_one_recipe_asks_for_that_one(world: World) -> None:
    whole = world.gen("check", "apodex-mini", "rtx-5070", "--now", moment(1), "--everything")
    assert (whole.code, whole.err) == (0, "")
    assert world.gen("check", "apodex-mini", "rtx-4090", "--now", moment(1)).code == 2
