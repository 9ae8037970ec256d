"""What `gen plan` answers: a plan, a card to hold it against, and the ladder around it, as text and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from generator.catalog import Catalog
from generator.errors import InputError, RefusedSettings
from generator.memory.architectures import layers_of
from generator.memory.budget import Policy, Pool, clears_by, fits
from generator.memory.compute import attention_scores, declared_reserve
from generator.memory.context import Context, context_of
from generator.memory.flags import begins_command, command_of, split_words
from generator.memory.ladder import Caches, Rung
from generator.memory.model import Model
from generator.memory.overrides import EXPERTS, Override
from generator.memory.placement import place
from generator.memory.plan import Device, Plan, caches_bytes, draft_of, make_plan
from generator.memory.refusals import refuse
from generator.memory.settings import Settings, flags_of_recipe, parse_flags
from generator.planning import is_file, model_of, model_of_lock
from generator.quantity import Quantity, largest, shown
from generator.solve.auto import settled
from generator.specs import Card

FORMAT = 1
MAX_DEVICES = 16
"""Source: src/llama.cpp, `llama_max_devices`."""
CACHES: tuple[Caches, ...] = (("q8_0", "q8_0"), ("q8_0", "f16"), ("f16", "f16"))
"""Pairs of cache types that the ladder shows beside the plan's own."""
CUDA_CACHES = frozenset({"f32", "f16", "bf16", "q8_0", "q4_0"})
"""Cache types that a default CUDA build has flash-attention kernels for, K and V alike (ggml/src/ggml-cuda/fattn.cu,
`ggml_cuda_get_best_fattn_kernel`; the others are compiled with GGML_CUDA_FA_ALL_QUANTS only)."""

FITS, BARELY, TOO_LARGE = "fits", "fits only without other working buffers", "does not fit"
"""What a verdict says; BARELY where the attention scores leave less than the reserve for everything else."""


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan held against a card.

    `pool` is the card's memory (None without a card), `total` what the plan puts on the first device without working
    buffers, under `policy`; `scores` the attention scores there without flash attention, else None; `ladder` the rungs around it.
    `origin` says what a recipe gave.
    """

    name: str
    plan: Plan
    policy: Policy
    card: Card | None
    pool: Pool | None
    total: Quantity
    scores: Quantity | None
    ladder: tuple[Rung, ...]
    origin: str = ""


def planned(
    source: str | None, flags: Sequence[str], *, card: str | None, policy: str | None, program: str, gpus: int, build: str | None
) -> PlanReport:
    """Give the report for a source and flags. Raises InputError and what opening and planning raise.

    `source` is MODEL/CARD of a recipe, a GGUF file or a Hub reference; without one, or where a command line begins in its place, the
    flags must name a model. A recipe brings its settings, card, build and policy; flags and options win over them, and a whole
    command line (one with a program or a model in it) stands in place of the settings.
    """
    if gpus < 0:
        raise InputError(f"--gpus {gpus}: there are no fewer devices than none", remedy="give 0 or more")
    if gpus > MAX_DEVICES:
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
    plan = make_plan(model_of(name), settings, gpus=gpus, build=build)
    return _report(name, plan, Policy(policy or Policy.ENGINE), Catalog.open().card(card) if card else None)


def _is_command(source: str) -> bool:
    first = source.split(maxsplit=1)[:1]
    return bool(first) and begins_command(first[0]) and not source.endswith(".gguf")


def _recipe_named(source: str | None) -> tuple[str, str] | None:
    if source is None or is_file(source) or source.count("/") != 1 or source.endswith((".gguf", ".head")) or ":" in source:
        return None
    model, _, card = source.partition("/")
    return model, card


def _of_recipe(
    pair: tuple[str, str], flags: Sequence[str], card: str | None, policy: str | None, program: str, gpus: int, build: str | None
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
    model = model_of_lock(catalog.lock(recipe.model), recipe.quant)
    plan = make_plan(model, settings, gpus=gpus, build=build or recipe.build)
    report = _report("/".join(pair), plan, Policy(policy or recipe.budget.policy), catalog.card(card or recipe.card))
    return replace(report, origin=origin)


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
    return PlanReport(name, plan, policy, card, pool, _on_card(plan, policy), _scores(plan, plan.context), tuple(_ladder(plan, policy)))


def _scores(plan: Plan, context: Context) -> Quantity | None:
    """Give the largest attention scores on the first device with `context`; None where flash attention or the host spares it them."""
    if plan.settings.flash_attn != "off" or not plan.gpus or not plan.settings.kv_offload:
        return None
    blocks = [block for block in layers_of(plan.model).attention.blocks if plan.placement.layer_devices[block] == 0]
    sizes = [attention_scores(plan.model, block, context.cells, context.n_ubatch) for block in blocks]
    return largest(sizes) if sizes else None


def _judged(total: Quantity, scores: Quantity | None, pool: Pool) -> str:
    """Give the verdict. Scores inside the reserve are part of it; larger ones come on top of it."""
    if not fits(total, pool):
        return TOO_LARGE
    if scores is None or scores <= pool.reserve or fits(total + scores, pool):
        return FITS
    return BARELY if total + scores <= pool.usable else TOO_LARGE


def _rung_fits(report: PlanReport, rung: Rung, pool: Pool) -> bool:
    plan = report.plan
    scores = _scores(plan, context_of(plan.model, replace(plan.settings, n_ctx=rung.n_ctx)))
    return _judged(rung.total, scores, pool) == FITS


def _on_card(plan: Plan, policy: Policy) -> Quantity:
    """Give weights, caches and state on the first device, with the input embedding where the policy counts it."""
    terms = (plan.gpus or (plan.host,))[0].terms
    total = terms.weights + terms.kv + terms.recurrent
    if plan.draft is not None:
        total = total + (plan.draft.gpus or (plan.draft.host,))[0]
    if not plan.gpus:
        return total
    return total + _input_embedding(plan.model) if policy is Policy.PUBLISHED else total


def _input_embedding(model: Model) -> Quantity:
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
            weights = weights + _input_embedding(model)
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
    own, last = _depth(plan), _deepest(plan)
    near = range(max(own - 2, 0), min(own + 2, last) + 1) if plan.model.experts() else range(1)
    far = range(0, last + 1, 4) if plan.model.experts() else range(0)
    for depth in sorted({*near, *far}):
        yield depth, around if depth in near else [context]


def _depth(plan: Plan) -> int:
    """Give the depth of offload that a plan's own flags come to: all blocks with -cmoe."""
    return _deepest(plan) if plan.settings.cpu_moe else min(plan.settings.n_cpu_moe, _deepest(plan))


