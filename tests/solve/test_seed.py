"""The solver and the published guide of Apodex 1.1 mini on an RTX 5070."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from generator.memory.budget import Policy
from generator.solve.goals import Goal, Order
from generator.solve.grid import Grid, Point
from generator.solve.question import Question, ask
from generator.solve.search import best
from generator.solve.space import Budget, Space

ROOT = Path(__file__).parents[2]
PUBLISHED = Point(0, 65_536, ("q8_0", "q8_0"), 512, 26)
EMBEDDING = 248_320 * 2048 // 256 * 144
"""Bytes of the input embedding: 248,320 rows of 2048 elements in Q4_K."""


@pytest.fixture(scope="module")
def question() -> Question:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.delenv("GEN_ROOT", raising=False)
        return ask("apodex-mini", "rtx-5070")


def changed(question: Question, *, policy: Policy, fallbacks: bool = True, margin: int | None = None) -> Space:
    """Give the question's space for the published context, caches and micro-batch alone."""
    given = question.space
    budget = given.budget if margin is None else replace(given.budget, margin=margin)
    grid = Grid((65_536,), (("q8_0", "q8_0"),), (512,), given.grid.depths)
    runs = {run.name: run.over for run in given.runs[1:]} if fallbacks else {}
    return Space(given.quants, grid, given.base, budget, policy=policy, backend="cuda", build=given.build, fallbacks=runs)


def depth_of(space: Space) -> int:
    point = best(Order(space, Goal.FASTEST))
    assert point is not None
    return space.grid.depths[point.depth].n_cpu_moe


def test_the_published_settings_fit(question: Question) -> None:
    space = question.space
    assert space.fits(PUBLISHED)
    needs = space.needs(PUBLISHED)
    assert needs is not None
    # 8.891, 9.184 and 9.477 GiB in the published ladder, all with buffers inside the reserve of 1024 MiB
    assert [round(need.held / 2**30, 3) for need in needs] == [8.891, 9.184, 9.477]
    assert round(space.slack(needs[0]) / 2**30, 3) == 1.109
    assert all(need.compute < 2**30 for need in needs)


def test_the_fastest_at_the_published_context_and_caches_has_the_published_depth(question: Question) -> None:
    assert depth_of(changed(question, policy=Policy.PUBLISHED)) == 26


@pytest.mark.parametrize(
    ("policy", "fallbacks", "margin", "depth"),
    [
        # The embedding in host memory leaves 273 MiB more: 25 clears with f16 caches, as the guide says
        (Policy.ENGINE, True, None, 25),
        # Without the way out that the guide keeps open, its own two blocks fewer: 24@65536 is 9.799 GiB of 10.0
        (Policy.PUBLISHED, False, 0, 24),
    ],
)
def test_another_budget_gives_the_depth_the_guide_says_it_would(
    question: Question, policy: Policy, fallbacks: bool, margin: int | None, depth: int
) -> None:
    assert depth_of(changed(question, policy=policy, fallbacks=fallbacks, margin=margin)) == depth


def test_the_traffic_is_the_published_one(question: Question) -> None:
    host, card = question.space.reads(PUBLISHED)
    assert host == 394_002_432
    # The guide's figure has the whole window's cache in it, 713,031,680, and under its policy the input embedding
    assert card == 2_866_997_760 - 713_031_680 - EMBEDDING


def test_the_published_micro_batch_and_context_cost_no_block(question: Question) -> None:
    """At the recipe's context the solver keeps its depth, and takes better caches and a larger micro-batch: both were free.

    The fallback with caches in f16 binds at 26, so caches in f16 fit with flash attention too; buffers stay inside the reserve.
    """
    point = best(Order(question.space, Goal.FASTEST), lambda point: point.n_ctx == 65_536)
    assert point == PUBLISHED._replace(caches=("f16", "f16"), n_ubatch=2048)


def test_the_budget_is_the_recipes(question: Question) -> None:
    # 11 GiB usable, the engine's 1 GiB, more than 256 MiB for fallbacks; 2048 MiB of prompt cache and 4 GiB for the system
    assert question.space.budget == Budget(11 * 2**30, 2**30, 256 * 2**20 + 1, None, 6 * 2**30)
    assert question.left_out == tuple((name, "only the size of its file is known, not its header") for name in ("IQ4_XS", "IQ2_M"))
