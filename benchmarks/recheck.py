"""How many requests and seconds it takes to re-check 1,000 issues: in batches, conditionally, and one by one.

    python benchmarks/recheck.py

The tracker is the emulator of the tests, on this machine and in this process, so the seconds are those of the work at both ends and of
no network; over one, each request adds its way there and back. Nothing changed since the night before. One by one is what
a client does that keeps nothing and has no token; the tracker then has to allow 1,000 requests, where the real one allows 60.
"""

# ruff: noqa: INP001, T201
from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from generator.sources.github import GitHub, Thread
from generator.sources.session import Session
from generator.sources.validators import Validators
from tests.emulator import GITHUB_TOKEN, Emulator

TRACKER = "ggml-org/llama.cpp"
ISSUES = 1000
REQUIRED = {"batched": 12, "conditionally": 1000}
"""How many requests each way may take at most."""


def main() -> int:
    """Print a table; give 1 where a way takes more requests than it may, or answers differ."""
    refs = [(TRACKER, number) for number in range(1, ISSUES + 1)]
    with Emulator() as emulator:
        os.environ |= emulator.environment(tokens=False)
        for _, number in refs:
            emulator.scenario.tracker(TRACKER).thread(number, f"issue {number}", labels=["bug"], comments=number % 17, body="x" * 4000)
        emulator.budgets.limits["github.core"].anonymous = 10 * ISSUES
        kept = Validators()
        ways: dict[str, Callable[[Session], GitHub]] = {
            "one by one": GitHub,
            "conditionally": GitHub,
            "batched": lambda session: GitHub(session, GITHUB_TOKEN),
        }
        with Session(kept) as before:
            expected = GitHub(before).threads(refs)
        print("| way | requests | answered 304 | required | seconds |\n| --- | ---: | ---: | ---: | ---: |")
        failed = not all(isinstance(thread, Thread) for thread in expected.values())
        for name, opened in ways.items():
            requests, unchanged, seconds, same = measured(opened, refs, kept if name == "conditionally" else Validators(), expected)
            most = REQUIRED.get(name)
            print(f"| {name} | {requests:,} | {unchanged:,} | {f'at most {most:,}' if most else ''} | {seconds:.2f} |")
            failed |= not same or (most is not None and requests > most) or (name == "conditionally" and unchanged < ISSUES)
    return int(failed)


def measured(
    opened: Callable[[Session], GitHub], refs: list[tuple[str, int]], kept: Validators, expected: object
) -> tuple[int, int, float, bool]:
    """Give the requests of one way, those answered 304, its seconds, and whether it gave what was expected."""
    with Session(kept) as session:
        start = time.perf_counter()
        found = opened(session).threads(refs)
        seconds = time.perf_counter() - start
        unchanged = sum(count for (_, outcome), count in session.spent.items() if outcome == "unchanged")
        return session.requests, unchanged, seconds, found == expected


if __name__ == "__main__":
    sys.exit(main())
