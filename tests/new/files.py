"""Files of a made-up repository, with the header of a recorded one in them."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

from generator.gguf import read_header
from generator.planning import metadata_of, rows_of
from tests.emulator import HubFile
from tests.emulator.gguf import header_bytes

KEPT = Path(__file__).parents[1] / "data" / "engine_truth"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "engine-truth" / "models"

CARD_KEYS = {
    "general.organization": "Vendor Labs",
    "general.license": "apache-2.0",
    "general.base_model.count": 1,
    "general.base_model.0.repo_url": "https://huggingface.co/vendor/Model-2-Mini-Base",
    "general.sampling.temp": 0.7,
    "general.sampling.top_p": 0.95,
    "general.sampling.top_k": 20,
    "general.sampling.penalty_repeat": 1.05,
}
"""What a converter writes of a model card into a header."""


def heads() -> dict[str, Path]:
    """Give the recorded headers by name, those kept here and those that stand beside the project."""
    found = [path for folder in (SHARED, KEPT) if folder.is_dir() for path in sorted(folder.glob("*.gguf.head*"))]
    return {path.name.partition(".gguf")[0]: path for path in found}


def unpacked(path: Path, folder: Path, name: str) -> Path:
    """Put a recorded header into a folder as NAME.gguf.head."""
    raw = path.read_bytes()
    target = folder / f"{name}.gguf.head"
    target.write_bytes(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    return target


def recorded(name: str, folder: Path, more: Mapping[str, object] = CARD_KEYS) -> tuple[dict[str, object], list[list[object]]]:
    """Give the metadata, with more keys, and the tensor table of a recorded header."""
    header = read_header(unpacked(heads()[name], folder, name), whole=False)
    return {**metadata_of(header), **more}, rows_of(header)


def stored(metadata: Mapping[str, object], rows: list[list[object]]) -> HubFile:
    """Give the file of a header as the Hub stores it: as long as its tensors are."""
    content = header_bytes(metadata, rows)
    return HubFile(content, len(content) + sum(-(-int(str(row[3])) // 32) * 32 for row in rows), lfs=True)


def shards(metadata: Mapping[str, object], rows: list[list[object]]) -> tuple[HubFile, HubFile]:
    """Give the same in two files."""
    split = {"split.count": 2, "split.tensors.count": len(rows)}
    half = len(rows) // 2
    return stored({**metadata, **split, "split.no": 0}, rows[:half]), stored({**split, "split.no": 1}, rows[half:])
