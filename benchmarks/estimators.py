"""How far memory estimators are from what llama.cpp says it would allocate: ours, PyPI's llama-mdl and npm's node-llama-cpp.

    python -m benchmarks.estimators --peers FOLDER [--folder RECORDED] [--json FILE]

RECORDED holds GGUF headers and, a line each, a command line with the bytes of weights, context (cache and recurrent state) and compute
that the engine reports for it by device. Every tool gets the same files (the header, and a hole of the size of the weights) and every
line it has words for. The peers are installed under FOLDER on the first run; they are no dependencies of the project.
"""

# ruff: noqa: INP001, S603, T201
from __future__ import annotations

import argparse
import collections
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import peers
from generator.errors import GenError
from generator.memory.plan import Plan, make_plan
from generator.memory.settings import parse_flags
from generator.planning import model_of, plan

MIB = 2**20
OURS = "gen"
RECORDED = Path(__file__).resolve().parents[2] / "shared/engine-truth"
TERMS = ("weights", "context", "compute")
SHORT = 64 * MIB
"""An estimate that is short by more than this is counted: what it says fits may not."""

Line = dict[str, Any]
Answers = dict[str, Any]
Row = tuple[str, str, str]
"""A term, where it is (device or host), and of which lines: programs differ in what compute they reserve, caches in their types."""


# --- what was recorded ---------------------------------------------------------------------------


def headers(folder: Path, scratch: Path) -> dict[str, str]:
    """Write every header out as a sparse file of the model's real size, and give name and path."""
    found = {}
    for name, entry in json.loads((folder / "models/index.json").read_text(encoding="utf-8")).items():
        raw = (folder / "models" / entry["head"]).read_bytes()
        path = scratch / f"{name}.gguf"
        with path.open("wb") as out:
            out.write(gzip.decompress(raw) if entry["head"].endswith(".gz") else raw)
            out.truncate(entry["total_bytes"])
        found[name] = str(path)
    return found


