"""The Hugging Face Hub: what repositories hold and say, and a file of one as byte ranges.

`HF_ENDPOINT` and `HF_TOKEN` are honoured, and the client library asked for what it knows best: addresses, pages of lists, what an
answer means. `Hub` is for a run that asks many sources, through one session; `open_hub` for a single file, by itself. Ranges
are read by `generator.sources.ranges`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from generator.errors import GenError, InputError, quoted
from generator.gguf.shards import shard_names
from generator.sources.errors import BadAnswer, InvalidAddress, SourceNotFound, shown_url
from generator.sources.hub_client import asking_through, http_errors, hub_library
from generator.sources.ranges import HttpRanges
from generator.sources.session import JSON, Reply, Session

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo, RepoFile

DEFAULT_ENDPOINT = "https://huggingface.co"
DEFAULT_REVISION = "main"

MOST = 20_000
"""Entries of one list that are read at most."""

_REFERENCE = re.compile(
    r"(?:hf://)?(?P<repository>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)"
    r"(?:/(?P<file>[^@:]+\.gguf)|:(?P<quant>[A-Za-z0-9][\w.-]*))"
    r"(?:@(?P<revision>[\w./-]+))?",
    re.ASCII,
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # git's name for a file without content
_FORMS = "write owner/repository/file.gguf or owner/repository:QUANT, with hf:// before it and @revision after it if you like"


class InvalidReference(InputError):
    """A text that names no file on the Hub."""

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(f"{reference[:200]!r} names no GGUF file on the Hub", remedy=_FORMS)


class HubError(GenError):
    """Base of what can be wrong with a file on the Hub; `reference` is what was asked for."""

    def __init__(self, problem: str, *, reference: HubReference, remedy: str) -> None:
        self.reference = reference
        super().__init__(problem, where=str(reference), remedy=remedy)


class HubNotFound(HubError):
    """No such repository, revision or file; `what` says which."""

    exit_code = 2

    def __init__(self, what: str, *, reference: HubReference, remedy: str) -> None:
        self.what = what
        super().__init__(f"there is no such {what} on the Hub", reference=reference, remedy=remedy)


class HubAmbiguous(HubError):
    """A quant that several files of the repository have in their names: `files`."""

    exit_code = 2

    def __init__(self, files: list[str], *, reference: HubReference) -> None:
        self.files = tuple(files)
        super().__init__(
            f"several files are called {reference.quant}: {quoted(self.files[:6])}", reference=reference, remedy="name one file"
        )


class HubDenied(HubError):
    """The repository is gated, or the token is not accepted."""


class HubUnreachable(HubError):
    """The Hub could not be asked, or failed."""

    def __init__(self, reason: str, *, reference: HubReference, remedy: str) -> None:
        self.reason = reason
        super().__init__(f"the Hub could not be asked: {reason}", reference=reference, remedy=remedy)


@dataclass(frozen=True, slots=True)
class HubReference:
    """A file of a model repository at a revision, by its path in the repository or by its quant."""

    repository: str
    file: str = ""
    quant: str = ""
    revision: str = DEFAULT_REVISION

    def __str__(self) -> str:
        named = f"/{self.file}" if self.file else f":{self.quant}" if self.quant else ""
        return f"hf://{self.repository}{named}" + (f"@{self.revision}" if self.revision != DEFAULT_REVISION else "")


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository at a commit: size in bytes, git blob, and the commit that last changed it.

    `sha256` is that of a file in large-file storage, `xet` its hash there; a small file has neither.
    """

    path: str
    size: int
    sha256: str | None
    xet: str | None
    blob: str
    last_commit: str | None


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a repository at a commit, by path. `repo` is its name now, which differs from an old one that was asked for."""

    repo: str
    commit: str
    files: Mapping[str, HubFile]


@dataclass(frozen=True, slots=True)
class RepoInfo:
    """What the Hub says of a repository; `repo` is its name now, `last_modified` the day (UTC), `pipeline` its task or empty.

    `licence`, `licence_name` and `bases`, repositories, are what its model card's metadata says, in its publisher's words.
    """

    repo: str
    commit: str
    last_modified: date
    gated: bool
    private: bool
    pipeline: str
    licence: str = ""
    licence_name: str = ""
    bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileHead:
    """What the Hub says of a download address without sending the file; `location` may be signed, so it is not for showing."""

    size: int | None
    etag: str
    commit: str
    location: str = field(repr=False)


class Hub:
    """The Hub, asked through a session.

    A repository that was renamed is found under its old name, and the answer says the new one. A repository that is gone, private or
    never was looks the same to one without a token: SourceDenied, from which nothing follows. With a token it is SourceNotFound.
    """

    def __init__(self, session: Session) -> None:
        library = hub_library()
        self._session = session
        self._endpoint = _endpoint() or DEFAULT_ENDPOINT
        session.authorize(self._endpoint, library.get_token() or "")
        self._api = library.HfApi(endpoint=self._endpoint, token=False)
        self._address = library.hf_hub_url
        self._head = library.get_hf_file_metadata

    def info(self, repo: str, revision: str = DEFAULT_REVISION) -> RepoInfo:
        """Ask what a repository is at a revision. Raises a SourceError."""
        with self._asking(repo):
            found = self._info(repo, revision)
            return RepoInfo(
                repo=found.id,
                commit=_given(found.sha),
                last_modified=_given(found.last_modified).date(),
                gated=bool(found.gated),
                private=bool(found.private),
                pipeline=found.pipeline_tag or "",
                **_of_card(found),
            )

    def tree(self, repo: str, revision: str = DEFAULT_REVISION) -> Tree:
        """Ask for all files of a repository at a revision; at a commit that was asked for before, nothing is.

        Raises a SourceError, BadAnswer for a repository without any file.
        """
        with self._asking(repo):
            name, commit = repo, revision
            if not _COMMIT.fullmatch(revision):
                found = self._info(repo, revision)
                name, commit = found.id, _given(found.sha)
            listed = list(islice(self._api.list_repo_tree(name, recursive=True, expand=True, revision=commit, token=False), MOST + 1))
            files = {entry.path: _file(entry) for entry in listed if hasattr(entry, "blob_id")}
        if not files:
            raise BadAnswer("it lists no file at all", url=self._page(repo))
        if len(listed) > MOST:
            raise BadAnswer(f"it lists more than {MOST} files", url=self._page(repo))
        return Tree(name, commit, files)

    def card(self, repo: str, revision: str = DEFAULT_REVISION) -> str | None:
        """Ask for the text of a model card; None where the repository has none. Raises a SourceError."""
        try:
            reply = self._file(repo, "README.md", revision, "text/plain")
        except SourceNotFound as error:
            if error.code == "EntryNotFound":
                return None
            raise
        return reply.body.decode("utf-8", errors="replace")

    def config(self, repo: str, revision: str = DEFAULT_REVISION) -> dict[str, Any]:
        """Ask for a model's `config.json`. Raises a SourceError, SourceNotFound where the repository has none."""
        found = self._file(repo, "config.json", revision, JSON).json()
        if not isinstance(found, dict):
            raise BadAnswer("its config.json is no table", url=self._page(repo))
        return found

    def search(self, query: str) -> list[str]:
        """Ask which repositories of models have the words of a query in their names; all of them, in the Hub's order."""
        with self._asking():
            found = list(dict.fromkeys(model.id for model in islice(self._api.list_models(search=query, token=False), MOST + 1)))
        if len(found) > MOST:
            raise BadAnswer(f"it finds more than {MOST} repositories", url=f"{self._endpoint}/api/models")
        return found

    def head(self, repo: str, path: str, revision: str = DEFAULT_REVISION) -> FileHead:
        """Ask a download address what it would send. Raises a SourceError."""
        with self._asking(repo):
            url = self._address(repo, path, revision=revision, endpoint=self._endpoint)
            found = self._head(url, token=False)
            return FileHead(found.size, found.etag or "", found.commit_hash or "", urljoin(url, found.location))

    def open(self, reference: HubReference) -> HubRanges:
        """Give a file's byte ranges, as `open_hub` does. Raises a SourceError, or a HubError where a quant names no one file."""
        with asking_through(self._session):
            return open_hub(reference)

    def open_set(self, reference: HubReference) -> tuple[HubRanges, ...]:
        """Give the byte ranges of every file of a set, as `open_hub_set` does. Raises what `open` raises."""
        with asking_through(self._session):
            return open_hub_set(reference)

    def _info(self, repo: str, revision: str) -> ModelInfo:
        found: ModelInfo = self._api.model_info(repo, revision=revision, token=False)
        if not found.sha or not _COMMIT.fullmatch(found.sha):
            raise BadAnswer("the repository has no commit", url=self._page(repo))
        return found

    def _file(self, repo: str, path: str, revision: str, accept: str) -> Reply:
        """Ask for a small file. Raises a SourceError, BadAnswer for one without content that should have some."""
        with self._asking(repo):
            url = self._address(repo, path, revision=revision, endpoint=self._endpoint)
        pinned = bool(_COMMIT.fullmatch(revision))
        reply = self._session.get(url, accept=accept, budget="resolvers", immutable=pinned, may_be_empty=True)
        if not reply.body and _EMPTY not in reply.headers.get("etag", ""):
            raise BadAnswer("it sends nothing at all", url=url)
        return reply

    def _page(self, repo: str) -> str:
        return f"{self._endpoint}/{repo}"

    @contextmanager
    def _asking(self, repo: str = "") -> Iterator[None]:
        """Ask through the session, and turn the library's errors into ours."""
        from huggingface_hub.errors import HFValidationError

        unreadable: tuple[type[Exception], ...] = (KeyError, IndexError, TypeError, ValueError, AttributeError, *http_errors())
        try:
            with asking_through(self._session):
                yield
        except HFValidationError:
            raise InvalidAddress(self._page(repo)) from None
        except unreadable:
            raise BadAnswer("what it sends is not of the form that the Hub documents", url=self._page(repo)) from None


