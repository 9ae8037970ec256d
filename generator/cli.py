"""The command line: arguments in, words out. Each command is a thin call of the library.

Human text goes to stdout, progress and warnings to stderr, JSON to stdout with --json. Exit codes: 0 fine, 1 our or the
environment's failure, 2 usage or bad input, 3 drift found. Imports are made in the commands, so that `gen --help` is quick.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from generator.errors import GenError, InputError

if TYPE_CHECKING:
    from datetime import date, datetime

    from generator.build import Guide
    from generator.catalog import Catalog

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


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are errors of ours, with the usage as the remedy."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message, remedy=self.format_usage().strip())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; give the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return _run(words)
        finally:
            sys.stdout.flush()
    except GenError as error:
        _complain(error, as_json="--json" in words)
        return error.exit_code
    except BrokenPipeError:
        _let_go_of_stdout()
        return 1
    except OSError as error:
        where = str(error.filename or "")
        problem = GenError(error.strerror or str(error), where=where, remedy="see to the file or folder and run it again")
        _complain(problem, as_json="--json" in words)
        return problem.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 1


def _run(words: list[str]) -> int:
    parser = _parser()
    own, flags = _split_plan(words)
    args = parser.parse_args(own)
    if not hasattr(args, "run"):
        parser.print_help()
        return 2
    args.flags = flags
    run: Callable[[argparse.Namespace], int] = args.run
    return run(args)


def _let_go_of_stdout() -> None:
    """Point stdout nowhere: who read it stopped reading, and the interpreter's last flush must not complain of that."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(error: GenError, *, as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(error.as_dict(), ensure_ascii=False), file=sys.stderr)
    else:
        print(f"gen: {error}", file=sys.stderr)


# --- arguments -----------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="gen", description="Guides for running a language model on a given card, derived and dated.", allow_abbrev=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    build = commands.add_parser("build", help="write the guide of a model on a card", description="Write guides below site/guides/.")
    _pair(build, optional=True)
    build.add_argument("--all", action="store_true", help="every recipe of the catalogue")
    build.add_argument("--check", action="store_true", help="write nothing; exit 3 where a committed page is not what a build writes")
    build.add_argument("--dated", action="store_true", help="for publishing: show when each source last answered, from the state folder")
    _now(build)
    _json(build)
    build.set_defaults(run=_build)

    explain = commands.add_parser(
        "explain", help="where a number of a guide comes from", description="Print a number's derivation, or the whole ledger."
    )
    _pair(explain)
    explain.add_argument("key", nargs="?", metavar="KEY", help="a number's key in the ledger, such as budget.total")
    _json(explain)
    explain.set_defaults(run=_explain)

    _add_plans(commands)

    lint = commands.add_parser("lint", help="check guides as they would be rendered", description="Render and check; write nothing.")
    _pair(lint, optional=True)
    lint.add_argument("--all", action="store_true", help="every recipe of the catalogue")
    lint.set_defaults(run=_lint)

    listing = commands.add_parser("list", help="models, cards, recipes, engines and issues of the catalogue")
    listing.add_argument("kind", nargs="?", choices=["models", "cards", "recipes", "engines", "issues"], help="only these")
    _json(listing)
    listing.set_defaults(run=_list)

    schema = commands.add_parser("schema", help="the JSON Schema of a kind of spec")
    schema.add_argument("kind", nargs="?", metavar="KIND", help="model, card, engine, recipe or issue; all when left out")
    schema.set_defaults(run=_schema)

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
    lock.set_defaults(run=_lock)
    return parser


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
    plan.add_argument("--gpus", type=int, default=1, metavar="N", help="devices beside the host (default: 1)")
    plan.add_argument("--build", metavar="BUILD", help="the engine's build, where rules differ")
    _json(plan)
    plan.set_defaults(run=_plan)

    solve = commands.add_parser(
        "solve", help="the settings that serve a goal best, and why these", description=SOLVE_HELP, formatter_class=plan.formatter_class
    )
    solve.add_argument("model", metavar="MODEL", help="a model of the catalogue, a GGUF file, or hf://owner/repository/file.gguf")
    solve.add_argument("card", metavar="CARD", help="a card of the catalogue")
    solve.add_argument("--ctx", type=int, metavar="N", help="this context in tokens (default: every power of two and half-way step)")
    solve.add_argument("--ram", metavar="SIZE", help="memory of the host, such as 32GiB (default: as much as it takes)")
    solve.add_argument("--goal", default="fastest", choices=["fastest", "longest-context", "safest"], help="default: fastest")
    _json(solve)
    solve.set_defaults(run=_solve)


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
    check.set_defaults(run=_check, all=False)

    nightly = commands.add_parser(
        "nightly",
        help="check, build, lint, and write the report and the list of changes",
        description="Everything a night does. Exit 0 nothing, 3 drift, 1 our or the environment's failure.",
    )
    _asking(nightly)
    nightly.add_argument("--report", metavar="FILE", help="write the report as Markdown here, and as JSON beside it")
    nightly.add_argument("--site-url", default="", metavar="URL", help="address of the published site, for the feed")
    _json(nightly)
    nightly.set_defaults(run=_nightly)

    update = commands.add_parser("update", help="move a model's recipes to another build of the engine")
    update.add_argument("model", metavar="MODEL")
    update.add_argument("--build", required=True, metavar="BUILD", help="the build to move to, such as b10712")
    _now(update)
    _json(update)
    update.set_defaults(run=_update)


