"""What `n_cpu_moe: auto` in a recipe comes to: the shallowest depth at which the recipe and its fallbacks fit, and why it is that.

Where the tensor table is an estimate, they fit at its upper end. It follows from the lock, the card and the recipe alone, so that every
build gives the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from generator.catalog import Catalog
from generator.config.tolerance import Experts
from generator.errors import InputError
from generator.memory.budget import Policy
from generator.memory.ladder import Caches
from generator.memory.settings import Settings
from generator.quantity import BYTE, Quantity, shown
from generator.solve.goals import Goal, Order
from generator.solve.grid import Depth, Grid, Point, depths
from generator.solve.question import budget_of, fallbacks_of, quant_of, usable_of
from generator.solve.search import best
from generator.solve.space import OPEN, Need, Run, Space
from generator.specs import Recipe


@dataclass(frozen=True, slots=True)
class Chosen:
    """A depth that was chosen, and the run that rules out one block less: the recipe's own (no name) or a fallback.

    `n_ctx` and `caches` are that run's. `compute` is its compute buffer at one block less where that, and no margin, is what rules it out.
    `above` is what the upper end of an estimate adds there; None where the tensor table is known.
    """

    n_cpu_moe: int
    run: str
    n_ctx: int
    caches: Caches
    compute: Quantity | None
    above: Quantity | None = None


def settled(catalog: Catalog, recipe: Recipe) -> tuple[Recipe, Chosen | None]:
    """Give a recipe with a depth in the place of `auto`, none for 0, and how it was chosen; a recipe that states one as it is.

    Raises InputError, with the recipe's line, where no depth fits.
    """
    if recipe.settings.get("n_cpu_moe") != "auto":
        return recipe, None
    space = _space(catalog, recipe)
    point = best(Order(space, Goal.FASTEST))
    if point is None:
        raise InputError(
            f"n_cpu_moe: auto finds no depth: even the deepest is {_shortest(space)} over{_at_upper_end(space)}",
            where=recipe.where("settings.n_cpu_moe"),
            remedy=f"lower n_ctx, take smaller cache types or another quant; `gen solve {recipe.model} {recipe.card}` searches them",
        )
    depth = space.grid.depths[point.depth].n_cpu_moe
    settings = {**recipe.settings, "n_cpu_moe": depth}
    if not depth:  # the engine's own, and a flag that does nothing is no part of a command
        del settings["n_cpu_moe"]
    return replace(recipe, settings=settings), _chosen(space, point)


def _space(catalog: Catalog, recipe: Recipe) -> Space:
    quant = quant_of(catalog, recipe.model, recipe.quant)
    model = quant.model
    settings = Settings.from_recipe({name: value for name, value in recipe.settings.items() if name != "n_cpu_moe"})
    given = settings.n_gpu_layers
    layers = given if isinstance(given, int) else int(model.block_count) + 1
    by_expert = dict.fromkeys(Depth(layers, depth.n_cpu_moe) for depth in depths(model, settings))
    grid = Grid(
        (settings.n_ctx or int(model.number("context_length")),),
        ((settings.type_k, settings.type_v),),
        (settings.n_ubatch,),
        tuple(by_expert),
    )
    card = catalog.card(recipe.card)
    return Space(
        [quant],
        grid,
        {name: value for name, value in recipe.settings.items() if name not in OPEN},
        budget_of(recipe, settings, usable_of(catalog, card)),
        policy=Policy(recipe.budget.policy),
        backend=card.backend,
        build=recipe.build,
        fallbacks=fallbacks_of(recipe),
    )


def _chosen(space: Space, point: Point) -> Chosen:
    """Give the choice with the run that stands against one block less: the one that would be over most."""
    if not point.depth:
        return Chosen(space.grid.depths[0].n_cpu_moe, "", point.n_ctx, point.caches, None)
    less = point._replace(depth=point.depth - 1)
    bound = [need for need in space.bound(less) if space.over(need) != (0, 0)]
    worst = max(bound or _over(space, less), key=lambda need: space.over(need)[0])
    run = next(run for run in space.runs if run.name == worst.name)
    n_ctx, caches, _ = run.axes(less)
    plan = space.plan(less, run) if not bound or worst.compute > space.budget.reserve + space.budget.margin else None
    compute = None if plan is None else plan.gpus[worst.worst].terms.compute
    return Chosen(space.grid.depths[point.depth].n_cpu_moe, worst.name, n_ctx, caches, compute, _above(space, less, run, worst))


def _above(space: Space, point: Point, run: Run, worst: Need) -> Quantity | None:
    """Give what the upper end of an estimate adds to the weights on a run's worst card."""
    estimate, plan = space.quants[point.quant].estimate, space.plan(point, run)
    if estimate is None or plan is None:
        return None
    weights, model = plan.gpus[worst.worst].terms.weights, estimate.model
    if space.policy is Policy.PUBLISHED:
        weights = weights + model.size_of((tensor for tensor in model.tensors if tensor.is_input), "input embedding")
    here = [each.tensor for each in plan.placement.tensors if each.device == worst.worst and each.tensor.routed_expert]
    experts = Experts(model.size_of(here, "routed experts there"), model.size_of(model.experts(), "all routed experts")) if here else None
    return estimate.tolerance.upper_end(weights, estimate.size.quantity(), experts) - weights


def _at_upper_end(space: Space) -> str:
    return " at the upper end of its estimate" if space.quants[0].estimate else ""


def _over(space: Space, point: Point) -> Iterator[Need]:
    needs = (space.need(point, run) for run in space.runs)
    return (need for need in needs if need is not None and space.over(need) != (0, 0))


def _shortest(space: Space) -> str:
    deepest = Point(0, space.grid.contexts[0], space.grid.caches[0], space.grid.micro_batches[0], len(space.grid.depths) - 1)
    missing = max(space.over(need)[0] for need in space.needs(deepest) or space.bound(deepest))
    return shown(Quantity.constant(missing, BYTE), "MiB", 0)
