"""Writing a model's lock: the sizes its spec has transcribed, and headers read from files.

Until a live run can ask the Hub, a size is what the author copied from it, with its date. A header is either the file's own,
or one rebuilt from published totals, and then the lock says so and keeps the date of the publication.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from generator.catalog import Catalog
from generator.errors import InputError, MissingFileError
from generator.facts import Fact, Lock, Source
from generator.gguf import Inventory, read_header
from generator.planning import metadata_of, rows_of
from generator.specs import Model


class HeaderMismatchError(InputError):
    """A header that is not the one of the file the spec names."""


def lock_model(catalog: Catalog, name: str, headers: Mapping[str, str], *, origin: str, note: str, today: date) -> tuple[Path, bool]:
    """Write the lock of a model; give its path and whether it changed.

    `headers` are files by quant, `origin` what kind of header they are (`header` or `reconstructed`), `note` what a reader
    must know of them. Facts that are already locked keep their first day. Raises UnknownNameError for a quant the spec
    does not have, HeaderMismatchError where a file has another architecture or size, GgufError where it is no whole header.
    Where the spec has no size of a file, the file's own is locked with its header.
    """
    model = catalog.model(name)
    path = catalog.lock_path(name)
    lock = Lock.read(path) if path.exists() else Lock(name)
    facts = model.facts.under("file")
    for quant, file in headers.items():
        facts += _header_facts(model, quant, Path(file), origin, note, today)
    fresh = lock.updated(facts, today)
    return path, fresh.write(path)


def _header_facts(model: Model, quant: str, file: Path, origin: str, note: str, today: date) -> Iterator[Fact]:
    spec = model.quant(quant)
    if not file.is_file():
        raise MissingFileError(file, remedy=f"give the GGUF file of {quant}, or its first bytes up to the tensor data")
    size = spec.size
    header = read_header(file, whole=origin == "header" and size is None)
    if header.architecture != model.architecture:
        raise HeaderMismatchError(
            f"the header's architecture is '{header.architecture}', the model's is '{model.architecture}'",
            where=str(file),
            remedy=f"give the header of {spec.file}",
        )
    if origin == "header" and size is not None and header.file_size is not None and header.file_size != int(size.quantity()):
        raise HeaderMismatchError(
            f"the file has {header.file_size} bytes, {spec.file} has {int(size.quantity())}",
            where=str(file),
            remedy="give the file itself, or say --origin reconstructed",
        )
    published = size.source if size is not None else Source(model.repository_url)
    checked = size.checked if origin == "reconstructed" and size is not None else today
    source = replace(published, title=f"{model.repository}: {spec.file}" if model.repository else spec.file)
    common = Fact("", None, origin=origin, source=source, checked=checked, first_seen=checked, note=note)
    if origin == "header" and size is None:
        yield size_fact(quant, header.file_size, common)
    yield from header_facts(quant, header, common)


def size_fact(quant: str, size: int | None, common: Fact) -> Fact:
    """Give the fact of a lock for the size of a quant's file, in bytes; `common` has all but key and value."""
    return replace(common, key=f"file.{quant.lower()}.size", value=size, unit="B")


def header_facts(quant: str, header: Inventory, common: Fact) -> tuple[Fact, Fact]:
    """Give the facts of a lock for the header of a quant: its metadata and its tensor table; `common` has all but key and value."""
    prefix = f"header.{quant.lower()}"
    metadata = replace(common, key=f"{prefix}.metadata", value=metadata_of(header))
    return metadata, replace(common, key=f"{prefix}.tensors", value=rows_of(header))
