"""The referee: a recipe's ladder asked of an engine, rung by rung, and what it answers beside our own figures.

No weights are needed: the engine's allocation pass reads a header and the file's length. It prints whole MiB cut off, so a figure of
ours agrees when it lies in the MiB printed; weights may be off by a tensor's alignment besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from generator.catalog import Catalog
from generator.errors import InputError
from generator.facts import Fact, Lock, Source
from generator.measure.engine import Engine, Version, ended_by_signals, one_device
from generator.measure.errors import EngineError
from generator.measure.fit_output import HOST, NoAnswer, Reading, readings_of
from generator.measure.heads import HUB, Head, head_of_file, head_of_lock, heads_of_hub, sparse_files
from generator.measure.printed import Printed
from generator.measure.rungs import PROGRAM, Rung, rungs_of
from generator.memory.plan import Device, Plan, make_plan
from generator.planning import model_of
from generator.specs import Recipe

ALIGNMENT_SLACK = 64 * 2**10
"""Bytes that tensors' alignment in a device's buffer may add up to."""

DECIDING = ("weights", "context")
"""Terms that must agree; compute is for information."""

_BACKEND = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Check:
    """One figure of the engine's beside ours, in bytes; `slack` is what they may differ by beyond the MiB printed."""

    rung: str
    device: str
    term: str
    printed: Printed
    ours: int
    slack: int = 0

    @property
    def agrees(self) -> bool:
        """Tell whether ours is what was printed."""
        return self.printed.holds(self.ours, self.slack)

    @property
    def outside(self) -> int:
        """Bytes by which ours lies outside of the MiB printed: 0 within, negative below."""
        return self.printed.difference(self.ours)

    def as_dict(self) -> dict[str, object]:
        """Give the check for JSON."""
        rows: dict[str, object] = {"rung": self.rung, "device": self.device, "term": self.term, "engine": self.printed.text}
        return rows | {"ours": self.ours, "outside_by": self.outside, "agrees": self.agrees}


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine printed of one rung, by our name of each device (gpu0, host)."""

    rung: Rung
    readings: Mapping[str, Reading]


@dataclass(frozen=True, slots=True)
class Verdict:
    """All answers of one engine, and our figures beside them.

    `device` stands for the card, `posed` when it is a server on the CPU; `header` says where the header came from; `quant` and `settings`
    are the recipe's.
    """

    model: str
    card: str
    version: Version
    pinned: str
    device: str
    posed: bool
    header: str
    quant: str
    settings: Mapping[str, object]
    answers: tuple[Answer, ...]
    checks: tuple[Check, ...]

    @property
    def differing(self) -> list[Check]:
        """The figures of weights and context that do not agree."""
        return [check for check in self.checks if check.term in DECIDING and not check.agrees]

    @property
    def exit_code(self) -> int:
        """0 where weights and context agree, 3 where one does not."""
        return 3 if self.differing else 0


def measure(catalog: Catalog, model: str, card: str, engine: Engine, *, header: str | None = None) -> Verdict:
    """Ask an engine for every rung of a recipe. Nothing is written.

    `header` is a file with the model's header, `hub` for the Hub's, None for one written from the lock. Raises EngineError, and what
    reading recipe and header raises.
    """
    recipe = catalog.recipe(model, card)
    rungs = rungs_of(recipe)
    heads = _heads(catalog, recipe, header)
    with ended_by_signals():
        version = engine.version()
        with sparse_files(heads) as path, one_device(engine, recipe.build) as device:
            ours = model_of(path)
            if ours.architecture != catalog.model(model).architecture:
                raise InputError(
                    f"the header is of architecture '{ours.architecture}', the model's is '{catalog.model(model).architecture}'",
                    where=header or "",
                    remedy=f"give the header of {catalog.model(model).quant(recipe.quant).file}",
                )
            backend = backend_named(device.name)
            build = version.rules or recipe.build
            plans = [make_plan(ours, rung.settings, gpus=1, build=build, backend=backend) for rung in rungs]
            answers = tuple(Answer(rung, _asked(engine, path, rung, device.flags, device.name)) for rung in rungs)
    checks = tuple(check for answer, plan in zip(answers, plans, strict=True) for check in checked(answer, plan))
    return Verdict(
        model=model,
        card=card,
        version=version,
        pinned=recipe.build,
        device=device.name,
        posed=device.posed,
        header=heads[0].origin,
        quant=recipe.quant,
        settings=recipe.settings,
        answers=answers,
        checks=checks,
    )


def _heads(catalog: Catalog, recipe: Recipe, header: str | None) -> list[Head]:
    model = catalog.model(recipe.model)
    quant = model.quant(recipe.quant)
    if header == HUB:
        return heads_of_hub(model.repository, quant.file)
    if header is None:
        return [head_of_lock(catalog.lock(recipe.model), quant.name, quant.file)]
    size = catalog.known(model)
    key = f"file.{quant.name.lower()}.size"
    return [head_of_file(Path(header), int(size[key].quantity()) if key in size else None)]


def backend_named(device: str) -> str:
    """Give the backend of a device by its name: cuda of CUDA0."""
    found = _BACKEND.match(device)
    return found[0].lower() if found else device


def _asked(engine: Engine, path: Path, rung: Rung, device_flags: Sequence[str], device: str) -> Mapping[str, Reading]:
    flags = (*device_flags, *rung.flags)
    text = engine.ask(path, flags)
    command = engine.question(Path(path.name), flags)
    try:
        readings = {reading.device: reading for reading in readings_of(text)}
    except NoAnswer as error:
        raise EngineError(f"what it prints for {rung.key} cannot be read: {error}", command=command) from error
    if set(readings) != {device, HOST}:
        raise EngineError(f"it answers for {', '.join(readings)}, and was asked for {device} and {HOST}", command=command)
    return {"gpu0": readings[device], "host": readings[HOST]}


def checked(answer: Answer, plan: Plan) -> Iterator[Check]:
    """Give each figure of an answer beside that of a plan."""
    for device in (*plan.gpus, plan.host):
        reading = answer.readings[device.name]
        for term in ("weights", "context", "compute"):
            printed = Printed.cut(str(getattr(reading, term)))
            slack = ALIGNMENT_SLACK if term == "weights" else 0
            yield Check(answer.rung.key, device.name, term, printed, figure(device, term), slack)


def figure(device: Device, term: str) -> int:
    """Give our figure of a term in bytes; an engine's context is cache and state together."""
    return device.kv + device.recurrent if term == "context" else int(getattr(device, term))


