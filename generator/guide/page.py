"""The page as a whole: what every kind of page has, its last section from the ledger, and the blank lines between its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import ClassVar

from generator.errors import Problem
from generator.facts import Fact, Facts
from generator.guide.ledger import Ledger, Row
from generator.guide.marks import anchor, code, linked

STALE_AFTER = timedelta(days=30)
"""A fact that was not checked for longer is named after a build."""

METHODS = {
    "context": "How much context fits",
    "expert-offload": "How expert offload works",
    "drift": "How to read a drift report",
    "numbers": "Where every number comes from",
    "unknown": "What we do not know",
}
"""Pages that explain how things are worked out, with their titles."""

_BLANK = re.compile(r"\n{3,}")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
_KEY = re.compile(r"\[([^\]\s]+)\]")


@dataclass(frozen=True, slots=True)
class Page:
    """A built page: the model and the name it has below its kind's folder, its files by path below `site/`, its ledger, and its facts.

    `names` are the proper names with digits that its title may have, `warnings` what its author should see to. Every kind of page is a
    class of its own, which says in which folder its pages are and what their ledger is called.
    """

    folder: ClassVar[str]
    ledger_name: ClassVar[str]

    model: str
    card: str
    title: str
    names: tuple[str, ...]
    files: Mapping[str, str]
    ledger: Ledger
    facts: Facts
    warnings: tuple[Problem, ...] = ()

    @property
    def page(self) -> str:
        """Path of the page below `site/`."""
        return f"{self.folder}/{self.model}/{self.card}.md"

    @property
    def ledger_path(self) -> str:
        """Path of the ledger's JSON below `site/`."""
        return f"{self.folder}/{self.model}/{self.card}/{self.ledger_name}"

    def stale(self, now: date) -> list[Fact]:
        """Give the facts of the page that were not checked for longer than STALE_AFTER, oldest first."""
        used = [self.facts[key] for key in self.ledger.rows if key in self.facts]
        used += [fact for claim in self.ledger.claims.values() for fact in claim.facts]
        old = {fact.key: fact for fact in used if fact.checked and now - fact.checked > STALE_AFTER}
        return sorted(old.values(), key=lambda fact: (fact.checked or now, fact.key))


def tidied(text: str) -> str:
    """Give a page with each anchor once, no runs of blank lines outside code blocks, and one final newline."""
    pieces = re.split(r"(^```.*?^```$)", _each_anchor_once(text), flags=re.MULTILINE | re.DOTALL)
    tidy = [piece if piece.startswith("```") else _BLANK.sub("\n\n", _TRAILING.sub("", piece)) for piece in pieces]
    return "".join(tidy).strip("\n") + "\n"


def _each_anchor_once(text: str) -> str:
    seen: set[str] = set()

    def kept(match: re.Match[str]) -> str:
        if match[1] in seen:
            return ""
        seen.add(match[1])
        return match[0]

    return _ANCHOR.sub(kept, text)


def ledger_values(ledger: Ledger, card: str, name: str = "guide.json") -> dict[str, object]:
    """Give what the ledger's template prints: a row for each number, a line for each claim."""
    rows = [
        {
            "anchor": anchor(row.key) + code(row.key),
            "display": code(row.display),
            "how": _how(row),
            "kind": row.kind,
            "checked": _checked(row),
        }
        for row in ledger.rows.values()
    ]
    claims = [
        {
            "link": linked(code(claim.id), f"#claim.{claim.id}"),
            "predicate": code(claim.predicate.text),
            "holds": claim.holds,
            "checked": linked(claim.checked.isoformat(), claim.sources[0].url) if claim.checked else "never",
        }
        for claim in ledger.claims.values()
    ]
    return {"rows": rows, "claims": claims, "ledger_path": f"{card}/{name}", "ledger_name": name}


def _how(row: Row) -> str:
    """Give a row's derivation as code: its formula, or what was read and in which file."""
    titles = [source.title for source in row.sources if source.title]
    words = row.formula or "; ".join([part for part in (row.note, *titles) if part])
    return code(_KEY.sub(r"\1", words)) if words else ""


def _checked(row: Row) -> str:
    """Give the day of the oldest check, linked to the source of a number that was read; a derived one rests on several."""
    if row.checked is None:
        return ""
    source = next((source for source in row.sources if source.url), None)
    return linked(row.checked.isoformat(), source.url) if source else code(row.checked.isoformat())
