"""Backends of devices: what one does not compute stays in host memory, whatever -ngl says, and what one cannot hold is refused.

Source: llama.cpp src/llama-model-loader.cpp, `select_weight_buft` (a weight goes where the operation that reads it is supported),
and the `supports_op` of ggml/src/ggml-cuda/ggml-cuda.cu and ggml/src/ggml-vulkan/ggml-vulkan.cpp.
"""

from __future__ import annotations

from types import MappingProxyType

from generator.memory.builds import Build, Builds
from generator.memory.model import Model, Tensor

CUDA, ROCM, VULKAN, SYCL, METAL, RPC = "cuda", "rocm", "vulkan", "sycl", "metal", "rpc"

RECORDED_UNDER_VULKAN = Builds(since="v0.4.0", until="v0.5.0")
"""Builds whose recorded figures come from a Vulkan device; a plan of one that names no backend is of that device."""

RECORDED_UNDER_RPC = Builds(since="v0.5.0", until="v0.6.0")
"""Builds whose recorded figures come from an RPC device posing as a GPU."""

TAKES_NOTHING_OVER = frozenset({RPC})
"""Backends that never take over an operation whose weights are in host memory (their `offload_op` is missing)."""

STREAMS_WRITTEN_BY_VULKAN = Builds(since="v0.5.0")
"""Builds whose Vulkan devices write hyper-connections back in one operation."""

VULKAN_BUFFER_RANGE = 4 * 2**30 - 1
"""Bytes of one tensor that a Vulkan device can bind: `maxStorageBufferRange` is a number of 32 bits."""

STATES_SCANNED = MappingProxyType({CUDA: frozenset({96, 128, 256}), VULKAN: frozenset({128, 256})})
"""Elements of a Mamba-2 state that a backend scans; their heads are multiples of `HEADS_SCANNED`."""

HEADS_SCANNED = 16


def backend_of(build: str | None) -> str:
    """Give the backend that a plan of a build is for where none is named."""
    if build is None:
        return CUDA
    place = Build.named(build)
    return VULKAN if place in RECORDED_UNDER_VULKAN else RPC if place in RECORDED_UNDER_RPC else CUDA


def computes(backend: str, model: Model, tensor: Tensor) -> bool:
    """Tell whether a backend computes the operation that reads a tensor. Only the scan of a state space is not everywhere."""
    scanned = tensor.name.endswith(".ssm_a") and len(tensor.shape) == 2 and model.has("ssm.inner_size")  # delta nets do not scan
    if not scanned or backend not in {CUDA, VULKAN}:
        return True
    state, heads = tensor.shape[0], tensor.shape[-1]
    head = int(model.number("ssm.inner_size")) // heads
    if state == 1:  # one decay a head: Mamba-2, whose state size is a hyperparameter
        return int(model.number("ssm.state_size")) in STATES_SCANNED[backend] and head % HEADS_SCANNED == 0
    return backend == CUDA and state == 16 and head == 1 and heads % 128 == 0


def unknown_operations(backend: str, build: str | None) -> frozenset[str]:
    """Give the operations of graphs that no device of a backend computes at a build; a graph does without them where it can."""
    missing = backend == VULKAN and Build.named(build) not in STREAMS_WRITTEN_BY_VULKAN
    return frozenset({"DSV4_HC_POST"}) if missing else frozenset()


# --- flash attention -------------------------------------------------------------------------------

ATTENDED_BY_CUDA = frozenset({"f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"})
ATTENDED_BY_VULKAN = ATTENDED_BY_CUDA | {"iq4_nl"}

EQUAL_HEADS = frozenset({40, 64, 72, 80, 96, 112, 128, 256})
"""Lengths of K for which CUDA's kernels want a V of the same length."""

GROUPED_HEADS = {192: (128, 8), 320: (256, 32), 512: (512, 2), 576: (512, 2)}
"""Lengths of K for which they want a certain length of V, and query heads in groups of so many for each head of K."""

PAIRED_ON_CUDA = Builds(until="v0.5.0")
"""Builds whose default CUDA kernels want K and V of one type, of those in `PAIRED_TYPES`; v0.5.0 copies others to F16."""

PAIRED_TYPES = frozenset({"f32", "f16", "bf16", "q8_0", "q4_0"})


def attends(backend: str, key: int, value: int, group: int, types: tuple[str, str], build: str | None = None) -> bool:
    """Tell whether a backend computes flash attention for heads of these lengths, `group` query heads a head of K, and cache types.

    Source: ggml/src/ggml-cuda/fattn.cu, `ggml_cuda_get_best_fattn_kernel` (compiled without GGML_CUDA_FA_ALL_QUANTS);
    ggml/src/ggml-vulkan/ggml-vulkan.cpp, `ggml_backend_vk_device_supports_op`. Other backends are taken to.
    """
    if backend == VULKAN:
        even = not key % 8 and not value % 8
        return even and ATTENDED_BY_VULKAN.issuperset(types) and (types[0] == "bf16") == (types[1] == "bf16")
    if backend != CUDA:
        return True
    if not reads_on_cuda(types, build):
        return False
    if key in EQUAL_HEADS:
        return value == key
    wanted, groups = GROUPED_HEADS.get(key, (0, 1))
    return value == wanted and group >= 2 and group % groups == 0


def reads(backend: str, types: tuple[str, str], build: str | None = None, *, every: bool = False) -> bool:
    """Tell whether a backend's flash attention reads K and V of these types; `every` is a build with GGML_CUDA_FA_ALL_QUANTS.

    ROCm compiles the sources of CUDA. Source for the others: ggml/src/ggml-metal/ggml-metal-device.m, ggml/src/ggml-sycl/fattn.cpp.
    """
    if backend in {CUDA, ROCM}:
        return reads_on_cuda(types, None if every else build)
    if backend == METAL:
        return types[0] == types[1] and types[0] in ATTENDED_BY_CUDA
    if backend == SYCL:
        return ATTENDED_BY_CUDA.issuperset(types)
    return attends(backend, 128, 128, 1, types, build)


def reads_on_cuda(types: tuple[str, str], build: str | None = None) -> bool:
    """Tell whether a default CUDA build of the engine has flash attention for a pair of cache types."""
    if Build.named(build) in PAIRED_ON_CUDA:
        return types[0] == types[1] and types[0] in PAIRED_TYPES
    return ATTENDED_BY_CUDA.issuperset(types)