def _deepest(plan: Plan) -> int:
    return int(plan.model.block_count if plan.settings.loads_draft_head else plan.model.loaded_blocks)


# --- text and JSON -------------------------------------------------------------------------------


def plan_as_text(report: PlanReport) -> Iterator[str]:
    """Give the report as lines for a terminal."""
    plan = report.plan
    build = f" at {plan.build}" if plan.build else ""
    yield f"{report.name}: {plan.model.architecture}, {plan.program}{build}, {shown(plan.context.asked, 'tokens')} in {plan.n_ctx:,} cells"
    yield ""
    yield f"{'device':8s} {'weights':>12s} {'cache':>12s} {'state':>12s} {'compute':>12s} {'total':>12s}"
    for device in (plan.host, *plan.gpus):
        yield _device_line(device)
    if plan.draft is not None:
        caches = zip((plan.host, *plan.gpus), (plan.draft.host, *plan.draft.gpus), strict=True)
        where = ", ".join(f"{_size(cache)} on {device.name}" for device, cache in caches if int(cache))
        yield f"draft head: its own cache beside the above, {where}"
    yield from _notes(report)
    if report.pool is not None and report.card is not None:
        yield ""
        yield from _verdict(report, report.card, report.pool)
    if report.ladder:
        yield ""
        yield from _ladder_lines(report)


def _notes(report: PlanReport) -> Iterator[str]:
    """Give in words what the figures stand for and what is not among them."""
    settings = report.plan.settings
    if report.origin:
        yield report.origin
    yield "compute on a device is the engine's fitting margin, a reserve not derived here; on the host the graph's inputs alone"
    beside = {
        "the projector": settings.mmproj or settings.mmproj_url,
        "the draft model": settings.model_draft or settings.hf_repo_draft,
        "adapters": settings.lora,
    }
    left_out = [name for name, given in beside.items() if given]
    if left_out:
        yield f"not counted, for it is in files of its own: {', '.join(left_out)}"
    if settings.fit and (not settings.n_ctx or (settings.n_gpu_layers == "auto" and not settings.overrides)):
        yield "shown as asked; where its margin is not left free, the engine's own fitting chooses other settings (-c, -ngl, --fit off)"
    yield from _counting(report)
    yield from _attention(report)


def _counting(report: PlanReport) -> Iterator[str]:
    """Say where the table and the verdict count the input embedding."""
    if report.policy is Policy.PUBLISHED and report.plan.gpus:
        size = _size(_input_embedding(report.plan.model))
        yield f"the table counts as the engine places things; verdict and ladder, policy 'published', add the input embedding, {size}"
    elif report.pool is not None:
        yield "table, verdict and ladder count as the engine places things, policy 'engine'"


