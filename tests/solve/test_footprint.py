"""What is held without a graph is what a plan holds, at every depth of offload."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from generator.memory.architectures import layers_of
from generator.memory.budget import Policy
from generator.memory.context import context_of
from generator.memory.graph.terms import Buffer
from generator.memory.host import host_need
from generator.memory.model import Model
from generator.memory.placement import HOST, place
from generator.memory.plan import _terms, draft_of, make_plan
from generator.memory.settings import Settings
from generator.quantity import BYTE, Quantity
from generator.solve.footprint import Footprint, shares_of
from generator.solve.grid import Depth, depths
from tests.memory.models import apodex, dense, hybrid, tied
from tests.solve.spaces import header

NAMES = [
    *("llama31-8b", "qwen35-4b-tied", "qwen35moe-mtp", "gemma3n-e4b", "gemma4-26b-a4b", "gpt-oss-20b", "deepseek2-v2-lite"),
    *("jamba-v01", "lfm2moe-8b", "nemotron-h-moe-30b", "kimi-linear-48b", "rwkv7-2p9b", "mamba2-2p7b", "deepseek4-flash", "deci-kv-array"),
]
SETTINGS: list[Mapping[str, object]] = [
    {"n_parallel": 1, "flash_attn": "on", "type_k": "q8_0", "type_v": "q8_0"},
    {"n_parallel": 3, "flash_attn": "off", "n_ubatch": 2048},
    {"flash_attn": "on", "kv_offload": False, "override_tensor": r"blk\.1\.attn=CPU"},
]


def held(model: Model, settings: Settings) -> tuple[int, int]:
    """Give what a plan has on the card and on the host, but for compute."""
    layers, context = layers_of(model), context_of(model, settings)
    placement = place(model, settings, 1, draft_head=settings.loads_draft_head)
    nothing = Buffer(Quantity.constant(0, BYTE))
    card, host = (int(_terms(settings, layers, context, placement, device, nothing).total) for device in (0, HOST))
    draft = draft_of(layers, settings, context, placement, 1)
    return (card, host) if draft is None else (card + int(draft.gpus[0]), host + int(draft.host))


def check(model: Model, written: Mapping[str, object], n_ctx: int = 6144) -> None:
    settings = Settings.from_recipe(written)
    grid = depths(model, settings)
    footprint = Footprint(model, settings, shares_of(model, settings, grid, "cuda"), None, Policy.ENGINE)
    axes = (n_ctx, (settings.type_k, settings.type_v), settings.n_ubatch)
    found = list(zip(footprint.card(*axes), footprint.host(*axes), strict=True))
    step = max(len(grid) // 9, 1)
    for place_, depth in [*list(enumerate(grid))[::step], (len(grid) - 1, grid[-1])]:
        layers, blocks = depth
        exact = Settings.from_recipe({**written, "n_ctx": n_ctx, "n_gpu_layers": layers, "n_cpu_moe": blocks or None})
        assert found[place_] == held(model, exact), depth


@pytest.mark.parametrize("written", SETTINGS, ids=["flash", "no-flash", "host-cache"])
@pytest.mark.parametrize("name", NAMES)
def test_every_depth_holds_what_a_plan_does(name: str, written: Mapping[str, object]) -> None:
    plain = (
        written
        if name not in {"deepseek2-v2-lite", "kimi-linear-48b", "deepseek4-flash"}
        else {**written, "type_k": "f16", "type_v": "f16"}
    )
    check(header(name), plain)


@pytest.mark.parametrize("model", [dense(), tied(), hybrid()], ids=["dense", "tied", "hybrid"])
def test_models_written_by_hand_too(model: Model) -> None:
    check(model, {"n_parallel": 1, "flash_attn": "on"}, 1024)


def test_a_draft_head_and_its_context_count() -> None:
    check(apodex(), {"n_parallel": 2, "flash_attn": "on", "spec_type": "draft-mtp", "spec_draft_n_max": 2})


def test_the_hand_written_model_by_hand() -> None:
    # 4 blocks of 4,000 bytes; norm 10 and head 25,000 go with the output layer, the embedding's 20,000 stay on the host
    settings = Settings.from_recipe({"n_parallel": 1, "flash_attn": "on"})
    shares = shares_of(dense(), settings, depths(dense(), settings), "cuda")
    assert [share.card for share in shares] == [41_010, 37_010, 33_010, 29_010, 25_010, 0]
    assert [share.host for share in shares] == [20_000, 24_000, 28_000, 32_000, 36_000, 61_010]
    assert [int(share.host_read) for share in shares] == [0, 4_000, 8_000, 12_000, 16_000, 41_010]


def test_a_tied_head_is_read_where_the_output_layer_is() -> None:
    settings = Settings.from_recipe({"n_parallel": 1})
    whole, none = (shares_of(tied(), settings, [Depth(layers, 0)], "cuda")[0] for layers in (5, 0))
    assert (whole.card, whole.host, int(whole.card_read), int(whole.host_read)) == (36_010, 20_000, 36_010, 0)
    assert (none.card, none.host, int(none.card_read), int(none.host_read)) == (0, 36_010, 0, 36_010)


def test_the_policy_decides_where_the_input_embedding_counts() -> None:
    settings = Settings.from_recipe({"n_parallel": 1})
    both = [Footprint(dense(), settings, shares_of(dense(), settings, [Depth(5, 0)], "cuda"), None, policy) for policy in Policy]
    cards = [footprint.card(256, ("f16", "f16"), 512)[0] for footprint in both]
    assert cards[1] - cards[0] == 20_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("flash", ["on", "off"])
def test_no_compute_buffer_is_smaller_than_its_bound(name: str, flash: str) -> None:
    model = header(name)
    slots = 1 if flash == "on" else 4  # which divides the micro-batch, as kimi-linear wants it
    settings = Settings.from_recipe({"n_parallel": slots, "flash_attn": flash, "n_gpu_layers": 99, "n_cpu_moe": 2, "n_ctx": 8192})
    plan = make_plan(model, settings)
    if plan.unknown_graph:
        return
    footprint = Footprint(model, settings, shares_of(model, settings, [Depth(99, 2)], "cuda"), None, Policy.ENGINE)
    [card], host = footprint.least_compute(8192, 512)
    assert card <= plan.gpus[0].compute
    assert host <= plan.host.compute + dict(host_need(plan).taken).get("logits", Quantity.constant(0, BYTE)).number