# --- the lock ------------------------------------------------------------------------------------

LADDER = "measured.ladder"
"""The fact with all readings: rows of rung, device, weights, context and compute, in MiB cut off."""


def facts_of(verdict: Verdict, today: date) -> list[Fact]:
    """Give what an engine said as facts, the same for the same answers and day."""
    rows = [
        [answer.rung.key, device, reading.weights, reading.context, reading.compute]
        for answer in verdict.answers
        for device, reading in answer.readings.items()
    ]
    source = Source("", title=f"{PROGRAM} {verdict.version.text}", revision=verdict.version.name)

    def fact(key: str, value: object, note: str = "", unit: str = "") -> Fact:
        return Fact(f"measured.{key}", value, unit, origin="measured", source=source, checked=today, note=note)

    asked = {"quant": verdict.quant, "settings": dict(verdict.settings)}
    words = "most bytes by which the engine's compute buffer on the device was larger than ours, over all rungs"
    return [
        fact("build", verdict.version.name),
        fact("compute_excess", compute_excess(verdict.checks), words, "B"),
        fact("device", verdict.device, "a server on the CPU that poses as a GPU" if verdict.posed else ""),
        fact("header", verdict.header),
        fact("ladder", rows, "weights, context and compute by rung and device, as printed: whole MiB, cut off", "MiB"),
        fact("posed", verdict.posed),
        fact("settings", asked, "what the recipe said when the engine was asked"),
    ]


def write_lock(catalog: Catalog, verdict: Verdict, today: date) -> tuple[Path, bool]:
    """Write what an engine said into the recipe's own lock, whole or not at all; give its path and whether it changed."""
    path = catalog.measured_path(verdict.model, verdict.card)
    old = Lock.read(path) if path.exists() else Lock("")
    lock = Lock(f"{verdict.model}/{verdict.card}", old.facts, "gen measure").updated(facts_of(verdict, today), today)
    return path, lock.write(path)


def compute_excess(checks: Iterable[Check]) -> int:
    """Give the bytes by which readings of the device's compute buffer go beyond ours at the most: what to add to an estimate elsewhere."""
    beyond = (int(check.printed.low) - check.ours for check in checks if check.term == "compute" and check.device != "host")
    return max(0, *beyond, 0)
