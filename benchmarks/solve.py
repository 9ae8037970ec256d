"""How long `gen solve` takes for one model on one card, the start of the interpreter included, and how many graphs it makes.

    .venv/bin/python -m benchmarks.solve [--runs 5]

Prints the best and the median of wall-clock and processor seconds for each case, and as a measure of the machine what ten million
additions take in a loop (about half a second where nothing else runs).
"""

# ruff: noqa: INP001, S603, T201
from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time

from generator.solve.answer import solve
from generator.solve.goals import Goal
from generator.solve.question import ask

PAIR = ("apodex-mini", "rtx-5070")
CASES = [*([*PAIR, "--goal", str(goal)] for goal in Goal), [*PAIR, "--ctx", "65536"], [*PAIR, "--ram", "16GiB"]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Time `gen solve`.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each case (default: 5)")
    runs = parser.parse_args().runs
    print(f"ten million additions: {additions():.2f} s")
    print("| command | wall, best | median | processor, best | median |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for case in CASES:
        wall, processor = zip(*(timed(case) for _ in range(runs)), strict=True)
        figures = [min(wall), statistics.median(wall), min(processor), statistics.median(processor)]
        print(f"| gen solve {' '.join(case)} | {' | '.join(f'{seconds:.2f} s' for seconds in figures)} |")
    for goal in Goal:
        question = ask(*PAIR, goal)
        solve(question)
        space, grid = question.space, question.space.grid
        points = len(space.quants) * len(grid.contexts) * len(grid.caches) * len(grid.micro_batches) * len(grid.depths)
        print(f"{goal}: {points:,} points, {len(space.runs)} runs each; {space.graphs} graphs made")


def additions() -> float:
    """Give the processor seconds of ten million additions."""
    start, total = time.process_time(), 0
    for number in range(10**7):
        total += number
    return time.process_time() - start


def timed(case: list[str]) -> tuple[float, float]:
    """Give the seconds of one run on the clock and on the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "generator.cli", "solve", *case], check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
