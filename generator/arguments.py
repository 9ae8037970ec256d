"""The arguments of the command line: what each command takes, and which words are the engine's own flags."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn

from generator.errors import InputError

if TYPE_CHECKING:
    from datetime import date, datetime

PLAN_HELP = """
All else is flags of llama.cpp. They go over a recipe's settings; a whole command line, with a program or -m, replaces them:

  gen plan apodex-mini/rtx-5070 -ncmoe 24
  gen plan model.gguf -ngl 99 -c 32768 -fa on -ctk q8_0 -ctv q8_0
  gen plan hf://owner/repository/file.gguf --card rtx-5070 llama-server -c 0 -np 4
"""

SOLVE_HELP = """
Search every quant with a known header, context, pair of cache types, micro-batch and depth of offload for what fits and is best:

  fastest          fewest bytes read from the host for a token, then from the card, larger micro-batch, better caches, longer context
  longest-context  longest context, then as fastest
  safest           most room left (up to 1 GiB beside the reserve), better caches, then as fastest; at a recipe's context if it has one

A recipe of the two brings its settings, budget and fallbacks, which must fit too. That nothing fits is an answer as well.
"""

NEW_HELP = """
Write what a guide is built from: a model's spec and lock, and a recipe for each card with settings that the solver found.

  gen new owner/repository-GGUF --card rtx-5070
  gen new hf://owner/repository/file.gguf --card rtx-3090 --card rtx-4090
  gen new model-Q4_K_M.gguf --name my-model
  gen new apodex-mini --card rtx-3060-12gb
  gen new --card https://vendor.example/specifications --column "RTX 5070"

A model of the catalogue gets recipes only. An address of a page with a card's table, and no source, makes that card's file.

Without --quant a card gets the largest file that takes at most three quarters of what a run can use of it; where that would be less than
Q4_K_M, or what comes nearest to that, it gets that one. Nothing is written over.
"""

MEASURE_HELP = """
Ask a built engine what it would allocate for a recipe, and write its figures into the lock beside ours. No weights are needed: its
allocation pass reads a header and the file's length.

  gen measure apodex-mini rtx-5070 --engine build/bin
  gen measure apodex-mini rtx-5070 --log server.log --build b10666
  gen measure apodex-mini rtx-5070 --log server.log -- -ncmoe 24
  gen measure --cases FOLDER

Exit 0 when weights and context agree (with --cases: cache and state of every complete case), 3 when not.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are errors of ours, with the usage as the remedy."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message, remedy=self.format_usage().strip())


def parser() -> argparse.ArgumentParser:
    """Give the parser of all commands; what it gives names the `command`, None where none was."""
    made = _Parser(prog="gen", description="Guides for running a language model on a given card, derived and dated.", allow_abbrev=False)
    commands = made.add_subparsers(title="commands", dest="command", metavar="COMMAND", parser_class=_Parser)

    build = commands.add_parser("build", help="write the guide of a model on a card", description="Write guides below site/guides/.")
    _pair(build, optional=True)
    build.add_argument("--all", action="store_true", help="every recipe of the catalogue")
    build.add_argument("--check", action="store_true", help="write nothing; exit 3 where a committed page is not what a build writes")
    build.add_argument("--dated", action="store_true", help="for publishing: show when each source last answered, from the state folder")
    _now(build)
    _json(build)

    explain = commands.add_parser(
        "explain", help="where a number of a guide comes from", description="Print a number's derivation, or the whole ledger."
    )
    _pair(explain)
    explain.add_argument("key", nargs="?", metavar="KEY", help="a number's key in the ledger, such as budget.total")
    _json(explain)

    _add_plans(commands)

    lint = commands.add_parser("lint", help="check guides as they would be rendered", description="Render and check; write nothing.")
    _pair(lint, optional=True)
    lint.add_argument("--all", action="store_true", help="every recipe of the catalogue")

    listing = commands.add_parser("list", help="models, cards, recipes, checks, engines and issues of the catalogue")
    listing.add_argument("kind", nargs="?", choices=["models", "cards", "recipes", "checks", "engines", "issues"], help="only these")
    _json(listing)

    schema = commands.add_parser("schema", help="the JSON Schema of a kind of spec")
    schema.add_argument("kind", nargs="?", metavar="KIND", help="model, card, engine, recipe, issue or check; all when left out")

    _add_new(commands)
    _add_live(commands)
    _add_measure(commands)

    lock = commands.add_parser("lock", help="write a model's lock from its spec and headers")
    lock.add_argument("model", metavar="MODEL")
    lock.add_argument("--header", action="append", default=[], metavar="QUANT=FILE", help="read the header of a quant from this file")
    lock.add_argument(
        "--origin", choices=["header", "reconstructed"], default="header", help="what kind of header that is (default: header)"
    )
    lock.add_argument("--note", default="", help="what a reader must know of it")
    _now(lock)
    return made


