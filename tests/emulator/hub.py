"""The emulated Hugging Face Hub: its API for models, the download addresses, and the storage they redirect to.

What it answers follows answers of the real one that were published in 2026, some of which are not what one expects:
- To a client without a token a repository that is missing, deleted or private is one and the same: status 401 without an
  X-Error-Code. With a token it is status 404 and RepoNotFound.
- A gated repository tells everybody its metadata and its files' names and sizes; the files are refused (GatedRepo).
- A small file is redirected too (307, to a cache on the same host); a large one to another host, by an address that expires.
- The ETag of the storage is the Xet hash, not the SHA-256, which only X-Linked-Etag of the redirect tells.
- A name of another case, or an old one, redirects (307) to the name now, by a Location without a host.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from hashlib import sha1, sha256
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.emulator.budgets import Budgets
from tests.emulator.hub_json import EXPANDABLE, listed_model, model_info, tree_entries
from tests.emulator.hub_state import Commit, HubFile, Repository
from tests.emulator.scenario import Scenario
from tests.emulator.wire import Answer, Request, Sparse, json_answer, link, ranged, redirect, revalidated, text_answer

_SUBPATHS = frozenset({"tree", "revision", "resolve", "raw", "blob", "refs", "commits", "discussions"})
_EXPOSED = (
    "X-Repo-Commit,X-Request-Id,X-Error-Code,X-Error-Message,X-Total-Count,ETag,Link,"
    "Accept-Ranges,Content-Range,X-Linked-Size,X-Linked-ETag,X-Xet-Hash"
)
_WHO = 'Bearer realm="Authentication required", charset="UTF-8"'
_SECRET = "signed by the emulator"


class Refused(Exception):
    """A request that ends here, with this answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(answer.status)


