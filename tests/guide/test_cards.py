"""The card's section: whose figures they are, what nobody publishes, and what a reader can read off the hardware."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from generator import build
from generator.catalog import Catalog
from generator.facts import Facts
from generator.guide.cards import CARD_ROWS, card_values
from generator.guide.environment import rendered
from generator.guide.ledger import Book
from generator.guide.marks import Marks
from generator.quantity import Quantity, parsed

ROOT = Path(__file__).resolve().parents[2]
CATALOG = Catalog.open(ROOT)


def marks_of(name: str) -> Marks:
    """Give the marks of a page about a card, with the numbers of the budget that its section shows."""
    card = CATALOG.card(name)
    book = Book()
    book.add("budget.usable", card.facts["card.usable"].quantity(), "GiB", 1)
    engine = CATALOG.engine("llama.cpp", "b10666")
    return Marks(book, card.facts, engine, {}, {}, {})


def values(name: str) -> dict[str, Any]:
    card = CATALOG.card(name)
    return dict(card_values(card, card.facts, marks_of(name)))


def section(name: str) -> str:
    """Render the section of a card alone."""
    card, marks = CATALOG.card(name), marks_of(name)
    names: dict[str, object] = {
        **card_values(card, card.facts, marks),
        "card": {"title": card.title, "vendor": card.vendor},
        "unified": card.unified,
        "n": marks.number,
        "noted": lambda slot: slot.removeprefix("card:") in card.notes,
        "prose": lambda slot: marks.prose(card.notes[slot.removeprefix("card:")], card, "card"),
    }
    return rendered(ROOT / "templates", "sections/card.md.j2", names)


# --- whose figures -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("rtx-3090", ["TechPowerUp"]),
        ("arc-b580", ["TechPowerUp"]),
        ("rtx-5070-ti", ["NVIDIA", "TechPowerUp"]),
        ("rx-7900-xtx", ["AMD", "TechPowerUp"]),
        ("apple-m4-pro-48gb", ["`rlindsey2/sunkcost`"]),
    ],
)
def test_a_page_names_who_gives_the_figures(name: str, who: list[str]) -> None:
    found = values(name)
    assert found["card_speakers"] == who
    assert all(speaker in section(name) for speaker in who)


def test_a_bandwidth_is_a_third_partys_unless_the_vendor_gives_it() -> None:
    card = CATALOG.card("rtx-3090")
    assert values("rtx-3090")["card_third_party"] is True
    source = replace(card.facts["card.memory_bandwidth"].source, url="https://www.nvidia.com/rtx-3090")
    own = card.facts.merged([replace(card.facts["card.memory_bandwidth"], source=source)])
    assert card_values(card, own, replace(marks_of("rtx-3090"), facts=own))["card_third_party"] is False


def test_a_site_that_only_sounds_like_the_vendors_is_not_the_vendors() -> None:
    card = CATALOG.card("rtx-3090")
    for url in ("https://notnvidia.com/x", "https://nvidia.com.example.org/x", "https://example.org/nvidia.com/x"):
        source = replace(card.facts["card.memory"].source, url=url)
        facts = Facts([replace(card.facts["card.memory"], source=source), card.facts["card.usable"]])
        found = card_values(card, facts, replace(marks_of("rtx-3090"), facts=facts))
        assert found["card_speakers"] == [f"`{url.split('/')[2]}`"]


def test_a_column_says_whose_each_figure_is_only_where_they_differ() -> None:
    assert "| whose |" not in section("rtx-3090")
    assert "| whose |" in section("rx-9070-xt")


# --- what nobody publishes -----------------------------------------------------------------------


def test_a_vendors_silence_is_said_and_what_others_give_beside_it() -> None:
    text = section("rtx-5070-ti")
    for silent in ("memory bandwidth", "memory speed", "PCI Express lanes"):
        assert f"The vendor publishes no {silent}, checked [2026-08-31]" in text
    assert "memory bandwidth [896 GB/s](#card.memory_bandwidth_third_party)" in text
    assert "No number here is made from these." in text


def test_of_a_card_whose_vendor_was_not_read_no_silence_is_claimed() -> None:
    assert "publishes no" not in section("rtx-4090")


# --- bandwidth -----------------------------------------------------------------------------------

BANDWIDTHS = [
    ("rtx-3060-12gb", "360.0 GB/s", "same"),  # 192 bit × 1875 MHz × 8 / 8
    ("rtx-3080-10gb", "760.3 GB/s", "same"),  # 320 × 1188 × 16 / 8 = 760,320 MB/s
    ("rtx-4090", "1,008.4 GB/s", "rounded"),  # 384 × 1313 × 16 / 8 = 1,008,384 MB/s, rated 1010
    ("rtx-5090", "1,792.0 GB/s", "rounded"),  # 512 × 1750 × 16 / 8 = 1,792,000 MB/s, rated 1790
    ("rx-9070-xt", "644.6 GB/s", "same"),  # 256 × 2518 × 8 / 8 = 644,608 MB/s
    ("arc-b580", "456.0 GB/s", "same"),  # 192 × 2375 × 8 / 8
]


@pytest.mark.parametrize(("name", "shown", "answer"), BANDWIDTHS)
def test_bus_width_and_memory_clock_are_held_against_the_rated_bandwidth(name: str, shown: str, answer: str) -> None:
    card, marks = CATALOG.card(name), marks_of(name)
    assert card_values(card, card.facts, marks)["bandwidth_check"] == answer
    assert marks.book.text("card.bandwidth_check") == shown
    inputs = [each.key for each in marks.book["card.bandwidth_check"].inputs()]
    assert inputs == ["card.memory_bus", "card.memory_clock", "card.bits_per_cycle"]


def test_a_bandwidth_that_does_not_follow_is_called_another() -> None:
    card = CATALOG.card("rtx-3060-12gb")
    facts = card.facts.merged([replace(card.facts["card.memory_bandwidth"], value=384)])
    assert card_values(card, facts, replace(marks_of("rtx-3060-12gb"), facts=facts))["bandwidth_check"] == "other"


@pytest.mark.parametrize("name", ["rtx-5070-ti", "apple-m4-16gb", "gb10-128gb"])
def test_nothing_is_checked_where_a_part_is_missing(name: str) -> None:
    card, marks = CATALOG.card(name), marks_of(name)
    assert card_values(card, card.facts, marks)["bandwidth_check"] == ""
    assert "card.bandwidth_check" not in marks.book


# --- what a run can use --------------------------------------------------------------------------


def test_a_reading_below_the_plan_is_said_to_be() -> None:
    text = section("rtx-5090")
    assert "[31,605 MiB](#card.free_memory) were free" in text
    assert "On Windows [30,991 MiB](#card.free_memory_windows) were free" in text
    assert "less than that" in text
    assert "less than that" not in section("rtx-5060-ti-16gb")


def test_a_mac_is_told_of_its_limit_and_what_raises_it() -> None:
    text = section("apple-m5-max-128gb")
    assert "[107.52 GiB](#card.working_set)" in text
    assert "`recommendedMaxWorkingSetSize`" in text
    assert "working_set" not in section("apple-m4-24gb")


# --- only what its reader has --------------------------------------------------------------------

FOREIGN = {
    "rtx-3090": ("amd-smi", "xpu-smi", "sysctl", "macOS", "machine"),
    "rx-7900-xtx": ("nvidia-smi", "xpu-smi", "sysctl", "CUDA", "macOS"),
    "arc-b580": ("nvidia-smi", "amd-smi", "sysctl", "CUDA", "macOS"),
    "apple-m4-pro-48gb": ("nvidia-smi", "amd-smi", "xpu-smi", "driver", "Windows", "PCI Express"),
    "gb10-128gb": ("amd-smi", "macOS", "display", "Windows", "firmware"),
    "ryzen-ai-max-395-64gb": ("nvidia-smi", "macOS", "display", "PCI Express"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_no_page_mentions_what_its_reader_does_not_have(name: str) -> None:
    text = section(name)
    assert [word for word in FOREIGN[name] if word in text] == []


@pytest.mark.parametrize("name", CATALOG.cards())
def test_every_card_of_the_catalogue_has_a_section(name: str) -> None:
    text = section(name)
    assert text.startswith("### What ")
    assert text.count("```") == 2
    known = [
        words for key, words in CARD_ROWS if f"card.{key}" in CATALOG.card(name).facts and CATALOG.card(name).facts[f"card.{key}"].known
    ]
    assert all(f"| {words} | " in text for words in known)


def test_the_committed_guide_has_the_section_of_its_card() -> None:
    guide = build.build_guide(CATALOG, "apodex-mini", "rtx-5070")
    assert "These are the vendor's figures" in guide.files[guide.page]
    size, unit = parsed("12,227 MiB")
    assert guide.ledger["card.reported_memory"].quantity.equals(Quantity(size.numerator, unit))
