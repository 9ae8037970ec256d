"""What GitHub's REST API says of its objects, in its own words; `url` is an address of the emulator, `html_url` the real one."""

from __future__ import annotations

import base64
from hashlib import sha1, sha256

from tests.emulator.github_state import Release, Tag, Thread, Tracker, number_of, object_id
from tests.emulator.wire import stamp

Row = dict[str, object]

SITE = "https://github.com"


def node_id(kind: str, number: int) -> str:
    """Give an id as GraphQL has it."""
    return f"{kind}_{base64.urlsafe_b64encode(sha256(f'{kind}{number}'.encode()).digest()[:9]).decode()}"


def user(api: str, login: str) -> Row:
    """Give a user."""
    own = f"{api}/users/{login}"
    number = number_of("user", login)
    return {
        "login": login,
        "id": number,
        "node_id": node_id("U", number),
        "avatar_url": f"https://avatars.githubusercontent.com/u/{number}?v=4",
        "gravatar_id": "",
        "url": own,
        "html_url": f"{SITE}/{login}",
        "repos_url": f"{own}/repos",
        "type": "User",
        "user_view_type": "public",
        "site_admin": False,
    }


def label(api: str, tracker: Tracker, name: str) -> Row:
    """Give a label."""
    number = number_of("label", tracker.name, name)
    url = f"{api}/repos/{tracker.name}/labels/{name}"
    return {
        "id": number,
        "node_id": node_id("LA", number),
        "url": url,
        "name": name,
        "color": "ededed",
        "default": False,
        "description": None,
    }


def thread_url(tracker: Tracker, thread: Thread) -> str:
    """Give the address of a thread on the web."""
    word = {"issue": "issues", "pull_request": "pull", "discussion": "discussions"}[thread.kind]
    return f"{SITE}/{tracker.name}/{word}/{thread.number}"


def issue(api: str, tracker: Tracker, thread: Thread) -> Row:
    """Give an issue, or a pull request as the issues API sees it."""
    own = f"{api}/repos/{tracker.name}/issues/{thread.number}"
    number = number_of("thread", tracker.id, thread.number)
    is_pull = thread.kind == "pull_request"
    row: Row = {
        "url": own,
        "repository_url": f"{api}/repos/{tracker.name}",
        "labels_url": f"{own}/labels{{/name}}",
        "comments_url": f"{own}/comments",
        "events_url": f"{own}/events",
        "html_url": thread_url(tracker, thread),
        "id": number,
        "node_id": node_id("PR" if is_pull else "I", number),
        "number": thread.number,
        "title": thread.title,
        "user": user(api, thread.author),
        "labels": [label(api, tracker, name) for name in thread.labels],
        "state": "open" if thread.state == "open" else "closed",
        "locked": False,
        "assignees": [],
        "milestone": None,
        "comments": thread.comments,
        "created_at": stamp(thread.opened),
        "updated_at": stamp(thread.updated),
        "closed_at": stamp(thread.closed) if thread.closed else None,
        "assignee": None,
        "author_association": "NONE",
        "type": None,
        "active_lock_reason": None,
        "body": thread.body,
        "closed_by": user(api, "maintainer") if thread.closed else None,
        "reactions": {"url": f"{own}/reactions", "total_count": 0},
        "timeline_url": f"{own}/timeline",
        "performed_via_github_app": None,
        "state_reason": thread.reason,
    }
    if is_pull:
        web = thread_url(tracker, thread)
        row["draft"] = False
        row["pull_request"] = {
            "url": f"{api}/repos/{tracker.name}/pulls/{thread.number}",
            "html_url": web,
            "diff_url": f"{web}.diff",
            "patch_url": f"{web}.patch",
            "merged_at": _merged_at(thread),
        }
    return row


def _merged_at(thread: Thread) -> str | None:
    return stamp(thread.closed) if thread.state == "merged" and thread.closed else None


def pull(api: str, tracker: Tracker, thread: Thread) -> Row:
    """Give a pull request as its own API sees it."""
    same = issue(api, tracker, thread)
    names = ("id", "node_id", "html_url", "number", "title", "user", "labels", "state", "locked", "draft", "body", "comments")
    merged = thread.state == "merged"
    return {
        "url": f"{api}/repos/{tracker.name}/pulls/{thread.number}",
        "issue_url": same["url"],
        **{name: same[name] for name in (*names, "created_at", "updated_at", "closed_at")},
        "merged_at": _merged_at(thread),
        "merge_commit_sha": object_id("merge", tracker.id, thread.number) if merged else None,
        "merged": merged,
        "mergeable": None,
        "merged_by": user(api, "maintainer") if merged else None,
        "base": {"ref": tracker.branch, "repo": repository(api, tracker)},
    }


