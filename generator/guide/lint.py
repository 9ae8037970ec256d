"""The page lint: no number that no quantity, fact or quotation put there; no claim without its date and source.

It reads the rendered Markdown as a reader's program would (markdown-it-py) and holds it against the ledger, so it does not
trust the templates. A digit may stand in: a link to a ledger row whose value it correctly shows; a date linked to its source;
a quotation the guide has registered; a registered name (the card's, the model's); code. Everywhere else it is an error, and
so are quotation marks around anything but a registered quotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from generator.errors import GenError, Problem
from generator.guide.ledger import Ledger, Row
from generator.quantity import shows

if TYPE_CHECKING:
    from markdown_it.token import Token

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TRACKER = re.compile(r"https://github\.com/[^/]+/[^/]+/(?:issues|pull|discussions)/(\d+)(?:[/?#].*)?$")
_DIGIT = re.compile(r"[\d²³¹¼-¾⁰-₉⅐-↉①-⒛⓪-⓿❶-➓]")
"""A digit of any script, or a sign that means a number."""
_ANCHOR = re.compile(r'<a id="([^"]+)">')
_HARMLESS = re.compile(r'<a id="[^"]+">|</a>|<!--.*?-->|<br ?/?>', re.DOTALL)
_LOCAL = "#"
_CODE = "\x00"
"""Stands for a code span in the text of a block or link."""
_NOTHING_BEHIND = "a number that nothing stands behind"
_SAFE = ("https://", "http://", _LOCAL)


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
    """What a page may say that is in no ledger: proper names, quotations word for word, days by address, and files beside it."""

    names: tuple[str, ...] = ()
    quotes: frozenset[str] = frozenset()
    days: frozenset[tuple[str, str]] = frozenset()
    files: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Block:
    """One paragraph, heading, list item line or table row: its line, its text outside code, its links and anchors."""

    line: int
    kind: str
    loose: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)


def lint(page: str, ledger: Ledger, allowed: Allowed, *, file: str) -> None:
    """Check a rendered page. Raises LintErrors with every problem; `file` names the page in them."""
    tokens = _tokens(page)
    blocks = list(_blocks(tokens))
    checker = _Checker(ledger, allowed, file, frozenset(anchor for block in blocks for anchor in block.anchors))
    problems = [*checker.headings(tokens), *checker.claims(blocks)]
    for block in blocks:
        problems += checker.block(block)
    if problems:
        raise LintErrors(sorted(problems, key=lambda problem: problem.line))


# --- reading the page ----------------------------------------------------------------------------


def _tokens(page: str) -> list[Token]:
    """Parse a page; addresses are left as they are written, since they are compared and not followed."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.normalizeLink = str  # type: ignore[method-assign, assignment]
    parser.validateLink = bool  # type: ignore[method-assign, assignment]
    return parser.parse(page)


def _blocks(tokens: list[Token]) -> Iterator[_Block]:
    row: _Block | None = None
    last = ""
    for token in tokens:
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
            loose.append(_title(token))
        elif token.type == "link_close":
            block.links.append((href, text))
            loose.append(_CODE)
            href = ""
        elif token.type == "html_inline":
            _html(token.content, block)
        elif token.type == "image":
            block.images.append(str(token.attrGet("src")))
            loose += [token.content, _title(token)]
        else:
            piece = {"softbreak": " ", "hardbreak": " ", "code_inline": _CODE}.get(token.type, token.content)
            if href:
                text += piece
            else:
                loose.append(piece)
    block.loose.append("".join(loose))


def _title(token: Token) -> str:
    """Give the title of a link or picture, which a reader sees on hovering, as a word apart."""
    return f" {token.attrGet('title') or ''} "


def _html(content: str, block: _Block) -> None:
    block.anchors += _ANCHOR.findall(content)
    rest = _HARMLESS.sub("", content).strip()
    if rest:
        block.raw.append(rest)


# --- problems ------------------------------------------------------------------------------------

_NUMBER_REMEDY = "let a quantity, a fact or a quotation say it; versions, flags and code belong in `code`"


