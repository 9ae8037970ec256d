"""A plan held against a card, and the ladder around it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from generator.catalog import Catalog
from generator.config.estimate import Estimate
from generator.config.tolerance import Experts
from generator.errors import InputError, RefusedSettings
from generator.gguf.types import F16_BYTES
from generator.guide.working import excess_of
from generator.memory.architectures import layers_of
from generator.memory.budget import Policy, Pool, fits
from generator.memory.compute import attention_scores, declared_reserve
from generator.memory.context import CELL_PADDING, Context, context_of
from generator.memory.flags import begins_command, command_of, split_words
from generator.memory.ladder import Caches, Rung
from generator.memory.model import Model
from generator.memory.overrides import EXPERTS, Override
from generator.memory.placement import HOST, place
from generator.memory.plan import Device, Plan, caches_bytes, draft_of, make_plan
from generator.memory.refusals import refuse
from generator.memory.rows import row_elements
from generator.memory.settings import Settings, flags_of_recipe, parse_flags
from generator.planning import estimate_of, is_file, model_of, model_of_quant, projector_file
from generator.quantity import Quantity, largest
from generator.solve.auto import settled
from generator.specs import Card

MAX_DEVICES = 16
"""Source: src/llama.cpp, `llama_max_devices`."""
CACHES: tuple[Caches, ...] = (("q8_0", "q8_0"), ("q8_0", "f16"), ("f16", "f16"))
"""Pairs of cache types that the ladder shows beside the plan's own."""

FITS, BARELY, TOO_LARGE = "fits", "fits with nothing in reserve", "does not fit"
"""What a verdict says; BARELY where a compute buffer larger than the reserve leaves less than the reserve beside it."""


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan held against a card.

    `pool` is the memory of each card (None without one); `held` what the plan puts on each device without working buffers, under `policy`,
    on the host where there is no other; `scores` the attention scores on the fullest without flash attention, else None; `ladder` the
    rungs around it. `origin` says what a recipe gave; `estimate` that the tensor table is one and how far off, empty where it is known, and
    `highest` is the total where it is that far; `excess` is what the engine's own readings add to a compute buffer, None where no device
    was asked; `graphs` keeps the compute buffers of rungs whose graph had to be made.
    """

    name: str
    plan: Plan
    policy: Policy
    card: Card | None
    pool: Pool | None
    held: tuple[Quantity, ...]
    scores: Quantity | None
    ladder: tuple[Rung, ...]
    origin: str = ""
    estimate: str = ""
    highest: Quantity | None = None
    excess: Quantity | None = None
    graphs: dict[tuple[int, int, Caches], Quantity] = field(default_factory=dict)

    @property
    def total(self) -> Quantity:
        """What the device that holds most holds."""
        return self.held[fullest(self.plan)]

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdict on each device; none without a card."""
        if self.pool is None:
            return ()
        buffers = (working_bytes(self.plan, self.excess, index) for index in range(len(self.held)))
        return tuple(judged(total, compute, self.pool) for total, compute in zip(self.held, buffers, strict=True))

    @property
    def verdict(self) -> str:
        """The verdict on the run, which is the worst on a device: a run fits where it fits on each."""
        return max(self.verdicts, key=(FITS, BARELY, TOO_LARGE).index)


