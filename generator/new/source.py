"""What `gen new` is given, opened: a repository of the Hub with its files, or a GGUF file of one's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Protocol

from generator.errors import InputError, MissingFileError, UnknownNameError, quoted
from generator.facts import Source
from generator.gguf import Inventory, ShardedHeader, read_sharded, shard_names
from generator.new.names import cleaned, model_title, quant_names, quant_tag
from generator.planning import is_file
from generator.sources.errors import SourceDenied, SourceNotFound
from generator.sources.hub import Hub, HubDenied, HubFile, HubNotFound, HubReference, RepoInfo, parse_reference
from generator.sources.session import Session
from generator.specs.model import GGUF_FILE

NOT_A_MODEL = ("mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-")
"""What the engine takes for no model in the name of a file (gguf_filename_is_model in its common/download.cpp)."""

_REMEDY = "give owner/repository or hf://owner/repository/file.gguf of the Hub, or the path of a GGUF file"


@dataclass(frozen=True, slots=True)
class File:
    """A quant's file, of a sharded set the first: its size in bytes with all shards, and its SHA-256 where it is known."""

    name: str
    size: int
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a source but for headers.

    `repository` is its name now, empty for a file of one's own, `old_name` the one that was asked for where it was renamed; `commit` is the
    tree that was read. `quants` are files by quant, `named` the one that the source itself names, `projectors` files by path.
    `left_out` are files that no quant was made of, each with the reason.
    """

    title: str
    quants: Mapping[str, File]
    named: str = ""
    repository: str = ""
    old_name: str = ""
    commit: str = ""
    info: RepoInfo | None = None
    projectors: Mapping[str, File] = field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()

    def source(self, file: File | None = None) -> Source:
        """Give where a file's facts were read, or those of the repository as a whole."""
        if not self.repository:
            return Source("", title=file.name if file else "")
        purl = f"pkg:huggingface/{self.repository}@{self.commit}"
        title = f"{self.repository}: {file.name}" if file else ""
        return Source(f"https://huggingface.co/{self.repository}", purl, title, self.commit, file.sha256 if file else "")

    def quant(self, asked: str) -> str:
        """Give the quant of a name, whatever its case. Raises UnknownNameError."""
        found = next((name for name in self.quants if name.lower() == asked.lower()), None)
        if found is None:
            raise UnknownNameError("quant", asked, self.quants, remedy="--quant takes one of them")
        return found


class Opened(Protocol):
    """A source that headers can be read from."""

    @property
    def origin(self) -> Origin:
        """What is known of it."""

    def header(self, quant: str) -> Inventory:
        """Read the header of a quant, of all its shards."""


@contextmanager
def opened(text: str) -> Iterator[Opened]:
    """Open what a text names.

    Raises InputError for what names nothing, MissingFileError, what reading a header raises, and the errors of the Hub.
    """
    path = Path(text)
    if is_file(path):
        yield LocalFile(path)
        return
    if text.startswith(("/", ".", "~")) or (not text.startswith("hf://") and _is_path(text)):
        raise MissingFileError(text, remedy=_REMEDY)
    with Session() as session:
        yield _repository(Hub(session), text)


def _is_path(text: str) -> bool:
    return "/" not in text or text.endswith(".head") or (text.endswith(".gguf") and text.count("/") < 2)


# --- a file ----------------------------------------------------------------------------------------


class LocalFile:
    """A GGUF file, or one cut off at its tensor data whose name ends in .head."""

    def __init__(self, path: Path) -> None:
        self._header = read_sharded(path, whole=path.suffix != ".head")
        name = shard_names(path.name.removesuffix(".head"))[0]
        if not name.endswith(".gguf"):
            name += ".gguf"
        check_file_name(name)
        size = sum(_length(self._header, index, bare=path.suffix == ".head") for index in range(len(self._header.shards)))
        quant = quant_tag(name) or _type_of(self._header) or quant_names([name])[name]
        title = cleaned(self._header.metadata.get("general.name")) or model_title(name.removesuffix(".gguf"))
        self.origin = Origin(title, {quant: File(name, size)}, named=quant)

    def header(self, quant: str) -> Inventory:
        """Give the header; the file has one quant."""
        del quant
        return self._header


def _length(header: ShardedHeader, index: int, *, bare: bool) -> int:
    """Give the length of a shard in bytes: the file's own, or where its tensor data is missing, the end of its last tensor."""
    shard = header.shards[index]
    if not bare and shard.file_size is not None:
        return shard.file_size
    return shard.data_offset + max((_padded(tensor.offset + tensor.nbytes, shard.alignment) for tensor in shard.tensors), default=0)


