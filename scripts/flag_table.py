r"""Write generator/memory/flag_table.py from what an engine says of itself with --help.

    python -m scripts.flag_table --engine "llama.cpp as vendored by llama-cpp-python 0.3.36" --checked 2026-11-30 \
        llama-server=build/bin/llama-server llama-fit-params=build/bin/llama-fit-params llama-cli=llama-cli.help

Each PROGRAM=PATH is a program, or a text file holding its --help. The first must be a program: it is asked for its version.
Kept are names, how many values follow, closed lists of values, defaults and environment variables; no help text.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from generator.facts import write_whole

TARGET = Path(__file__).resolve().parent.parent / "generator" / "memory" / "flag_table.py"

HEAD_WIDTH = 40
"""Column at which the help text starts (common/arg.cpp, common_arg::to_string)."""

TEMPLATE = '''# ruff: noqa: E501
"""The flags of llama.cpp's programs. Written by scripts/flag_table.py from the engine's own --help; not edited by hand.

One flag a line: names | negated names | values that follow | allowed values | default | environment | replaced by | programs.
A flag with replacements is one the engine still knows and refuses. Programs: `all`, or a list.
"""

ENGINE = "{engine}"
VERSION = "{version}"
CHECKED = "{checked}"
PROGRAMS = ({programs})

ROWS = r"""
{rows}
"""
'''


@dataclass(frozen=True, slots=True)
class Entry:
    """One flag as one program's help shows it."""

    names: tuple[str, ...]
    negated: tuple[str, ...]
    values: int
    choices: tuple[str, ...]
    default: str
    env: str
    replaced_by: tuple[str, ...]

    def row(self, programs: str) -> str:
        """Give the flag's line of the table."""
        cells = (self.names, self.negated, str(self.values), self.choices, self.default, self.env, self.replaced_by, programs)
        row = " | ".join(cell if isinstance(cell, str) else " ".join(cell) for cell in cells)
        return re.sub(r" +", " ", row)


def main() -> int:
    """Ask each program, merge what they say, write the table and say how many flags it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", required=True, help="where the programs come from")
    parser.add_argument("--checked", required=True, help="the day, as 2026-11-30")
    parser.add_argument("programs", nargs="+", metavar="PROGRAM=PATH")
    given = parser.parse_args()
    paths = dict(item.split("=", 1) for item in given.programs)
    programs: dict[Entry, list[str]] = {}
    for program, path in paths.items():
        found = list(entries(said(path, "--help")))
        if not found:
            print(f"{path}: no flags in its help", file=sys.stderr)
            return 1
        for entry in found:
            programs.setdefault(entry, []).append(program)
    rows = [entry.row("all" if len(users) == len(paths) else " ".join(users)) for entry, users in programs.items()]
    version = said(next(iter(paths.values())), "--version").splitlines()[0].removeprefix("version: ")
    quoted = ", ".join(f'"{program}"' for program in paths)
    text = TEMPLATE.format(engine=given.engine, version=version, checked=given.checked, programs=quoted, rows="\n".join(rows))
    changed = write_whole(TARGET, text)
    print(f"{TARGET.name}: {len(rows)} flags of {len(paths)} programs{'' if changed else ', unchanged'}")
    return 0


def said(path: str, flag: str) -> str:
    """Give what a program prints for `flag`, or the text of a file that holds it."""
    if not os.access(path, os.X_OK):
        return Path(path).read_text("utf-8")
    asked = subprocess.run([path, flag], capture_output=True, text=True, check=True)
    return asked.stdout or asked.stderr


def entries(text: str) -> Iterator[Entry]:
    """Give the flags of one --help, in its order."""
    head, told = "", [""]
    for line in [*text.splitlines(), "-"]:
        if not line.startswith("-"):
            told.append(line[HEAD_WIDTH:])
            continue
        if head:
            yield entry_of(head, told)
        head, told = ("", [""]) if line.startswith("-----") else divided(line)


def divided(line: str) -> tuple[str, list[str]]:
    """Split a flag's first line into names with value hint, and the help that begins beside them."""
    if line[HEAD_WIDTH - 3 : HEAD_WIDTH] == "   ":
        return line[:HEAD_WIDTH].rstrip(), [line[HEAD_WIDTH:]]
    return line.rstrip(), [""]


def entry_of(head: str, told: list[str]) -> Entry:
    """Read a flag from its head (`-c, --ctx-size N`) and the lines of its help."""
    named = re.match(r"(?:-[\w.-]+,\s*)*-[\w.-]+", head)
    assert named, f"no flag name in {head!r}"
    names, hint = re.split(r",\s*", named[0]), head[named.end() :].strip()
    told_whole = " ".join(line.strip() for line in told)
    positive, negated = (names, []) if hint else signs(names)
    default = default_of(told_whole)
    env = re.search(r"\(env: (\w+)\)", told_whole)
    removed = "argument has been removed" in told_whole
    return Entry(
        names=tuple(positive),
        negated=tuple(negated),
        values=(2 if re.fullmatch(r"[A-Z]+ [A-Z]+", hint) else 1) if hint else 0,
        choices=choices_of(hint, told, default),
        default=default,
        env=env[1] if env else "",
        replaced_by=tuple(re.findall(r"--[\w*-]+", told_whole)) if removed else (),
    )


def signs(names: list[str]) -> tuple[list[str], list[str]]:
    """Tell a switch's names from those that negate it: the help lists these last, from the first after the last plain long name."""
    plain = [place for place, name in enumerate(names) if name.startswith("--") and not name.startswith("--no-")]
    if not plain or not any(name.startswith("--no-") for name in names):
        return names, []
    return names[: plain[-1] + 1], names[plain[-1] + 1 :]


def default_of(told: str) -> str:
    """Give a default that is one word, with no more than an explanation of values after it."""
    found = re.search(r"default: '?([^\s,;)'\"]+)'?(?:\)|$| \(|[,;] -?\d)", told) or re.search(r"- (\w+) \(default\)", told)
    return found[1] if found else ""


def choices_of(hint: str, told: list[str], default: str) -> tuple[str, ...]:
    """Give the closed list of values: from the hint, an "allowed values" line, or bullets that include the default."""
    if listed := re.fullmatch(r"\{([\w, -]+)\}|\[([\w|]+)\]|([a-z0-9-]+(?:,[a-z0-9-]+)+)", hint):
        return tuple(re.split(r"[,|]\s*", next(group for group in listed.groups() if group)))
    for line in told:
        if line.startswith("allowed values: "):
            return tuple(line.removeprefix("allowed values: ").split(", "))
    bullets = tuple(bullet[1] for line in told if (bullet := re.match(r"- ([\w+-]+): ", line)))
    return bullets if default in bullets else ()


if __name__ == "__main__":
    sys.exit(main())
