from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import gguf
import numpy as np
import pytest

from generator import arguments, cli
from generator.build import Guide
from generator.cli import main
from tests.conftest import part_of_project

ROOT = Path(__file__).resolve().parents[1]
RECIPE = "recipes/models/apodex-mini/rtx-5070.yml"
LOCK = "recipes/models/apodex-mini/model.lock.json"
PAIR = ("apodex-mini", "rtx-5070")


class Run:
    """What a command left: its exit code, what it said on each stream, and what it said to machines."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def error(self) -> dict[str, object]:
        rows: dict[str, object] = json.loads(self.err)
        return rows


Gen = Callable[..., Run]


@pytest.fixture
def gen(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Gen:
    """Run a command in a copy of the project."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("GEN_ROOT", raising=False)

    def run(*words: object) -> Run:
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capsys.readouterr()
        return Run(code, said.out, said.err)

    return run


def files(root: Path) -> dict[str, bytes]:
    """Give every file below a folder but those of the cache."""
    found = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return {name: content for name, content in found.items() if not name.startswith(".gen/")}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


# --- what works ----------------------------------------------------------------------------------


def test_build_writes_the_guide_and_says_where_what_and_how_old(gen: Gen, project: Path, guide: Guide) -> None:
    done = gen("build", *PAIR, "--now", "2026-09-01")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].strip() == "site/guides/apodex-mini/rtx-5070.md"
    said = {line[2:19].strip(): line[19:].strip() for line in lines[1:6]}
    assert said == {
        "on the card": "8.891 GiB",
        "ceiling": "10.0 GiB",
        "to spare": "1.109 GiB",
        "in system memory": guide.ledger["host.total"].display,
        "context": "65,536 tokens",
    }
    assert "the oldest is card.memory_bandwidth_third_party, 2026-02-07" in lines[6]
    assert set(files(project / "site")) == set(guide.files)
    rows = json.loads(gen("build", "--all", "--json", "--now", "2026-02-08").out)
    (row,) = rows["guides"]
    assert rows["checked"] is False
    assert (row["page"], row["written"], row["stale"]) == ("site/guides/apodex-mini/rtx-5070.md", [], [])
    assert row["numbers"]["budget.total"] == "8.891 GiB"


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a build of one recipe leaves below `site`. Not to be changed, but copied."""
    folder = part_of_project(tmp_path_factory.mktemp("built"), "apodex-mini")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEN_ROOT", str(folder))
        assert main(["build", "--all"]) == 0
    return folder / "site"


@pytest.fixture
def built(project: Path, built_site: Path) -> Path:
    """The copy of the project, with what a build leaves."""
    shutil.copytree(built_site, project / "site")
    return project


def test_the_first_page_lists_every_guide_and_is_checked_too(gen: Gen, built: Path) -> None:
    index = built / "site" / "index.md"
    assert "[on RTX 5070](guides/apodex-mini/rtx-5070.md)" in index.read_text(encoding="utf-8")
    index.write_text("# By hand\n", encoding="utf-8")
    assert gen("build", "--all", "--check").code == 3
    assert gen("build", "--all").code == 0
    assert "[on RTX 5070](guides/apodex-mini/rtx-5070.md)" in index.read_text(encoding="utf-8")


def test_check_passes_on_what_was_built_and_writes_nothing(gen: Gen, built: Path) -> None:
    before = files(built)
    done = gen("build", "--all", "--check")
    assert (done.code, done.err) == (0, "")
    assert done.out == "every committed page is what a build writes\n"
    assert files(built) == before


def test_lint_says_that_a_guide_is_clean_and_writes_nothing(gen: Gen, project: Path) -> None:
    done = gen("lint", "--all")
    assert (done.code, done.out) == (0, "apodex-mini/rtx-5070: clean\n")
    assert not (project / "site").exists()


def test_explain_gives_one_number_for_machines_with_everything_it_follows_from(gen: Gen, guide: Guide) -> None:
    rows = json.loads(gen("explain", *PAIR, "budget.ceiling", "--json").out)
    whole = json.loads(guide.ledger.json())
    assert (rows["format"], rows["recipe"], rows["claims"]) == (1, whole["recipe"], {})
    below = ["card.usable", "budget.usable", "engine.fit_margin", "budget.reserve", "budget.ceiling"]
    assert rows["numbers"] == {key: whole["numbers"][key] for key in below}
    assert list(rows["numbers"])[-1] == "budget.ceiling"


def test_explain_gives_the_tree_of_one_number_or_a_summary_of_all(gen: Gen, guide: Guide) -> None:
    assert len(gen("explain", *PAIR).out.splitlines()) == len(guide.ledger.rows) + len(guide.ledger.claims)
    assert gen("explain", *PAIR, "budget.total").out.startswith("budget.total: 8.891 GiB (")


def test_list_shows_all_or_one_kind_to_people_and_to_machines(gen: Gen) -> None:
    assert "apodex-mini rtx-5070" in gen("list").out
    assert {line.split()[0] for line in gen("list", "cards").out.splitlines()} == {"card"}
    assert [row["name"] for row in json.loads(gen("list", "models", "--json").out)] == ["apodex-mini"]


def test_schema_prints_one_schema_or_all(gen: Gen) -> None:
    one = json.loads(gen("schema", "card").out)
    assert one == json.loads((ROOT / "schemas" / "card.json").read_text(encoding="utf-8"))
    assert set(json.loads(gen("schema").out)) == {"card", "check", "engine", "issue", "model", "recipe"}


def test_lock_writes_nothing_when_nothing_changed(gen: Gen, project: Path) -> None:
    before = (project / LOCK).read_bytes()
    done = gen("lock", "apodex-mini", "--now", "2026-08-31")
    assert done.code == 0
    assert done.out.endswith("model.lock.json (unchanged)\n")
    assert (project / LOCK).read_bytes() == before


def test_a_guide_is_found_from_a_folder_below_and_from_elsewhere(
    gen: Gen, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(project / "recipes" / "cards")
    assert gen("list", "cards").code == 0
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    nowhere = gen("list", "cards")
    assert nowhere.code == 2
    assert "there is no folder recipes/" in nowhere.err and "GEN_ROOT" in nowhere.err
    monkeypatch.setenv("GEN_ROOT", str(project))
    assert gen("list", "cards").code == 0


# --- wrong input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["build", "apodex", "rtx-5070"], "no model is called 'apodex'; did you mean 'apodex-mini'?\n  `gen list models` shows all"),
        (["build", "apodex-mini", "rtx5070"], "no card is called 'rtx5070'; did you mean 'rtx-5070'?\n  `gen list cards` shows all"),
        (["build"], "no model is named\n  name a model and a card, or give --all"),
        (["build", "--all", "apodex-mini"], "--all and a model exclude each other"),
        (["build", *PAIR, "--now", "yesterday"], "argument --now: 'yesterday' is no ISO date, such as 2026-08-31\n  usage: gen build"),
        (["lint", "nothing"], "no model is called 'nothing'"),
        (["explain", *PAIR, "budget.totl"], "no number is called 'budget.totl'; did you mean 'budget.total'"),
        (["explain", "apodex-mini"], "the following arguments are required: CARD\n  usage: gen explain"),
        (["list", "boards"], "argument kind: invalid choice: 'boards'"),
        (["schema", "cards"], "'cards'"),
        (["lock", "apodex"], "no model is called 'apodex'; did you mean 'apodex-mini'"),
        (["lock", "apodex-mini", "--header", "Q4_K_M"], "'Q4_K_M' is not QUANT=FILE\n  as in --header Q4_K_M=model.gguf"),
        (["lock", "apodex-mini", "--header", "Q4_K_M="], "'Q4_K_M=' is not QUANT=FILE"),
        (["lock", "apodex-mini", "--header", "Q4_K=x.gguf"], "no quant is called 'Q4_K'; did you mean 'Q4_K_M'"),
        (["lock", "apodex-mini", "--header", "Q4_K_M=gone.gguf"], "gone.gguf: there is no such file"),
        (["lock", "apodex-mini", "--origin", "guessed"], "argument --origin: invalid choice: 'guessed'"),
        (["plan", "gone.gguf"], "gone.gguf: there is no such file"),
        (["plan", "apodex-mini/rtx-507"], "no card is called 'rtx-507'; did you mean 'rtx-5070'"),
        (["plan", "apodex-mini/rtx-5070", "--nmcoe", "3"], "--nmcoe"),
        (["plan", "apodex-mini/rtx-5070", "-fa", "off"], "V in q8_0 without flash attention"),
        (["plan"], "no model is named"),
        (["plan", "apodex-mini/rtx-5070", "--gpus", "two"], "argument --gpus: invalid int value: 'two'"),
        (["frobnicate"], "argument COMMAND: invalid choice: 'frobnicate'"),
        (["--frobnicate"], "--frobnicate"),
        (["build", *PAIR, "--frobnicate"], "unrecognized arguments: --frobnicate"),
    ],
)
def test_wrong_input_is_told_on_stderr_with_the_remedy_and_nothing_is_written(
    gen: Gen, project: Path, words: list[str], message: str
) -> None:
    before = files(project)
    done = gen(*words)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("gen: ")
    assert message in done.err
    assert len(done.err.strip().splitlines()) > 1 or "did you mean" in done.err
    assert "Traceback" not in done.err
    assert files(project) == before


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["build", "apodex", "rtx-5070", "--json"], "UnknownEntryError"),
        (["schema", "cards", "--json"], "InputError"),
        (["plan", "apodex-mini/rtx-5070", "-fa", "off", "--json"], "RefusedSettings"),
        (["plan", "gone.gguf", "--json"], "MissingFileError"),
        (["build", "--frobnicate", "--json"], "InputError"),
    ],
)
def test_with_json_an_error_is_json(gen: Gen, words: list[str], error: str) -> None:
    done = gen(*words)
    assert (done.code, done.out) == (2, "")
    assert done.error["error"] == error
    assert done.error["problem"] and done.error["remedy"]


def test_a_typing_error_in_a_recipe_is_told_with_file_line_and_what_was_meant(gen: Gen, project: Path) -> None:
    edit(project / RECIPE, "  n_cpu_moe: 26", "  n_cpu_meo: 26")
    edit(project / RECIPE, "policy: published", "policy: publshed")
    before = files(project)
    done = gen("build", *PAIR)
    assert (done.code, done.out) == (2, "")
    lines = (project / RECIPE).read_text(encoding="utf-8").splitlines()
    for word, meant in (("n_cpu_meo", "n_cpu_moe"), ("publshed", "published")):
        line = 1 + next(index for index, text in enumerate(lines) if word in text)
        assert f"{RECIPE}:{line}: " in done.err
        assert f"did you mean '{meant}'" in done.err
    assert files(project) == before
    rows = gen("build", *PAIR, "--json").error["problems"]
    assert isinstance(rows, list) and len(rows) == 2
    assert all(row["file"] == RECIPE and row["line"] and row["remedy"] for row in rows)


def test_a_lock_edited_by_hand_stops_every_command_that_needs_it(gen: Gen, project: Path) -> None:
    edit(project / LOCK, '"value": 21864082336', '"value": 21864082337')
    for words in (
        ["build", *PAIR],
        ["build", "--all"],
        ["explain", *PAIR],
        ["lint", *PAIR],
        ["plan", "/".join(PAIR)],
        ["lock", "apodex-mini"],
    ):
        done = gen(*words)
        assert done.code == 2
        assert "model.lock.json" in done.err
        assert "edited by hand" in done.err and "gen lock" in done.err
    assert not (project / "site").exists()


def test_a_lock_that_is_not_there_is_told_with_the_command_that_writes_it(gen: Gen, project: Path) -> None:
    (project / LOCK).unlink()
    done = gen("build", *PAIR)
    assert done.code == 2
    assert "the lock does not exist\n  write it with `gen lock`" in done.err


def test_check_leaves_an_edited_page_alone_and_exits_3(gen: Gen, built: Path) -> None:
    edit(built / "site/guides/apodex-mini/rtx-5070.md", "8.891 GiB", "8.892 GiB")
    before = files(built)
    done = gen("build", "--all", "--check")
    assert (done.code, done.out) == (3, "")
    assert "site/guides/apodex-mini/rtx-5070.md" in done.err and "gen build --all" in done.err
    assert gen("build", "--all", "--check", "--json").error["error"] == "OutdatedPageError"
    assert files(built) == before


def test_a_page_that_fails_its_lint_is_not_written(gen: Gen, built: Path) -> None:
    edit(built / "templates/sections/offload.md.j2", "So a slow slot", "So 31 slow slots")
    before = files(built)
    for command in ("build", "lint"):
        done = gen(command, *PAIR)
        assert (done.code, done.out) == (1, "")
        assert re.search(r"site/guides/apodex-mini/rtx-5070\.md:\d+: a number that nothing stands behind: '31'", done.err)
    assert files(built) == before


def test_all_reports_every_file_of_the_catalogue_before_it_builds(gen: Gen, project: Path) -> None:
    edit(project / "recipes/cards/rtx-5070.yml", "vendor: nvidia", "vendor: nvida")
    edit(project / RECIPE, "  - llama.cpp#27894", "  - llama.cpp#1")
    done = gen("build", "--all")
    assert done.code == 2
    assert "recipes/cards/rtx-5070.yml:" in done.err and f"{RECIPE}:" in done.err
    assert not (project / "site").exists()


def test_what_the_system_refuses_is_told_without_a_traceback(gen: Gen, project: Path) -> None:
    (project / "site").write_text("in the way")
    done = gen("build", *PAIR)
    assert done.code == 1
    assert done.err.startswith("gen: ") and "site" in done.err and len(done.err.splitlines()) == 2


# --- headers -------------------------------------------------------------------------------------


def header(path: Path, architecture: str) -> Path:
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_block_count(1)
    writer.add_tensor("token_embd.weight", np.zeros((8, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_cut_header_or_another_models_is_refused_and_the_lock_stays(gen: Gen, project: Path, tmp_path: Path) -> None:
    before = (project / LOCK).read_bytes()
    cut = header(tmp_path / "cut.gguf", "qwen35moe")
    cut.write_bytes(cut.read_bytes()[:100])
    other = header(tmp_path / "other.gguf", "llama")
    small = header(tmp_path / "small.gguf", "qwen35moe")
    nothing = tmp_path / "nothing.gguf"
    nothing.write_bytes(b"not a header at all")
    for path, message in ((cut, "cut.gguf"), (other, "'llama'"), (small, "bytes"), (nothing, "nothing.gguf")):
        done = gen("lock", "apodex-mini", "--header", f"Q4_K_M={path}")
        assert done.code == 2, done.err
        assert message in done.err and "Traceback" not in done.err
        assert (project / LOCK).read_bytes() == before
    assert gen("plan", cut).code == 2


def test_a_header_said_to_be_rebuilt_replaces_the_locked_one(gen: Gen, project: Path, tmp_path: Path) -> None:
    small = header(tmp_path / "small.gguf", "qwen35moe")
    done = gen("lock", "apodex-mini", "--header", f"IQ2_M={small}", "--origin", "reconstructed", "--note", "made up", "--now", "2026-09-01")
    assert done.code == 0, done.err
    facts = json.loads((project / LOCK).read_text(encoding="utf-8"))["facts"]
    assert facts["header.iq2_m.tensors"]["note"] == "made up"
    assert facts["header.iq2_m.tensors"]["origin"] == "reconstructed"


# --- help, plumbing ------------------------------------------------------------------------------


def every_parser() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Give each command's name and parser."""
    (commands,) = (action for action in arguments.parser()._actions if isinstance(action, argparse._SubParsersAction))
    yield from commands.choices.items()


