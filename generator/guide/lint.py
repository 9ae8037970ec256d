"""The page lint: no number that no quantity, fact or quotation put there; no claim without its date and source.

It reads the rendered Markdown as a reader's program would (markdown-it-py) and holds it against the ledger, so it does not
trust the templates. A digit may stand in: a link to a ledger row whose value it correctly shows; a date linked to its source;
a quotation the guide has registered; a registered name (the card's, the model's); code. Everywhere else it is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from generator.errors import GenError, Problem
from generator.guide.ledger import Ledger
from generator.quantity import shows

if TYPE_CHECKING:
    from markdown_it.token import Token

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TRACKER = re.compile(r"https://github\.com/[^/]+/[^/]+/(?:issues|pull|discussions)/(\d+)$")
_ANCHOR = re.compile(r'<a id="([^"]+)">')
_HARMLESS = re.compile(r'<a id="[^"]+">|</a>|<!--.*?-->|<br ?/?>', re.S)
_QUOTED = re.compile(r"“([^”]*)”")
_LOCAL = "#"


class LintErrors(GenError):
    """A rendered page that may not be published, with every reason."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{len(self.problems)} problems on the page")

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def as_dict(self) -> dict[str, object]:
        """Give the problems for machines."""
        rows = [{"file": p.file, "line": p.line, "message": p.message, "remedy": p.remedy} for p in self.problems]
        return {"error": type(self).__name__, "problems": rows}


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a page may say that is in no ledger: proper names, quotations word for word, and days by address."""

    names: tuple[str, ...] = ()
    quotes: frozenset[str] = frozenset()
    days: frozenset[tuple[str, str]] = frozenset()


@dataclass(slots=True)
class _Block:
    """One paragraph, heading, list item line or table row: its line, its text outside code, its links and anchors."""

    line: int
    kind: str
    loose: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)


def lint(page: str, ledger: Ledger, allowed: Allowed, *, file: str) -> None:
    """Check a rendered page. Raises LintErrors with every problem; `file` names the page in them."""
    blocks = list(_blocks(page))
    anchors = {anchor for block in blocks for anchor in block.anchors}
    problems: list[Problem] = []
    problems += _heading_problems(page, file)
    for block in blocks:
        problems += _block_problems(block, ledger, allowed, anchors, file)
    problems += _claim_problems(blocks, ledger, file)
    if problems:
        raise LintErrors(sorted(problems, key=lambda problem: problem.line))


# --- reading the page ----------------------------------------------------------------------------


def _tokens(page: str) -> list[Token]:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").parse(page)


def _blocks(page: str) -> Iterator[_Block]:
    row: _Block | None = None
    last = ""
    for token in _tokens(page):
        line = (token.map[0] + 1) if token.map else 0
        if token.type == "tr_open":
            row = _Block(line, "row")
        elif token.type == "tr_close" and row is not None:
            yield row
            row = None
        elif token.type in {"heading_open", "paragraph_open"}:
            last = token.type.removesuffix("_open")
        elif token.type == "html_block":
            block = _Block(line, "html")
            _html(token.content, block)
            yield block
        elif token.type == "inline":
            block = row or _Block(line, last)
            _inline(token.children or [], block)
            if row is None:
                yield block


def _inline(children: list[Token], block: _Block) -> None:
    href, text = "", ""
    loose: list[str] = []
    for token in children:
        if token.type == "link_open":
            href, text = str(token.attrGet("href") or ""), ""
        elif token.type == "link_close":
            block.links.append((href, text))
            loose.append("\x00")
            href = ""
        elif token.type == "html_inline":
            _html(token.content, block)
        elif token.type == "image":
            loose.append(token.content)
        else:
            piece = {"softbreak": " ", "hardbreak": " ", "code_inline": "\x00"}.get(token.type, token.content)
            if href:
                text += token.content if token.type == "code_inline" else piece
                if token.type == "code_inline":
                    text = "\x00" + text
            else:
                loose.append(piece)
    block.loose.append("".join(loose))


def _html(content: str, block: _Block) -> None:
    block.anchors += _ANCHOR.findall(content)
    rest = _HARMLESS.sub("", content).strip()
    if rest:
        block.raw.append(rest)


# --- problems ------------------------------------------------------------------------------------


def _heading_problems(page: str, file: str) -> Iterator[Problem]:
    level = 0
    for token in _tokens(page):
        if token.type != "heading_open":
            continue
        here = int(token.tag[1:])
        if here > level + 1:
            line = token.map[0] + 1 if token.map else 0
            yield Problem(file, line, "", f"a heading of level {here} follows one of level {level}", "do not skip a level")
        level = here


def _block_problems(block: _Block, ledger: Ledger, allowed: Allowed, anchors: set[str], file: str) -> Iterator[Problem]:
    for raw in block.raw:
        yield Problem(file, block.line, "", f"raw HTML: {raw[:60]!r}", "write Markdown")
    for text in block.loose:
        for digits in _stray(text, allowed):
            yield Problem(file, block.line, "", f"a number that nothing stands behind: {digits!r}", _NUMBER_REMEDY)
    dated = any(_ISO_DATE.search(text) for href, text in block.links if not href.startswith(_LOCAL))
    for href, text in block.links:
        if href.startswith(_LOCAL):
            yield from _local_problems(block, href[1:], text, ledger, allowed, anchors, file)
        else:
            yield from _external_problems(block, href, text, ledger, allowed, file)
            if _TRACKER.search(href) and not dated:
                yield Problem(file, block.line, "", f"a tracker thread without the date it was checked: {href}", "give the date beside it")


_NUMBER_REMEDY = "let a quantity, a fact or a quotation say it; versions, flags and code belong in `code`"


def _stray(text: str, allowed: Allowed) -> list[str]:
    """Give the words with digits that remain once quotations and names are taken out."""
    text = _QUOTED.sub(lambda match: "" if match[1] in allowed.quotes else match[0], text)
    for name in sorted(allowed.names, key=len, reverse=True):
        text = text.replace(name, "")
    return [word.strip("\x00.,;:()") for word in text.split() if any(character.isdecimal() for character in word)]


def _local_problems(
    block: _Block, key: str, text: str, ledger: Ledger, allowed: Allowed, anchors: set[str], file: str
) -> Iterator[Problem]:
    if key not in anchors:
        yield Problem(file, block.line, "", f"a link to '#{key}', which is nowhere on the page", "link to an anchor that exists")
    elif key in ledger.rows:
        row = ledger.rows[key]
        dated = bool(row.checked) and text == str(row.checked)
        if not text.startswith("\x00") and not dated and not shows(text, row.quantity) and _stray(text, allowed):
            display = row.display
            yield Problem(file, block.line, "", f"'{text}' is not what the ledger has under '{key}' ({display})", _NUMBER_REMEDY)
    elif not text.startswith("\x00"):
        for digits in _stray(text, allowed):
            yield Problem(file, block.line, "", f"a number that nothing stands behind: {digits!r}", _NUMBER_REMEDY)


def _external_problems(block: _Block, href: str, text: str, ledger: Ledger, allowed: Allowed, file: str) -> Iterator[Problem]:
    if text.startswith("\x00") or not any(character.isdecimal() for character in text):
        return
    tracker = _TRACKER.search(href)
    rest = text.replace(f"#{tracker[1]}", "") if tracker else text
    dates = _ISO_DATE.findall(rest)
    known = _dates(ledger, allowed)
    for day in dates:
        if day not in known.get(href, set()):
            yield Problem(file, block.line, "", f"nothing was read at {href} on {day}", "a date comes from the fact it dates")
    for digits in _stray(_ISO_DATE.sub("", rest), allowed):
        yield Problem(file, block.line, "", f"a number that nothing stands behind: {digits!r}", _NUMBER_REMEDY)


def _claim_problems(blocks: list[_Block], ledger: Ledger, file: str) -> Iterator[Problem]:
    where = {anchor: block for block in blocks for anchor in block.anchors}
    for claim in ledger.claims.values():
        block = where.get(f"claim.{claim.id}")
        if block is None:
            yield Problem(file, 0, "", f"the claim '{claim.id}' is in the ledger and not on the page", "say it, or drop it")
            continue
        urls = {source.url for source in claim.sources}
        dated = any(href in urls and _ISO_DATE.search(text) for href, text in block.links)
        if not dated:
            yield Problem(file, block.line, "", f"the claim '{claim.id}' stands without its date and source", "link the date it was checked")


def _dates(ledger: Ledger, allowed: Allowed) -> Mapping[str, set[str]]:
    """Give, for each source address, the days on which something is known of it."""
    found: dict[str, set[str]] = {}
    for url, day in ledger.dates | allowed.days:
        found.setdefault(url, set()).add(day)
    return found
