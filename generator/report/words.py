"""A report as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from generator.memory.backends import reads_on_cuda
from generator.memory.budget import Policy, Pool
from generator.memory.compute import declared_reserve
from generator.memory.host import host_need
from generator.memory.ladder import Caches, Rung
from generator.memory.placement import HOST
from generator.memory.plan import Device, Plan
from generator.quantity import Quantity, shown
from generator.report.planned import PlanReport, depth_of, devices_of, fullest_device, input_embedding, rung_fits, working_bytes
from generator.specs import Card


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
        where = ", ".join(f"{size_words(cache)} on {device.name}" for device, cache in caches if int(cache))
        yield f"draft head: its own cache beside the above, {where}"
        if plan.draft.compute:
            names = [*(device.name for device in plan.gpus), "host"]
            sizes = zip(names, plan.draft.buffers, strict=True)
            yield f"draft head: compute of its own, {', '.join(f'{size_words(buffer.size)} on {name}' for name, buffer in sizes)}"
        if plan.draft.unknown_graph is not None:
            yield f"draft head: compute of its own is not known, and not counted: {plan.draft.unknown_graph}"
    yield from notes_of(report)
    if report.pool is not None and report.card is not None:
        yield ""
        yield from _verdict(report, report.card, report.pool)
    if report.ladder:
        yield ""
        yield from _ladder_lines(report)


def notes_of(report: PlanReport) -> Iterator[str]:
    """Give in words what the figures stand for and what is not among them."""
    settings = report.plan.settings
    if report.origin:
        yield report.origin
    if report.estimate:
        yield report.estimate
    yield _working(report.plan)
    if report.excess is not None:
        yield f"to compute, {size_words(report.excess)} are added: by so much the engine's own buffers went beyond ours where it was asked"
    yield from _in_host_memory(report.plan)
    projector = report.plan.projector
    if projector is not None:
        where = "in host memory" if projector.device == HOST else f"on gpu{projector.device}"
        size = size_words(projector.weights)
        yield f"the projector's weights beside the table, {size} {where}; its own working buffers are not derived here"
    beside = {
        "the projector": report.plan.projector is None and (settings.mmproj or settings.mmproj_url),
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


def _working(plan: Plan) -> str:
    """Say what the compute figures are, and what most of it is on the device that holds most."""
    if plan.unknown_graph is not None:
        return f"compute is not known, its column is the engine's fitting margin: {plan.unknown_graph}"
    device = fullest_device(plan)
    parts = [f"{name} {size_words(size)}" for name, size in device.terms.buffer.largest[:3]]
    most = f"; on {device.name} at its fullest {', '.join(parts)}" if parts else ""
    return f"compute is the largest graph that {plan.program} reserves for{most}"


def _in_host_memory(plan: Plan) -> Iterator[str]:
    """Answer how much RAM a run needs: what it takes from the start, and up to which limits llama-server may add."""
    need = host_need(plan)
    yield f"system memory: {size_words(need.least)} from the start ({', '.join(f'{name} {size_words(size)}' for name, size in need.taken)})"
    if need.may_add:
        added = [f"{name} {'without a limit' if size is None else f'up to {size_words(size)}'}" for name, size in need.may_add]
        most = f": {size_words(need.most)} at most" if need.most is not None else ""
        yield f"llama-server may add to it as it runs, {', '.join(added)}{most}"


def _counting(report: PlanReport) -> Iterator[str]:
    """Say where the table and the verdict count the input embedding."""
    if report.policy is Policy.PUBLISHED and report.plan.gpus:
        size = size_words(input_embedding(report.plan.model))
        yield f"the table counts as the engine places things; verdict and ladder, policy 'published', add the input embedding, {size}"
    elif report.pool is not None:
        yield "table, verdict and ladder count as the engine places things, policy 'engine'"


def _attention(report: PlanReport) -> Iterator[str]:
    """Warn of what attention costs: scores without flash attention, and cache types that CUDA's flash attention does not read."""
    settings, reserve = report.plan.settings, declared_reserve()
    if report.scores is not None:
        against = "less" if report.scores <= reserve else "more"
        size = size_words(report.scores)
        yield f"flash attention is off: attention scores are {size} of it, {against} than the reserve of {size_words(reserve)}"
    pair = (settings.type_k, settings.type_v)
    on_cuda = (report.card is None or report.card.backend == "cuda") and any(device.kv for device in report.plan.gpus)
    if settings.flash_attn == "off" or not on_cuda or reads_on_cuda(pair, report.plan.build):
        return
    outcome = "attention runs on the CPU" if settings.flash_attn == "on" else "-fa auto turns it off, or stops where V is quantised"
    yield f"warning: a default CUDA build has no flash attention for {'/'.join(pair)}: {outcome} (fattn.cu; see GGML_CUDA_FA_ALL_QUANTS)"