def _file(entry: RepoFile) -> HubFile:
    size: object = entry.size
    sha256 = entry.lfs.sha256 if entry.lfs else None
    if not isinstance(size, int) or size < 0 or not (sha256 is None or _SHA256.fullmatch(sha256)):
        raise ValueError
    return HubFile(entry.path, size, sha256, entry.xet_hash, entry.blob_id, entry.last_commit.oid if entry.last_commit else None)


def _of_card(found: ModelInfo) -> dict[str, Any]:
    """Give what the metadata of a model card says, where it is of the form that the Hub documents."""
    card = found.card_data
    said = {name: getattr(card, name, None) for name in ("license", "license_name", "base_model")}
    bases = said["base_model"] if isinstance(said["base_model"], list) else [said["base_model"]]
    return {
        "licence": said["license"] if isinstance(said["license"], str) else "",
        "licence_name": said["license_name"] if isinstance(said["license_name"], str) else "",
        "bases": tuple(name for name in bases if isinstance(name, str)),
    }


def _given(value: Any) -> Any:
    if value is None:
        raise ValueError
    return value


class HubRanges(HttpRanges):
    """A file on the Hub as byte ranges, with the commit it was found at and, where the Hub gives it, its SHA-256."""

    def __init__(self, url: str, *, target: str, reference: HubReference, size: int | None, commit: str, sha256: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        super().__init__(url, target=target, name=str(reference), size=size, headers=headers)
        self.reference = reference
        self.commit = commit
        self.sha256 = sha256


def parse_reference(text: str) -> HubReference:
    """Read `owner/repository/file.gguf` or `owner/repository:QUANT`, either with `hf://` before and `@revision` after.

    Raises InvalidReference.
    """
    found = _REFERENCE.fullmatch(text.strip())
    if found is None or ".." in text or "//" in text.removeprefix("hf://") or "\\" in text:
        raise InvalidReference(text)
    return HubReference(found["repository"], found["file"] or "", found["quant"] or "", found["revision"] or DEFAULT_REVISION)


def open_hub(reference: HubReference) -> HubRanges:
    """Ask the Hub for a file, and give its byte ranges at the commit found.

    One request, and one more to list the files where a quant is named; of a sharded set, the first file is opened. Raises a HubError.
    """
    hub = hub_library()
    if not reference.file:
        reference = replace(reference, file=_file_of_quant(reference), quant="")
    with _translated(reference):
        token = hub.get_token()
        url = hub.hf_hub_url(reference.repository, reference.file, revision=reference.revision, endpoint=_endpoint())
        found = hub.get_hf_file_metadata(url, token=token)
        revision = found.commit_hash or reference.revision
        pinned = hub.hf_hub_url(reference.repository, reference.file, revision=revision, endpoint=_endpoint())
    return HubRanges(
        pinned,
        target=urljoin(url, found.location),
        reference=reference,
        size=found.size,
        commit=found.commit_hash or "",
        sha256=found.etag if found.etag and _SHA256.fullmatch(found.etag) else "",
        token=token or "",
    )


def open_hub_set(reference: HubReference) -> tuple[HubRanges, ...]:
    """Give the byte ranges of every file of the set that a file belongs to, one where it is not sharded. Raises a HubError."""
    first = open_hub(reference)
    path = PurePosixPath(first.reference.file)
    files = [str(path.with_name(name)) for name in shard_names(path.name)]
    at_commit = replace(first.reference, revision=first.commit or first.reference.revision)
    return tuple(first if file == str(path) else open_hub(replace(at_commit, file=file)) for file in files)


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def _file_of_quant(reference: HubReference) -> str:
    """Find the file of a quant by name, as the engine's own `-hf` does: projectors aside, and the first of a sharded set."""
    hub = hub_library()
    with _translated(reference):
        api = hub.HfApi(endpoint=_endpoint(), token=hub.get_token())
        listed = api.model_info(reference.repository, revision=reference.revision).siblings or []
    paths = [PurePosixPath(entry.rfilename) for entry in listed]
    models = [path for path in paths if path.suffix == ".gguf" and not path.name.startswith("mmproj")]
    tag = re.compile(rf"(?:^|[-._/]){re.escape(reference.quant)}(?:[-./]|$)", re.IGNORECASE)
    files = sorted({str(path.with_name(shard_names(path.name)[0])) for path in models if tag.search(str(path))})
    if not files:
        remedy = (
            f"the repository has {quoted(map(str, models[:12]))}" if models else "the repository has no GGUF file: look for one that has"
        )
        raise HubNotFound(f"quant as {reference.quant}", reference=reference, remedy=remedy)
    if len(files) > 1:
        raise HubAmbiguous(files, reference=reference)
    return files[0]


@contextmanager
def _translated(reference: HubReference) -> Iterator[None]:
    """Turn the client's errors into ours. Their own text is left out: it holds addresses and request ids, and repeats itself."""
    from huggingface_hub import errors

    transport: type[Exception] = errors.HfHubHTTPError.__bases__[0]  # of whichever HTTP library this version of the client uses
    try:
        yield
    except errors.HFValidationError:
        raise InvalidReference(str(reference)) from None
    except errors.OfflineModeIsEnabled:
        raise HubUnreachable("HF_HUB_OFFLINE is set", reference=reference, remedy="unset it, or give a local file") from None
    except errors.GatedRepoError:
        remedy = f"accept its terms at {_page(reference)}, then set HF_TOKEN or run `hf auth login`"
        raise HubDenied("the repository is gated", reference=reference, remedy=remedy) from None
    except errors.RepositoryNotFoundError:
        remedy = "check the spelling; if it is private, set HF_TOKEN or run `hf auth login`"
        raise HubNotFound("repository", reference=reference, remedy=remedy) from None
    except errors.RevisionNotFoundError:
        raise HubNotFound("revision", reference=reference, remedy=f"see the branches and tags at {_page(reference)}") from None
    except errors.EntryNotFoundError:
        raise HubNotFound("file", reference=reference, remedy=f"see the files at {_page(reference)}/tree/{reference.revision}") from None
    except errors.HfHubHTTPError as problem:
        raise _refusal(problem.response.status_code, reference) from None
    except (transport, OSError):
        remedy = "check the network, HF_ENDPOINT and the proxy, or give a local file"
        raise HubUnreachable("no connection could be made", reference=reference, remedy=remedy) from None


def _refusal(status: int, reference: HubReference) -> HubError:
    if status in {401, 403}:
        remedy = "set HF_TOKEN to a token that may read the repository, or unset it if it is public"
        return HubDenied(f"access is refused (status {status})", reference=reference, remedy=remedy)
    return HubUnreachable(f"it answers with status {status}", reference=reference, remedy="try again later")


def _page(reference: HubReference) -> str:
    return f"{shown_url(_endpoint() or DEFAULT_ENDPOINT)}/{reference.repository}"
