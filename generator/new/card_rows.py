"""What a row of a card's table means: its label tells which fact it is, the text beside it is read as that kind of value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

_NUMBER = r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
_FOOTNOTE = re.compile(r"[*†‡™®©]|\[\d+\]|\((?:tm|r)\)", re.IGNORECASE)
_UNIT_IN_LABEL = re.compile(r"\((?P<unit>[^()]+)\)\s*$")
_DAYS = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%m/%d/%Y", "%Y-%m-%d")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_MEMORY_KIND = re.compile(r"\b(?:LP)?G?DDR\d+[XE]?\b|\bHBM\d?E?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Read:
    """A value as a card's file has it, and a word on it where the page says it in another way."""

    value: str
    note: str = ""


Reader = Callable[[str, str], Mapping[str, Read]]
"""Gives facts by name from the text beside a label and the unit that the label itself states."""


def _amount(name: str, units: Mapping[str, tuple[str, int]], *, bare: str = "") -> Reader:
    """Give a reader of a number with a unit: `units` has how a unit is written, for each as a page writes it, and a factor.

    `bare` is the unit of a number that stands without one.
    """

    def read(text: str, unit: str) -> Mapping[str, Read]:
        names = "|".join(re.escape(each) for each in sorted(units, key=len, reverse=True))
        match = re.search(rf"{_NUMBER}[\s-]*(?P<unit>{names})(?![A-Za-z])", text, re.IGNORECASE)
        found = match["unit"] if match else unit if unit.lower() in map(str.lower, units) else bare
        if match is None and found:
            match = re.search(_NUMBER, text)
        if match is None or not found:
            return {}
        ours, factor = next(each for name, each in units.items() if name.lower() == found.lower())
        number = Decimal(match["number"].replace(",", "")) * factor
        return {name: Read(f"{_plain(number)} {ours}".strip(), f"the page says {match[0]} {unit}".strip() if factor != 1 else "")}

    return read


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _memory(text: str, unit: str) -> Mapping[str, Read]:
    """Read a size, which vendors give in GB and mean in GiB, and the kind of memory where it stands beside it."""
    size = _amount("memory", {"GB": ("GiB", 1), "GiB": ("GiB", 1), "MB": ("MiB", 1), "MiB": ("MiB", 1)})(text, unit)
    note = "the page says {} {}; memory chips hold powers of two"
    found = {
        name: Read(read.value, note.format(read.value.split()[0], read.value.split()[1].replace("i", ""))) for name, read in size.items()
    }
    return {**found, **_memory_type(text, "")} if found else {}


def _memory_type(text: str, _: str) -> Mapping[str, Read]:
    match = _MEMORY_KIND.search(text)
    return {"memory_type": Read(match[0].upper())} if match else {}


def _pcie(text: str, _: str) -> Mapping[str, Read]:
    """Read generation and lanes out of `PCIe 4.0 x16`, `PCI Express Gen 5` or `Gen 5 x8`."""
    generation = re.search(r"(?:pcie|pci express|pci-express|gen)\D{0,8}(\d)(?:\.0)?\b", text, re.IGNORECASE)
    lanes = re.search(r"[x×]\s?(\d{1,2})\b", text)
    found = {"pcie_generation": generation, "pcie_lanes": lanes}
    return {name: Read(match[1]) for name, match in found.items() if match}


def _lanes(text: str, _: str) -> Mapping[str, Read]:
    match = re.search(r"\d{1,2}", text)
    return {"pcie_lanes": Read(match[0])} if match else {}


def _count(name: str) -> Reader:
    """Give a reader of a whole number."""

    def read(text: str, _: str) -> Mapping[str, Read]:
        match = re.match(r"\s*(\d{1,3}(?:,\d{3})+|\d+)(?![\d.])", text)
        return {name: Read(match[1].replace(",", ""))} if match else {}

    return read


def _capability(text: str, _: str) -> Mapping[str, Read]:
    match = re.search(r"\b(\d{1,2}\.\d)\b", text)
    return {"compute_capability": Read(f'"{match[1]}"')} if match else {}


def _day(text: str, _: str) -> Mapping[str, Read]:
    plain = _ORDINAL.sub("", text.strip()).replace(".", "")
    for form in _DAYS:
        try:
            return {"released": Read(datetime.strptime(plain, form).date().isoformat())}  # noqa: DTZ007  a day has no zone
        except ValueError:
            continue
    return {}


def _name_of(key: str) -> Reader:
    """Give a reader of a name: of the architecture, of the chip."""

    def read(text: str, _: str) -> Mapping[str, Read]:
        return {key: Read(text)} if re.fullmatch(r"[A-Za-z][\w .+-]{0,39}", text) else {}

    return read


