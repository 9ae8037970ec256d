"""Placeholders in authored prose: filled in by name, never evaluated.

Prose comes from YAML and Markdown files that strangers may send, so it is not a template. What stands in braces is looked up:

    {budget.total} {budget.total|GiB|3}    a number or fact of the guide
    {quote works_off}                      a marked quotation with its source
    {issue 25060}  {cite fit_margin}       a link to a tracker thread, to the engine's source
    {checked tier_peak} {day tier_peak}    when a fact was last checked, with and without the word
    {claim ollama_tag}                     the same, as a claim that the fact still has its value
    {checked}  {state}  {model}  {card}  {build}

Code spans and code blocks are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from generator.errors import GenError, InputError
from generator.specs import Prose

_FENCED = r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
_SPAN = r"(?<![`\\])(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`)"
_CODE = re.compile(f"{_FENCED}|{_SPAN}", re.DOTALL | re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{([^{}\n]+)\}")


class ProseError(InputError):
    """A placeholder that names nothing, with the file and line it stands in."""


def fill(prose: Prose, resolve: Callable[[str], str]) -> str:
    """Give the prose with each placeholder replaced by what `resolve` makes of its content.

    Raises ProseError, naming file and line, where `resolve` raises any error of ours.
    """
    text, filled, end = prose.text, list[str](), 0

    def up_to(begin: int) -> str:
        return _fill_piece(text[end:begin], prose.file, prose.line + text.count("\n", 0, end), resolve)

    for code in _CODE.finditer(text):
        filled += [up_to(code.start()), code[0]]
        end = code.end()
    filled.append(up_to(len(text)))
    return "".join(filled).strip("\n")


def _fill_piece(piece: str, file: str, line: int, resolve: Callable[[str], str]) -> str:
    def replaced(match: re.Match[str]) -> str:
        at = line + piece.count("\n", 0, match.start())
        try:
            return resolve(match[1].strip())
        except GenError as error:
            raise ProseError(f"{{{match[1]}}}: {error.problem}", where=f"{file}:{at}", remedy=error.remedy) from error

    return _PLACEHOLDER.sub(replaced, piece)
