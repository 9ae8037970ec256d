"""Lists of hyperparameters as a person writes them down: `[0, 8]`, `[6144]*15 + [12288]*20`, `[8, 8, 1] repeated (48)`.

The last form repeats its pattern until the list has as many elements as the number in brackets says.
"""

from __future__ import annotations

import re

LONGEST = 4096
"""Elements that a list may have; models have at most 512 blocks."""

_ITEM = r"(?:true|false|-?\d{1,18})"
_ITEMS = rf"\[\s*{_ITEM}(?:\s*,\s*{_ITEM})*\s*\]"
_REPEATED = re.compile(rf"(?P<items>{_ITEMS}) repeated \((?P<length>\d{{1,6}})\)")
_PART = re.compile(rf"(?P<items>{_ITEMS})(?:\s*\*\s*(?P<times>\d{{1,6}}))?")
_ANY = rf"{_ITEMS}(?:\s*\*\s*\d{{1,6}})?"
_SUM = re.compile(rf"{_ANY}(?:\s*\+\s*{_ANY})*")

Item = int | bool


def expanded(text: str) -> list[Item] | None:
    """Give the list that a text writes down; None where the text is no such notation, or the list would be absurdly long."""
    text = text.strip()
    if found := _REPEATED.fullmatch(text):
        items, length = _items(found["items"]), int(found["length"])
        return [items[index % len(items)] for index in range(length)] if length <= LONGEST else None
    if not _SUM.fullmatch(text):
        return None
    parts = [(_items(part["items"]), int(part["times"] or 1)) for part in _PART.finditer(text)]
    if sum(len(items) * times for items, times in parts) > LONGEST:
        return None
    return [item for items, times in parts for item in items * times]


def _items(text: str) -> list[Item]:
    return [word == "true" if word in {"true", "false"} else int(word) for word in re.findall(_ITEM, text)]
