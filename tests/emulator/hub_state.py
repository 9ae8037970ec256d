"""What the emulated Hub holds: files, commits and repositories, with the hashes the real ones have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha1, sha256

LARGE = 10 * 1024 * 1024
"""From this size on the Hub keeps a file outside git, whatever its name."""

_LARGE_NAMES = (".gguf", ".safetensors", ".bin", ".onnx", ".gz", ".zip", ".pt")


@dataclass(frozen=True)
class HubFile:
    """A file of a repository: `content`, and zeros after it up to `size`.

    A file of `lfs` is kept in the storage, others in git itself. `sha256` need be given only where it is to be a certain one:
    that of a file with zeros after its content is made up, since nobody hashes them. `xet` tells whether the storage has a Xet
    hash of it, as of every large file uploaded since 2025.
    """

    content: bytes = b""
    size: int = -1
    lfs: bool = False
    sha256: str = ""
    xet: bool = True

    @cached_property
    def length(self) -> int:
        """The size in bytes."""
        return len(self.content) if self.size < 0 else self.size

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content, or one that stands for it where the file is only sketched."""
        if self.sha256:
            return self.sha256
        hashed = sha256(self.content)
        if self.length != len(self.content):
            hashed.update(f" and zeros up to {self.length}".encode())
        return hashed.hexdigest()

    @cached_property
    def xet_hash(self) -> str:
        """The hash under which the storage keeps the file; empty where it has none."""
        return sha256(b"xet " + self.digest.encode()).hexdigest() if self.lfs and self.xet else ""

    @cached_property
    def pointer(self) -> bytes:
        """What git holds instead of the content of a large file."""
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.digest}\nsize {self.length}\n".encode()

    @cached_property
    def blob(self) -> str:
        """The object id in git: of the content, or of the pointer to it."""
        held = self.pointer if self.lfs else self.content
        return sha1(b"blob %d\0" % len(held) + held, usedforsecurity=False).hexdigest()


def hub_file(path: str, content: bytes | str | HubFile) -> HubFile:
    """Give a file as the Hub would keep it under a path: by name and size, in git or in the storage."""
    if isinstance(content, HubFile):
        return content
    raw = content.encode() if isinstance(content, str) else content
    return HubFile(raw, lfs=path.endswith(_LARGE_NAMES) or len(raw) >= LARGE)


@dataclass(frozen=True)
class Commit:
    """A commit: its id, title and date, the whole tree, and for each path the id of the commit that last changed it."""

    id: str
    title: str
    date: datetime
    files: Mapping[str, HubFile]
    last: Mapping[str, str]


@dataclass
class Repository:
    """A model repository.

    `id` is the one in the Hub's database, which a rename leaves alone. `commits` are oldest first, the last is `main`; `tags`
    gives other names of commits. `gated` is empty, `auto` or `manual`; `readers` are the tokens that may read a
    private or gated repository. `card` is the metadata of the model card, `config` what the Hub read of config.json.
    """

    name: str
    id: str = ""
    commits: list[Commit] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    created: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    pipeline: str = "text-generation"
    library: str = ""
    labels: list[str] = field(default_factory=list)
    card: dict[str, object] = field(default_factory=dict)
    config: dict[str, object] = field(default_factory=dict)
    gguf: dict[str, object] = field(default_factory=dict)
    downloads: int = 0
    likes: int = 0
    private: bool = False
    gated: str = ""
    readers: set[str] = field(default_factory=set)
    disabled: bool = False
    deleted: bool = False

    def __post_init__(self) -> None:
        self.id = self.id or f"{int(self.created.timestamp()):08x}" + sha256(self.name.encode()).hexdigest()[:16]

    @property
    def head(self) -> Commit | None:
        """The newest commit; None in a repository without any."""
        return self.commits[-1] if self.commits else None

    @property
    def files(self) -> Mapping[str, HubFile]:
        """The files at the newest commit."""
        return self.head.files if self.head else {}

    @property
    def modified(self) -> datetime:
        """When the repository last changed."""
        return self.head.date if self.head else self.created

    def commit(self, changes: Mapping[str, bytes | str | HubFile | None], date: datetime, title: str = "Upload files") -> Commit:
        """Commit new content of files, None for one that is deleted; give the commit."""
        files = dict(self.files)
        for path, content in changes.items():
            files.pop(path, None)
            if content is not None:
                files[path] = hub_file(path, content)
        listed = "\n".join(f"{path} {file.blob}" for path, file in sorted(files.items()))
        parent = self.head
        identity = f"{self.name}\n{parent.id if parent else ''}\n{date.isoformat()}\n{title}\n{listed}"
        commit_id = sha1(identity.encode(), usedforsecurity=False).hexdigest()
        last = {path: commit_id if path in changes or parent is None else parent.last[path] for path in files}
        self.commits.append(Commit(commit_id, title, date, files, last))
        return self.commits[-1]

    def at(self, revision: str) -> Commit | None:
        """Give the commit of a revision: `main`, a tag, or a commit's id; None where there is none."""
        if revision == "main":
            return self.head
        wanted = self.tags.get(revision, revision)
        return next((commit for commit in self.commits if commit.id == wanted), None)
