"""The space of a search: every point of the grid for a model's quants on a card, and what each of them needs.

A point *fits* where its own settings and those of every fallback leave the margin under the ceiling, hold their compute buffer in what
is usable of the card, and leave the host what it must have. `bound` says so far as arithmetic without a graph goes; `needs` has the
engine's own graph made (see `memory.graph`), once for each of the settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from generator.errors import RefusedSettings
from generator.memory.budget import Policy
from generator.memory.host import host_need
from generator.memory.ladder import Caches
from generator.memory.model import Model
from generator.memory.plan import Plan, make_plan
from generator.memory.settings import Settings
from generator.solve.footprint import Footprint, Share, shares_of
from generator.solve.grid import Depth, Grid, Point

Written = Mapping[str, object]
"""Settings as a recipe writes them."""

OPEN = ("n_gpu_layers", "n_cpu_moe", "n_ctx", "type_k", "type_v", "n_ubatch")
"""Settings that a point decides."""


@dataclass(frozen=True, slots=True)
class Quant:
    """A quant of the model whose header is known; `file` is the name of its file."""

    name: str
    file: str
    model: Model


@dataclass(frozen=True, slots=True)
class Budget:
    """What there is, in bytes: `usable` of the card, `reserve` of it for working buffers, and `margin` to stay below the ceiling between.

    `ram` is the host's memory, None where it does not matter; `beside` what the host needs beside a plan: the prompt cache at its
    limit, and the system's share where that is known.
    """

    usable: int
    reserve: int
    margin: int = 0
    ram: int | None = None
    beside: int = 0


@dataclass(frozen=True, slots=True)
class Need:
    """What one run needs: `held` bytes of weights, caches and states on the card, `compute` there, `host` in all; `name` says which run.

    Before the graph was made, `compute` and `host` are lower bounds. `without_graph` marks a model no graph is known of.
    """

    name: str
    held: int
    compute: int
    host: int
    without_graph: bool = False

    def card(self, budget: Budget) -> int:
        """Give the bytes that must be usable on the card: the larger of what the budget reserves and what the graph takes, on top."""
        return self.held + max(budget.reserve + budget.margin, self.compute)


@dataclass(slots=True)
class Run:
    """A run that must fit: the settings themselves (an empty name), or a fallback's laid over them."""

    name: str
    over: Written
    footprints: list[Footprint] = field(default_factory=list)

    def axes(self, point: Point) -> tuple[int, Caches, int]:
        """Give a point's context, cache types and micro-batch with the run's own over them."""
        caches = (str(self.over.get("type_k", point.caches[0])), str(self.over.get("type_v", point.caches[1])))
        return _whole(self.over.get("n_ctx", point.n_ctx)), caches, _whole(self.over.get("n_ubatch", point.n_ubatch))

    def depth(self, depth: Depth) -> Depth:
        """Give a depth with the run's own over it."""
        layers, blocks = self.over.get("n_gpu_layers", depth.n_gpu_layers), self.over.get("n_cpu_moe", depth.n_cpu_moe)
        return Depth(layers if isinstance(layers, int) else depth.n_gpu_layers, _whole(blocks))


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


@dataclass(frozen=True, slots=True)
class Columns:
    """What a run needs at the least at each depth: bytes held on the card, of compute there, of both with the reserve, on the host."""

    held: list[int]
    compute: list[int]
    card: list[int]
    host: list[int]


