"""What puts a number, a date, a quotation or a claim on a page, with the link that stands behind it.

Templates and prose never write a digit: they call these, and the page lint holds the result against the ledger. What comes
from other people (titles, quotations, names) is escaped for Markdown here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from generator.claims import Claim
from generator.errors import InputError, UnknownNameError
from generator.facts import Fact, Facts
from generator.guide.ledger import Book, Ledger
from generator.guide.prose import fill
from generator.specs import Citation, Engine, Issue, Prose, Quote, Spec

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATE_WORD = re.compile(r"[(\[]*\d{4}-\d{2}-\d{2}[)\].,;:]*")
_SPECIAL = re.compile(r"([\\`*_{}\[\]#!])")
_LIST = re.compile(r"^(\d+(?=[.)](?: |$))|(?=[-+]))")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "~": "&#126;"})


def plain(text: str) -> str:
    """Give text on one line, as a reader sees it."""
    return " ".join(text.split())


def escaped(text: str) -> str:
    """Give other people's text so that Markdown shows it as it is, at the start of a line and in a table too.

    What not every Markdown takes a backslash before is an entity. Braces are escaped because some sites read attributes or
    templates in them.
    """
    return _LIST.sub(r"\1\\", _SPECIAL.sub(r"\\\1", plain(text)).translate(_ENTITIES))


def code(text: str) -> str:
    """Give text as a code span, whatever backticks it holds itself."""
    text = plain(text).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def spelled(text: str) -> str:
    """Give other people's text with each word that has a digit in it as code; dates stay as they are."""
    return " ".join(escaped(word) if _DATE_WORD.fullmatch(word) or not _has_digit(word) else code(word) for word in text.split())


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))


def anchor(name: str) -> str:
    """Give the target of a link."""
    return f'<a id="{name}"></a>'


def linked(text: str, address: str) -> str:
    """Give a link; brackets in an address that would end it are encoded."""
    return f"[{text}]({address.replace('(', '%28').replace(')', '%29').replace(' ', '%20')})"


