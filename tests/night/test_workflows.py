"""The workflows: every command in them exists, and their shell does what it says, with a repository and programs of the test's own."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from generator import cli
from generator.arguments import parser

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def workflow(name: str) -> dict[Any, Any]:
    rows: dict[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))
    return rows


def steps(rows: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in rows["jobs"].values() for step in job["steps"]]


def script(name: str) -> str:
    """Give the shell of a step of the nightly workflow, without what GitHub fills in."""
    found = next(step["run"] for step in steps(workflow("nightly")) if step.get("name") == name)
    return re.sub(r"\$\{\{.*?\}\}", "", found)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_whole(path: Path) -> None:
    rows = workflow(path.stem)
    assert rows["name"] == path.stem
    assert rows[True]  # what YAML makes of `on`
    assert "permissions" in rows
    for step in steps(rows):
        assert ("run" in step) != ("uses" in step)
        assert re.fullmatch(r"actions/[\w/-]+@v\d+", step.get("uses", "actions/checkout@v4"))


def test_there_are_a_workflow_of_tests_and_one_of_nights() -> None:
    assert [path.stem for path in WORKFLOWS] == ["nightly", "test"]
    assert workflow("nightly")[True]["schedule"][0]["cron"].split()[2:] == ["*", "*", "*"]  # every day
    assert workflow("nightly")["concurrency"] == {"group": "nightly", "cancel-in-progress": False}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_gen_command_in_a_workflow_is_one(path: Path) -> None:
    text = "\n".join(step.get("run", "") for step in steps(workflow(path.stem)))
    commands = [shlex.split(found) for found in re.findall(r"\bgen ((?:[a-z]+)(?: [^|&;\n]*)?)", re.sub(r"\$\{\{.*?\}\}", "x", text))]
    assert commands or path.stem == "test"
    for words in commands:
        assert parser().parse_args(words).command in cli.COMMANDS


def test_the_state_is_restored_before_the_night_and_kept_whatever_comes_of_it() -> None:
    names = [step.get("uses", step.get("name", "")).partition("@")[0] for step in steps(workflow("nightly"))]
    restore, night, save = (names.index(name) for name in ("actions/cache/restore", "Ask, compare, build", "actions/cache/save"))
    assert restore < night < save
    kept = steps(workflow("nightly"))[save]
    assert (kept["if"], kept["with"]["path"]) == ("always()", ".gen")


# --- their shell ---------------------------------------------------------------------------------


def run(text: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run shell as GitHub does."""
    path = f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    return subprocess.run(
        ["bash", "-e", "-c", text],
        cwd=folder / "clone",
        env={"PATH": path, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a clone of a small repository, and a `gh` that notes what it is asked."""
    (tmp_path / "clone").mkdir()
    text = """
        git init -q --bare -b main ../remote.git
        git init -q -b main . && git config user.email a@example.org && git config user.name a
        mkdir recipes site && echo old > recipes/a && echo old > site/b
        git add . && git commit -qm first && git remote add origin ../remote.git && git push -q origin main
    """
    program(tmp_path / "bin" / "gh", f'echo "$@" >> "{tmp_path}/asked"; case "$*" in *"pr view"*) cat "{tmp_path}/state";; esac')
    (tmp_path / "state").write_text("", encoding="utf-8")
    assert run(text, tmp_path).returncode == 0
    return tmp_path


def asked(folder: Path) -> list[str]:
    path = folder / "asked"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [line for line in lines if "pr view" not in line]


@pytest.mark.parametrize("status", [0, 1, 2, 3])
def test_the_night_keeps_its_exit_code_for_the_steps_after_it(folder: Path, status: int) -> None:
    program(folder / "clone" / ".venv" / "bin" / "gen", f'echo "$1" > report; echo "# Report" > drift.md; exit {status}')
    output, summary = folder / "output", folder / "summary"
    done = run(script("Ask, compare, build"), folder, GITHUB_OUTPUT=str(output), GITHUB_STEP_SUMMARY=str(summary))
    assert (done.returncode, done.stderr) == (0, "")
    assert output.read_text(encoding="utf-8") == f"status={status}\n"
    assert summary.read_text(encoding="utf-8") == "# Report\n"


def test_a_night_that_made_no_report_still_says_how_it_ended(folder: Path) -> None:
    program(folder / "clone" / ".venv" / "bin" / "gen", "exit 1")
    output = folder / "output"
    done = run(script("Ask, compare, build"), folder, GITHUB_OUTPUT=str(output), GITHUB_STEP_SUMMARY=str(folder / "summary"))
    assert done.returncode == 0
    assert output.read_text(encoding="utf-8") == "status=1\n"


def test_changed_values_open_one_pull_request_and_the_next_night_updates_it(folder: Path) -> None:
    text = script("One pull request for what changed")
    (folder / "clone" / "recipes" / "a").write_text("new\n", encoding="utf-8")
    (folder / "clone" / "drift.md").write_text("# What changed\n", encoding="utf-8")
    assert run(text, folder).returncode == 0
    assert [line.split()[:2] for line in asked(folder)] == [["pr", "create"]]
    shown = run("git show --stat --format=%s origin/drift -- && git -C ../remote.git show drift:recipes/a", folder)
    assert "recipes/a" in shown.stdout
    assert "drift.md" not in shown.stdout
    assert shown.stdout.endswith("new\n")

    (folder / "state").write_text("OPEN\n", encoding="utf-8")
    run("git checkout -q main && git reset -q --hard", folder)
    (folder / "clone" / "site" / "b").write_text("newer\n", encoding="utf-8")
    assert run(text, folder).returncode == 0
    assert [line.split()[:2] for line in asked(folder)] == [["pr", "edit"]]
    log = run("git -C ../remote.git log --format=%s drift", folder).stdout.splitlines()
    assert (len(log), log[-1]) == (2, "first")  # begun anew from what is merged

    (folder / "state").write_text("MERGED\n", encoding="utf-8")
    run("git checkout -q main && git reset -q --hard", folder)
    (folder / "clone" / "site" / "b").write_text("newest\n", encoding="utf-8")
    assert run(text, folder).returncode == 0
    assert [line.split()[:2] for line in asked(folder)] == [["pr", "create"]]


def test_a_night_without_changed_values_asks_for_no_pull_request(folder: Path) -> None:
    assert run(script("One pull request for what changed"), folder).returncode == 0
    assert asked(folder) == []
    assert "drift" not in run("git -C ../remote.git branch", folder).stdout


def test_our_own_fault_fails_and_nothing_else_does() -> None:
    conditions = {step["name"]: step["if"] for step in steps(workflow("nightly")) if "name" in step and "if" in step}
    assert conditions["A fault of ours"] == "steps.night.outputs.status != '0' && steps.night.outputs.status != '3'"
    assert script("A fault of ours") == "exit 1"
