"""The scripted week: one thing happens at the sources each night, and each morning everything that follows from it is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from xml.etree import ElementTree as ET

import pytest

from tests.emulator import GITHUB_TOKEN, HUB_TOKEN, Fault
from tests.night.conftest import FIRST, ROOT, Settled, copied
from tests.night.world import CHANGES, HUB, LEDGER, MODEL, PAGE, PLANNER, THREADS, TRACKER, Morning, World

FILE = "apodex_Apodex-1.1-mini-Q4_K_M.gguf"
NEW_HUB = "bartowski/Apodex-1.1-mini-GGUF"
PIN, NEW_PIN = "b10666", "b10712"
NEW_SIZE = 21_864_086_432
"""The file's 21,864,082,336 bytes and one block of 4,096 more."""


def nothing(_world: World, _now: datetime) -> None:
    """Change nothing."""


def completed(world: World, now: datetime) -> None:
    world.scenario.trackers[TRACKER].threads[26609].close(now)


def not_planned(world: World, now: datetime) -> None:
    world.scenario.trackers[TRACKER].threads[25060].close(now, "not_planned")


def unmerged(world: World, now: datetime) -> None:
    world.scenario.trackers[TRACKER].threads[28414].close(now)


def merged(world: World, now: datetime) -> None:
    world.scenario.trackers[TRACKER].threads[28414].merge(now)


def transferred(world: World, now: datetime) -> None:
    world.scenario.transfer((TRACKER, 27442), ("ggml-org/ggml", 901), now)


def deleted(world: World, _now: datetime) -> None:
    world.scenario.trackers[TRACKER].threads[27756].deleted = True


def vanished(world: World, _now: datetime) -> None:
    threads = world.scenario.trackers[TRACKER].threads
    threads[-27109] = threads.pop(27109)


def returned(world: World, _now: datetime) -> None:
    threads = world.scenario.trackers[TRACKER].threads
    threads[27109] = threads.pop(-27109)


def labelled(world: World, now: datetime) -> None:
    world.scenario.trackers[TRACKER].threads[27872].label("stale", now)


def uploaded_again(world: World, now: datetime) -> None:
    repository = world.scenario.repositories[HUB]
    repository.commit({FILE: replace(repository.files[FILE], size=NEW_SIZE, sha256="")}, now)


def renamed(world: World, _now: datetime) -> None:
    world.scenario.rename_repository(HUB, NEW_HUB)


def gated(world: World, _now: datetime) -> None:
    world.scenario.repositories[NEW_HUB].gated = "manual"


def hub_down(world: World, _now: datetime) -> None:
    world.scenario.faults = [Fault("status", host="hub", status=503), Fault("status", host="storage", status=503)]


def rate_limited(world: World, now: datetime) -> None:
    """Have no token from now on, and of the sixty requests that GitHub gives to anybody, ten left."""
    world.scenario.faults.clear()
    world.tokens(given=False)
    world.emulator.budgets.leave("github.core", 10, now=now.timestamp())


def pin_moved(world: World, now: datetime) -> None:
    """Move the pin to a build in which a license stands over one file, and other lines are as they were."""
    world.tokens(given=True)
    tags = world.scenario.trackers[TRACKER].tags
    tags[NEW_PIN].files = {**tags[PIN].files, "common/common.h": b"//\n" * 3 + tags[PIN].files["common/common.h"]}
    done = world.gen("update", "apodex-mini", "--build", NEW_PIN, "--now", f"{now:%Y-%m-%d}")
    assert (done.code, done.err) == (0, "")


EVENTS: Mapping[str, Callable[[World, datetime], None]] = {
    "quiet": nothing,
    "closed as completed": completed,
    "closed as not planned": not_planned,
    "closed unmerged": unmerged,
    "merged": merged,
    "transferred": transferred,
    "deleted": deleted,
    "missing": vanished,
    "missing again": nothing,
    "vanished": nothing,
    "returned": returned,
    "labelled": labelled,
    "uploaded again": uploaded_again,
    "renamed": renamed,
    "gated": gated,
    "hub down": hub_down,
    "rate limited": rate_limited,
    "pin moved": pin_moved,
}
"""What happens before each night, one a day from the second day on."""


