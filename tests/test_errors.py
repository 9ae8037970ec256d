from __future__ import annotations

import importlib
import inspect
import json
import pkgutil

import pytest

import generator
from generator.errors import (
    GenError,
    InputError,
    MissingFileError,
    Problem,
    RefusedSettings,
    SpecErrors,
    UnknownNameError,
    UnsupportedArchitecture,
    counted,
    did_you_mean,
    quoted,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (GenError("it broke"), "it broke"),
        (GenError("it broke", where="a.yml:3"), "a.yml:3: it broke"),
        (GenError("it broke", remedy="mend it"), "it broke\n  mend it"),
        (GenError("it broke", where="a.yml:3", remedy="mend it"), "a.yml:3: it broke\n  mend it"),
        (MissingFileError("x.gguf"), "x.gguf: there is no such file"),
        (UnknownNameError("card", "rtx-507", ["rtx-5070", "rx-7900"]), "no card is called 'rtx-507'; did you mean 'rtx-5070'?"),
        (UnknownNameError("card", "zzz", ["rtx-5070", "a"]), "no card is called 'zzz'; known: 'a', 'rtx-5070'"),
        (UnknownNameError("card", "zzz", []), "no card is called 'zzz'; known: none"),
    ],
)
def test_an_error_says_where_what_and_the_remedy(error: GenError, text: str) -> None:
    assert str(error) == text


def test_an_error_carries_its_data_for_machines() -> None:
    error = RefusedSettings("no", rule="quantised_v_needs_flash_attention", where="-ctv", remedy="-fa on")
    assert (error.rule, error.problem, error.where, error.remedy) == ("quantised_v_needs_flash_attention", "no", "-ctv", "-fa on")
    assert json.loads(json.dumps(error.as_dict())) == {"error": "RefusedSettings", "problem": "no", "where": "-ctv", "remedy": "-fa on"}


def test_all_problems_of_a_file_are_told_at_once_and_in_order() -> None:
    first = Problem("a.yml", 3, "settings.n_ctx", "is no number", "write a number")
    second = Problem("a.yml", 0, "", "is empty")
    error = SpecErrors([first, second])
    assert str(error) == "a.yml:3: settings.n_ctx: is no number\n  write a number\na.yml: is empty"
    assert error.problem == "2 problems in the specs"
    assert error.as_dict() == {
        "error": "SpecErrors",
        "problems": [
            {"file": "a.yml", "line": 3, "path": "settings.n_ctx", "message": "is no number", "remedy": "write a number"},
            {"file": "a.yml", "line": 0, "path": "", "message": "is empty", "remedy": ""},
        ],
    }


def test_an_unknown_architecture_lists_those_with_rules() -> None:
    error = UnsupportedArchitecture("mamba9", ["qwen35moe", "llama"])
    assert "mamba9" in error.problem
    assert error.remedy.endswith("'llama', 'qwen35moe'")


@pytest.mark.parametrize(
    ("name", "near"),
    [("rtx-507", ["rtx-5070"]), ("rtx5070", ["rtx-5070"]), ("5070", ["rtx-5070"]), ("h100", []), ("", [])],
)
def test_near_names_are_offered_and_far_ones_are_not(name: str, near: list[str]) -> None:
    assert did_you_mean(name, ["rtx-5070", "rx-7900-xtx"]) == near


def test_no_more_than_three_names_are_offered_best_first() -> None:
    known = ["budget.total", "budget.totals", "budget.slack", "budget.usable", "budget.card"]
    near = did_you_mean("budget.totl", known)
    assert near[0] == "budget.total"
    assert len(near) == 3


def test_a_long_list_of_known_names_is_cut() -> None:
    assert str(UnknownNameError("card", "zzz", [f"card-{number:03}" for number in range(500)])).count("card-") == 12


def test_counts_and_names_read_as_a_sentence() -> None:
    assert [counted(number, "problem") for number in (0, 1, 2)] == ["0 problems", "1 problem", "2 problems"]
    assert quoted(["a", "b"]) == "'a', 'b'"


def _errors_of_the_package() -> list[type[GenError]]:
    found = set()
    for module in pkgutil.walk_packages(generator.__path__, "generator."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(kind, GenError):
                found.add(kind)
    return sorted(found, key=lambda kind: kind.__name__)


def test_every_error_of_the_package_has_an_exit_code_that_the_command_line_documents() -> None:
    for kind in _errors_of_the_package():
        assert kind.exit_code in {1, 2, 3}, kind
        assert kind.exit_code == 2 or not issubclass(kind, InputError), kind


def test_no_two_errors_of_the_package_share_a_name() -> None:
    names = [kind.__name__ for kind in _errors_of_the_package()]
    assert len(names) == len(set(names))
    assert len(names) > 20
