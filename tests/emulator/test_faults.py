"""Each fault as real clients meet it."""

from __future__ import annotations

import json
import threading

import pytest
import requests
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from tests.emulator import HUB_TOKEN, Emulator, Fault, Scenario, Tracker, day

NAME = "ggml-org/llama.cpp"


@pytest.fixture
def tracker(scenario: Scenario) -> Tracker:
    tracker = scenario.tracker(NAME)
    tracker.thread(7, "A crash", body="word " * 1000)
    return tracker


@pytest.fixture
def url(emulator: Emulator, tracker: Tracker) -> str:
    return f"{emulator.github_api}/repos/{tracker.name}/issues/7"


@pytest.fixture
def hub(scenario: Scenario, emulator: Emulator) -> HfApi:
    scenario.repository("someone/model").commit({"README.md": "x"}, day("2026-09-01"))
    return HfApi(endpoint=emulator.hub_endpoint, token=HUB_TOKEN)


def test_some_requests_fail_and_the_others_do_not(scenario: Scenario, url: str, anonymous: requests.Session) -> None:
    scenario.faults.append(Fault("status", host="github", path="/issues/", status=502, after=1, times=2, retry_after=3))
    answers = [anonymous.get(url) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 502, 502, 200]
    assert [answer.headers.get("Retry-After") for answer in answers] == [None, "3", "3", None]
    assert anonymous.get(url.replace("/issues/7", "/releases")).status_code == 200


def test_a_night_without_the_hub_ends_with_its_fault(scenario: Scenario, emulator: Emulator, hub: HfApi, hub_pauses: list[float]) -> None:
    scenario.faults.append(Fault("status", host="hub"))
    with pytest.raises(HfHubHTTPError, match="503"):
        list(hub.list_models(search="model"))
    assert [request.status for request in emulator.requests] == [503] * 6
    assert hub_pauses == [1, 2, 4, 8, 8]
    scenario.faults.clear()
    assert [model.id for model in hub.list_models(search="model")] == ["someone/model"]


def test_the_hubs_client_gets_over_a_passing_failure(scenario: Scenario, emulator: Emulator, hub: HfApi) -> None:
    scenario.faults += [Fault("status", host="hub", times=1), Fault("hang_up", host="hub", times=1)]
    assert [entry.path for entry in hub.list_repo_tree("someone/model")] == ["README.md"]
    assert [request.status for request in emulator.requests] == [503, 0, 200]


@pytest.mark.parametrize("status", [200, 502])
def test_a_page_of_html_stands_for_json(scenario: Scenario, url: str, anonymous: requests.Session, status: int) -> None:
    scenario.faults.append(Fault("html", host="github", status=status))
    answer = anonymous.get(url)
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    with pytest.raises(requests.exceptions.JSONDecodeError):
        answer.json()


@pytest.mark.parametrize("body", ["[]", "{}", ""])
def test_an_empty_answer_is_a_success(scenario: Scenario, hub: HfApi, anonymous: requests.Session, url: str, body: str) -> None:
    scenario.faults.append(Fault("body", body=body))
    answer = anonymous.get(url)
    assert (answer.status_code, answer.text) == (200, body)
    if body == "[]":
        assert list(hub.list_repo_tree("someone/model")) == []


def test_json_ends_in_the_middle(scenario: Scenario, url: str, anonymous: requests.Session) -> None:
    scenario.faults.append(Fault("truncated", keep=100, times=1))
    answer = anonymous.get(url)
    assert (answer.status_code, answer.headers["Content-Length"], len(answer.content)) == (200, "100", 100)
    with pytest.raises(json.JSONDecodeError):
        json.loads(answer.text)
    assert anonymous.get(url).json()["number"] == 7


def test_a_slow_answer_runs_into_the_time_limit_of_the_client(scenario: Scenario, url: str, anonymous: requests.Session) -> None:
    scenario.faults += [Fault("slow", delay=60, times=1), Fault("slow", delay=60, keep=500, times=1)]
    with pytest.raises(requests.ReadTimeout):
        anonymous.get(url, timeout=0.2)
    with pytest.raises(requests.ConnectionError, match="timed out"):
        anonymous.get(url, timeout=0.2)


