"""The tables of a web page, and what stands beside a label in them.

Tables of vendors differ: a label may have a group's name before it that spans rows, a card may have a column of its own, and some
sites write a list of terms instead. All of them become rows of text here; what the text means is for others to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from generator.errors import InputError, quoted

LONGEST_SPAN = 64
"""Rows or columns that one cell may span; what a page asks for beyond that is not believed."""

_SILENT = frozenset({"script", "style", "sup"})
_BREAKS = frozenset({"br", "p", "li", "div"})
_CELLS = frozenset({"td", "th", "dt", "dd"})

Rows = list[list[str]]


@dataclass(slots=True)
class _Table:
    """A table while it is read: its rows, the cells still to come from above by column, and the row and cell that are open."""

    rows: Rows = field(default_factory=list)
    hanging: dict[int, tuple[str, int]] = field(default_factory=dict)
    row: list[str] | None = None
    cell: list[str] | None = None
    spans: tuple[int, int] = (1, 1)

    def open_row(self) -> None:
        self.close_row()
        self.row = []

    def close_row(self) -> None:
        self.close_cell()
        if self.row is not None:
            self._hang()
            self.rows.append(self.row)
        self.row = None

    def open_cell(self, across: int, down: int) -> None:
        self.close_cell()
        if self.row is None:
            self.row = []
        self._hang()
        self.cell, self.spans = [], (across, down)

    def close_cell(self) -> None:
        if self.cell is None or self.row is None:
            return
        text, (across, down) = " ".join("".join(self.cell).split()), self.spans
        for _ in range(across):
            if down > 1:
                self.hanging[len(self.row)] = (text, down - 1)
            self.row.append(text)
        self.cell = None

    def _hang(self) -> None:
        """Take over the cells from above that stand at this place of the row."""
        assert self.row is not None
        while (place := len(self.row)) in self.hanging:
            text, left = self.hanging.pop(place)
            self.row.append(text)
            if left > 1:
                self.hanging[place] = (text, left - 1)


class _Reader(HTMLParser):
    """Reads every table and list of terms of a page, those inside others too, and its headings."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[Rows] = []
        self.names: dict[str, list[str]] = {"h1": [], "title": []}
        self._open: list[_Table] = []
        self._silent = 0
        self._name = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag in self.names:
            self._name = tag
        elif tag in {"table", "dl"}:
            self._open.append(_Table())
        elif self._open:
            self._inside(tag, dict(attrs))

    def _inside(self, tag: str, attrs: dict[str, str | None]) -> None:
        table = self._open[-1]
        if tag in {"tr", *_CELLS}:
            self._silent = 0  # what silenced the text before was never closed
        if tag in {"tr", "dt"}:
            table.open_row()
        if tag in _CELLS:
            table.open_cell(_span(attrs.get("colspan")), _span(attrs.get("rowspan")))
        elif tag in _BREAKS and table.cell is not None:
            table.cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == self._name:
            self._name = ""
        elif self._open and tag in {"table", "dl"}:
            table = self._open.pop()
            table.close_row()
            self.tables.append([row for row in table.rows if any(row)])
        elif self._open and tag == "tr":
            self._open[-1].close_row()
        elif self._open and tag in _CELLS:
            self._open[-1].close_cell()

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if self._name:
            self.names[self._name].append(data)
        elif self._open and (cell := self._open[-1].cell) is not None:
            cell.append(data)


def _span(text: str | None) -> int:
    return min(int(text), LONGEST_SPAN) if text and text.isascii() and text.isdecimal() and int(text) else 1


@dataclass(frozen=True, slots=True)
class PageTables:
    """The tables of a page, and what the page calls itself: its first heading, or where it has none its title."""

    heading: str
    tables: tuple[Rows, ...]


def tables_of(source: str) -> PageTables:
    """Read the tables of a page's source."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    names = [" ".join("".join(parts).split()) for parts in reader.names.values()]
    return PageTables(next(filter(None, names), ""), tuple(table for table in reader.tables if table))


# --- the column of one card ----------------------------------------------------------------------


def beside_labels(page: PageTables, is_label: Callable[[str], bool], column: str) -> Iterator[tuple[str, str]]:
    """Give each label with the text that stands beside it in the column of a card, in the order of the page.

    A table with several cards needs `column`, which names one by what its header says, or by the end of that. Raises InputError,
    naming the columns there are, where it is needed or fits none or several.
    """
    headers: list[str] = []
    found: list[tuple[str, str]] = []
    for table in page.tables:
        at = _label_column(table, is_label)
        if at is None:
            continue
        heads = [text for text in table[0][at + 1 :] if text]
        several = max(len(row) for row in table) - at > 2
        headers += heads if several else []
        value = _column(heads, table[0], at, column) if column else (None if several else at + 1)
        if value is not None:
            rows = (row for row in table if len(row) > value and is_label(row[at]))
            found += [(row[at], row[value]) for row in rows]
    if not found:
        raise _no_column(list(dict.fromkeys(headers)), column)
    yield from found


def _label_column(table: Rows, is_label: Callable[[str], bool]) -> int | None:
    """Give the column that has most labels with something to their right."""
    width = max(len(row) for row in table)
    counts = [sum(is_label(row[at]) for row in table if len(row) > at + 1) for at in range(width)]
    best = max(range(width), key=lambda at: counts[at])
    return best if counts[best] else None


def _column(heads: Sequence[str], header: Sequence[str], at: int, wanted: str) -> int | None:
    """Give the one column whose header is the wanted text, ends with it, or has it in it."""
    plain = wanted.casefold()
    for fits in (str.__eq__, str.endswith, str.__contains__):
        named = [index for index, text in enumerate(header) if index > at and text and fits(" ".join(text.casefold().split()), plain)]
        if len(named) == 1:
            return named[0]
        if named:
            raise InputError(f"more than one column is called '{wanted}'", remedy=f"--column with one of: {quoted(list(heads))}")
    return None


def _no_column(headers: list[str], column: str) -> InputError:
    if headers and column:
        return InputError(f"no column is called '{column}'", remedy=f"--column with one of: {quoted(headers)}")
    if headers:
        return InputError(
            "the page has a table of several cards", remedy=f"say which one you mean: --column with one of: {quoted(headers)}"
        )
    return InputError("no table of this page has a row that is known", remedy="give a page with a table of the card: memory, bus, power")
