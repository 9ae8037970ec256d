"""Tensor overrides: which buffer a tensor's name sends it to, whatever -ngl says.

-ot, -cmoe, -ncmoe and -ncffn all append to one list, in the order of the command line (common/arg.cpp, `tensor_buft_overrides`),
and the first pattern found anywhere in a tensor's name decides (src/llama-model-loader.cpp, `create_tensor`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""Expert weights, with their biases and scales (common/common.h, LLM_FFN_EXPS_REGEX)."""

DENSE = r"\.ffn_(up|down|gate)\."
"""Weights of a dense feed-forward block (common/common.h, LLM_FFN_DENSE_REGEX)."""


@dataclass(frozen=True, slots=True)
class Override:
    """One entry of the list: a pattern, the buffer type it sends a tensor to, and how many blocks it holds for (None: any).

    For -ncmoe and -ncffn the engine writes one pattern a block, each naming its block; one entry with `blocks` stands for them all.
    """

    pattern: str
    buffer_type: str = "CPU"
    blocks: int | None = None

    def matches(self, tensor: str) -> bool:
        """Tell whether the entry decides for a tensor of this name."""
        if self.blocks is None:
            return _compiled(self.pattern).search(tensor) is not None
        found = _compiled(rf"blk\.([0-9]+){self.pattern}").search(tensor)
        return found is not None and int(found[1]) < self.blocks


def buffer_type_of(tensor: str, overrides: Iterable[Override]) -> str | None:
    """Give the buffer type that the overrides choose for a tensor; None where none of them matches."""
    return next((override.buffer_type for override in overrides if override.matches(tensor)), None)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
