"""Graphs of models with latent attention (MLA), indexers, compressed caches, and the mixtures of experts of that family.

Source: llama.cpp src/models/<name>.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import attend
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder import Inputs, rope_factors, rotated
from generator.memory.graph.models.latent_attention import Manner, latent_attention
from generator.memory.graph.models.stack import Part, feed_forward_part, stack
from generator.memory.graph.tensor import Tensor


def deepseek2(b: Builder) -> None:
    """DeepSeek V2 and V3, and all that are stored as such (src/models/deepseek2.cpp)."""
    cur = b.embedding()
    scale = b.input("inp_attn_scale", "F32", 1, 1, b.n_tokens) if b.real("attention.temperature_scale") else None
    positions, inputs, out_ids = b.positions(), Inputs(b), b.out_ids()

    def attention(cur: Tensor, il: int) -> Tensor:
        return latent_attention(b, inputs.of(il), cur, il, Manner(positions, scale=scale, in_heads=True))

    cur = stack(b, cur, out_ids, attention, feed_forward_part(b, gating=_unnamed_gating(b)))
    b.finish(cur)


GLM_LITE_VOCABULARY = 154880


def _unnamed_gating(b: Builder) -> str:
    """Give how experts are weighted where an old header does not say."""
    glm = b.n_layer in {47, 48} and b.w("token_embd").ne[1] == GLM_LITE_VOCABULARY
    return "sigmoid" if glm else "softmax"


def deepseek2_ocr(b: Builder) -> None:
    """The language model of DeepSeek OCR: the blocks of DeepSeek V2 with plain attention (src/models/deepseek2ocr.cpp)."""
    cur = b.embedding()
    positions, inputs, out_ids = b.positions(), Inputs(b), b.out_ids()
    b.finish(stack(b, cur, out_ids, _plain_attention(b, positions, inputs), feed_forward_part(b)))


def hunyuan3(b: Builder) -> None:
    """Hunyuan V3 (src/models/hy-v3.cpp). A draft head reads all tokens, so those that are kept are chosen last."""
    cur = b.embedding()
    positions, inputs, out_ids = b.positions(), Inputs(b), b.out_ids()
    cur = stack(b, cur, out_ids, _plain_attention(b, positions, inputs), feed_forward_part(b, gating="sigmoid"), whole=True)
    b.finish_whole(cur, out_ids)


def _plain_attention(b: Builder, positions: Tensor, inputs: Inputs) -> Part:
    def attention(cur: Tensor, il: int) -> Tensor:
        return attend(b, inputs.of(il), *rotated(b, cur, positions, il), il)

    return attention


def minicpm3(b: Builder) -> None:
    """MiniCPM3: K and V made for each head, and factors of what parts add and of what the output reads (src/models/minicpm3.cpp)."""
    cur = ops.scale(b.embedding(), "inp_scaled")
    positions, inputs, out_ids = b.positions(), Inputs(b), b.out_ids()

    def attention(cur: Tensor, il: int) -> Tensor:
        return latent_attention(b, inputs.of(il), cur, il, Manner(positions, in_heads=True, factors=rope_factors(b, il)))

    cur = b.norm(stack(b, cur, out_ids, attention, feed_forward_part(b), scaled=True), "output_norm", label="result_norm")
    cur.is_output = True
    b.logits(ops.scale(cur, "lmhead_scaling"), keep_embedding=False)


def plm(b: Builder) -> None:
    """PLM: K and V made for each head, and a feed-forward part without a gate (src/models/plm.cpp)."""
    cur = b.embedding()
    positions, inputs, out_ids = b.positions(), Inputs(b), b.out_ids()

    def attention(cur: Tensor, il: int) -> Tensor:
        return latent_attention(b, inputs.of(il), cur, il, Manner(positions, in_heads=True, flat_values=True))

    b.finish(stack(b, cur, out_ids, attention, lambda cur, il: feed_forward.dense(b, cur, il, steps=2)))


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(
    {
        "deepseek2": deepseek2,
        "mistral4": deepseek2,
        "deepseek2-ocr": deepseek2_ocr,
        "hy_v3": hunyuan3,
        "minicpm3": minicpm3,
        "plm": plm,
    }
)
"""Architectures and what makes their graph."""
