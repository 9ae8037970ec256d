from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from generator.errors import InputError, MissingFileError, SpecErrors
from generator.measure.cases import IK, LLAMA, TURBOQUANT, NotACaseError, read_case, read_cases

CASES = Path(__file__).parent / "data" / "cases"

CASE = """\
engine: llama.cpp
build: b6699 (c08002a1)
date: '2025-10-10'
settings: {n_ctx: 4096}
metadata: {general.architecture: llama}
reported:
  kv_totals: ['size = 1.00 MiB']
complete: true
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "case.yml"
    path.write_text(text, encoding="utf-8")
    return path


def problem(tmp_path: Path, text: str) -> tuple[int, str, str]:
    """Give line, key and words of the one problem of a file."""
    with pytest.raises(SpecErrors) as caught:
        read_case(written(tmp_path, text))
    [found] = caught.value.problems
    assert found.file == str(tmp_path / "case.yml")
    return found.line, found.path, found.message


def test_a_case_is_read_with_its_build_day_and_lists_written_out() -> None:
    case = read_case(CASES / "gemma4-turboquant.yml")
    assert (case.family, case.build, case.day, case.complete) == (TURBOQUANT, None, date(2026, 4, 1), True)
    assert case.metadata["gemma4.attention.head_count_kv"] == [8, 8, 8, 8, 8, 2] * 5
    assert case.metadata["gemma4.attention.sliding_window_pattern"] == [True, True, True, True, True, False] * 5


@pytest.mark.parametrize(
    ("build", "name", "number"),
    [
        ("b6699 (c08002a1)", "b6699", 6699),
        ("b9010-d05fe1d7d", "b9010", 9010),
        ("b9893 (d75936111) and later", "b9893", 9893),
        ("5b180c3d6", None, None),
    ],
)
def test_a_numbered_build_is_found_in_what_is_said_of_it(tmp_path: Path, build: str, name: str | None, number: int | None) -> None:
    case = read_case(written(tmp_path, CASE.replace("b6699 (c08002a1)", build)))
    assert (case.build, case.number) == (name, number)


@pytest.mark.parametrize(
    ("engine", "family"),
    [
        ("llama.cpp", LLAMA),
        ("llama.cpp (bundled by Ollama)", LLAMA),
        ("ik_llama.cpp", IK),
        ("llama.cpp fork (TurboQuant KV types)", TURBOQUANT),
    ],
)
def test_a_fork_is_told_from_the_engine(tmp_path: Path, engine: str, family: str) -> None:
    assert read_case(written(tmp_path, CASE.replace("engine: llama.cpp", f"engine: {engine}"))).family == family


@pytest.mark.parametrize("day", ["", "2025-13-40", "last week", "null"])
def test_a_day_that_is_none_is_none(tmp_path: Path, day: str) -> None:
    assert read_case(written(tmp_path, CASE.replace("'2025-10-10'", day))).day is None


def test_a_file_that_is_no_yaml_is_one_error_with_file_and_line(tmp_path: Path) -> None:
    line, _, message = problem(tmp_path, CASE + "reported: [\n")
    assert line >= 9 and "no YAML" in message


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "words"),
    [
        ("kv_totals: ['size = 1.00 MiB']", "kv_totals: 'size = 1.00 MiB'", 7, "reported.kv_totals", "a list of lines"),
        ("kv_totals: ['size = 1.00 MiB']", "kv_totals: [[1]]", 7, "reported.kv_totals[0]", "a line as printed"),
        ("kv_totals: ['size = 1.00 MiB']", "kv_buffers: [7]", 7, "reported.kv_buffers[0]", "device and mib"),
        ("kv_totals: ['size = 1.00 MiB']", "kv_buffers: [{device: CUDA0, mib: much}]", 7, "reported.kv_buffers[0].mib", "'much'"),
        ("kv_totals: ['size = 1.00 MiB']", "kv_buffers: [{device: CUDA0, mib: -1}]", 7, "reported.kv_buffers[0].mib", "-1"),
        ("kv_totals: ['size = 1.00 MiB']", "kv_buffers: [{device: CUDA0}]", 7, "reported.kv_buffers[0].mib", "None"),
        ("settings: {n_ctx: 4096}", "settings: [4096]", 4, "settings", "a table"),
        ("engine: llama.cpp", "engine: [llama.cpp]", 1, "engine", "one value"),
        ("engine: llama.cpp", "engine: ", 1, "engine", "which engine"),
        ("complete: true", "complete: true\nengine: twice", 9, "engine", "twice"),
        ("complete: true", "complete: &a [*a]", 8, "", "alias"),
        ("engine: llama.cpp", "engine: !!python/name:os.system llama.cpp", 1, "", "tag"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_with_line_and_key(tmp_path: Path, old: str, new: str, line: int, key: str, words: str) -> None:
    found = problem(tmp_path, CASE.replace(old, new))
    assert found[:2] == (line, key) and words in found[2]


def test_a_file_that_is_no_table_is_told(tmp_path: Path) -> None:
    assert "table of keys" in problem(tmp_path, "- 1\n- 2\n")[2]


def test_a_table_of_another_tool_is_no_case() -> None:
    with pytest.raises(NotACaseError):
        read_case(CASES / "bench-table.yml")


def test_a_folder_is_read_in_order_and_one_bad_file_hides_no_other(tmp_path: Path) -> None:
    for name, text in (("b.yml", CASE), ("a.yml", CASE), ("c.yml", "a: ["), ("d.yml", "rows: []\n"), ("README.md", "no case")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    cases, others, errors = read_cases(tmp_path)
    assert ([case.name for case in cases], others) == (["a", "b"], ["d"])
    [error] = errors
    assert isinstance(error, SpecErrors) and "c.yml" in str(error)


def test_a_folder_that_is_not_there_or_empty_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        read_cases(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no YAML file"):
        read_cases(tmp_path)
