"""What a backend leaves to the host: by shapes, gaps and types."""

from __future__ import annotations

import pytest

from generator.memory.backends import CUDA, RPC, VULKAN
from generator.memory.graph import ops
from generator.memory.graph.left_to_host import left_to_host
from generator.memory.graph.tensor import Tensor, given


def scan(state: int, head: int, heads: int, decays: int, groups: int = 1) -> Tensor:
    """Give the scan of a state space: Mamba-2 with one decay a head, Mamba with one for each element of a state."""
    tokens = 8
    x, dt, a = given("x", "F32", head, heads, tokens), given("dt", "F32", heads, tokens), given("a", "F32", decays, heads)
    b, c = (given(name, "F32", state, groups, tokens) for name in "bc")
    return ops.ssm_scan(given("states", "F32", state, head, heads, 1), (x, dt, a, b, c), given("ids", "I32", 1), 1)


@pytest.mark.parametrize(
    ("node", "cuda", "vulkan"),
    [
        (scan(128, 64, 80, 1), False, False),
        (scan(96, 64, 80, 1), False, True),
        (scan(64, 64, 80, 1), True, True),
        (scan(128, 40, 80, 1), True, True),
        (scan(16, 1, 5120, 16), False, True),
        (scan(16, 1, 5100, 16), True, True),
        (scan(16, 1, 5120, 16, groups=2), True, True),
    ],
)
def test_scans_of_state_spaces(node: Tensor, cuda: bool, vulkan: bool) -> None:
    assert (left_to_host(CUDA, node), left_to_host(VULKAN, node), left_to_host(RPC, node)) == (cuda, vulkan, False)


def rows_of_keys(kind: str, heads: int) -> Tensor:
    """Give what a cache holds of K, by its heads."""
    cache = given("cache_k", kind, 128 * heads, 1024)
    return ops.permute(ops.view_4d(cache, (128, heads, 1024, 1), cache.nb[1] // heads, cache.nb[1], cache.nb[2]), 0, 2, 1, 3)


@pytest.mark.parametrize(("kind", "heads", "vulkan"), [("F16", 8, False), ("Q8_0", 8, True), ("Q8_0", 1, False)])
def test_vulkan_multiplies_no_quantised_rows_with_gaps(kind: str, heads: int, vulkan: bool) -> None:
    scores = ops.mul_mat(rows_of_keys(kind, heads), given("q", "F32", 128, 16, heads))
    assert (left_to_host(VULKAN, scores), left_to_host(CUDA, scores)) == (vulkan, False)


@pytest.mark.parametrize(("tokens", "left"), [(511, False), (512, True)])
def test_vulkan_binds_less_than_four_gib(tokens: int, left: bool) -> None:
    scores = ops.soft_max(given("kq", "F32", 32768, tokens, 64))
    assert (left_to_host(VULKAN, scores), left_to_host(CUDA, scores)) == (left, False)


def test_cuda_wants_no_gaps_before_functions_of_one_element() -> None:
    gapped = ops.view_2d(given("a", "F32", 256, 8), 128, 8, 256 * 4)
    assert left_to_host(CUDA, ops.unary(gapped))
    assert not left_to_host(VULKAN, ops.unary(gapped))
    assert not left_to_host(CUDA, ops.glu(gapped, gapped))
    assert not left_to_host(CUDA, gapped)


@pytest.mark.parametrize(("channels", "left"), [(5376, False), (5000, True)])
def test_cuda_convolves_channels_in_groups_of_128(channels: int, left: bool) -> None:
    node = ops.ssm_conv(given("inputs", "F32", 11, channels, 1), given("kernel", "F32", 4, channels))
    assert (left_to_host(CUDA, node), left_to_host(VULKAN, node)) == (left, False)


def test_tables_and_products_of_types_that_a_device_does_not_know() -> None:
    ids = given("ids", "I32", 4)
    assert left_to_host(CUDA, ops.get_rows(given("table", "IQ4_NL", 96, 10), ids))
    assert not left_to_host(CUDA, ops.get_rows(given("table", "IQ4_NL", 256, 10), ids))
    assert left_to_host(CUDA, ops.mul_mat(given("a", "TQ1_0", 256, 4), given("b", "F32", 256, 4)))
    assert left_to_host(CUDA, ops.mul_mat(given("a", "F32", 256, 4), given("b", "F16", 256, 4)))
    assert left_to_host(VULKAN, ops.mul_mat(given("a", "BF16", 256, 4), given("b", "F16", 256, 4)))
    assert left_to_host(VULKAN, ops.linear_attn("GATED_LINEAR_ATTN", given("k", "F32", 128, 40, 8), given("state", "F32", 655360, 1)))
