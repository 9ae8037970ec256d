"""The page and Atom feed of changes, made from the committed list of what drifted and when."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from generator.claims.drift import Drift, Weight, said
from generator.errors import InputError
from generator.facts import write_whole
from generator.guide.marks import code, escaped, linked

FORMAT = 1
KEPT = 500
"""How many changes are listed; older ones are in the history of the repository."""

Change = Mapping[str, object]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, escaped or not (XML 1.0, 2.2)."""


def record(site: Path, drifts: Iterable[Drift], base_url: str) -> list[Path]:
    """Add what readers can see to the list of changes, and write page and feed from it; give the files whose content is new.

    Raises InputError where the committed list cannot be read.
    """
    path = site / "changes.json"
    old = read_changes(path)
    known = {str(change["id"]) for change in old}
    new = [change for drift in drifts if drift.weight is not Weight.DATE and (change := _change(drift))["id"] not in known]
    if not new and path.exists():
        return []
    changes = [*new, *old][:KEPT]
    files = {  # the list last: while it does not have the new changes, the next run writes all three again
        site / "changes.md": _page(changes),
        site / "changes.atom": _feed(changes, base_url),
        path: json.dumps({"format": FORMAT, "changes": changes}, indent=1, ensure_ascii=False) + "\n",
    }
    return [each for each, text in files.items() if write_whole(each, text)]


def read_changes(path: Path) -> list[Change]:
    """Read the committed list of changes; none where there is no file yet. Raises InputError."""
    if not path.exists():
        return []
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        changes = {FORMAT: rows["changes"]}[rows["format"]]
        return [dict(change) for change in changes]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the list of changes is not readable: {error}", where=str(path), remedy="restore it with `git checkout`"
        ) from error


def _change(drift: Drift) -> Change:
    pages = [touched.page for touched in drift.touched]
    text = f"{drift.subject} {drift.kind} {said(drift.old)} {said(drift.new)} {drift.found}"
    return {
        "id": sha256(text.encode()).hexdigest()[:16],
        "found": drift.found.isoformat(),
        "subject": drift.subject,
        "kind": str(drift.kind),
        "old": said(drift.old)[:300],
        "new": said(drift.new)[:300],
        "source": drift.source,
        "weight": drift.weight.name.lower(),
        "pages": pages,
    }


def _page(changes: Sequence[Change]) -> str:
    lines = ["# Changes", "", "What the nightly re-check found changed at its sources, newest first. [Feed](changes.atom).", ""]
    if not changes:
        lines.append("Nothing has changed since the first check.")
    day = ""
    for change in changes:
        if change["found"] != day:
            day = str(change["found"])
            lines += ["", f"## {day}", ""]
        lines.append(_line(change))
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def _line(change: Change) -> str:
    pages = change["pages"]
    assert isinstance(pages, list)
    where = ", ".join(f"[{page.removeprefix('guides/').removesuffix('.md')}]({page})" for page in pages)
    source = f" ({linked('source', str(change['source']))})" if str(change["source"]).startswith("https://") else ""
    words = f"- {code(str(change['subject']))} {change['kind']}: {escaped(str(change['old']))} → {escaped(str(change['new']))}{source}"
    return words + (f"; on {where}" if where else "")


def _feed(changes: Sequence[Change], base_url: str) -> str:
    """Give an Atom feed (RFC 4287); its times are those of the changes, so the same list gives the same bytes.

    Without a known address of the site its links are relative.
    """
    updated = f"{changes[0]['found']}T00:00:00Z" if changes else "1970-01-01T00:00:00Z"
    home = base_url.rstrip("/") + "/" if base_url else ""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        " <title>Changes to the guides</title>",
        " <id>urn:gen-guides:changes</id>",
        f' <link rel="self" href={quoteattr(home + "changes.atom")}/>',
        f" <link href={quoteattr(home + 'changes/')}/>",
        f" <updated>{updated}</updated>",
        " <author><name>gen</name></author>",
    ]
    for change in changes:
        title = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", f"{change['subject']} {change['kind']}: {change['old']} → {change['new']}")
        lines += [
            " <entry>",
            f"  <title>{escape(title)}</title>",
            f"  <id>urn:gen-guides:change:{change['id']}</id>",
            f"  <link href={quoteattr(home + 'changes/')}/>",
            f"  <updated>{change['found']}T00:00:00Z</updated>",
            f"  <summary>{escape(title)}</summary>",
            " </entry>",
        ]
    return "\n".join([*lines, "</feed>"]) + "\n"
