"""The command line: arguments in, words out. Each command is a thin call of the library.

Human text goes to stdout, progress and warnings to stderr, JSON to stdout with --json. Exit codes: 0 fine, 1 our or the
environment's failure, 2 usage or bad input, 3 drift found. Imports are made in the commands, so that `gen --help` is quick.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from generator.arguments import parser, split_flags
from generator.errors import GenError, InputError

if TYPE_CHECKING:
    from datetime import date, datetime

    from generator.catalog import Catalog
    from generator.guide.page import Page


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
    commands = parser()
    own, flags = split_flags(words)
    args = commands.parse_args(own)
    if args.command is None:
        commands.print_help()
        return 2
    args.flags = flags
    return COMMANDS[args.command](args)


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
        return catalog.pages()
    if not args.model:
        raise InputError("no model is named", remedy="name a model and a card, or give --all; `gen list recipes` shows what there is")
    if args.card:
        return [(args.model, args.card)]
    catalog.model(args.model)
    return [pair for pair in catalog.pages() if pair[0] == args.model]


def _build(args: argparse.Namespace) -> int:
    from generator.build import OutdatedPageError, outdated, write_files
    from generator.claims.state import STATE_FOLDER, State
    from generator.method import method_pages
    from generator.pages import build_page
    from generator.publish.index import settle_index

    catalog = _catalog()
    if args.all:
        catalog.check()
    site = catalog.root / "site"
    answered = State.read(catalog.root / STATE_FOLDER / "state.json") if args.dated else None
    old: list[str] = []
    rows, pages = [], []
    for model, name in _chosen(args, catalog):
        page = build_page(catalog, model, name, answered=answered)
        pages.append(page)
        _warn(page)
        if args.check:
            old += outdated(page.files, site)
            continue
        written = write_files(page.files, site)
        rows.append(_report(page, [str(path.relative_to(catalog.root)) for path in written], _today(args)))
    if args.all:
        methods = method_pages(pages, catalog.root / "templates")
        old += outdated(methods, site) if args.check else []
        if not args.check:
            write_files(methods, site)
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


def _warn(page: Page) -> None:
    for warning in page.warnings:
        print(f"gen: warning: {warning}", file=sys.stderr)


def _report(page: Page, written: list[str], now: date) -> dict[str, object]:
    headline = ["budget.total", "budget.ceiling", "budget.slack", "host.total", "settings.n_ctx"]
    stale = [{"fact": fact.key, "checked": str(fact.checked)} for fact in page.stale(now)]
    return {
        "page": f"site/{page.page}",
        "written": written,
        "numbers": {key: page.ledger[key].display for key in headline if key in page.ledger.rows},
        "verdicts": {str(each["says"]): str(each["verdict"]) for each in page.ledger.verdicts.values()},
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
    verdicts = row["verdicts"]
    assert isinstance(verdicts, dict)
    for said, word in verdicts.items():
        print(f"  {word:20s} {said}")
    stale = row["stale"]
    assert isinstance(stale, list)
    if stale:
        oldest = min(stale, key=lambda each: str(each["checked"]))
        print(f"  stale: {len(stale)} facts not checked for more than 30 days; the oldest is {oldest['fact']}, {oldest['checked']}")
    else:
        print("  stale: nothing")


def _explain(args: argparse.Namespace) -> int:
    from generator.guide.explain import explained, summary
    from generator.pages import build_page

    ledger = build_page(_catalog(), args.model, args.card).ledger
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


def _new(args: argparse.Namespace) -> int:
    from generator.new.command import Asked, new
    from generator.new.words import outcome_as_dict, outcome_as_text

    if args.source is None:
        return _new_card(args)
    if args.column:
        raise InputError(
            "--column is of a page with a card's table", remedy="leave it out, or write gen new --card ADDRESS, without a source"
        )
    asked = Asked(args.source, args.quant, tuple(dict.fromkeys(args.card)), args.name)
    outcome = new(_catalog(), asked, _today(args))
    if args.json:
        _print_json(outcome_as_dict(outcome))
    else:
        print("\n".join(outcome_as_text(outcome)))
    return 0


def _new_card(args: argparse.Namespace) -> int:
    from generator.new.card import AskedCard, made_as_dict, made_as_text, new_card
    from generator.nightly import open_live

    remedy = "gen new SOURCE [--card CARD] makes a model and its recipes, gen new --card https://… a card from the page with its table"
    if not args.card:
        raise InputError("no source is named", remedy=remedy)
    if len(args.card) > 1:
        raise InputError("no source is named, and a card is made from one page", remedy=remedy)
    if not args.card[0].startswith(("https://", "http://")):
        raise InputError(f"no source is named, and --card {args.card[0]} is no address of a page", remedy=remedy)
    if args.quant:
        raise InputError("no source is named, and a card has no --quant", remedy=remedy)
    catalog = _catalog()
    live, session = open_live(catalog.root)
    with session:
        made = new_card(catalog, live.web, AskedCard(args.card[0], args.column, args.name), _today(args))
    if args.json:
        _print_json(made_as_dict(made))
    else:
        print("\n".join(made_as_text(made)))
    return 0


def _lint(args: argparse.Namespace) -> int:
    from generator.pages import build_page

    catalog = _catalog()
    pairs = _chosen(args, catalog)
    for model, card in pairs:
        build_page(catalog, model, card)
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
    from generator.specs import SPEC_TYPES, schema, schema_text

    if args.kind is None:
        _print_json({kind: schema(kind) for kind in SPEC_TYPES})
    else:
        print(schema_text(args.kind), end="")
    return 0


def _check(args: argparse.Namespace) -> int:
    from generator.nightly import check, open_live, reported
    from generator.publish.report import as_text

    catalog = _catalog()
    pairs = _chosen(args, catalog) if args.model else catalog.pages()
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


COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = MappingProxyType(
    {
        "build": _build,
        "explain": _explain,
        "plan": _plan,
        "solve": _solve,
        "new": _new,
        "lint": _lint,
        "list": _list,
        "schema": _schema,
        "check": _check,
        "nightly": _nightly,
        "update": _update,
        "measure": _measure,
        "lock": _lock,
    }
)


if __name__ == "__main__":
    sys.exit(main())
