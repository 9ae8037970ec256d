"""Small spaces, and real headers cut down to a few blocks so that a graph takes milliseconds."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from generator.gguf import read_header
from generator.memory.budget import Policy
from generator.memory.model import Model
from generator.planning import metadata_of, model_of, rows_of
from generator.solve.goals import Key, Order
from generator.solve.grid import Depth, Grid, Point, depths
from generator.solve.space import Budget, Quant, Space, Written
from tests.gguf.raw import Memory
from tests.memory.models import build

HEADERS = Path(__file__).parents[1] / "data/engine_truth"
MIB = 2**20


@cache
def header(name: str) -> Model:
    """Give the model of a header of tests/data."""
    found = next(HEADERS.glob(f"{name}.gguf.head*"))
    if found.suffix != ".gz":
        return model_of(found)
    return model_of(read_header(Memory(gzip.decompress(found.read_bytes())), whole=False))


@cache
def cut(name: str, blocks: int) -> Model:
    """Give a header's model as if it had so many blocks and no draft head."""
    whole = header(name)
    rows = [[tensor.name, tensor.type, list(tensor.shape), int(tensor.size)] for tensor in whole.tensors if (tensor.block or 0) < blocks]
    metadata = {**whole.metadata, f"{whole.architecture}.block_count": blocks}
    metadata.pop(f"{whole.architecture}.nextn_predict_layers", None)
    return Model.build(metadata, rows, whole.metadata_fact, whole.tensors_fact)


def space(
    models: Model | list[Model],
    usable: int,
    *,
    contexts: tuple[int, ...] = (4096, 8192),
    caches: tuple[tuple[str, str], ...] = (("f16", "f16"), ("q8_0", "q8_0")),
    micro_batches: tuple[int, ...] = (512, 2048),
    base: Written | None = None,
    ram: int | None = None,
    reserve: int = 0,
    margin: int = 0,
    fallbacks: Mapping[str, Written] | None = None,
    policy: Policy = Policy.ENGINE,
    deep: tuple[Depth, ...] | None = None,
    gpus: int = 1,
) -> Space:
    """Give a small space on CUDA cards."""
    quants = [Quant(str(place), f"{place}.gguf", model) for place, model in enumerate(models if isinstance(models, list) else [models])]
    settings = {"n_parallel": 1, "flash_attn": "on", "cache_ram": 0, **(base or {})}
    from generator.memory.settings import Settings

    grid = Grid(contexts, caches, micro_batches, deep or depths(quants[0].model, Settings.from_recipe(settings)))
    budget = Budget(usable, reserve, margin, ram, gpus=gpus)
    return Space(quants, grid, settings, budget, policy=policy, backend="cuda", fallbacks=fallbacks)


def points(searched: Space) -> Iterator[Point]:
    """Give every point of a space."""
    grid = searched.grid
    for quant in range(len(searched.quants)):
        for n_ctx in grid.contexts:
            for caches in grid.caches:
                for n_ubatch in grid.micro_batches:
                    yield from (Point(quant, n_ctx, caches, n_ubatch, depth) for depth in range(len(grid.depths)))


def by_brute_force(order: Order) -> list[tuple[Key, Point]]:
    """Give every point that fits with its key, the best first: each one's graph is made."""
    searched, found = order.space, []
    for point in points(searched):
        needs = searched.needs(point)
        if needs is not None and all(searched.over(need) == (0, 0) for need in needs):
            found.append((order.key(point, searched.slack(needs[0])), point))
    return sorted(found)


__all__ = ["HEADERS", "MIB", "build", "by_brute_force", "cut", "header", "metadata_of", "points", "rows_of", "space"]