def _add_measure(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Add the referee."""
    from generator.measure.arguments import HELP, add_arguments

    measure = commands.add_parser(
        "measure",
        help="hold our figures against an engine's own, or against recorded runs",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(measure)
    _now(measure)
    _json(measure)
    measure.set_defaults(run=_measure)


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


def _split_plan(words: list[str]) -> tuple[list[str], list[str]]:
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


# --- commands ------------------------------------------------------------------------------------


def _today(args: argparse.Namespace) -> date:
    from datetime import UTC, datetime

    return args.now or datetime.now(UTC).date()


def _catalog() -> Catalog:
    from generator.catalog import Catalog

    return Catalog.open()


def _chosen(args: argparse.Namespace, catalog: Catalog) -> list[tuple[str, str]]:
    if args.all:
        if args.model:
            raise InputError("--all and a model exclude each other", remedy="name a model and a card, or give --all alone")
        return catalog.recipes()
    if not args.model:
        raise InputError("no model is named", remedy="name a model and a card, or give --all; `gen list recipes` shows what there is")
    if args.card:
        return [(args.model, args.card)]
    catalog.model(args.model)
    return [pair for pair in catalog.recipes() if pair[0] == args.model]


def _build(args: argparse.Namespace) -> int:
    from generator.build import OutdatedPageError, build_guide, outdated, write_guide
    from generator.claims.state import STATE_FOLDER, State
    from generator.publish.index import settle_index

    catalog = _catalog()
    if args.all:
        catalog.check()
    site = catalog.root / "site"
    answered = State.read(catalog.root / STATE_FOLDER / "state.json") if args.dated else None
    old: list[str] = []
    rows = []
    for model, card in _chosen(args, catalog):
        guide = build_guide(catalog, model, card, answered=answered)
        if args.check:
            old += outdated(guide, site)
            continue
        written = write_guide(guide, site)
        rows.append(_report(guide, [str(path.relative_to(catalog.root)) for path in written], _today(args)))
    if args.all:
        old += settle_index(catalog, site, write=not args.check)
    if old:
        raise OutdatedPageError(old)
    if args.json:
        _print_json({"checked": args.check, "guides": rows})
    elif args.check:
        print("every committed page is what a build writes")
    else:
        for row in rows:
            _print_report(row)
    return 0


def _report(guide: Guide, written: list[str], now: date) -> dict[str, object]:
    headline = ["budget.total", "budget.ceiling", "budget.slack", "host.total", "settings.n_ctx"]
    stale = [{"fact": fact.key, "checked": str(fact.checked)} for fact in guide.stale(now)]
    return {
        "page": f"site/{guide.page}",
        "written": written,
        "numbers": {key: guide.ledger[key].display for key in headline if key in guide.ledger.rows},
        "stale": stale,
    }


def _print_report(row: dict[str, object]) -> None:
    print(row["page"], "" if row["written"] else "(unchanged)")
    numbers = row["numbers"]
    assert isinstance(numbers, dict)
    words = {
        "budget.total": "on the card",
        "budget.ceiling": "ceiling",
        "budget.slack": "to spare",
        "host.total": "in system memory",
        "settings.n_ctx": "context",
    }
    for key, display in numbers.items():
        print(f"  {words[key]:17s} {display}")
    stale = row["stale"]
    assert isinstance(stale, list)
    if stale:
        oldest = min(stale, key=lambda each: str(each["checked"]))
        print(f"  stale: {len(stale)} facts not checked for more than 30 days; the oldest is {oldest['fact']}, {oldest['checked']}")
    else:
        print("  stale: nothing")


def _explain(args: argparse.Namespace) -> int:
    from generator.build import build_guide
    from generator.guide.explain import explained, summary

    ledger = build_guide(_catalog(), args.model, args.card).ledger
    if args.json:
        rows = ledger.as_dict()
        if args.key:
            numbers = {row.key: row.as_dict() for row in ledger.below(args.key)}
            _print_json({"format": rows["format"], "recipe": rows["recipe"], "numbers": numbers, "claims": {}})
        else:
            print(ledger.json(), end="")
    else:
        print("\n".join(explained(ledger, args.key) if args.key else summary(ledger)))
    return 0


def _plan(args: argparse.Namespace) -> int:
    from generator.report import plan_as_dict, plan_as_text, planned

    result = planned(args.source, args.flags, card=args.card, policy=args.policy, program=args.program, gpus=args.gpus, build=args.build)
    if args.json:
        _print_json(plan_as_dict(result))
    else:
        print("\n".join(plan_as_text(result)))
    return 0


def _solve(args: argparse.Namespace) -> int:
    from generator.solve.answer import solve
    from generator.solve.question import ask
    from generator.solve.words import answer_as_dict, answer_as_text

    answer = solve(ask(args.model, args.card, args.goal, n_ctx=args.ctx, ram=args.ram))
    if args.json:
        _print_json(answer_as_dict(answer))
    else:
        print("\n".join(answer_as_text(answer)))
    return 0


def _lint(args: argparse.Namespace) -> int:
    from generator.build import build_guide

    catalog = _catalog()
    pairs = _chosen(args, catalog)
    for model, card in pairs:
        build_guide(catalog, model, card)
        print(f"{model}/{card}: clean")
    return 0


def _list(args: argparse.Namespace) -> int:
    rows = _catalog().listing(args.kind)
    if args.json:
        _print_json([row.as_dict() for row in rows])
    else:
        for row in rows:
            print(f"{row.kind:7s} {row.name:28s} {row.title}{'  ' + row.detail if row.detail else ''}")
    return 0


def _schema(args: argparse.Namespace) -> int:
    from generator.specs import SPEC_TYPES, schema

    if args.kind is None:
        _print_json({kind: schema(kind) for kind in SPEC_TYPES})
    else:
        _print_json(schema(args.kind))
    return 0


def _check(args: argparse.Namespace) -> int:
    from generator.nightly import check, open_live, reported
    from generator.publish.report import as_text

    catalog = _catalog()
    pairs = _chosen(args, catalog) if args.model else catalog.recipes()
    live, session = open_live(catalog.root)
    with session:
        report = check(catalog.root, pairs, live, now=args.now or _moment_now(), everything=args.everything, progress=_progress)
        report = report.with_spent(session.spent)
    if args.json:
        _print_json(report.as_dict())
    else:
        print("\n".join(as_text(report)))
    reported(catalog.root, report, recorded=False)
    return report.exit_code


def _nightly(args: argparse.Namespace) -> int:
    from pathlib import Path

    from generator.facts import write_whole
    from generator.nightly import nightly, open_live, reported
    from generator.publish.report import as_markdown, as_text

    catalog = _catalog()
    catalog.check()
    live, session = open_live(catalog.root)
    with session:
        now = args.now or _moment_now()
        report = nightly(catalog.root, live, now=now, base_url=args.site_url, everything=args.everything, progress=_progress)
        report = report.with_spent(session.spent)
    if args.report:
        write_whole(Path(args.report), as_markdown(report))
        write_whole(Path(args.report).with_suffix(".json"), _json_text(report.as_dict()))
    if args.json:
        _print_json(report.as_dict())
    else:
        print("\n".join(as_text(report)))
    reported(catalog.root, report, recorded=True)
    return report.exit_code


def _update(args: argparse.Namespace) -> int:
    from generator.nightly import open_live
    from generator.update import as_text, update

    catalog = _catalog()
    live, session = open_live(catalog.root)
    with session:
        result = update(catalog, args.model, args.build, live, today=_today(args))
    if args.json:
        _print_json(result.as_dict())
    else:
        print("\n".join(as_text(result)))
    return result.exit_code


def _measure(args: argparse.Namespace) -> int:
    from generator.measure.command import Asked, measured

    asked = Asked(args.model, args.card, args.engine, args.header, args.log, args.build, args.cases, args.flags)
    outcome = measured(asked)
    if args.json:
        _print_json(outcome.rows)
    else:
        print("\n".join(outcome.lines))
    if outcome.write is not None:
        path, changed = outcome.write(_today(args))
        print(path, "" if changed else "(unchanged)", file=sys.stderr if args.json else sys.stdout)
    return outcome.exit_code


def _moment_now() -> datetime:
    from datetime import UTC, datetime

    return datetime.now(UTC)


def _progress(done: int, wanted: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} of {wanted} facts", end="" if done < wanted else "\n", file=sys.stderr, flush=True)


def _lock(args: argparse.Namespace) -> int:
    from generator.locking import lock_model

    catalog = _catalog()
    headers = {}
    for word in args.header:
        quant, equals, path = word.partition("=")
        if not equals or not path:
            raise InputError(f"'{word}' is not QUANT=FILE", remedy="as in --header Q4_K_M=model.gguf")
        headers[quant] = path
    path, changed = lock_model(catalog, args.model, headers, origin=args.origin, note=args.note, today=_today(args))
    print(path, "" if changed else "(unchanged)")
    return 0


def _print_json(value: object) -> None:
    print(_json_text(value), end="")


def _json_text(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main())
