"""A pasted command line as the flags that llama.cpp would read from it: the names, and the values that belong to each.

Which flags there are comes from `flag_table`, which an engine's own --help made; how words become flags follows common/arg.cpp,
`common_params_parse_ex`: environment first, then the words in order, `_` in a long name the same as `-`, no `--flag=value`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice

from generator.errors import InputError, RefusedSettings, UnknownNameError, did_you_mean, quoted
from generator.memory.flag_table import PROGRAMS, ROWS

TRUE_WORDS = ("on", "enabled", "true", "1")
FALSE_WORDS = ("off", "disabled", "false", "0")
AUTO_WORDS = ("auto", "-1")
"""Words llama.cpp takes for yes, no and auto (common/arg.cpp, `is_truthy`, `is_falsey`, `is_autoy`)."""

OLD_LOAD_FLAGS = {"--mmap": "mmap", "--no-mmap": "none", "--mlock": "mlock", "-dio": "dio", "--direct-io": "dio"}
"""Flags of builds before September 2026 and the --load-mode each one sets, the last one winning, as the builds of summer 2026 read
them (ggml-org/llama.cpp pull requests 20834, which deprecated them, and 28334, which removed them)."""

SECRETS = ("--api-key", "--hf-token", "-hft")
"""Flags whose values no message shows."""

DASHES = ("-", "–", "—")
"""What starts a flag, and what a web page makes of it."""

_SHELL_TAIL = re.compile(r"\|\|?|&&?|;|\d?>.*|&>.*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_COMMENT_OR_CONTINUATION = re.compile(r"""('[^']*'|"(?:[^"\\]|\\.)*"|\\[^\r\n])|[\\^`]\r?\n|(?<!\S)\#[^\n]*""", re.DOTALL)


class UnknownFlagError(InputError):
    """A word in a flag's place that is no flag of the program; `near` are the likeliest meant."""

    def __init__(self, flag: str, program: str, near: Sequence[str], *, where: str, remedy: str = "") -> None:
        self.flag = flag
        self.program = program
        self.near = list(near)
        hint = f"; did you mean {quoted(near)}?" if near else ""
        super().__init__(f"{program} has no flag '{flag}'{hint}", where=where, remedy=remedy)


class FlagValueError(InputError):
    """A value that is missing, or that the engine would read as something else than what it says."""

    def __init__(self, flag: str, value: str | None, problem: str, *, accepted: str, where: str) -> None:
        self.flag = flag
        self.value = value
        self.accepted = accepted
        super().__init__(problem, where=where, remedy=f"{flag} takes {accepted}")


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: its names, the names that negate it, how many values follow, and what the help says of them."""

    names: tuple[str, ...]
    negated: tuple[str, ...]
    values: int
    choices: tuple[str, ...]
    default: str
    env: str
    replaced_by: tuple[str, ...]
    programs: tuple[str, ...]

    @property
    def long_name(self) -> str:
        """The first name that starts with two dashes; the first name where none does."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])


@dataclass(frozen=True, slots=True)
class Use:
    """A flag as it was given: the word, its values, whether the word is one that negates, and where it stood."""

    flag: Flag
    word: str
    values: tuple[str, ...]
    negates: bool
    where: str

    def refused(self, setting: str, accepted: str) -> RefusedSettings:
        """Give the error for a value the engine refuses while it reads the flags."""
        problem = f"{self.word} does not take {quoted(self.values) or 'this'}"
        return RefusedSettings(problem, rule=f"invalid_{setting}", where=self.where, remedy=f"it takes {accepted}")

    def misread(self, problem: str, accepted: str) -> FlagValueError:
        """Give the error for a value the engine accepts and reads as something else."""
        return FlagValueError(self.word, self.values[0] if self.values else None, problem, accepted=accepted, where=self.where)


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, taken apart: the program, the environment set before it, and its flags in order.

    `begin` is the place of the first flag among the words. `uses` can be gone through once; it raises where a word is wrong, so that
    the first fault is the one told, as by the engine.
    """

    program: str
    environment: tuple[tuple[str, str], ...]
    begin: int
    uses: Iterator[Use]


@cache
def all_flags() -> tuple[Flag, ...]:
    """Give every flag of the table, in the order of the engine's help."""
    flags = []
    for row in ROWS.strip().splitlines():
        names, negated, values, choices, default, env, replaced_by, programs = (cell.strip() for cell in row.split("|"))
        flag = Flag(
            names=tuple(names.split()),
            negated=tuple(negated.split()),
            values=int(values),
            choices=tuple(choices.split()),
            default=default,
            env=env,
            replaced_by=tuple(replaced_by.split()),
            programs=PROGRAMS if programs == "all" else tuple(programs.split()),
        )
        flags.append(flag)
    return tuple(flags)