def _add_plans(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Add the commands that plan a run: one for given settings, one for the best."""
    plan = commands.add_parser(
        "plan",
        help="what a model takes on each device, under llama.cpp's own flags",
        description="Print the budget of each device and the ladder." + PLAN_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    plan.add_argument("source", nargs="?", metavar="SOURCE", help="MODEL/CARD of a recipe, a GGUF file, or hf://owner/repository/file.gguf")
    plan.add_argument("--card", help="a card of the catalogue to hold the plan against")
    plan.add_argument(
        "--policy", choices=["engine", "published"], help="where the input embedding counts (default: a recipe's own, else engine)"
    )
    plan.add_argument("--program", default="llama-server", help="the program that would run it (default: llama-server)")
    plan.add_argument("--gpus", type=int, metavar="N", help="devices beside the host (default: a recipe's own, else 1)")
    plan.add_argument("--build", metavar="BUILD", help="the engine's build, where rules differ")
    _json(plan)

    solve = commands.add_parser(
        "solve", help="the settings that serve a goal best, and why these", description=SOLVE_HELP, formatter_class=plan.formatter_class
    )
    solve.add_argument("model", metavar="MODEL", help="a model of the catalogue, a GGUF file, or hf://owner/repository/file.gguf")
    solve.add_argument("card", metavar="CARD", help="a card of the catalogue, or 2x-CARD for two of them")
    solve.add_argument("--ctx", type=int, metavar="N", help="this context in tokens (default: every power of two and half-way step)")
    solve.add_argument("--ram", metavar="SIZE", help="memory of the host, such as 32GiB (default: as much as it takes)")
    solve.add_argument("--goal", default="fastest", choices=["fastest", "longest-context", "safest"], help="default: fastest")
    _json(solve)


def _add_new(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Add the command that starts a model."""
    new = commands.add_parser(
        "new",
        help="a model's spec, lock and recipes from a repository of the Hub or a GGUF file",
        description=NEW_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    new.add_argument(
        "source", nargs="?", metavar="SOURCE", help="owner/repository or hf://owner/repository/file.gguf, a GGUF file, or MODEL"
    )
    new.add_argument("--quant", default="", metavar="QUANT", help="the quant of the recipes (default: one that suits each card)")
    new.add_argument(
        "--card",
        action="append",
        default=[],
        metavar="CARD",
        help="write a recipe for it; can be repeated; an ADDRESS without a source: its file",
    )
    new.add_argument("--column", default="", metavar="TEXT", help="of a page's table, the column of the card")
    new.add_argument("--name", default="", metavar="NAME", help="what the model or the card is to be called (default: after its title)")
    _now(new)
    _json(new)


def _add_live(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Add the commands that ask sources."""
    check = commands.add_parser(
        "check",
        help="ask every source that is due again, and say what drifted",
        description="Ask again, write state and locks; pages are left to `gen build`. Exit 0 nothing, 3 drift, 1 could not.",
    )
    _pair(check, optional=True)
    _asking(check)
    _json(check)
    check.set_defaults(all=False)

    nightly = commands.add_parser(
        "nightly",
        help="check, build, lint, and write the report and the list of changes",
        description="Everything a night does. Exit 0 nothing, 3 drift, 1 our or the environment's failure.",
    )
    _asking(nightly)
    nightly.add_argument("--report", metavar="FILE", help="write the report as Markdown here, and as JSON beside it")
    nightly.add_argument("--site-url", default="", metavar="URL", help="address of the published site, for the feed")
    _json(nightly)

    update = commands.add_parser("update", help="move a model's recipes to another build of the engine")
    update.add_argument("model", metavar="MODEL")
    update.add_argument("--build", required=True, metavar="BUILD", help="the build to move to, such as b10712")
    _now(update)
    _json(update)


def _add_measure(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Add the referee."""
    measure = commands.add_parser(
        "measure",
        help="hold our figures against an engine's own, or against recorded runs",
        description=MEASURE_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _pair(measure, optional=True)
    measure.add_argument("--engine", metavar="PATH", help="folder with llama-fit-params, or the program itself (default: on the PATH)")
    measure.add_argument(
        "--header", metavar="FILE", help="the model's header: a GGUF file or its head, or 'hub' to read it there (default: from the lock)"
    )
    measure.add_argument("--log", metavar="FILE", help="read a llama-server's log instead of asking an engine")
    measure.add_argument("--build", metavar="BUILD", help="the build that wrote the log, where it does not say")
    measure.add_argument("--cases", metavar="FOLDER", help="compare our arithmetic with recorded runs instead")
    _now(measure)
    _json(measure)


def _pair(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    nargs = "?" if optional else None
    parser.add_argument("model", nargs=nargs, metavar="MODEL", help="a model of the catalogue")
    parser.add_argument("card", nargs=nargs, metavar="CARD", help="a card of the catalogue")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _asking(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--everything", action="store_true", help="ask what is not due too")
    parser.add_argument("--now", type=_moment, metavar="TIME", help="take this ISO date or time (UTC) for now")


def _moment(text: str) -> datetime:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no ISO date or time, such as 2026-08-31T03:00") from error
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _now(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--now", type=_date, metavar="DATE", help="take this ISO date for today")


def _date(text: str) -> date:
    from datetime import date

    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no ISO date, such as 2026-08-31") from error


OWN_PLAN_OPTIONS = {"--card": 1, "--policy": 1, "--program": 1, "--gpus": 1, "--build": 1, "--json": 0, "--help": 0, "-h": 0}


def split_flags(words: list[str]) -> tuple[list[str], list[str]]:
    """Give a `plan` command's own words and the engine's flags; of `measure` those after --; of another, all its words and nothing."""
    if words and words[0] == "measure" and "--" in words:
        place = words.index("--")
        return words[:place], words[place + 1 :]
    if not words or words[0] != "plan":
        return words, []
    own, flags, source = ["plan"], list[str](), list[str]()
    rest = words[1:]
    while rest:
        word = rest.pop(0)
        name = word.partition("=")[0]
        if word == "--":
            flags += rest
            break
        if name in OWN_PLAN_OPTIONS:
            own.append(word)
            if OWN_PLAN_OPTIONS[name] and "=" not in word and rest:
                own.append(rest.pop(0))
        elif not source and not flags and not word.startswith("-"):
            source.append(word)
        else:
            flags.append(word)
    return own + source, flags
