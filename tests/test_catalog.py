from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest

from generator.catalog import Catalog, Row, UnknownEntryError, find_root
from generator.errors import InputError, MissingFileError, SpecErrors, UnknownNameError
from generator.facts import Fact, Facts, Lock, Source

SAMPLE = Path(__file__).parent / "catalogue"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a copy of the sample catalogue that a test may change."""
    shutil.copytree(SAMPLE / "recipes", tmp_path / "recipes")
    size = Fact("file.q4_k_m.size", 1000, "B", source=Source("https://example.org"), checked=date(2026, 1, 2))
    Lock("tiny", Facts([size])).write(tmp_path / "recipes/models/tiny/model.lock.json")
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_names_are_found_in_order(root: Path) -> None:
    shutil.copy(root / "recipes/issues/llama.cpp/7.md", root / "recipes/issues/llama.cpp/10.md")
    catalog = Catalog.open(root)
    assert catalog.models() == ["tiny"]
    assert catalog.cards() == ["plain-16", "tiny-8"]
    assert catalog.recipes() == [("tiny", "tiny-8")]
    assert catalog.engines() == [("llama.cpp", "b100")]
    assert catalog.issues() == ["llama.cpp#7", "llama.cpp#10"]


def test_a_name_gives_its_spec(root: Path) -> None:
    catalog = Catalog.open(root)
    assert catalog.model("tiny").title == "Tiny 1"
    assert catalog.card("tiny-8").title == "Tiny 8"
    assert catalog.recipe("tiny", "tiny-8").quant == "Q4_K_M"
    assert catalog.engine("llama.cpp", "b100").build == "b100"
    assert catalog.issue("llama.cpp#7").number == 7
    assert catalog.lock("tiny").facts["file.q4_k_m.size"].value == 1000


def test_a_spec_is_read_once_and_others_not_at_all(root: Path) -> None:
    catalog = Catalog.open(root)
    first = catalog.recipe("tiny", "tiny-8")
    (root / "recipes/cards/plain-16.yml").write_text("[broken", encoding="utf-8")
    (root / "recipes/models/tiny/tiny-8.yml").write_text("[broken", encoding="utf-8")
    assert catalog.recipe("tiny", "tiny-8") is first
    assert catalog.card("tiny-8").name == "tiny-8"


def test_messages_name_files_from_the_project_folder(root: Path) -> None:
    change(root / "recipes/cards/tiny-8.yml", "vendor: nvidia", "vendor: nvidea")
    with pytest.raises(SpecErrors) as caught:
        Catalog.open(root).card("tiny-8")
    assert str(caught.value) == "recipes/cards/tiny-8.yml:5: vendor: 'nvidea' is none of its words\n  did you mean 'nvidia'?"


@pytest.mark.parametrize("name", ["tiny8", "TINY-8", "Tiny 8", "tiny_8", "tiny-88"])
def test_an_unknown_card_suggests_the_near_ones(root: Path, name: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        Catalog.open(root).card(name)
    assert caught.value.problem == f"no card is called '{name}'; did you mean 'tiny-8'?"
    assert caught.value.near == ["tiny-8"]
    assert caught.value.remedy == "`gen list cards` shows all"
    assert caught.value.exit_code == 2


def test_a_name_near_to_nothing_is_answered_with_what_there_is(root: Path) -> None:
    with pytest.raises(UnknownEntryError, match="no card is called 'zzz'; known: 'plain-16', 'tiny-8'"):
        Catalog.open(root).card("zzz")


@pytest.mark.parametrize(
    "name",
    [
        "../cards/tiny-8",
        "../../cards/tiny-8",
        "../models/tiny",
        "tiny/../tiny",
        "/etc/passwd",
        "..",
        ".",
        "",
        "a/../tiny-8",
        "tiny-8\n",
        "TINY-8",
        "con\x00",
    ],
)
def test_a_name_is_checked_before_it_becomes_a_path(root: Path, name: str) -> None:
    catalog = Catalog.open(root)
    for ask in (
        lambda: catalog.card(name),
        lambda: catalog.model(name),
        lambda: catalog.lock(name),
        lambda: catalog.recipe("tiny", name),
        lambda: catalog.recipe(name, "tiny-8"),
        lambda: catalog.engine(name, "b100"),
        lambda: catalog.engine("llama.cpp", name),
        lambda: catalog.issue(name),
        lambda: catalog.issue(f"{name}#7"),
    ):
        with pytest.raises(UnknownNameError):
            ask()


def test_the_recipe_that_is_missing_is_named_by_what_is_missing(root: Path) -> None:
    catalog = Catalog.open(root)
    with pytest.raises(UnknownNameError, match="no model is called 'tinny'; did you mean 'tiny'"):
        catalog.recipe("tinny", "tiny-8")
    with pytest.raises(UnknownNameError, match="no card is called 'tiny8'; did you mean 'tiny-8'"):
        catalog.recipe("tiny", "tiny8")
    with pytest.raises(UnknownNameError, match="no recipe of 'tiny' is called 'plain-16'; known: 'tiny-8'"):
        catalog.recipe("tiny", "plain-16")
    with pytest.raises(UnknownNameError, match="no card is called 'model'"):
        catalog.recipe("tiny", "model")
    with pytest.raises(UnknownNameError, match=r"no build of 'llama.cpp' is called 'b101'; did you mean 'b100'"):
        catalog.engine("llama.cpp", "b101")
    with pytest.raises(UnknownNameError, match=r"no issue is called 'llama\.cpp#8'; did you mean 'llama\.cpp#7'"):
        catalog.issue("llama.cpp#8")


def test_a_missing_lock_says_how_to_write_it(root: Path) -> None:
    (root / "recipes/models/tiny/model.lock.json").unlink()
    with pytest.raises(MissingFileError, match="the lock does not exist"):
        Catalog.open(root).lock("tiny")
    Catalog.open(root).check()


def test_a_catalogue_without_problems_passes(root: Path) -> None:
    Catalog.open(root).check()


def test_the_projects_own_catalogue_passes() -> None:
    Catalog.open(SAMPLE.parents[1]).check()


def test_a_check_tells_the_problems_of_all_files_at_once(root: Path) -> None:
    recipes = root / "recipes"
    change(recipes / "cards/plain-16.yml", "vendor: amd", "vendor: ati")
    change(recipes / "issues/llama.cpp/7.md", "severity: red", "severity: blue")
    change(recipes / "models/tiny/model.lock.json", '"value": 1000', '"value": 1001')
    change(recipes / "models/tiny/tiny-8.yml", "quant: Q4_K_M", "quant: Q5_K_M")
    (recipes / "cards/late.yaml").write_text("card: late\n", encoding="utf-8")
    with pytest.raises(SpecErrors) as caught:
        Catalog.open(root).check()
    found = [(problem.file, problem.line, problem.path) for problem in caught.value.problems]
    assert found == [
        ("recipes/cards/late.yaml", 0, ""),
        ("recipes/cards/plain-16.yml", 4, "vendor"),
        ("recipes/issues/llama.cpp/7.md", 5, "severity"),
        ("recipes/models/tiny/model.lock.json", 0, ""),
        ("recipes/models/tiny/tiny-8.yml", 3, "quant"),
    ]
    assert "did you mean 'Q4_K_M'" in caught.value.problems[-1].message
    assert "digest" in caught.value.problems[-2].message


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        ("quant: Q4_K_M", "quant: Q4_K_L", "quant", "no quant is called 'Q4_K_L'; did you mean 'Q4_K_M'?"),
        ("engine: llama.cpp", "engine: llama-cpp", "engine", "no engine is called 'llama-cpp'; did you mean 'llama.cpp'?"),
        ("build: b100", "build: b1000", "build", "no build of 'llama.cpp' is called 'b1000'; did you mean 'b100'?"),
        ("[llama.cpp#7]", "[llama.cpp#7, llama.cpp#99]", "issues[1]", "no issue is called 'llama.cpp#99'"),
        ("  n_ctx: 4096\n", "  n_batch: 4096\n", "settings.n_batch", "no flag is called 'n_batch'"),
    ],
)
def test_a_recipe_that_refers_to_nothing_is_told_at_its_line(root: Path, old: str, new: str, path: str, message: str) -> None:
    file = root / "recipes/models/tiny/tiny-8.yml"
    change(file, old, new)
    with pytest.raises(SpecErrors) as caught:
        Catalog.open(root).check()
    (problem,) = caught.value.problems
    assert (problem.file, problem.path) == ("recipes/models/tiny/tiny-8.yml", path)
    assert problem.message.startswith(message)
    key = path.partition("[")[0].rpartition(".")[2]
    assert file.read_text(encoding="utf-8").split("\n")[problem.line - 1].strip().startswith(f"{key}:")


def test_a_recipe_for_a_card_without_file_is_told(root: Path) -> None:
    (root / "recipes/cards/tiny-8.yml").unlink()
    with pytest.raises(SpecErrors) as caught:
        Catalog.open(root).check()
    assert [problem.path for problem in caught.value.problems] == ["card"]


def test_a_listing_has_a_row_for_each_spec(root: Path) -> None:
    catalog = Catalog.open(root)
    assert catalog.listing("cards") == [
        Row("card", "plain-16", "Example Plain 16", "amd RDNA, 16 GiB"),
        Row("card", "tiny-8", "Example Tiny 8", "nvidia Ampere, 8 GiB"),
    ]
    assert [row.as_dict() for row in catalog.listing("recipes")] == [
        {"kind": "recipe", "name": "tiny tiny-8", "title": "Tiny 1 on Tiny 8", "detail": "Q4_K_M, llama.cpp b100"}
    ]
    assert [(row.kind, row.name) for row in catalog.listing()] == [
        ("model", "tiny"),
        ("card", "plain-16"),
        ("card", "tiny-8"),
        ("recipe", "tiny tiny-8"),
        ("engine", "llama.cpp b100"),
        ("issue", "llama.cpp#7"),
    ]
    assert catalog.listing("issues")[0].detail == "red crash, merged"
    with pytest.raises(UnknownNameError, match="no kind of spec is called 'card'; did you mean 'cards'"):
        catalog.listing("card")


def test_the_project_folder_is_found_from_below(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEN_ROOT", raising=False)
    monkeypatch.chdir(root / "recipes" / "cards")
    assert find_root() == root
    assert Catalog.open().cards() == ["plain-16", "tiny-8"]


def test_the_project_folder_may_be_named_by_a_variable(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    monkeypatch.delenv("GEN_ROOT", raising=False)
    with pytest.raises(InputError, match="no folder recipes/ here or above") as caught:
        find_root()
    assert "GEN_ROOT" in caught.value.remedy
    monkeypatch.setenv("GEN_ROOT", str(root))
    assert find_root() == root
    monkeypatch.setenv("GEN_ROOT", str(elsewhere))
    with pytest.raises(InputError, match="no folder recipes/ in GEN_ROOT"):
        find_root()
    with pytest.raises(InputError, match="no folder recipes/ in it"):
        Catalog.open(elsewhere)
