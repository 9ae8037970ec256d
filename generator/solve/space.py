"""The space of a search: every point of the grid for a model's quants on a card, and what each of them needs.

A point *fits* where its own settings and those of every fallback leave the margin under the ceiling, hold their compute buffer in what
is usable of the card, and leave the host what it must have. `bound` says so far as arithmetic without a graph goes; `needs` has the
engine's own graph made (see `memory.graph`), once for each of the settings. Weights of an estimate count at its upper end in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from generator.config.estimate import Estimate
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
    """A quant of the model and the name of its file; `estimate` where its header is not known, and `model` is made from its shape."""

    name: str
    file: str
    model: Model
    estimate: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What there is, in bytes: `usable` of a card, `reserve` of it for working buffers, and `margin` to stay below the ceiling between.

    Of `gpus` equal cards each has as much. `ram` is the host's memory, None where it does not matter; `beside` what the host needs
    beside a plan: the prompt cache at its limit, and the system's share where that is known.
    """

    usable: int
    reserve: int
    margin: int = 0
    ram: int | None = None
    beside: int = 0
    gpus: int = 1


class OnCard(NamedTuple):
    """What one run needs on one card: `held` bytes of weights, caches and states, `compute` of buffers."""

    held: int
    compute: int

    def usable(self, budget: Budget) -> int:
        """Give the bytes that must be usable: the larger of what the budget reserves and what the graph takes, on top."""
        return self.held + max(budget.reserve + budget.margin, self.compute)


@dataclass(frozen=True, slots=True)
class Need:
    """What one run needs on each of the cards and of the host, in bytes; `name` says which run.

    `held` and `compute` are those of `worst`, the card that must have most. Before the graph was made, `compute` and `host` are lower
    bounds. `without_graph` marks a model no graph is known of.
    """

    name: str
    cards: tuple[OnCard, ...]
    worst: int
    host: int
    without_graph: bool = False

    @property
    def held(self) -> int:
        """Bytes of weights, caches and states on the card that must have most."""
        return self.cards[self.worst].held

    @property
    def compute(self) -> int:
        """Bytes of compute buffers there."""
        return self.cards[self.worst].compute

    def card(self, budget: Budget) -> int:
        """Give the bytes that must be usable on every card."""
        return self.cards[self.worst].usable(budget)


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
    """What a run needs at the least at each depth: on each card, and in bytes on the worst of them with the reserve, and on the host."""

    cards: list[tuple[OnCard, ...]]
    worst: list[int]
    card: list[int]
    host: list[int]

    @property
    def held(self) -> list[int]:
        """Bytes held on the worst card at each depth."""
        return [cards[worst].held for cards, worst in zip(self.cards, self.worst, strict=True)]


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
                key = (place, depths, settings.overrides, settings.loads_draft_head, settings.tensor_split, settings.devices)
                if key not in shares:
                    shares[key] = shares_of(quant.model, settings, depths, backend, budget.gpus)
                run.footprints.append(Footprint(quant.model, settings, shares[key], build, policy, quant.estimate))
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
                settings = Settings.from_recipe(written)
                self._plans[key] = make_plan(model, settings, gpus=self.budget.gpus, build=self.build, backend=self.backend)
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
            least, on_host = footprint.least_compute(n_ctx, n_ubatch)
            pairs = zip(footprint.cards(*axes), least, strict=True)
            cards = [tuple(OnCard(*each) for each in zip(held, compute, strict=True)) for held, compute in pairs]
            worst = [self._worst(each) for each in cards]
            card = [each[at].usable(self.budget) for each, at in zip(cards, worst, strict=True)]
            self._columns[key] = Columns(cards, worst, card, [size + on_host for size in footprint.host(*axes)])
        return self._columns[key]

    def _worst(self, cards: Sequence[OnCard]) -> int:
        return max(range(len(cards)), key=lambda index: cards[index].usable(self.budget))

    def bound(self, point: Point) -> list[Need]:
        """Give what each run needs at the least: everything but the graph."""
        return [self._bound(point, run) for run in self.runs]

    def _bound(self, point: Point, run: Run) -> Need:
        columns, depth = self.columns(point, run), point.depth
        return Need(run.name, columns.cards[depth], columns.worst[depth], columns.host[depth])

    def need(self, point: Point, run: Run) -> Need | None:
        """Give what one run needs, graph and all; None where the engine refuses it."""
        found = self.buffers(point, run)
        if found is None:
            return None
        least, (compute, host, without_graph) = self._bound(point, run), found
        cards = tuple(OnCard(card.held, max(size, card.compute)) for card, size in zip(least.cards, compute, strict=True))
        host += run.footprints[point.quant].above_on_host(point.depth)
        return Need(run.name, cards, self._worst(cards), max(host, least.host), without_graph)

    def above(self, point: Point, need: Need) -> tuple[int, int]:
        """Give by how many bytes a run's figures are above the middle of an estimate: on the worst card, and on the host."""
        run, depth = next(run for run in self.runs if run.name == need.name), point.depth
        footprint, axes = run.footprints[point.quant], run.axes(point)
        card = need.held - footprint.middle().cards(*axes)[depth][need.worst]
        return card, footprint.above_on_host(depth)

    def hangs_on_estimate(self, point: Point, needs: Sequence[Need]) -> bool:
        """Tell whether what a point is over by is no more, in any run, than the upper end of an estimate adds."""
        pairs = [(self.over(need), self.above(point, need)) for need in needs]
        return all(card <= more and host <= more_host for (card, host), (more, more_host) in pairs)

    def buffers(self, point: Point, run: Run) -> tuple[tuple[int, ...], int, bool] | None:
        """Give the bytes of a run's compute buffers on each card, of all it takes of the host, and whether no graph is known.

        A draft head has buffers of its own. None where the engine refuses the run.
        """
        plan = self.plan(point, run)
        if plan is None:
            return None
        drafting = (
            [int(buffer.size) for buffer in plan.draft.buffers] if plan.draft is not None and plan.draft.buffers else [0] * len(plan.gpus)
        )
        compute = tuple(device.compute + more for device, more in zip(plan.gpus, drafting, strict=False))
        return compute, int(host_need(plan).least), plan.unknown_graph is not None

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
