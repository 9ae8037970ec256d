"""A traced graph has the shapes of the graph that is made for the settings themselves."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from random import Random

import pytest

from generator.catalog import Catalog
from generator.guide.planner import planner_json
from generator.memory.architectures import layers_of
from generator.memory.builds import Build
from generator.memory.graph.buffers import MASKS_IN_F32
from generator.memory.graph.tensor import Tensor
from generator.planner.encode import Encoder
from generator.planner.family import FIRST, USUAL, Family, manners
from generator.planner.symbols import Symbol
from generator.planner.trace import Traced, trace
from tests.planner.conftest import PAGES, ROOT, data_of, subject

BY_MODEL: dict[str, list[str]] = {}
for _model, _page in Catalog.open(ROOT).recipes():
    BY_MODEL.setdefault(_model, []).append(f"{_model}/{_page}")


def traced(page: str) -> Traced:
    _, about = subject(page)
    build = about.recipe.build
    return Traced(about.model, layers_of(about.model, build), Build.named(build) in MASKS_IN_F32, on_host=False)


def evaluated(numbers: tuple[int, ...], values: dict[str, int]) -> tuple[int, ...]:
    return tuple(number.polynomial.at(values) if isinstance(number, Symbol) else number for number in numbers)


def at(tensor: Tensor, values: dict[str, int]) -> tuple[object, ...]:
    return tensor.op, tensor.type, tensor.name, evaluated(tensor.ne, values), evaluated(tensor.nb, values)


@pytest.mark.parametrize("page", PAGES)
def test_a_trace_gives_the_shapes_of_other_settings(page: str) -> None:
    about, random = traced(page), Random(page)
    for manner in random.sample(list(manners(about)), 3):
        once = trace(about, manner, USUAL)
        values = {"N": random.randint(2, 700), "S": random.randint(2, 9), "O": random.randint(2, 9)}
        values |= {f"C{index}": random.randint(1, 512) for index in range(len(about.layers.caches))}
        again = trace(about, manner, values)
        assert once.conditions.hold(values)
        types = {"k": 34 if manner.keys == "q8_0" else 2, "v": 34 if manner.values == "q8_0" else 2}
        wanted = [(tensor.op, tensor.type, tensor.name, tuple(map(int, tensor.ne)), tuple(map(int, tensor.nb))) for tensor in again.tensors]
        assert [at(tensor, values | types) for tensor in once.tensors] == wanted


@pytest.mark.parametrize("page", PAGES)
def test_a_few_blocks_stand_for_all(page: str) -> None:
    about = traced(page)
    family = Family(about)
    manner = next(each for each in manners(about) if each != FIRST and not each.flash)
    assert family.variants(manner)[0].graph == family.encoder.encoded(trace(about, manner, USUAL))


@pytest.mark.slow
@pytest.mark.parametrize("page", [pages[0] for pages in BY_MODEL.values()])
def test_a_few_blocks_stand_for_all_in_every_manner(page: str) -> None:
    about = traced(page)
    family = Family(about)
    for manner in manners(about):
        assert family.variants(manner)[0].graph == family.encoder.encoded(trace(about, manner, USUAL)), manner.name


def test_blocks_of_a_kind_are_one_segment() -> None:
    about = traced("llama-3.1-8b/rtx-3070")
    segments = Encoder().encoded(trace(about, FIRST, USUAL)).segments
    assert len(segments) == 33 and len(set(segments)) == 4  # before the blocks, the first, those between, the last


@pytest.mark.parametrize("page", PAGES)
def test_the_data_of_a_page_are_small(page: str) -> None:
    text = json.dumps(data_of(page), separators=(",", ":"))
    assert len(text) < 50_000
    assert len(gzip.compress(text.encode())) < 10_000


def test_the_scripts_are_small() -> None:
    scripts = list((ROOT / "site" / "assets" / "planner").glob("*.js"))
    assert len(scripts) > 5
    assert sum(len(gzip.compress(script.read_bytes())) for script in scripts) < 60_000


def test_a_recipe_that_does_more_has_no_planner() -> None:
    sources, about = subject("gpt-oss-20b/rtx-5070")
    for more in ({"override_tensor": "exps=CPU"}, {"spec_type": "draft-mtp"}, {"split_mode": "none"}):
        recipe = replace(about.recipe, settings={**about.recipe.settings, **more})
        assert planner_json(replace(sources, recipe=recipe), about.under(recipe)) is None