def _verdict(report: PlanReport, card: Card, pool: Pool) -> Iterator[str]:
    """Say whether the run fits, and what it leaves on the card; of several cards, on each."""
    several = len(report.held) > 1
    title, where = (
        (f"{len(report.held)} x {card.title}", f" on {fullest_device(report.plan).name}, which holds most,")
        if several
        else (card.title, "")
    )
    total, ceiling = shown(report.total, "GiB", 3), shown(pool.ceiling, "GiB", 3)
    yield f"{title}: {report.verdict}. {total}{where} under policy '{report.policy}', ceiling {ceiling}"
    each = " of each" if several else ""
    left = _left(report.total, pool.ceiling)
    yield f"  ({shown(pool.usable, 'GiB', 1)} usable{each}, {shown(pool.reserve, 'MiB', 0)} reserved), {left}"
    if report.highest is not None:
        yield f"  at the estimate's upper end {shown(report.highest, 'GiB', 3)}, {_left(report.highest, pool.ceiling)}"
    if not several:
        yield f"  {_beside_compute(report, pool, 0)}"
        return
    for index, device in enumerate(devices_of(report.plan)):
        held = report.held[index]
        yield f"  {device.name}: {size_words(held)}, {_left(held, pool.ceiling)}; {_beside_compute(report, pool, index)}"


def _beside_compute(report: PlanReport, pool: Pool, index: int) -> str:
    """Say whether a device's compute buffer is inside the reserve, and what is left beside a larger one."""
    compute = working_bytes(report.plan, report.excess, index)
    if compute <= pool.reserve:
        return f"compute, {size_words(compute)}, is inside the reserve"
    return f"with compute, {size_words(compute)}, of all that is usable: {_left(report.held[index] + compute, pool.usable)}"


def _left(total: Quantity, limit: Quantity) -> str:
    return f"{shown(limit - total, 'GiB', 3)} to spare" if total <= limit else f"{shown(total - limit, 'GiB', 3)} over"


def _ladder_lines(report: PlanReport) -> Iterator[str]:
    columns = list(dict.fromkeys(rung.caches for rung in report.ladder))
    rows: dict[tuple[int, int], dict[Caches, Rung]] = {}
    for rung in report.ladder:
        rows.setdefault((rung.n_cpu_moe, rung.n_ctx), {})[rung.caches] = rung
    over = ", * over the ceiling, or no room for compute"
    yield f"weights, cache and state on the card, policy '{report.policy}'" + (over if report.pool else "")
    yield f"{'-ncmoe':>7s} {'-c':>9s} " + " ".join(f"{'/'.join(pair):>13s}" for pair in columns)
    own = (depth_of(report.plan), int(report.plan.context.asked))
    for key, cells in rows.items():
        figures = [
            shown(cells[pair].total, "GiB", 3) + ("*" if report.pool and not rung_fits(report, cells[pair], report.pool) else " ")
            for pair in columns
        ]
        yield f"{key[0]:7d} {key[1]:9d} " + " ".join(f"{figure:>13s}" for figure in figures) + ("  <" if key == own else "")


def _device_line(device: Device) -> str:
    terms = device.terms
    figures = (terms.weights, terms.kv, terms.recurrent, terms.compute, terms.total)
    return f"{device.name:8s} " + " ".join(f"{size_words(figure):>12s}" for figure in figures)


def size_words(size: Quantity) -> str:
    """Give a size in GiB from one up, else in MiB."""
    return shown(size, "GiB", 3) if int(size) >= 2**30 else shown(size, "MiB", 1)
