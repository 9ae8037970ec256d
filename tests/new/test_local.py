"""`gen new` of a GGUF file of one's own, and what every use of it has in common."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from generator.build import build_guide
from generator.catalog import Catalog
from generator.cli import main
from generator.errors import GenError, InputError, MissingFileError, UnsupportedArchitecture
from generator.facts import write_whole
from generator.new import command
from generator.new.words import to_write
from tests.emulator.gguf import header_bytes, plain_header
from tests.new.conftest import New
from tests.new.files import KEPT, heads, recorded, unpacked

CARDS = ("rtx-3060-12gb", "apple-m4-pro-24gb")
"""A board on which what does not fit is offloaded, and a machine whose memory is one."""


@pytest.mark.parametrize("name", heads())
def test_every_recorded_header_becomes_pages_that_build_and_lint(name: str, make: New, project: Path, tmp_path: Path) -> None:
    made = make(unpacked(heads()[name], tmp_path, name), *CARDS, name="mine")
    catalog = Catalog.open(project)
    for recipe in made.recipes:
        page = next(iter(build_guide(catalog, "mine", recipe.card).files.values()))
        assert ("does not run as set up here" not in page) == recipe.choice.fits
        assert ("No repository is known that has this file" in page) == recipe.choice.fits
        assert "hf download" not in page


@pytest.mark.skipif(not (Path(__file__).resolve().parents[3] / "shared").is_dir(), reason="the whole record is not beside the project")
def test_all_headers_of_the_record_are_tried() -> None:
    assert len(heads()) == 32


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give the recorded header of Qwen3-8B, cut off at its tensor data."""
    return unpacked(KEPT / "qwen3-8b.gguf.head", tmp_path, "Qwen3-8B-Q6_K")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Give the same as a file of its whole length."""
    metadata, rows = recorded("qwen3-8b", tmp_path, {"general.name": "Qwen Three 8B"})
    path = tmp_path / "some" / "qwen3.gguf"
    path.parent.mkdir()
    path.write_bytes(header_bytes(metadata, rows))
    os.truncate(path, path.stat().st_size + 6_719_942_656)  # what index.json of the record has for tensor_bytes
    return path


def test_a_whole_file_is_as_long_as_it_is_and_a_bare_header_as_its_tensors_end(make: New, project: Path, file: Path, whole: Path) -> None:
    make(file, name="bare")
    make(whole)
    catalog = Catalog.open(project)
    assert catalog.lock("bare").facts["file.q6_k.size"].value == 6_719_966_944  # total_bytes of the record
    made = catalog.lock("qwen-three-8b").facts["file.q6_k.size"]
    assert (made.value, made.origin) == (whole.stat().st_size, "header")


def test_a_file_that_says_its_quant_nowhere_in_its_name_says_it_by_number(make: New, project: Path, whole: Path) -> None:
    make(whole, name="mine")
    assert list(Catalog.open(project).model("mine").quants) == ["Q6_K"]  # general.file_type 18 is MOSTLY_Q6_K in llama.h


def test_a_model_without_a_repository_is_never_asked_after(make: New, project: Path, file: Path) -> None:
    from generator.claims.questions import questions

    made = make(file, CARDS[0], name="mine")
    asked = [each.key for each in questions(Catalog.open(project), [("mine", CARDS[0])])]
    assert not [key for key in asked if key.startswith(("file.", "model."))]
    assert any(what.startswith("`repository`") for _, what in to_write(made))
    assert any(what.startswith("`sampling`") for _, what in to_write(made))


def test_a_draft_head_of_a_file_has_its_price_on_the_page(make: New, project: Path, tmp_path: Path) -> None:
    made = make(unpacked(heads()["qwen35moe-mtp"], tmp_path, "x-Q4_K_M"), CARDS[0], name="mine")
    assert made.about is not None and made.about.draft_blocks == 1
    assert "## The draft head" in next(iter(build_guide(Catalog.open(project), "mine", CARDS[0]).files.values()))


# --- what is written, and what is not ------------------------------------------------------------


def contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_recipe_that_says_something_else_is_not_written_over(make: New, project: Path, file: Path) -> None:
    make(file, CARDS[0], name="mine")
    recipe = project / "recipes" / "models" / "mine" / f"{CARDS[0]}.yml"
    recipe.write_text(recipe.read_text() + "# mine\n")
    before = contents(project)
    with pytest.raises(InputError, match="says something else") as caught:
        make("mine", *CARDS)
    assert caught.value.where == f"recipes/models/mine/{CARDS[0]}.yml"
    assert contents(project) == before


def test_the_same_again_changes_nothing(make: New, project: Path, file: Path) -> None:
    make(file, CARDS[0], name="mine")
    before = contents(project)
    again = make("mine", CARDS[0])
    assert again.written == ()
    assert f"recipes/models/mine/{CARDS[0]}.yml" in again.unchanged
    assert contents(project) == before


def test_the_name_of_another_model_is_not_taken(make: New, project: Path, file: Path) -> None:
    before = contents(project)
    with pytest.raises(InputError, match="a model called 'apodex-mini' is in the catalogue") as caught:
        make(file, name="apodex-mini")
    assert "--name" in caught.value.remedy
    assert contents(project) == before


def test_files_that_cannot_all_be_written_are_none(make: New, project: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> bool:
        if path.is_relative_to(project) and path.name == "model.yml":
            raise OSError(28, "No space left on device", str(path))
        return write_whole(path, text)

    monkeypatch.setattr(command, "write_whole", full)
    before = contents(project)
    with pytest.raises(OSError, match="No space left"):
        make(file, name="mine")
    assert contents(project) == before
    assert not (project / "recipes" / "models" / "mine").exists()


def test_a_search_that_fails_writes_nothing(make: New, project: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise GenError("no")

    monkeypatch.setattr(command, "choose", fails)
    before = contents(project)
    with pytest.raises(GenError, match="no"):
        make(file, CARDS[0], name="mine")
    assert contents(project) == before


# --- what cannot be used -------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["nothing.gguf", "./nothing", "/tmp/nothing.gguf", "folder/nothing.gguf", "nothing", "a/b/c.head"])
def test_a_file_that_is_not_there_is_one_error(make: New, source: str) -> None:
    with pytest.raises(MissingFileError) as caught:
        make(source)
    assert caught.value.exit_code == 2
    assert "owner/repository" in caught.value.remedy


def test_an_architecture_without_rules_is_refused(make: New, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(plain_header("nosucharch"))
    with pytest.raises(UnsupportedArchitecture):
        make(path)


@pytest.mark.parametrize("keys", [{"general.type": "adapter"}, {"general.architecture": "../../etc"}], ids=str)
def test_a_file_that_holds_no_model_is_refused(make: New, tmp_path: Path, keys: dict[str, str]) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(header_bytes({"general.architecture": "llama", **keys}, []))
    with pytest.raises(InputError, match=r"no model is in it|no name of an architecture"):
        make(path)


def test_a_name_that_no_spec_can_hold_is_refused(make: New, tmp_path: Path, file: Path) -> None:
    odd = tmp_path / "two words.gguf.head"
    shutil.copy(file, odd)
    with pytest.raises(InputError, match="cannot be named in a spec"):
        make(odd)


# --- the command ---------------------------------------------------------------------------------


def test_the_command_says_what_it_wrote_and_what_to_do_next(
    project: Path, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.delenv("GEN_ROOT", raising=False)
    words = ["new", str(file), "--name", "mine", "--card", CARDS[0], "--card", CARDS[1], "--quant", "q6_k", "--now", "2026-12-01"]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith("recipes/models/mine/apple-m4-pro-24gb.yml\nrecipes/models/mine/model.lock.json\n")
    assert "  gen build mine rtx-3060-12gb\n" in said.out
    assert "what a person should still write:\n" in said.out
    assert main([*words, "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["problem"].startswith("a model called 'mine'")
    assert main(["new", "mine", "--card", "rtx-3090", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows["written"] == ["recipes/models/mine/rtx-3090.yml"]
    assert rows["recipes"][0]["settings"]["n_gpu_layers"] == "all"
    assert rows["next"] == ["gen build mine rtx-3090"]


# --- a model of which no tensor table is known ---------------------------------------------------


@pytest.mark.parametrize(
    ("model", "card"),
    [
        ("glm-4.7-flash", "rtx-3060-12gb"),
        ("qwen3-8b", "rtx-4070"),
        ("mistral-small-3.2-24b", "rtx-3060-12gb"),
        ("kimi-linear-48b-a3b", "rtx-3090"),
    ],
)
def test_settings_for_an_estimate_fit_at_its_upper_end(make: New, project: Path, model: str, card: str) -> None:
    (made,) = make(model, card).recipes
    assert made.choice.fits
    page = next(iter(build_guide(Catalog.open(project), model, card).files.values()))
    assert "[an estimate](#estimate)" not in page.partition("```")[0]  # the sentences that say it is open, or that it does not run
    assert "**An estimate, and how good.**" in page