def _padded(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _type_of(header: Inventory) -> str:
    """Give the quant that a header states by its number; nothing where it states none that is known."""
    from gguf import LlamaFileType

    stated = header.metadata.get("general.file_type")
    known = {int(kind): kind.name for kind in LlamaFileType if kind is not LlamaFileType.GUESSED}
    name = known.get(stated, "") if isinstance(stated, int) else ""
    return name.removeprefix("MOSTLY_").removeprefix("ALL_")


def check_file_name(name: str) -> None:
    """Refuse a file's name that a spec cannot hold. Raises InputError."""
    if not GGUF_FILE.fullmatch(name):
        raise InputError(
            f"a file called {cleaned(name)!r} cannot be named in a spec",
            remedy="letters, digits and . _ + - / are taken, and a name ends in .gguf: rename it",
        )


# --- the Hub ---------------------------------------------------------------------------------------


def _repository(hub: Hub, text: str) -> HubRepository:
    plain = text.removeprefix("hf://")
    whole, _, revision = plain.partition("@")
    if whole.count("/") == 1 and ":" not in whole:
        reference = replace(parse_reference(f"{whole}:any" + (f"@{revision}" if revision else "")), quant="")
    else:
        reference = parse_reference(text)
    return HubRepository(hub, reference)


class HubRepository:
    """A repository of the Hub at its commit now, or at the one that the reference names."""

    def __init__(self, hub: Hub, reference: HubReference) -> None:
        self._hub = hub
        try:
            info = hub.info(reference.repository, reference.revision)
        except (SourceDenied, SourceNotFound) as error:
            raise _not_there(reference, error) from None
        files = hub.tree(info.repo, info.commit).files
        self._reference = HubReference(info.repo, revision=info.commit)
        self.origin = _origin(reference, info, files)

    def header(self, quant: str) -> Inventory:
        """Read the header of a quant by byte ranges."""
        reference = replace(self._reference, file=self.origin.quants[quant].name)
        with ExitStack() as files:
            try:
                return read_sharded([files.enter_context(file) for file in self._hub.open_set(reference)])
            except SourceDenied as error:
                page = f"https://huggingface.co/{reference.repository}"
                remedy = f"accept its terms at {page}, then set HF_TOKEN; or give a file that you have"
                raise HubDenied(f"its files are refused (status {error.status})", reference=reference, remedy=remedy) from None


def _not_there(reference: HubReference, error: SourceDenied | SourceNotFound) -> HubNotFound:
    if isinstance(error, SourceNotFound) and error.code == "RevisionNotFound":
        return HubNotFound("revision", reference=reference, remedy=f"see https://huggingface.co/{reference.repository}/refs")
    return HubNotFound(
        "repository", reference=reference, remedy="check the spelling; if it is private, set HF_TOKEN to a token that may read it"
    )


def _origin(reference: HubReference, info: RepoInfo, files: Mapping[str, HubFile]) -> Origin:
    """Sort the files of a repository into quants, projectors, and what is left out. Raises InputError where there is no quant."""
    quants, projectors, left_out = dict[str, File](), dict[str, File](), list[tuple[str, str]]()
    for path in sorted(name for name in files if name.endswith(".gguf")):
        whole = [str(PurePosixPath(path).with_name(name)) for name in shard_names(PurePosixPath(path).name)]
        if path != whole[0] and whole[0] in files:
            continue
        reason = _unusable(path, whole, files)
        file = File(path, sum(files[name].size for name in whole if name in files), files[path].sha256 or "")
        if "mmproj" in PurePosixPath(path).name and not reason:
            projectors[path] = file
        elif reason:
            left_out.append((path, reason))
        else:
            quants[path] = file
    if not quants:
        why = f"; left out: {quoted(path for path, _ in left_out[:6])}" if left_out else ""
        raise InputError(
            f"the repository has no GGUF file of a model{why}",
            where=f"hf://{info.repo}",
            remedy="look for a repository with quantised files of it: their names often end in -GGUF",
        )
    names = quant_names(quants)
    origin = Origin(
        model_title(info.repo),
        {names[path]: file for path, file in quants.items()},
        repository=info.repo,
        old_name=reference.repository if reference.repository != info.repo else "",
        commit=info.commit,
        info=info,
        projectors=projectors,
        left_out=tuple(left_out),
    )
    return replace(origin, named=_named(reference, origin, names))


def _unusable(path: str, whole: Sequence[str], files: Mapping[str, HubFile]) -> str:
    name = PurePosixPath(path)
    if not GGUF_FILE.fullmatch(path):
        return "a spec cannot hold its name"
    if any(word in name.name for word in NOT_A_MODEL if word != "mmproj") or name.parent.name == "MTP":
        return "the engine takes it for no model"
    if missing := [shard for shard in whole if shard not in files]:
        return f"{quoted(missing[:3])} of its set is missing"
    return ""


def _named(reference: HubReference, origin: Origin, names: Mapping[str, str]) -> str:
    """Give the quant that a reference names; nothing where it names the repository alone. Raises UnknownNameError, HubNotFound."""
    if reference.quant:
        return origin.quant(reference.quant)
    if not reference.file:
        return ""
    path = PurePosixPath(reference.file)
    first = str(path.with_name(shard_names(path.name)[0]))
    if first not in names:
        raise HubNotFound("file of a model", reference=reference, remedy=f"the repository has {quoted(list(names)[:12])}")
    return names[first]