@cache
def flags_of(program: str) -> Mapping[str, Flag]:
    """Give a program's flags by each of their names.

    llama-fit-params also knows those of llama-server here: it is how the engine is asked what a server's command line would take,
    and settings that it reads no flag for, such as -kvu, reach it by other ways. Raises UnknownNameError.
    """
    if program not in PROGRAMS:
        raise UnknownNameError("program", program, PROGRAMS)
    asked = ("llama-server", program) if program == "llama-fit-params" else (program,)
    return {name: flag for user in asked for flag in all_flags() if user in flag.programs for name in (*flag.names, *flag.negated)}


def command_of(given: str | Sequence[str], program: str) -> Command:
    """Take a command line apart. `given` is pasted text, or words that a shell has split already.

    A program named in it wins over `program`; what stands before that name (assignments, sudo, numactl) runs it and is no flag.
    Raises InputError where quotation marks do not close, UnknownNameError for a program that is not known here.
    """
    words = split_words(given) if isinstance(given, str) else list(given)
    first = next((place for place, word in enumerate(words) if not _ASSIGNMENT.fullmatch(word)), len(words))
    if first < len(words) and words[first][:1] not in DASHES:
        program, first = _program_in(words, first)
    environment = tuple((name, value) for name, _, value in (word.partition("=") for word in words[:first] if _ASSIGNMENT.fullmatch(word)))
    placed = ((word, f"word {place} of the command line") for place, word in enumerate(words[first:], first + 1))
    return Command(program, environment, first, chain(_from_environment(dict(environment), program), uses_of(placed, program)))


def begins_command(word: str) -> bool:
    """Tell whether a word can begin a pasted command line: a program, with or without its folder, or a variable for it."""
    return _ASSIGNMENT.fullmatch(word) is not None or _program_name(word) in PROGRAMS


def split_words(text: str) -> list[str]:
    """Split pasted text as a shell does, with comments and line continuations taken out and line ends read as blanks."""
    joined = _COMMENT_OR_CONTINUATION.sub(lambda found: found[1] or " ", text)
    try:
        return shlex.split(joined)
    except ValueError as error:
        raise InputError(f"the command line cannot be split into words: {error}", remedy="close every quotation mark") from error


def uses_of(placed: Iterable[tuple[str, str]], program: str) -> Iterator[Use]:
    """Give the flags of `program` among words, each of which comes with where it stands.

    Raises UnknownFlagError, FlagValueError where a value is missing, RefusedSettings for a removed flag.
    """
    known = flags_of(program)
    rest = iter(placed)
    last: Use | None = None
    for typed, where in rest:
        word = typed.replace("_", "-") if typed.startswith("--") else typed
        if word in OLD_LOAD_FLAGS:
            last = Use(known["--load-mode"], word, (OLD_LOAD_FLAGS[word],), negates=False, where=where)
        elif word in known:
            values = tuple(value for value, _ in islice(rest, known[word].values))
            last = _checked(Use(known[word], word, values, word in known[word].negated, where))
        elif _SHELL_TAIL.fullmatch(word):
            return
        else:
            raise _unknown(typed, program, last, where)
        yield last


