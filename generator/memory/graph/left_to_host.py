"""Operations that a backend leaves to the host, by what they work on. Flash attention has rules of its own.

Source: llama.cpp ggml/src/ggml-cuda/ggml-cuda.cu and ggml/src/ggml-vulkan/ggml-vulkan.cpp, `supports_op`; an RPC device computes
everything. Of the conditions there these are the ones that graphs of models meet: shapes, gaps and types.

site/assets/planner/support.js does the same in a browser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.gguf.types import block
from generator.memory.backends import CUDA, HEADS_SCANNED, STATES_SCANNED, VULKAN, VULKAN_BUFFER_RANGE
from generator.memory.graph.tensor import VIEWS, Tensor, element_bytes

Rule = Callable[[Tensor], bool]

TERNARY = frozenset({"TQ1_0", "TQ2_0"})
"""Types that CUDA has no product for."""

SUPER_BLOCK = 256
"""Elements of a row that CUDA looks up at once (ggml/src/ggml-common.h, QK_K)."""


def left_to_host(backend: str, node: Tensor) -> bool:
    """Tell whether a backend does not compute a node."""
    if node.op in VIEWS:
        return False
    if backend == VULKAN and any(tensor.nbytes > VULKAN_BUFFER_RANGE for tensor in (node, *node.src)):
        return True
    rule = RULES.get(backend, {}).get(node.op)
    return rule is not None and rule(node)


def _other_states(backend: str, states: Tensor) -> bool:
    """Tell whether a backend does not scan Mamba-2 states of this length, or of heads of this size."""
    return states.ne[0] not in STATES_SCANNED[backend] or states.ne[1] % HEADS_SCANNED > 0


def _scan_of_cuda(node: Tensor) -> bool:
    """Mamba-2; Mamba with states of 16, heads of one element and one group."""
    states, a, at_b = node.src[0], node.src[3], node.src[4]
    if a.ne[0] == 1:
        return _other_states(CUDA, states)
    return states.ne[0] != 16 or states.ne[1] != 1 or states.ne[2] % 128 > 0 or at_b.ne[1] != 1


def _scan_of_vulkan(node: Tensor) -> bool:
    """Mamba-2 only."""
    states, a = node.src[0], node.src[3]
    return a.nb[1] != element_bytes("F32") or _other_states(VULKAN, states)


def _product_of_cuda(node: Tensor) -> bool:
    a, b = node.src[:2]
    if a.nb[0] != element_bytes(a.type) or b.nb[0] != element_bytes(b.type):
        return True
    return a.type in TERNARY or (b.type == "F16" and a.type != "F16")


def _product_of_vulkan(node: Tensor) -> bool:
    """A quantised operand must have no gaps in its rows and planes: K of several heads without flash attention has."""
    a, b = node.src[:2]
    if (node.src[2] if node.op == "MUL_MAT_ID" else a).ne[3] != b.ne[3]:
        return True
    gaps = (not _dense_plane(a) and a.type not in {"F32", "F16", "BF16"}) or (not _dense_plane(b) and b.type not in {"F32", "F16"})
    return gaps or (a.type == "BF16" and b.type == "F16") or (b.type == "BF16" and a.type != "BF16")


def _rows_of_cuda(node: Tensor) -> bool:
    table = node.src[0]
    return table.type in TERNARY or (table.type in {"IQ4_NL", "MXFP4"} and table.ne[0] % SUPER_BLOCK > 0)


def _dense_plane(tensor: Tensor) -> bool:
    """Tell whether the first two dimensions have no gaps (`ggml_vk_dim01_contiguous`)."""
    per_block, block_bytes = block(tensor.type)
    row = tensor.nb[0] * tensor.ne[0] // per_block
    return tensor.nb[0] == block_bytes and tensor.nb[1] == row and (tensor.ne[3] == 1 or tensor.nb[3] == tensor.nb[2] * tensor.ne[2])


def _has_gaps(node: Tensor) -> bool:
    return not node.src[0].is_contiguous


def _gaps_beyond(dimension: int) -> Rule:
    """Give the rule that gaps are borne up to a dimension, not after it (ggml/src/ggml.c, `ggml_is_contiguous_1` and so on)."""

    def rule(node: Tensor) -> bool:
        a = node.src[0]
        expected = a.nb[dimension] * a.ne[dimension]
        for count, stride in zip(a.ne[dimension + 1 :], a.nb[dimension + 1 :], strict=True):
            if count != 1 and stride != expected:
                return True
            expected *= count
        return _rows_have_gaps(node)

    return rule


def _rows_have_gaps(node: Tensor) -> bool:
    a = node.src[0]
    return a.ne[0] != block(a.type)[0] and a.nb[0] != element_bytes(a.type)


RULES: Mapping[str, Mapping[str, Rule]] = MappingProxyType(
    {
        CUDA: {
            "SSM_SCAN": _scan_of_cuda,
            "SSM_CONV": lambda node: node.src[0].ne[1] % 128 > 0,
            "MUL_MAT": _product_of_cuda,
            "MUL_MAT_ID": _product_of_cuda,
            "GET_ROWS": _rows_of_cuda,
            "UNARY": _has_gaps,
            "GROUP_NORM": _has_gaps,
            "GLU": _gaps_beyond(1),
            "ROPE": _gaps_beyond(2),
            **dict.fromkeys(("NORM", "RMS_NORM", "L2_NORM", "SUM_ROWS"), _rows_have_gaps),
        },
        VULKAN: {
            "SSM_SCAN": _scan_of_vulkan,
            "MUL_MAT": _product_of_vulkan,
            "MUL_MAT_ID": _product_of_vulkan,
            "GATED_LINEAR_ATTN": lambda node: node.src[0].ne[0] != 64,
            **dict.fromkeys(("SCALE", "SOFT_MAX", "GROUP_NORM", "ARGSORT", "TOP_K"), _has_gaps),
            **dict.fromkeys(("SUM_ROWS", "CUMSUM", "ROPE"), _rows_have_gaps),
        },
    }
)
"""By backend and operation, what is left to the host; whatever is not here is computed."""
