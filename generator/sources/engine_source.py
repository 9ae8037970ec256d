"""Where a cited piece of an engine's source stands: from its text at a tag to a line number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """Where a pattern was found: its first and last line, counted from one, and in how many places it stands."""

    line: int
    end_line: int
    count: int


def find(text: str, pattern: str, near: int | None = None) -> Found | None:
    """Find a pattern, literally, in a source text; where it stands in several places, the one nearest to line `near`, else the first.

    None where it stands nowhere; an empty pattern does. A pattern may go over several lines; how lines end does not matter.
    """
    text, pattern = _lines_ended(text), _lines_ended(pattern)
    if not pattern:
        return None
    lines: list[int] = []
    line, position = 1, 0
    start = text.find(pattern)
    while start >= 0:
        line += text.count("\n", position, start)
        lines.append(line)
        position, start = start, text.find(pattern, start + len(pattern))
    if not lines:
        return None
    chosen = lines[0] if near is None else min(lines, key=lambda found: abs(found - near))
    return Found(chosen, chosen + pattern.rstrip("\n").count("\n"), len(lines))


def _lines_ended(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
