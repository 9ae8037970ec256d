"""A report for JSON; sizes are in bytes."""

from __future__ import annotations

from generator.memory.budget import clears_by
from generator.memory.host import host_need
from generator.memory.ladder import Rung
from generator.memory.plan import Device, Draft, Plan
from generator.report.planned import FITS, PlanReport, devices_of, fullest_device, rung_fits
from generator.report.words import notes_of

FORMAT = 1


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
        "unknown_graph": plan.unknown_graph,
        "draft": _draft(plan.draft) if plan.draft else None,
        "notes": list(notes_of(report)),
        "projector": int(plan.projector.weights) if plan.projector else None,
        "host_memory": _host_memory(plan),
        "attention_scores": int(report.scores) if report.scores else None,
        "on_card": int(report.total),
        "fullest": fullest_device(plan).name,
        "on_card_highest": None if report.highest is None else int(report.highest.rounded_up()),
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
            "verdict": report.verdict,
            "fits": report.verdict == FITS,
        }
        if len(report.held) > 1:
            names = [device.name for device in devices_of(plan)]
            shares = zip(names, report.held, report.verdicts, strict=True)
            rows["cards"] = [
                {"name": name, "held": int(held), "slack": int(clears_by(held, pool)), "verdict": verdict} for name, held, verdict in shares
            ]
    return rows


def _host_memory(plan: Plan) -> dict[str, object]:
    need = host_need(plan)
    return {
        "least": int(need.least),
        "most": None if need.most is None else int(need.most),
        "taken": {name: int(size) for name, size in need.taken},
        "may_add": {name: None if size is None else int(size) for name, size in need.may_add},
    }


def _draft(draft: Draft) -> dict[str, object]:
    compute = draft.compute if draft.unknown_graph is None else None
    return {"kv": draft.kv, "compute": compute, "unknown_graph": draft.unknown_graph}


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
        rows["fits"] = rung_fits(report, rung, report.pool)
    return rows
