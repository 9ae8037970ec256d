"""The card on a page: what is known of it and who says so, what nobody publishes, and how to read it off the hardware."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from urllib.parse import urlsplit

from generator.facts import Fact, Facts
from generator.guide.ledger import Book
from generator.guide.marks import Marks, code
from generator.quantity import BIT, BYTE, ONE, Quantity, shown
from generator.specs import Card

CARD_ROWS = (
    ("memory", "Memory"),
    ("memory_type", "Memory type"),
    ("memory_bus", "Memory bus"),
    ("memory_clock", "Memory clock"),
    ("cuda_cores", "CUDA cores"),
    ("gpu_cores", "GPU cores"),
    ("boost_clock", "Boost clock"),
    ("base_clock", "Base clock"),
    ("board_power", "Board power"),
    ("system_power", "Recommended supply"),
    ("pcie_generation", "PCI Express generation"),
    ("pcie_lanes", "PCI Express lanes"),
    ("memory_speed", "Memory speed"),
    ("memory_bandwidth", "Memory bandwidth"),
    ("llvm_target", "LLVM target"),
    ("released", "Announced or released"),
)
"""Facts of a card in the order the page shows them, with the words it uses."""

VENDOR_NAMES = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "apple": "Apple"}

VENDOR_PLACES = {
    "nvidia": ("nvidia.com",),
    "amd": ("amd.com", "github.com/ROCm"),
    "intel": ("intel.com", "github.com/intel"),
    "apple": ("apple.com",),
}
"""Where a vendor speaks for itself: hosts, with what is below them, and owners of repositories."""

OTHER_PLACES = {"techpowerup.com": "TechPowerUp"}

BITS_PER_CYCLE = {"GDDR6": 8, "GDDR6X": 16, "GDDR7": 16}
"""Bits that a pin moves in a cycle of the memory clock, as vendors of boards and their databases give that clock."""

ROUNDED = 200
"""A rated bandwidth is called rounded where it is off by less than one part in so many."""

READ_OFF = {
    "nvidia": ("nvidia-smi --query-gpu=name,memory.total,pcie.link.gen.max,pcie.link.width.max,clocks.max.memory --format=csv",),
    "amd": ("amd-smi static --vram --bus",),
    "intel": ("./build/bin/llama-server --list-devices", "xpu-smi discovery --device 0"),
    "apple": ("sysctl hw.memsize iogpu.wired_limit_mb", "system_profiler SPDisplaysDataType"),
}
"""Commands that read a board's own values off the hardware."""

READ_OFF_UNIFIED = {
    "nvidia": ("free --mebi", "./build/bin/llama-server --list-devices"),
    "amd": ("cat /sys/class/drm/card*/device/mem_info_gtt_total", "./build/bin/llama-server --list-devices"),
    "apple": READ_OFF["apple"],
}
"""The same where the memory is the system's."""

READINGS = ("reported_memory", "free_memory", "free_memory_windows", "working_set")
"""Facts about the memory itself: all that a driver shows of it, what was free before a run, what Metal recommended at the most."""

THIRD_PARTY = "_third_party"
"""Ends the name of a fact that somebody else gives and the vendor does not publish."""


def card_values(card: Card, facts: Facts, marks: Marks) -> dict[str, object]:
    """Give what the card's section prints: rows of what is known and whose figures they are, lines of what is not published."""
    listed = [fact for name, _ in CARD_ROWS if (fact := _known(facts, name))]
    bandwidth = _known(facts, "memory_bandwidth")
    vendor = VENDOR_NAMES[card.vendor]
    return {
        "card_facts": list(_rows(card, facts, marks)),
        "card_speakers": list(dict.fromkeys(_speaker(fact, card) for fact in listed)),
        "card_vendor": vendor,
        "card_third_party": bandwidth is not None and _speaker(bandwidth, card) != vendor,
        "not_published": list(_not_published(facts, marks)),
        "third_party": [] if "bandwidth" in card.notes else list(_third_party(facts, marks)),
        "card_readings": _readings(facts, marks, READINGS[:1] if "usable" in card.notes else READINGS),
        "bandwidth_check": _compare(marks.book, facts),
        "read_off": (READ_OFF_UNIFIED if card.unified else READ_OFF)[card.vendor],
    }