def repository(api: str, tracker: Tracker) -> Row:
    """Give a repository."""
    owner, _, name = tracker.name.partition("/")
    return {
        "id": tracker.id,
        "node_id": node_id("R", tracker.id),
        "name": name,
        "full_name": tracker.name,
        "private": False,
        "owner": user(api, owner),
        "html_url": f"{SITE}/{tracker.name}",
        "url": f"{api}/repos/{tracker.name}",
        "created_at": stamp(tracker.created),
        "archived": False,
        "disabled": False,
        "open_issues_count": sum(thread.state == "open" for thread in tracker.threads.values()),
        "default_branch": tracker.branch,
    }


def release(api: str, tracker: Tracker, made: Release) -> Row:
    """Give a release."""
    number = number_of("release", tracker.id, made.tag)
    own = f"{api}/repos/{tracker.name}/releases/{number}"
    return {
        "url": own,
        "assets_url": f"{own}/assets",
        "html_url": f"{SITE}/{tracker.name}/releases/tag/{made.tag}",
        "id": number,
        "author": user(api, "github-actions"),
        "node_id": node_id("RE", number),
        "tag_name": made.tag,
        "target_commitish": tracker.branch,
        "name": made.name or made.tag,
        "draft": False,
        "immutable": False,
        "prerelease": made.prerelease,
        "created_at": stamp(made.published),
        "updated_at": stamp(made.published),
        "published_at": stamp(made.published),
        "assets": [],
        "tarball_url": f"{api}/repos/{tracker.name}/tarball/{made.tag}",
        "zipball_url": f"{api}/repos/{tracker.name}/zipball/{made.tag}",
        "body": made.body,
    }


def reference(api: str, tracker: Tracker, tag: Tag) -> Row:
    """Give the reference of a tag: it names a commit, or the tag object of an annotated one."""
    kind, sha = ("tag", tag.object) if tag.annotated else ("commit", tag.commit)
    repo = f"{api}/repos/{tracker.name}/git"
    target = {"sha": sha, "type": kind, "url": f"{repo}/{kind}s/{sha}"}
    own = f"{repo}/refs/tags/{tag.name}"
    return {"ref": f"refs/tags/{tag.name}", "node_id": node_id("REF", number_of(tracker.id, tag.name)), "url": own, "object": target}


def tag_object(api: str, tracker: Tracker, tag: Tag) -> Row:
    """Give the object of an annotated tag."""
    repo = f"{api}/repos/{tracker.name}/git"
    return {
        "node_id": node_id("TA", number_of(tracker.id, tag.name)),
        "sha": tag.object,
        "url": f"{repo}/tags/{tag.object}",
        "tagger": {"name": "maintainer", "email": "maintainer@example.org", "date": stamp(tag.date)},
        "object": {"sha": tag.commit, "type": "commit", "url": f"{repo}/commits/{tag.commit}"},
        "tag": tag.name,
        "message": tag.message,
        "verification": {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None},
    }


def commit(api: str, tracker: Tracker, tag: Tag) -> Row:
    """Give a commit."""
    own = f"{api}/repos/{tracker.name}/commits/{tag.commit}"
    who = {"name": "maintainer", "email": "maintainer@example.org", "date": stamp(tag.date)}
    return {
        "sha": tag.commit,
        "node_id": node_id("C", number_of(tag.commit)),
        "commit": {"author": who, "committer": who, "message": tag.message or tag.name, "comment_count": 0},
        "url": own,
        "html_url": f"{SITE}/{tracker.name}/commit/{tag.commit}",
        "comments_url": f"{own}/comments",
        "author": user(api, "maintainer"),
        "committer": user(api, "maintainer"),
        "parents": [],
    }


def content(api: str, tracker: Tracker, ref: str, path: str, raw: bytes) -> Row:
    """Give a file; its content in base64, or none where it is over a megabyte."""
    small = len(raw) <= 1024 * 1024
    own = f"{api}/repos/{tracker.name}/contents/{path}?ref={ref}"
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest(),
        "size": len(raw),
        "url": own,
        "html_url": f"{SITE}/{tracker.name}/blob/{ref}/{path}",
        "download_url": f"https://raw.githubusercontent.com/{tracker.name}/{ref}/{path}",
        "type": "file",
        "content": base64.encodebytes(raw).decode() if small else "",
        "encoding": "base64" if small else "none",
    }