@pytest.fixture(scope="module")
def week(settled: Settled, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Morning]:
    mornings = {"first": settled.first}
    with pytest.MonkeyPatch.context() as patch:
        world = copied(settled, tmp_path_factory.mktemp("week"), patch)
        for number, (name, happens) in enumerate(EVENTS.items(), 1):
            now = FIRST + timedelta(days=number)
            world.clock.go_to(now)
            happens(world, now)
            mornings[name] = world.night(now)
    return mornings


def first_screen(page: str) -> str:
    return page.partition("\n## ")[0]


def unrelated(morning: Morning, number: int) -> list[str]:
    """Give the lines of the page that changed and do not name a thread, but for the one that says which check was the newest."""
    changed = [line for line in [*morning.new_lines, *morning.lost_lines] if line and not line.startswith("| Checked | ")]
    return [line for line in changed if str(number) not in line]


def told(morning: Morning) -> set[tuple[str, str, str]]:
    return {(row["subject"], row["kind"], row["weight"]) for row in morning.report["drifts"]}


def thread(number: int, name: str = "state") -> str:
    return f"issue.llama.cpp.{number}.{name}"


def issue(number: int, kind: str = "issues") -> str:
    return f"https://github.com/{TRACKER}/{kind}/{number}"


# --- the first night and quiet ones --------------------------------------------------------------


def test_the_first_night_reads_what_nobody_had_read_and_tells_it_in_one_line(settled: Settled) -> None:
    first = settled.first
    assert first.code == 3
    assert {row["kind"] for row in first.report["drifts"]} == {"first read"}
    assert first.report["asked"] == first.report["answered"] > 200
    assert first.report["unanswered"] == []
    assert len([line for line in first.markdown.splitlines() if line.startswith("- ") and "for the first time" in line]) == 1
    citation = first.fact("recipes/engines/llama.cpp/b10666.lock.json", "citation.b10666.cc_hopper")
    assert (citation["value"], citation["origin"], citation["checked"]) == (57, "fetched", "2026-12-01")


def test_a_quiet_night_changes_no_reviewed_file(week: Mapping[str, Morning]) -> None:
    quiet = week["quiet"]
    assert quiet.code == 0
    assert quiet.changed == set()
    assert quiet.report["drifts"] == quiet.report["unanswered"] == quiet.report["failed"] == []
    assert "no drift" in quiet.done.out
    asked = quiet.report["asked"]
    assert quiet.markdown == f"# What changed by 2026-12-02\n\n{asked} of {asked} facts that were due answered. Nothing changed.\n"
    assert quiet.state[thread(26609)]["answered"] == "2026-12-02T03:17:00+00:00"
    assert quiet.state["card.memory_bandwidth"]["answered"] == "2026-12-01T03:17:00+00:00"  # a page is asked every week


def test_a_night_of_dates_alone_shows_in_the_published_pages_only(world: World) -> None:
    quiet = world.night(FIRST + timedelta(days=1))
    assert quiet.changed == set()
    assert world.gen("build", "--all", "--dated").code == 0
    published = world.files()
    assert f"open, checked [2026-12-02]({issue(26609)})" in published[PAGE].decode()
    assert {path for path in published if published[path] != quiet.after[path]} == {PAGE, LEDGER}
    assert world.gen("build", "--all").code == 0
    assert world.files() == quiet.after


# --- threads -------------------------------------------------------------------------------------


