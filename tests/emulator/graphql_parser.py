"""A reader of GraphQL queries: operations with variables, fields with aliases and arguments, fragments."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"(?P<skip>[\s,]+|\#[^\n]*)|(?P<punctuation>\.\.\.|[{}()\[\]:=!@$])|(?P<name>[A-Za-z_]\w*)"
    r'|(?P<number>-?\d+(?:\.\d+)?)|(?P<block>"""(?:.|\n)*?""")|(?P<string>"(?:[^"\\\n]|\\.)*")'
)
_NAMES = {"{": "LCURLY", "}": "RCURLY", "(": "LPAREN", ")": "RPAREN", ":": "COLON", "": "EOF"}


class QueryError(Exception):
    """A query that cannot be read; `line` and `column` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        self.message = message
        self.line = line
        self.column = column
        super().__init__(message)


@dataclass(frozen=True)
class Variable:
    """A `$name` in an argument."""

    name: str


@dataclass
class Field:
    """A field that is asked for: `key` is the name it has in the answer."""

    name: str
    key: str
    arguments: dict[str, object]
    selections: list[Selection]
    line: int
    column: int


@dataclass
class Fragment:
    """A condition on the type, and what is asked for where it holds; a spread of a named fragment has only `spread`."""

    on: str
    selections: list[Selection]
    spread: str = ""


Selection = Field | Fragment


@dataclass
class Query:
    """A query: what it asks for, the fragments it names, the variables it declares with their default values."""

    selections: list[Selection] = field(default_factory=list)
    fragments: dict[str, Fragment] = field(default_factory=dict)
    variables: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int
    column: int


def parse(source: str) -> Query:
    """Read a query. Raises QueryError."""
    return _Parser(_tokens(source)).document()


def _tokens(source: str) -> list[_Token]:
    tokens: list[_Token] = []
    starts = [0, *(at + 1 for at, letter in enumerate(source) if letter == "\n")]
    position = 0
    while position < len(source):
        line = bisect_right(starts, position)
        column = position - starts[line - 1] + 1
        match = _TOKEN.match(source, position)
        if match is None:
            raise QueryError(f'Parse error on "{source[position]}" (error) at [{line}, {column}]', line, column)
        position = match.end()
        if match.lastgroup != "skip":
            tokens.append(_Token(str(match.lastgroup), match.group(), line, column))
    return tokens


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        last = tokens[-1] if tokens else _Token("", "", 1, 1)
        self._tokens = [*tokens, _Token("end", "", last.line, last.column)]
        self._at = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, text: str = "", kind: str = "") -> _Token:
        token = self._next
        if (text and token.text != text) or (kind and token.kind != kind):
            shown = _NAMES.get(token.text, token.kind.upper())
            message = f'Parse error on "{token.text}" ({shown}) at [{token.line}, {token.column}]'
            raise QueryError(message if token.text else "Unexpected end of document", token.line, token.column)
        self._at += 1
        return token

    def _has(self, text: str) -> bool:
        if self._next.text != text:
            return False
        self._at += 1
        return True

    def document(self) -> Query:
        query = Query()
        while self._next.kind != "end":
            if self._next.text == "fragment":
                self._take()
                name = self._take(kind="name").text
                self._take("on")
                query.fragments[name] = Fragment(self._take(kind="name").text, self._selections())
            else:
                if self._next.text != "{":
                    self._take("query")
                    if self._next.kind == "name":
                        self._take()
                    query.variables = self._declared()
                query.selections = self._selections()
        return query

    def _declared(self) -> dict[str, object]:
        declared: dict[str, object] = {}
        if not self._has("("):
            return declared
        while not self._has(")"):
            self._take("$")
            name = self._take(kind="name").text
            self._take(":")
            while self._next.text in {"[", "]", "!"} or self._next.kind == "name":
                self._take()
            declared[name] = self._value() if self._has("=") else None
        return declared

    def _selections(self) -> list[Selection]:
        self._take("{")
        selections: list[Selection] = []
        while not self._has("}"):
            selections.append(self._fragment() if self._has("...") else self._field())
        return selections

    def _fragment(self) -> Fragment:
        if self._has("on"):
            return Fragment(self._take(kind="name").text, self._selections())
        if self._next.text == "{":
            return Fragment("", self._selections())
        return Fragment("", [], self._take(kind="name").text)

    def _field(self) -> Field:
        first = self._take(kind="name")
        name = self._take(kind="name").text if self._has(":") else first.text
        arguments: dict[str, object] = {}
        if self._has("("):
            while not self._has(")"):
                argument = self._take(kind="name").text
                self._take(":")
                arguments[argument] = self._value()
        selections = self._selections() if self._next.text == "{" else []
        return Field(name, first.text, arguments, selections, first.line, first.column)

    def _value(self) -> object:
        if self._next.text in {"}", ")", "]", ":", "!", "="}:
            self._take(kind="name")
        token = self._take()
        if token.text == "$":
            return Variable(self._take(kind="name").text)
        if token.text == "[":
            values = []
            while not self._has("]"):
                values.append(self._value())
            return values
        if token.text == "{":
            row = {}
            while not self._has("}"):
                key = self._take(kind="name").text
                self._take(":")
                row[key] = self._value()
            return row
        if token.kind == "block":
            return token.text[3:-3].strip()
        if token.kind in {"string", "number"} or token.text in {"true", "false", "null"}:
            return json.loads(token.text)
        return token.text
