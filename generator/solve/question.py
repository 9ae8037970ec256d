"""What is asked of the solver, opened: a model with the quants whose headers are known, a card, and what a recipe of both declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import PurePosixPath

from generator.catalog import Catalog, card_of, count_of
from generator.errors import InputError
from generator.memory.budget import Policy
from generator.memory.compute import declared_reserve
from generator.memory.host import prompt_cache_limit
from generator.memory.model import Model
from generator.memory.settings import Settings
from generator.planning import estimate_of, is_file, lacking, model_of, model_of_quant
from generator.quantity import BYTE, Quantity, parsed
from generator.solve.goals import Goal
from generator.solve.grid import MICRO_BATCHES, Grid, attention, cache_pairs, contexts, depths
from generator.solve.space import OPEN, Budget, Quant, Space, Written
from generator.specs import Card, Recipe
from generator.specs import Model as ModelSpec

WITHOUT_RECIPE: Written = {"n_parallel": 1}
"""Settings where no recipe declares any: one slot, as guides have it; all else is the engine's default."""


@dataclass(frozen=True, slots=True)
class Question:
    """A model, a card and a goal, with the space to search.

    `left_out` are quants that could not be looked at, each with the reason. `longer` are contexts up to the trained one, in tokens,
    whether or not they are searched.
    """

    model: str
    card: Card
    goal: Goal
    recipe: Recipe | None
    space: Space
    longer: tuple[int, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def ask(model: str, card: str, goal: str = Goal.FASTEST, *, n_ctx: int | None = None, ram: str | None = None) -> Question:
    """Open what is named: a model of the catalogue, a GGUF file or a Hub reference, and a card of the catalogue, or `2x-<card>` for two.

    Settings, fallbacks and budget are those of the recipe of both, where there is one. `n_ctx` fixes the context, in tokens; `ram` is the
    host's memory, such as 32GiB. Raises InputError for what cannot be used, and what opening raises.
    """
    catalog = Catalog.open()
    memory = None if ram is None else _memory(ram)
    spec, gpus = catalog.card(card_of(card)), count_of(card)
    recipe = None
    if model in catalog.models() or not _is_source(model):
        quants, left_out = _quants(catalog, catalog.model(model))
        recipe = catalog.recipe(model, card) if (model, card) in catalog.recipes() else None
    else:
        quants, left_out = [Quant("", PurePosixPath(model).name, model_of(model))], []
    chosen = Goal(goal)
    usable = usable_of(catalog, spec)
    longer = _lengths([quant.model for quant in quants], n_ctx)
    searched = longer if n_ctx is None else (n_ctx,)
    if n_ctx is None and chosen is Goal.SAFEST and recipe is not None and recipe.settings.get("n_ctx"):
        searched = (int(recipe.settings["n_ctx"]),)
    space = _space(quants, spec, recipe, searched, usable, memory, gpus)
    return Question(model, spec, chosen, recipe, space, longer, tuple(left_out))


def _is_source(model: str) -> bool:
    return is_file(model) or "/" in model or model.endswith((".gguf", ".head"))


def _memory(text: str) -> int:
    try:
        value, unit = parsed(text)
    except InputError:
        value, unit = Fraction(), BYTE
    if unit != BYTE or value <= 0:
        raise InputError(f"'{text}' is no size of memory", where="--ram", remedy="give a size with its unit, such as 32GiB")
    return int(value)


Told = list[tuple[str, str]]
"""Quants by name, each with words on it."""


def _quants(catalog: Catalog, spec: ModelSpec) -> tuple[list[Quant], Told]:
    """Give the quants whose headers or shapes are known, and the others with what is missing."""
    known: list[Quant] = []
    left_out: Told = []
    for name, quant in spec.quants.items():
        if missing := lacking(catalog, spec.name, name):
            left_out.append((name, missing))
            continue
        known.append(quant_of(catalog, spec.name, name, quant.file))
    if not known:
        raise InputError(
            f"no header of any quant of '{spec.name}' is in its lock",
            where=spec.file,
            remedy=f"run `gen lock {spec.name} --header QUANT=FILE`, or name a GGUF file in the model's place",
        )
    return known, left_out


def quant_of(catalog: Catalog, model: str, name: str, file: str = "") -> Quant:
    """Give a quant of a model as the solver takes it. Raises InputError where neither its header nor the model's shape is known."""
    estimate = estimate_of(catalog, model, name)
    return Quant(name, file, model_of_quant(catalog, model, name) if estimate is None else estimate.model, estimate)


def _lengths(models: list[Model], n_ctx: int | None) -> tuple[int, ...]:
    """Give the contexts worth a look: those that every quant was trained for. Raises InputError for one asked for beyond them."""
    trained = min(int(model.number("context_length")) for model in models)
    if n_ctx is not None and not 0 < n_ctx <= trained:
        raise InputError(
            f"a context of {n_ctx} is not among the 1 to {trained} tokens the model was trained for",
            where="--ctx",
            remedy=f"give 1 to {trained}",
        )
    return contexts(trained)


def _space(
    quants: list[Quant], card: Card, recipe: Recipe | None, searched: tuple[int, ...], usable: int, ram: int | None, gpus: int
) -> Space:
    """Give the space of a search, under a recipe's settings, fallbacks and budget where there is one."""
    build = recipe.build if recipe else None
    given = dict(recipe.settings if recipe else WITHOUT_RECIPE)
    settings = Settings.from_recipe({name: value for name, value in given.items() if name not in {*OPEN, "cpu_moe"}})
    first = quants[0].model
    flash = attention(first, settings, card.backend, build)
    settings = replace(settings, flash_attn="on" if flash == "on" else "off")
    micro_batches = tuple(size for size in MICRO_BATCHES if size <= settings.n_batch) or (settings.n_batch,)
    grid = Grid(searched, cache_pairs(first, settings, card.backend, build), micro_batches, depths(first, settings))
    policy = Policy(recipe.budget.policy) if recipe else Policy.ENGINE
    fallbacks = fallbacks_of(recipe) if recipe else {}
    budget = replace(budget_of(recipe, settings, usable, ram), gpus=gpus)
    base = {**given, "flash_attn": flash}
    return Space(quants, grid, base, budget, policy=policy, backend=card.backend, build=build, fallbacks=fallbacks)


def usable_of(catalog: Catalog, card: Card) -> int:
    """Give the bytes of a card that a run can use. Raises InputError where that is not recorded."""
    facts = catalog.known(card)
    if "card.usable" not in facts or not facts["card.usable"].known:
        raise InputError("how much of the card a run can use is not recorded", where=card.file, remedy="give it as the fact 'usable'")
    return int(facts["card.usable"].quantity())


def fallbacks_of(recipe: Recipe) -> Mapping[str, Written]:
    """Give the settings of a recipe's fallbacks by name. Raises InputError for one that leaves its depth open."""
    for index, step in enumerate(recipe.fallbacks):
        if step.settings.get("n_cpu_moe") == "auto":
            where, remedy = recipe.where(f"fallbacks[{index}]"), "leave it out: a fallback has the recipe's own depth"
            raise InputError("n_cpu_moe: auto in a fallback", where=where, remedy=remedy)
    return {step.name: step.settings for step in recipe.fallbacks}


def budget_of(recipe: Recipe | None, settings: Settings, usable: int, ram: int | None = None) -> Budget:
    """Give what a run may take: the reserve, margin and system share a recipe declares, else the engine's own reserve alone.

    A recipe's fallbacks must clear the ceiling by more than its margin, hence the byte (see `memory.ladder.shallowest`).
    """
    limit = prompt_cache_limit(settings.cache_ram)
    beside = limit or Quantity.constant(0, BYTE)
    if recipe is None:
        return Budget(usable, int(declared_reserve()), 0, ram, int(beside))
    reserve = declared_reserve() if recipe.budget.reserve is None else recipe.budget.reserve.quantity()
    beside = beside + recipe.machine.system.quantity()
    return Budget(usable, int(reserve), int(recipe.fallback_margin.quantity()) + 1, ram, int(beside), recipe.gpus)