def _checked(use: Use) -> Use:
    """Give the use back if its values are there and its flag has not been removed."""
    if len(use.values) < use.flag.values:
        accepted = quoted(use.flag.choices) or ("two values" if use.flag.values == 2 else "a value")
        raise FlagValueError(use.word, None, f"the value of {use.word} is missing", accepted=accepted, where=use.where)
    if use.flag.replaced_by:
        problem = f"llama.cpp has removed {use.word}"
        raise RefusedSettings(problem, rule="removed_flag", where=use.where, remedy=f"use {' or '.join(use.flag.replaced_by)}")
    return use


def _program_in(words: Sequence[str], first: int) -> tuple[str, int]:
    """Find the program among the words and give its name and the place of the first flag."""
    for place in range(first, len(words)):
        name = _program_name(words[place])
        if name in PROGRAMS:
            return name, place + 1
    name = _program_name(words[first])
    raise UnknownNameError("program", name, PROGRAMS, remedy="flags without a program will do; a model file is given by -m")


def _program_name(word: str) -> str:
    return re.split(r"[\\/]", word)[-1].removesuffix(".exe")


def _from_environment(environment: Mapping[str, str], program: str) -> Iterator[Use]:
    """Give the flags that environment variables stand for, in the table's order, as the engine does before the command line."""
    known = flags_of(program)
    for flag in all_flags():
        if not flag.env or known.get(flag.long_name) is not flag:
            continue
        no_variable = flag.env.replace("LLAMA_ARG_", "LLAMA_ARG_NO_")
        if flag.negated and no_variable in environment:
            yield Use(flag, flag.negated[-1], (), negates=True, where=no_variable)
        elif flag.env in environment:
            yield from _from_variable(flag, environment[flag.env])


def _from_variable(flag: Flag, value: str) -> Iterator[Use]:
    """Give the use a variable stands for: none where a plain switch is not set to a word for yes."""
    use = Use(flag, flag.long_name, (value,), negates=False, where=flag.env)
    if flag.values:
        yield _checked(use)
    elif not flag.negated:
        if value in TRUE_WORDS:
            yield Use(flag, flag.long_name, (), negates=False, where=flag.env)
    elif value in TRUE_WORDS + FALSE_WORDS:
        negates = value in FALSE_WORDS
        yield Use(flag, flag.negated[-1] if negates else flag.long_name, (), negates=negates, where=flag.env)
    else:
        raise use.refused(flag.long_name.removeprefix("--").replace("-", "_"), quoted(TRUE_WORDS + FALSE_WORDS))


def _unknown(word: str, program: str, last: Use | None, where: str) -> UnknownFlagError:
    """Give the error for a word that is no flag: what was meant, or why it is out of place."""
    known = flags_of(program)
    name, equals, value = word.partition("=")
    if equals and (_ASSIGNMENT.fullmatch(word) or name.replace("_", "-") in SECRETS):
        word, value = f"{name}=…", "VALUE"
    elif last is not None and last.flag.long_name in SECRETS and word[:1] not in DASHES:
        word = "…"
    others = [flag for flag in all_flags() if word in flag.names + flag.negated]
    if equals and name in known:
        return UnknownFlagError(word, program, (), where=where, remedy=f"llama.cpp takes a value as a word of its own: {name} {value}")
    if others:
        return UnknownFlagError(word, program, (), where=where, remedy=f"it is a flag of {' and '.join(others[0].programs)}")
    if typographic := [dashes + word[1:] for dashes in ("-", "--") if word[:1] in DASHES[1:] and dashes + word[1:] in known]:
        return UnknownFlagError(word, program, typographic, where=where, remedy="its dash is a typographic one")
    if not word.startswith("-"):
        before = f"{last.word} takes no value" if last and not last.values else "every word is a flag or a flag's value"
        return UnknownFlagError(word, program, (), where=where, remedy=f"{before}; a model file is given by -m")
    longer = [name for name in known if len(word) > 2 and name.startswith(word.lower())]
    alike = [name for name in known if abs(len(name) - len(word)) <= max(1, len(word) // 4)]
    return UnknownFlagError(word, program, longer[:3] or did_you_mean(word.lower(), alike), where=where)
