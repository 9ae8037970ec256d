"""Every command that a page prints, held against what the engine would refuse or silently do nothing with.

A recipe's own settings are looked at before anything is built; here it is the page itself that is read, so that a command in a
template or in somebody's prose is none that a reader copies in vain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from generator.errors import InputError
from generator.guide.context import Sources
from generator.memory.flags import begins_command, split_words
from generator.memory.harms import Run, refuse_printed
from generator.memory.model import Model
from generator.memory.settings import parse_flags

_FENCE = re.compile(r"^```(?:bash|sh|shell)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
_CONTINUED = re.compile(r"\\\n\s*")
_BENCH = re.compile(r"(^|/)llama-bench$")

BENCHED = {"-ngl", "-ncmoe", "-ctk", "-ctv", "-fa", "-ub", "-b"}
"""Flags of llama-bench that llama-server has with the same meaning; -fa is a number there."""


def run_of(sources: Sources) -> Run:
    """Give what a guide's commands run on."""
    return Run(sources.card.backend, sources.recipe.gpus, sources.recipe.build, sources.recipe.build_options)


def refuse_commands(page: str, model: Model, run: Run, *, file: str) -> None:
    """Raise InputError, most often RefusedSettings, for the first command of a page that no reader should copy; it names the line."""
    for line, words in commands_of(page):
        try:
            refuse_printed(model, replace(parse_flags(words), model=None), run)
        except InputError as error:
            error.where = f"{file}:{line}: {error.where}" if error.where else f"{file}:{line}"
            raise


def commands_of(page: str) -> Iterator[tuple[int, list[str]]]:
    """Give each command of the engine's programs in a page's shell blocks, as words, with its line."""
    for block in _FENCE.finditer(page):
        first = page.count("\n", 0, block.start("text")) + 1
        for offset, row in _rows(block["text"]):
            words = split_words(row)
            if words and _BENCH.search(words[0]):
                yield first + offset, _as_server(words)
            elif words and begins_command(words[0]) and any(re.search(r"(^|/)llama-", word) for word in words):
                yield first + offset, words


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """Give the lines of a block, continued ones as one, each with how many lines stand before it."""
    before = 0
    for row in _CONTINUED.sub("\x00", text).split("\n"):
        yield before, row.replace("\x00", " ")
        before += row.count("\x00") + 1


def _as_server(words: list[str]) -> list[str]:
    """Give what a llama-bench command asks of memory, as llama-server would be asked for it."""
    given = ["llama-server"]
    for flag, value in pairwise(words):
        if flag in BENCHED:
            given += [flag, {"0": "off", "1": "on"}.get(value, value) if flag == "-fa" else value]
    return given