class Hub:
    """The Hub. `endpoint` and `storage` are its addresses; the addresses of the storage last `link_life` seconds."""

    def __init__(self, scenario: Callable[[], Scenario], budgets: Budgets, clock: Callable[[], float]) -> None:
        self.endpoint = ""
        self.storage = ""
        self.link_life = 3600
        self._scenario = scenario
        self._budgets = budgets
        self._clock = clock

    # --- requests to huggingface.co -----------------------------------------------------------------

    def answer(self, request: Request) -> Answer:
        """Answer a request to the Hub; each counts against the budget of its class, whatever comes of it."""
        budget = "hub.pages"
        if "/resolve/" in request.path or request.path.startswith("/api/resolve-cache/"):
            budget = "hub.resolvers"
        elif request.path.startswith("/api/"):
            budget = "hub.api"
        token = request.token if request.token in self._scenario().hub_tokens else ""
        now = self._clock()
        if self._budgets.spend(budget, token, now):
            try:
                answer = self._answer(request)
            except Refused as refused:
                answer = refused.answer
        else:
            answer = json_answer(429, {"error": "We had to rate limit you. To get more requests, log in or upgrade your plan."})
        left = self._budgets.left(budget, token, now)
        bucket = budget.removeprefix("hub.")
        answer.headers |= {
            "X-Powered-By": "huggingface-moon",
            "X-Request-Id": f"Root=1-{int(now):08x}-{sha1(request.target.encode(), usedforsecurity=False).hexdigest()[:24]}",
            "RateLimit": f'"{bucket}";r={left.remaining};t={max(0, round(left.ends - now))}',
            "RateLimit-Policy": f'"fixed window";"{bucket}";q={left.limit};w={left.seconds}',
            "Access-Control-Expose-Headers": _EXPOSED,
            "Vary": "Origin",
        }
        return answer

    def _answer(self, request: Request) -> Answer:
        parts = [unquote(part) for part in request.path.strip("/").split("/")]
        if request.method not in {"GET", "HEAD"}:
            return _error(404, "Sorry, we can't find the page you are looking for.")
        if parts[:2] == ["api", "models"]:
            answer = self._api(request, parts[2:])
            if answer.status == 200 and "ETag" not in answer.headers:
                answer.headers["ETag"] = _weak(answer.body)
            return Answer(304, {"ETag": answer.headers["ETag"]}) if revalidated(request, answer) else answer
        if parts[:3] == ["api", "resolve-cache", "models"] and len(parts) > 6:
            return self._cached(request, "/".join(parts[3:5]), parts[5], "/".join(parts[6:]))
        if len(parts) > 4 and parts[2] in {"resolve", "raw"}:
            return self._file(request, "/".join(parts[:2]), parts[2], parts[3], "/".join(parts[4:]))
        if len(parts) == 2:
            return self._page(request, "/".join(parts))
        return text_answer(404, "Not Found")

    def _api(self, request: Request, parts: list[str]) -> Answer:
        if not parts or parts == [""]:
            return self._list(request)
        named = 1 if len(parts) == 1 or parts[1] in _SUBPATHS else 2
        repository = self._repository(request, "/".join(parts[:named]))
        rest = parts[named:]
        if not rest or rest[0] == "revision":
            return self._info(request, repository, rest[1] if rest else "main")
        if rest[0] == "tree" and len(rest) > 1:
            return self._tree(request, repository, rest[1], "/".join(rest[2:]))
        if rest[0] == "refs":
            head = [{"name": "main", "ref": "refs/heads/main", "targetCommit": repository.head.id}] if repository.head else []
            tags = [{"name": name, "ref": f"refs/tags/{name}", "targetCommit": commit} for name, commit in repository.tags.items()]
            return json_answer(200, {"branches": head, "converts": [], "tags": tags})
        return _error(404, "Sorry, we can't find the page you are looking for.")

    # --- who may ask for what -----------------------------------------------------------------------

    def _repository(self, request: Request, name: str, *, files: bool = False) -> Repository:
        """Give a repository that the client may see, and with `files` whose files it may read; otherwise refuse."""
        scenario = self._scenario()
        repository = scenario.repositories.get(name)
        if repository is None:
            repository = self._moved(request, name)
        known = request.token in scenario.hub_tokens
        reader = known and request.token in repository.readers if repository else False
        if files and repository and repository.gated and not repository.deleted and not reader:
            raise Refused(_gated(repository.name, known=known))
        if request.token and not known:
            raise Refused(_error(401, "Invalid credentials in Authorization header", {"WWW-Authenticate": _WHO}))
        if repository is None or repository.deleted or (repository.private and not reader):
            if not known:
                raise Refused(_error(401, "Invalid username or password.", {"WWW-Authenticate": _WHO}))
            raise Refused(_error(404, "Repository not found", {"X-Error-Code": "RepoNotFound"}))
        if files and repository.disabled:
            raise Refused(_error(403, "Access to this resource is disabled."))
        return repository

    def _moved(self, request: Request, name: str) -> Repository | None:
        """Refuse with a redirect where the name is an old one, or one of another case; give None where nobody knows it."""
        scenario = self._scenario()
        lower = {known.lower(): known for known in scenario.repositories}
        now = scenario.moved_repositories.get(name) or lower.get(name.lower())
        if now is None:
            return None
        shown = quote(name)
        raise Refused(redirect(307, request.target.replace(shown, quote(now), 1)))

    def _commit(self, repository: Repository, revision: str) -> Commit:
        commit = repository.at(revision)
        if commit is None:
            raise Refused(_error(404, f"Invalid rev id: {revision}", {"X-Error-Code": "RevisionNotFound"}))
        return commit

    # --- metadata -----------------------------------------------------------------------------------

    def _info(self, request: Request, repository: Repository, revision: str) -> Answer:
        commit = repository.head if revision == "main" else self._commit(repository, revision)
        wanted = _list_parameter(request, "expand")
        unknown = [name for name in wanted if name not in EXPANDABLE]
        if unknown:
            return _error(400, f"Invalid enum value. Expected {' | '.join(EXPANDABLE)}, received '{unknown[0]}'")
        return json_answer(200, model_info(repository, commit, blobs=request.truth("blobs"), expand=wanted))

    def _tree(self, request: Request, repository: Repository, revision: str, folder: str) -> Answer:
        if revision == "main" and repository.head is None:
            return json_answer(200, [])
        commit = self._commit(repository, revision)
        expand = request.truth("expand")
        entries = tree_entries(repository, commit, folder, recursive=request.truth("recursive"), expand=expand)
        if entries is None:
            return _error(404, f'{folder} does not exist on "{revision}"', {"X-Error-Code": "EntryNotFound"})
        return self._paged(request, entries, request.whole("limit", 50 if expand else 1000, 50 if expand else 1000))

    def _list(self, request: Request) -> Answer:
        """List the repositories that a search finds: every word is part of the name, whatever the case."""
        words = request.parameter("search").lower().split()
        author = request.parameter("author")
        labels = set(_list_parameter(request, "filter"))
        found = [
            repository
            for repository in self._scenario().repositories.values()
            if not repository.deleted
            and (not repository.private or request.token in repository.readers)
            and all(word in repository.name.lower() for word in words)
            and author in {"", repository.name.partition("/")[0]}
            and labels <= {*repository.labels, repository.pipeline, repository.library}
        ]
        order: dict[str, Callable[[Repository], float]] = {
            "downloads": lambda each: each.downloads,
            "likes": lambda each: each.likes,
            "lastModified": lambda each: each.modified.timestamp(),
            "createdAt": lambda each: each.created.timestamp(),
        }
        if request.parameter("sort") in order:
            found.sort(key=order[request.parameter("sort")], reverse=request.parameter("direction", "-1") == "-1")
        wanted = _list_parameter(request, "expand")
        full, card = request.truth("full"), request.truth("cardData")
        rows = [listed_model(each, full=full, card=card, expand=wanted) for each in found]
        return self._paged(request, rows, request.whole("limit", 1000, 1000))

    def _paged(self, request: Request, rows: list[dict[str, object]], size: int) -> Answer:
        """Give one page of a list, and in Link the address of the next, by a cursor that means nothing to the client."""
        cursor = request.parameter("cursor")
        begin = int(base64.urlsafe_b64decode(cursor + "==").decode().partition(":")[2]) if cursor else 0
        end = begin + size
        headers = {}
        if end < len(rows):
            following = base64.urlsafe_b64encode(f"after:{end}".encode()).decode().rstrip("=")
            headers["Link"] = link(self.endpoint + request.path, request, "next", limit=size, cursor=following)
        return json_answer(200, rows[begin:end], headers)

    # --- files --------------------------------------------------------------------------------------

    def _file(self, request: Request, name: str, kind: str, revision: str, path: str) -> Answer:
        repository = self._repository(request, name, files=True)
        commit = self._commit(repository, revision)
        file = commit.files.get(path)
        told = {"X-Repo-Commit": commit.id, "Accept-Ranges": "bytes"}
        if file is None:
            missing = {**told, "X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"}
            return text_answer(404, "Entry not found", missing)
        if kind == "raw":
            body = file.pointer if file.lfs else file.content
            return _checked(request, text_answer(200, body.decode(errors="replace"), {**told, "ETag": f'"{file.blob}"'}))
        etag = file.digest if file.lfs else file.blob
        told |= {"X-Linked-Size": str(file.length), "X-Linked-Etag": f'"{etag}"'}
        if request.headers.get("if-none-match") == f'"{etag}"':
            return Answer(304, {**told, "ETag": f'"{etag}"'})
        if not file.lfs:
            cached = f"/api/resolve-cache/models/{quote(repository.name)}/{commit.id}/{quote(path)}"
            return redirect(307, f"{cached}?{quote(request.path, safe='')}=&etag=%22{etag}%22", told)
        if file.xet_hash:
            token_route = f"{self.endpoint}/api/models/{repository.name}/xet-read-token/{commit.id}"
            told |= {"X-Xet-Hash": file.xet_hash, "Link": f'<{token_route}>; rel="xet-auth"'}
        return redirect(302, self._signed(repository, file, path), told)

    def _cached(self, request: Request, name: str, revision: str, path: str) -> Answer:
        repository = self._repository(request, name, files=True)
        commit = self._commit(repository, revision)
        file = commit.files.get(path)
        if file is None or file.lfs:
            return text_answer(404, "Entry not found", {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})
        kind = "application/json" if path.endswith(".json") else "text/plain; charset=utf-8"
        headers = {"Content-Type": kind, "X-Repo-Commit": commit.id, "ETag": f'"{file.blob}"', "Accept-Ranges": "bytes"}
        headers["Content-Disposition"] = f'inline; filename="{path.rpartition("/")[2]}"'
        return _checked(request, Answer(200, headers, file.content, compress=True))

    def _page(self, request: Request, name: str) -> Answer:
        repository = self._repository(request, name)
        card = repository.files.get("README.md")
        text = card.content.decode() if card else ""
        html = f"<!doctype html>\n<html><head><title>{repository.name} · Hugging Face</title></head><body><pre>{text}</pre></body></html>\n"
        return Answer(200, {"Content-Type": "text/html; charset=utf-8", "ETag": _weak(html.encode())}, html.encode(), compress=True)

    # --- the storage --------------------------------------------------------------------------------

    def _signed(self, repository: Repository, file: HubFile, path: str) -> str:
        name = path.rpartition("/")[2]
        place = f"/xet-bridge-us/{repository.id}/{file.xet_hash or file.digest}"
        expires = int(self._clock()) + self.link_life
        shown = quote(f"inline; filename*=UTF-8''{quote(name)}; filename=\"{name}\";", safe="")
        query = f"X-Xet-Cas-Uid=public&response-content-disposition={shown}&Expires={expires}"
        return f"{self.storage}{place}?{query}&Signature={_signature(place, expires)}&Key-Pair-Id=K2L8F4GPSG1IFC"

    def stored(self, request: Request) -> Answer:
        """Answer a request to the storage: bytes to whoever has an address that it signed and that is not too old."""
        query = parse_qs(urlsplit(request.target).query)
        expires = query.get("Expires", ["0"])[0]
        if query.get("Signature") != [_signature(request.path, int(expires))] or int(expires) < self._clock():
            xml = b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>AccessDenied</Code><Message>Access denied</Message></Error>'
            return Answer(403, {"Content-Type": "text/xml"}, xml)
        wanted = request.path.rpartition("/")[2]
        found = next((file for file in self._every_file() if wanted in {file.xet_hash, file.digest}), None)
        if found is None:
            return Answer(404, {"Content-Type": "application/xml"}, b"<Error><Code>NoSuchKey</Code></Error>")
        headers = {
            "Content-Type": "application/octet-stream",
            "ETag": f'"{wanted}"',
            "Accept-Ranges": "bytes",
            "Cache-Control": "public, max-age=31536000",
            "Content-Disposition": query["response-content-disposition"][0],
        }
        body = Sparse(found.content, 0, found.length) if found.length > len(found.content) else found.content
        return ranged(request, Answer(200, headers, body))

    def _every_file(self) -> Iterable[HubFile]:
        for repository in self._scenario().repositories.values():
            for commit in reversed(repository.commits):
                yield from commit.files.values()


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Answer:
    return json_answer(status, {"error": message}, {"X-Error-Message": message, **(headers or {})})


