"""Cards of a chip with several sizes of memory, and the cards of the catalogue against the facts they were made from."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from generator.catalog import Catalog, UnknownEntryError
from generator.errors import Problem, SpecErrors
from generator.facts import Source
from generator.specs import load_card

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "facts" / "cards.yml"

SIZED = """\
card: chip-1
title: Chip 1
full_name: Example Chip 1
vendor: apple
architecture: Example
backend: metal
unified: true
source: https://example.org/chips
checked: 2026-01-02
sizes:
  16gb:
    memory: 16 GiB
    usable: {value: 10 GiB, origin: declared, note: what is left}
    memory_bandwidth: 153 GB/s
  24gb:
    memory: {value: 24 GiB, source: "https://example.org/24", checked: 2026-01-03}
    usable: {value: 16 GiB, origin: declared, note: what is left}
    memory_bandwidth: 170 GB/s
facts:
  gpu_cores: 12
"""


def written(folder: Path, text: str, name: str = "chip-1") -> Path:
    path = folder / "recipes" / "cards" / f"{name}.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def problems(folder: Path, old: str, new: str) -> tuple[Problem, ...]:
    assert SIZED.count(old) == 1
    with pytest.raises(SpecErrors) as caught:
        load_card(written(folder, SIZED.replace(old, new)), "chip-1.yml")
    return caught.value.problems


# --- sizes ---------------------------------------------------------------------------------------


def test_a_chip_with_sizes_is_a_card_for_each(tmp_path: Path) -> None:
    written(tmp_path, SIZED)
    catalog = Catalog.open(tmp_path)
    assert catalog.cards() == ["chip-1-16gb", "chip-1-24gb"]
    small, large = catalog.card("chip-1-16gb"), catalog.card("chip-1-24gb")
    assert (small.name, small.title, small.full_name) == ("chip-1-16gb", "Chip 1 16 GB", "Example Chip 1 with 16 GB")
    assert small.unified
    assert [int(card.facts["card.memory"].quantity()) for card in (small, large)] == [16 * 2**30, 24 * 2**30]
    assert [card.facts["card.memory_bandwidth"].value for card in (small, large)] == [153, 170]
    assert [card.facts["card.gpu_cores"].value for card in (small, large)] == [12, 12]
    assert small.facts["card.memory"].source == Source("https://example.org/chips")
    assert (large.facts["card.memory"].source, large.facts["card.memory"].checked) == (Source("https://example.org/24"), date(2026, 1, 3))
    assert [row.name for row in catalog.listing("cards")] == ["chip-1-16gb", "chip-1-24gb"]


@pytest.mark.parametrize("name", ["chip-1", "chip-1-32gb", "chip-1-16", "chip-1-16gb-24gb"])
def test_a_chip_without_its_size_is_no_card_and_the_near_ones_are_named(tmp_path: Path, name: str) -> None:
    written(tmp_path, SIZED)
    with pytest.raises(UnknownEntryError) as caught:
        Catalog.open(tmp_path).card(name)
    assert "'chip-1-16gb'" in str(caught.value)
    assert "'chip-1-24gb'" in str(caught.value)


def test_a_size_in_other_letters_is_the_one_that_is_meant(tmp_path: Path) -> None:
    written(tmp_path, SIZED)
    with pytest.raises(UnknownEntryError, match=r"no card is called 'Chip 1 16GB'; did you mean 'chip-1-16gb'\?"):
        Catalog.open(tmp_path).card("Chip 1 16GB")


def test_a_card_whose_own_name_ends_like_a_size_is_itself(tmp_path: Path) -> None:
    text = SIZED[: SIZED.index("sizes:")].replace("chip-1", "board-8gb")
    written(tmp_path, text + "facts:\n  memory: 8 GiB\n  usable: 7 GiB\n", "board-8gb")
    assert Catalog.open(tmp_path).card("board-8gb").title == "Chip 1"


@pytest.mark.parametrize(
    ("old", "new", "path", "message", "remedy"),
    [
        ("    memory: 16 GiB\n", "", "sizes.16gb.memory", "the key 'memory' is missing", "every size states the memory"),
        ("  16gb:", "  16 GB:", "sizes.16 GB", "'16 GB' cannot be a key here", "must match"),
        ("  16gb:", "  0gb:", "sizes.0gb", "'0gb' cannot be a key here", "must match"),
        ("  16gb:", "  24gb:", "sizes.24gb", "the key stands twice", "delete one"),
        ("  gpu_cores: 12", "  memory: 8 GiB", "facts.memory", "a size states 'memory' as well", "delete one of the two"),
        ("    memory: 16 GiB", "    memory: {value: 16 GiB, quote: big}", "sizes.16gb.memory", "a fact of a size has no quote", "`quotes`"),
        ("backend: metal", "backend: metal\nllvm_target: gfx1100", "llvm_target", "only a card under ROCm has an LLVM target", "delete"),
        ("unified: true", "unified: maybe", "unified", "true or false is expected", "without quotes"),
    ],
)
def test_what_is_wrong_with_sizes_is_one_clear_problem(tmp_path: Path, old: str, new: str, path: str, message: str, remedy: str) -> None:
    (problem,) = problems(tmp_path, old, new)
    assert problem.path == path
    assert message in problem.message
    assert remedy in problem.remedy
    assert problem.line > 0


def test_a_target_that_is_none_is_refused(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "backend: metal", "backend: rocm\nllvm_target: rdna3")
    assert (problem.path, "is no target such as gfx1100" in problem.message) == ("llvm_target", True)


# --- the catalogue -------------------------------------------------------------------------------

CATALOG = Catalog.open(ROOT)
THIRD_PARTY = {"rtx-5070", "rtx-5070-ti"}
"""Cards whose vendor's table was read and does not say everything; what a third party gives has a name of its own."""


