"""A run of llama-server beside our figures: its log read, its settings laid over the recipe's, each term compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from generator.catalog import Catalog
from generator.errors import InputError
from generator.facts import Fact, Lock, Source
from generator.measure.printed import Printed
from generator.measure.referee import ALIGNMENT_SLACK, Check, backend_named, compute_excess, figure
from generator.measure.rungs import key_of
from generator.measure.server_log import ServerLog, read_log
from generator.memory.plan import Plan, make_plan
from generator.memory.settings import Settings, flags_of_recipe, parse_flags
from generator.planning import model_of_quant

PROGRAM = "llama-server"


@dataclass(frozen=True, slots=True)
class Run:
    """A log beside our plan of its settings. `build` is None where the log does not say it and nobody else did."""

    model: str
    card: str
    log: ServerLog
    build: str | None
    key: str
    settings: Settings
    checks: tuple[Check, ...]

    @property
    def differing(self) -> list[Check]:
        """The figures of weights, cache and state that do not agree."""
        return [check for check in self.checks if check.term != "compute" and not check.agrees]

    @property
    def exit_code(self) -> int:
        """0 where weights, cache and state agree, 3 where one does not."""
        return 3 if self.differing else 0


def read_run(catalog: Catalog, model: str, card: str, path: Path, *, flags: Sequence[str] = (), build: str | None = None) -> Run:
    """Read a log and compare it with the plan of a recipe under the log's settings; `flags` go over both.

    What a log does not say, such as -ncmoe, is the recipe's unless `flags` give it. Raises what reading log, recipe and flags raises,
    InputError for a log whose model has another number of layers.
    """
    recipe = catalog.recipe(model, card)
    log = read_log(path)
    words = flags_of_recipe({**recipe.settings, **log.as_settings()}, flags, PROGRAM)
    settings = parse_flags(words, PROGRAM)
    header = model_of_quant(catalog, model, recipe.quant)
    if log.layers is not None and log.layers not in {int(header.loaded_blocks) + 1, int(header.block_count) + 1}:
        raise InputError(
            f"the log is of a model with {log.layers - 1} blocks, '{model}' has {int(header.loaded_blocks)}",
            where=str(path),
            remedy="give the log of a run of this model",
        )
    gpus = len(log.devices) if log.devices or log.host else 1
    backend = backend_named(log.devices[0].device) if log.devices else catalog.card(card).backend
    plan = make_plan(header, settings, gpus=gpus, build=build or log.build or recipe.build, backend=backend)
    key = key_of(settings.n_cpu_moe, settings.n_ctx, settings.type_k, settings.type_v)
    return Run(model, card, log, build or log.build, key, settings, tuple(_checks(key, log, plan)))


def _checks(key: str, log: ServerLog, plan: Plan) -> Iterator[Check]:
    devices = (*plan.gpus, plan.host)
    if log.kv is not None:
        yield Check(key, "all", "cache", log.kv, sum(device.kv for device in devices))
    if log.state is not None:
        yield Check(key, "all", "state", log.state, sum(device.recurrent for device in devices))
    rows = [*zip(plan.gpus, ((row,) for row in log.devices), strict=False), *([(plan.host, log.host)] if log.host else [])]
    for device, parts in rows:
        for term, name in (("weights", "model"), ("context", "context"), ("compute", "compute")):
            printed = Printed.added(getattr(part, name) for part in parts)
            yield Check(key, device.name, term, printed, figure(device, term), ALIGNMENT_SLACK if term == "weights" else 0)


def facts_of_run(run: Run, today: date) -> list[Fact]:
    """Give what the log says as facts. Raises InputError where nobody says which build it was."""
    if run.build is None:
        raise InputError("the log does not say which build ran", where=run.log.name, remedy="give it: --build b10666")
    source = Source("", title=f"{PROGRAM} {run.build}, log of {run.key}", revision=run.build)
    rows = [[check.device, check.term, check.printed.text] for check in run.checks]

    def fact(key: str, value: object) -> Fact:
        return Fact(f"measured.server.{key}", value, origin="measured", source=source, checked=today, note="as the log prints it")

    excess = replace(fact("compute_excess", compute_excess(run.checks)), unit="B", note="beyond ours, under the same settings")
    return [fact("build", run.build), excess, fact("rung", run.key), fact("figures", rows)]


def write_run(catalog: Catalog, run: Run, today: date) -> tuple[Path, bool]:
    """Write what the log says into the recipe's own lock; give its path and whether it changed. Raises as `facts_of_run` does."""
    facts = facts_of_run(run, today)
    path = catalog.measured_path(run.model, run.card)
    old = Lock.read(path) if path.exists() else Lock("")
    lock = Lock(f"{run.model}/{run.card}", old.facts, "gen measure").updated(facts, today)
    return path, lock.write(path)
