"""Graphs of models with latent attention (MLA), indexers, compressed caches, and the mixtures of experts of that family.

Source: llama.cpp src/models/<name>.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph.builder import Builder
from generator.memory.graph.compressed import compressed
from generator.memory.graph.decoder import Inputs
from generator.memory.graph.indexed import indexed
from generator.memory.graph.latent_attention import latent_attention
from generator.memory.graph.stack import feed_forward_part, stack
from generator.memory.graph.tensor import Tensor


def deepseek2(b: Builder) -> None:
    """DeepSeek V2 and V3, and all that are stored as such (src/models/deepseek2.cpp)."""
    cur = b.embedding()
    scale = b.input("inp_attn_scale", "F32", 1, 1, b.n_tokens) if b.real("attention.temperature_scale") else None
    positions, inputs, out_ids = b.positions(), Inputs(b), b.out_ids()

    def attention(cur: Tensor, il: int) -> Tensor:
        return latent_attention(b, inputs.of(il), cur, il, positions, scale=scale, in_heads=True)

    cur = stack(b, cur, out_ids, attention, feed_forward_part(b, gating=_unnamed_gating(b)))
    b.finish(cur)


GLM_LITE_VOCABULARY = 154880


def _unnamed_gating(b: Builder) -> str:
    """Give how experts are weighted where an old header does not say."""
    glm = b.n_layer in {47, 48} and b.w("token_embd").ne[1] == GLM_LITE_VOCABULARY
    return "sigmoid" if glm else "softmax"


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(
    {
        "deepseek2": deepseek2,
        "mistral4": deepseek2,
        "deepseek32": indexed,
        "glm-dsa": indexed,
        "deepseek4": compressed,
    }
)
"""Architectures and what makes their graph."""
