"""Model files on the Hugging Face Hub: what a reference means, and the file behind it as byte ranges.

`HF_ENDPOINT` and `HF_TOKEN` are honoured. The client library is asked for what it knows best (addresses, the commit and hash of a
file, the list of files); ranges are read by `generator.sources.ranges`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from types import ModuleType
from urllib.parse import urljoin

from generator.errors import GenError, InputError, quoted
from generator.gguf.shards import shard_names
from generator.sources.ranges import HttpRanges, shown_url

DEFAULT_REVISION = "main"

_REFERENCE = re.compile(
    r"(?:hf://)?(?P<repository>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)"
    r"(?:/(?P<file>[^@:]+\.gguf)|:(?P<quant>[A-Za-z0-9][\w.-]*))"
    r"(?:@(?P<revision>[\w./-]+))?",
    re.ASCII,
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
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
        named = f"/{self.file}" if self.file else f":{self.quant}"
        return f"hf://{self.repository}{named}" + (f"@{self.revision}" if self.revision != DEFAULT_REVISION else "")


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
    hub = _client()
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


def _client() -> ModuleType:
    """Import the Hub's client, which takes 0.3 s; without its telemetry, which would cost a request."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import huggingface_hub

    return huggingface_hub


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def _file_of_quant(reference: HubReference) -> str:
    """Find the file of a quant by name, as the engine's own `-hf` does: projectors aside, and the first of a sharded set."""
    hub = _client()
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
    return f"{shown_url(_endpoint() or 'https://huggingface.co')}/{reference.repository}"
