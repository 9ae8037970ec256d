"""References to files on the Hub, and the Hub's answers, played by a server on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from generator.gguf import read_header, read_sharded
from generator.sources.hub import (
    HubAmbiguous,
    HubDenied,
    HubError,
    HubNotFound,
    HubReference,
    HubUnreachable,
    InvalidReference,
    open_hub,
    open_hub_set,
    parse_reference,
)
from generator.sources.ranges import HttpRanges
from tests.gguf.raw import INT32, UINT16, File, Row, Typed
from tests.gguf.tokenizer import Tokenizer
from tests.sources.server import Answer, Request, Server, serving

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SHA256 = "ab" * 32
TOKEN = "hf_secretsecret"
FILE = HubReference("someone/model-GGUF", "model-Q4_K_M.gguf")


@pytest.fixture(autouse=True)
def hub(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Give a Hub whose files are stored on the same server, under another name of it."""
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    server.content = Tokenizer(20_000, 0).header() + bytes(256 * 400)
    server.rules.append(resolved(server))
    return server


def resolved(server: Server, size: Callable[[str], int] | None = None) -> Callable[[Request], Answer | None]:
    stored = server.address.replace("127.0.0.1", "localhost")

    def rule(request: Request) -> Answer | None:
        if "/resolve/" not in request.path:
            return None
        name = request.path.rpartition("/")[2]
        known = {"X-Repo-Commit": COMMIT, "X-Linked-Etag": f'"{SHA256}"', "X-Linked-Size": str(size(name) if size else len(server.content))}
        return Answer(302, {"Location": f"{stored}/stored/{name}?signature={TOKEN}", **known})

    return rule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf://someone/model-GGUF/model-Q4_K_M.gguf", FILE),
        ("someone/model-GGUF/model-Q4_K_M.gguf", FILE),
        ("someone/model-GGUF/model-Q4_K_M.gguf@v1.0", HubReference(FILE.repository, FILE.file, revision="v1.0")),
        (
            "hf://a/b/sub folder/x-00001-of-00002.gguf@refs/pr/3",
            HubReference("a/b", "sub folder/x-00001-of-00002.gguf", revision="refs/pr/3"),
        ),
        ("someone/model-GGUF:Q4_K_M", HubReference(FILE.repository, quant="Q4_K_M")),
        ("hf://someone/model-GGUF:UD-Q4_K_XL@" + COMMIT, HubReference(FILE.repository, quant="UD-Q4_K_XL", revision=COMMIT)),
    ],
)
def test_a_reference_names_repository_file_or_quant_and_revision(text: str, expected: HubReference) -> None:
    assert parse_reference(text) == expected
    assert parse_reference(str(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "model.gguf",
        "someone/model",
        "someone/model/weights.safetensors",
        "someone/model/../../etc/x.gguf",
        "../model/x.gguf",
        "someone//x.gguf",
        "someone/model\\x.gguf",
        "someone/model:Q4 K",
        "someone/model/x.gguf@",
        "someone/model/x.gguf@a b",
        "someone/mo\ndel/x.gguf",
        "someone/model/x\n.gguf@main\x00",
        "https://example.org/m.gguf",
    ],
)
def test_what_names_no_file_on_the_hub_is_refused_with_the_forms_that_do(text: str) -> None:
    with pytest.raises(InvalidReference, match="owner/repository") as caught:
        parse_reference(text)
    assert caught.value.exit_code == 2