def test_a_red_thread_closed_as_completed_leaves_the_first_screen(week: Mapping[str, Morning]) -> None:
    morning = week["closed as completed"]
    assert morning.code == 3
    assert told(morning) == {(thread(26609), "closed", "warning"), (thread(26609, "reason"), "changed", "claim")}
    row = morning.drifts[thread(26609)]
    assert (row["old"], row["new"], row["since"], row["found"]) == ("open", "closed", "2026-12-02", "2026-12-03")
    assert row["touched"] == [{"page": "guides/apodex-mini/rtx-5070.md", "numbers": {}, "claims": [thread(26609)]}]
    source = f"([source]({issue(26609)}))"
    assert "## Changes a red warning\n\n- **`issue.llama.cpp.26609.state`** closed: `open` → `closed`, " in morning.markdown
    assert f"was so on 2026-12-02 {source}\n" in morning.markdown
    assert "warning  issue.llama.cpp.26609.state closed: open → closed (was so on 2026-12-02)" in morning.done.out

    assert morning.changed == {THREADS, PAGE, LEDGER, *CHANGES}
    assert morning.locked(THREADS).keys() == {thread(26609), thread(26609, "reason")}
    fact = morning.fact(THREADS, thread(26609))
    assert (fact["value"], fact["checked"], fact["origin"], fact["status"]) == ("closed", "2026-12-03", "fetched", "ok")
    assert fact["source"]["url"] == issue(26609)
    assert "note" not in fact  # "seen open on ..." was of the value before

    assert "Know this first.** A `qwen35moe` model with experts" in first_screen(morning.page_before)
    assert "26609" not in "".join(line for line in first_screen(morning.page).splitlines() if "Know this first" in line)
    assert "Know this first.** With the draft head on" not in first_screen(morning.page)  # red and open, but no risk of this command
    assert f"closed as completed, checked [2026-12-03]({issue(26609)})" in morning.page
    assert any("Closing is not fixing" in line for line in morning.new_lines)
    assert f"open, checked [2026-09-22]({issue(26609)})" not in morning.page


def test_nothing_else_on_the_page_changes_with_a_thread(week: Mapping[str, Morning]) -> None:
    morning = week["closed as completed"]
    assert morning.numbers == {}
    assert morning.claims.keys() == {thread(26609)}
    # the places that named it as open and name it no more: the risk of the first screen, the flag it is about, the way out of it
    starts = ("**The risk to know.** System memory", "[What each flag decides](#run).", "| `-fa on` |", "Here that is more than one flag:")
    assert [line for line in unrelated(morning, 26609) if not line.startswith(starts)] == []


def test_an_issue_closed_as_not_planned_says_so(week: Mapping[str, Morning]) -> None:
    morning = week["closed as not planned"]
    assert morning.code == 3
    assert told(morning) == {(thread(25060), "closed", "claim"), (thread(25060, "reason"), "changed", "claim")}
    assert morning.drifts[thread(25060, "reason")]["new"] == "not_planned"
    assert morning.changed == {THREADS, PAGE, LEDGER, *CHANGES}
    assert morning.locked(THREADS).keys() == {thread(25060), thread(25060, "reason")}
    assert f"closed as not planned, checked [2026-12-04]({issue(25060)})" in morning.page
    assert any("A mixed build stays broken whatever becomes of the thread" in line for line in morning.new_lines)
    assert unrelated(morning, 25060) == []


def test_a_pull_request_closed_without_merging_is_closed(week: Mapping[str, Morning]) -> None:
    morning = week["closed unmerged"]
    assert morning.code == 3
    assert told(morning) == {(thread(28414), "closed", "claim")}
    assert morning.locked(THREADS).keys() == {thread(28414)}
    assert morning.fact(THREADS, thread(28414))["value"] == "closed"
    assert f"pull request, closed, checked [2026-12-05]({issue(28414, 'pull')})" in morning.page


def test_a_pull_request_merged_is_merged(week: Mapping[str, Morning]) -> None:
    morning = week["merged"]
    assert morning.code == 3
    assert told(morning) == {(thread(28414), "merged", "claim")}
    row = morning.drifts[thread(28414)]
    assert (row["old"], row["new"], row["since"]) == ("closed", "merged", "2026-12-05")
    assert f"pull request, merged, checked [2026-12-06]({issue(28414, 'pull')})" in morning.page
    assert morning.claims[thread(28414)][1]["predicate"] == f'{thread(28414)} == "merged"'


def test_a_transferred_issue_is_followed_and_told_once(week: Mapping[str, Morning]) -> None:
    morning = week["transferred"]
    assert morning.code == 3
    assert told(morning) == {(thread(27442, "moved_to"), "moved", "claim")}
    row = morning.drifts[thread(27442, "moved_to")]
    assert (row["old"], row["new"], row["since"]) == (f"{TRACKER}#27442", "ggml-org/ggml#901", "2026-12-06")
    assert morning.locked(THREADS).keys() == {thread(27442), thread(27442, "moved_to")}
    assert morning.fact(THREADS, thread(27442))["value"] == "open"
    assert f"moved to `ggml-org/ggml#901`, open, checked [2026-12-07]({issue(27442)})" in morning.page
    assert all("moved" not in row["kind"] for name in ("deleted", "missing") for row in week[name].report["drifts"])
    assert week["deleted"].state[thread(27442)]["answered"] == "2026-12-08T03:17:00+00:00"