def test_a_slow_answer_is_whole_for_who_waits(scenario: Scenario, url: str, anonymous: requests.Session) -> None:
    scenario.faults.append(Fault("slow", delay=0.01, keep=500))
    assert anonymous.get(url).json()["body"] == "word " * 1000


def test_a_connection_ends_in_the_middle_of_a_body(scenario: Scenario, url: str, anonymous: requests.Session) -> None:
    scenario.faults.append(Fault("drop", keep=100, times=1))
    with pytest.raises(requests.exceptions.ChunkedEncodingError, match="100 bytes read"):
        anonymous.get(url)
    assert anonymous.get(url).status_code == 200


def test_a_connection_ends_without_an_answer(scenario: Scenario, emulator: Emulator, url: str, anonymous: requests.Session) -> None:
    scenario.faults.append(Fault("hang_up", times=1))
    with pytest.raises(requests.ConnectionError, match="without response"):
        anonymous.get(url)
    assert (emulator.requests[-1].status, emulator.requests[-1].fault) == (0, "hang_up")


def test_a_content_length_that_is_too_large_leaves_the_client_short(scenario: Scenario, url: str, anonymous: requests.Session) -> None:
    scenario.faults.append(Fault("length", by=7, times=1))
    with pytest.raises(requests.exceptions.ChunkedEncodingError, match="7 more expected"):
        anonymous.get(url)


def test_a_content_length_that_is_too_small_cuts_the_answer_off(scenario: Scenario, url: str, anonymous: requests.Session) -> None:
    scenario.faults.append(Fault("length", by=-7, times=1))
    answer = anonymous.get(url)
    assert (answer.status_code, answer.text[0], answer.text[-1]) == (200, "{", "n")
    with pytest.raises(requests.exceptions.JSONDecodeError):
        answer.json()
    assert anonymous.get(url).json()["number"] == 7


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_says_how_long_to_wait_and_leaves_the_budget(
    scenario: Scenario, url: str, anonymous: requests.Session, status: int
) -> None:
    scenario.faults.append(Fault("secondary", host="github", status=status, retry_after=60, times=1))
    answer = anonymous.get(url)
    assert (answer.status_code, answer.headers["Retry-After"]) == (status, "60")
    assert "secondary rate limit" in answer.json()["message"]
    assert anonymous.get(url).headers["x-ratelimit-remaining"] == "59"


def test_a_fault_meets_only_its_method_and_host(
    scenario: Scenario, emulator: Emulator, url: str, hub: HfApi, anonymous: requests.Session
) -> None:
    scenario.faults += [Fault("status", host="hub", method="HEAD"), Fault("status", host="github", method="POST")]
    assert anonymous.get(url).status_code == 200
    assert anonymous.post(f"{emulator.github_api}/graphql", json={}).status_code == 503
    assert hub.model_info("someone/model").id == "someone/model"
    assert anonymous.head(f"{emulator.hub_endpoint}/someone/model/resolve/main/README.md").status_code == 503


def test_a_fault_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no fault 'fire'"):
        Fault("fire")


def test_many_clients_at_once_each_get_their_answer_and_are_all_counted(emulator: Emulator, tracker: Tracker) -> None:
    for number in range(40):
        tracker.thread(100 + number, f"Thread {number}")
    found: dict[int, str] = {}

    def ask(number: int) -> None:
        with requests.Session() as session:
            session.trust_env = False
            found[number] = session.get(f"{emulator.github_api}/repos/{NAME}/issues/{100 + number}").json()["title"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"Thread {number}" for number in range(40)}
    assert len(emulator.requests) == 40
    assert emulator.budgets.left("github.core", "", emulator.clock()).used == 40


def test_what_the_emulator_itself_gets_wrong_is_told_when_it_ends(scenario: Scenario, anonymous: requests.Session) -> None:
    scenario.tracker(NAME).threads[7] = None  # type: ignore[assignment]  # a thread that is none
    with pytest.raises(ExceptionGroup, match="the emulator itself failed"), Emulator(scenario) as emulator:
        anonymous.get(f"{emulator.github_api}/repos/{NAME}/issues")
