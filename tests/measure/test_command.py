from __future__ import annotations

import json
from pathlib import Path

import pytest

from generator.cli import main
from tests.measure.conftest import DATA, FakeEngine

PAIR = ("apodex-mini", "rtx-5070")
CASES = str(DATA / "cases")


def test_cases_print_a_line_each_and_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--cases", CASES]) == 0
    out = capsys.readouterr().out
    assert "gpt-oss-windows" in out and "10 of 10 complete cases agree" in out


def test_cases_as_json_have_every_term(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--cases", CASES, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert (rows["format"], rows["complete"], rows["agree"]) == (1, 10, 10)
    [case] = [case for case in rows["cases"] if case["case"] == "gpt-oss-windows"]
    [kv] = [term for term in case["terms"] if term["term"] == "KV"]
    assert kv == {"term": "KV", "status": "agrees", "ours": 3090 * 2**20, "printed": "3072.00 MiB + 18.00 MiB", "outside_by": 0}


def test_a_case_that_differs_is_exit_code_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DATA / "cases" / "gpt-oss-windows.yml").read_text(encoding="utf-8")
    (tmp_path / "a.yml").write_text(text.replace("3072.00 MiB (", "3072.02 MiB ("), encoding="utf-8")
    assert main(["measure", "--cases", str(tmp_path)]) == 3
    assert "0 of 1 complete case agree" in capsys.readouterr().out


def test_an_engine_s_answers_are_printed_and_locked(root: Path, engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", *PAIR, "--engine", str(engine.folder), "--now", "2026-11-30"]) == 0
    out = capsys.readouterr().out
    assert "weights and context agree at all of 3 rungs" in out and "26@65536.q8_0/q8_0" in out
    assert out.splitlines()[-1].strip() == str(root / "recipes/models/apodex-mini/rtx-5070.measure.lock.json")


def test_as_json_the_lock_s_path_does_not_stand_among_the_figures(
    root: Path, engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.mode("more")
    assert main(["measure", *PAIR, "--engine", str(engine.folder), "--json", "--now", "2026-11-30"]) == 3
    printed = capsys.readouterr()
    rows = json.loads(printed.out)
    assert (rows["build"], rows["agrees"], rows["device"]) == ("v0.5.0-dev", False, "RPC0")
    assert [figure["engine"] for figure in rows["figures"] if not figure["agrees"] and figure["term"] == "weights"] == ["8091 MiB"]
    assert str(root) in printed.err


def test_a_log_is_read_with_flags_after_two_dashes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["measure", *PAIR, "--log", str(DATA / "llama-server.log"), "--build", "v0.5.0", "--now", "2026-11-30"]
    assert main(words) == 0
    assert main([*words, "--", "-c", "4096"]) == 3
    assert "26@4096.q8_0/q8_0" in capsys.readouterr().out
    assert str(root)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["measure"], "no recipe is named"),
        (["measure", "apodex-mini"], "no recipe is named"),
        (["measure", "--cases", CASES, "--engine", "x"], "stands alone"),
        (["measure", *PAIR, "--log", "x", "--engine", "y"], "in place of an engine"),
        (["measure", *PAIR, "--build", "b1"], "belong to a log"),
        (["measure", *PAIR, "--", "-c", "1"], "belong to a log"),
        (["measure", *PAIR, "--engine", "/nowhere"], "releases/tag/b10666"),
        (["measure", "apodex-mini", "no-card", "--engine", "/nowhere"], "no-card"),
    ],
)
def test_words_that_do_not_go_together_are_told(root: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err
    assert not list(root.rglob("*.measure.lock.json"))