def test_a_deleted_issue_is_gone_that_night_and_the_page_still_stands(week: Mapping[str, Morning]) -> None:
    morning = week["deleted"]
    assert morning.code == 3
    assert told(morning) == {(thread(27756), "gone", "claim")}
    assert "this was deleted from the server" in morning.markdown
    assert morning.locked(THREADS).keys() == {thread(27756)}
    fact = morning.fact(THREADS, thread(27756))
    assert (fact["value"], fact["status"], fact["checked"]) == ("open", "gone", "2026-12-08")
    assert f"gone from the tracker, open when last seen, checked [2026-12-08]({issue(27756)})" in morning.page
    assert "the needle test above remains the way to know" in "".join(morning.new_lines)
    assert morning.claims[thread(27756)][1]["predicate"] == f"{thread(27756)} is gone"
    assert morning.numbers == {}
    assert told(week["missing"]) == set()


def test_an_issue_that_is_not_found_is_gone_after_the_third_night(week: Mapping[str, Morning]) -> None:
    for nights, name in enumerate(("missing", "missing again"), 1):
        morning = week[name]
        assert morning.code == 0
        assert morning.changed == set()
        row = morning.unanswered[thread(27109)]
        assert (row["outcome"], row["nights"], row["value"], row["checked"]) == ("gone", nights, "open", "2026-09-22")
        assert f"open, checked [2026-09-22]({issue(27109)})" in morning.page
        assert morning.state[thread(27109)]["answered"] == "2026-12-08T03:17:00+00:00"
    assert "not found for a night: `there is no such file on the server`" in week["missing"].markdown
    assert "not found for 2 nights: issue" not in week["missing again"].done.out
    assert "not answered (not found for 2 nights): issue.llama.cpp.27109." in week["missing again"].done.out

    morning = week["vanished"]
    assert morning.code == 3
    assert told(morning) == {(thread(27109), "gone", "claim")}
    assert (morning.drifts[thread(27109)]["since"], morning.drifts[thread(27109)]["found"]) == ("2026-12-08", "2026-12-11")
    assert morning.unanswered == {}
    assert morning.locked(THREADS).keys() == {thread(27109)}
    assert f"gone from the tracker, open when last seen, checked [2026-12-11]({issue(27109)})" in morning.page


def test_what_was_gone_and_is_there_again_is_open_again(week: Mapping[str, Morning]) -> None:
    morning = week["returned"]
    assert morning.code == 3
    assert told(morning) == {(thread(27109), "returned", "claim")}
    fact = morning.fact(THREADS, thread(27109))
    assert (fact["value"], fact["status"], fact["checked"]) == ("open", "ok", "2026-12-12")
    assert "note" not in fact
    assert f"open, checked [2026-12-12]({issue(27109)})" in morning.page
    assert "gone from the tracker, open when last seen, checked [2026-12-11]" not in morning.page
    assert "missing" not in morning.state[thread(27109)]


def test_a_label_is_told_and_moves_no_page(week: Mapping[str, Morning]) -> None:
    morning = week["labelled"]
    assert morning.code == 3
    assert told(morning) == {(thread(27872, "labels"), "labelled", "words")}
    row = morning.drifts[thread(27872, "labels")]
    assert (row["old"], row["new"]) == (["bug-unconfirmed"], ["bug-unconfirmed", "stale"])
    assert "labelled: `bug-unconfirmed` → `bug-unconfirmed, stale`" in morning.markdown
    assert morning.changed == {THREADS, *CHANGES}


# --- the Hub -------------------------------------------------------------------------------------


