from __future__ import annotations

import pytest

from generator.errors import RefusedSettings
from generator.facts import Fact
from generator.memory.backends import backend_of, computes
from generator.memory.model import Model
from generator.memory.plan import make_plan
from generator.memory.settings import parse_flags
from tests.memory.models import dense, named

SPACE = {"block_count": 1, "ssm.inner_size": 8192, "ssm.state_size": 128}


def scanning(shape: list[int]) -> Model:
    metadata = named("mamba2", SPACE)
    table = [["blk.0.ssm_a", "F32", shape, 4]]
    return Model.build(metadata, table, Fact("header.metadata", metadata, origin="header"), Fact("header.tensors", table, origin="header"))


@pytest.mark.parametrize(
    ("shape", "cuda", "vulkan"),
    [([16, 8192], True, False), ([32, 8192], False, False), ([1, 128], True, True), ([1, 1024], False, False), ([128], True, True)],
)
def test_a_scan_is_computed_where_the_backend_has_a_kernel_of_its_sizes(shape: list[int], cuda: bool, vulkan: bool) -> None:
    # ggml-cuda.cu: Mamba-1 with states of 16, Mamba-2 with heads of a multiple of 16; ggml-vulkan.cpp: Mamba-2 only
    model = scanning(shape)
    assert [computes(backend, model, model.tensors[0]) for backend in ("cuda", "vulkan", "rocm")] == [cuda, vulkan, True]


def test_builds_are_planned_for_what_they_were_recorded_under_where_no_backend_is_named() -> None:
    assert [backend_of(build) for build in ("b10666", "v0.4.0", "v0.5.0", None)] == ["cuda", "vulkan", "rpc", "cuda"]


def test_a_cache_tensor_a_vulkan_device_cannot_bind_is_refused_and_only_there() -> None:
    # a K row of 64 elements in f16 is 128 bytes: 2^25 cells are 4 GiB, a byte more than can be bound; a block of 256 fewer are not
    flags = parse_flags(f"-c {2**25} -np 1")
    with pytest.raises(RefusedSettings, match="4 GiB") as raised:
        make_plan(dense(), flags, backend="vulkan")
    assert raised.value.rule == "cache tensor over the buffer range"
    make_plan(dense(), parse_flags(f"-c {2**25 - 256} -np 1"), backend="vulkan")
    make_plan(dense(), flags)
    make_plan(dense(), flags, backend="vulkan", gpus=0)
