"""GitHub's REST API, raw files and search, asked by `requests` and by our own sources."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
import requests

from tests.emulator import GITHUB_TOKEN, Clock, Emulator, Limit, Scenario, Tag, Tracker, day

NAME = "ggml-org/llama.cpp"
SOURCE = b"// one\nint fit_params_target = 1024;\n"


@pytest.fixture
def tracker(scenario: Scenario) -> Tracker:
    tracker = scenario.tracker(NAME)
    tracker.thread(7, "A crash", labels=["bug", "stale"], comments=3, opened=day("2026-08-05"), updated=day("2026-08-29T12:00:00Z"))
    tracker.thread(8, "A fix", kind="pull_request", opened=day("2026-08-06"))
    return tracker


@pytest.fixture
def api(emulator: Emulator, tracker: Tracker) -> str:
    return f"{emulator.github_api}/repos/{tracker.name}"


# --- threads -------------------------------------------------------------------------------------


def test_an_issue_has_the_fields_of_the_real_one(api: str, anonymous: requests.Session) -> None:
    row = anonymous.get(f"{api}/issues/7").json()
    expected = {
        "number": 7,
        "title": "A crash",
        "state": "open",
        "state_reason": None,
        "comments": 3,
        "created_at": "2026-08-05T00:00:00Z",
        "updated_at": "2026-08-29T12:00:00Z",
        "closed_at": None,
        "html_url": "https://github.com/ggml-org/llama.cpp/issues/7",
        "repository_url": api,
    }
    assert expected.items() <= row.items()
    assert [label["name"] for label in row["labels"]] == ["bug", "stale"]
    assert "pull_request" not in row


def test_what_became_of_a_thread_is_told_as_github_tells_it(api: str, anonymous: requests.Session, tracker: Tracker) -> None:
    when = day("2026-09-01T10:00:00Z")
    issue, pull = tracker.threads[7], tracker.threads[8]
    changes: list[tuple[str, int, Callable[[], None]]] = [
        ("completed", 7, lambda: issue.close(when)),
        ("reopened", 7, lambda: issue.reopen(when)),
        ("not planned", 7, lambda: issue.close(when, "not_planned")),
        ("closed unmerged", 8, lambda: pull.close(when)),
        ("merged", 8, lambda: pull.merge(when)),
    ]
    told = {}
    for name, number, change in changes:
        change()
        row = anonymous.get(f"{api}/issues/{number}").json()
        told[name] = (row["state"], row["state_reason"], row["closed_at"], row.get("pull_request", {}).get("merged_at"))
    stamp = "2026-09-01T10:00:00Z"
    assert told == {
        "completed": ("closed", "completed", stamp, None),
        "reopened": ("open", "reopened", None, None),
        "not planned": ("closed", "not_planned", stamp, None),
        "closed unmerged": ("closed", None, stamp, None),
        "merged": ("closed", None, stamp, stamp),
    }
    assert anonymous.get(f"{api}/pulls/8").json()["merged"] is True
    assert anonymous.get(f"{api}/pulls/7").status_code == 404


def test_a_transferred_issue_redirects_by_the_id_of_its_new_repository(
    scenario: Scenario, emulator: Emulator, api: str, anonymous: requests.Session
) -> None:
    scenario.transfer((NAME, 7), ("ggml-org/ggml", 901), day("2026-09-02"))
    response = anonymous.get(f"{api}/issues/7", allow_redirects=False)
    place = f"{emulator.github_api}/repositories/{scenario.trackers['ggml-org/ggml'].id}/issues/901"
    assert (response.status_code, response.headers["Location"], response.json()["url"]) == (301, place, place)
    followed = anonymous.get(f"{api}/issues/7").json()
    assert (followed["number"], followed["html_url"]) == (901, "https://github.com/ggml-org/ggml/issues/901")
    assert followed["title"] == "A crash"


def test_a_deleted_issue_is_gone_and_one_that_never_was_is_not_found(api: str, anonymous: requests.Session, tracker: Tracker) -> None:
    tracker.threads[7].deleted = True
    gone, missing = anonymous.get(f"{api}/issues/7"), anonymous.get(f"{api}/issues/999")
    assert (gone.status_code, gone.json()["message"]) == (410, "This issue was deleted")
    assert (missing.status_code, missing.json()["message"]) == (404, "Not Found")


def test_a_renamed_repository_redirects(scenario: Scenario, emulator: Emulator, api: str, anonymous: requests.Session) -> None:
    number = scenario.trackers[NAME].id
    scenario.rename_tracker(NAME, "ggml/llama.cpp")
    response = anonymous.get(f"{api}/releases?per_page=5", allow_redirects=False)
    assert (response.status_code, response.headers["Location"]) == (301, f"{emulator.github_api}/repositories/{number}/releases?per_page=5")
    assert anonymous.get(api).json()["full_name"] == "ggml/llama.cpp"


def test_threads_are_listed_by_state_label_and_last_update(api: str, anonymous: requests.Session, tracker: Tracker) -> None:
    tracker.thread(
        9, "Old", state="closed", reason="completed", opened=day("2026-01-01"), updated=day("2026-02-01"), closed=day("2026-02-01")
    )

    def numbers(query: str) -> list[int]:
        return [row["number"] for row in anonymous.get(f"{api}/issues?{query}").json()]

    assert numbers("") == [8, 7]
    assert numbers("state=all&sort=updated") == [7, 9, 8]
    assert numbers("state=closed") == [9]
    assert numbers("state=all&since=2026-08-01T00:00:00Z") == [7]
    assert numbers("labels=stale") == [7]


# --- conditional requests ------------------------------------------------------------------------


def remaining(response: requests.Response) -> int:
    return int(response.headers["x-ratelimit-remaining"])


def test_an_unchanged_thread_costs_nothing_with_a_token(api: str, known: requests.Session, tracker: Tracker) -> None:
    first = known.get(f"{api}/issues/7")
    assert remaining(first) == 4999
    for validator in ({"If-None-Match": first.headers["ETag"]}, {"If-Modified-Since": first.headers["Last-Modified"]}):
        again = known.get(f"{api}/issues/7", headers=validator)
        assert (again.status_code, again.content, remaining(again)) == (304, b"", 4999)
    tracker.threads[7].comment(day("2026-09-03"))
    changed = known.get(f"{api}/issues/7", headers={"If-None-Match": first.headers["ETag"]})
    assert (changed.status_code, changed.json()["comments"], remaining(changed)) == (200, 4, 4998)


def test_an_unchanged_thread_costs_as_much_as_any_without_a_token(api: str, emulator: Emulator, anonymous: requests.Session) -> None:
    first = anonymous.get(f"{api}/issues/7")
    validator = {"If-None-Match": first.headers["ETag"]}
    second = anonymous.get(f"{api}/issues/7", headers=validator)
    assert (remaining(first), second.status_code, remaining(second)) == (59, 304, 58)
    emulator.github.free_304 = True
    assert remaining(anonymous.get(f"{api}/issues/7", headers=validator)) == 58


def test_an_etag_holds_for_one_token(api: str, anonymous: requests.Session) -> None:
    etag = anonymous.get(f"{api}/issues/7").headers["ETag"]
    assert etag.startswith('W/"')
    as_known = {"If-None-Match": etag, "Authorization": f"token {GITHUB_TOKEN}"}
    assert anonymous.get(f"{api}/issues/7", headers=as_known).status_code == 200


# --- limits --------------------------------------------------------------------------------------


def test_every_answer_tells_the_budget_and_a_spent_one_is_refused_until_its_reset(
    api: str, emulator: Emulator, anonymous: requests.Session, clock: Clock
) -> None:
    emulator.budgets.limits["github.core"] = Limit(2, 5000, 3600)
    answers = [anonymous.get(f"{api}/issues/{number}") for number in (7, 999, 8)]
    assert [(answer.status_code, remaining(answer)) for answer in answers] == [(200, 1), (404, 0), (403, 0)]
    headers = answers[2].headers
    assert {name: headers[f"x-ratelimit-{name}"] for name in ("limit", "used", "resource")} == {
        "limit": "2",
        "used": "2",
        "resource": "core",
    }
    assert int(headers["x-ratelimit-reset"]) == clock() + 3600
    assert answers[2].json()["message"].startswith("API rate limit exceeded for 127.0.0.1.")
    assert anonymous.get(f"{api}/issues/8", headers={"Authorization": f"Bearer {GITHUB_TOKEN}"}).status_code == 200
    clock.sleep(3600)
    assert anonymous.get(f"{api}/issues/8").status_code == 200


def test_a_budget_can_be_left_to_run_out_midway(api: str, emulator: Emulator, known: requests.Session, clock: Clock) -> None:
    emulator.budgets.leave("github.core", 1, token=GITHUB_TOKEN, now=clock())
    assert [known.get(f"{api}/issues/7").status_code for _ in range(3)] == [200, 403, 403]
    emulator.budgets.refill()
    assert known.get(f"{api}/issues/7").status_code == 200


def test_asking_for_the_limits_is_free(emulator: Emulator, anonymous: requests.Session) -> None:
    for _ in range(3):
        limits = anonymous.get(f"{emulator.github_api}/rate_limit").json()
    assert {name: row["remaining"] for name, row in limits["resources"].items()} == {"core": 60, "search": 10, "graphql": 0}
    assert limits["rate"]["limit"] == 60


def test_a_wrong_token_and_a_nameless_client_are_refused(api: str, anonymous: requests.Session) -> None:
    wrong = anonymous.get(f"{api}/issues/7", headers={"Authorization": "Bearer ghp_wrong"})
    assert (wrong.status_code, wrong.json()["message"]) == (401, "Bad credentials")
    nameless = anonymous.get(f"{api}/issues/7", headers={"User-Agent": ""})
    assert (nameless.status_code, "User-Agent" in nameless.text) == (403, True)


# --- releases, tags, files -----------------------------------------------------------------------


def test_releases_come_newest_first_in_pages_and_the_latest_is_no_prerelease(
    api: str, anonymous: requests.Session, tracker: Tracker
) -> None:
    for number in range(75):
        tracker.release(f"b{10600 + number}", day(f"2026-08-{1 + number // 3:02}T{number % 3:02}:00:00Z"))
    tracker.release("v0.3.0", day("2026-07-02"), prerelease=False)
    tags, url, pages = [], f"{api}/releases?per_page=30", 0
    while url:
        response = anonymous.get(url)
        tags += [row["tag_name"] for row in response.json()]
        url, pages = response.links.get("next", {}).get("url", ""), pages + 1
    assert (pages, len(tags), tags[0], tags[-2:]) == (3, 76, "b10674", ["b10600", "v0.3.0"])
    first = anonymous.get(f"{api}/releases?per_page=30")
    links = [anonymous.get(f"{api}/releases?per_page=30&page={page}").links for page in (1, 2, 3)]
    assert [sorted(each) for each in links] == [["last", "next"], ["first", "last", "next", "prev"], ["first", "prev"]]
    assert links[0]["last"]["url"].endswith("page=3")
    assert (first.json()[0]["prerelease"], first.json()[0]["published_at"]) == (True, "2026-08-25T02:00:00Z")
    assert anonymous.get(f"{api}/releases/latest").json()["tag_name"] == "v0.3.0"
    assert anonymous.get(f"{api}/releases/tags/b10610").json()["tag_name"] == "b10610"


def test_there_is_no_latest_release_where_all_are_prereleases(api: str, anonymous: requests.Session, tracker: Tracker) -> None:
    tracker.release("b1", day("2026-08-01"))
    assert anonymous.get(f"{api}/releases/latest").status_code == 404


def test_a_tag_names_its_commit_directly_or_by_an_object(api: str, anonymous: requests.Session, tracker: Tracker) -> None:
    tracker.tags = {"b1": Tag("b1"), "v1": Tag("v1", annotated=True, message="First")}
    light = anonymous.get(f"{api}/git/ref/tags/b1").json()
    assert (light["ref"], light["object"]["type"], light["object"]["sha"]) == ("refs/tags/b1", "commit", tracker.tags["b1"].commit)
    annotated = anonymous.get(f"{api}/git/ref/tags/v1").json()["object"]
    assert (annotated["type"], annotated["sha"] == tracker.tags["v1"].commit) == ("tag", False)
    target = anonymous.get(annotated["url"]).json()["object"]
    assert (target["type"], target["sha"]) == ("commit", tracker.tags["v1"].commit)
    assert anonymous.get(f"{api}/commits/v1").json()["sha"] == tracker.tags["v1"].commit
    assert anonymous.get(f"{api}/commits/v1", headers={"Accept": "application/vnd.github.sha"}).text == tracker.tags["v1"].commit
    assert anonymous.get(f"{api}/git/ref/tags/b2").status_code == 404
    assert anonymous.get(f"{api}/commits/b2").status_code == 422


def test_a_file_at_a_tag_comes_raw_or_in_base64(
    emulator: Emulator, api: str, known: requests.Session, anonymous: requests.Session, tracker: Tracker
) -> None:
    tracker.release("b1", day("2026-08-01"), files={"common/common.h": SOURCE})
    tracker.release("b2", day("2026-08-02"), files={"common/common.h": b"// moved\n" + SOURCE})
    raw = known.get(f"{api}/contents/common/common.h?ref=b1", headers={"Accept": "application/vnd.github.raw+json"})
    assert (raw.content, raw.headers["Content-Type"]) == (SOURCE, "application/vnd.github.raw+json; charset=utf-8")
    row = known.get(f"{api}/contents/common/common.h?ref=b1").json()
    assert (base64.b64decode(row["content"]), row["encoding"], row["size"]) == (SOURCE, "base64", len(SOURCE))
    assert known.get(f"{api}/contents/common/common.h", headers={"Accept": "application/vnd.github.raw+json"}).content != SOURCE
    assert [row["path"] for row in known.get(f"{api}/contents/common?ref=b1").json()] == ["common/common.h"]
    assert known.get(f"{api}/contents/common/nothing.h?ref=b1").status_code == 404
    assert known.get(f"{api}/contents/common/common.h?ref=b9").json()["message"] == "No commit found for the ref b9"
    for ref in ("b1", "refs/tags/b1", tracker.tags["b1"].commit):
        assert anonymous.get(f"{emulator.github_raw}/{NAME}/{ref}/common/common.h").content == SOURCE
    assert anonymous.get(f"{emulator.github_raw}/{NAME}/b1/nothing.h").text == "404: Not Found"


# --- search --------------------------------------------------------------------------------------


def test_a_search_counts_threads(emulator: Emulator, known: requests.Session, tracker: Tracker) -> None:
    tracker.thread(10, "A crash of qwen35moe", body="deep in the kernel")
    tracker.searches["apodex"] = 273

    def count(query: str) -> int:
        return int(known.get(f"{emulator.github_api}/search/issues", params={"q": query}).json()["total_count"])

    assert count(f"repo:{NAME} crash") == 2
    assert count(f"repo:{NAME} crash is:issue label:stale") == 1
    assert count(f'repo:{NAME} "crash of"') == 1
    assert count(f"repo:{NAME} is:pr") == 1
    assert count(f"repo:{NAME} kernel in:title") == 0
    assert count(f"repo:{NAME} kernel") == 1
    assert count(f"repo:{NAME} Apodex") == 273
    assert known.get(f"{emulator.github_api}/search/issues", params={"q": "repo:no/thing crash"}).status_code == 422


def test_search_has_a_budget_of_a_minute_of_its_own(api: str, emulator: Emulator, anonymous: requests.Session, clock: Clock) -> None:
    url = f"{emulator.github_api}/search/issues?q=crash"
    answers = [anonymous.get(url) for _ in range(11)]
    assert [answer.status_code for answer in answers] == [200] * 10 + [403]
    assert answers[-1].headers["x-ratelimit-resource"] == "search"
    assert anonymous.get(f"{api}/issues/7").status_code == 200
    clock.sleep(60)
    assert anonymous.get(url).status_code == 200
