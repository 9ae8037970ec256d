"""`gen new` of a repository of the Hub, played by the emulator."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from generator.build import build_guide
from generator.catalog import Catalog
from generator.claims.answers import Live, Outcome, answers
from generator.claims.questions import questions
from generator.errors import GenError, InputError, UnknownNameError
from generator.new.words import to_write
from generator.sources.github import GitHub
from generator.sources.hub import Hub, HubDenied, HubNotFound
from generator.sources.session import Session
from generator.sources.web import Web
from tests.emulator import HUB_TOKEN, Emulator, HubFile, Repository, day
from tests.new.conftest import New
from tests.new.files import CARD_KEYS, recorded, shards, stored

NAME = "someone/Some_Model-2-Mini-GGUF"
CARD = "rx-9070-xt"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, HubFile]:
    """Give the files of a repository: three quants, one of them in two shards and a folder, projectors, and files of other kinds."""
    metadata, rows = recorded("qwen35moe-mtp", tmp_path)
    first, second = shards(metadata, rows)
    return {
        "Model-2-Mini-Q4_K_M.gguf": stored(metadata, rows),
        "Q8_0/Model-2-Mini-Q8_0-00001-of-00002.gguf": first,
        "Q8_0/Model-2-Mini-Q8_0-00002-of-00002.gguf": second,
        "Model-2-Mini-UD-IQ2_M.gguf": HubFile(b"GGUF", 12_543_404_960, lfs=True),
        "mmproj-BF16.gguf": HubFile(b"GGUF", 899_283_500, lfs=True),
        "mmproj-F16.gguf": HubFile(b"GGUF", 899_283_488, lfs=True),
        "mtp-Model-2-Mini-Q8_0.gguf": HubFile(b"GGUF", 1000, lfs=True),
        "imatrix_unsloth.gguf": HubFile(b"GGUF", 1000, lfs=True),
        "Model-2-Mini-BF16-00001-of-00002.gguf": HubFile(b"GGUF", 1000, lfs=True),
        "odd name-Q2_K.gguf": HubFile(b"GGUF", 1000, lfs=True),
    }


@pytest.fixture
def full(repository: Repository, files: dict[str, HubFile]) -> Repository:
    """Give the repository with these files."""
    repository.commit({"README.md": "# Model 2 Mini\n", **files}, day("2026-11-30"))
    return repository


def test_a_repository_becomes_a_model_with_all_its_quants(full: Repository, make: New, project: Path) -> None:
    made = make(NAME, CARD)
    assert made.model == "model-2-mini"
    assert made.written == tuple(f"recipes/models/model-2-mini/{name}" for name in ("model.lock.json", "model.yml", f"{CARD}.yml"))
    catalog = Catalog.open(project)
    catalog.check()
    model = catalog.model("model-2-mini")
    assert (model.title, model.architecture, model.repository) == ("Model-2-Mini", "qwen35moe", NAME)
    assert (model.publisher, model.licence, model.base) == ("Vendor Labs", "Apache-2.0", "vendor/Model-2-Mini-Base")
    assert {name: quant.file for name, quant in model.quants.items()} == {
        "Q4_K_M": "Model-2-Mini-Q4_K_M.gguf",
        "Q8_0": "Q8_0/Model-2-Mini-Q8_0-00001-of-00002.gguf",
        "UD-IQ2_M": "Model-2-Mini-UD-IQ2_M.gguf",
    }
    assert {fact.key: fact.value for fact in model.sampling} == {
        "model.sampling.temp": 0.7,
        "model.sampling.top_p": 0.95,
        "model.sampling.top_k": 20,
        "model.sampling.repeat_penalty": 1.05,
    }
    assert model.projector is not None and model.projector.size is not None
    assert (model.projector.file, int(model.projector.size.quantity())) == ("mmproj-F16.gguf", 899_283_488)
    assert dict(made.origin.left_out) == {  # type: ignore[union-attr]
        "Model-2-Mini-BF16-00001-of-00002.gguf": "'Model-2-Mini-BF16-00002-of-00002.gguf' of its set is missing",
        "imatrix_unsloth.gguf": "the engine takes it for no model",
        "mtp-Model-2-Mini-Q8_0.gguf": "the engine takes it for no model",
        "odd name-Q2_K.gguf": "a spec cannot hold its name",
    }
    assert full.head is not None


def test_the_lock_has_sizes_and_hashes_as_the_hub_gives_them_and_the_header_that_the_recipe_needs(
    full: Repository, files: dict[str, HubFile], make: New, project: Path
) -> None:
    make(NAME, CARD)
    lock = Catalog.open(project).lock("model-2-mini").facts
    parts = [file.length for path, file in files.items() if path.startswith("Q8_0/")]
    sizes = {"q4_k_m": files["Model-2-Mini-Q4_K_M.gguf"].length, "q8_0": sum(parts), "ud-iq2_m": 12_543_404_960}
    assert {name: lock[f"file.{name}.size"].value for name in sizes} == sizes
    size = lock["file.q4_k_m.size"]
    assert full.head is not None
    assert (size.origin, size.source.revision, str(size.checked)) == ("fetched", full.head.id, "2026-12-01")
    assert lock["file.q4_k_m.sha256"].value == files["Model-2-Mini-Q4_K_M.gguf"].digest
    assert lock["header.q4_k_m.tensors"].origin == "header"
    assert len(lock["header.q4_k_m.tensors"].value) > 700  # type: ignore[arg-type]
    assert not lock.under("header.q8_0")


def test_it_builds_and_lints_and_says_what_the_repository_and_the_header_have(full: Repository, make: New, project: Path) -> None:
    made = make(NAME, CARD)
    page = next(iter(build_guide(Catalog.open(project), "model-2-mini", CARD).files.values()))
    assert f"hub/bin/hf download {NAME} \\\n    Model-2-Mini-Q4_K_M.gguf --local-dir ./model-2-mini\n" in page
    assert "top-p [0.95]" in page
    assert "vision projector, a second file" in page
    assert "## The draft head" in page
    assert made.about is not None and made.about.draft_blocks == 1
    assert full.name == NAME


def test_a_sharded_quant_is_read_and_downloaded_whole(full: Repository, files: dict[str, HubFile], make: New, project: Path) -> None:
    (recipe,) = make(NAME, CARD, quant="q8_0").recipes
    assert recipe.quant == "Q8_0"
    catalog = Catalog.open(project)
    whole = recorded("qwen35moe-mtp", project)[1]
    assert catalog.lock("model-2-mini").facts["header.q8_0.tensors"].value == whole
    page = next(iter(build_guide(catalog, "model-2-mini", CARD).files.values()))
    both = [path for path in files if path.startswith("Q8_0/")]
    assert f"hf download {NAME} \\\n    {both[0]} \\\n    {both[1]} --local-dir ./model-2-mini\n" in page
    assert "Together the files are [" in page
    assert full.name == NAME


def test_what_is_locked_of_the_files_is_what_asking_again_finds(full: Repository, make: New, project: Path) -> None:
    make(NAME, CARD)
    catalog = Catalog.open(project)
    asked = [each for each in questions(catalog, [("model-2-mini", CARD)]) if each.ask.kind == "hub_file"]
    with Session() as session, ThreadPoolExecutor(1) as executor:
        found = list(answers(asked, Live(Hub(session), GitHub(session), Web(session)), executor))
    known = catalog.lock("model-2-mini").facts
    assert len(found) == 6
    assert {answer.outcome for answer in found} == {Outcome.VALUE}
    assert {answer.key: answer.value for answer in found} == {answer.key: known[answer.key].value for answer in found}
    assert full.name == NAME


def test_a_shard_that_is_gone_ends_the_set(full: Repository, files: dict[str, HubFile], make: New, project: Path) -> None:
    make(NAME, CARD)
    full.commit({"Q8_0/Model-2-Mini-Q8_0-00002-of-00002.gguf": None}, day("2026-12-01"))
    asked = [each for each in questions(Catalog.open(project), [("model-2-mini", CARD)]) if each.key == "file.q8_0.size"]
    with Session() as session, ThreadPoolExecutor(1) as executor:
        (answer,) = answers(asked, Live(Hub(session), GitHub(session), Web(session)), executor)
    assert answer.outcome is Outcome.GONE
    assert "00002-of-00002.gguf is not in" in answer.detail
    assert files


def test_without_a_card_the_model_is_written_alone(full: Repository, make: New, project: Path) -> None:
    made = make(f"hf://{NAME}/Q8_0/Model-2-Mini-Q8_0-00002-of-00002.gguf", name="mini")
    assert made.written == ("recipes/models/mini/model.lock.json", "recipes/models/mini/model.yml")
    assert Catalog.open(project).model("mini").quant("Q8_0").fidelity == "header"
    assert full.name == NAME


def test_a_model_that_is_there_gets_a_recipe_and_nobody_is_asked(full: Repository, make: New, emulator: Emulator, project: Path) -> None:
    make(NAME, CARD)
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    emulator.reset_log()
    made = make(NAME, "rtx-3090")
    assert made.written == ("recipes/models/model-2-mini/rtx-3090.yml",)
    assert emulator.requests == []
    assert {path: path.read_bytes() for path in before} == before
    assert make("model-2-mini", "rtx-3090").written == ()
    with pytest.raises(InputError, match="neither the header of 'UD-IQ2_M' nor the model's shape is known"):
        make(NAME, "rtx-4070", quant="ud-iq2_m")
    assert full.name == NAME


def test_a_renamed_repository_is_written_under_its_name_now(full: Repository, make: New, emulator: Emulator, project: Path) -> None:
    emulator.scenario.rename_repository(NAME, "else/Where-GGUF")
    made = make(NAME)
    assert made.model == "where"
    assert Catalog.open(project).model("where").repository == "else/Where-GGUF"
    assert made.origin is not None and made.origin.old_name == NAME
    assert full.name == "else/Where-GGUF"


# --- what cannot be used -------------------------------------------------------------------------


def refused(make: New, project: Path, source: str, *cards: str, **more: str) -> GenError:
    """Give the error that ends a command, which has written nothing."""
    before = sorted(path for path in project.rglob("*"))
    with pytest.raises(GenError) as caught:
        make(source, *cards, **more)
    assert sorted(path for path in project.rglob("*")) == before
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("token", ["", HUB_TOKEN])
def test_a_repository_that_is_not_there_is_one_error(
    make: New, emulator: Emulator, project: Path, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    error = refused(make, project, "someone/Nothing-GGUF", CARD)
    assert isinstance(error, HubNotFound)
    assert (error.what, error.exit_code, error.where) == ("repository", 2, "hf://someone/Nothing-GGUF")
    assert emulator.requests


def test_a_private_repository_looks_like_none(full: Repository, make: New, project: Path) -> None:
    full.private = True
    assert "HF_TOKEN" in refused(make, project, NAME).remedy


def test_a_gated_repository_says_where_its_terms_are(full: Repository, make: New, project: Path) -> None:
    full.gated = "manual"
    error = refused(make, project, NAME, CARD)
    assert isinstance(error, HubDenied)
    assert error.exit_code == 1
    assert f"https://huggingface.co/{NAME}" in error.remedy


def test_a_repository_without_a_gguf_file_is_one_error(repository: Repository, make: New, project: Path) -> None:
    repository.commit({"README.md": "# M\n", "model.safetensors": b"1", "mmproj-F16.gguf": b"GGUF"}, day("2026-11-30"))
    error = refused(make, project, NAME)
    assert "no GGUF file of a model" in error.problem
    assert error.exit_code == 2


def test_a_repository_without_any_file_is_one_error(repository: Repository, make: New, project: Path) -> None:
    repository.commit({"README.md": "# M\n"}, day("2026-11-29"))
    repository.commit({"README.md": None}, day("2026-11-30"))
    assert "no file at all" in refused(make, project, NAME).problem


def test_a_revision_or_file_that_is_not_there_is_named(full: Repository, make: New, project: Path) -> None:
    revision = refused(make, project, f"{NAME}@v9")
    assert isinstance(revision, HubNotFound) and revision.what == "revision"
    file = refused(make, project, f"hf://{NAME}/Model-3-Q4_K_M.gguf")
    assert isinstance(file, HubNotFound) and "'Model-2-Mini-Q4_K_M.gguf'" in file.remedy
    assert full.name == NAME


def test_an_unknown_quant_names_the_near_ones(full: Repository, make: New, project: Path) -> None:
    error = refused(make, project, NAME, CARD, quant="Q4_K_S")
    assert isinstance(error, UnknownNameError) and "did you mean 'Q4_K_M'" in error.problem
    assert full.name == NAME


def test_an_unknown_card_is_told_before_anybody_is_asked(full: Repository, make: New, emulator: Emulator, project: Path) -> None:
    error = refused(make, project, NAME, "rx-9070-tx")
    assert "did you mean 'rx-9070-xt'" in error.problem
    assert emulator.requests == []
    assert full.name == NAME


def test_a_file_that_is_no_gguf_is_said_to_be_none(repository: Repository, make: New, project: Path) -> None:
    repository.commit({"x-Q4_K_M.gguf": HubFile(b"NOPE" * 100, lfs=True)}, day("2026-11-30"))
    assert "GGUF" in refused(make, project, NAME).problem


# --- other people's text -------------------------------------------------------------------------


def test_text_of_a_header_stays_text(repository: Repository, make: New, project: Path) -> None:
    hostile = {
        **CARD_KEYS,
        "general.organization": 'Labs"\nlicence: MIT # {{ 7*7 }} \u202e<script>alert(1)</script> {claim x} [a](javascript:b) | `c`',
        "general.license": "other",
        "general.license.name": "own: [licence], {of} ours\u2028",
        "general.base_model.0.repo_url": "https://huggingface.co/../../etc/passwd",
        "general.sampling.temp": float("nan"),
    }
    metadata, rows = recorded("qwen3-8b", project, hostile)
    repository.card = {"license": ["mit"], "base_model": [{"a": 1}, "../../x"]}
    repository.commit({"Model-2-Mini-Q4_K_M.gguf": stored(metadata, rows)}, day("2026-11-30"))
    make(NAME, "rtx-3090")
    catalog = Catalog.open(project)
    model = catalog.model("model-2-mini")
    assert model.publisher.startswith('Labs" licence: MIT # {{ 7*7 }} <script>')
    assert (model.licence, model.base) == ("own: [licence], {of} ours", "")
    assert [fact.key for fact in model.sampling] == ["model.sampling.top_p", "model.sampling.top_k", "model.sampling.repeat_penalty"]
    page = next(iter(build_guide(catalog, "model-2-mini", "rtx-3090").files.values()))
    assert "<script" not in page and "{{" not in page


@pytest.mark.parametrize("name", ["../x", "a/b", "A", "", ".hidden", "-x", "x..y", "x y", "é"])
def test_a_name_is_never_more_than_a_name(full: Repository, make: New, project: Path, name: str) -> None:
    if name:
        assert "--name" in refused(make, project, NAME, name=name).remedy
    assert full.name == NAME


def test_what_is_left_for_a_person_is_told(full: Repository, make: New) -> None:
    said = "\n".join(what for _, what in to_write(make(NAME, CARD)))
    assert "`notes`: overview" in said and "one of 2 was taken, mmproj-F16.gguf" in said and "ollama_tag" in said
    assert "`licence`" not in said and "`sampling`" not in said
    assert full.name == NAME
