"""The search finds what trying every point finds."""

from __future__ import annotations

from unittest.mock import patch
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generator.solve.answer import has_something_over
from generator.solve.goals import Goal, Key, Order
from generator.solve.grid import Point
from generator.solve.search import best, least_card, least_host
from generator.solve.space import Run, Space
from tests.memory.models import dense, hybrid, tied
from tests.solve.spaces import MIB, by_brute_force, cut, header, points, space

GOALS = [*Goal]


class Invented(Space):
    """A space whose compute buffers are drawn by lot: nothing a graph could do surprises the search."""

    seed = 0
    largest = 1

    def buffers(self, point: Point, run: Run) -> tuple[tuple[int, ...], int, bool] | None:
        drawn = crc32(repr((self.seed, sorted(self.written(point, run).items(), key=str))).encode())
        if drawn % 11 == 0:
            return None  # as if the engine refused it
        at_least = self.columns(point, run).host[point.depth]
        compute = tuple(drawn // (11 + index) % self.largest for index in range(self.budget.gpus))
        return compute, at_least + drawn // 97 % self.largest, False


def invented(searched: Space, seed: int, largest: int) -> Space:
    searched.__class__ = Invented
    searched.seed, searched.largest = seed, largest  # type: ignore[attr-defined]
    return searched


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    models = draw(st.sampled_from([[dense()], [tied()], [hybrid()], [dense(), dense(context_length=2000)]]))
    size = sum(int(tensor.size) for tensor in models[0].tensors)
    fallbacks = draw(st.sampled_from([{}, {"off": {"flash_attn": "off", "type_v": "f16", "n_ubatch": 128}}]))
    searched = space(
        models,
        draw(st.integers(0, 2 * size)),
        contexts=(256, 512),
        micro_batches=(512, 256),
        reserve=draw(st.sampled_from([0, size // 10])),
        margin=draw(st.sampled_from([0, size // 20])),
        ram=draw(st.none() | st.integers(0, 2 * size)),
        fallbacks=fallbacks,
        base=draw(st.sampled_from([{}, {"tensor_split": "2,1"}])),
        gpus=draw(st.sampled_from([1, 1, 2])),
    )
    return invented(searched, draw(st.integers(0, 10**6)), draw(st.sampled_from([1, size // 10, size])))


@pytest.mark.parametrize("goal", GOALS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(searched=spaces(), cushion=st.sampled_from([0, 20_000, 10_000_000]))
def test_the_choice_is_the_best_of_all_points_whatever_the_graphs_take(goal: Goal, searched: Space, cushion: int) -> None:
    with patch("generator.solve.goals.CUSHION", cushion):
        order = Order(searched, goal)
        every = by_brute_force(order)
        choice = best(order)
        assert choice == (every[0][1] if every else None)
        if choice is not None:
            rest = [point for _, point in every if has_something_over(searched, point, choice)]
            runner_up = best(order, lambda point: has_something_over(searched, point, choice))
            assert runner_up == (rest[0] if rest else None)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(searched=spaces())
def test_the_least_memory_is_that_of_the_point_that_needs_least(searched: Space) -> None:
    cards, hosts = [], []
    for point in points(searched):
        needs = searched.needs(point)
        if needs is None:
            continue
        over = [searched.over(need) for need in needs]
        if all(host == 0 for _, host in over):
            cards.append(max(need.card(searched.budget) for need in needs))
        if all(card == 0 for card, _ in over):
            hosts.append(max(searched.host(need) for need in needs))
    assert least_card(searched) == min(cards, default=None)
    assert least_host(searched) == min(hosts, default=None)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("name", ["qwen3moe-30b-a3b", "llama31-8b", "qwen35-4b-tied"])
def test_the_choice_is_the_best_of_all_points_with_the_graphs_of_real_models(goal: Goal, name: str) -> None:
    model = cut(name, 4)
    size = sum(int(tensor.size) for tensor in model.tensors)
    fallbacks = {"off": {"flash_attn": "off", "type_k": "q8_0", "type_v": "f16", "n_ubatch": 128}}
    for usable in (size * 3 // 4, size + 200 * MIB):
        order = Order(space(model, usable, contexts=(4096,), fallbacks=fallbacks, reserve=100 * MIB, margin=30 * MIB), goal)
        every = by_brute_force(order)
        assert best(order) == (every[0][1] if every else None)


@pytest.mark.parametrize("goal", GOALS)
def test_more_memory_on_the_card_never_gives_a_worse_answer(goal: Goal) -> None:
    model = cut("qwen3moe-30b-a3b", 3)
    keys: list[Key] = []
    for usable in range(300 * MIB, 2100 * MIB, 150 * MIB):
        order = Order(space(model, usable, micro_batches=(512,)), goal)
        choice = best(order)
        if choice is None:
            assert not keys
            continue
        needs = order.space.needs(choice)
        assert needs is not None
        keys.append(order.key(choice, order.space.slack(needs[0])))
    assert len(keys) > 3
    assert keys == sorted(keys, reverse=True)


@pytest.mark.parametrize("goal", GOALS)
def test_only_the_graphs_in_front_are_made(goal: Goal) -> None:
    searched = space(header("qwen3moe-30b-a3b"), 10 * 2**30, contexts=(4096, 8192, 16384, 32768), reserve=2**30)
    assert best(Order(searched, goal)) is not None
    assert searched.graphs <= 2
    assert len(list(points(searched))) == 4 * 2 * 2 * 98


def test_what_the_engine_refuses_is_no_answer() -> None:
    # a V in q8_0 without flash attention is refused, so the fallback rules the pair out
    searched = space(cut("llama31-8b", 2), 20 * 2**30, fallbacks={"off": {"flash_attn": "off"}})
    choice = best(Order(searched, Goal.FASTEST))
    assert choice is not None
    assert choice.caches == ("f16", "f16")