def _gated(name: str, *, known: bool) -> Answer:
    if known:
        ask = f"Access to model {name} is restricted and you are not in the authorized list. "
        message, status = f"{ask}Visit https://huggingface.co/{name} to ask for access.", 403
    else:
        message, status = (
            f"Access to model {name} is restricted. You must have access to it and be authenticated to access it. Please log in.",
            401,
        )
    headers = {"X-Error-Code": "GatedRepo", "X-Error-Message": message}
    return text_answer(status, message, headers if known else {**headers, "WWW-Authenticate": _WHO})


def _checked(request: Request, answer: Answer) -> Answer:
    if revalidated(request, answer):
        return Answer(304, {name: value for name, value in answer.headers.items() if name in {"ETag", "X-Repo-Commit"}})
    return ranged(request, answer)


def _weak(body: bytes | Sparse) -> str:
    """Give the ETag that the Hub's web framework makes of an answer: its length, and the first 27 letters of its SHA-1."""
    assert isinstance(body, bytes)
    digest = base64.b64encode(sha1(body, usedforsecurity=False).digest()).decode()[:27]
    return f'W/"{len(body):x}-{digest}"'


def _list_parameter(request: Request, name: str) -> list[str]:
    return [*request.query.get(name, []), *request.query.get(f"{name}[]", [])]


def _signature(place: str, expires: int) -> str:
    return sha256(f"{_SECRET} {place} {expires}".encode()).hexdigest()
