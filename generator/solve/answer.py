"""The answer to a question: the choice, the runner-up, what one more step on each axis would cost, and what binds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from generator.solve.goals import Order
from generator.solve.grid import Point, precision
from generator.solve.question import Question
from generator.solve.search import best, least_card, least_host
from generator.solve.space import Need, Space


@dataclass(frozen=True, slots=True)
class Step:
    """One more step from the choice on one axis: `cost` in bytes more on the card, `over` by how much on card and host.

    `needs` are those of all runs; where arithmetic alone rules the step out, they are lower bounds. `worst` is the run that is over most.
    """

    axis: str
    point: Point
    needs: tuple[Need, ...]
    cost: int
    over: tuple[int, int]
    worst: Need

    @property
    def fits(self) -> bool:
        """Tell whether the step could be taken."""
        return self.over == (0, 0)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found. `choice` is None where nothing fits; then `card` and `host` are the least memory with which something would.

    The runner-up is the best of the points that have something over the choice: a longer context, better caches, a larger micro-batch,
    a larger file, or fewer bytes to read.
    """

    question: Question
    choice: Point | None
    needs: tuple[Need, ...] = ()
    runner_up: Point | None = None
    steps: tuple[Step, ...] = ()
    card: int | None = None
    host: int | None = None


def solve(question: Question) -> Answer:
    """Search the question's space. Nothing that fits is an answer too."""
    space = question.space
    order = Order(space, question.goal)
    choice = best(order)
    if choice is None:
        return Answer(question, None, card=least_card(space), host=least_host(space))
    runner_up = best(order, lambda point: has_something_over(space, point, choice))
    needs = tuple(space.needs(choice) or ())
    return Answer(question, choice, needs, runner_up, tuple(_steps(question, choice)))


def has_something_over(space: Space, point: Point, other: Point) -> bool:
    """Tell whether a point is better than another in anything a reader may want, memory left over aside."""
    return (
        point.n_ctx > other.n_ctx
        or point.n_ubatch > other.n_ubatch
        or precision(point.caches) > precision(other.caches)
        or space.reads(point) < space.reads(other)
        or space.sizes[point.quant] > space.sizes[other.quant]
    )


def _steps(question: Question, choice: Point) -> Iterator[Step]:
    space = question.space
    for axis, point in _moves(question, choice):
        bound = space.bound(point)
        ruled_out = any(space.over(need) != (0, 0) for need in bound)
        needs, before = (bound, space.bound(choice)) if ruled_out else (space.needs(point), space.needs(choice))
        if needs is not None and before is not None:
            yield _step(space, axis, point, needs, before[0])


def _step(space: Space, axis: str, point: Point, needs: Sequence[Need], before: Need) -> Step:
    reserve, own = space.budget.reserve, needs[0]
    cost = own.held + max(reserve, own.compute) - before.held - max(reserve, before.compute)
    over = [space.over(need) for need in needs]
    worst = max(needs, key=lambda need: (max(space.over(need)), need.card(space.budget)))
    return Step(axis, point, tuple(needs), cost, (max(card for card, _ in over), max(host for _, host in over)), worst)


def _moves(question: Question, choice: Point) -> Iterator[tuple[str, Point]]:
    """Give the next better point on each axis, the other axes as they are."""
    space, grid = question.space, question.space.grid
    if choice.depth:
        yield "offload", choice._replace(depth=choice.depth - 1)
    longer = [n_ctx for n_ctx in question.longer if n_ctx > choice.n_ctx]
    if longer:
        yield "context", choice._replace(n_ctx=longer[0])
    better = [pair for pair in grid.caches if precision(pair) > precision(choice.caches)]
    if better:
        yield "caches", choice._replace(caches=min(better, key=precision))
    larger = [size for size in grid.micro_batches if size > choice.n_ubatch]
    if larger:
        yield "micro-batch", choice._replace(n_ubatch=min(larger))
    bigger = [(size, place) for place, size in enumerate(space.sizes) if size > space.sizes[choice.quant]]
    if bigger:
        yield "quant", choice._replace(quant=min(bigger)[1])
