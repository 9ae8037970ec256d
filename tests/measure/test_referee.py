"""The referee against recorded answers of a real engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from generator.catalog import Catalog
from generator.errors import InputError, MissingFileError
from generator.facts import Lock
from generator.measure.engine import Engine, Version, find_engine
from generator.measure.errors import EngineError, EngineNotFound
from generator.measure.fit_output import NoAnswer, Reading, readings_of
from generator.measure.heads import head_of_file, head_of_lock, sparse_files
from generator.measure.printed import Printed
from generator.measure.referee import Check, Verdict, compute_excess, facts_of, measure, write_lock
from generator.measure.rungs import rung_of, rungs_of
from generator.planning import model_of
from tests.measure.conftest import DATA, FakeEngine

PAIR = ("apodex-mini", "rtx-5070")
TODAY = date(2026, 11, 30)
ANSWERS = json.loads((DATA / "apodex-mini.json").read_text(encoding="utf-8"))["answers"]


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


# --- finding one ---------------------------------------------------------------------------------


def test_an_engine_is_found_by_its_folder_its_program_or_on_the_path(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    program = engine.folder / "llama-fit-params"
    monkeypatch.setenv("PATH", str(engine.folder), prepend=os.pathsep)
    assert {find_engine(given, "b1").fit_params for given in (str(engine.folder), str(program), None)} == {program}


def test_without_an_engine_the_error_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "other").write_text("")
    for given in (None, str(tmp_path), str(tmp_path / "nowhere"), str(tmp_path / "other")):
        with pytest.raises(EngineNotFound) as caught:
            find_engine(given, "b10666")
        assert caught.value.exit_code == 2
        assert "releases/tag/b10666" in caught.value.remedy and "cmake" in caught.value.remedy


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("version: 0.5.0-dev (build 1, commit 0c1e570)\nbuilt with GNU", "v0.5.0-dev"),
        ("version: 6699 (c08002a1)\nbuilt with cc", "b6699"),
    ],
)
def test_its_build_is_what_it_prints(engine: FakeEngine, said: str, name: str) -> None:
    engine.record["version"]["stderr"] = said
    engine.save()
    found = find_engine(str(engine.folder), "b1").version()
    assert (found.name, found.text) == (name, said.splitlines()[0].removeprefix("version: "))


@pytest.mark.parametrize(
    ("name", "rules"), [("b6699", "b6699"), ("v0.5.0-dev", "v0.5.0"), ("v0.5.0", "v0.5.0"), ("v0.5", None), ("v1c08002", None)]
)
def test_its_rules_are_those_of_the_build_it_was_made_from(name: str, rules: str | None) -> None:
    assert Version(name, name).rules == rules


def test_a_program_that_does_not_say_its_version_is_an_error(engine: FakeEngine) -> None:
    engine.record["version"]["stderr"] = "\x1b[31mHello\n"
    engine.save()
    with pytest.raises(EngineError, match="does not say its version") as caught:
        find_engine(str(engine.folder), "b1").version()
    assert "\x1b" not in str(caught.value)


# --- asking --------------------------------------------------------------------------------------


def test_every_rung_of_the_recipe_agrees_with_the_recorded_engine(answered: tuple[FakeEngine, Catalog, Verdict]) -> None:
    _, _, verdict = answered
    assert [answer.rung.key for answer in verdict.answers][:3] == ["20@32768.q8_0/q8_0", "20@32768.q8_0/f16", "20@32768.f16/f16"]
    assert len(verdict.answers) == len(ANSWERS) == 7 * 3 + 2
    assert (verdict.differing, verdict.exit_code) == ([], 0)
    assert (verdict.device, verdict.posed, verdict.version.name, verdict.pinned) == ("RPC0", True, "v0.5.0-dev", "b10666")
    assert all(check.outside == 0 for check in verdict.checks), "compute too, to the whole MiB"


def test_each_question_is_a_flag_line_that_the_real_engine_was_asked(answered: tuple[FakeEngine, Catalog, Verdict]) -> None:
    _, catalog, _ = answered
    assert [" ".join(rung.flags) for rung in rungs_of(catalog.recipe(*PAIR))] == list(ANSWERS)


def test_what_does_not_agree_is_told_and_is_exit_code_3(catalog: Catalog, engine: FakeEngine) -> None:
    engine.mode("more")
    verdict = measure(catalog, *PAIR, find_engine(str(engine.folder), "b10666"))
    assert verdict.exit_code == 3
    assert {(check.rung, check.device, check.term) for check in verdict.differing} == {("26@65536.q8_0/q8_0", "gpu0", "weights")}
    [check] = verdict.differing
    assert check.outside == check.ours - 8091 * 2**20 < 0


def test_flags_in_the_environment_do_not_reach_the_engine(catalog: Catalog, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "1")
    measure(catalog, *PAIR, find_engine(str(engine.folder), "b10666"))
    assert {tuple(environment) for _, environment in engine.calls} == {()}


def test_an_engine_with_a_card_of_its_own_needs_no_server(catalog: Catalog, engine: FakeEngine) -> None:
    engine.has_card()
    verdict = measure(catalog, *PAIR, find_engine(str(engine.folder), "b10666"))
    assert (verdict.device, verdict.posed, engine.servers) == ("CUDA0", False, [])
    asked = [words for words, _ in engine.calls if "-fitp" in words]
    assert all(words[words.index("-dev") + 1] == "CUDA0" for words in asked)


def test_the_server_that_posed_and_the_file_are_gone_afterwards(answered: tuple[FakeEngine, Catalog, Verdict]) -> None:
    engine, _, _ = answered
    assert len(engine.servers) == 1 and not any(map(alive, engine.servers))
    files = {words[words.index("-m") + 1] for words, _ in engine.calls if "-m" in words}
    assert len(files) == 1 and not any(Path(file).parent.exists() for file in files)


@pytest.mark.parametrize(
    ("mode", "words"), [("garbage", "cannot be read"), ("crash", "code 134; it says: ggml_abort"), ("slow", "no answer within")]
)
def test_an_engine_that_fails_is_an_error_and_leaves_nothing_behind(catalog: Catalog, engine: FakeEngine, mode: str, words: str) -> None:
    engine.mode(mode)
    patience = 3.0 if mode == "slow" else 60.0
    with pytest.raises(EngineError, match=words) as caught:
        measure(catalog, *PAIR, find_engine(str(engine.folder), "b10666", patience=patience))
    assert caught.value.exit_code == 1
    assert len(engine.servers) == 1 and not any(map(alive, engine.servers))
    assert not catalog.measured_path(*PAIR).exists()


def test_without_a_device_and_without_the_server_the_error_says_how_to_get_it(catalog: Catalog, engine: FakeEngine) -> None:
    (engine.folder / "ggml-rpc-server").unlink()
    with pytest.raises(EngineNotFound, match="ggml-rpc-server"):
        measure(catalog, *PAIR, find_engine(str(engine.folder), "b10666"))


def test_a_server_that_never_serves_is_an_error(catalog: Catalog, engine: FakeEngine) -> None:
    (engine.folder / "ggml-rpc-server").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    with pytest.raises(EngineError, match="serves at none"):
        measure(catalog, *PAIR, find_engine(str(engine.folder), "b10666"))


def test_a_program_that_cannot_be_run_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "llama-fit-params"
    program.write_bytes(b"\x7fELF not for this machine")
    program.chmod(0o755)
    with pytest.raises(EngineError, match="cannot be run"):
        Engine(program).version()


def program(folder: Path, script: str) -> Engine:
    path = folder / "llama-fit-params"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return Engine(path, patience=0.5)


def test_what_a_program_started_ends_with_it_when_it_takes_too_long(tmp_path: Path) -> None:
    engine = program(tmp_path, f"(sleep 1; touch {tmp_path}/outlived) &\nwait")
    with pytest.raises(EngineError, match=r"no answer within 0\.5 seconds"):
        engine.version()
    time.sleep(1)
    assert not (tmp_path / "outlived").exists()


def test_a_program_that_does_not_stop_talking_is_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.measure.engine.MOST_SAID", 2**20)
    with pytest.raises(EngineError, match="it says more than 1 MiB, which is no answer"):
        replace(program(tmp_path, "exec yes"), patience=30).version()


def test_an_error_shows_a_command_that_can_be_tried(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        program(tmp_path, "exit 3").ask(Path("/gone/model.gguf"), ["-c", "8"])
    assert caught.value.remedy == f"try it by hand: {tmp_path}/llama-fit-params -m model.gguf -fitp on -c 8"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_killed_midway_it_writes_no_lock_and_ends_its_server(root: Path, engine: FakeEngine, number: signal.Signals) -> None:
    engine.mode("wait")
    as_in_a_terminal = ["env", f"--default-signal={number.name.removeprefix('SIG')}"]  # a job in the background ignores Ctrl-C
    command = [*as_in_a_terminal, sys.executable, "-m", "generator.cli", "measure", *PAIR, "--engine", str(engine.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        waiting = engine.folder / "waiting"
        while not waiting.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, ""), err
    assert "interrupted" in err
    assert len(engine.servers) == 1 and not any(map(alive, engine.servers))
    assert not list(root.rglob("*.measure.lock.json*"))
    files = {words[words.index("-m") + 1] for words, _ in engine.calls if "-m" in words}
    assert not any(Path(file).parent.exists() for file in files)


# --- the lock ------------------------------------------------------------------------------------


def test_the_lock_has_what_was_printed_with_build_and_day(catalog: Catalog, answered: tuple[FakeEngine, Catalog, Verdict]) -> None:
    _, _, verdict = answered
    path, changed = write_lock(catalog, verdict, TODAY)
    assert (path.name, changed) == ("rtx-5070.measure.lock.json", True)
    facts = Lock.read(path).facts
    assert facts["measured.build"].value == "v0.5.0-dev"
    assert ["26@65536.q8_0/q8_0", "gpu0", 8089, 742, 497] in facts["measured.ladder"].value  # type: ignore[operator]
    assert "vocabulary of the right length made up" in str(facts["measured.header"].value)
    assert {fact.checked for fact in facts} == {TODAY} and {fact.origin for fact in facts} == {"measured"}
    assert '"written_by": "gen measure;' in path.read_text(encoding="utf-8")


def test_the_same_answers_are_the_same_bytes(catalog: Catalog, engine: FakeEngine) -> None:
    texts = set()
    for _ in range(2):
        verdict = measure(catalog, *PAIR, find_engine(str(engine.folder), "b10666"))
        path, _ = write_lock(catalog, verdict, TODAY)
        texts.add(path.read_bytes())
    assert len(texts) == 1
    assert write_lock(catalog, verdict, TODAY)[1] is False


def test_what_compute_buffers_take_beyond_ours_is_kept(answered: tuple[FakeEngine, Catalog, Verdict]) -> None:
    _, _, verdict = answered
    [excess] = [fact for fact in facts_of(verdict, TODAY) if fact.key == "measured.compute_excess"]
    assert (excess.value, excess.unit) == (0, "B")  # the engine's figures are ours, to the MiB

    def check(term: str, device: str, printed: str, ours: int) -> Check:
        return Check("1@4096.f16/f16", device, term, Printed.cut(printed), ours)

    # 520 MiB printed where we say 500 MiB and a byte: at the least 20 MiB less a byte are missing; the host and weights are no matter
    near, far = check("compute", "gpu0", "501", 500 * 2**20 + 1), check("compute", "gpu0", "520", 500 * 2**20 + 1)
    others = [check("compute", "host", "900", 0), check("weights", "gpu0", "900", 0)]
    assert compute_excess([near, far, *others]) == 20 * 2**20 - 1
    assert compute_excess([check("compute", "gpu0", "400", 500 * 2**20), *others]) == 0
    assert compute_excess([]) == 0


# --- questions and answers -----------------------------------------------------------------------


def test_an_answer_is_a_line_a_device_and_the_host_last() -> None:
    assert readings_of("RPC0 15773 1264 522 \nHost 1102 0 30 \n") == (Reading("RPC0", 15773, 1264, 522), Reading("Host", 1102, 0, 30))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "RPC0 1 2 3\n",
        "Host 1 2\n",
        "Host 1 2 3\nRPC0 1 2 3\n",
        "Host 1 2 3\nHost 1 2 3\n",
        "Host 1 2 -3\n",
        "Host 1 2 3 4\n",
        "Host 9999999999 1 1\n",
    ],
)
def test_anything_else_is_no_answer(text: str) -> None:
    with pytest.raises(NoAnswer):
        readings_of(text)


def test_a_setting_that_the_program_has_no_flag_for_is_refused_with_the_other_way() -> None:
    with pytest.raises(InputError, match="no flag -kvu") as caught:
        rung_of("x", {"n_parallel": 4, "kv_unified": True})
    assert "--log" in caught.value.remedy


def test_slots_left_to_the_server_are_refused_with_the_other_way() -> None:
    with pytest.raises(InputError, match="leaves -np to llama-server"):
        rung_of("x", {"n_ctx": 4096})


# --- headers -------------------------------------------------------------------------------------


def test_a_head_from_the_lock_is_as_long_as_the_file_and_takes_no_room(catalog: Catalog) -> None:
    head = head_of_lock(catalog.lock("apodex-mini"), "Q4_K_M", "model.gguf")
    with sparse_files([head]) as path:
        assert path.stat().st_size == 21864082336  # recipes/models/apodex-mini/model.yml
        assert path.stat().st_blocks * 512 < 16 * 2**20
        model = model_of(path)
    assert (model.architecture, int(model.tensor_count)) == ("qwen35moe", 753)
    assert not path.parent.exists()


def test_a_head_given_as_a_file_is_used_as_it_is(catalog: Catalog, tmp_path: Path, engine: FakeEngine) -> None:
    head = head_of_lock(catalog.lock("apodex-mini"), "Q4_K_M", "model.gguf")
    path = tmp_path / "real.gguf.head"
    path.write_bytes(head.data)
    found = head_of_file(path, head.size)
    assert (found.name, found.data, found.size) == ("real.gguf", head.data, head.size)
    verdict = measure(catalog, *PAIR, find_engine(str(engine.folder), "b10666"), header=str(path))
    assert (verdict.exit_code, verdict.header) == (0, "read from real.gguf.head, a file given locally")


def test_a_head_without_a_length_that_its_tensors_fit_into_is_refused(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "real.gguf.head"
    path.write_bytes(head_of_lock(catalog.lock("apodex-mini"), "Q4_K_M", "x").data)
    for size in (None, 10**9):
        with pytest.raises(InputError, match="the tensors end at"):
            head_of_file(path, size)
    with pytest.raises(MissingFileError):
        head_of_file(tmp_path / "nowhere", None)


def test_a_header_of_another_architecture_is_refused(catalog: Catalog, tmp_path: Path, engine: FakeEngine) -> None:
    from generator.gguf.writer import write_header

    path = tmp_path / "other.head"
    path.write_bytes(write_header({"general.architecture": "llama"}, []).data)
    with pytest.raises(InputError, match="architecture 'llama'"):
        measure(catalog, *PAIR, find_engine(str(engine.folder), "b10666"), header=str(path))
