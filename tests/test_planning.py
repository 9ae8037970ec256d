from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import generator
from generator.errors import InputError, MissingFileError
from generator.facts import Fact, Facts, Lock
from generator.gguf import read_header
from generator.gguf.errors import BadMagic, IncompleteSet, TensorOutsideFile
from generator.memory.plan import Plan
from generator.planning import model_of, model_of_header, model_of_lock
from generator.sources.hub import HubNotFound, InvalidReference
from tests.gguf.raw import INT32, STRING, UINT16, UINT32, File, Row, Typed
from tests.memory.models import ROOT
from tests.sources.server import Answer, Request, Server, serving

HEAD = ROOT / "tests/data/engine_truth/qwen3-8b.gguf.head"
FLAGS = "-ngl 99 -c 4096 -np 1"
TOKEN = "hf_secretsecret"


def figures(plan: Plan) -> list[tuple[int, int, int]]:
    return [(device.weights, device.kv, device.recurrent) for device in (plan.host, *plan.gpus)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file of the size the header promises, without data."""
    path = tmp_path_factory.mktemp("models") / "qwen3-8b.gguf"
    header = read_header(HEAD, whole=False)
    last = max(header.tensors, key=lambda tensor: tensor.offset)
    path.write_bytes(HEAD.read_bytes())
    os.truncate(path, header.data_offset + last.offset + last.nbytes)
    return path


def shards(folder: Path, count: int = 2) -> list[Path]:
    """Write a llama of one block as a set: the first file has embedding and head, the second the block. A set of one is cut short."""
    numbers = {"block_count": 1, "context_length": 512, "embedding_length": 64, "attention.head_count": 2, "attention.head_count_kv": 2}
    keys: list[tuple[str | bytes, Typed]] = [("general.architecture", Typed(STRING, "llama"))]
    keys += [(f"llama.{name}", Typed(UINT32, value)) for name, value in numbers.items()]
    tables = [[Row("token_embd.weight", (512,)), Row("output.weight", (256,), offset=2048)]]
    tables += [[Row(f"blk.{block}.attn_q.weight", (1024,))] for block in range(count - 1)]
    paths = []
    for number, rows in enumerate(tables):
        split: list[tuple[str | bytes, Typed]] = [("split.no", Typed(UINT16, number)), ("split.count", Typed(UINT16, count))]
        split += [("split.tensors.count", Typed(INT32, 2 + count - 1))]
        path = folder / f"small-{number + 1:05d}-of-{count:05d}.gguf"
        path.write_bytes(File([*(keys if number == 0 else []), *split], rows, data=bytes(4096)).bytes())
        paths.append(path)
    return paths


SHARDED = [(512 * 4, 0, 0), (256 * 4 + 1024 * 4, 512 * (64 + 64) * 2, 0)]
"""Of the set: embedding on the host; head, block, and the cache of 512 cells on the card."""


# --- files ----------------------------------------------------------------------------------------


def test_a_path_a_text_a_bare_header_a_header_and_a_model_give_one_plan(whole: Path) -> None:
    header = read_header(HEAD, whole=False)
    wanted = figures(generator.plan(whole, FLAGS))
    # the engine's own figures for these flags, tests/data/engine_truth/README.md: 4096 cells of 36 blocks, 8 heads of 128
    assert wanted[1][1] == 4096 * 36 * 2 * 8 * 128 * 2
    for source in (str(whole), HEAD, str(HEAD), header, model_of_header(header, "some header")):
        assert figures(generator.plan(source, FLAGS)) == wanted


def test_flags_may_be_a_list_and_may_name_their_program(whole: Path) -> None:
    assert figures(generator.plan(whole, ["-ngl", "99", "-c", "4096", "-np", "1"])) == figures(generator.plan(whole, FLAGS))
    plan = generator.plan(whole, f"./llama-cli -m other.gguf {FLAGS}", program="llama-server", gpus=2, build="b10666")
    assert (plan.program, plan.build, len(plan.gpus)) == ("llama-cli", "b10666", 2)


def test_any_file_of_a_set_stands_for_all_of_it(tmp_path: Path) -> None:
    for path in shards(tmp_path):
        assert figures(generator.plan(path, "-ngl 99 -np 1")) == SHARDED


def test_part_of_a_set_is_not_taken_for_the_model(tmp_path: Path) -> None:
    first, second = shards(tmp_path)
    second.unlink()
    with pytest.raises(IncompleteSet, match="small-00002-of-00002"):
        generator.plan(first)
    renamed = first.rename(tmp_path / "small.gguf")
    with pytest.raises(IncompleteSet):
        generator.plan(renamed)


@pytest.mark.parametrize(
    "name", ["model.gguf", "./model.gguf", "models/model.gguf", "../model.gguf", "~/model.gguf", "model", "model.gguf.head"]
)
def test_a_file_that_is_not_there_is_not_looked_for_on_the_hub(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    for source in (name, Path(name), tmp_path / name):
        with pytest.raises(MissingFileError, match="there is no such file") as raised:
            generator.plan(source)
        assert raised.value.path == str(source)
        assert "hf://" in raised.value.remedy


def test_a_path_into_a_folder_that_is_there_was_meant_as_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some/folder").mkdir(parents=True)
    with pytest.raises(MissingFileError):
        generator.plan("some/folder/model.gguf")


def test_a_path_object_is_never_a_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingFileError):
        generator.plan(Path("someone/model-GGUF/model.gguf"))


def test_a_directory_is_said_to_be_one(tmp_path: Path) -> None:
    for source in (tmp_path, str(tmp_path)):
        with pytest.raises(MissingFileError, match="this is a directory"):
            generator.plan(source)


def test_what_is_no_gguf_file_is_said_to_be_none(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("# Notes\n")
    with pytest.raises(BadMagic, match=r"notes\.txt"):
        generator.plan(text)


def test_a_file_that_ends_before_its_data_does_is_refused_unless_it_is_called_a_head(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(HEAD.read_bytes())
    with pytest.raises(TensorOutsideFile):
        generator.plan(cut)
    assert cut.rename(tmp_path / "cut.gguf.head").stat().st_size == HEAD.stat().st_size
    assert generator.plan(tmp_path / "cut.gguf.head", FLAGS).gpus[0].weights > 0


@pytest.mark.parametrize("source", ["a" * 10_000, "a/b/" + "c" * 10_000, "nul\0byte", ""])
def test_a_text_that_can_be_no_path_is_an_error_of_ours(source: str) -> None:
    with pytest.raises(InputError):
        generator.plan(source)


# --- the Hub --------------------------------------------------------------------------------------


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Give a Hub that has a small model in one file, and as a set of two."""
    files = {path.name: path.read_bytes() for path in shards(tmp_path)}
    files["head.gguf"] = shards(tmp_path, 1)[0].read_bytes()
    with serving(b"") as server:

        def rule(request: Request) -> Answer | None:
            name = request.path.rpartition("/")[2].partition("?")[0]
            if name not in files:
                return Answer(404, {"X-Error-Code": "EntryNotFound"})
            server.content = files[name]
            if "/resolve/" not in request.path:
                return None
            known = {"X-Repo-Commit": "0" * 40, "X-Linked-Etag": '"' + "ab" * 32 + '"', "X-Linked-Size": str(len(files[name]))}
            return Answer(302, {"Location": f"{server.address.replace('127.0.0.1', 'localhost')}/stored/{name}?s={TOKEN}", **known})

        server.rules.append(rule)
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        yield server


@pytest.mark.parametrize("reference", ["hf://someone/small-GGUF/", "someone/small-GGUF/"])
def test_a_reference_to_a_set_on_the_hub_stands_for_all_of_it(reference: str, hub: Server) -> None:
    for name in ("small-00001-of-00002.gguf", "small-00002-of-00002.gguf"):
        plan = generator.plan(f"{reference}{name}", "-ngl 99 -np 1")
        assert figures(plan) == SHARDED
        assert plan.model.tensors_fact.source.title == f"hf://someone/small-GGUF/{name}"  # type: ignore[attr-defined]
    assert {request.method for request in hub.received} == {"HEAD", "GET"}


def test_a_reference_to_one_file_is_read_from_there(hub: Server) -> None:
    plan = generator.plan("hf://someone/small-GGUF/head.gguf", "-ngl 99 -np 1")
    assert plan.host.weights == 512 * 4
    assert len(hub.received) == 2


def test_what_the_hub_has_not_is_said_so_without_the_token(hub: Server) -> None:
    with pytest.raises(HubNotFound) as raised:
        generator.plan("hf://someone/small-GGUF/other.gguf")
    assert TOKEN not in json.dumps(raised.value.as_dict())
    assert hub.received


@pytest.mark.parametrize("source", ["hf://someone", "someone/model", "https://example.org/a.gguf", "someone/model/weights.safetensors"])
def test_what_names_neither_a_file_nor_a_place_on_the_hub_is_refused(source: str) -> None:
    with pytest.raises(InvalidReference, match="names no GGUF file"):
        generator.plan(source)


# --- locks ----------------------------------------------------------------------------------------


def test_a_lock_gives_the_model_whose_header_it_holds() -> None:
    lock = Lock.read(ROOT / "recipes/models/apodex-mini/model.lock.json")
    model = model_of_lock(lock, "Q4_K_M")
    assert int(model.size_of(model.tensors, "all")) == 21_853_090_304
    assert model_of_lock(lock, "q4_k_m").architecture == "qwen35moe"
    assert model.tensors_fact is lock.facts["header.q4_k_m.tensors"]


def test_a_quant_without_a_header_is_refused_with_the_command_that_reads_one() -> None:
    lock = Lock("some-model", Facts([Fact("file.q8_0.size", 1, "B")]))
    with pytest.raises(InputError, match="the lock has no header of 'Q8_0'") as raised:
        model_of_lock(lock, "Q8_0")
    assert raised.value.remedy == "run `gen lock some-model --header Q8_0=FILE`"
    assert raised.value.where == "recipes/models/some-model/model.lock.json"


def test_facts_of_a_header_say_what_was_read_and_leave_long_arrays_out(whole: Path) -> None:
    model = model_of(whole)
    facts = model.metadata_fact, model.tensors_fact
    assert [fact.origin for fact in facts] == ["header", "header"]
    assert str(whole) in str(facts[0])
    assert json.dumps(model.metadata)