def _attention(report: PlanReport) -> Iterator[str]:
    """Warn of what attention costs: scores without flash attention, and cache types that CUDA's flash attention does not read."""
    settings, reserve = report.plan.settings, declared_reserve()
    if report.scores is not None:
        against = "inside" if report.scores <= reserve else "more than"
        yield f"flash attention is off: attention scores take {_size(report.scores)}, {against} the reserve of {_size(reserve)}"
    pair = (settings.type_k, settings.type_v)
    on_cuda = (report.card is None or report.card.backend == "cuda") and any(device.kv for device in report.plan.gpus)
    if settings.flash_attn == "off" or not on_cuda or (pair[0] == pair[1] and pair[0] in CUDA_CACHES):
        return
    outcome = "attention runs on the CPU" if settings.flash_attn == "on" else "-fa auto turns it off, or stops where V is quantised"
    yield f"warning: a default CUDA build has no flash attention for {'/'.join(pair)}: {outcome} (fattn.cu; see GGML_CUDA_FA_ALL_QUANTS)"


def _verdict(report: PlanReport, card: Card, pool: Pool) -> Iterator[str]:
    word = _judged(report.total, report.scores, pool)
    yield f"{card.title}: {word}. {shown(report.total, 'GiB', 3)} under policy '{report.policy}', ceiling {shown(pool.ceiling, 'GiB', 3)}"
    left = _left(report.total, pool.ceiling)
    yield f"  ({shown(pool.usable, 'GiB', 1)} usable, {shown(pool.reserve, 'MiB', 0)} reserved), {left}"
    if report.scores is not None and report.scores > pool.reserve:
        yield f"  with the attention scores, of all that is usable: {_left(report.total + report.scores, pool.usable)}"


def _left(total: Quantity, limit: Quantity) -> str:
    return f"{shown(limit - total, 'GiB', 3)} to spare" if total <= limit else f"{shown(total - limit, 'GiB', 3)} over"


def _ladder_lines(report: PlanReport) -> Iterator[str]:
    columns = list(dict.fromkeys(rung.caches for rung in report.ladder))
    rows: dict[tuple[int, int], dict[Caches, Rung]] = {}
    for rung in report.ladder:
        rows.setdefault((rung.n_cpu_moe, rung.n_ctx), {})[rung.caches] = rung
    over = ", * over the ceiling" + (" or no room for the attention scores" if report.scores is not None else "")
    yield f"weights, cache and state on the card, policy '{report.policy}'" + (over if report.pool else "")
    yield f"{'-ncmoe':>7s} {'-c':>9s} " + " ".join(f"{'/'.join(pair):>13s}" for pair in columns)
    own = (_depth(report.plan), int(report.plan.context.asked))
    for key, cells in rows.items():
        figures = [
            shown(cells[pair].total, "GiB", 3) + ("*" if report.pool and not _rung_fits(report, cells[pair], report.pool) else " ")
            for pair in columns
        ]
        yield f"{key[0]:7d} {key[1]:9d} " + " ".join(f"{figure:>13s}" for figure in figures) + ("  <" if key == own else "")


def _device_line(device: Device) -> str:
    terms = device.terms
    figures = (terms.weights, terms.kv, terms.recurrent, terms.compute, terms.total)
    return f"{device.name:8s} " + " ".join(f"{_size(figure):>12s}" for figure in figures)


def _size(size: Quantity) -> str:
    return shown(size, "GiB", 3) if int(size) >= 2**30 else shown(size, "MiB", 1)


def plan_as_dict(report: PlanReport) -> dict[str, object]:
    """Give the report for JSON; sizes are in bytes."""
    plan = report.plan
    rows: dict[str, object] = {
        "format": FORMAT,
        "source": report.name,
        "architecture": plan.model.architecture,
        "program": plan.program,
        "build": plan.build,
        "n_ctx": plan.n_ctx,
        "n_ctx_seq": plan.n_ctx_seq,
        "policy": str(report.policy),
        "devices": [_device(device) for device in (plan.host, *plan.gpus)],
        "draft": {"kv": plan.draft.kv} if plan.draft else None,
        "notes": list(_notes(report)),
        "attention_scores": int(report.scores) if report.scores else None,
        "on_card": int(report.total),
        "ladder": [_rung(rung, report) for rung in report.ladder],
    }
    if report.card is not None and report.pool is not None:
        pool = report.pool
        rows["card"] = {
            "name": report.card.name,
            "usable": int(pool.usable),
            "reserve": int(pool.reserve),
            "ceiling": int(pool.ceiling),
            "slack": int(clears_by(report.total, pool)),
            "verdict": (verdict := _judged(report.total, report.scores, pool)),
            "fits": verdict == FITS,
        }
    return rows


def _device(device: Device) -> dict[str, object]:
    figures = {name: getattr(device, name) for name in ("weights", "kv", "recurrent", "compute", "total")}
    return {"name": device.name, **figures}


def _rung(rung: Rung, report: PlanReport) -> dict[str, object]:
    rows: dict[str, object] = {
        "n_cpu_moe": rung.n_cpu_moe,
        "n_ctx": rung.n_ctx,
        "type_k": rung.caches[0],
        "type_v": rung.caches[1],
        "total": int(rung.total),
    }
    if report.pool is not None:
        rows["fits"] = _rung_fits(report, rung, report.pool)
    return rows