COMMANDS = [name for name, _ in every_parser()]


@pytest.mark.parametrize("words", [["-h"], ["--help"], *([name, "-h"] for name in COMMANDS)], ids=" ".join)
def test_help_is_help(gen: Gen, words: list[str]) -> None:
    done = gen(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: gen {words[0] if len(words) > 1 else '[-h]'}")


def test_gen_alone_prints_help_and_exits_2(gen: Gen) -> None:
    alone = gen()
    assert alone.code == 2
    assert alone.out == gen("--help").out


HEAVY = ("gguf", "huggingface_hub", "jinja2", "markdown_it", "mkdocs", "numpy", "requests", "yaml")


def test_help_imports_nothing_heavy() -> None:
    program = f"""
import sys
from generator.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
print(sorted({{name.partition(".")[0] for name in sys.modules}} & set({HEAVY!r})), file=sys.stderr)
print(sorted(name for name in sys.modules if name.startswith("generator.")), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy, ours = done.stderr.splitlines()
    assert heavy == "[]"
    assert ours == "['generator.arguments', 'generator.cli', 'generator.errors']"


def run_into(stdout: int, *words: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from generator.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", program, *words], cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.parametrize("words", [["explain", *PAIR, "--json"], ["schema", "card"], ["list", "cards"], ["--help"]], ids=" ".join)
def test_a_reader_that_stops_reading_is_no_trouble(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run_into(writing, *words)
    finally:
        os.close(writing)
    assert done.stderr == ""
    assert done.returncode in {0, 1}


def test_an_interruption_is_told_and_exits_1(gen: Gen, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_catalog", interrupted)
    done = gen("list")
    assert (done.code, done.out, done.err) == (1, "", "interrupted\n")


def test_a_plan_command_is_split_into_our_options_and_the_engines_flags() -> None:
    own, flags = arguments.split_flags(
        ["plan", "m.gguf", "-ngl", "99", "--card", "rtx-5070", "-c", "4096", "--json", "--gpus=2", "-fa", "on"]
    )
    assert own == ["plan", "--card", "rtx-5070", "--json", "--gpus=2", "m.gguf"]
    assert flags == ["-ngl", "99", "-c", "4096", "-fa", "on"]
    assert arguments.split_flags(["plan", "m.gguf", "--", "--card", "x"]) == (["plan", "m.gguf"], ["--card", "x"])
    assert arguments.split_flags(["build", "-x"]) == (["build", "-x"], [])


def test_the_options_of_plan_that_are_ours_are_those_its_parser_has() -> None:
    plan = dict(every_parser())["plan"]
    options = {option: 0 if action.nargs == 0 else 1 for action in plan._actions for option in action.option_strings}
    assert options == arguments.OWN_PLAN_OPTIONS


# --- documentation -------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_names_every_command_with_its_options(command: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"`gen {command}" in readme
    actions = dict(every_parser())[command]._actions
    options = {action.option_strings[-1] for action in actions if action.option_strings} - {"--help"}
    missing = sorted(option for option in options if not re.search(rf"{re.escape(option)}(?![\w-])", readme))
    assert missing == []
