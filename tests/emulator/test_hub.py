"""The Hub as its own client library sees it, and our reading of headers by ranges."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from pathlib import Path

import pytest
import requests
from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_download, hf_hub_url
from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoFile, RepoFolder
from huggingface_hub.utils._http import parse_ratelimit_headers

from generator.gguf import read_header
from generator.sources.hub import HubReference, open_hub
from tests.emulator import HUB_TOKEN, Clock, Emulator, Fault, HubFile, Limit, Repository, Scenario, day
from tests.gguf.tokenizer import Tokenizer

NAME = "someone/model-GGUF"
WEIGHTS = "model-Q4_K_M.gguf"
HEADER = Tokenizer(20_000, 0).header()
SIZE = 21_864_082_336
OTHER_TOKEN = "hf_" + "o" * 34

pytestmark = pytest.mark.usefixtures("repository")


@pytest.fixture
def repository(scenario: Scenario) -> Repository:
    repository = scenario.repository(NAME)
    repository.commit({"README.md": "# Card\n", WEIGHTS: HubFile(HEADER, SIZE, lfs=True)}, day("2026-08-20"), "First")
    repository.commit({"BF16/config.json": '{"a": 1}\n'}, day("2026-08-26T09:00:00Z"), "Configuration")
    return repository


@pytest.fixture
def hub(emulator: Emulator) -> HfApi:
    return HfApi(endpoint=emulator.hub_endpoint, token=HUB_TOKEN)


@pytest.fixture
def stranger(emulator: Emulator) -> HfApi:
    return HfApi(endpoint=emulator.hub_endpoint, token=False)


def address(emulator: Emulator, path: str, revision: str = "main", name: str = NAME) -> str:
    return hf_hub_url(name, path, revision=revision, endpoint=emulator.hub_endpoint)


def files(api: HfApi, name: str = NAME, **asked: object) -> dict[str, RepoFile]:
    tree = api.list_repo_tree(name, recursive=True, **asked)  # type: ignore[arg-type]
    return {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}


# --- trees ---------------------------------------------------------------------------------------


def test_object_ids_are_those_of_the_real_hub(hub: HfApi, repository: Repository) -> None:
    """As the Hub lists ggml-tiny.bin of ggerganov/whisper.cpp; and the blob that `git hash-object` gives for "hello"."""
    sha256 = "be07e048e1e599ad46341c8d2a135645097a538221678b7acdd1b1919c6e1b21"
    repository.commit({"ggml-tiny.bin": HubFile(size=77_691_713, lfs=True, sha256=sha256), "hello.txt": "hello\n"}, day("2026-09-01"))
    tree = files(hub)
    assert tree["ggml-tiny.bin"].blob_id == "d144f735b005ae8cbfa04a49e22fe40faa24dbec"
    assert tree["ggml-tiny.bin"].lfs == {"size": 77_691_713, "sha256": sha256, "pointer_size": 133}
    assert tree["hello.txt"].blob_id == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert tree["hello.txt"].lfs is None
    assert tree["hello.txt"].xet_hash is None


def test_a_tree_tells_sizes_hashes_and_last_commits(hub: HfApi, repository: Repository) -> None:
    tree = files(hub, expand=True)
    first, second = (commit.id for commit in repository.commits)
    assert {path: entry.size for path, entry in tree.items()} == {"README.md": 7, WEIGHTS: SIZE, "BF16/config.json": 9}
    assert re.fullmatch(r"[0-9a-f]{64}", tree[WEIGHTS].xet_hash or "")
    assert tree[WEIGHTS].xet_hash != repository.files[WEIGHTS].digest
    last = {path: entry.last_commit.oid for path, entry in tree.items() if entry.last_commit}
    assert last == {"README.md": first, WEIGHTS: first, "BF16/config.json": second}
    assert [entry.last_commit.title for entry in tree.values() if entry.last_commit] == ["Configuration", "First", "First"]
    assert files(hub)["README.md"].last_commit is None


def test_folders_are_listed_and_looked_into(hub: HfApi) -> None:
    top = list(hub.list_repo_tree(NAME))
    assert [entry.path for entry in top if isinstance(entry, RepoFolder)] == ["BF16"]
    assert [entry.path for entry in hub.list_repo_tree(NAME, "BF16")] == ["BF16/config.json"]
    with pytest.raises(EntryNotFoundError):
        list(hub.list_repo_tree(NAME, "Q8_0"))


@pytest.mark.parametrize(("expand", "count", "pages"), [(True, 50, 1), (True, 51, 2), (True, 120, 3), (False, 1000, 1), (False, 1001, 2)])
def test_a_tree_comes_in_pages(hub: HfApi, emulator: Emulator, scenario: Scenario, expand: bool, count: int, pages: int) -> None:
    names = [f"part-{number:05}.txt" for number in range(count)]
    scenario.repository("someone/many").commit(dict.fromkeys(names, "x"), day("2026-09-01"))
    assert list(files(hub, "someone/many", expand=expand)) == names
    assert len(emulator.asked("hub", "/tree/main")) == pages


def test_an_older_commit_keeps_its_tree(hub: HfApi, repository: Repository) -> None:
    first = repository.commits[0].id
    repository.tags["v1"] = first
    repository.commit({WEIGHTS: HubFile(HEADER, SIZE + 1, lfs=True), "README.md": None}, day("2026-09-01"))
    assert {path: entry.size for path, entry in files(hub).items()} == {WEIGHTS: SIZE + 1, "BF16/config.json": 9}
    for revision in (first, "v1"):
        assert {path: entry.size for path, entry in files(hub, revision=revision).items()} == {"README.md": 7, WEIGHTS: SIZE}
    with pytest.raises(RevisionNotFoundError):
        files(hub, revision="0" * 40)


def test_an_empty_repository_has_an_empty_tree_and_no_commit(hub: HfApi, scenario: Scenario) -> None:
    scenario.repository("someone/empty")
    assert files(hub, "someone/empty") == {}
    assert hub.model_info("someone/empty").sha is None


# --- what a repository says of itself ------------------------------------------------------------


def test_model_info_tells_commit_dates_tags_and_files(hub: HfApi, repository: Repository) -> None:
    repository.pipeline, repository.library, repository.card = "image-text-to-text", "gguf", {"license": "apache-2.0"}
    info = hub.model_info(NAME, files_metadata=True)
    assert (info.id, info.author, info.pipeline_tag, info.library_name) == (NAME, "someone", "image-text-to-text", "gguf")
    assert info.sha == repository.commits[-1].id
    assert info.last_modified == day("2026-08-26T09:00:00Z")
    assert (info.private, info.gated, info.disabled) == (False, False, False)
    assert "license:apache-2.0" in (info.tags or [])
    sizes = {sibling.rfilename: sibling.size for sibling in info.siblings or []}
    assert sizes == {"BF16/config.json": 9, "README.md": 7, WEIGHTS: SIZE}
    assert hub.model_info(NAME, revision=repository.commits[0].id).sha == repository.commits[0].id


def test_model_info_expands_what_is_named_and_refuses_what_is_not_known(hub: HfApi, anonymous: requests.Session) -> None:
    info = hub.model_info(NAME, expand=["sha", "gated"])
    assert (info.sha is not None, info.gated, info.siblings, info.pipeline_tag) == (True, False, None, None)
    refused = anonymous.get(f"{hub.endpoint}/api/models/{NAME}", params={"expand": "_id"})
    assert refused.status_code == 400


def test_a_search_finds_names_in_any_case_on_all_pages(hub: HfApi, emulator: Emulator, scenario: Scenario) -> None:
    for number in range(1200):
        scenario.repository(f"owner-{number % 7}/Apodex-{number}-GGUF")
    scenario.repository("owner-1/apodex-secret-GGUF").private = True
    scenario.repository("owner-1/apodex-gone-GGUF").deleted = True
    found = [model.id for model in hub.list_models(search="apodex gguf")]
    assert len(found) == len(set(found)) == 1200
    assert len(emulator.asked("hub", "/api/models")) == 2
    assert list(hub.list_models(search="nothing-like-it")) == []
    assert {model.id.partition("/")[0] for model in hub.list_models(search="apodex", author="owner-3")} == {"owner-3"}
    assert len(list(hub.list_models(search="apodex", limit=5))) == 5


def test_a_cursor_leads_through_a_list_of_any_page_size(emulator: Emulator, scenario: Scenario, anonymous: requests.Session) -> None:
    names = [f"owner/model-{number}" for number in range(7)]
    for name in names:
        scenario.repository(name)
    url, pages = f"{emulator.hub_endpoint}/api/models?search=owner&limit=3", []
    while url:
        response = anonymous.get(url)
        pages.append([row["id"] for row in response.json()])
        url = response.links.get("next", {}).get("url", "")
    assert pages == [names[:3], names[3:6], names[6:]]


# --- files ---------------------------------------------------------------------------------------


def test_metadata_of_a_large_file_is_on_the_redirect(emulator: Emulator, repository: Repository) -> None:
    found = get_hf_file_metadata(address(emulator, WEIGHTS), token=HUB_TOKEN)
    file = repository.files[WEIGHTS]
    assert (found.size, found.etag, found.commit_hash) == (SIZE, file.digest, repository.commits[-1].id)
    assert not found.location.startswith(emulator.hub_endpoint)
    assert found.xet_file_data is not None
    assert found.xet_file_data.file_hash == file.xet_hash
    assert [request.host for request in emulator.requests] == ["hub"]


def test_metadata_of_a_small_file_is_behind_a_redirect_on_the_same_host(emulator: Emulator, repository: Repository) -> None:
    found = get_hf_file_metadata(address(emulator, "README.md"), token=False)
    assert (found.size, found.commit_hash, found.xet_file_data) == (7, repository.commits[-1].id, None)
    assert found.etag == hashlib.sha1(b"blob 7\0# Card\n", usedforsecurity=False).hexdigest()
    assert [(request.method, request.status) for request in emulator.requests] == [("HEAD", 307), ("HEAD", 200)]
    assert emulator.requests[1].path.startswith(f"/api/resolve-cache/models/{NAME}/")


def test_a_small_file_is_downloaded(emulator: Emulator, repository: Repository, tmp_path: Path) -> None:
    path = hf_hub_download(NAME, "README.md", endpoint=emulator.hub_endpoint, cache_dir=tmp_path, token=False)
    assert Path(path).read_text(encoding="utf-8") == "# Card\n"
    assert repository.commits[-1].id in path


def test_a_large_file_is_downloaded_from_the_storage_without_the_token(emulator: Emulator, repository: Repository, tmp_path: Path) -> None:
    content = bytes(range(256)) * 100
    repository.commit({"small.gguf": HubFile(content, lfs=True, xet=False)}, day("2026-09-01"))
    path = hf_hub_download(NAME, "small.gguf", endpoint=emulator.hub_endpoint, cache_dir=tmp_path, token=HUB_TOKEN)
    assert Path(path).read_bytes() == content
    stored = emulator.asked("storage")
    assert stored
    assert not any(request.token for request in stored)
    assert all(request.authorised for request in emulator.asked("hub"))


def test_what_is_not_there_is_told_apart(emulator: Emulator, repository: Repository) -> None:
    with pytest.raises(RemoteEntryNotFoundError) as caught:
        get_hf_file_metadata(address(emulator, "nothing.gguf"), token=False)
    assert caught.value.response.headers["X-Repo-Commit"] == repository.commits[-1].id
    with pytest.raises(RevisionNotFoundError):
        get_hf_file_metadata(address(emulator, WEIGHTS, "b" * 40), token=False)


@pytest.mark.parametrize(
    ("asked", "status", "expected", "stated"),
    [
        ("bytes=0-99", 206, HEADER[:100], f"bytes 0-99/{SIZE}"),
        (f"bytes={SIZE - 5}-{SIZE + 50}", 206, bytes(5), f"bytes {SIZE - 5}-{SIZE - 1}/{SIZE}"),
        (f"bytes={SIZE - 7}-", 206, bytes(7), f"bytes {SIZE - 7}-{SIZE - 1}/{SIZE}"),
        ("bytes=-3", 206, bytes(3), f"bytes {SIZE - 3}-{SIZE - 1}/{SIZE}"),
        (f"bytes={SIZE}-{SIZE + 9}", 416, None, f"bytes */{SIZE}"),
    ],
)
def test_the_storage_gives_ranges(
    emulator: Emulator, anonymous: requests.Session, repository: Repository, asked: str, status: int, expected: bytes | None, stated: str
) -> None:
    response = anonymous.get(address(emulator, WEIGHTS), headers={"Range": asked})
    assert (response.status_code, response.headers["Content-Range"]) == (status, stated)
    if expected is not None:
        assert response.content == expected
        assert response.headers["ETag"] == f'"{repository.files[WEIGHTS].xet_hash}"'
    assert [step.status_code for step in response.history] == [302]


def test_a_file_without_a_range_is_sent_whole_and_zeros_follow_its_head(
    emulator: Emulator, anonymous: requests.Session, repository: Repository
) -> None:
    repository.commit({"sketch.gguf": HubFile(b"GGUF", 3_000_000, lfs=True)}, day("2026-09-01"))
    response = anonymous.get(address(emulator, "sketch.gguf"))
    assert (response.status_code, response.headers["Content-Length"]) == (200, "3000000")
    assert response.content == b"GGUF" + bytes(2_999_996)


def test_an_address_of_the_storage_is_signed_and_expires(emulator: Emulator, anonymous: requests.Session, clock: Clock) -> None:
    location = anonymous.get(address(emulator, WEIGHTS), allow_redirects=False).headers["Location"]
    part = {"Range": "bytes=0-3"}
    assert anonymous.get(location, headers=part).content == b"GGUF"
    assert anonymous.get(re.sub("Signature=..", "Signature=00", location), headers=part).status_code == 403
    clock.sleep(3601)
    assert anonymous.get(location, headers=part).status_code == 403


def test_raw_gives_the_pointer_of_a_large_file(emulator: Emulator, anonymous: requests.Session, repository: Repository) -> None:
    text = anonymous.get(f"{emulator.hub_endpoint}/{NAME}/raw/main/{WEIGHTS}").text
    assert f"oid sha256:{repository.files[WEIGHTS].digest}\nsize {SIZE}\n" in text


# --- our reading of headers ----------------------------------------------------------------------


@pytest.fixture
def ours(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> HubReference:
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("generator.sources.ranges.sleep", lambda _: None)
    return HubReference(NAME, WEIGHTS)


def test_a_header_is_read_through_the_redirect(emulator: Emulator, repository: Repository, ours: HubReference) -> None:
    with open_hub(ours) as source:
        header = read_header(source)
        assert (source.size, source.sha256, source.commit) == (SIZE, repository.files[WEIGHTS].digest, repository.commits[-1].id)
    assert len(header.tensors) == 300
    assert not any(request.token for request in emulator.asked("storage"))


def test_reading_goes_on_after_the_address_expired(clock: Clock, emulator: Emulator, ours: HubReference) -> None:
    with open_hub(ours) as source:
        assert source.read(0, 4) == b"GGUF"
        clock.sleep(7200)
        assert source.read(4, 4) == b"\3\0\0\0"
    assert [request.status for request in emulator.asked("storage")] == [206, 403, 206]


def test_a_dropped_connection_is_taken_up_again(scenario: Scenario, emulator: Emulator, ours: HubReference) -> None:
    scenario.faults.append(Fault("drop", host="storage", keep=1000, times=1))
    with open_hub(ours) as source:
        assert source.read(0, 5000) == HEADER[:5000]
    assert [request.range for request in emulator.asked("storage")] == ["bytes=0-4999", "bytes=1000-4999"]


def test_a_file_replaced_under_its_name_is_another_at_main_and_the_same_at_its_commit(
    repository: Repository, clock: Clock, ours: HubReference
) -> None:
    with open_hub(ours) as before:
        repository.commit({WEIGHTS: HubFile(b"GGUF" + bytes(60), SIZE + 1, lfs=True)}, day("2026-09-01"))
        clock.sleep(7200)
        assert before.read(0, 64) == HEADER[:64]
        with open_hub(ours) as after:
            assert (after.size, after.read(0, 64)) == (SIZE + 1, b"GGUF" + bytes(60))
            assert after.sha256 != before.sha256


# --- who may ask ---------------------------------------------------------------------------------


def hidden(scenario: Scenario, kind: str) -> str:
    if kind == "missing":
        return "someone/nothing"
    repository = scenario.repository(f"someone/{kind}")
    repository.commit({"README.md": "x"}, day("2026-09-01"))
    repository.private = kind == "private"
    repository.deleted = kind == "deleted"
    return repository.name


@pytest.mark.parametrize("kind", ["missing", "private", "deleted"])
def test_without_a_token_what_is_missing_private_or_deleted_is_the_same(
    scenario: Scenario, emulator: Emulator, stranger: HfApi, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = hidden(scenario, kind)
    with pytest.raises(HfHubHTTPError, match=r"Invalid username or password\.") as caught:
        stranger.model_info(name)
    assert caught.value.response.status_code == 401
    assert "X-Error-Code" not in caught.value.response.headers
    # The client takes this for a missing repository, but only at an https address.
    monkeypatch.setattr("huggingface_hub.utils._http.REPO_API_REGEX", re.compile(r"^http://[^/]+(/api/models/.+|/.+/resolve/.+)"))
    with pytest.raises(RepositoryNotFoundError):
        stranger.model_info(name)
    with pytest.raises(RepositoryNotFoundError):
        get_hf_file_metadata(address(emulator, "README.md", name=name), token=False)


@pytest.mark.parametrize("kind", ["missing", "private", "deleted"])
def test_with_a_token_it_is_not_found(scenario: Scenario, hub: HfApi, kind: str) -> None:
    with pytest.raises(RepositoryNotFoundError) as caught:
        hub.model_info(hidden(scenario, kind))
    assert (caught.value.response.status_code, caught.value.response.headers["X-Error-Code"]) == (404, "RepoNotFound")


def test_a_private_repository_is_open_to_its_readers(scenario: Scenario, hub: HfApi) -> None:
    name = hidden(scenario, "private")
    scenario.repositories[name].readers.add(HUB_TOKEN)
    assert hub.model_info(name).private is True
    assert name in {model.id for model in hub.list_models(search="private")}


def test_a_gate_hides_files_and_not_what_they_are(
    scenario: Scenario, emulator: Emulator, hub: HfApi, stranger: HfApi, repository: Repository
) -> None:
    repository.gated = "manual"
    for api in (hub, stranger):
        assert api.model_info(NAME).gated == "manual"
        assert files(api)[WEIGHTS].size == SIZE
    for token, status in ((False, 401), ("hf_wrong", 401), (HUB_TOKEN, 403)):
        with pytest.raises(GatedRepoError) as caught:
            get_hf_file_metadata(address(emulator, WEIGHTS), token=token)
        assert caught.value.response.status_code == status
    repository.readers.add(OTHER_TOKEN)
    scenario.hub_tokens.add(OTHER_TOKEN)
    assert get_hf_file_metadata(address(emulator, WEIGHTS), token=OTHER_TOKEN).size == SIZE


def test_a_disabled_repository_gives_no_files(emulator: Emulator, hub: HfApi, repository: Repository) -> None:
    repository.disabled = True
    assert hub.model_info(NAME).disabled is True
    with pytest.raises(DisabledRepoError):
        get_hf_file_metadata(address(emulator, WEIGHTS), token=HUB_TOKEN)


def test_a_wrong_token_is_refused(emulator: Emulator) -> None:
    with pytest.raises(HfHubHTTPError, match="Invalid credentials") as caught:
        HfApi(endpoint=emulator.hub_endpoint, token="hf_wrong").model_info(NAME)
    assert caught.value.response.status_code == 401
    assert not emulator.requests[-1].authorised


def test_a_renamed_repository_redirects_wherever_it_is_asked(scenario: Scenario, emulator: Emulator, hub: HfApi) -> None:
    identity = scenario.repositories[NAME].id
    scenario.rename_repository(NAME, "someone/model-v2-GGUF")
    assert hub.model_info(NAME).id == "someone/model-v2-GGUF"
    assert scenario.repositories["someone/model-v2-GGUF"].id == identity
    assert files(hub)[WEIGHTS].size == SIZE
    assert get_hf_file_metadata(address(emulator, WEIGHTS), token=False).size == SIZE
    assert get_hf_file_metadata(address(emulator, "README.md"), token=False).size == 7


def test_redirects_name_no_host_and_keep_the_query(scenario: Scenario, emulator: Emulator, anonymous: requests.Session) -> None:
    scenario.repository("TheBloke/Llama-2-7B-GGUF")
    response = anonymous.get(f"{emulator.hub_endpoint}/api/models/thebloke/llama-2-7b-gguf?expand[]=author", allow_redirects=False)
    assert (response.status_code, response.headers["Location"]) == (307, "/api/models/TheBloke/Llama-2-7B-GGUF?expand%5B%5D=author")


# --- limits and validators -----------------------------------------------------------------------


def test_every_answer_tells_what_is_left(emulator: Emulator, anonymous: requests.Session, clock: Clock) -> None:
    api = f"{emulator.hub_endpoint}/api/models"
    first = parse_ratelimit_headers(anonymous.get(f"{api}/{NAME}").headers)
    assert first is not None
    assert (first.resource_type, first.remaining, first.limit, first.window_seconds, first.reset_in_seconds) == ("api", 499, 500, 300, 300)
    clock.sleep(100)
    missing = parse_ratelimit_headers(anonymous.get(f"{api}/someone/nothing").headers)
    assert missing is not None
    assert (missing.remaining, missing.reset_in_seconds) == (498, 200)
    resolver = parse_ratelimit_headers(anonymous.get(address(emulator, WEIGHTS), allow_redirects=False).headers)
    assert resolver is not None
    assert (resolver.resource_type, resolver.remaining) == ("resolvers", 2999)
    assert anonymous.get(f"{emulator.hub_endpoint}/{NAME}").headers["RateLimit"] == '"pages";r=99;t=300'


def test_who_asks_too_often_waits_for_the_next_window(emulator: Emulator, hub: HfApi, clock: Clock, hub_pauses: list[float]) -> None:
    emulator.budgets.limits["hub.api"] = Limit(2, 3, 300)
    for _ in range(3):
        hub.model_info(NAME)
    clock.sleep(60)
    with pytest.raises(HfHubHTTPError, match=r"'api' rate limit.*\s*Retry after 240 seconds \(0/3 requests remaining"):
        hub.model_info(NAME)
    assert [model.id for model in hub.list_models(search="model")] == [NAME]
    assert hub_pauses == [241.0]
    assert [request.status for request in emulator.requests] == [200, 200, 200, 429, 429, 200]


def test_an_unchanged_answer_is_not_sent_again(emulator: Emulator, anonymous: requests.Session, repository: Repository) -> None:
    url = f"{emulator.hub_endpoint}/api/models/{NAME}"
    etag = anonymous.get(url).headers["ETag"]
    assert re.fullmatch(r'W/"[0-9a-f]+-[A-Za-z0-9+/]{27}"', etag)
    unchanged = anonymous.get(url, headers={"If-None-Match": etag})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    repository.commit({"x": "y"}, day("2026-09-10"))
    assert anonymous.get(url, headers={"If-None-Match": etag}).status_code == 200


def test_answers_are_compressed_for_who_takes_it(emulator: Emulator, repository: Repository, anonymous: requests.Session) -> None:
    repository.commit({"README.md": "word " * 2000}, day("2026-09-10"))
    zipped = anonymous.get(address(emulator, "README.md"), headers={"Accept-Encoding": "gzip"})
    assert (zipped.headers["Content-Encoding"], zipped.text) == ("gzip", "word " * 2000)
    assert "Content-Length" not in zipped.headers
    plain = anonymous.get(address(emulator, "README.md"), headers={"Accept-Encoding": "identity"})
    assert (plain.headers["Content-Length"], "Content-Encoding" in plain.headers) == ("10000", False)


def test_a_date_of_an_answer_is_the_clocks(emulator: Emulator, anonymous: requests.Session, clock: Clock) -> None:
    clock.go_to(day("2026-09-22T03:00:00Z") + timedelta(hours=1))
    assert anonymous.get(emulator.hub_endpoint + "/api/models").headers["Date"] == "Tue, 22 Sep 2026 04:00:00 GMT"
