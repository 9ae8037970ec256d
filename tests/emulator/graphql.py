"""GitHub's GraphQL: the part of its schema that tells of repositories and threads, checked as strictly as GitHub does.

A query that names what the schema does not have gets errors and no data. One that names what does not exist gets null in its place
and an error with the path to it, beside everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.emulator import github_json
from tests.emulator.github_state import Thread, Tracker, number_of
from tests.emulator.graphql_parser import Field, Fragment, Query, QueryError, Selection, Variable, parse
from tests.emulator.scenario import Scenario
from tests.emulator.wire import stamp

MOST_NODES = 500_000

_THREAD = {
    "id": "",
    "databaseId": "",
    "number": "",
    "title": "",
    "body": "",
    "state": "",
    "closed": "",
    "locked": "",
    "url": "",
    "createdAt": "",
    "updatedAt": "",
    "closedAt": "",
    "author": "Actor",
    "repository": "Repository",
    "labels": "LabelConnection",
}
SCHEMA: dict[str, dict[str, str]] = {
    "Query": {"repository": "Repository", "rateLimit": "RateLimit", "viewer": "User"},
    "Repository": {
        **dict.fromkeys(("id", "databaseId", "name", "nameWithOwner", "url", "isArchived", "isPrivate"), ""),
        "owner": "Actor",
        "issueOrPullRequest": "IssueOrPullRequest",
        "issue": "Issue",
        "pullRequest": "PullRequest",
        "discussion": "Discussion",
    },
    "Issue": {**_THREAD, "stateReason": "", "comments": "IssueCommentConnection"},
    "PullRequest": {**_THREAD, "merged": "", "mergedAt": "", "isDraft": "", "comments": "IssueCommentConnection"},
    "Discussion": {
        **{name: kind for name, kind in _THREAD.items() if name != "state"},
        "stateReason": "",
        "comments": "DiscussionCommentConnection",
    },
    "IssueOrPullRequest": {},
    "LabelConnection": {"nodes": "Label", "totalCount": "", "pageInfo": "PageInfo"},
    "IssueCommentConnection": {"totalCount": ""},
    "DiscussionCommentConnection": {"totalCount": ""},
    "Label": {"name": "", "color": "", "description": ""},
    "PageInfo": {"hasNextPage": "", "endCursor": ""},
    "Actor": {"login": "", "url": ""},
    "User": {"login": "", "url": ""},
    "RateLimit": dict.fromkeys(("cost", "limit", "nodeCount", "remaining", "resetAt", "used"), ""),
}
"""The fields of each type, with the type of each; empty for a scalar. `__typename` is everywhere."""

_UNIONS = {"IssueOrPullRequest": {"Issue", "PullRequest"}}
_NUMBERED = ("issueOrPullRequest", "issue", "pullRequest", "discussion")
_PAGED = {"first", "last", "after", "before", "orderBy"}
_ARGUMENTS = {
    "Query.repository": {"owner", "name", "followRenames"},
    "Query.rateLimit": {"dryRun"},
    **{f"Repository.{name}": {"number"} for name in _NUMBERED},
    **{f"{kind}.{name}": _PAGED for kind in ("Issue", "PullRequest", "Discussion") for name in ("labels", "comments")},
    "Issue.stateReason": {"enableDuplicate"},
    "Discussion.stateReason": {"enableDuplicate"},
}
_REQUIRED = {"Query.repository": ("owner", "name"), **{f"Repository.{name}": ("number",) for name in _NUMBERED}}

Error = dict[str, object]


@dataclass
class _Run:
    scenario: Scenario
    query: Query
    variables: Mapping[str, object]
    limits: dict[str, object] = field(default_factory=dict)
    errors: list[Error] = field(default_factory=list)


@dataclass(frozen=True)
class _Held:
    """A thread or repository, and the type it has in the schema."""

    type: str
    tracker: Tracker
    thread: Thread | None = None


def run_query(
    scenario: Scenario,
    source: object,
    variables: Mapping[str, object],
    spend: Callable[[int], bool],
    left: Callable[[], dict[str, object]],
) -> dict[str, object]:
    """Give what GitHub answers to a query. `spend` takes its cost from the budget, `left` tells what the budget then is."""
    if not isinstance(source, str):
        return {"errors": [{"message": "A query attribute must be specified and must be a string."}]}
    try:
        query = parse(source)
    except QueryError as error:
        return {"errors": [{"message": error.message, "locations": [{"line": error.line, "column": error.column}]}]}
    run = _Run(scenario, query, {**query.variables, **variables})
    connections, nodes = _check(run, "Query", query.selections, ["query"], 1)
    if nodes > MOST_NODES:
        message = f"This query requests up to {nodes} possible nodes which exceeds the maximum limit of {MOST_NODES}."
        run.errors.append({"type": "MAX_NODE_LIMIT_EXCEEDED", "message": message})
    if run.errors:
        return {"errors": run.errors}
    cost = max(1, round(connections / 100))
    if not spend(cost):
        message = "API rate limit already exceeded for user ID 1."
        return {"errors": [{"type": "RATE_LIMIT", "code": "graphql_rate_limit", "message": message}]}
    run.limits = {**left(), "cost": cost, "nodeCount": nodes}
    data = {asked.key: _top(run, asked) for asked in _fields(run, "Query", query.selections)}
    return {"data": data, "errors": run.errors} if run.errors else {"data": data}


# --- checking against the schema -----------------------------------------------------------------


def _check(run: _Run, owner: str, selections: list[Selection], path: list[str], times: int) -> tuple[int, int]:
    """Note every field, argument and fragment that the schema does not have; give the number of connections and of nodes asked for."""
    connections = nodes = 0
    for each in selections:
        if isinstance(each, Fragment):
            fragment = run.query.fragments.get(each.spread, each)
            if each.spread and fragment is each:
                message = f"Fragment {each.spread} was used, but not defined"
                run.errors.append(
                    {"path": [*path, f"... {each.spread}"], "extensions": {"code": "useAndDefineFragment"}, "message": message}
                )
                continue
            found = _check(run, fragment.on or owner, fragment.selections, [*path, f"... on {fragment.on}"], times)
        else:
            found = _check_field(run, owner, each, [*path, each.key], times)
        connections, nodes = connections + found[0], nodes + found[1]
    return connections, nodes


def _check_field(run: _Run, owner: str, asked: Field, path: list[str], times: int) -> tuple[int, int]:
    if asked.name == "__typename":
        return 0, 0
    if owner in _UNIONS:
        return _fault(run, asked, path, f"Selections can't be made directly on unions (see selections on {owner})", "selectionMismatch")
    if owner not in SCHEMA or asked.name not in SCHEMA[owner]:
        message = f"Field '{asked.name}' doesn't exist on type '{owner}'"
        return _fault(run, asked, path, message, "undefinedField", typeName=owner, fieldName=asked.name)
    for name in asked.arguments.keys() - _ARGUMENTS.get(f"{owner}.{asked.name}", set()):
        _fault(run, asked, path, f"Field '{asked.name}' doesn't accept argument '{name}'", "argumentNotAccepted")
    missing = [name for name in _REQUIRED.get(f"{owner}.{asked.name}", ()) if name not in asked.arguments]
    if missing:
        _fault(run, asked, path, f"Field '{asked.name}' is missing required arguments: {', '.join(missing)}", "missingRequiredArguments")
    kind = SCHEMA[owner][asked.name]
    if not kind:
        return 0, 0
    if not asked.selections:
        returns = f"(field '{asked.name}' returns {kind} but has no selections. Did you mean '{asked.name} {{ ... }}'?)"
        return _fault(run, asked, path, f"Field must have selections {returns}", "selectionMismatch")
    if kind.endswith("Connection"):
        return _check_connection(run, kind, asked, path, times)
    return _check(run, kind, asked.selections, path, times)


def _check_connection(run: _Run, kind: str, asked: Field, path: list[str], times: int) -> tuple[int, int]:
    """Check how many are asked for: a number from 1 to 100, or none where only their total is."""
    size = _value(run, asked.arguments.get("first", asked.arguments.get("last")))
    counted = {each.name for each in asked.selections if isinstance(each, Field)} <= {"totalCount", "__typename"}
    if size is None and not counted:
        message = f"You must provide a `first` or `last` value to properly paginate the `{asked.name}` connection."
        run.errors.append({"type": "MISSING_PAGINATION_BOUNDARIES", "path": path, "locations": [_place(asked)], "message": message})
    elif isinstance(size, int) and not 1 <= size <= 100:
        message = f"Requesting {size} records on the `{asked.name}` connection exceeds the `first` limit of 100 records."
        run.errors.append({"type": "EXCESSIVE_PAGINATION", "path": path, "locations": [_place(asked)], "message": message})
    wanted = size if isinstance(size, int) else 0
    inner = _check(run, kind, asked.selections, path, times * max(1, wanted))
    return inner[0] + times, inner[1] + times * wanted


def _fault(run: _Run, asked: Field, path: list[str], message: str, code: str, **more: str) -> tuple[int, int]:
    run.errors.append({"path": path, "extensions": {"code": code, **more}, "locations": [_place(asked)], "message": message})
    return 0, 0


def _place(asked: Field) -> dict[str, int]:
    return {"line": asked.line, "column": asked.column}


# --- answering -----------------------------------------------------------------------------------


def _value(run: _Run, value: object) -> object:
    return run.variables.get(value.name) if isinstance(value, Variable) else value


def _fields(run: _Run, owner: str, selections: list[Selection]) -> list[Field]:
    """Give the fields asked of an object, those of the fragments that are for its type among them; twice the same key is one field."""
    found: dict[str, Field] = {}
    for each in selections:
        if isinstance(each, Fragment):
            fragment = run.query.fragments.get(each.spread, each)
            meant = fragment.on in {"", owner} or owner in _UNIONS.get(fragment.on, set())
            chosen = _fields(run, owner, fragment.selections) if meant else []
        else:
            chosen = [each]
        for asked in chosen:
            if asked.key in found:
                first = found[asked.key]
                merged = [*first.selections, *asked.selections]
                asked = Field(first.name, first.key, first.arguments, merged, first.line, first.column)  # noqa: PLW2901
            found[asked.key] = asked
    return list(found.values())


def _top(run: _Run, asked: Field) -> object:
    if asked.name == "rateLimit":
        ends = run.limits["resetAt"]
        assert isinstance(ends, float | int)
        row = {**run.limits, "resetAt": stamp(datetime.fromtimestamp(ends, UTC))}
        return {each.key: row.get(each.name, "RateLimit") for each in _fields(run, "RateLimit", asked.selections)}
    if asked.name == "viewer":
        row = {"login": "octocat", "url": f"{github_json.SITE}/octocat", "__typename": "User"}
        return {each.key: row[each.name] for each in _fields(run, "User", asked.selections)}
    if asked.name == "__typename":
        return "Query"
    owner, name = _value(run, asked.arguments["owner"]), _value(run, asked.arguments["name"])
    full = f"{owner}/{name}"
    tracker = run.scenario.trackers.get(run.scenario.moved_trackers.get(full, full))
    if tracker is None or tracker.deleted:
        _not_found(run, asked, [asked.key], f"Could not resolve to a Repository with the name '{full}'.")
        return None
    return _object(run, _Held("Repository", tracker), asked.selections, [asked.key])


def _not_found(run: _Run, asked: Field, path: list[str], message: str) -> None:
    run.errors.append({"type": "NOT_FOUND", "path": path, "locations": [_place(asked)], "message": message})


def _object(run: _Run, held: _Held, selections: list[Selection], path: list[str]) -> dict[str, object]:
    return {asked.key: _of(run, held, asked, [*path, asked.key]) for asked in _fields(run, held.type, selections)}


def _of(run: _Run, held: _Held, asked: Field, path: list[str]) -> object:
    if asked.name == "__typename":
        return held.type
    if held.thread is None and asked.name in _NUMBERED:
        return _thread(run, held.tracker, asked, path)
    if asked.name == "repository":
        return _object(run, _Held("Repository", held.tracker), asked.selections, path)
    if asked.name in {"owner", "author"}:
        login = held.thread.author if held.thread else held.tracker.name.partition("/")[0]
        row = {"login": login, "url": f"{github_json.SITE}/{login}", "__typename": "User"}
        return {each.key: row[each.name] for each in _fields(run, "Actor", asked.selections)}
    if held.thread is not None and asked.name in {"labels", "comments"}:
        return _connection(run, held.thread, asked)
    scalars = _of_thread(held, held.thread) if held.thread else _of_repository(held.tracker)
    if asked.name == "stateReason" and scalars["stateReason"] == "DUPLICATE" and not _value(run, asked.arguments.get("enableDuplicate")):
        return "NOT_PLANNED"  # duplicates are told apart only for those who ask
    return scalars[asked.name]


def _thread(run: _Run, tracker: Tracker, asked: Field, path: list[str]) -> object:
    """Give a thread; to GraphQL one that was transferred or deleted does not exist."""
    number = _value(run, asked.arguments["number"])
    thread = tracker.threads.get(number) if isinstance(number, int) else None
    words, kinds = {
        "issueOrPullRequest": ("an issue or pull request", {"issue", "pull_request"}),
        "issue": ("an Issue", {"issue"}),
        "pullRequest": ("a PullRequest", {"pull_request"}),
        "discussion": ("a Discussion", {"discussion"}),
    }[asked.name]
    if thread is None or thread.deleted or thread.moved_to or thread.kind not in kinds:
        _not_found(run, asked, path, f"Could not resolve to {words} with the number of {number}.")
        return None
    kind = {"issue": "Issue", "pull_request": "PullRequest", "discussion": "Discussion"}[thread.kind]
    return _object(run, _Held(kind, tracker, thread), asked.selections, path)


def _connection(run: _Run, thread: Thread, asked: Field) -> dict[str, object]:
    labels = asked.name == "labels"
    size = _value(run, asked.arguments.get("first", asked.arguments.get("last")))
    names = thread.labels[: size if isinstance(size, int) else 0]
    row: dict[str, object] = {
        "totalCount": len(thread.labels) if labels else thread.comments,
        "__typename": "LabelConnection" if labels else "IssueCommentConnection",
    }
    for each in _fields(run, str(row["__typename"]), asked.selections):
        if each.name == "nodes":
            known = [{"name": name, "color": "ededed", "description": None, "__typename": "Label"} for name in names]
            row["nodes"] = [{one.key: label[one.name] for one in _fields(run, "Label", each.selections)} for label in known]
        elif each.name == "pageInfo":
            page = {"hasNextPage": len(names) < len(thread.labels), "endCursor": f"c{len(names)}", "__typename": "PageInfo"}
            row["pageInfo"] = {one.key: page[one.name] for one in _fields(run, "PageInfo", each.selections)}
    return {each.key: row[each.name] for each in _fields(run, str(row["__typename"]), asked.selections)}


def _of_repository(tracker: Tracker) -> dict[str, object]:
    return {
        "id": github_json.node_id("R", tracker.id),
        "databaseId": tracker.id,
        "name": tracker.name.partition("/")[2],
        "nameWithOwner": tracker.name,
        "url": f"{github_json.SITE}/{tracker.name}",
        "isArchived": False,
        "isPrivate": False,
    }


def _of_thread(held: _Held, thread: Thread) -> dict[str, object]:
    number = number_of("thread", held.tracker.id, thread.number)
    closed = stamp(thread.closed) if thread.closed else None
    merged = thread.state == "merged"
    return {
        "id": github_json.node_id("I" if held.type == "Issue" else "PR", number),
        "databaseId": number,
        "number": thread.number,
        "title": thread.title,
        "body": thread.body,
        "state": thread.state.upper(),
        "closed": thread.state != "open",
        "locked": False,
        "url": github_json.thread_url(held.tracker, thread),
        "createdAt": stamp(thread.opened),
        "updatedAt": stamp(thread.updated),
        "closedAt": closed,
        "stateReason": thread.reason.upper() if thread.reason else None,
        "merged": merged,
        "mergedAt": closed if merged else None,
        "isDraft": False,
    }