@dataclass(slots=True)
class _Checker:
    """What a page is held against, and the rules; each method gives the problems of one part."""

    ledger: Ledger
    allowed: Allowed
    file: str
    anchors: frozenset[str]
    days: dict[str, set[str]] = field(default_factory=dict)
    names: re.Pattern[str] = field(init=False)
    shown: dict[tuple[str, str], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = "|".join(re.escape(name) for name in sorted(self.allowed.names, key=len, reverse=True))
        self.names = re.compile(rf"(?<!\w)(?:{known or '(?!)'})(?!\w)")
        for url, day in self.ledger.dates | self.allowed.days:
            self.days.setdefault(url, set()).add(day)

    def headings(self, tokens: list[Token]) -> Iterator[Problem]:
        """No level is skipped."""
        level = 0
        for token in tokens:
            if token.type != "heading_open":
                continue
            here = int(token.tag[1:])
            if here > level + 1:
                line = token.map[0] + 1 if token.map else 0
                yield self._problem(line, f"a heading of level {here} follows one of level {level}", "do not skip a level")
            level = here

    def claims(self, blocks: list[_Block]) -> Iterator[Problem]:
        """Every claim of the ledger is on the page, and its block links a source of it with a date."""
        where = {anchor: block for block in blocks for anchor in block.anchors}
        for claim in self.ledger.claims.values():
            block = where.get(f"claim.{claim.id}")
            if block is None:
                yield self._problem(0, f"the claim '{claim.id}' is in the ledger and not on the page", "say it, or drop it")
                continue
            urls = {source.url for source in claim.sources}
            if not any(href in urls and _ISO_DATE.search(text) for href, text in block.links):
                message = f"the claim '{claim.id}' stands without its date and source"
                yield self._problem(block.line, message, "link the date it was checked")

    def block(self, block: _Block) -> Iterator[Problem]:
        """No raw HTML, no foreign picture, no number that nothing stands behind, no thread without a date."""
        for raw in block.raw:
            yield self._problem(block.line, f"raw HTML: {raw[:60]!r}", "write Markdown")
        for source in block.images:
            if source not in self.allowed.files:
                yield self._problem(block.line, f"a picture that is not among the guide's files: {source!r}", "draw it, or drop it")
        for text in block.loose:
            rest = self._without_quotations(text)
            if re.search("[“”]", rest):
                yield self._problem(block.line, "quotation marks around what is no quotation of this guide", "quote word for word")
            yield from self._numbers(block.line, rest)
        for href, text in block.links:
            yield from self._link(block.line, href, text)
        dated = {_thread(href) for href, text in block.links if _ISO_DATE.search(text)}
        for href, _ in block.links:
            if _TRACKER.search(href) and _thread(href) not in dated:
                yield self._problem(block.line, f"a tracker thread without the date it was checked: {href}", "give the date beside it")

    def _link(self, line: int, href: str, text: str) -> Iterator[Problem]:
        if href in self.allowed.files:
            yield from self._numbers(line, text)
        elif not href.startswith(_SAFE):
            yield self._problem(line, f"a link that is no web address: {href[:60]!r}", "link to https:// or to a place on the page")
        elif href.startswith(_LOCAL):
            yield from self._local(line, href[1:], text)
        else:
            yield from self._external(line, href, text)

    def _local(self, line: int, key: str, text: str) -> Iterator[Problem]:
        """A link to a row of the ledger says its value, or the day it was checked, or no number at all."""
        if key not in self.anchors:
            yield self._problem(line, f"a link to '#{key}', which is nowhere on the page", "link to an anchor that exists")
            return
        row = self.ledger.rows.get(key)
        if row is not None and (self._shows(text, row) or text == str(row.checked)):
            return
        for digits in self._stray(text):
            said = f"'{text}' is not what the ledger has under '{key}' ({row.display})" if row else f"{_NOTHING_BEHIND}: {digits!r}"
            yield self._problem(line, said, _NUMBER_REMEDY)

    def _shows(self, text: str, row: Row) -> bool:
        """Tell whether a text is a row's value; the same number is often said twice."""
        if (row.key, text) not in self.shown:
            self.shown[row.key, text] = shows(text, row.quantity)
        return self.shown[row.key, text]

    def _external(self, line: int, href: str, text: str) -> Iterator[Problem]:
        """A link to a source says a day on which it was read, a thread's own number, or no number at all."""
        tracker = _TRACKER.search(href)
        rest = text.replace(f"#{tracker[1]}", "") if tracker else text
        for day in _ISO_DATE.findall(rest):
            if day not in self.days.get(href, set()):
                yield self._problem(line, f"nothing was read at {href} on {day}", "a date comes from the fact it dates")
        yield from self._numbers(line, _ISO_DATE.sub("", rest))

    def _numbers(self, line: int, text: str) -> Iterator[Problem]:
        for digits in self._stray(text):
            yield self._problem(line, f"{_NOTHING_BEHIND}: {digits!r}", _NUMBER_REMEDY)

    def _stray(self, text: str) -> list[str]:
        """Give the words with digits that remain once quotations and names are taken out."""
        if not _DIGIT.search(text):
            return []
        text = self.names.sub("", text)
        return [word.strip(f"{_CODE}.,;:()") for word in text.split() if _DIGIT.search(word)]

    def _without_quotations(self, text: str) -> str:
        for quote in self.allowed.quotes:
            text = text.replace(f"“{quote}”", "")
        return text

    def _problem(self, line: int, message: str, remedy: str) -> Problem:
        return Problem(self.file, line, "", message, remedy)


def _thread(href: str) -> str:
    """Give the address of the thread that a link leads into."""
    found = _TRACKER.search(href)
    return href[: found.end(1)] if found else href
