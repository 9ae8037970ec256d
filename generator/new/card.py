"""One `gen new --card`: a card's file from a page with its table, and what a person should still write.

Nothing is guessed: what the table does not say is left out, or on the vendor's own page recorded as not published.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

from generator.catalog import Catalog
from generator.errors import InputError
from generator.facts import write_whole
from generator.new.card_rows import SEARCHED, Read, facts_of_rows, is_label
from generator.new.tables import beside_labels, tables_of
from generator.quantity import parsed
from generator.sources.web import Page, Web
from generator.specs import load_card

FORMAT = 1

VENDORS = {"nvidia": r"nvidia|geforce|rtx|gtx|quadro", "amd": r"amd|radeon|ryzen|instinct", "intel": r"intel|arc", "apple": r"apple"}
"""Words in the name of a card that tell who makes it."""

BACKENDS = {"nvidia": "cuda", "amd": "rocm", "intel": "sycl", "apple": "metal"}

OWN_PAGES = {"nvidia.com": "nvidia", "amd.com": "amd", "intel.com": "intel", "apple.com": "apple"}
"""Sites on which a vendor's silence says something."""

KEPT_FREE = 2**30
"""Bytes of a card that are left to driver and display until somebody reads off how much a run can use."""

_BESIDE_NAME = re.compile(r"\s*(?:[|–—].*|\s-\s.*|\bspecs?\b.*|\bspecifications\b.*|\bgraphics cards?\b.*)$", re.IGNORECASE)
_MAKERS = re.compile(r"^(?:nvidia|amd|intel|apple)\s+", re.IGNORECASE)
_FAMILIES = re.compile(r"^(?:geforce|radeon)\s+", re.IGNORECASE)
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


@dataclass(frozen=True, slots=True)
class AskedCard:
    """What a command asks for: the address of a page, the card's column in its table, and what to call it; empty where left open."""

    address: str
    column: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class MadeCard:
    """A card that was made: its name, its file below the project's folder, whether that is new, what was read, and what was not found.

    `to_write` is what belongs into the file and no table tells.
    """

    name: str
    path: str
    fresh: bool
    found: Mapping[str, Read]
    not_published: tuple[str, ...]
    to_write: tuple[str, ...]


def new_card(catalog: Catalog, web: Web, asked: AskedCard, today: date) -> MadeCard:
    """Make a card's file.

    Raises a SourceError where the page cannot be had, and InputError where no card can be read from it or another file is in its place.
    """
    page = web.page(asked.address)
    tables = tables_of(page.text)
    found = facts_of_rows(beside_labels(tables, is_label, asked.column))
    if "memory" not in found:
        raise InputError("the table does not say how much memory the card has", where=page.url, remedy="give a page that does")
    full_name = _full_name(asked.column or tables.heading)
    vendor = _vendor(page.url, full_name)
    title = _FAMILIES.sub("", full_name)
    name = asked.name or _slug(title)
    if not _NAME.fullmatch(name) or ".." in name:
        raise InputError(f"'{name}' is no name for a card", remedy="give one with --name, in lower case letters, digits, dots and hyphens")
    silent = tuple(each for each in SEARCHED if each not in found) if _is_own(page.url, vendor) else ()
    text = _text(name, title, full_name, vendor, page, found, silent, today)
    path = catalog.root / "recipes" / "cards" / f"{name}.yml"
    fresh = _write(path, text)
    return MadeCard(name, path.relative_to(catalog.root).as_posix(), fresh, found, silent, _to_write(found, vendor, silent))


def _write(path: Path, text: str) -> bool:
    """Write a file that reads back as a card; tell whether it is new. Raises InputError where another is in its place."""
    with tempfile.TemporaryDirectory(prefix="gen-new-") as folder:
        staged = Path(folder) / path.name
        write_whole(staged, text)
        load_card(staged, path.name)
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise InputError("this is there already and says something else", where=str(path), remedy="edit it, or give a --name of its own")
    return write_whole(path, text)


# --- names ---------------------------------------------------------------------------------------


def _full_name(text: str) -> str:
    """Give a card's name as its vendor prints it, without the vendor and what a page puts around it."""
    name = _MAKERS.sub("", _BESIDE_NAME.sub("", text).strip())
    if not name or len(name) > 60 or not name.isprintable():
        raise InputError("the page does not say what the card is called", remedy='say it: --column "RTX 5070"')
    return name


def _slug(title: str) -> str:
    joined = re.sub(r"(\d+)\s*gb\b", r"\1gb", title.lower())
    return re.sub(r"[^a-z0-9.]+", "-", joined).strip("-.")


def _vendor(url: str, full_name: str) -> str:
    host = urlsplit(url).netloc
    own = next((vendor for site, vendor in OWN_PAGES.items() if host == site or host.endswith(f".{site}")), "")
    told = [vendor for vendor, words in VENDORS.items() if re.search(rf"\b(?:{words})\b", full_name, re.IGNORECASE)]
    if not own and len(told) != 1:
        raise InputError(
            f"who makes '{full_name}' is not told by its name", where=url, remedy='name it in full, as in --column "GeForce RTX 5070"'
        )
    return own or told[0]