def planned(
    source: str | None, flags: Sequence[str], *, card: str | None, policy: str | None, program: str, gpus: int | None, build: str | None
) -> PlanReport:
    """Give the report for a source and flags. Raises InputError and what opening and planning raise.

    `source` is MODEL/CARD of a recipe, a GGUF file or a Hub reference; without one, or where a command line begins in its place, the
    flags must name a model. A recipe brings its settings, card, build, policy and number of cards; flags and options win over them, and a
    whole command line (one with a program or a model in it) stands in place of the settings. Without a recipe `gpus` None is one.
    """
    if gpus is not None and gpus < 0:
        raise InputError(f"--gpus {gpus}: there are no fewer devices than none", remedy="give 0 or more")
    if gpus is not None and gpus > MAX_DEVICES:
        raise InputError(f"--gpus {gpus}: the engine uses at most {MAX_DEVICES} devices", remedy=f"give 0 to {MAX_DEVICES}")
    if source is not None and _is_command(source):
        flags = [*split_words(source), *flags]
        source = None
    pair = _recipe_named(source)
    if pair is not None:
        return _of_recipe(pair, flags, card, policy, program, gpus, build)
    settings = parse_flags(flags, program)
    name = source or settings.model or _hub_name(settings)
    if name is None:
        raise InputError(
            "no model is named", remedy="gen plan MODEL/CARD, a GGUF file, or hf://owner/repository/file.gguf; or give -m in the flags"
        )
    found = Catalog.open().card(card) if card else None
    backend = found.backend if found else None
    beside = projector_file(settings)
    plan = make_plan(model_of(name), settings, gpus=1 if gpus is None else gpus, build=build, backend=backend, projector=beside)
    return _report(name, plan, Policy(policy or Policy.ENGINE), found)


def _is_command(source: str) -> bool:
    first = source.split(maxsplit=1)[:1]
    return bool(first) and begins_command(first[0]) and not source.endswith(".gguf")


def _recipe_named(source: str | None) -> tuple[str, str] | None:
    if source is None or is_file(source) or source.count("/") != 1 or source.endswith((".gguf", ".head")) or ":" in source:
        return None
    model, _, card = source.partition("/")
    return (model, card) if model and card else None


def _of_recipe(
    pair: tuple[str, str], flags: Sequence[str], card: str | None, policy: str | None, program: str, gpus: int | None, build: str | None
) -> PlanReport:
    catalog = Catalog.open()
    recipe, _ = settled(catalog, catalog.recipe(*pair))
    settings = parse_flags(flags, program)
    if _is_whole(flags, settings, program):
        origin = f"a whole command line: the recipe's settings are left out, its {recipe.quant} stands for the model file"
    else:
        words = flags_of_recipe(recipe.settings, flags, program)
        settings = parse_flags(words, program)
        origin = f"from the recipe: {shlex.join(_kept(words, flags, program)) or 'no flag'}"
    estimate = estimate_of(catalog, recipe.model, recipe.quant)
    model = model_of_quant(catalog, recipe.model, recipe.quant) if estimate is None else estimate.model
    found = catalog.card(card or recipe.card)
    plan = make_plan(
        model,
        settings,
        gpus=recipe.gpus if gpus is None else gpus,
        build=build or recipe.build,
        backend=found.backend,
        projector=projector_file(settings),
    )
    report = _report("/".join(pair), plan, Policy(policy or recipe.budget.policy), found)
    if estimate is not None:
        report = replace(report, estimate=estimate.words, highest=_highest(report, estimate))
    return replace(report, origin=origin, excess=excess_of(catalog.measured(*pair)))


def _highest(report: PlanReport, estimate: Estimate) -> Quantity:
    """Give the total on the device that holds most at the upper end of an estimate."""
    model, device = estimate.model, fullest(report.plan) if report.plan.gpus else HOST
    weights = fullest_device(report.plan).terms.weights
    if report.plan.gpus and report.policy is Policy.PUBLISHED:
        weights = weights + input_embedding(model)
    placed = [each.tensor for each in report.plan.placement.tensors if each.device == device and each.tensor.routed_expert]
    experts = (
        Experts(model.size_of(placed, "routed experts there"), model.size_of(model.experts(), "all routed experts")) if placed else None
    )
    return report.total - weights + estimate.tolerance.upper_end(weights, estimate.size.quantity(), experts)


def _is_whole(flags: Sequence[str], settings: Settings, program: str) -> bool:
    """Tell whether flags are a command line of their own: a program stands before them, or they name a model."""
    command = command_of(flags, program)
    names_program = command.begin > len(command.environment)
    return names_program or any((settings.model, settings.model_url, settings.docker_repo, settings.hf_repo))


def _kept(words: Sequence[str], flags: Sequence[str], program: str) -> Sequence[str]:
    """Give those of a recipe's command line that `flags` did not bring."""
    begin = command_of(flags, program).begin
    return words[begin : len(words) - len(flags) + begin]


