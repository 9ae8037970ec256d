"""The emulated GitHub: REST, GraphQL, and raw files.

What it answers follows its documentation and published answers of 2026, some of which are not what one expects:
- An answer 304 is free only to a client with a token; without one it counts like any other. (`free_304` makes it free to all.)
- A transferred issue redirects (301) in REST to an address by the id of the repository. In GraphQL it is NOT_FOUND, as a deleted one.
- A deleted issue is status 410 in REST.
- `releases/latest` leaves out prereleases.
- GraphQL answers status 200 to nearly everything, a spent budget included; without a token it is status 401.
- Search has a budget of its own, for a minute.
- An ETag holds for one token only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import unquote

from tests.emulator import github_json
from tests.emulator.budgets import Budgets
from tests.emulator.github_search import search
from tests.emulator.github_state import Tag, Thread, Tracker
from tests.emulator.graphql import run_query
from tests.emulator.scenario import Scenario
from tests.emulator.wire import Answer, Request, http_date, json_answer, link, revalidated, stamp, text_answer

_DOCS = "https://docs.github.com/rest"
_REDIRECTS = f"{_DOCS}/guides/best-practices-for-using-the-rest-api#follow-redirects"
_LIMITS = f"{_DOCS}/overview/rate-limits-for-the-rest-api"


class GitHub:
    """GitHub. `api` is its address."""

    def __init__(self, scenario: Callable[[], Scenario], budgets: Budgets, clock: Callable[[], float]) -> None:
        self.api = ""
        self.free_304 = False
        self._scenario = scenario
        self._budgets = budgets
        self._clock = clock

    # --- raw.githubusercontent.com ------------------------------------------------------------------

    def raw(self, request: Request) -> Answer:
        """Answer a request for a raw file, by owner, name, revision and path."""
        owner, name, *rest = [unquote(part) for part in request.path.strip("/").split("/")] + ["", ""]
        tracker = self._scenario().trackers.get(f"{owner}/{name}")
        parts = [part for part in rest if part]
        if parts[:2] in (["refs", "tags"], ["refs", "heads"]):
            parts = parts[2:]
        tag = tracker.at(parts[0]) if tracker and not tracker.deleted and parts else None
        file = tag.files.get("/".join(parts[1:])) if tag else None
        if file is None:
            return text_answer(404, "404: Not Found")
        headers = {"ETag": f'W/"{sha256(file).hexdigest()}"', "Cache-Control": "max-age=300", "Content-Type": "text/plain; charset=utf-8"}
        answer = Answer(200, headers, file, compress=True)
        return Answer(304, {"ETag": headers["ETag"]}) if revalidated(request, answer) else answer

    # --- api.github.com -----------------------------------------------------------------------------

    def answer(self, request: Request) -> Answer:
        """Answer a request to the API; each counts against the budget of its class but for a 304 to a client with a token."""
        if not request.headers.get("user-agent"):
            return text_answer(403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.")
        known = request.token in self._scenario().github_tokens
        if request.token and not known:
            return self._dressed(request, "core", "", _problem(401, "Bad credentials"))
        token = request.token
        if request.path == "/graphql":
            return self._dressed(request, "graphql", token, self._graphql(request, token))
        if request.path == "/rate_limit":
            return self._dressed(request, "core", token, json_answer(200, self._limits(token)))
        resource = "search" if request.path.startswith("/search/") else "core"
        budget, now = f"github.{resource}", self._clock()
        if not self._budgets.left(budget, token, now).remaining:
            return self._dressed(request, resource, token, _exceeded(token))
        answer = self._validated(request, self._rest(request))
        if answer.status != 304 or not (token or self.free_304):
            self._budgets.spend(budget, token, now)
        return self._dressed(request, resource, token, answer)

    def _dressed(self, request: Request, resource: str, token: str, answer: Answer) -> Answer:
        """Add the headers that every answer has."""
        left = self._budgets.left(f"github.{resource}", token, self._clock())
        answer.headers |= {
            "Server": "github.com",
            "X-GitHub-Media-Type": "github.v3; format=json",
            "x-github-api-version-selected": request.headers.get("x-github-api-version", "2022-11-28"),
            "x-ratelimit-limit": str(left.limit),
            "x-ratelimit-remaining": str(left.remaining),
            "x-ratelimit-used": str(left.used),
            "x-ratelimit-reset": str(round(left.ends)),
            "x-ratelimit-resource": resource,
            "X-GitHub-Request-Id": f"1A2B:3C4D:{int(self._clock()):X}",
            "Cache-Control": "private, max-age=60, s-maxage=60" if token else "public, max-age=60, s-maxage=60",
            "Vary": "Accept, Authorization, Cookie, X-GitHub-OTP,Accept-Encoding, Accept, X-Requested-With",
        }
        return answer

    def _validated(self, request: Request, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        assert isinstance(answer.body, bytes)
        answer.headers["ETag"] = f'W/"{sha256(request.token.encode() + answer.body).hexdigest()}"'
        if not revalidated(request, answer):
            return answer
        return Answer(304, {name: value for name, value in answer.headers.items() if name in {"ETag", "Last-Modified"}})

    def _rest(self, request: Request) -> Answer:
        if request.method not in {"GET", "HEAD"}:
            return _problem(404, "Not Found")
        parts = [unquote(part) for part in request.path.strip("/").split("/")]
        if parts == ["search", "issues"]:
            return search(self._scenario(), request, self.api)
        if parts[0] == "repos" and len(parts) >= 3:
            name, rest = "/".join(parts[1:3]), parts[3:]
            tracker = self._scenario().trackers.get(name)
            if tracker is None and name in self._scenario().moved_trackers:
                now = self._scenario().trackers[self._scenario().moved_trackers[name]]
                return self._moved(request, "/".join([str(now.id), *rest]))
        elif parts[0] == "repositories" and len(parts) >= 2:
            tracker = next((each for each in self._scenario().trackers.values() if str(each.id) == parts[1]), None)
            rest = parts[2:]
        else:
            return _problem(404, "Not Found")
        if tracker is None or tracker.deleted:
            return _problem(404, "Not Found")
        return self._of_repository(request, tracker, rest)

    def _of_repository(self, request: Request, tracker: Tracker, rest: list[str]) -> Answer:
        match rest:
            case []:
                return json_answer(200, github_json.repository(self.api, tracker))
            case ["issues"]:
                return self._issues(request, tracker)
            case ["issues" | "pulls" as kind, number] if number.isdecimal():
                return self._thread(request, tracker, kind, int(number))
            case ["releases", *which]:
                return self._releases(request, tracker, which)
            case ["commits", *ref]:
                return self._commit(request, tracker, "/".join(ref))
            case ["contents", *path]:
                return self._content(request, tracker, "/".join(path))
        return self._git(request, tracker, rest)

    def _releases(self, request: Request, tracker: Tracker, which: list[str]) -> Answer:
        made = sorted(tracker.releases, key=lambda release: release.published, reverse=True)
        if not which:
            return self._paged(request, tracker, "releases", [github_json.release(self.api, tracker, each) for each in made])
        if which == ["latest"]:
            made = [release for release in made if not release.prerelease]
        else:
            made = [release for release in made if ["tags", release.tag] == which]
        return json_answer(200, github_json.release(self.api, tracker, made[0])) if made else _problem(404, "Not Found")

    def _git(self, request: Request, tracker: Tracker, rest: list[str]) -> Answer:
        match rest:
            case ["tags"]:
                newest_first = sorted(tracker.tags.values(), key=lambda tag: tag.date, reverse=True)
                rows: list[github_json.Row] = [{"name": tag.name, "commit": {"sha": tag.commit}} for tag in newest_first]
                return self._paged(request, tracker, "tags", rows)
            case ["git", "ref", "tags", *name]:
                if "/".join(name) in tracker.tags:
                    return json_answer(200, github_json.reference(self.api, tracker, tracker.tags["/".join(name)]))
            case ["git", "tags", sha]:
                annotated = next((tag for tag in tracker.tags.values() if tag.annotated and tag.object == sha), None)
                if annotated:
                    return json_answer(200, github_json.tag_object(self.api, tracker, annotated))
        return _problem(404, "Not Found")

    def _moved(self, request: Request, place: str) -> Answer:
        """Redirect to an address by the id of a repository."""
        query = request.target.partition("?")[2]
        url = f"{self.api}/repositories/{place}" + (f"?{query}" if query else "")
        row = {"message": "Moved Permanently", "url": url, "documentation_url": _REDIRECTS}
        return json_answer(301, row, {"Location": url})

    # --- threads ------------------------------------------------------------------------------------

    def _thread(self, request: Request, tracker: Tracker, kind: str, number: int) -> Answer:
        thread = tracker.threads.get(number)
        if thread is None or thread.kind == "discussion" or (kind == "pulls" and thread.kind != "pull_request"):
            return _problem(404, "Not Found")
        if thread.deleted:
            return _problem(410, "This issue was deleted")
        if thread.moved_to:
            name, there = thread.moved_to
            target = self._scenario().trackers.get(name)
            return self._moved(request, f"{target.id if target else 0}/issues/{there}")
        make = github_json.pull if kind == "pulls" else github_json.issue
        return json_answer(200, make(self.api, tracker, thread), {"Last-Modified": http_date(thread.updated)})

    def _issues(self, request: Request, tracker: Tracker) -> Answer:
        """List issues and pull requests, the newest first, by state, labels, and when they were last updated."""
        state, since = request.parameter("state", "open"), request.parameter("since")
        wanted = {name for name in request.parameter("labels").split(",") if name}

        def listed(thread: Thread) -> bool:
            if thread.deleted or thread.moved_to or thread.kind == "discussion":
                return False
            shown = "open" if thread.state == "open" else "closed"
            return state in {"all", shown} and wanted <= set(thread.labels) and stamp(thread.updated) >= since

        by = {"updated": "updated", "comments": "comments"}.get(request.parameter("sort"), "opened")
        found = [thread for thread in tracker.threads.values() if listed(thread)]
        found.sort(key=lambda thread: (getattr(thread, by), thread.number), reverse=request.parameter("direction", "desc") == "desc")
        return self._paged(request, tracker, "issues", [github_json.issue(self.api, tracker, each) for each in found])

    def _paged(self, request: Request, tracker: Tracker, name: str, rows: list[github_json.Row]) -> Answer:
        size, page = request.whole("per_page", 30, 100), request.whole("page", 1, 10_000)
        last = max(1, -(-len(rows) // size))
        url = f"{self.api}/repositories/{tracker.id}/{name}"
        places = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
        shown = [word for word in places if (page > 1 if word in {"prev", "first"} else page < last)]
        links = ", ".join(link(url, request, word, page=places[word]) for word in shown)
        return json_answer(200, rows[(page - 1) * size : page * size], {"Link": links} if links else {})

    # --- tags, commits, files -----------------------------------------------------------------------

    def _commit(self, request: Request, tracker: Tracker, ref: str) -> Answer:
        tag = tracker.at(ref)
        if tag is None:
            return _problem(422, f"No commit found for SHA: {ref}")
        if ".sha" in request.headers.get("accept", ""):
            return Answer(200, {"Content-Type": "application/vnd.github.sha; charset=utf-8"}, tag.commit.encode())
        return json_answer(200, github_json.commit(self.api, tracker, tag))

    def _content(self, request: Request, tracker: Tracker, path: str) -> Answer:
        ref = request.parameter("ref", tracker.branch)
        tag: Tag | None = tracker.at(ref)
        if tag is None:
            return _problem(404, f"No commit found for the ref {ref}")
        if path in tag.files:
            raw = tag.files[path]
            if ".raw" in request.headers.get("accept", ""):
                return Answer(200, {"Content-Type": "application/vnd.github.raw+json; charset=utf-8"}, raw, compress=True)
            return json_answer(200, github_json.content(self.api, tracker, ref, path, raw))
        below = sorted(name for name in tag.files if name.startswith(f"{path}/") or not path)
        if not below:
            return _problem(404, "Not Found")
        skipped = len(path) + 1 if path else 0
        names = dict.fromkeys(re.split("/", name[skipped:])[0] for name in below)
        rows = []
        for name in names:
            full = f"{path}/{name}" if path else name
            rows.append({"name": name, "path": full, "type": "file" if full in tag.files else "dir", "size": len(tag.files.get(full, b""))})
        return json_answer(200, rows)

    # --- GraphQL and limits -------------------------------------------------------------------------

    def _graphql(self, request: Request, token: str) -> Answer:
        if not token:
            page = "https://docs.github.com/graphql/guides/forming-calls-with-graphql#authentication"
            row = {"message": "This endpoint requires you to be authenticated.", "documentation_url": page, "status": "401"}
            return json_answer(401, row)
        try:
            asked = json.loads(request.body)
            query, variables = asked["query"], asked.get("variables") or {}
        except (ValueError, TypeError, KeyError):
            return _problem(400, "Problems parsing JSON")
        now = self._clock()

        def left() -> dict[str, object]:
            found = self._budgets.left("github.graphql", token, now)
            return {"limit": found.limit, "used": found.used, "remaining": found.remaining, "resetAt": found.ends}

        def spend(cost: int) -> bool:
            return self._budgets.spend("github.graphql", token, now, cost)

        return json_answer(200, run_query(self._scenario(), query, variables, spend, left))

    def _limits(self, token: str) -> dict[str, object]:
        rows = {}
        for resource in ("core", "search", "graphql"):
            left = self._budgets.left(f"github.{resource}", token, self._clock())
            rows[resource] = {"limit": left.limit, "used": left.used, "remaining": left.remaining, "reset": round(left.ends)}
        return {"resources": rows, "rate": rows["core"]}


def _problem(status: int, message: str) -> Answer:
    return json_answer(status, {"message": message, "documentation_url": _DOCS, "status": str(status)})


def _exceeded(token: str) -> Answer:
    if token:
        message = (
            "API rate limit exceeded for user ID 1. If you reach out to GitHub Support for help, please include the request ID 1A2B:3C4D."
        )
    else:
        message = (
            "API rate limit exceeded for 127.0.0.1. (But here's the good news: Authenticated requests get a higher rate limit. "
            "Check out the documentation for more details.)"
        )
    return json_answer(403, {"message": message, "documentation_url": _LIMITS})
