"""Scenarios from folders, one laid over another; pages of the web; addresses of the real sites led here."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests

from tests.emulator import GITHUB_TOKEN, HUB_TOKEN, Clock, Emulator, Exchange, Page, Scenario, day
from tests.emulator.load import load_scenario

BEFORE = """
hub:
  tokens: [hf_mine]
  repositories:
    someone/model-GGUF:
      pipeline: image-text-to-text
      gated: auto
      readers: [hf_mine]
      commits:
        - date: 2026-08-20
          files:
            README.md: {text: "# Card"}
            model.gguf: {from: model.head, size: 1000000}
        - {date: 2026-08-26T09:00:00Z, title: Config, files: {config.json: {text: "{}"}}}
      tags: {v1: 1}
github:
  trackers:
    ggml-org/llama.cpp:
      branch: main
      searches: {apodex: 0}
      threads:
        7: {title: A crash, labels: [bug], comments: 3, opened: 2026-08-05, updated: 2026-08-29}
        8: {title: A fix, kind: pull_request}
      releases: [{tag: b100, published: 2026-08-01}]
      tags: {b100: {date: 2026-08-01, source: b100}}
pages:
  https://example.org/card: {text: "<p>12 GB GDDR7</p>", modified: 2026-08-01}
  https://example.org/old: {status: 301, location: "https://example.org/card"}
faults: [{kind: status, host: storage, times: 2}]
"""

AFTER = """
hub:
  moved: {someone/model-GGUF: someone/model-v2-GGUF}
  repositories:
    someone/model-v2-GGUF:
      commits: [{date: 2026-09-01, files: {model.gguf: {from: model.head, size: 1000001}, README.md: null}}]
github:
  trackers:
    ggml-org/llama.cpp:
      searches: {apodex: 2}
      threads:
        7: {state: closed, reason: completed, closed: 2026-09-01, moved_to: [ggml-org/ggml, 9]}
        9: {title: New}
      releases: [{tag: b101, published: 2026-09-01, prerelease: false}]
