"""Every error the library raises: one base class, each error carrying its data and the remedy.

Packages add their own subclasses beside the code that raises them; the command line turns any of
them into a sentence and an exit code (`exit_code`), and prints nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


class GenError(Exception):
    """Base of all errors raised on purpose.

    `problem` says what is wrong, `where` names the file (and line, and key path) it is wrong in,
    `remedy` says what to do about it. `exit_code` is what the command line leaves with:
    1 our or the environment's failure, 2 usage or bad input.
    """

    exit_code = 1

    def __init__(self, problem: str, *, where: str = "", remedy: str = "") -> None:
        self.problem = problem
        self.where = where
        self.remedy = remedy
        super().__init__(problem)

    def __str__(self) -> str:
        head = f"{self.where}: {self.problem}" if self.where else self.problem
        return f"{head}\n  {self.remedy}" if self.remedy else head

    def as_dict(self) -> dict[str, object]:
        """Give the error for machines: class name, problem, where, remedy."""
        return {"error": type(self).__name__, "problem": self.problem, "where": self.where, "remedy": self.remedy}


class InputError(GenError):
    """What the user gave cannot be used."""

    exit_code = 2


class UnknownNameError(InputError):
    """A name that is in no list of known names."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, remedy: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = sorted(known)
        self.near = did_you_mean(name, self.known)
        hint = f"did you mean {quoted(self.near)}?" if self.near else f"known: {quoted(self.known[:12]) or 'none'}"
        super().__init__(f"no {kind} is called '{name}'; {hint}", remedy=remedy)


class MissingFileError(InputError):
    """A file that was named does not exist or cannot be read."""

    def __init__(self, path: object, *, reason: str = "there is no such file", remedy: str = "") -> None:
        self.path = str(path)
        super().__init__(reason, where=self.path, remedy=remedy)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with an authored file: where it is, what it is, what to do."""

    file: str
    line: int
    path: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        spot = f"{self.file}:{self.line}" if self.line else self.file
        key = f" {self.path}:" if self.path else ""
        return f"{spot}:{key} {self.message}" + (f"\n  {self.remedy}" if self.remedy else "")


class SpecErrors(InputError):
    """Everything wrong with the authored files, all at once and in order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{counted(len(self.problems), 'problem')} in the specs")

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def as_dict(self) -> dict[str, object]:
        rows = [{"file": p.file, "line": p.line, "path": p.path, "message": p.message, "remedy": p.remedy} for p in self.problems]
        return {"error": type(self).__name__, "problems": rows}


class RefusedSettings(InputError):
    """Settings that the engine would refuse, or that no command may have; `rule` is a short stable name of the refusal.

    `source` is the file of the engine's source that shows it, which the message ends with.
    """

    def __init__(self, problem: str, *, rule: str, where: str = "", remedy: str = "", source: str = "") -> None:
        self.rule = rule
        self.source = source
        super().__init__(f"{problem} ({source})" if source else problem, where=where, remedy=remedy)


class UnsupportedArchitecture(InputError):
    """A model architecture whose memory rules are not known here, so nothing is guessed."""

    def __init__(self, architecture: str, known: Iterable[str]) -> None:
        self.architecture = architecture
        super().__init__(
            f"the memory rules of architecture '{architecture}' are not known here, so no figure is given",
            remedy=f"architectures with rules: {quoted(sorted(known))}",
        )


def did_you_mean(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Give the known names nearest to `name`, best first."""
    return get_close_matches(name, list(known), n=limit, cutoff=0.6)


def quoted(names: Iterable[str]) -> str:
    """Join names for a sentence: 'a', 'b', 'c'."""
    return ", ".join(f"'{name}'" for name in names)


def counted(number: int, noun: str) -> str:
    """Give a count and its noun: 1 problem, 2 problems."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
