"""The card on a page: what is known of it and who says so, and what nobody publishes."""

from __future__ import annotations

from generator.facts import Facts
from generator.guide.marks import Marks, code
from generator.specs import Card

CARD_ROWS = (
    ("memory", "Memory"),
    ("memory_type", "Memory type"),
    ("memory_bus", "Memory bus"),
    ("memory_clock", "Memory clock"),
    ("cuda_cores", "CUDA cores"),
    ("boost_clock", "Boost clock"),
    ("base_clock", "Base clock"),
    ("board_power", "Board power"),
    ("system_power", "Recommended supply"),
    ("pcie_generation", "PCI Express generation"),
    ("pcie_lanes", "PCI Express lanes"),
    ("memory_speed", "Memory speed"),
    ("memory_bandwidth", "Memory bandwidth"),
    ("released", "Released"),
)
"""Facts of a card in the order the page shows them, with the words it uses."""


def card_values(card: Card, facts: Facts, marks: Marks) -> dict[str, object]:
    """Give what the card's section prints: rows of what is known, lines of what is not published, and whose figures they are."""
    return {
        "card_facts": list(_rows(facts, marks)),
        "not_published": list(_not_published(facts, marks)),
        "card_third_party": _third_party(card, facts),
        "card_source": facts["card.memory"].source.url or card.links.get("third_party", ""),
    }


def _third_party(card: Card, facts: Facts) -> bool:
    """Tell whether the card's own figures were read elsewhere than on its vendor's pages."""
    url = facts["card.memory"].source.url
    return not any(f"{name}.com/" in url for name in (card.vendor,))


def _rows(facts: Facts, marks: Marks) -> list[dict[str, str]]:
    rows = []
    for name, words in CARD_ROWS:
        key = f"card.{name}"
        if key in facts and facts[key].known:
            value = facts[key].value
            text = code(value) if isinstance(value, str) and facts[key].unit == "" and not value[:4].isdecimal() else marks.fact(key)
            rows.append({"name": words, "text": text, "checked": marks.day(key)})
    return rows


def _not_published(facts: Facts, marks: Marks) -> list[str]:
    lines = []
    for name, words in CARD_ROWS:
        key = f"card.{name}"
        if key in facts and facts[key].status == "not_published":
            text = f"the vendor publishes no {words[0].lower() + words[1:] if not words.startswith('PCI') else words}"
            lines.append("- " + marks.claim(key, text[0].upper() + text[1:], f"{key} is not_published"))
    return lines