def shared() -> dict[str, Any]:
    if not SHARED.is_file():
        pytest.skip("the published facts are not beside the project")
    found: dict[str, Any] = yaml.safe_load(SHARED.read_text(encoding="utf-8"))
    return found


def amount(name: str, key: str) -> str:
    fact = CATALOG.card(name).facts[f"card.{key}"]
    return f"{fact.value} {fact.unit}".strip()


def same(name: str, key: str, value: float | str, unit: str = "") -> None:
    """Check that a card has a value, under the name of the vendor's or of a third party's."""
    facts = CATALOG.card(name).facts
    third = f"{key}_third_party" if name in THIRD_PARTY and f"card.{key}_third_party" in facts else key
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    assert amount(name, third) == f"{number} {unit}".strip(), (name, key)


def test_the_boards_have_the_published_facts() -> None:
    rows = shared()["cards"]
    assert len(rows) == 18
    for row in rows:
        name = row["card"].lower().replace(" ", "-")
        card = CATALOG.card(name)
        assert (card.full_name, card.chip) == (row["full_name"], row["chip"])
        if name != "rtx-5070":  # the vendor calls it Blackwell
            assert card.architecture == row["architecture"]["value"]
        same(name, "memory", row["vram_gb"]["value"], "GiB")
        same(name, "memory_type", row["memory_type"]["value"])
        same(name, "memory_bus", row["memory_bus_bits"]["value"], "bit")
        same(name, "memory_clock", row["memory_clock_mhz"]["value"], "MHz")
        same(name, "memory_bandwidth", row["bandwidth_gb_s"]["value"], "GB/s")
        same(name, "pcie_generation", row["pcie"]["gen"])
        same(name, "pcie_lanes", row["pcie"]["lanes"])
        same(name, "board_power", row["board_power_w"]["value"], "W")
        same(name, "released", row["released"])
        if card.backend == "cuda":
            assert card.compute_capability == row["compute_capability"]["value"] == amount(name, "compute_capability")
        if "llvm_target" in row:
            assert card.llvm_target == row["llvm_target"]["value"] == amount(name, "llvm_target")


def test_unified_memory_has_the_published_sizes_and_bandwidths() -> None:
    found = shared()
    names = {"GB10 (DGX Spark)": "gb10", "Ryzen AI Max+ 395": "ryzen-ai-max-395"}
    seen = set()
    for row in found["apple"] + found["other_unified"]:
        chip = names.get(row["chip"]) or "apple-" + row["chip"].partition(" (")[0].lower().replace(" ", "-")
        for size in row["unified_memory_gb"]:
            name = f"{chip}-{size}gb"
            seen.add(name)
            assert CATALOG.card(name).unified
            same(name, "memory", size, "GiB")
            same(name, "memory_bandwidth", row["bandwidth_gb_s"], "GB/s")
    assert seen == {name for name in CATALOG.cards() if CATALOG.card(name).unified}


@pytest.mark.parametrize("name", CATALOG.cards())
def test_a_run_never_gets_all_of_a_card_nor_more_than_was_seen_free(name: str) -> None:
    facts = CATALOG.card(name).facts
    memory, usable = (facts[f"card.{key}"].quantity() for key in ("memory", "usable"))
    assert usable < memory
    for key in ("card.free_memory", "card.working_set", "card.reported_memory"):
        if key in facts:
            assert usable <= facts[key].quantity()


@pytest.mark.parametrize("name", CATALOG.cards())
def test_every_fact_of_a_card_has_a_source_and_a_day_or_is_declared_with_a_reason(name: str) -> None:
    for fact in CATALOG.card(name).facts:
        if fact.origin == "declared":
            assert fact.note
        else:
            assert fact.checked
            assert fact.source.url or fact.source.title
