"""What a backend computes of a graph, and what it needs to do so beyond a tensor's own bytes.

Source: llama.cpp ggml/src/ggml-cuda/ggml-cuda.cu (`supports_op`, `get_alloc_size`), ggml/src/ggml-cuda/fattn-common.cuh.

site/assets/planner/support.js does the same in a browser.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from generator.gguf.types import F16_BYTES, block
from generator.memory.backends import CUDA, attends
from generator.memory.graph.left_to_host import left_to_host
from generator.memory.graph.tensor import Tensor, row_size

ROW_PADDING = 512
"""Elements to which CUDA pads the last row of a quantised tensor (ggml/src/ggml-cuda/common.cuh, MATRIX_ROW_PADDING)."""


def computes(backend: str, host: int, build: str | None, missing: frozenset[str] = frozenset()) -> Callable[[int, Tensor], bool]:
    """Give the rule that tells whether a device computes a node; the host computes everything.

    `missing` are operations that the backend's devices do not know at the build.
    """

    def rule(device: int, node: Tensor) -> bool:
        if device == host:
            return True
        if node.op != "FLASH_ATTN_EXT":
            return node.op not in missing and not left_to_host(backend, node)
        q, k, v = node.src[:3]
        return attends(backend, k.ne[0], v.ne[0], q.ne[2] // k.ne[2], (k.type.lower(), v.type.lower()), build)

    return rule


def allocated(backend: str) -> Callable[[Tensor], int]:
    """Give the rule for the bytes that a device sets aside for a tensor."""
    return _on_cuda if backend == CUDA else _plainly


def _plainly(tensor: Tensor) -> int:
    return tensor.nbytes


def _on_cuda(tensor: Tensor) -> int:
    """CUDA pads quantised rows, and keeps copies in F16 of a cache of another type beside what attention gives.

    The copies are for a micro-batch; a single token is attended to in the cache's own type.
    """
    size = tensor.nbytes
    if tensor.op == "FLASH_ATTN_EXT":
        return size + sum(_f16_copy(operand) for operand in _read(tensor))
    over = tensor.ne[0] % ROW_PADDING
    if over and block(tensor.type)[0] > 1:
        size += row_size(tensor.type, ROW_PADDING - over)
    return size


def _read(node: Tensor) -> tuple[Tensor, ...]:
    """Give K and V, V only where it is not K seen otherwise."""
    _, k, v = node.src[:3]
    return (k,) if v.view is not None and v.view in {k, k.view} else (k, v)


def _f16_copy(cache: Tensor) -> int:
    return 0 if cache.type == "F16" else prod(cache.ne) * F16_BYTES