pages: {"https://example.org/old": null}
faults: []
"""


def folder(place: Path, text: str) -> Path:
    place.mkdir()
    (place / "scenario.yml").write_text(text, encoding="utf-8")
    (place / "model.head").write_bytes(b"GGUF head")
    (place / "b100" / "common").mkdir(parents=True)
    (place / "b100" / "common" / "common.h").write_bytes(b"int x;\n")
    return place


def test_a_folder_holds_the_state_of_all_sites(tmp_path: Path) -> None:
    scenario = load_scenario(folder(tmp_path / "before", BEFORE))
    repository = scenario.repositories["someone/model-GGUF"]
    assert (repository.pipeline, repository.gated, repository.readers, scenario.hub_tokens) == (
        "image-text-to-text",
        "auto",
        {"hf_mine"},
        {"hf_mine"},
    )
    assert [commit.title for commit in repository.commits] == ["Upload files", "Config"]
    assert repository.modified == day("2026-08-26T09:00:00Z")
    weights = repository.files["model.gguf"]
    assert (weights.content, weights.length, weights.lfs) == (b"GGUF head", 1_000_000, True)
    assert set(repository.at("v1").files if repository.at("v1") else ()) == {"README.md", "model.gguf"}  # type: ignore[union-attr]
    tracker = scenario.trackers["ggml-org/llama.cpp"]
    assert (tracker.threads[7].labels, tracker.threads[7].updated) == (["bug"], day("2026-08-29"))
    assert tracker.tags["b100"].files == {"common/common.h": b"int x;\n"}
    assert [release.tag for release in tracker.releases] == ["b100"]
    assert scenario.pages["https://example.org/card"].modified == day("2026-08-01")
    assert [fault.kind for fault in scenario.faults] == ["status"]


def test_a_night_changes_what_it_names_and_leaves_the_evening_before_alone(tmp_path: Path) -> None:
    before = load_scenario(folder(tmp_path / "before", BEFORE))
    after = load_scenario(folder(tmp_path / "after", AFTER), onto=before)
    repository = after.repositories["someone/model-v2-GGUF"]
    assert (repository.pipeline, len(repository.commits)) == ("image-text-to-text", 3)
    assert {path: file.length for path, file in repository.files.items()} == {"model.gguf": 1_000_001, "config.json": 2}
    assert after.moved_repositories == {"someone/model-GGUF": "someone/model-v2-GGUF"}
    tracker = after.trackers["ggml-org/llama.cpp"]
    crash = tracker.threads[7]
    assert (crash.title, crash.comments, crash.state, crash.closed) == ("A crash", 3, "closed", day("2026-09-01"))
    assert crash.moved_to == ("ggml-org/ggml", 9)
    assert (sorted(tracker.threads), tracker.searches, tracker.branch) == ([7, 8, 9], {"apodex": 2}, "main")
    assert sorted(tracker.tags) == ["b100", "b101"]
    assert sorted(after.pages) == ["https://example.org/card"]
    assert after.faults == []
    assert before.trackers["ggml-org/llama.cpp"].threads[7].state == "open"
    assert "someone/model-GGUF" in before.repositories


@pytest.mark.parametrize("text", ["hubs: {}", "hub: {repository: {}}", "github: {trackers: {a/b: {threads: {1: {titel: x}}}}}"])
def test_a_name_that_means_nothing_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match="has no"):
        load_scenario(folder(tmp_path / "wrong", text))


def test_pages_are_served_under_their_addresses(scenario: Scenario, emulator: Emulator, anonymous: requests.Session) -> None:
    url = "https://www.example.org/cards?model=5070"
    scenario.pages[url] = Page("<p>12 GB GDDR7</p>", modified=day("2026-08-01"))
    answer = anonymous.get(emulator.web(url))
    assert (answer.text, answer.headers["Last-Modified"]) == ("<p>12 GB GDDR7</p>", "Sat, 01 Aug 2026 00:00:00 GMT")
    assert anonymous.get(emulator.web(url), headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert anonymous.get(emulator.web("https://www.example.org/other")).status_code == 404
    scenario.pages[url] = Page("gone", status=410)
    assert anonymous.get(emulator.web(url)).status_code == 410


def test_a_session_can_be_led_here_under_the_real_addresses(scenario: Scenario, emulator: Emulator, anonymous: requests.Session) -> None:
    scenario.pages = {
        "https://www.example.org/old": Page(status=301, location="https://www.example.org/new"),
        "https://www.example.org/new": Page("here"),
    }
    scenario.tracker("ggml-org/llama.cpp").release("b1", day("2026-08-01"), files={"a.h": b"x"})
    emulator.mount(anonymous)
    answer = anonymous.get("https://www.example.org/old")
    assert (answer.text, answer.url) == ("here", "https://www.example.org/new")
    assert anonymous.get("https://api.github.com/repos/ggml-org/llama.cpp").json()["full_name"] == "ggml-org/llama.cpp"
    assert anonymous.get("https://raw.githubusercontent.com/ggml-org/llama.cpp/b1/a.h").content == b"x"
    assert anonymous.get("https://huggingface.co/api/models").json() == []
    assert [request.host for request in emulator.requests] == ["web", "web", "github", "raw", "hub"]


def test_the_sites_differ_in_their_origins(emulator: Emulator) -> None:
    addresses = [emulator.hub_endpoint, emulator.github_api, emulator.github_raw, emulator.web("https://x.org").rpartition("/")[0]]
    assert len({*addresses, emulator.hub.storage}) == 5


def test_requests_are_logged_and_the_log_can_be_begun_anew(emulator: Emulator, anonymous: requests.Session) -> None:
    headers = {"Authorization": f"Bearer {GITHUB_TOKEN}", "If-None-Match": '"x"', "User-Agent": "gen/1", "Range": "bytes=0-1"}
    anonymous.get(f"{emulator.github_api}/repos/a/b/issues/1?x=1", headers=headers)
    assert emulator.requests == [
        Exchange("github", "GET", "/repos/a/b/issues/1", "x=1", 404, True, GITHUB_TOKEN, True, "bytes=0-1", "gen/1", ""),  # noqa: FBT003
    ]
    anonymous.get(f"{emulator.hub_endpoint}/api/models", headers={"Authorization": f"Bearer {GITHUB_TOKEN}"})
    assert [(request.authorised, request.token) for request in emulator.asked("hub")] == [(False, GITHUB_TOKEN)]
    emulator.reset_log()
    assert emulator.requests == []


def test_the_environment_leads_clients_here(emulator: Emulator) -> None:
    assert emulator.environment() == {
        "HF_ENDPOINT": emulator.hub_endpoint,
        "GITHUB_API_URL": emulator.github_api,
        "HF_TOKEN": HUB_TOKEN,
        "GITHUB_TOKEN": GITHUB_TOKEN,
    }
    assert emulator.environment(tokens=False)["GITHUB_TOKEN"] == ""


def test_a_clock_goes_on_only_when_told(clock: Clock) -> None:
    assert clock.now == day("2026-09-22T03:00:00Z")
    clock.sleep(90)
    assert clock.now == day("2026-09-22T03:01:30Z")
    clock.go_to(day("2026-09-23"))
    assert clock() == day("2026-09-23").timestamp()
