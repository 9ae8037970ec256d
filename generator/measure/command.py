"""What `gen measure` does with its words: cases, a log, or an engine, each to an outcome that can be printed and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

from generator.catalog import Catalog
from generator.errors import InputError
from generator.measure.agreement import compare_folder
from generator.measure.agreement_report import agreement_as_dict, agreement_as_text
from generator.measure.engine import find_engine
from generator.measure.referee import measure, write_lock
from generator.measure.report import run_as_dict, run_as_text, verdict_as_dict, verdict_as_text
from generator.measure.server import read_run, write_run


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: `rows` for JSON, `lines` for a terminal, the exit code, and how to write it into a lock where it belongs in one."""

    rows: dict[str, object]
    lines: Iterable[str]
    exit_code: int
    write: Callable[[date], tuple[Path, bool]] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The words of the command; `flags` are those after `--`."""

    model: str | None = None
    card: str | None = None
    engine: str | None = None
    header: str | None = None
    log: str | None = None
    build: str | None = None
    cases: str | None = None
    flags: Sequence[str] = ()


def measured(asked: Asked) -> Outcome:
    """Do what the words ask for. Raises InputError for words that do not go together, and what asking and reading raise."""
    if asked.cases is not None:
        _alone(asked)
        found = compare_folder(Path(asked.cases))
        return Outcome(agreement_as_dict(found), agreement_as_text(found), found.exit_code)
    if not asked.model or not asked.card:
        raise InputError("no recipe is named", remedy="gen measure MODEL CARD; `gen list recipes` shows what there is")
    catalog = Catalog.open()
    if asked.log is not None:
        if asked.engine or asked.header:
            raise InputError("--log stands in place of an engine", remedy="leave out --engine and --header")
        run = read_run(catalog, asked.model, asked.card, Path(asked.log), flags=asked.flags, build=asked.build)
        return Outcome(run_as_dict(run), run_as_text(run), run.exit_code, partial(write_run, catalog, run))
    if asked.flags or asked.build:
        raise InputError("flags and --build belong to a log", remedy="give --log FILE, or leave them out: the recipe's own ladder is asked")
    engine = find_engine(asked.engine, catalog.recipe(asked.model, asked.card).build)
    verdict = measure(catalog, asked.model, asked.card, engine, header=asked.header)
    return Outcome(verdict_as_dict(verdict), verdict_as_text(verdict), verdict.exit_code, partial(write_lock, catalog, verdict))


def _alone(asked: Asked) -> None:
    if asked.model or asked.engine or asked.header or asked.log or asked.build or asked.flags:
        raise InputError("--cases stands alone", remedy="gen measure --cases FOLDER [--json]")
