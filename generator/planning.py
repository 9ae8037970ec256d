"""From a source and flags to a plan: what a person hands over, opened and given to the memory rules.

A source is a GGUF file (its first shard, or the file up to its tensor data), a reference to one on the Hub
(`hf://owner/repository/file.gguf`), a header that was read already, or a lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from generator.errors import InputError, MissingFileError
from generator.facts import Fact, Lock, Source
from generator.gguf import Inventory, SkippedArray, read_sharded
from generator.memory.model import Model
from generator.memory.plan import Plan, make_plan
from generator.memory.settings import Settings, parse_flags

if TYPE_CHECKING:  # a plan of a file needs no catalogue
    from generator.catalog import Catalog
    from generator.config.estimate import Estimate


def plan(
    source: str | PathLike[str] | Inventory | Model,
    flags: str | list[str] = "",
    *,
    program: str = "llama-server",
    gpus: int = 1,
    build: str | None = None,
    backend: str | None = None,
) -> Plan:
    """Give what the engine would allocate for a model under the flags of a command line.

    `source` is a path, a Hub reference, a header or a model; `program` the program that runs it (llama-server,
    llama-fit-params, llama-cli); `gpus` how many devices beside the host, 0 for none; `build` the engine's build where
    rules differ; `backend` that of the devices (cuda, vulkan, …), the one the build's figures were recorded under where none is
    named. In the plan, `host` and each of `gpus` give `weights`, `kv`, `recurrent` and `compute` in bytes, `draft` the context of
    a draft head where one is asked for.

    Raises RefusedSettings for what the engine would refuse, UnsupportedArchitecture, and the errors of reading.
    """
    settings = parse_flags(flags, program)
    return make_plan(model_of(source), settings, gpus=gpus, build=build, backend=backend, projector=projector_file(settings))


def projector_file(settings: Settings) -> Model | None:
    """Give the projector that the settings name, where it is a file that is here; None where it is not, or is left out."""
    if settings.no_mmproj or settings.mmproj is None or not is_file(settings.mmproj):
        return None
    return model_of(settings.mmproj)


def model_of(source: str | PathLike[str] | Inventory | Model) -> Model:
    """Give the model behind a source. Raises MissingFileError, HeaderError, or what reading the Hub raises."""
    if isinstance(source, Model):
        return source
    if isinstance(source, Inventory):
        return model_of_header(source, source.name)
    text, path = str(source), Path(source)
    if is_file(path):
        return model_of_header(read_sharded(path, whole=path.suffix != ".head"), text)
    if S_ISDIR(_mode(path)):
        raise MissingFileError(text, reason="this is a directory, not a GGUF file", remedy=_SOURCES)
    if not isinstance(source, str) or _means_a_file(text):
        raise MissingFileError(text, remedy=_SOURCES)
    from generator.sources.hub import open_hub_set, parse_reference

    reference = parse_reference(text)
    with ExitStack() as opened:
        files = [opened.enter_context(file) for file in open_hub_set(reference)]
        return model_of_header(read_sharded(files), str(reference))


_SOURCES = "give the path of a GGUF file (of a sharded set, any), MODEL/CARD of a recipe, or hf://owner/repository/file.gguf"


def _means_a_file(text: str) -> bool:
    """Tell whether a text that is no file was meant as one: a name alone, or by how it begins, or by its folder."""
    if text.startswith("hf://"):
        return False
    named = text.endswith((".gguf", ".head"))
    return "/" not in text or text.startswith(("/", ".", "~")) or (named and (text.count("/") < 2 or S_ISDIR(_mode(Path(text).parent))))


def is_file(path: str | PathLike[str]) -> bool:
    """Tell whether there is a regular file; a text that cannot be a path is none."""
    return S_ISREG(_mode(path))


def _mode(path: str | PathLike[str]) -> int:
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):
        return 0


def model_of_header(header: Inventory, name: str) -> Model:
    """Give a model read from a header; `name` says what was read."""
    source = Source(url="", title=name)
    metadata_fact = Fact("header.metadata", metadata_of(header), origin="header", source=source)
    tensors_fact = Fact("header.tensors", rows_of(header), origin="header", source=source)
    return Model.build(metadata_of(header), rows_of(header), metadata_fact, tensors_fact)


def metadata_of(header: Inventory) -> dict[str, object]:
    """Give a header's metadata as JSON can hold it; of an array that was skipped, how long it is."""
    return {key: {"length": value.length} if isinstance(value, SkippedArray) else value for key, value in header.metadata.items()}


def rows_of(header: Inventory) -> list[list[object]]:
    """Give a header's tensor table as rows of name, type, shape and payload bytes."""
    return [[tensor.name, tensor.type, list(tensor.shape), tensor.nbytes] for tensor in header.tensors]


def estimate_of(catalog: Catalog, model: str, quant: str) -> Estimate | None:
    """Give the estimate of a quant whose tensor table is not known; None of one whose is."""
    spec = catalog.model(model)
    if spec.quant(quant).fidelity != "config" or _has_header(catalog, model, quant):
        return None
    facts = catalog.known(spec)
    if not facts.under("config"):
        remedy = f"give `config`, or run `gen lock {model} --header {quant}=FILE`"
        raise InputError(f"neither the header of '{quant}' nor the model's shape is known", where=spec.file, remedy=remedy)
    from generator.config.estimate import estimated

    source = Source("", title=f"config in {spec.file}, each value with its source")
    return estimated(spec.architecture, facts, quant, source, where=spec.file, is_converted=spec.quant(quant).converted)


def model_of_quant(catalog: Catalog, model: str, quant: str) -> Model:
    """Give the model of one quant: from the header in its lock, or estimated from its shape. Raises InputError where neither is known."""
    estimate = estimate_of(catalog, model, quant)
    return model_of_lock(catalog.lock(model), quant) if estimate is None else estimate.model


def lacking(catalog: Catalog, model: str, quant: str) -> str:
    """Say what is not known of a quant that would give its model; empty where nothing is amiss."""
    spec = catalog.model(model)
    one, facts = spec.quant(quant), catalog.known(spec)
    if _has_header(catalog, model, quant):
        return ""
    if one.fidelity == "header" or not facts.under("config"):
        return "only the size of its file is known, not its header"
    return "" if one.converted or f"file.{quant.lower()}.size" in facts else "the size of its file is not known"


def _has_header(catalog: Catalog, model: str, quant: str) -> bool:
    return catalog.lock_path(model).exists() and f"header.{quant.lower()}.tensors" in catalog.lock(model).facts


def model_of_lock(lock: Lock, quant: str) -> Model:
    """Give the model of one quant from the facts of a lock. Raises InputError where the lock has no header of it."""
    prefix = f"header.{quant.lower()}"
    if f"{prefix}.tensors" not in lock.facts:
        raise InputError(
            f"the lock has no header of '{quant}'",
            where=f"recipes/models/{lock.subject}/model.lock.json",
            remedy=f"run `gen lock {lock.subject} --header {quant}=FILE`",
        )
    metadata, tensors = lock.facts[f"{prefix}.metadata"], lock.facts[f"{prefix}.tensors"]
    assert isinstance(metadata.value, Mapping) and isinstance(tensors.value, list)
    return Model.build(metadata.value, tensors.value, metadata, tensors)