@dataclass(slots=True)
class Marks:
    """The marks of one guide, and what it said: claims, and quotations as a reader sees them, for the ledger and the lint."""

    book: Book
    facts: Facts
    engine: Engine
    issues: Mapping[str, Issue]
    names: Mapping[str, str]
    quotable: Mapping[str, Quote]
    claims: dict[str, Claim] = field(default_factory=dict)
    quotes: set[str] = field(default_factory=set)
    uncited: dict[str, Citation] = field(default_factory=dict)
    days: set[tuple[str, str]] = field(default_factory=set)

    # numbers and facts

    def number(self, key: str, unit: str | None = None, digits: int | None = None) -> str:
        """Give a number as a link to its row of the ledger."""
        self._into_book(key)
        return linked(self.book.text(key, unit, digits), f"#{key}")

    def fact(self, key: str, unit: str | None = None, digits: int | None = None) -> str:
        """Give a fact as a reader should see it: a number with its link, a date with its source, a word as code."""
        if key in self.book:
            return self.number(key, unit, digits)
        fact = self.facts[key]
        value = fact.value
        if not fact.known:
            raise InputError(f"fact '{key}' has no value to show ({fact.status})")
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, int | float):
            return self.number(key, unit, digits)
        if isinstance(value, list | tuple):
            return ", ".join(code(str(item)) for item in value)
        if _ISO_DATE.fullmatch(str(value)):
            return linked(str(value), fact.source.url)
        return code(str(value))

    def day(self, key: str) -> str:
        """Give the day a fact was last checked, linked to where it was read, or to its row where no address is known."""
        fact = self.facts[key]
        if fact.checked is None:
            raise InputError(f"fact '{key}' was never checked, so no date can be given for it")
        if not fact.source.url:
            self._into_book(key)
            return linked(fact.checked.isoformat(), f"#{key}")
        return linked(fact.checked.isoformat(), fact.source.url)

    def checked(self, key: str) -> str:
        """Say when a fact was last checked."""
        return f"checked {self.day(key)}"

    def _into_book(self, key: str) -> None:
        if key in self.book or key not in self.facts:
            return
        fact = self.facts[key]
        if isinstance(fact.value, int | float) and not isinstance(fact.value, bool):
            unit = {"B": None, "tok": None}.get(fact.unit, fact.unit)
            self.book.add(key, fact.quantity(), unit, decimals_of(fact))

    # claims, quotations, links

    def claim(self, id: str, text: str, predicate: str, scope: Mapping[str, tuple[str, ...]] | None = None) -> str:
        """Say a claim: its text, the day it was checked and the source; and remember it for the ledger.

        Its anchor is written each time; the page keeps the first.
        """
        claim = self.claims.setdefault(id, Claim.of(id, text, predicate, self.facts, scope))
        if claim.checked is None:
            raise InputError(f"the claim '{id}' rests on a fact that was never checked")
        if not claim.sources[0].url:
            raise InputError(f"the claim '{id}' rests on a source without an address", remedy="say {checked KEY} of it, which is no claim")
        return f"{anchor(f'claim.{id}')}{claim.text}, checked {linked(claim.checked.isoformat(), claim.sources[0].url)}"

    def holds(self, key: str) -> str:
        """Say, as a claim, that a fact still had its value when it was last checked: what the sentence around it rests on."""
        fact = self.facts[key]
        text = f"{fact.note or key}: {fact.value} {fact.unit}".strip()
        said = self.claim(key, text, f"{key} == {json.dumps(fact.value)}")
        return said.replace(f"{text}, checked", "checked")

    def state(self, issue: Issue, *, of_kind: bool = True) -> str:
        """Say what state a thread is in, as a claim: open, closed and why, merged, moved and to where, or gone; first its kind."""
        fact = self.facts[f"{issue.prefix}.state"]
        found = str(self._optional(f"{issue.prefix}.kind") or issue.kind)
        kind = {"issue": "", "pull_request": "pull request, ", "discussion": "discussion, "}.get(found, "")
        gone = fact.status == "gone"
        predicate = f"{fact.key} is gone" if gone else f"{fact.key} == {json.dumps(fact.value)}"
        word = f"gone from the tracker, {fact.value} when last seen" if gone else self._state_words(issue, str(fact.value))
        scope = {
            "architectures": issue.applies.architectures,
            "backends": issue.applies.backends,
            "cards": issue.applies.cards,
            "compute_capabilities": issue.applies.compute_capabilities,
            "techniques": issue.applies.techniques,
            "flags": issue.applies.flags,
            "from_build": (issue.applies.from_build,) if issue.applies.from_build else (),
            "before_build": (issue.applies.before_build,) if issue.applies.before_build else (),
            "confirmed_builds": issue.applies.confirmed_builds,
        }
        said = self.claim(f"{issue.prefix}.state", kind + word, predicate, scope)
        return said if of_kind else said.replace(kind + word, word, 1)

    def _state_words(self, issue: Issue, state: str) -> str:
        reason = self._optional(f"{issue.prefix}.reason")
        moved_to = self._optional(f"{issue.prefix}.moved_to")
        words = f"{state} as {str(reason).replace('_', ' ').lower()}" if reason and state == "closed" else state
        return f"moved to {code(str(moved_to))}, {words}" if moved_to else words

    def _optional(self, key: str) -> object:
        return self.facts[key].value if key in self.facts else None

    def issue_link(self, issue: Issue) -> str:
        """Give a link to a thread."""
        return linked(f"#{issue.number}", issue.url)

    def issue_named(self, number: str, tracker: str = "llama.cpp") -> Issue:
        """Give a thread by its number. Raises InputError where the catalogue has no file of it."""
        ref = f"{tracker}#{number}"
        if ref not in self.issues:
            raise InputError(f"there is no thread '{ref}' in the catalogue", remedy=f"write recipes/issues/{tracker}/{number}.md")
        return self.issues[ref]

    def quote(self, quote: Quote, checked: date | None = None) -> str:
        """Give a quotation, marked as one, with who said it, where, and when; `checked` is the day to give where nobody noted one."""
        said_in = spelled(quote.said_in or "source")
        day = quote.checked or checked
        if not _ISO_DATE.search(said_in) and day is not None:
            said_in += f", read {day.isoformat()}"
        self.days.update((quote.source.url, found) for found in _ISO_DATE.findall(said_in))
        by = linked(said_in, quote.source.url) if quote.source.url else said_in
        return f"{self.quoted(quote.text)} ({by})"

    def quoted(self, text: str) -> str:
        """Give other people's words in quotation marks, and remember them for the lint."""
        self.quotes.add(plain(text))
        return f"“{escaped(text)}”"

    def cite(self, name: str) -> str:
        """Give a link to the engine's source: file and line at the pin, or file alone where the line was not read there."""
        citation = self.engine.citation(name)
        if citation.line is None:
            self.uncited[name] = citation
            return linked(code(citation.path), self.engine.url(name))
        return linked(code(f"{citation.path}:{citation.line}"), self.engine.url(name))

    # prose

    def prose(self, prose: Prose, spec: Spec, prefix: str) -> str:
        """Give authored prose with its placeholders filled: facts of `spec` by their short names, everything else in full."""
        return fill(prose, lambda content: self._resolve(content, spec, prefix))

    def _resolve(self, content: str, spec: Spec, prefix: str) -> str:
        word, _, rest = content.partition(" ")
        if not rest:
            return self._resolve_word(content, spec, prefix)
        if word == "quote":
            quote = self.quotable[rest] if rest in self.quotable and rest not in spec.quotes else spec.quote(rest)
            # a person read the quotation when the file was written; that a program looked at the thread since is no reading of it
            return self.quote(quote, spec.facts[f"{spec.prefix}.state"].checked if isinstance(spec, Issue) else None)
        if word == "issue":
            issue = self.issue_named(rest)
            return f"{self.issue_link(issue)} ({self.state(issue)})"
        if word == "cite":
            return self.cite(rest)
        if word in {"checked", "day", "claim"}:
            say = {"checked": self.checked, "day": self.day, "claim": self.holds}[word]
            return say(self._key(rest, prefix))
        raise InputError(
            f"there is no placeholder '{word}'", remedy="known: quote, issue, cite, checked, day, claim, or the key of a fact or number"
        )

    def _resolve_word(self, content: str, spec: Spec, prefix: str) -> str:
        if content in self.names:
            return self.names[content]
        if content == "state" and isinstance(spec, Issue):
            return self.state(spec, of_kind=False)
        if content == "checked":
            return self.checked(f"{prefix}.state")
        key, *how = content.split("|")
        unit, digits = [*how, "", ""][:2]
        if len(how) > 2 or not re.fullmatch("[0-9]?", digits):
            raise InputError("a number's unit and digits are not understood", remedy="write {key}, {key|unit} or {key|unit|digits}")
        full = self._key(key, prefix)
        if full not in self.book and full not in self.facts:
            known = {*self.book.numbers, *(fact.key.removeprefix(f"{prefix}.") for fact in self.facts)}
            raise UnknownNameError("number or fact", key, known, remedy="`gen explain MODEL CARD` lists the numbers of a guide")
        return self.fact(full, unit or None, int(digits) if digits else None)

    def _key(self, key: str, prefix: str) -> str:
        local = f"{prefix}.{key}"
        return local if local in self.facts else key

    # dates

    def checks(self) -> list[tuple[date, str]]:
        """Give the days on which what this page says or follows from was checked, with the key of a fact of that day, oldest first."""
        found: dict[date, str] = {}
        told = (key for claim in self.claims.values() for key in claim.predicate.keys)
        for key in [*self.book.numbers, *told, *Ledger.of({}, self.book, (), Facts()).rows]:
            if key in self.facts and (day := self.facts[key].checked):
                found.setdefault(day, key)
        return sorted(found.items())

    def checked_between(self) -> tuple[str, str]:
        """Give the oldest and the newest of these days, each linked to what was read. Raises InputError where there is none."""
        days = self.checks()
        if not days:
            raise InputError("no fact of the page was ever checked, so it cannot say when")
        oldest, newest = (linked(day.isoformat(), self.facts[key].source.url or f"#{key}") for day, key in (days[0], days[-1]))
        return oldest, newest


def decimals_of(fact: Fact) -> int:
    """Give the decimals that a fact's value is written with; none for a whole number."""
    return max(0, -int(Decimal(str(fact.value)).normalize().as_tuple().exponent))
