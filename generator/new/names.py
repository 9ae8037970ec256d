"""Names from other people's text: of quants, models and titles, fit for a path, a line of YAML and a heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from unicodedata import category, normalize

LONGEST = 120
"""Characters of a title or a name that are kept."""

_TAG = re.compile(
    r"(?:^|[-._])((?:UD-)?(?:IQ[1-4]_(?:XXS|XS|S|M|NL)|Q[1-8]_(?:K(?:_(?:XXS|XS|S|M|L|XL))?|[01])|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32))"
    r"(?=[-._]|$)",
    re.IGNORECASE,
)
_SHARD = re.compile(r"-[0-9]{5}-of-[0-9]{5}$")
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_OF_THE_HUB = re.compile(r"^https?://(?:www\.)?huggingface\.co/(?P<name>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)/?$", re.ASCII)
_FORMAT = re.compile(r"(?:[-_.](?:i1|imatrix))?[-_.]gguf$", re.IGNORECASE)

LICENCES = {
    "apache-2.0": "Apache-2.0",
    "mit": "MIT",
    "bsd-3-clause": "BSD-3-Clause",
    "cc-by-4.0": "CC-BY-4.0",
    "cc-by-sa-4.0": "CC-BY-SA-4.0",
    "cc-by-nc-4.0": "CC-BY-NC-4.0",
    "cc-by-nc-sa-4.0": "CC-BY-NC-SA-4.0",
}
"""Licences as the Hub spells them, and by their SPDX names. Source: https://spdx.org/licenses/."""


def cleaned(text: object) -> str:
    """Give text in one line without characters that nobody sees, and not too long; nothing of what is no text."""
    if not isinstance(text, str):
        return ""
    seen = "".join(" " if category(character) in _UNSEEN else character for character in text)
    return " ".join(seen.split())[:LONGEST].strip()


def slug(text: str) -> str:
    """Give text as a name for a path: lower case letters, digits, dots and hyphens; nothing where none of them is left."""
    plain = normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    joined = re.sub(r"[^a-z0-9.]+", "-", plain)
    return re.sub(r"\.{2,}", ".", joined)[:60].strip("-.")


def model_title(repository: str) -> str:
    """Give what a repository of quantised files calls the model: its own name without the format and the publisher before it."""
    tail = _FORMAT.sub("", repository.rpartition("/")[2])
    publisher, underscore, rest = tail.partition("_")
    return cleaned(rest if underscore and rest and "-" not in publisher else tail)


def licence(name: object, full_name: object = "") -> str:
    """Give a licence by its SPDX name where it has one; nothing of one that is only said to be another."""
    told = cleaned(name)
    if told.lower() in {"", "other", "unknown"}:
        return cleaned(full_name)
    return LICENCES.get(told.lower(), told)


def hub_repository(address: object) -> str:
    """Give the repository that an address of the Hub names; nothing of another address."""
    found = _OF_THE_HUB.fullmatch(address) if isinstance(address, str) else None
    return found["name"] if found else ""


# --- quants --------------------------------------------------------------------------------------


def quant_tag(file: str) -> str:
    """Give the quant that a file's name says, as in Q4_K_M or UD-Q4_K_XL; nothing where it says none."""
    found = _TAG.findall(_SHARD.sub("", PurePosixPath(file).name.removesuffix(".gguf")))
    return found[-1].upper() if found else ""


def quant_names(files: Iterable[str]) -> Mapping[str, str]:
    """Give each file a name of its own for a quant: the quant it says; where two say the same or one says none, its own name."""
    listed = list(files)
    tags = {file: quant_tag(file) for file in listed}
    counts = {tag: list(tags.values()).count(tag) for tag in tags.values()}
    names: dict[str, str] = {}
    for file in sorted(listed):
        alone = tags[file] if tags[file] and counts[tags[file]] == 1 else _stem(file)
        name, number = alone, 1
        while name.lower() in {taken.lower() for taken in names.values()}:
            number += 1
            name = f"{alone}-{number}"
        names[file] = name
    return names


def _stem(file: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", _SHARD.sub("", PurePosixPath(file).name.removesuffix(".gguf")))
    return stem.strip("-._")[:LONGEST] or "file"
