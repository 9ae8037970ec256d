"""What the project says of itself agrees with what it does."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def set_up_lines() -> list[str]:
    """Give the lines of the first code block under the README's heading "Set up"."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^## Set up\n.*?^```sh\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert block
    return block[1].splitlines()


def test_the_readme_sets_up_in_two_lines_one_for_the_main_job_and_one_for_the_tests() -> None:
    build, tests = set_up_lines()
    assert build.endswith("gen build apodex-mini rtx-5070")
    assert tests.endswith("pytest")


def test_ci_runs_the_second_of_them_last() -> None:
    last = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1]
    assert last == set_up_lines()[1]


def test_the_readme_opens_with_a_picture_that_is_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    before_the_first_heading = readme.split("\n## ")[0]
    picture = re.search(r"!\[.+\]\((.+)\)", before_the_first_heading)
    assert picture
    assert (ROOT / picture[1]).read_bytes().startswith(b"\x89PNG")


def test_every_dependency_is_declared_with_its_reason_beside_it() -> None:
    wanted = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    for extra in PROJECT["project"]["optional-dependencies"].values():
        wanted += extra
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    for requirement in wanted:
        line = next(line for line in lines if f'"{requirement}"' in line)
        assert re.search(r"# .{10,}", line), f"no reason beside {requirement}"


def test_the_changelog_knows_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)
    assert released[0] == PROJECT["project"]["version"]


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_between_the_projects_own_pages_lead_somewhere(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    own = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    missing = [link for link in own if not (ROOT / link.partition("#")[0]).exists()]
    assert missing == []


def test_set_up_refuses_what_it_does_not_know_and_says_how_it_is_used() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "setup_env.py"), "--test"], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "python3 setup_env.py --tests" in done.stderr


def test_set_up_is_written_so_that_an_older_python_can_read_it_and_be_told() -> None:
    source = (ROOT / "setup_env.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 7))
    assert source.index("sys.version_info < (3, 11)") < source.index("\ndef ")
