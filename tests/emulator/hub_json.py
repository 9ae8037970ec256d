"""What the Hub's API says of a repository, in its own words."""

from __future__ import annotations

from collections.abc import Sequence

from tests.emulator.github_state import object_id
from tests.emulator.hub_state import Commit, HubFile, Repository
from tests.emulator.wire import stamp

Row = dict[str, object]

EXPANDABLE = (
    *("author", "baseModels", "cardData", "config", "createdAt", "disabled", "downloads", "downloadsAllTime", "evalResults", "gated"),
    *("inference", "inferenceProviderMapping", "lastModified", "library_name", "likes", "mask_token", "model-index", "pipeline_tag"),
    *("private", "safetensors", "sha", "siblings", "spaces", "tags", "transformersInfo", "trendingScore", "widgetData", "gguf"),
    *("resourceGroup", "xetEnabled", "childrenModelCount", "usedStorage"),
)
"""What `expand` may name; anything else is refused."""

_ABSENT_BY_DEFAULT = frozenset({"downloadsAllTime", "trendingScore", "childrenModelCount", "xetEnabled"})
_SCANS = ("jFrogScan", "protectAiScan", "avScan", "pickleImportScan", "virusTotalScan")


def model_info(repository: Repository, commit: Commit | None, *, blobs: bool, expand: Sequence[str]) -> Row:
    """Give what `/api/models/<name>` says; with `expand` only what that names, beside the ids."""
    facts = _facts(repository, commit, blobs=blobs)
    if expand:
        return {"_id": repository.id, "id": repository.name} | {name: facts[name] for name in expand if name in facts}
    own = {name: value for name, value in facts.items() if name not in _ABSENT_BY_DEFAULT}
    return {"_id": repository.id, "id": repository.name, "modelId": repository.name, **own}


def listed_model(repository: Repository, *, full: bool, card: bool, expand: Sequence[str]) -> Row:
    """Give one row of `/api/models`."""
    facts = _facts(repository, repository.head, blobs=False)
    if expand:
        return model_info(repository, repository.head, blobs=False, expand=expand)
    names = ["likes", "trendingScore", "private", "downloads", "tags", "pipeline_tag", "library_name", "createdAt"]
    if full:
        names += ["author", "gated", "lastModified", "sha", "siblings", "disabled"]
    if card:
        names.append("cardData")
    row = {name: facts[name] for name in names if name in facts}
    return {"_id": repository.id, "id": repository.name, **row, "modelId": repository.name}


def _facts(repository: Repository, commit: Commit | None, *, blobs: bool) -> Row:
    files = commit.files if commit else {}
    licence = [f"license:{repository.card['license']}"] if "license" in repository.card else []
    facts: Row = {
        "author": repository.name.partition("/")[0],
        "private": repository.private,
        "gated": repository.gated or False,
        "disabled": repository.disabled,
        "lastModified": stamp(repository.modified, millis=True),
        "createdAt": stamp(repository.created, millis=True),
        "tags": [*([repository.library] if repository.library else []), *repository.labels, *licence, "region:us"],
        "downloads": repository.downloads,
        "downloadsAllTime": repository.downloads * 3,
        "likes": repository.likes,
        "trendingScore": 0,
        "model-index": None,
        "config": repository.config,
        "cardData": repository.card,
        "spaces": [],
        "childrenModelCount": {"adapter": 0, "merge": 0, "quantized": 0, "finetune": 0},
        "xetEnabled": True,
        "usedStorage": sum(file.length for file in files.values() if file.lfs),
        "siblings": [_sibling(path, file, blobs=blobs) for path, file in sorted(files.items())],
    }
    if commit:
        facts["sha"] = commit.id
    if repository.pipeline:
        facts["pipeline_tag"] = repository.pipeline
    if repository.library:
        facts["library_name"] = repository.library
    if repository.gguf:
        facts["gguf"] = repository.gguf
    return facts


def _sibling(path: str, file: HubFile, *, blobs: bool) -> Row:
    if not blobs:
        return {"rfilename": path}
    row: Row = {"rfilename": path, "size": file.length, "blobId": file.blob}
    if file.lfs:
        row["lfs"] = {"sha256": file.digest, "size": file.length, "pointerSize": len(file.pointer)}
    return row


def tree_entries(repository: Repository, commit: Commit, folder: str, *, recursive: bool, expand: bool) -> list[Row] | None:
    """Give what is in a folder, folders first; with `recursive` all that is below. None where there is no such folder."""
    prefix = f"{folder}/" if folder else ""
    below = {path: file for path, file in commit.files.items() if path.startswith(prefix)}
    if prefix and not below:
        return None
    folders = {path[: len(prefix) + at] for path in below for at in _slashes(path[len(prefix) :])}
    if not recursive:
        folders = {path for path in folders if "/" not in path[len(prefix) :]}
        below = {path: file for path, file in below.items() if "/" not in path[len(prefix) :]}
    rows = [_folder(commit, path) for path in sorted(folders)] + [_file(path, file) for path, file in sorted(below.items())]
    if expand:
        for row in rows:
            row["lastCommit"] = _last(repository, commit, str(row["path"]))
            if row["type"] == "file":
                row["securityFileStatus"] = {"status": "safe", **{scan: {"status": "unscanned"} for scan in _SCANS}}
    return rows


def _slashes(path: str) -> list[int]:
    return [at for at, letter in enumerate(path) if letter == "/"]


def _folder(commit: Commit, path: str) -> Row:
    inside = sorted(f"{name} {file.blob}" for name, file in commit.files.items() if name.startswith(f"{path}/"))
    return {"type": "directory", "oid": object_id("tree", *inside), "size": 0, "path": path}


def _file(path: str, file: HubFile) -> Row:
    row: Row = {"type": "file", "oid": file.blob, "size": file.length}
    if file.lfs:
        row["lfs"] = {"oid": file.digest, "size": file.length, "pointerSize": len(file.pointer)}
    if file.xet_hash:
        row["xetHash"] = file.xet_hash
    return {**row, "path": path}


def _last(repository: Repository, commit: Commit, path: str) -> Row:
    ids = [commit.last[name] for name in commit.last if name == path or name.startswith(f"{path}/")]
    made = max((each for each in repository.commits if each.id in ids), key=lambda each: each.date)
    return {"id": made.id, "title": made.title, "date": stamp(made.date, millis=True)}
