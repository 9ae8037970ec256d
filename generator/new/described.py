"""What a new model's spec says, from a header and what its repository says: all of it other people's text, made fit for a spec."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from generator.errors import InputError
from generator.gguf import Inventory
from generator.new.names import cleaned, hub_repository, licence
from generator.new.source import File, Origin

NOBODY = "an unknown publisher"
"""What a page says in the publisher's place where neither header nor repository names one."""

SAMPLING_KEYS = {"temp": "temp", "top_p": "top_p", "top_k": "top_k", "min_p": "min_p", "repeat_penalty": "penalty_repeat"}
"""Sampling settings of a spec, by what follows `general.sampling.` in a header (Keys.General of the gguf package)."""

_ARCHITECTURE = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")
_FLOAT = struct.Struct("<f")


@dataclass(frozen=True, slots=True)
class Described:
    """The fields of a model's spec. `licence`, `base` and `projector` are empty or None where nothing says them.

    `sampling` has numbers by setting, those of the header. `draft_blocks` is how many blocks of the file are a draft head.
    """

    title: str
    architecture: str
    publisher: str
    base: str
    licence: str
    sampling: Mapping[str, int | float]
    projector: File | None
    draft_blocks: int


def described(origin: Origin, header: Inventory) -> Described:
    """Describe a model by one of its headers. Raises InputError for a file that holds no model."""
    said = header.metadata
    kind = said.get("general.type", "model")
    if kind != "model":
        raise InputError(f"no model is in it: the header calls it {cleaned(kind)!r}", where=header.name, remedy="name a model's file")
    if not _ARCHITECTURE.fullmatch(header.architecture):
        raise InputError(f"{cleaned(header.architecture)!r} is no name of an architecture", where=header.name, remedy="name another file")
    info = origin.info
    original = hub_repository(f"https://huggingface.co/{info.bases[0]}") if info and info.bases else ""
    base = hub_repository(said.get("general.base_model.0.repo_url"))
    own = licence(said.get("general.license"), said.get("general.license.name"))
    drafts = header.get("nextn_predict_layers", 0)
    return Described(
        title=origin.title,
        architecture=header.architecture,
        publisher=_publisher(said, original, origin),
        base="" if base in {original, origin.repository} else base,
        licence=own or (licence(info.licence, info.licence_name) if info else ""),
        sampling=_sampling(said),
        projector=_projector(origin.projectors),
        draft_blocks=drafts if isinstance(drafts, int) else 0,
    )


def _publisher(said: Mapping[str, object], original: str, origin: Origin) -> str:
    """Give who made the model: by the header, else the owner of what was quantised, else of the repository."""
    told = (cleaned(said.get(f"general.{name}")) for name in ("organization", "author"))
    owners = (repository.partition("/")[0] for repository in (original, origin.repository))
    return next(filter(None, (*told, *owners)), NOBODY)


def _sampling(said: Mapping[str, object]) -> dict[str, int | float]:
    found = {name: said.get(f"general.sampling.{key}") for name, key in SAMPLING_KEYS.items()}
    numbers = {name: value for name, value in found.items() if isinstance(value, int | float) and not isinstance(value, bool)}
    return {name: _short(value) if isinstance(value, float) else value for name, value in numbers.items() if abs(value) < 1e6}


def _short(value: float) -> float:
    """Give the shortest decimal that is this number in a header, where it has 32 bits: 0.95 for 0.949999988079071."""
    return next((near for digits in range(1, 9) if _FLOAT.pack(near := float(f"{value:.{digits}g}")) == _FLOAT.pack(value)), value)


def _projector(projectors: Mapping[str, File]) -> File | None:
    """Give the projector of a repository: in F16 where there is one, else in BF16, else the smallest."""
    for kind in ("-f16", "_f16", "-bf16", "_bf16"):
        for path, file in sorted(projectors.items()):
            if kind in path.lower():
                return file
    return min(projectors.values(), key=lambda file: (file.size, file.name), default=None)
