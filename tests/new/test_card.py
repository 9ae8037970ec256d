"""`gen new --card` against pages in the shape of a vendor's table and of a database's entry."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from generator.catalog import Catalog
from generator.cli import main
from generator.errors import InputError
from generator.facts import Ask
from generator.new.card import AskedCard, MadeCard, made_as_dict, made_as_text, new_card
from generator.sources.errors import SourceNotFound
from generator.sources.validators import Validators
from generator.sources.web import Web
from tests.emulator import Clock, Emulator, day
from tests.emulator import Page as Served
from tests.sources.nights import new_session

SAMPLE = Path(__file__).parents[1] / "catalogue"
TODAY = date(2026, 12, 1)
VENDOR = "https://www.nvidia.com/en-us/geforce/graphics-cards/50-series/rtx-5070-family/"
DATABASE = "https://www.techpowerup.com/gpu-specs/geforce-rtx-3060-12-gb.c3682"

VENDORS_TABLE = """
<html><head><title>GeForce RTX 5070 Family | NVIDIA</title></head><body><h1>GeForce RTX 5070 Family</h1>
<table><thead><tr><th colspan=2></th><th>GeForce RTX 5070 Ti</th><th>GeForce RTX 5070</th></tr></thead>
<tr><td rowspan=3>GPU Engine Specs:</td><td>NVIDIA CUDA<sup>&reg;</sup> Cores</td><td>8960</td><td>6144</td></tr>
<tr><td>Boost Clock (GHz)</td><td>2.45</td><td>2.51</td></tr>
<tr><td>Base Clock (GHz)</td><td>2.30</td><td>2.33</td></tr>
<tr><td rowspan=2>Memory Specs:</td><td>Standard Memory Config</td><td>16 GB GDDR7</td><td>12 GB GDDR7</td></tr>
<tr><td>Memory Interface Width</td><td>256-bit</td><td>192-bit</td></tr>
<tr><td>Technology Support:</td><td>PCI Express Gen 5</td><td>Yes</td><td>Yes</td></tr>
<tr><td>Display Support:</td><td>Maximum Digital Resolution (1)</td><td>display bandwidth</td><td>display bandwidth</td></tr>
<tr><td rowspan=2>Card Power</td><td>Total Graphics Power (W)</td><td>300</td><td>250</td></tr>
<tr><td>Required System Power (W) (5)</td><td>750</td><td>650</td></tr></table></body></html>
"""

ENTRY = """
<title>NVIDIA GeForce RTX 3060 12 GB Specs | TechPowerUp GPU Database</title><h1>NVIDIA GeForce RTX 3060 12 GB</h1>
<dl><dt>Graphics Processor</dt><dd><a href="/gpu">GA106</a></dd></dl><dl><dt>Architecture</dt><dd>Ampere</dd></dl>
<dl><dt>Release Date</dt><dd>Jan 12th, 2021</dd></dl><dl><dt>Bus Interface</dt><dd>PCIe 4.0 x16</dd></dl>
<dl><dt>Memory Clock</dt><dd>1875 MHz<br>15 Gbps effective</dd></dl><dl><dt>Memory Size</dt><dd>12 GB</dd></dl>
<dl><dt>Memory Type</dt><dd>GDDR6</dd></dl><dl><dt>Memory Bus</dt><dd>192 bit</dd></dl><dl><dt>Bandwidth</dt><dd>360.0 GB/s</dd></dl>
<dl><dt>TDP</dt><dd>170 W</dd></dl><dl><dt>Suggested PSU</dt><dd>450 W</dd></dl><dl><dt>CUDA</dt><dd>8.6</dd></dl>
"""

Make = Callable[..., MadeCard]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLE / "recipes", tmp_path / "recipes")
    return tmp_path


@pytest.fixture(scope="module")
def served() -> Iterator[Emulator]:
    with Emulator(clock=Clock(day("2026-12-01"))) as running:
        running.scenario.pages[VENDOR] = Served(VENDORS_TABLE)
        running.scenario.pages[DATABASE] = Served(ENTRY)
        yield running


@pytest.fixture
def make(root: Path, served: Emulator) -> Make:
    """Make a card from a page of the emulated web."""

    def run(address: str, column: str = "", name: str = "", body: str = "") -> MadeCard:
        if body:
            served.scenario.pages[address] = Served(body)
        with new_session(served, Validators()) as session:
            return new_card(Catalog.open(root), Web(session), AskedCard(address, column, name), TODAY)

    return run


def values(root: Path, name: str) -> dict[str, object]:
    facts = Catalog.open(root).card(name).facts
    return {fact.key.removeprefix("card."): f"{fact.value} {fact.unit}".strip() for fact in facts if fact.known}


def test_a_databases_entry_gives_a_card_that_loads(make: Make, root: Path) -> None:
    made = make(DATABASE)
    assert (made.name, made.path, made.fresh, made.not_published) == ("rtx-3060-12gb", "recipes/cards/rtx-3060-12gb.yml", True, ())
    card = Catalog.open(root).card("rtx-3060-12gb")
    assert (card.title, card.full_name, card.vendor) == ("RTX 3060 12 GB", "GeForce RTX 3060 12 GB", "nvidia")
    assert (card.architecture, card.chip, card.backend, card.compute_capability) == ("Ampere", "GA106", "cuda", "8.6")
    assert values(root, "rtx-3060-12gb") == {
        "memory": "12 GiB",
        "usable": "11264 MiB",
        "memory_type": "GDDR6",
        "memory_bus": "192 bit",
        "memory_clock": "1875 MHz",
        "memory_bandwidth": "360 GB/s",
        "board_power": "170 W",
        "system_power": "450 W",
        "pcie_generation": "4",
        "pcie_lanes": "16",
        "compute_capability": "8.6",
        "released": "2021-01-12",
    }
    memory, usable = card.facts["card.memory"], card.facts["card.usable"]
    assert (memory.source.url, memory.checked, usable.origin) == (DATABASE, TODAY, "declared")


def test_one_column_of_a_vendors_table_is_one_card(make: Make, root: Path) -> None:
    make(VENDOR, "GeForce RTX 5070")
    make(VENDOR, "GeForce RTX 5070 Ti")
    small, large = values(root, "rtx-5070"), values(root, "rtx-5070-ti")
    assert [small[key] for key in ("memory", "memory_type", "memory_bus", "board_power")] == ["12 GiB", "GDDR7", "192 bit", "250 W"]
    assert [large[key] for key in ("memory", "memory_type", "memory_bus", "board_power")] == ["16 GiB", "GDDR7", "256 bit", "300 W"]
    assert [small[key] for key in ("cuda_cores", "boost_clock", "base_clock", "system_power")] == ["6144", "2.51 GHz", "2.33 GHz", "650 W"]


def test_a_vendors_own_table_says_what_is_not_published_and_how_to_look_again(make: Make, root: Path) -> None:
    made = make(VENDOR, "GeForce RTX 5070")
    assert made.not_published == ("memory_speed", "memory_bandwidth", "pcie_lanes")
    facts = Catalog.open(root).card("rtx-5070").facts
    for name in made.not_published:
        assert (facts[f"card.{name}"].status, facts[f"card.{name}"].source.url) == ("not_published", VENDOR)
    assert facts["card.memory_bandwidth"].ask == Ask.of("web", address=VENDOR, pattern="memory bandwidth", control="GDDR7")
    assert "memory_bandwidth" not in values(root, "rtx-5070")


def test_elsewhere_silence_says_nothing(make: Make, root: Path) -> None:
    made = make("https://example.org/cards", "GeForce RTX 5070", body=VENDORS_TABLE)
    assert made.not_published == ()
    assert "card.memory_bandwidth" not in Catalog.open(root).card("rtx-5070").facts
    assert any(row.startswith("memory_bandwidth:") for row in made.to_write)


def test_without_a_compute_capability_a_card_is_no_cuda_card_yet(make: Make, root: Path) -> None:
    made = make(VENDOR, "GeForce RTX 5070")
    assert Catalog.open(root).card("rtx-5070").backend == "vulkan"
    assert any(row.startswith("compute_capability:") and "cuda" in row for row in made.to_write)


def test_a_name_of_ones_own_is_kept(make: Make, root: Path) -> None:
    assert make(DATABASE, name="my-card").path == "recipes/cards/my-card.yml"
    assert Catalog.open(root).card("my-card").title == "RTX 3060 12 GB"


def test_made_again_it_is_unchanged_and_an_edited_file_is_not_written_over(make: Make, root: Path) -> None:
    path = root / make(DATABASE).path
    assert make(DATABASE).fresh is False
    path.write_text(path.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    with pytest.raises(InputError, match="says something else"):
        make(DATABASE)
    assert path.read_text(encoding="utf-8").endswith("# mine\n")


@pytest.mark.parametrize(
    ("address", "vendor", "backend"),
    [
        ("https://www.amd.com/en/products/graphics/rx-9070-xt.html", "amd", "rocm"),
        ("https://www.intel.com/products/b580", "intel", "sycl"),
        ("https://support.apple.com/en-us/1", "apple", "metal"),
    ],
)
def test_a_vendors_site_tells_the_vendor(make: Make, root: Path, address: str, vendor: str, backend: str) -> None:
    made = make(address, body="<h1>Board 9000 Specifications</h1><dl><dt>Memory Size</dt><dd>16 GB</dd></dl>")
    card = Catalog.open(root).card(made.name)
    assert (card.vendor, card.backend, card.unified, card.full_name) == (vendor, backend, vendor == "apple", "Board 9000")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<h1>GeForce RTX 1</h1><p>12 GB</p>", "no table of this page has a row that is known"),
        ("<h1>GeForce RTX 1</h1><dl><dt>TDP</dt><dd>170 W</dd></dl>", "the table does not say how much memory the card has"),
        ("<h1>Wonder 1</h1><dl><dt>Memory</dt><dd>12 GB</dd></dl>", "who makes 'Wonder 1' is not told by its name"),
        ("<dl><dt>Memory</dt><dd>12 GB</dd></dl>", "the page does not say what the card is called"),
        (f"<h1>GeForce {'x' * 80}</h1><dl><dt>Memory</dt><dd>12 GB</dd></dl>", "the page does not say what the card is called"),
    ],
)
def test_a_page_without_a_card_is_refused_and_nothing_is_written(make: Make, root: Path, body: str, problem: str) -> None:
    before = sorted((root / "recipes").rglob("*"))
    with pytest.raises(InputError) as caught:
        make("https://example.org/card", body=body)
    assert caught.value.problem == problem
    assert sorted((root / "recipes").rglob("*")) == before


@pytest.mark.parametrize("name", ["../../evil", "Upper", "a/b", ".hidden"])
def test_a_name_that_is_no_file_name_is_refused(make: Make, name: str) -> None:
    with pytest.raises(InputError, match="is no name for a card"):
        make(DATABASE, name=name)


def test_what_a_page_calls_itself_is_text_and_nothing_else(make: Make, root: Path) -> None:
    evil = 'GeForce RTX 9 "}: [x] {{ 7 * 7 }} #'
    made = make("https://example.org/card", body=f"<h1>{evil}</h1><dl><dt>Memory</dt><dd>12 GB</dd></dl>")
    assert made.name == "rtx-9-x-7-7"
    assert Catalog.open(root).card(made.name).full_name == evil


def test_a_page_that_is_not_there_is_told(make: Make) -> None:
    with pytest.raises(SourceNotFound):
        make("https://www.nvidia.com/nothing")


def test_what_was_made_is_said_in_words_and_as_json(make: Make) -> None:
    made = make(VENDOR, "GeForce RTX 5070")
    lines = list(made_as_text(made))
    assert lines[0] == "recipes/cards/rtx-5070.yml"
    assert any(line.split() == ["memory_bus", "192", "bit"] for line in lines)
    assert any(line.split() == ["memory_bandwidth", "not", "published"] for line in lines)
    rows = made_as_dict(made)
    assert (rows["card"], rows["written"], rows["not_published"]) == ("rtx-5070", True, ["memory_speed", "memory_bandwidth", "pcie_lanes"])


# --- the command ---------------------------------------------------------------------------------


def test_the_command_writes_the_card_and_says_what_is_left(
    root: Path, served: Emulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEN_ROOT", str(root))
    monkeypatch.setattr("generator.nightly.Session", lambda validators: new_session(served, validators))
    assert main(["new", "--card", VENDOR, "--column", "GeForce RTX 5070", "--now", "2026-12-01", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == "recipes/cards/rtx-5070.yml"
    assert Catalog.open(root).card("rtx-5070").facts["card.memory"].checked == TODAY


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "gen new --card https://"),
        (["--card", "rtx-5070"], "--card rtx-5070 is no address"),
        (["--card", VENDOR, "--card", DATABASE], "made from one page"),
        (["someone/model", "--card", VENDOR, "--column", "RTX 5070"], "gen new --card ADDRESS, without a source"),
        (["--card", VENDOR, "--quant", "Q4_K_M"], "a card has no --quant"),
        (["--card", "ftp://example.org/card"], "--card ftp://example.org/card is no address"),
    ],
)
def test_what_names_neither_a_model_nor_one_page_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", *words]) == 2
    assert said in capsys.readouterr().err