class Space:
    """The points of a grid for some quants, and what each needs under a budget.

    `sizes` are the bytes of each quant's tensors: among quants of one model, the larger is the more precise.
    """

    def __init__(
        self,
        quants: Sequence[Quant],
        grid: Grid,
        base: Written,
        budget: Budget,
        *,
        policy: Policy,
        backend: str,
        build: str | None = None,
        fallbacks: Mapping[str, Written] | None = None,
    ) -> None:
        self.quants, self.grid, self.budget, self.policy = tuple(quants), grid, budget, policy
        self.backend, self.build = backend, build
        self.sizes = tuple(sum(int(tensor.size) for tensor in quant.model.tensors) for quant in self.quants)
        self.base = {name: value for name, value in base.items() if name not in {*OPEN, "cpu_moe"}}
        self.runs = [Run("", {}), *(Run(name, over) for name, over in (fallbacks or {}).items())]
        shares: dict[object, list[Share]] = {}
        for run in self.runs:
            settings = Settings.from_recipe({**self.base, **{name: run.over[name] for name in run.over if name not in OPEN}})
            depths = tuple(run.depth(depth) for depth in grid.depths)
            for place, quant in enumerate(self.quants):
                key = (place, depths, settings.overrides, settings.loads_draft_head)
                if key not in shares:
                    shares[key] = shares_of(quant.model, settings, depths, backend)
                run.footprints.append(Footprint(quant.model, settings, shares[key], build, policy))
        self._reads = [footprint.reads() for footprint in self.runs[0].footprints]
        self._plans: dict[tuple[int, str], Plan | None] = {}
        self._columns: dict[tuple[str, int, int, Caches, int], Columns] = {}

    # a point

    def written(self, point: Point, run: Run | None = None) -> dict[str, object]:
        """Give a point's settings as a recipe would have them, with a fallback's over them."""
        depth = self.grid.depths[point.depth]
        layers = self.quants[point.quant].model.block_count
        chosen: dict[str, object] = {
            "n_gpu_layers": "all" if depth.n_gpu_layers > int(layers) else depth.n_gpu_layers,
            "n_cpu_moe": depth.n_cpu_moe or None,
            "n_ctx": point.n_ctx,
            "type_k": point.caches[0],
            "type_v": point.caches[1],
            "n_ubatch": point.n_ubatch,
        }
        settings = {**self.base, **chosen, **(run.over if run else {})}
        return {name: value for name, value in settings.items() if value is not None}

    def reads(self, point: Point) -> tuple[Fraction, Fraction]:
        """Give the bytes a token reads on the host and on the card, with empty caches."""
        return self._reads[point.quant][point.depth]

    def plan(self, point: Point, run: Run | None = None) -> Plan | None:
        """Give the plan of a point under one of the runs; None where the engine refuses it."""
        written = self.written(point, run)
        key = (point.quant, repr(sorted(written.items())))
        if key not in self._plans:
            try:
                model = self.quants[point.quant].model
                self._plans[key] = make_plan(model, Settings.from_recipe(written), build=self.build, backend=self.backend)
            except RefusedSettings:
                self._plans[key] = None
        return self._plans[key]

    @property
    def graphs(self) -> int:
        """How many plans were made so far."""
        return len(self._plans)

    # what it needs

    def columns(self, point: Point, run: Run) -> Columns:
        """Give what the run needs at the least at each depth of the grid, the point's other axes as they are."""
        axes = run.axes(point)
        key = (run.name, point.quant, *axes)
        if key not in self._columns:
            footprint, (n_ctx, _, n_ubatch) = run.footprints[point.quant], axes
            held = footprint.card(*axes)
            least, on_host = footprint.least_compute(n_ctx, n_ubatch)
            floor = self.budget.reserve + self.budget.margin
            card = [size + max(floor, compute) for size, compute in zip(held, least, strict=True)]
            self._columns[key] = Columns(held, least, card, [size + on_host for size in footprint.host(*axes)])
        return self._columns[key]

    def bound(self, point: Point) -> list[Need]:
        """Give what each run needs at the least: everything but the graph."""
        return [self._bound(point, run) for run in self.runs]

    def _bound(self, point: Point, run: Run) -> Need:
        columns, depth = self.columns(point, run), point.depth
        return Need(run.name, columns.held[depth], columns.compute[depth], columns.host[depth])

    def need(self, point: Point, run: Run) -> Need | None:
        """Give what one run needs, graph and all; None where the engine refuses it."""
        found = self.buffers(point, run)
        if found is None:
            return None
        least, (compute, host, without_graph) = self._bound(point, run), found
        return Need(run.name, least.held, max(compute, least.compute), max(host, least.host), without_graph)

    def buffers(self, point: Point, run: Run) -> tuple[int, int, bool] | None:
        """Give the bytes of a run's compute buffers on the card, of all it takes of the host, and whether no graph is known.

        A draft head has buffers of its own. None where the engine refuses the run.
        """
        plan = self.plan(point, run)
        if plan is None:
            return None
        drafting = int(plan.draft.buffers[0].size) if plan.draft is not None and plan.draft.buffers else 0
        return plan.gpus[0].compute + drafting, int(host_need(plan).least), plan.unknown_graph is not None

    def needs(self, point: Point) -> list[Need] | None:
        """Give what each run needs, graph and all; None where the engine refuses one of them."""
        found = [self.need(point, run) for run in self.runs]
        return None if None in found else [need for need in found if need is not None]

    def fits(self, point: Point) -> bool:
        """Tell whether all runs fit; the one that is nearest to not fitting is asked first, for one that does not is enough."""
        bounds = sorted(((need.card(self.budget), place) for place, need in enumerate(self.bound(point))), reverse=True)
        for _, place in bounds:
            need = self.need(point, self.runs[place])
            if need is None or self.over(need) != (0, 0):
                return False
        return True

    def host(self, need: Need) -> int:
        """Give the bytes of host memory a run comes to with what stands beside it."""
        return need.host + self.budget.beside

    def over(self, need: Need) -> tuple[int, int]:
        """Give the bytes by which a run is over on the card and on the host, 0 where it is not."""
        card = max(need.card(self.budget) - self.budget.usable, 0)
        host = max(self.host(need) - self.budget.ram, 0) if self.budget.ram is not None else 0
        return card, host

    def slack(self, need: Need) -> int:
        """Give what a run leaves free on the card beside the reserve, or beside a larger compute buffer; negative where it is over."""
        return self.budget.usable - need.held - max(self.budget.reserve, need.compute)
