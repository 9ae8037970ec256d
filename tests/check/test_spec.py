"""Files of checks with something wrong in them, and what the catalogue makes of checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from generator.catalog import Catalog, UnknownEntryError
from generator.claims.questions import questions
from generator.cli import main
from generator.errors import SpecErrors
from generator.specs import load_check
from tests.check.conftest import CLAIM, DENSE, ROOT, rewrite


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        ("    holds: card.released", "    # card.released", "parts.age.holds", "a part of kind 'fact' needs a predicate"),
        ("kind: speed_at_context}", "kind: speed_at_context, holds: a.b == 1}", "parts.at_context.holds", "only a part of kind 'fact'"),
        ("kind: opinion}", "kind: taste}", "parts.praise.kind", "'taste' is none of its words"),
        ("quant: Q4_K_M", "quant: Q5_K_M", "quant", "'Q5_K_M' is none of the files"),
        ("full_precision: BF16", "full_precision: F16", "full_precision", "'F16' is none of the files"),
        ("contexts: [8192, 32768", "contexts: [32768, 8192", "contexts", "the contexts do not rise"),
        ("    channels: 2\n", "", "bandwidths.host.channels", "the key 'channels' is missing"),
        ("  context: {value: 131072", "  # {value: 131072", "claim", "is about a context, and the claim names none"),
        ("check: rtx-3060", "check: rtx-3061", "check", "stands in a file whose place says 'rtx-3060'"),
    ],
)
def test_a_mistake_is_named_with_its_place(project: Path, old: str, new: str, path: str, message: str) -> None:
    rewrite(project, ((old, new),))
    with pytest.raises(SpecErrors) as caught:
        load_check(project / "recipes/checks/qwen3.6-35b-a3b/rtx-3060.yml")
    assert any(problem.path == path and message in problem.message for problem in caught.value.problems), caught.value.problems


def test_the_catalogue_lists_checks_beside_recipes() -> None:
    catalog = Catalog.open(ROOT)
    assert {CLAIM, DENSE} <= set(catalog.checks())
    assert set(catalog.pages()) == {*catalog.recipes(), *catalog.checks()}
    names = [row.name for row in catalog.listing("checks")]
    assert "qwen3.6-35b-a3b rtx-3060" in names


def test_an_unknown_check_suggests_the_near_ones() -> None:
    with pytest.raises(UnknownEntryError, match="did you mean 'rtx-3060'"):
        Catalog.open(ROOT).check_of("qwen3.6-35b-a3b", "rtx3060")


def test_what_a_check_refers_to_has_to_be_there(project: Path) -> None:
    rewrite(project, (("card: rtx-3060-12gb", "card: rtx-3061-12gb"), ("llama.cpp#27872", "llama.cpp#99999")))
    with pytest.raises(SpecErrors) as caught:
        Catalog.open(project).check()
    messages = {(problem.path, problem.message.partition(";")[0]) for problem in caught.value.problems}
    assert ("card", "no card is called 'rtx-3061-12gb'") in messages
    assert ("threads.llama.cpp#99999", "no issue is called 'llama.cpp#99999'") in {(path, said) for path, said in messages}


def test_a_check_may_not_be_called_as_a_guide_of_its_model_is(project: Path) -> None:
    folder = project / "recipes/checks/qwen3.6-35b-a3b"
    text = (folder / "rtx-3060.yml").read_text(encoding="utf-8")
    (folder / "rtx-3060-12gb.yml").write_text(text.replace("check: rtx-3060\n", "check: rtx-3060-12gb\n"), encoding="utf-8")
    with pytest.raises(SpecErrors, match="a guide of the model is called 'rtx-3060-12gb' as well"):
        Catalog.open(project).check()


def test_the_sources_of_a_check_are_asked_again() -> None:
    catalog = Catalog.open(ROOT)
    asked = {question.key: question for question in questions(catalog, [CLAIM])}
    size = asked["files.q4_k_m.size"]
    assert str(size.ask) == "hub_file field=size file=Qwen3.6-35B-A3B-Q4_K_M.gguf repository=ggml-org/Qwen3.6-35B-A3B-GGUF"
    assert size.lock == ROOT / "recipes/checks/qwen3.6-35b-a3b/rtx-3060.lock.json"
    assert asked["issue.llama.cpp.27756.state"].ask.kind == "github_thread"
    assert "issue.llama.cpp.25060.state" not in asked  # no thread of the check


def test_commands_take_a_check_as_they_take_a_guide(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEN_ROOT", str(ROOT))
    assert main(["build", *CLAIM, "--check"]) == 0
    assert main(["lint", *DENSE]) == 0
    capsys.readouterr()
    assert main(["explain", *CLAIM, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["numbers"]["kv.bytes_per_token.f16/f16"]["value"] == 20480
    assert main(["explain", *CLAIM, "experts_cache.left.8192"]) == 0
    assert "8.73 GiB = max([usable]" in capsys.readouterr().out.replace("\n", " ")


def test_a_check_that_is_written_says_its_verdicts(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEN_ROOT", str(project))
    assert main(["build", *CLAIM, "--now", "2026-12-01"]) == 0
    printed = capsys.readouterr().out
    assert "site/checks/qwen3.6-35b-a3b/rtx-3060.md" in printed
    assert "not at that context  with a 128k context" in printed
    assert (project / "site/checks/qwen3.6-35b-a3b/rtx-3060/check.json").is_file()