def lines_of(folder: Path, model: str | None) -> dict[str, Line]:
    """Give the lines the engine answered, by a number of their own."""
    rows = [json.loads(row) for row in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = [row for row in rows if row["status"] == "ok" and model in (None, row["model"])]
    return {str(number): row for number, row in enumerate(kept)}


def engine_bytes(line: Line) -> dict[str, dict[str, int]]:
    """Give the engine's bytes by device and term. A draft head's own cache is context; its compute is no tool's subject."""
    found = {name: {term: device[term] for term in TERMS} for name, device in line["devices"].items()}
    for name, figures in (line.get("draft_context") or {}).get("bytes", {}).items():
        found["host" if name == "Host" else "gpu0"]["context"] += figures[1]
    return found


# --- the answers ---------------------------------------------------------------------------------


def ask_ours(lines: dict[str, Line], files: dict[str, str]) -> Answers:
    """Give our answers and what they took, as a peer's driver gives its own."""
    answers: dict[str, Any] = {}
    whole = {}
    for name, path in files.items():
        mine = {key: line for key, line in lines.items() if line["model"] == name}
        if not mine:
            continue
        line = next(iter(mine.values()))
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            plan(path, line["flags"], program=line["program"], gpus=line["gpus"], build=line["engine"])
            seconds.append(time.perf_counter() - start)
        whole[name] = min(seconds)
        model = model_of(path)
        for key, line in mine.items():
            start = time.perf_counter()
            try:
                made = make_plan(model, parse_flags(line["flags"], line["program"]), gpus=line["gpus"], build=line["engine"])
                answer: dict[str, Any] = bytes_of(made)
            except GenError as error:
                answer = {"error": str(error)}
            answers[key] = answer | {"seconds": time.perf_counter() - start}
    return {"version": "this repository", "answers": answers, "whole": whole, "silent": {}}


def bytes_of(made: Plan) -> dict[str, dict[str, int]]:
    """Give a plan's bytes by device and term."""
    found = {
        device.name: {"weights": device.weights, "context": device.kv + device.recurrent, "compute": device.compute}
        for device in (made.host, *made.gpus)
    }
    if made.draft:
        for figures, draft in zip(found.values(), (made.draft.host, *made.draft.gpus), strict=True):
            figures["context"] += int(draft)
    return found


def ask_peer(
    command: list[str], put: Callable[[str, str, int], dict[str, object] | str], lines: dict[str, Line], files: dict[str, str], jobs: Path
) -> Answers:
    """Give a peer's answers, and of the lines it has no words for what it lacks."""
    silent, asked = {}, []
    for key, line in lines.items():
        arguments = put(line["flags"], line["program"], line["gpus"])
        if isinstance(arguments, str):
            silent[key] = arguments
        else:
            asked.append({"id": key, "model": line["model"], "gpus": line["gpus"], "arguments": arguments})
    jobs.write_text(json.dumps({"models": files, "jobs": asked}), encoding="utf-8")
    done = subprocess.run([*command, str(jobs)], check=True, stdout=subprocess.PIPE, text=True)
    found: Answers = json.loads(done.stdout)
    return found | {"silent": silent}


# --- how far off ---------------------------------------------------------------------------------


def errors_of(lines: dict[str, Line], tool: Answers, keys: Iterable[str]) -> dict[Row, list[tuple[int, int]]]:
    """Give by row the pairs of estimate and engine, in bytes, over the lines of some keys."""
    pairs = collections.defaultdict(list)
    for key in keys:
        line, answer = lines[key], tool["answers"][key]
        kinds = {"weights": "all", "context": caches_of(line), "compute": line["program"]}
        for name, engine in engine_bytes(line).items():
            place = "host" if name == "host" else "device"
            for term, kind in kinds.items():
                if term != "compute" or line["compute_trusted"]:
                    pairs[term, place, kind].append((int(answer[name][term]), engine[term]))
            if line["compute_trusted"]:
                whole = sum(int(answer[name][term]) for term in TERMS)
                pairs["all three", place, line["program"]].append((whole, sum(engine.values())))
    return pairs


def caches_of(line: Line) -> str:
    """Give whether a line's cache is of plain floats or quantised, in K or V."""
    flags = peers.flags_of(line["flags"])
    return "plain caches" if {flags["-ctk"], flags["-ctv"]} <= {"f32", "f16", "bf16"} else "quantised caches"


def summary(pairs: list[tuple[int, int]]) -> dict[str, float]:
    """Give the figures of a row: errors in MiB, shares from 0 to 1."""
    errors = sorted(abs(estimate - engine) for estimate, engine in pairs)
    count = len(errors)
    return {
        "lines": count,
        "median": statistics.median(errors) / MIB,
        "p95": errors[max(0, -(-95 * count // 100) - 1)] / MIB,
        "max": errors[-1] / MIB,
        "within_1": sum(abs(estimate - engine) * 100 <= engine for estimate, engine in pairs) / count,
        "within_5": sum(abs(estimate - engine) * 20 <= engine for estimate, engine in pairs) / count,
        "short": sum(engine - estimate > SHORT for estimate, engine in pairs) / count,
    }


def answered(tool: Answers) -> set[str]:
    """Give the lines a tool answered."""
    return {key for key, answer in tool["answers"].items() if "error" not in answer}


def table(lines: dict[str, Line], tools: dict[str, Answers], keys: dict[str, set[str]]) -> dict[Row, dict[str, dict[str, float]]]:
    """Give the figures by row and tool, each over its lines."""
    by_tool = {name: errors_of(lines, tool, sorted(keys[name], key=int)) for name, tool in tools.items()}
    return {row: {name: summary(pairs[row]) for name, pairs in by_tool.items() if row in pairs} for row in order(by_tool[OURS])}


def order(rows: Iterable[Row]) -> list[Row]:
    """Give rows in the order they are printed in."""
    rank = (*TERMS, "all three").index
    return sorted(rows, key=lambda row: (rank(row[0]), row[1], row[2]))


def not_best(found: dict[Row, dict[str, dict[str, float]]]) -> list[str]:
    """Give in words where a peer is nearer the engine than we are; errors below a tensor's alignment are none."""
    words = []
    for row, by_tool in found.items():
        ours = by_tool[OURS]
        for name, peer in by_tool.items():
            worse = [what for what in ("median", "p95", "max") if ours[what] > max(peer[what], 1 / 16)]
            worse += [what for what in ("within_1", "within_5") if ours[what] < peer[what]]
            if worse:
                words.append(f"{', '.join(row)}: {name} is nearer by {', '.join(worse)}")
    return words


def times(tool: Answers) -> tuple[float, float]:
    """Give the median seconds of an estimate, the header read already, and with reading it."""
    return statistics.median(answer["seconds"] for answer in tool["answers"].values() if "seconds" in answer), statistics.median(
        tool["whole"].values()
    )


# --- printing ------------------------------------------------------------------------------------


def print_table(found: dict[Row, dict[str, dict[str, float]]]) -> None:
    """Print rows as a Markdown table."""
    print("| term | where | of | tool | lines | median | 95 % | max | within 1 % | within 5 % | short |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for (term, place, kind), by_tool in found.items():
        for name, row in by_tool.items():
            size = " | ".join(f"{row[what]:,.1f}" for what in ("median", "p95", "max"))
            share = " | ".join(f"{100 * row[what]:.1f} %" for what in ("within_1", "within_5", "short"))
            print(f"| {term} | {place} | {kind} | {name} | {row['lines']:,} | {size} | {share} |")


def print_counts(lines: dict[str, Line], tools: dict[str, Answers]) -> None:
    """Print what each tool answered, what it has no words for, where it failed, and what an estimate took."""
    print("| tool | version | answered | cannot say | failed | per estimate | with reading |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name, tool in tools.items():
        failed = len(tool["answers"]) - len(answered(tool))
        once, whole = times(tool)
        counts = f"{len(answered(tool)):,} | {len(tool['silent']):,} | {failed:,}"
        print(f"| {name} | {tool['version']} | {counts} | {once * 1e3:.2f} ms | {whole * 1e3:.1f} ms |")
    for name, tool in tools.items():
        if tool["silent"]:
            lacking = collections.Counter(tool["silent"].values())
            print(f"\n{name} cannot say: " + ", ".join(f"{what} {count}" for what, count in lacking.most_common()))
        errors = {key: answer["error"] for key, answer in tool["answers"].items() if "error" in answer}
        for (arch, error), count in collections.Counter((lines[key]["arch"], error) for key, error in errors.items()).most_common():
            print(f"\n{name} failed on {count} lines of {arch}: {error}")


def main() -> int:
    """Ask, compare and print; give 1 where a peer is nearer the engine than we are."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, default=RECORDED, help="what the engine said: models/ and truth.jsonl")
    parser.add_argument("--peers", type=Path, help="where the peers are, or are to be installed; without it, ours alone")
    parser.add_argument("--model", help="only lines of this model")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures and every answer there too")
    args = parser.parse_args()
    lines = lines_of(args.folder, args.model)
    if not lines:
        parser.error(f"{args.folder} has no line that the engine answered" + (f" of {args.model}" if args.model else ""))
    if args.peers:
        peers.install(args.peers)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        files = headers(args.folder, scratch)
        tools = {OURS: ask_ours(lines, files)}
        for peer, command in (peers.commands(args.peers) if args.peers else {}).items():
            tools[peer] = ask_peer(command, peers.PUT[peer], lines, files, scratch / "jobs.json")
    each = table(lines, tools, {name: answered(tool) for name, tool in tools.items()})
    common = set.intersection(*(answered(tool) for tool in tools.values()))
    shared = table(lines, tools, dict.fromkeys(tools, common))
    print(f"{len(lines):,} lines the engine answered, errors in MiB\n")
    print_counts(lines, tools)
    print(f"\nOn the {len(common):,} lines that every tool answers:\n")
    print_table(shared)
    print("\nEach on the lines it answers:\n")
    print_table(each)
    nearer = not_best(shared)
    print("\n" + ("\n".join(nearer) or "No tool is nearer the engine than ours on any row."))
    if args.json:
        write_json(args.json, tools, each, shared)
    return int(bool(nearer))


def write_json(path: Path, tools: dict[str, Answers], *tables: dict[Row, dict[str, dict[str, float]]]) -> None:
    """Write the figures of both tables, what each estimate took, and every answer."""
    each, shared = (
        [{"term": term, "where": place, "of": kind, "tools": by_tool} for (term, place, kind), by_tool in found.items()] for found in tables
    )
    seconds = {name: dict(zip(("estimate", "with_reading"), times(tool), strict=True)) for name, tool in tools.items()}
    path.write_text(json.dumps({"every_tool": shared, "each": each, "seconds": seconds, "tools": tools}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
