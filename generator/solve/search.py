"""The search: exact, best first.

A graph costs a thousand times what the rest of a point's figures cost, so points are taken in the order of a bound that cannot be
above their true key, and the graph is made for the one in front only. The first point that stays in front with its true key is the
best of the whole grid.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

from generator.solve.goals import Key, Order
from generator.solve.grid import Point
from generator.solve.space import Need, Space

Wanted = Callable[[Point], bool]

AGAIN = -1
"""In the place of its queue's number, that a point was in front before, so that its queue went on."""


def everything(_: Point) -> bool:
    """Want every point."""
    return True


def best(order: Order, wanted: Wanted = everything) -> Point | None:
    """Give the best point that fits, of those that are wanted; None where none of them fits."""
    space = order.space

    def settled(point: Point) -> tuple[Key, bool] | None:
        if not space.fits(point):
            return None
        own = space.need(point, space.runs[0])
        return None if own is None else (order.key(point, space.slack(own)), True)

    found = _first(_queues(order, wanted), settled)
    return None if found is None else found[1]


def _queues(order: Order, wanted: Wanted) -> Iterator[Iterator[tuple[Key, Point]]]:
    """Give, for all axes but the depth, the depths that may fit with the bounds of their keys, the smallest first."""
    space = order.space
    for top in _tops(space):
        held = space.columns(top, space.runs[0]).held
        depths = order.sorted(_may_fit(space, top), [space.budget.usable - space.budget.reserve - size for size in held])
        yield ((order.key(point, space.slack(space.bound(point)[0])), point) for point in filter(wanted, _at(top, depths)))


def _at(top: Point, depths: Iterable[int]) -> Iterator[Point]:
    return (Point(*top[:-1], depth) for depth in depths)


def _tops(space: Space) -> Iterator[Point]:
    grid = space.grid
    for quant in range(len(space.quants)):
        for n_ctx in grid.contexts:
            for caches in grid.caches:
                for n_ubatch in grid.micro_batches:
                    yield Point(quant, n_ctx, caches, n_ubatch, 0)


def _may_fit(space: Space, top: Point) -> list[int]:
    """Give the depths at which nothing but a graph could keep a point from fitting."""
    budget, columns = space.budget, [space.columns(top, run) for run in space.runs]
    on_card = map(max, zip(*(each.card for each in columns), strict=True)) if len(columns) > 1 else columns[0].card
    fitting = [depth for depth, size in enumerate(on_card) if size <= budget.usable]
    if budget.ram is None:
        return fitting
    room = budget.ram - budget.beside
    return [depth for depth in fitting if all(each.host[depth] <= room for each in columns)]


def _first(queues: Iterable[Iterator[tuple[Key, Point]]], settled: Callable[[Point], tuple[Key, bool] | None]) -> tuple[Key, Point] | None:
    """Give the point whose true key is the smallest, with that key.

    `settled` gives a better bound of a point's key, and whether that is the key itself; or None for a point that is out.
    """
    heap: list[tuple[Key, Point, int, bool]] = []
    rest = list(queues)
    for number, queue in enumerate(rest):
        _push(heap, number, queue)
    while heap:
        key, point, number, is_true = heapq.heappop(heap)
        if is_true:
            return key, point
        if number >= 0:
            _push(heap, number, rest[number])
        found = settled(point)
        if found is not None:
            heapq.heappush(heap, (found[0], point, AGAIN, found[1]))
    return None


def _push(heap: list[tuple[Key, Point, int, bool]], number: int, queue: Iterator[tuple[Key, Point]]) -> None:
    following = next(queue, None)
    if following is not None:
        heapq.heappush(heap, (following[0], following[1], number, False))


# --- where nothing fits ----------------------------------------------------------------------------


def least_card(space: Space) -> int | None:
    """Give the smallest usable memory of a card, in bytes, with which something fits on this host; None where the host is too small."""
    deepest_first = range(len(space.grid.depths) - 1, -1, -1)
    return _least(space, deepest_first, lambda needs: max(need.card(space.budget) for need in needs), lambda over: not over[1])


def least_host(space: Space) -> int | None:
    """Give the smallest host memory, in bytes, with which something fits on this card; None where the card is too small."""
    shallowest_first = range(len(space.grid.depths))
    return _least(space, shallowest_first, lambda needs: max(space.host(need) for need in needs), lambda over: not over[0])


def _least(
    space: Space, depths: Sequence[int], size: Callable[[Sequence[Need]], int], rest_fits: Callable[[tuple[int, int]], bool]
) -> int | None:
    """Give the smallest size of the points whose other side fits; along `depths` its bound never falls."""

    def passes(needs: Sequence[Need]) -> bool:
        return all(rest_fits(space.over(need)) for need in needs)

    known: dict[Point, dict[str, Need]] = {}

    def settled(point: Point) -> tuple[Key, bool] | None:
        """Make the graph of one run more, the one that asks for most as far as is known."""
        exact = known.setdefault(point, {})
        needs = [exact.get(need.name, need) for need in space.bound(point)]
        left = [need for need in needs if need.name not in exact]
        if left:
            most = max(left, key=lambda need: size([need]))
            found = space.need(point, next(run for run in space.runs if run.name == most.name))
            if found is None:
                return None
            exact[most.name] = found
            needs = [exact.get(need.name, need) for need in needs]
        return ((size(needs),), len(left) <= 1) if passes(needs) else None

    def queue(top: Point) -> Iterator[tuple[Key, Point]]:
        return (((size(needs),), point) for point in _at(top, depths) if passes(needs := space.bound(point)))

    found = _first(map(queue, _tops(space)), settled)
    needs = None if found is None else space.needs(found[1])
    return None if needs is None else size(needs)