def _hub_name(settings: Settings) -> str | None:
    if settings.hf_repo and settings.hf_file:
        return f"hf://{settings.hf_repo.partition(':')[0]}/{settings.hf_file}"
    return settings.hf_repo


def _report(name: str, plan: Plan, policy: Policy, card: Card | None) -> PlanReport:
    pool = Pool.of(card.facts["card.usable"].quantity(), declared_reserve()) if card else None
    return PlanReport(name, plan, policy, card, pool, _held(plan, policy), _scores(plan, plan.context), tuple(_ladder(plan, policy)))


def _scores(plan: Plan, context: Context) -> Quantity | None:
    """Give the largest attention scores on the device that holds most; None where flash attention or the host spares it them."""
    if plan.settings.flash_attn != "off" or not plan.gpus or not plan.settings.kv_offload:
        return None
    blocks = [block for block in layers_of(plan.model).attention.blocks if plan.placement.layer_devices[block] == fullest(plan)]
    sizes = [attention_scores(plan.model, block, context.cells, context.n_ubatch) for block in blocks]
    return largest(sizes) if sizes else None


def judged(total: Quantity, compute: Quantity, pool: Pool) -> str:
    """Give the verdict. A compute buffer inside the reserve is part of it; a larger one comes on top of it."""
    if not fits(total, pool):
        return TOO_LARGE
    if compute <= pool.reserve or fits(total + compute, pool):
        return FITS
    return BARELY if total + compute <= pool.usable else TOO_LARGE


def working_bytes(plan: Plan, excess: Quantity | None, device: int = 0) -> Quantity:
    """Give the compute buffers on a device, by its index: the run's, a draft head's, and what readings of the engine add."""
    compute = devices_of(plan)[device].terms.compute
    if plan.draft is not None and plan.draft.buffers:
        compute = compute + plan.draft.buffers[device].size
    return compute if excess is None else compute + excess


def devices_of(plan: Plan) -> tuple[Device, ...]:
    """Give the devices that cards stand for, or the host where there is none."""
    return plan.gpus or (plan.host,)


def fullest(plan: Plan) -> int:
    """Give the index of the device that holds most without working buffers; of several that hold as much, the first."""
    devices = devices_of(plan)
    return max(range(len(devices)), key=lambda index: int(devices[index].terms.held))


def fullest_device(plan: Plan) -> Device:
    """Give the device that holds most."""
    return devices_of(plan)[fullest(plan)]


def rung_fits(report: PlanReport, rung: Rung, pool: Pool) -> bool:
    """Tell whether a rung fits, its compute buffer included; the graph is made only where a bound does not tell."""
    if not fits(rung.total, pool):
        return False
    if _at_most(report.plan, report.excess, rung) <= int(pool.reserve):
        return True
    return judged(rung.total, _compute_of(report, rung), pool) == FITS