_CLOCK = {"MHz": ("MHz", 1), "GHz": ("GHz", 1)}
_RATE = {"Gbps": ("MT/s", 1000), "Gb/s": ("MT/s", 1000), "GT/s": ("MT/s", 1000)}
_BANDWIDTH = {"GB/s": ("GB/s", 1), "GB/sec": ("GB/s", 1), "GBps": ("GB/s", 1), "TB/s": ("GB/s", 1000)}
_WATT = {"W": ("W", 1), "watts": ("W", 1)}

ROWS: tuple[tuple[str, Reader], ...] = (
    (r"(standard |graphics |video )?memory (size|amount|capacity|config|configuration)|max memory size|memory|vram", _memory),
    (r"(graphics )?memory type", _memory_type),
    (r"(graphics )?memory (bus|bus width|interface|interface width)", _amount("memory_bus", {"bit": ("bit", 1), "bits": ("bit", 1)})),
    (r"(graphics |max |peak )?(memory )?bandwidth", _amount("memory_bandwidth", _BANDWIDTH)),
    (r"memory (clock|frequency)", _amount("memory_clock", _CLOCK)),
    (r"(graphics )?memory (speed|data rate)", _amount("memory_speed", _RATE)),
    (r"boost (clock|frequency)|max(imum)? boost clock", _amount("boost_clock", _CLOCK)),
    (r"base (clock|frequency)", _amount("base_clock", _CLOCK)),
    (r"(nvidia )?cuda cores", _count("cuda_cores")),
    (
        r"tdp|tbp|tgp|total (graphics|board) power( tbp| tgp)?|typical board power( desktop)?|board power|graphics card power",
        _amount("board_power", _WATT),
    ),
    (
        r"suggested psu|minimum psu recommendation|(required|minimum|recommended) system power|recommended power supply",
        _amount("system_power", _WATT),
    ),
    (r"bus interface|pci ?e(xpress)?( interface| configurations?| support)?|interface|system interface", _pcie),
    (r"(max )?(pci ?express|pcie) lanes", _lanes),
    (r"(nvidia |gpu |graphics |micro)?architecture", _name_of("architecture")),
    (r"gpu name|graphics processor|gpu chip|code ?name", _name_of("chip")),
    (r"(cuda |compute )?capability|cuda|compute capability cc", _capability),
    (r"(release|launch) date", _day),
)
"""Labels of rows, lower case and without marks or units in brackets, and how the text beside them is read."""

_LABELS = tuple((re.compile(pattern), read) for pattern, read in ROWS)
_GENERATION_IN_LABEL = re.compile(r"(?:pci ?express|pcie) gen(?:eration)? (\d)")
_YES = frozenset({"yes", "✓", "✔"})

SEARCHED = {
    "memory_type": "memory type",
    "memory_bus": "memory interface",
    "memory_speed": "memory speed",
    "memory_bandwidth": "memory bandwidth",
    "board_power": "power",
    "pcie_generation": "PCI Express",
    "pcie_lanes": "lanes",
}
"""Facts that a vendor's own page is searched for, each with the words that would say it; where they are missing, the vendor is silent."""


def _label(text: str) -> tuple[str, str]:
    """Give a label without marks, case and unit, and the unit that stands in brackets at its end."""
    text = _FOOTNOTE.sub("", text).strip().rstrip(":").strip()
    unit = _UNIT_IN_LABEL.search(text)
    plain = re.sub(r"[^a-z0-9 ]+", " ", text.lower() if unit is None else text[: unit.start()].lower())
    return " ".join(plain.split()), unit["unit"].strip() if unit else ""


def is_label(text: str) -> bool:
    """Tell whether a text is the label of a row that is known."""
    plain, _ = _label(text)
    return bool(_GENERATION_IN_LABEL.fullmatch(plain)) or any(pattern.fullmatch(plain) for pattern, _ in _LABELS)


def facts_of_rows(rows: Iterable[tuple[str, str]]) -> dict[str, Read]:
    """Give what the rows say, by the names that a card's file has for it; of two rows that say the same thing the first stands."""
    found: dict[str, Read] = {}
    for label, text in rows:
        plain, unit = _label(label)
        generation = _GENERATION_IN_LABEL.fullmatch(plain)
        if generation and text.strip().lower() in _YES:
            found.setdefault("pcie_generation", Read(generation[1], f"listed as {label}"))
        for pattern, read in _LABELS:
            if pattern.fullmatch(plain):
                for name, value in read(_FOOTNOTE.sub("", text), unit).items():
                    found.setdefault(name, value)
    return found