def test_a_file_uploaded_again_moves_numbers_and_asks_for_its_header(week: Mapping[str, Morning]) -> None:
    morning = week["uploaded again"]
    assert morning.code == 3
    assert told(morning) == {
        ("file.q4_k_m.size", "resized", "command"),
        ("file.q4_k_m.sha256", "rehashed", "command"),
        ("model.repository_modified", "changed", "words"),
    }
    row = morning.drifts["file.q4_k_m.size"]
    assert (row["old"], row["new"], row["since"]) == (21_864_082_336, NEW_SIZE, "2026-12-13")
    assert row["advice"] == "The locked header is that of the file before: read it again with `gen lock`."
    numbers = row["touched"][0]["numbers"]
    assert numbers["weights.file"] == ["21864082336", str(NEW_SIZE)]  # to three digits both are 20.363 GiB
    resting = {"file.q4_k_m.size", "weights.file", "weights.metadata", "weights.file_minus_resident"}
    assert numbers.keys() == morning.numbers.keys() == resting
    assert morning.changed == {MODEL, PAGE, LEDGER, *CHANGES}
    assert morning.locked(MODEL).keys() == {"file.q4_k_m.size", "file.q4_k_m.sha256", "model.repository_modified"}
    fact = morning.fact(MODEL, "file.q4_k_m.size")
    assert (fact["value"], fact["unit"], fact["checked"], fact["changed"]) == (NEW_SIZE, "B", "2026-12-14", "2026-12-14")
    assert f"[{NEW_SIZE:,} B](#weights.file)" in morning.page
    assert "21,864,082,336" not in morning.page


def test_a_renamed_repository_is_told_once_for_all_its_files(week: Mapping[str, Morning]) -> None:
    morning = week["renamed"]
    assert morning.code == 3
    assert told(morning) == {("model.moved_to", "moved", "command")}
    row = morning.drifts["model.moved_to"]
    assert (row["old"], row["new"], row["advice"]) == (HUB, NEW_HUB, "Name the new repository in the model's spec.")
    assert morning.changed == {MODEL, *CHANGES}
    assert morning.locked(MODEL).keys() == {"model.moved_to"}
    assert told(week["gated"]) == {("model.gated", "gated", "command")}
    assert week["gated"].state["file.q4_k_m.size"]["answered"] == "2026-12-16T03:17:00+00:00"


def test_a_new_gate_is_told_and_is_no_end_of_the_files(week: Mapping[str, Morning]) -> None:
    morning = week["gated"]
    assert morning.code == 3
    assert (morning.drifts["model.gated"]["old"], morning.drifts["model.gated"]["new"]) == (False, True)
    assert "gated: `no` → `yes`" in morning.markdown
    assert morning.changed == {MODEL, *CHANGES}
    assert morning.unanswered == {}


def test_a_night_without_the_hub_keeps_values_and_dates_and_stops_nothing_else(week: Mapping[str, Morning]) -> None:
    morning = week["hub down"]
    assert morning.code == 0
    assert morning.changed == set()
    assert {row["outcome"] for row in morning.report["unanswered"]} == {"unreachable"}
    assert all(key.startswith(("file.", "model.")) for key in morning.unanswered)
    assert morning.unanswered["file.q4_k_m.size"]["value"] == NEW_SIZE
    assert morning.unanswered["file.q4_k_m.size"]["checked"] == "2026-12-14"
    assert morning.state["file.q4_k_m.size"]["answered"] == "2026-12-16T03:17:00+00:00"
    assert morning.state[thread(26609)]["answered"] == "2026-12-17T03:17:00+00:00"
    lines = [line for line in morning.done.out.splitlines() if "not answered" in line]
    assert len(lines) == 1
    assert "file.iq2_m.sha256, file.iq2_m.size" in lines[0]
    assert "the server answers with status 503" in lines[0]
    assert "| unreachable: " in morning.markdown


def test_a_rate_limit_midway_leaves_the_rest_for_another_night(week: Mapping[str, Morning]) -> None:
    morning = week["rate limited"]
    assert morning.code == 0
    assert morning.changed == set()
    assert {row["outcome"] for row in morning.report["unanswered"]} == {"limited"}
    left = {key.rsplit(".", 2)[1] for key in morning.unanswered}
    answered = {key.rsplit(".", 2)[1] for key, row in morning.state.items() if key.startswith("issue.") and "12-18" in row["answered"]}
    assert 0 < len(answered) <= 10  # ten requests were left
    assert len(answered | left) == len(list((ROOT / "recipes" / "issues" / "llama.cpp").glob("*.md")))
    assert answered & left == set()
    assert morning.state[thread(int(min(left)))]["answered"] == "2026-12-17T03:17:00+00:00"
    assert "until 2026-12-18 04:17:00 UTC" in morning.markdown
    assert morning.state["file.q4_k_m.size"]["answered"] == "2026-12-18T03:17:00+00:00"


