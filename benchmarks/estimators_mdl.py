"""llama-mdl's answers to the jobs of `estimators.py`; run by the interpreter that llama-mdl is installed for.

    python benchmarks/estimators_mdl.py JOBS

It is asked as its own `mdl fit` asks before the engine has corrected it: seed coefficients, no calibration, no limit on an allocation.
Without a card what it puts on one counts as the host's, as its `on_host` does.
"""

# ruff: noqa: INP001, T201
from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mdl_fit import gguf, model

TIMES = 3


def main() -> None:
    """Answer the jobs of a file as JSON."""
    jobs = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    answers: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for name, path in jobs["models"].items():
        mine = [job for job in jobs["jobs"] if job["model"] == name]
        if not mine:
            continue
        try:
            whole = []
            for _ in range(TIMES):
                start = time.perf_counter()
                shape = model.Shape(gguf.load(path))
                estimate(shape, mine[0])
                whole.append(time.perf_counter() - start)
            seconds[name] = min(whole)
        except Exception as error:  # noqa: BLE001 a crash of a peer is a result
            answers |= {job["id"]: {"error": repr(error)} for job in mine}
            continue
        for job in mine:
            start = time.perf_counter()
            try:
                answer: dict[str, Any] = estimate(shape, job)
            except Exception as error:  # noqa: BLE001
                answer = {"error": repr(error)}
            answers[job["id"]] = answer | {"seconds": time.perf_counter() - start}
    print(json.dumps({"version": version("llama-mdl"), "answers": answers, "whole": seconds}))


def estimate(shape: Any, job: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Give one job's bytes by place and term."""
    asked = dict(job["arguments"])
    asked["ctx"] = asked["ctx"] or shape.inv.n_ctx_train
    memory = model.memory(shape, model.Flags(**asked))
    if not job["gpus"]:
        memory = memory.on_host()
    return {
        "host": {"weights": memory.host_weights, "context": memory.host_kv + memory.host_rs, "compute": memory.host_compute},
        "gpu0": {"weights": memory.gpu_weights, "context": memory.gpu_kv + memory.gpu_rs, "compute": memory.gpu_compute},
    }


if __name__ == "__main__":
    main()
