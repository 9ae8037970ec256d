"""Decoders whose blocks are put together in another way than the plain ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder import Block, Run, attention_part, decoder, mixture, plain_block
from generator.memory.graph.tensor import Tensor, given


def _arctic_block(run: Run, inp: Tensor, il: int) -> Tensor:
    """A dense block, and experts that read what came into it (src/models/arctic.cpp)."""
    b = run.b
    cur, residual = run.rows(il, attention_part(run, run.norm(inp, "attn_norm", il), il), inp)
    middle = ops.add(cur, residual, "ffn_inp")
    dense = ops.add(feed_forward.dense(b, run.norm(middle, "ffn_norm", il), il), middle, "ffn_out")
    return ops.add(mixture(run, run.norm(residual, "ffn_norm_exps", il), il), dense, "l_out")


def _deci_block(run: Run, inp: Tensor, il: int) -> Tensor:
    """A block that may do without attention, without K and V, or without a feed-forward part (src/models/deci.cpp)."""
    b = run.b
    heads = b.of_block("attention.head_count", il)
    cur = run.norm(inp, "attn_norm", il) if heads else inp
    if heads and not b.heads_kv(il):
        cur = b.linear("attn_output", cur, il, "wo", scale=False)
    elif heads:
        cur = attention_part(run, cur, il)
    cur, residual = run.rows(il, cur, inp)
    if not b.of_block("feed_forward_length", il):
        return inp
    middle = ops.add(cur, residual, "ffn_inp") if heads else cur
    return ops.add(feed_forward.dense(b, run.norm(middle, "ffn_norm", il), il), middle, "l_out")


def _block_normed_after(run: Run, inp: Tensor, il: int) -> Tensor:
    """A block whose parts are normed after they are computed (src/models/chameleon.cpp, `swin_norm`)."""
    cur, residual = run.rows(il, attention_part(run, inp, il), inp)
    cur = run.norm(cur, "attn_norm", il)
    middle = ops.add(cur, residual, "ffn_inp")
    return ops.add(run.norm(feed_forward.dense(run.b, cur, il), "ffn_norm", il), middle, "l_out")


IMAGE_TOKENS = 8192
"""Tokens of images, whose logits Chameleon leaves out."""


def _without_images(made: Tensor) -> Tensor:
    nothing = ops.clamp(given("img_logits", "F32", IMAGE_TOKENS))
    return ops.set_1d(made, nothing, "result_output")


def chameleon(b: Builder) -> None:
    """Chameleon (src/models/chameleon.cpp)."""
    decoder(b, _block_normed_after if b.flag("swin_norm") else plain_block, _without_images)


def _of(block: Block) -> Callable[[Builder], None]:
    return partial(decoder, block=block)


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(
    {"arctic": _of(_arctic_block), "deci": _of(_deci_block), "chameleon": chameleon}
)
"""Architectures and what makes their graph."""
