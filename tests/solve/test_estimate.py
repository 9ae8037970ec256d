"""Settings for a file whose tensor table nobody has read: they fit at the upper end of its estimate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from generator.build import build_guide
from generator.catalog import Catalog
from generator.cli import main
from generator.config.estimate import Estimate, estimated
from generator.errors import InputError
from generator.facts import Fact, Facts, Source
from generator.memory.budget import Policy
from generator.memory.model import Model
from generator.planning import estimate_of
from generator.solve.auto import settled
from generator.solve.goals import Goal, Order
from generator.solve.grid import Depth, Point
from generator.solve.search import best, least_card, least_host
from generator.solve.space import Budget, Need, Quant, Space
from tests.config.heads import HEADS, QUANTS, config_of, facts_of_config
from tests.conftest import part_of_project
from tests.memory.models import ROOT
from tests.solve.spaces import MIB, by_brute_force, cut, header, points
from tests.solve.spaces import space as known_space

GRANITE = ("granite-4.0-h-small", "Q4_K_M")
LAYERS = 41


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("GEN_ROOT", raising=False)


def estimate_for(model: Model, quant: str) -> Estimate:
    """Give the estimate of a file of which only the shape and the size are told."""
    source = Source("https://example.org/files")
    size = Fact(f"file.{quant.lower()}.size", sum(int(tensor.size) for tensor in model.tensors), "B", source=source)
    return estimated(model.architecture, Facts([*facts_of_config(config_of(model)), size]), quant, source, where="model.yml")


def under(known: Space, estimate: Estimate, *, upper: bool = True) -> Space:
    """Give the space of an estimate where there is one of a known header; with `upper` off, as if its middle were known."""
    quant = Quant("", "", estimate.model, estimate if upper else None)
    return Space([quant], known.grid, known.base, known.budget, policy=known.policy, backend=known.backend)


def need_of(searched: Space, point: Point) -> Need:
    """Give what the only run of a space needs, graph and all."""
    need = searched.need(point, searched.runs[0])
    assert need is not None
    return need


# --- by hand ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [*Policy])
@pytest.mark.parametrize("blocks", [0, 10, 40])
def test_weights_are_three_percent_of_all_experts_and_fifteen_of_the_rest_above(policy: Policy, blocks: int) -> None:
    # Q4_K_M of a mixture: 3 % of all routed experts, 15 % of other weights (generator/config/tolerance.py), within the file
    estimate = estimate_of(Catalog.open(ROOT), *GRANITE)
    assert estimate is not None
    tensors = estimate.model.tensors
    experts = [tensor for tensor in tensors if "_exps." in tensor.name]
    here = sum(int(tensor.size) for tensor in experts if (tensor.block or 0) >= blocks)
    there = sum(int(tensor.size) for tensor in experts) - here
    embedding = next(int(tensor.size) for tensor in tensors if tensor.name == "token_embd.weight")
    rest = sum(int(tensor.size) for tensor in tensors if tensor not in experts)  # the head is the embedding again: on either side
    all_experts, file = here + there, 19465054464  # recipes/models/granite-4.0-h-small/model.yml

    def more(routed: int, other: int) -> int:
        above = -(-((all_experts * 3 if routed else 0) + other * 15) // 100)
        return max(0, min(above, file - routed - other))

    card = more(here, rest) + (-(-embedding * 15 // 100) if policy is Policy.PUBLISHED else 0)
    grid = known_space(estimate.model, 2**40, policy=policy, deep=(Depth(LAYERS, blocks),))
    upper, middle = (under(grid, estimate, upper=each) for each in (True, False))
    point = next(points(upper))
    [top], [half] = upper.bound(point), middle.bound(point)
    assert top.held - half.held == card
    assert top.host - half.host == more(there, embedding)
    exact, exact_middle = need_of(upper, point), need_of(middle, point)
    assert exact.host - exact_middle.host == more(there, embedding)
    assert exact.compute == exact_middle.compute
    assert upper.reads(point) == middle.reads(point)


# --- against headers that are known ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "usable"),
    [(name, share) for name in ("qwen3moe-30b-a3b", "llama31-8b", "glm47-flash", "qwen3-8b", "gpt-oss-20b") for share in (30, 75)],
)
def test_what_is_chosen_for_an_estimate_fits_by_the_header_it_stands_for(name: str, usable: int) -> None:
    model = header(name)
    file = sum(int(tensor.size) for tensor in model.tensors)
    known = known_space(model, file * usable // 100 + 2**30, caches=(("f16", "f16"),), micro_batches=(512,), reserve=512 * MIB)
    searched = under(known, estimate_for(model, QUANTS[name]))
    choice = best(Order(searched, Goal.FASTEST))
    assert choice is not None
    assert known.fits(choice)


@pytest.mark.parametrize("name", HEADS)
def test_no_known_header_needs_more_than_the_upper_end_at_any_depth(name: str) -> None:
    known = known_space(header(name), 2**40, contexts=(4096,), caches=(("f16", "f16"),), micro_batches=(512,))
    searched = under(known, estimate_for(header(name), QUANTS[name]))
    for point in points(known):
        [real], [upper] = known.bound(point), searched.bound(point)
        assert real.held <= upper.held
        assert real.host <= upper.host


@pytest.mark.parametrize(("name", "depth"), [("glm47-flash", 40), ("kimi-linear-48b", 23)])
def test_the_middle_of_an_estimate_would_pick_what_the_header_refuses(name: str, depth: int) -> None:
    model = header(name)
    estimate = estimate_for(model, QUANTS[name])
    deep = tuple(Depth(int(model.block_count) + 1, blocks) for blocks in range(depth + 2))
    axes: dict[str, Any] = {"contexts": (4096,), "caches": (("f16", "f16"),), "micro_batches": (512,), "deep": deep}
    wide = under(known_space(model, 2**40, **axes), estimate, upper=False)
    need = need_of(wide, Point(0, 4096, ("f16", "f16"), 512, depth))
    known = known_space(model, need.card(wide.budget), **axes)
    middle, upper = (best(Order(under(known, estimate, upper=each), Goal.FASTEST)) for each in (False, True))
    assert middle is not None
    assert middle.depth <= depth
    assert not known.fits(middle)
    assert upper is None or known.fits(upper)
    roomier = known_space(model, need.card(wide.budget) + 1024 * MIB, **axes)
    choice = best(Order(under(roomier, estimate), Goal.FASTEST))
    assert choice is not None
    assert roomier.fits(choice)


# --- the search ------------------------------------------------------------------------------------


@pytest.mark.parametrize("goal", [*Goal])
@pytest.mark.parametrize("name", ["qwen3moe-30b-a3b", "llama31-8b", "qwen35-4b-tied"])
@pytest.mark.parametrize("gpus", [1, 2])
def test_the_search_is_exact_at_the_upper_end_too(goal: Goal, name: str, gpus: int) -> None:
    model = cut(name, 4)
    estimate = estimate_for(model, QUANTS[name])
    size = sum(int(tensor.size) for tensor in model.tensors)
    for usable in (size * 3 // 4 // gpus, size // gpus + 400 * MIB):
        known = known_space(model, usable, contexts=(4096,), reserve=100 * MIB, ram=size, gpus=gpus, policy=Policy.PUBLISHED)
        searched = under(known, estimate)
        every = by_brute_force(Order(searched, goal))
        assert best(Order(searched, goal)) == (every[0][1] if every else None)


@pytest.mark.parametrize("name", ["qwen3moe-30b-a3b", "llama31-8b"])
def test_the_least_memory_is_that_of_the_upper_end(name: str) -> None:
    model = cut(name, 4)
    searched = under(known_space(model, 1, contexts=(4096,), ram=2**40), estimate_for(model, QUANTS[name]))
    needs = [need for point in points(searched) for need in searched.needs(point) or ()]
    assert least_card(searched) == min(need.card(searched.budget) for need in needs)
    roomy = under(known_space(model, 2**40, contexts=(4096,), ram=1), estimate_for(model, QUANTS[name]))
    assert least_host(roomy) == min(need.host for need in needs)


def test_a_header_and_an_estimate_stand_side_by_side() -> None:
    model = cut("llama31-8b", 4)
    estimate = estimate_for(model, "Q4_K_M")
    known = known_space(model, 2**40)
    quants = [Quant("read", "", model), Quant("shape", "", estimate.model, estimate)]
    both = Space(quants, known.grid, known.base, Budget(2**40, 0), policy=Policy.ENGINE, backend="cuda")
    for point in points(known):
        assert both.bound(point) == known.bound(point)
        assert both.needs(point) == known.needs(point)
        assert both.above(point, both.bound(point)[0]) == (0, 0)


def test_a_point_hangs_on_the_estimate_where_its_middle_would_fit() -> None:
    model = cut("qwen3moe-30b-a3b", 4)
    estimate = estimate_for(model, "Q4_K_M")
    wide = known_space(model, 2**40)
    point = next(points(wide))
    upper, middle = (need_of(under(wide, estimate, upper=each), point) for each in (True, False))
    for usable, hangs in ((upper.card(wide.budget) - 1, True), (middle.card(wide.budget), True), (middle.card(wide.budget) - 1, False)):
        tight = under(known_space(model, usable), estimate)
        assert not tight.fits(point)
        assert tight.hangs_on_estimate(point, [upper]) is hangs


# --- what is said ----------------------------------------------------------------------------------


def solved(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["solve", *words]) == 0
    return capsys.readouterr().out


def test_text_says_which_end_its_sizes_are_of(capsys: pytest.CaptureFixture[str]) -> None:
    said = solved(capsys, "qwen3-8b", "rtx-3070")
    assert "the upper end of an estimate: " in said
    assert "weights within 8 %; it fits where it does at the upper end, and sizes here are of that end" in said


def test_json_says_how_far_off_and_which_end(capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = json.loads(solved(capsys, "qwen3-8b", "rtx-3070", "--json"))
    assert found["estimated"] == [
        {"quant": "Q4_K_M", "words": "an estimate, no tensor table is known: weights within 8 %", "percent": {"rest": 8}, "end": "upper"}
    ]
    estimate = estimate_of(Catalog.open(ROOT), "qwen3-8b", "Q4_K_M")
    assert estimate is not None
    on_card = sum(int(tensor.size) for tensor in estimate.model.tensors if tensor.name != "token_embd.weight")
    assert found["choice"]["estimate"]["end"] == "upper"
    assert found["choice"]["settings"]["n_gpu_layers"] == "all"
    assert found["choice"]["estimate"]["above"]["card"] == min(-(-on_card * 8 // 100), 5027783488 - on_card)  # the size in model.yml
    [step] = found["steps"]  # a context half as long again is 576 MiB more, and was 24.7 MiB over with the middle of the estimate
    assert step["hangs_on_estimate"] is False


def test_of_a_known_table_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = json.loads(solved(capsys, "apodex-mini", "rtx-5070", "--ctx", "65536", "--json"))
    assert "estimate" not in found["choice"]
    assert all("hangs_on_estimate" not in step for step in found["steps"])


# --- n_cpu_moe: auto -------------------------------------------------------------------------------


RECIPE = "recipes/models/granite-4.0-h-small/rtx-4080.yml"


def left_open(tmp_path: Path, *changes: tuple[str, str]) -> Catalog:
    project = part_of_project(tmp_path, f"{GRANITE[0]}/rtx-4080")
    path = project / RECIPE
    text = path.read_text(encoding="utf-8")
    for old, new in (("n_cpu_moe: 15", "n_cpu_moe: auto"), *changes):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return Catalog.open(project)


def test_a_depth_left_open_fits_at_the_upper_end_and_one_block_less_does_not(tmp_path: Path) -> None:
    catalog = left_open(tmp_path)
    recipe, chosen = settled(catalog, catalog.recipe(GRANITE[0], "rtx-4080"))
    assert chosen is not None
    guide = build_guide(catalog, GRANITE[0], "rtx-4080")
    page, numbers = guide.files[guide.page], json.loads(guide.files[f"guides/{GRANITE[0]}/rtx-4080/guide.json"])["numbers"]
    assert numbers["budget.highest"]["value"] <= numbers["budget.ceiling"]["value"]
    assert "held against the compute buffers and the upper end of the estimate as well" in page
    # one block less: its experts are on the card, and what the estimate may be off by is as before
    estimate = estimate_of(catalog, *GRANITE)
    assert estimate is not None
    last = f"blk.{chosen.n_cpu_moe - 1}."
    block = sum(int(tensor.size) for tensor in estimate.model.tensors if tensor.name.startswith(last) and "_exps." in tensor.name)
    margin = numbers["fallback.margin"]["value"]
    missing = numbers["budget.highest"]["value"] + block + margin - numbers["budget.ceiling"]["value"]
    assert missing > 0
    assert numbers["settings.n_cpu_moe.one_less"]["value"] == pytest.approx(missing, abs=1)
    assert recipe.settings["n_cpu_moe"] == chosen.n_cpu_moe


def test_where_no_depth_fits_at_the_upper_end_that_is_said(tmp_path: Path) -> None:
    catalog = left_open(tmp_path, ("n_ctx: 32768", "n_ctx: 1048576"))
    with pytest.raises(InputError, match="over at the upper end of its estimate"):
        settled(catalog, catalog.recipe(GRANITE[0], "rtx-4080"))


def test_a_depth_that_comes_to_nothing_is_no_flag(tmp_path: Path) -> None:
    # the whole file has 18.1 GiB, and the card 24
    folder = part_of_project(tmp_path, f"{GRANITE[0]}/rtx-4090")
    path = folder / "recipes/models/granite-4.0-h-small/rtx-4090.yml"
    text = path.read_text(encoding="utf-8")
    page = build_guide(Catalog.open(folder), GRANITE[0], "rtx-4090")
    path.write_text(text.replace("n_gpu_layers: 99,", "n_gpu_layers: 99, n_cpu_moe: auto,"), encoding="utf-8")
    left_to_the_solver = build_guide(Catalog.open(folder), GRANITE[0], "rtx-4090")
    assert left_to_the_solver.files[page.page] == page.files[page.page]
