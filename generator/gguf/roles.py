"""What a tensor is for, read off its name: which block it belongs to, and whether it is a routed expert.

Source: the tensor table of llama.cpp (src/llama-arch.cpp, LLM_TENSOR_INFOS) and the expression that its offload
flags use (common/common.h, LLM_FFN_EXPS_REGEX).
"""

from __future__ import annotations

import re

EXPERTS = re.compile(r"\.ffn_(up|down|gate|gate_up)_(ch|)exps")
"""The engine's own expression for the routed experts of a block (also matches their biases and scales)."""

DENSE_FFN = re.compile(r"\.ffn_(up|down|gate)\.")
"""The engine's own expression for the dense feed-forward weights of a block."""

INPUT_TENSORS = frozenset({"token_embd", "token_types", "position_embd", "per_layer_token_embd"})
"""Tensors of the input layer, by the name before `.weight`; they stay in host memory whatever is offloaded."""

_BLOCK = re.compile(r"blk\.(\d+)\.")


def block_of(name: str) -> int | None:
    """Give the index of the block a tensor belongs to, None for the input and output layers."""
    match = _BLOCK.match(name)
    return int(match[1]) if match else None


def is_input(name: str) -> bool:
    """Tell whether a tensor belongs to the input layer."""
    return name.partition(".")[0] in INPUT_TENSORS


def is_routed_expert(name: str) -> bool:
    """Tell whether `-ncmoe` and `-cmoe` reach a tensor."""
    return EXPERTS.search(name) is not None
