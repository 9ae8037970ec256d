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


def held(model: Model, settings: Settings, gpus: int) -> tuple[list[int], int]:
    """Give what a plan has on each card and on the host, but for compute."""
    layers, context = layers_of(model), context_of(model, settings)
    placement = place(model, settings, gpus, draft_head=settings.loads_draft_head)
    nothing = Buffer(Quantity.constant(0, BYTE))
    *cards, host = (int(_terms(settings, layers, context, placement, device, nothing).total) for device in (*range(gpus), HOST))
    draft = draft_of(layers, settings, context, placement, gpus)
    if draft is None:
        return cards, host
    return [card + int(more) for card, more in zip(cards, draft.gpus, strict=True)], host + int(draft.host)


def check(model: Model, written: Mapping[str, object], n_ctx: int = 6144, gpus: int = 1) -> None:
    settings = Settings.from_recipe(written)
    grid = depths(model, settings)
    footprint = Footprint(model, settings, shares_of(model, settings, grid, "cuda", gpus), None, Policy.ENGINE)
    axes = (n_ctx, (settings.type_k, settings.type_v), settings.n_ubatch)
    found = list(zip(footprint.cards(*axes), footprint.host(*axes), strict=True))
    step = max(len(grid) // 9, 1)
    for place_, depth in [*list(enumerate(grid))[::step], (len(grid) - 1, grid[-1])]:
        layers, blocks = depth
        exact = Settings.from_recipe({**written, "n_ctx": n_ctx, "n_gpu_layers": layers, "n_cpu_moe": blocks or None})
        assert found[place_] == held(model, exact, gpus), depth


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


@pytest.mark.parametrize(
    "written",
    [
        {"flash_attn": "on"},
        {"flash_attn": "on", "tensor_split": "5,2"},
        {"flash_attn": "off", "override_tensor": r"blk\.1\.ffn=CUDA1,blk\.2\.attn=CPU"},
        {"flash_attn": "on", "split_mode": "none", "main_gpu": 1},
        {"flash_attn": "on", "devices": "CUDA1,CUDA0", "tensor_split": "1,3"},
    ],
    ids=["even", "shares", "overrides", "one-of-two", "the-other-way-round"],
)
@pytest.mark.parametrize("name", ["qwen35moe-mtp", "gemma4-26b-a4b", "lfm2moe-8b", "qwen35-4b-tied"])
def test_two_cards_hold_what_a_plan_has_on_each(name: str, written: Mapping[str, object]) -> None:
    check(header(name), {"n_parallel": 1, **written}, gpus=2)


def test_a_draft_head_is_where_its_block_is_of_three_cards_too() -> None:
    check(apodex(), {"n_parallel": 2, "flash_attn": "on", "spec_type": "draft-mtp", "spec_draft_n_max": 2}, gpus=3)


def test_two_cards_by_hand() -> None:
    """Five layers, four blocks of 4,000 bytes and the head with 25,010: shares 3 and 2 leave the last block and the head to the second."""
    settings = Settings.from_recipe({"n_parallel": 1, "tensor_split": "3,2"})
    whole, part = shares_of(dense(), settings, [Depth(5, 0), Depth(2, 0)], "cuda", 2)
    assert [span.weights for span in whole.cards] == [12_000, 29_010]
    assert [(span.first, span.end) for span in whole.cards] == [(0, 3), (3, 4)]
    assert [span.weights for span in part.cards] == [29_010, 0]  # of two layers, at 0 and 1/2, both are below 3/5
    assert part.host == 20_000 + 3 * 4_000


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
    cards = [footprint.cards(256, ("f16", "f16"), 512)[0] for footprint in both]
    assert cards[1][0] - cards[0][0] == 20_000


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
    [[card]], host = footprint.least_compute(8192, 512)
    assert card <= plan.gpus[0].compute
    assert host <= plan.host.compute + dict(host_need(plan).taken).get("logits", Quantity.constant(0, BYTE)).number
