"""Two published guides against the tracker as it was two weeks later: the report names what they no longer had right.

The catalogue is put back to what the guides said of their threads, on the days they said it; the sources say what public copies of the
tracker had (tests/data/tracker_2026_09.yml). What the guides misread in a thread's words is for people, and not here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from generator.catalog import Catalog
from tests.emulator import Scenario, day
from tests.emulator.catalogue import scenario_from_catalogue
from tests.night.conftest import Settled, project
from tests.night.world import TRACKER, Morning, World

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "tracker_2026_09.yml"
RECORD = ROOT.parent / "shared" / "facts" / "issues.yml"
THREADS: dict[int, dict[str, Any]] = yaml.safe_load(DATA.read_text(encoding="utf-8"))["threads"]
ASKED = ("labels", "comments", "updated")


class Plain(yaml.SafeDumper):
    """Writes a value each time it stands somewhere; specs allow no aliases."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def put_back(root: Path) -> None:
    """Let every thread's spec say what the guides said, and no more; threads that only the guides have get one."""
    for path in (root / "recipes").rglob("*.lock.json"):
        if path.name != "model.lock.json":
            path.unlink()
    recipe = root / "recipes" / "models" / "apodex-mini" / "rtx-5070.yml"
    folder = root / "recipes" / "issues" / "llama.cpp"
    for number, thread in THREADS.items():
        path = folder / f"{number}.md"
        if not path.exists():
            path.write_text(f"---\n{yaml.dump(unwritten(number), Dumper=Plain)}---\n\n## headline\n\nA thread\n", encoding="utf-8")
            listed = recipe.read_text(encoding="utf-8").replace("\nissues:\n", f"\nissues:\n  - llama.cpp#{number}\n")
            recipe.write_text(listed, encoding="utf-8")
        _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
        front = yaml.safe_load(head)
        said = thread["said"]
        front["kind"] = said["kind"]
        facts = {name: fact for name, fact in front["facts"].items() if name not in ASKED}
        facts["state"] = {"value": said["state"], "checked": said["day"]}
        for name in ASKED:
            if name in said:
                value = said[name].isoformat() if name == "updated" else said[name]
                facts[name] = {"value": value, "checked": said["day"]}
        front["facts"] = facts
        path.write_text(f"---\n{yaml.dump(front, Dumper=Plain, allow_unicode=True, sort_keys=False)}---\n{body}", encoding="utf-8")


def unwritten(number: int) -> dict[str, Any]:
    title = {"value": f"Thread {number} of the second guide", "origin": "declared", "note": "its title is not needed here"}
    return {"tracker": TRACKER, "number": number, "kind": "issue", "severity": "amber", "topic": "speed", "facts": {"title": title}}


def put_forward(scenario: Scenario) -> None:
    """Let the tracker say what its copies had."""
    held = scenario.trackers[TRACKER].threads
    for number, thread in THREADS.items():
        now = thread["now"]
        if not now:
            del held[number]
            continue
        found = held[number]
        found.kind = now.get("kind", found.kind)
        found.labels = list(now["labels"])
        found.comments += now.get("more", 0)
        if "updated" in now:
            found.updated = day(now["updated"].isoformat())
        if now["state"] != found.state:
            found.close(day("2026-09-20"))


@pytest.fixture(scope="module")
def morning(settled: Settled, tmp_path_factory: pytest.TempPathFactory) -> Morning:
    root = project(tmp_path_factory.mktemp("guides") / "root")
    put_back(root)
    settled.emulator.scenario = scenario_from_catalogue(Catalog.open(root))
    put_forward(settled.emulator.scenario)
    settled.emulator.budgets.refill()
    with pytest.MonkeyPatch.context() as patch:
        world = World(root, settled.emulator, settled.clock, patch)
        assert world.gen("build", "--all").code == 0
        return world.night(day("2026-09-22T03:17"))


def of(number: int, name: str) -> str:
    return f"issue.llama.cpp.{number}.{name}"