# --- the pin -------------------------------------------------------------------------------------


def test_a_moved_pin_moves_the_page_to_the_new_build_and_its_lines(week: Mapping[str, Morning]) -> None:
    morning = week["pin moved"]
    assert morning.code == 0  # the update told what there was to tell; the night finds every citation where it put it
    assert morning.report["answered"] == morning.report["asked"]
    assert morning.changed == {PAGE, LEDGER, PLANNER}  # the planner's data name the build
    # common.h cites fit_params_target in line 481 of b10666; three lines more stand over it now
    assert "b10666/common/common.h#L481" in morning.page_before
    assert f"{NEW_PIN}/common/common.h#L484" in morning.page
    assert f"blob/{PIN}" in morning.page_before
    # a thread's fact that was read in the source of a build stays what was read there; every citation is the new build's
    assert {row for row in morning.page.splitlines() if f"blob/{PIN}" in row and "issue.llama.cpp." not in row} == set()
    assert f"git checkout {NEW_PIN}" in morning.page
    assert morning.state[f"citation.{NEW_PIN}.fit_margin"]["answered"] == morning.now.isoformat()
    assert {key for key, (old, new) in morning.numbers.items() if old["value"] != new["value"]} == set()


# --- what holds every morning --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["first", *EVENTS])
def test_every_morning(week: Mapping[str, Morning], name: str) -> None:
    morning = week[name]
    assert morning.report["now"] == morning.now.isoformat()
    assert morning.code == (3 if morning.report["drifts"] else 0)
    assert morning.report["failed"] == []
    assert morning.done.err == ""
    for path in (path for path in morning.after if path.endswith(".lock.json")):
        for key, fact in morning.locked(path).items():
            assert fact["checked"] == f"{morning.now:%Y-%m-%d}", key
    for key, row in morning.state.items():
        if row.get("answered") == morning.now.isoformat():
            assert key not in morning.unanswered
    for secret in (GITHUB_TOKEN, HUB_TOKEN):
        assert secret not in morning.done.out + morning.markdown + str(morning.report)
        assert not any(secret.encode() in content for content in morning.after.values())


@pytest.mark.parametrize("name", ["first", *EVENTS])
def test_a_changed_fact_is_drift_and_drift_is_a_changed_fact(week: Mapping[str, Morning], name: str) -> None:
    morning = week[name]
    locked = {key for path in morning.after if path.endswith(".lock.json") for key in morning.locked(path)}
    dated_by_a_move = {key.replace("moved_to", "state") for key in morning.drifts if key.endswith(".moved_to") and "issue" in key}
    assert locked == morning.drifts.keys() | dated_by_a_move


def test_the_feed_grows_by_what_readers_see_and_keeps_what_it_had(week: Mapping[str, Morning]) -> None:
    atom = "{http://www.w3.org/2005/Atom}"
    seen: list[str] = []
    for morning in week.values():
        feed = ET.fromstring(morning.after["site/changes.atom"])
        ids = [str(entry.findtext(f"{atom}id")) for entry in feed.findall(f"{atom}entry")]
        visible = [row for row in morning.report["drifts"] if row["weight"] != "date"]
        assert ids[len(visible) :] == seen
        assert len(set(ids)) == len(ids) == len(visible) + len(seen)
        seen = ids
    changes = week["rate limited"].after["site/changes.md"].decode()
    assert "## 2026-12-14\n" in changes
    assert f"- `model.moved_to` moved: {HUB.replace('_', chr(92) + '_')} → {NEW_HUB}" in changes


def test_a_night_costs_few_requests(week: Mapping[str, Morning]) -> None:
    """One GraphQL question for 23 threads, and for the Hub one for the repository's facts and one for its commit, both unchanged."""
    assert len(week["quiet"].requests) == 3
    assert week["quiet"].report["spent"] != {}