def test_a_file_is_found_with_its_commit_hash_and_size_in_one_request(hub: Server) -> None:
    with open_hub(FILE) as source:
        assert (source.commit, source.sha256, source.size) == (COMMIT, SHA256, len(hub.content))
        assert source.name == "hf://someone/model-GGUF/model-Q4_K_M.gguf"
        assert [request.method for request in hub.received] == ["HEAD"]
        assert hub.received[0].path == "/someone/model-GGUF/resolve/main/model-Q4_K_M.gguf"
        assert hub.received[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_its_header_is_read_where_it_is_stored_without_the_token(hub: Server) -> None:
    with open_hub(FILE) as source:
        header = read_header(source)
    assert len(header.tensors) == 300
    stored = [request for request in hub.received if request.path.startswith("/stored/")]
    assert len(stored) == 1
    assert "authorization" not in stored[0].headers
    assert len(hub.received) == 2


def test_a_file_kept_on_the_hub_itself_is_read_with_the_token(hub: Server) -> None:
    hub.rules[:] = [
        lambda request: Answer(200, {"X-Repo-Commit": COMMIT, "ETag": '"x"'}, hub.content) if request.method == "HEAD" else None
    ]
    with open_hub(FILE) as source:
        assert source.read(0, 4) == b"GGUF"
        assert (source.sha256, source.size) == ("", len(hub.content))
    assert hub.received[-1].headers["authorization"] == f"Bearer {TOKEN}"


def test_an_expired_link_is_renewed_at_the_commit(hub: Server) -> None:
    with open_hub(FILE) as source:
        hub.rules.insert(
            0, lambda request: Answer(403) if request.path.startswith("/stored/") and hub.received[-2].method == "HEAD" else None
        )
        assert source.read(0, 4) == b"GGUF"
    assert [request.path.partition("?")[0] for request in hub.received[2:]] == [
        f"/someone/model-GGUF/resolve/{COMMIT}/model-Q4_K_M.gguf",
        "/stored/model-Q4_K_M.gguf",
    ]


def lists(hub: Server, *names: str) -> None:
    body = json.dumps({"id": FILE.repository, "siblings": [{"rfilename": name} for name in names]}).encode()
    answer = Answer(200, {"Content-Type": "application/json"}, body)
    hub.rules.append(lambda request: answer if request.path == "/api/models/someone/model-GGUF/revision/main" else None)


@pytest.mark.parametrize(
    ("quant", "expected"),
    [
        ("Q4_K_M", "model-Q4_K_M.gguf"),
        ("q4_k_m", "model-Q4_K_M.gguf"),
        ("Q4_K", "model.Q4_K.gguf"),
        ("Q8_0", "Q8_0/model-Q8_0-00001-of-00002.gguf"),
        ("BF16", "model-BF16.gguf"),
    ],
)
def test_a_quant_names_its_file(hub: Server, quant: str, expected: str) -> None:
    shards = ["Q8_0/model-Q8_0-00001-of-00002.gguf", "Q8_0/model-Q8_0-00002-of-00002.gguf"]
    lists(hub, "README.md", "model-Q4_K_M.gguf", "model.Q4_K.gguf", "model-IQ4_K_M.gguf", "mmproj-BF16.gguf", "model-BF16.gguf", *shards)
    with open_hub(HubReference(FILE.repository, quant=quant)) as source:
        assert source.reference.file == expected


def test_from_a_quant_to_its_header_takes_six_requests_and_a_mebibyte(hub: Server) -> None:
    header = Tokenizer(248_320, 247_200, first_mean=10, last_mean=10, tensors=753).header()
    hub.content = header + bytes(256 * 753)
    lists(hub, "model-Q4_K_M.gguf")
    with open_hub(HubReference(FILE.repository, quant="Q4_K_M")) as source:
        assert read_header(source).data_offset == len(header)
        assert source.fetched <= len(header) + 1024 * 1024
    assert len(hub.received) <= 6


def test_a_quant_that_is_not_there_lists_those_that_are(hub: Server) -> None:
    lists(hub, "model-Q4_K_M.gguf", "model-Q6_K.gguf")
    with pytest.raises(HubNotFound, match=r"model-Q6_K\.gguf") as caught:
        open_hub(HubReference(FILE.repository, quant="Q5_K_M"))
    assert caught.value.exit_code == 2


def test_a_quant_of_two_files_is_not_chosen_between(hub: Server) -> None:
    lists(hub, "model-Q4_K_XL.gguf", "model-UD-Q4_K_XL.gguf")
    with pytest.raises(HubAmbiguous) as caught:
        open_hub(HubReference(FILE.repository, quant="Q4_K_XL"))
    assert caught.value.files == ("model-Q4_K_XL.gguf", "model-UD-Q4_K_XL.gguf")


def test_a_sharded_set_is_opened_from_any_of_its_files(hub: Server) -> None:
    def shard(number: int) -> bytes:
        places = [("split.no", UINT16, number), ("split.count", UINT16, 2), ("split.tensors.count", INT32, 2)]
        return File([(key, Typed(kind, value)) for key, kind, value in places], [Row(f"t{number}")], data=bytes(128)).bytes()

    stored = {f"m-0000{number + 1}-of-00002.gguf": shard(number) for number in (0, 1)}

    def file(request: Request) -> Answer | None:
        hub.content = stored.get(request.path.rpartition("/")[2].partition("?")[0], b"")
        return None

    hub.rules[:] = [file, resolved(hub, lambda name: len(stored[name]))]
    hub.etag = ""
    sources = open_hub_set(HubReference("someone/model-GGUF", "m-00002-of-00002.gguf"))
    model = read_sharded(sources)
    assert [(tensor.name, tensor.shard) for tensor in model.tensors] == [("t0", 0), ("t1", 1)]
    assert {request.path.split("/")[4] for request in hub.received[1:] if request.method == "HEAD"} == {COMMIT}
    for source in sources:
        source.close()


@pytest.mark.parametrize(
    ("answer", "error", "exit_code", "advice"),
    [
        (Answer(404, {"X-Error-Code": "EntryNotFound"}), HubNotFound, 2, "/tree/main"),
        (Answer(404, {"X-Error-Code": "RevisionNotFound"}), HubNotFound, 2, "branches"),
        (Answer(404, {"X-Error-Code": "RepoNotFound"}), HubNotFound, 2, "HF_TOKEN"),
        (Answer(401, {"X-Error-Code": "RepoNotFound"}), HubNotFound, 2, "HF_TOKEN"),
        (Answer(401), HubDenied, 1, "HF_TOKEN"),
        (Answer(403, {"X-Error-Code": "GatedRepo"}), HubDenied, 1, "terms"),
        (Answer(401, {"X-Error-Message": "Invalid credentials in Authorization header"}), HubDenied, 1, "HF_TOKEN"),
        (Answer(403), HubDenied, 1, "HF_TOKEN"),
        (Answer(429), HubUnreachable, 1, "later"),
        (Answer(503), HubUnreachable, 1, "later"),
    ],
)
def test_each_refusal_of_the_hub_has_its_error_and_remedy(
    hub: Server, answer: Answer, error: type[HubError], exit_code: int, advice: str
) -> None:
    hub.rules.insert(0, lambda _: answer)
    with pytest.raises(HubError) as caught:
        open_hub(FILE)
    assert type(caught.value) is error
    assert caught.value.exit_code == exit_code
    assert caught.value.reference == FILE
    assert advice in caught.value.remedy
    assert TOKEN not in str(caught.value)


def test_no_network_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(b"") as gone:
        address = gone.address
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(HubUnreachable, match="no connection") as caught:
        open_hub(FILE)
    assert "HF_ENDPOINT" in caught.value.remedy
    with pytest.raises(HubUnreachable):
        open_hub(HubReference(FILE.repository, quant="Q4_K_M"))


def test_offline_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(HubUnreachable, match="HF_HUB_OFFLINE"):
        open_hub(FILE)


def test_a_file_on_the_hub_is_a_source_of_ranges() -> None:
    with open_hub(FILE) as source:
        assert isinstance(source, HttpRanges)