def _at_most(plan: Plan, excess: Quantity | None, rung: Rung) -> int:
    """Give bytes that a rung's compute buffer does not pass, without making its graph.

    A buffer grows no faster than its context, and by the copies of two experts' tensors where experts move to the host; copies in F16
    of a layer's cache come with another cache type.
    """
    model, context = plan.model, max(1, -(-rung.n_ctx // max(int(plan.context.asked), 1)))
    staged = 2 * max((int(tensor.size) for tensor in model.experts()), default=0)
    cells = rung.n_ctx + CELL_PADDING
    rows = max(
        (int(row_elements(model, block, part)) for block in layers_of(model).attention.blocks for part in ("key", "value")), default=0
    )
    return int(working_bytes(plan, excess)) * context + staged + 2 * cells * rows * F16_BYTES


def _compute_of(report: PlanReport, rung: Rung) -> Quantity:
    """Give a rung's compute buffer, from its graph."""
    plan = report.plan
    key = (rung.n_cpu_moe, rung.n_ctx, rung.caches)
    if key not in report.graphs:
        settings = replace(plan.settings, overrides=tuple(each for each in plan.settings.overrides if each != Override(EXPERTS)))
        settings = replace(settings.with_n_cpu_moe(rung.n_cpu_moe), n_ctx=rung.n_ctx, type_k=rung.caches[0], type_v=rung.caches[1])
        beside = make_plan(plan.model, settings, gpus=1, build=plan.build, backend=plan.backend)
        report.graphs[key] = working_bytes(beside, report.excess)
    return report.graphs[key]


def _held(plan: Plan, policy: Policy) -> tuple[Quantity, ...]:
    """Give weights, caches and state on each device; where the policy counts the input embedding on a card, on the one that holds most."""
    sizes = []
    for index, device in enumerate(devices_of(plan)):
        size = device.terms.held
        if plan.draft is not None:
            size = size + (plan.draft.gpus or (plan.draft.host,))[index]
        if plan.projector is not None and plan.projector.device == (index if plan.gpus else HOST):
            size = size + plan.projector.weights
        if plan.gpus and policy is Policy.PUBLISHED and index == fullest(plan):
            size = size + input_embedding(plan.model)
        sizes.append(size)
    return tuple(sizes)


def input_embedding(model: Model) -> Quantity:
    """Give the bytes of what the host looks tokens up in."""
    return model.size_of((tensor for tensor in model.tensors if tensor.is_input), "input embedding")


# --- the ladder ----------------------------------------------------------------------------------


def _ladder(plan: Plan, policy: Policy) -> Iterator[Rung]:
    """Give the rungs around a plan on one device: depths of expert offload, contexts, and pairs of cache types."""
    if len(plan.gpus) != 1:
        return
    model = plan.model
    settings = replace(plan.settings, overrides=tuple(each for each in plan.settings.overrides if each != Override(EXPERTS)))
    layers = layers_of(model, plan.build)
    pairs = _allowed_caches(model, settings)
    for depth, contexts in _rungs(plan):
        placed = place(model, settings.with_n_cpu_moe(depth), 1, draft_head=settings.loads_draft_head, backend=plan.backend)
        weights = placed.weights(0, "on device 0")
        if policy is Policy.PUBLISHED:
            weights = weights + input_embedding(model)
        for n_ctx in contexts:
            context = context_of(model, replace(settings, n_ctx=n_ctx))
            rest = weights + plan.gpus[0].terms.recurrent
            draft = draft_of(layers, settings, context, placed, 1)
            if draft is not None:
                rest = rest + draft.gpus[0]
            for caches in pairs:
                cache = caches_bytes(layers.caches, caches, settings, context, placed, 0)
                yield Rung(depth, n_ctx, caches, rest + cache)


def _allowed_caches(model: Model, settings: Settings) -> list[Caches]:
    """Give the settings' own pair of cache types, and those beside it that the engine would take under the same settings."""
    own = (settings.type_k, settings.type_v)
    pairs = [own]
    for type_k, type_v in CACHES:
        try:
            refuse(model, replace(settings, type_k=type_k, type_v=type_v))
        except RefusedSettings:
            continue
        pairs.append((type_k, type_v))
    return list(dict.fromkeys(pairs))


def _rungs(plan: Plan) -> Iterator[tuple[int, list[int]]]:
    """Give the depths of offload and their contexts.

    Near the plan's depth they are half, once and twice its context, as far as the model was trained; every fourth depth has the
    plan's context only. Depth 0 alone where there are no routed experts.
    """
    context = int(plan.context.asked)
    trained = int(plan.model.number("context_length", context))
    around = sorted({max(context // 2, 1), context, min(context * 2, max(trained, context))})
    own, last = depth_of(plan), _deepest(plan)
    near = range(max(own - 2, 0), min(own + 2, last) + 1) if plan.model.experts() else range(1)
    far = range(0, last + 1, 4) if plan.model.experts() else range(0)
    for depth in sorted({*near, *far}):
        yield depth, around if depth in near else [context]


def depth_of(plan: Plan) -> int:
    """Give the depth of offload that a plan's own flags come to: all blocks with -cmoe."""
    return _deepest(plan) if plan.settings.cpu_moe else min(plan.settings.n_cpu_moe, _deepest(plan))


def _deepest(plan: Plan) -> int:
    return int(plan.model.block_count if plan.settings.loads_draft_head else plan.model.loaded_blocks)
