"""What an engine answered, beside our figures, as lines for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.errors import counted
from generator.measure.referee import Check, Verdict
from generator.measure.rungs import PROGRAM
from generator.measure.server import Run
from generator.quantity import BYTE, Quantity, shown

FORMAT = 1


def verdict_as_text(verdict: Verdict) -> Iterator[str]:
    """Give the table of a ladder: engine and ours by rung, device and term, then what differs."""
    yield f"{verdict.model}/{verdict.card}: {PROGRAM} {verdict.version.text}; the recipe is pinned to {verdict.pinned}"
    yield f"device {verdict.device}{', a server on the CPU that poses as a GPU' if verdict.posed else ''}; header {verdict.header}"
    yield ""
    yield from _table(verdict.checks)
    yield ""
    count = counted(len(verdict.answers), "rung")
    if verdict.differing:
        yield f"{counted(len(verdict.differing), 'figure')} of weights and context in {count} lie outside of the MiB that the engine prints"
    else:
        yield f"weights and context agree at all of {count}: every figure of ours lies in the MiB that the engine prints"
    yield _compute_words(verdict.checks)
    if verdict.posed:
        yield "a server that poses as a GPU takes over nothing whose weights are in host memory: its compute has no copies of them"


def run_as_text(run: Run) -> Iterator[str]:
    """Give the table of a llama-server's log."""
    yield f"{run.model}/{run.card}: a log of llama-server {run.build or '(build not said)'}, {run.key}"
    yield ""
    yield from _table(run.checks)
    yield ""
    if run.differing:
        yield f"{counted(len(run.differing), 'figure')} of weights, cache and state lie outside of what the log prints"
    else:
        yield "weights, cache and state agree with what the log prints"
    yield _compute_words(run.checks)
    yield "a log does not say -ncmoe and -ot: those are the recipe's, unless given after --"


def _compute_words(checks: Sequence[Check]) -> str:
    """Say how many compute buffers agree, which decides nothing: they hang on the backend's kernels too."""
    compute = [check for check in checks if check.term == "compute"]
    return f"compute, for information: {sum(not check.outside for check in compute)} of {counted(len(compute), 'figure')} agree"


def _table(checks: Sequence[Check]) -> Iterator[str]:
    yield f"{'rung':26s} {'device':7s} {'term':8s} {'engine':>12s} {'ours':>14s}  difference"
    for check in checks:
        ours = shown(Quantity.constant(check.ours, BYTE), "MiB", 2)
        word = "in what was printed" if not check.outside else f"{check.outside / 2**20:+,.2f} MiB"
        if check.term == "compute":
            word = f"({word})"
        elif check.agrees and check.outside:
            word += " (alignment)"
        elif check.outside:
            word += "  <"
        yield f"{check.rung:26s} {check.device:7s} {check.term:8s} {check.printed.text:>12s} {ours:>14s}  {word}"


def verdict_as_dict(verdict: Verdict) -> dict[str, object]:
    """Give the verdict for JSON; our sizes are in bytes, the engine's as printed."""
    return {
        "format": FORMAT,
        "recipe": f"{verdict.model}/{verdict.card}",
        "program": PROGRAM,
        "build": verdict.version.name,
        "version": verdict.version.text,
        "pinned": verdict.pinned,
        "device": verdict.device,
        "posed": verdict.posed,
        "header": verdict.header,
        "agrees": not verdict.differing,
        "rungs": [{"rung": answer.rung.key, "flags": list(answer.rung.flags)} for answer in verdict.answers],
        "figures": [check.as_dict() for check in verdict.checks],
    }


def run_as_dict(run: Run) -> dict[str, object]:
    """Give a log's figures for JSON."""
    return {
        "format": FORMAT,
        "recipe": f"{run.model}/{run.card}",
        "program": "llama-server",
        "build": run.build,
        "rung": run.key,
        "agrees": not run.differing,
        "figures": [check.as_dict() for check in run.checks],
    }