def _is_own(url: str, vendor: str) -> bool:
    host = urlsplit(url).netloc
    return any(each == vendor and (host == site or host.endswith(f".{site}")) for site, each in OWN_PAGES.items())


# --- the file ------------------------------------------------------------------------------------


def _text(
    name: str, title: str, full_name: str, vendor: str, page: Page, found: Mapping[str, Read], silent: tuple[str, ...], today: date
) -> str:
    """Give the file of a card."""
    capability = found.get("compute_capability")
    backend = BACKENDS[vendor] if vendor != "nvidia" or capability else "vulkan"
    head = {"card": name, "title": title, "full_name": full_name, "vendor": vendor}
    head |= {"architecture": found["architecture"].value if "architecture" in found else "not stated"}
    head |= {"chip": found["chip"].value} if "chip" in found else {}
    lines = ["# yaml-language-server: $schema=../../schemas/card.json"]
    lines += [f"{key}: {_quoted(value)}" for key, value in head.items()]
    lines.append(f"backend: {backend}")
    if capability and backend == "cuda":
        lines.append(f"compute_capability: {capability.value}")
    if vendor == "apple":
        lines.append("unified: true")
    lines += ["", f"source: {_quoted(page.url)}", f"checked: {today.isoformat()}", "", "facts:"]
    kept = {key: read for key, read in found.items() if key not in {"architecture", "chip", "memory"}}
    lines += [_fact("memory", found["memory"]), *_usable(found["memory"], vendor), *(_fact(key, read) for key, read in kept.items())]
    lines += [_silence(key, page, found) for key in silent]
    return "\n".join(lines) + "\n"


def _usable(memory: Read, vendor: str) -> list[str]:
    """Give what a run can use until somebody reads it off the hardware."""
    size, _ = parsed(memory.value)
    if vendor == "apple":
        value, rule = size * 2 / 3, "two thirds of the memory, the rest being the system's"
    else:
        value, rule = size - KEPT_FREE, "one GiB less than there is, which is left to the driver, a display and the backend"
    note = f"a rule until it is read off the hardware: {rule}"
    return ["  usable:", f"    value: {value // 2**20} MiB", "    origin: declared", f"    note: {_quoted(note)}"]


def _fact(key: str, read: Read) -> str:
    return f"  {key}: {{value: {read.value}, note: {_quoted(read.note)}}}" if read.note else f"  {key}: {read.value}"


def _silence(key: str, page: Page, found: Mapping[str, Read]) -> str:
    """Give a fact that the vendor does not publish, and how a program can look again: for the words, beside others that must be there."""
    control = found["memory_type"].value if "memory_type" in found else ""
    ask = f"{{kind: web, address: {_quoted(page.url)}, pattern: {_quoted(SEARCHED[key])}, control: {_quoted(control)}}}"
    asked = f", ask: {ask}" if control and page.count(control) and not page.count(SEARCHED[key]) else ""
    return f"  {key}: {{status: not_published, note: no row of the table says it{asked}}}"


def _quoted(text: str) -> str:
    """Give text as YAML: as it is where that is plain, else in quotes."""
    return (
        text
        if re.fullmatch(r"[A-Za-z][\w.+/-]*(?: [\w.+/-]+)*", text) and text.lower() not in _WORDS
        else json.dumps(text, ensure_ascii=False)
    )


_WORDS = frozenset({"true", "false", "null"})


# --- what is left --------------------------------------------------------------------------------


def _to_write(found: Mapping[str, Read], vendor: str, silent: tuple[str, ...]) -> tuple[str, ...]:
    rows = ["usable: what a run can use, read off the hardware, and on which machine"]
    if "architecture" not in found:
        rows.append("architecture: the page does not state it")
    if vendor == "nvidia" and "compute_capability" not in found:
        rows.append("compute_capability: read it at https://developer.nvidia.com/cuda-gpus, then write `backend: cuda`")
    if vendor == "amd":
        rows.append("llvm_target: such as gfx1100, from the vendor's list of GPU specifications")
    if vendor == "apple":
        rows.append("sizes: where the chip is sold with others, with what the GPU can use of each")
    if silent:
        rows.append("whatever a third party gives of what the vendor does not publish, as <name>_third_party with its own source")
    elif "memory_bandwidth" not in found:
        rows.append("memory_bandwidth: the table does not say it; look for a source that does")
    return (*rows, "notes: variants, where a second board carries the same name")


# --- words ---------------------------------------------------------------------------------------


def made_as_text(made: MadeCard) -> Iterator[str]:
    """Give what was made as lines."""
    yield made.path + ("" if made.fresh else " (unchanged)")
    yield from (f"  {key:20s} {read.value}" for key, read in made.found.items())
    yield from (f"  {key:20s} not published" for key in made.not_published)
    yield ""
    yield "what a person should still write:"
    yield from (f"  {row}" for row in made.to_write)


def made_as_dict(made: MadeCard) -> dict[str, object]:
    """Give the same for JSON."""
    return {
        "format": FORMAT,
        "card": made.name,
        "path": made.path,
        "written": made.fresh,
        "found": {key: read.value for key, read in made.found.items()},
        "not_published": list(made.not_published),
        "to_write": list(made.to_write),
    }
