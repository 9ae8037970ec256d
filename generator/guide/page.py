"""The page as a whole: its last section from the ledger, and the blank lines between its parts."""

from __future__ import annotations

import re

from generator.guide.ledger import Ledger, Row
from generator.guide.marks import anchor, code, linked

_BLANK = re.compile(r"\n{3,}")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
_KEY = re.compile(r"\[([^\]\s]+)\]")


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


def ledger_values(ledger: Ledger, card: str, file: str = "guide.json") -> dict[str, object]:
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
    return {"rows": rows, "claims": claims, "ledger_path": f"{card}/{file}", "ledger_name": file}


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