DISAGREEMENTS = {
    # "open, unmerged" on 2026-08-31: a maintainer had declined it on 2026-08-17, and it was closed
    of(27207, "state"): ("closed", "open", "closed", "2026-08-31"),
    # one of five rows that were all said to be open on 2026-09-07
    of(28223, "state"): ("closed", "open", "closed", "2026-09-07"),
    # both listed as issues
    of(28223, "kind"): ("changed", "issue", "pull_request", "2026-09-07"),
    of(28414, "kind"): ("changed", "issue", "pull_request", "2026-09-07"),
    # the third reporter of the crash, on 2026-09-08
    of(26609, "comments"): ("changed", 4, 5, "2026-08-31"),
    of(26609, "updated"): ("changed", "2026-08-29", "2026-09-08", "2026-08-31"),
    of(25318, "labels"): ("labelled", ["bug-unconfirmed"], ["bug-unconfirmed", "stale"], "2026-08-31"),
}
"""What the tracker contradicts or overtook: kind of drift, as it was said, as it is, and the day on which it was said."""


@pytest.mark.parametrize("subject", DISAGREEMENTS)
def test_the_report_names_what_the_guides_no_longer_have_right(morning: Morning, subject: str) -> None:
    row = morning.drifts[subject]
    kind, old, new, since = DISAGREEMENTS[subject]
    assert (row["kind"], row["old"], row["new"], row["since"], row["found"]) == (kind, old, new, since, "2026-09-22")
    assert f"**`{subject}`** {kind}: " in morning.markdown
    assert f"{subject} {kind}: " in morning.done.out


def test_and_names_nothing_else_but_what_nobody_had_read(morning: Morning) -> None:
    assert morning.code == 3
    issues = {key: row for key, row in morning.drifts.items() if key.startswith("issue.")}
    assert {key for key, row in issues.items() if row["kind"] != "first read"} == DISAGREEMENTS.keys()
    assert all(row["old"] is None for row in issues.values() if row["kind"] == "first read")


def test_a_label_of_which_a_guide_said_nothing_is_read_for_the_first_time(morning: Morning) -> None:
    row = morning.drifts[of(27171, "labels")]
    assert (row["kind"], row["old"], row["new"]) == ("first read", None, ["bug-unconfirmed", "stale"])


def test_a_thread_that_the_copies_do_not_hold_keeps_what_was_said(morning: Morning) -> None:
    row = morning.unanswered[of(25857, "state")]
    assert (row["outcome"], row["nights"], row["value"], row["checked"]) == ("gone", 1, "open", "2026-08-31")
    assert all(key.startswith("issue.llama.cpp.25857.") for key in morning.unanswered)


def test_the_page_says_that_the_proposed_fix_is_closed(morning: Morning) -> None:
    url = f"https://github.com/{TRACKER}/pull/27207"
    assert f"pull request, open, checked [2026-08-31]({url})" in morning.page_before
    assert f"pull request, closed, checked [2026-09-22]({url})" in morning.page
    assert f"checked [2026-08-31]({url})" not in morning.page


def test_what_agreed_keeps_the_day_on_which_it_was_said(morning: Morning) -> None:
    """26609 is open still: its state does not move, and the newer comments are for people to read."""
    assert f"open, checked [2026-08-31](https://github.com/{TRACKER}/issues/26609)" in morning.page
    assert of(26609, "state") not in morning.drifts


@pytest.mark.skipif(not RECORD.exists(), reason="the record that the data was copied from is not here")
def test_the_data_is_what_the_record_has() -> None:
    record = yaml.safe_load(RECORD.read_text(encoding="utf-8"))["named_in_seeds"]
    stored = {row["number"]: row for row in record if row["stored"]}
    for number, thread in THREADS.items():
        if number not in stored:
            assert thread["now"] == {}
            continue
        row, now = stored[number], thread["now"]
        kind = row["kind"].replace(" ", "_")
        assert (now.get("kind", thread["said"]["kind"]), now["state"], now["labels"]) == (kind, row["state_stored"], row["labels_stored"])
    contradicted = {row["number"] for row in record if row["agree"] is False}
    assert contradicted == {27207, 28223}
    assert contradicted <= {int(key.split(".")[-2]) for key in DISAGREEMENTS}