def _known(facts: Facts, name: str) -> Fact | None:
    key = f"card.{name}"
    return facts[key] if key in facts and facts[key].known else None


# --- rows ----------------------------------------------------------------------------------------


def _rows(card: Card, facts: Facts, marks: Marks) -> Iterator[dict[str, str]]:
    for name, words in CARD_ROWS:
        if fact := _known(facts, name):
            yield {"name": words, "text": marks.fact(fact.key), "who": _speaker(fact, card), "checked": marks.day(fact.key)}


def _not_published(facts: Facts, marks: Marks) -> Iterator[str]:
    for name, words in CARD_ROWS:
        key = f"card.{name}"
        if key in facts and facts[key].status == "not_published":
            text = f"The vendor publishes no {_in_sentence(words)}"
            yield "- " + marks.claim(key, text, f"{key} is not_published")


def _third_party(facts: Facts, marks: Marks) -> Iterator[str]:
    """Give what others say where the vendor is silent."""
    for name, words in CARD_ROWS:
        if fact := _known(facts, name + THIRD_PARTY):
            yield f"{_in_sentence(words)} {marks.fact(fact.key)} ({marks.checked(fact.key)})"


def _in_sentence(words: str) -> str:
    return words if words.startswith("PCI") else words[0].lower() + words[1:]


def _speaker(fact: Fact, card: Card) -> str:
    """Name who gives a fact: the vendor, a known third party, or the site or repository, as code."""
    parts = urlsplit(fact.source.url)
    host = parts.netloc.removeprefix("www.")
    owner, _, repository = parts.path.strip("/").partition("/")
    if any(host == place or host.endswith(f".{place}") or f"{host}/{owner}" == place for place in VENDOR_PLACES[card.vendor]):
        return VENDOR_NAMES[card.vendor]
    if host == "github.com":
        return code(f"{owner}/{repository.partition('/')[0]}")
    return OTHER_PLACES.get(host) or code(host or fact.source.title)


# --- what a run can use --------------------------------------------------------------------------


def _readings(facts: Facts, marks: Marks, names: Sequence[str]) -> dict[str, dict[str, object]]:
    """Give what was seen of such memory, by the name of the fact; `short` marks a reading below what the page plans with."""
    usable = facts["card.usable"].quantity()
    found: dict[str, dict[str, object]] = {}
    for name in names:
        if fact := _known(facts, name):
            unit, digits = ("GiB", 2) if fact.unit == "GiB" else ("MiB", 0)
            short = not usable <= fact.quantity()
            found[name] = {"text": marks.fact(fact.key, unit, digits), "checked": marks.checked(fact.key), "short": short}
    return found


# --- bandwidth -----------------------------------------------------------------------------------


def _compare(book: Book, facts: Facts) -> str:
    """Write the bandwidth that bus width and memory clock give, and say how the rated one compares: same, rounded, or other.

    Nothing is written, and the answer is empty, where one of the four facts is not known.
    """
    bus, clock, kind, rated = (_known(facts, name) for name in ("memory_bus", "memory_clock", "memory_type", "memory_bandwidth"))
    if bus is None or clock is None or kind is None or rated is None or kind.value not in BITS_PER_CYCLE:
        return ""
    per_cycle = Quantity.constant(BITS_PER_CYCLE[str(kind.value)], ONE, f"bits a pin of {kind.value} moves in a cycle of the memory clock")
    moved = book.add("card.bits_per_cycle", per_cycle)
    in_a_byte = Quantity.constant(8, BIT, "bits") / Quantity.constant(1, BYTE, "in a byte")
    check = book.add("card.bandwidth_check", bus.quantity() * clock.quantity() * moved / in_a_byte, "GB/s", 1)
    rate = rated.quantity()
    if book.text(check.key) == shown(rate, "GB/s", 1):
        return "same"
    return "rounded" if abs(Fraction(check.number) - Fraction(rate.number)) * ROUNDED < rate.number else "other"
