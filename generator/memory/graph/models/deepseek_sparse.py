"""Graphs of models whose attention looks at few tokens only: an indexer gives each cached token a score, the best are looked at.

The indexer has a cache of its own, of one short K row a token; latent attention has another.

Source: llama.cpp src/models/deepseek32.cpp and glm-dsa.cpp, src/llama-graph.cpp (`build_attn` for `llm_graph_input_attn_k_dsa`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from generator.memory.graph import ops
from generator.memory.graph.attention import AttentionInput, attention_input, read_k, write_k
from generator.memory.graph.builder import Builder, CacheView, rotation_of
from generator.memory.graph.models.latent_attention import Manner, latent_attention, queries_of, short_query
from generator.memory.graph.models.stack import feed_forward_part, stack
from generator.memory.graph.tensor import Tensor, given


def indexed(b: Builder) -> None:
    """DeepSeek V3.2 and GLM 5; in the latter blocks without an indexer look at what the last one before them picked."""
    cur, positions = b.embedding(), b.positions()
    main, beside = (replace(cache, label=label) for cache, label in zip(b.every_cache, ("", "indexer_"), strict=True))
    inputs, indexer, out_ids = attention_input(b, main, values=False), Indexer(b, beside, positions), b.out_ids()
    last: Tensor | None = None

    def attention(cur: Tensor, il: int) -> Tensor:
        nonlocal last
        short = short_query(b, cur, il)
        if il in beside.keys:
            last = indexer.pick(short, cur, il)
        assert last is not None
        seen = replace(inputs, mask=only_picked(inputs.mask, last))
        return latent_attention(b, seen, cur, il, Manner(positions, q=queries_of(b, short, il)))

    cur = stack(b, cur, out_ids, attention, feed_forward_part(b, gating="sigmoid"))
    b.finish(cur)


class Indexer:
    """The indexer of all blocks, and its inputs. Its rows are always rotated, and its mask is F16."""

    def __init__(self, b: Builder, cache: CacheView, positions: Tensor) -> None:
        self.b, self.positions = b, positions
        self.head, self.heads = b.number("attention.indexer.key_length"), b.number("attention.indexer.head_count")
        self.inputs: AttentionInput = attention_input(b, cache, values=False, mask_flash=True)
        size = rotation_of(self.head)
        self.rotation = b.input("attn_inp_k_rot", "F32", size, size)

    def pick(self, short: Tensor, cur: Tensor, il: int) -> Tensor:
        """Give the tokens that each token of a micro-batch looks at; K of the micro-batch is stored."""
        b = self.b
        q = ops.reshape(b.linear("indexer.attn_q_b", short, il, "indexer_q"), self.head, self.heads, b.n_tokens)
        q = ops.mul_mat(self.rotation, ops.rope(q, self.positions, name="indexer_q"), "indexer_q")
        k = b.norm(b.linear("indexer.attn_k", cur, il, "indexer_k"), "indexer.k_norm", il, kind="layer")
        k = ops.rope(ops.reshape(k, self.head, 1, b.n_tokens), self.positions, name="indexer_k")
        b.expand(write_k(b, self.inputs, ops.mul_mat(self.rotation, k, "indexer_k"), il))
        weights = b.linear("indexer.proj", cur, il, "indexer_weights")
        keys = read_k(b, self.inputs.cache, il, self.head, 1)
        streams = keys.ne[3]
        weights = ops.scale(weights_by_stream(weights, streams), "indexer_weights")
        return best(b, scores(rows_by_stream(q, streams), keys, weights, self.inputs.mask))


def rows_by_stream(q: Tensor, streams: int) -> Tensor:
    """Q of a micro-batch shared out over the streams."""
    return ops.view_4d(q, (q.ne[0], q.ne[1], q.ne[2] // streams, streams), q.nb[1], q.nb[2], q.nb[3] // streams)


def weights_by_stream(weights: Tensor, streams: int) -> Tensor:
    """The weights of an indexer's heads shared out over the streams."""
    ne = (weights.ne[0], weights.ne[1] // streams, weights.ne[2], streams)
    return ops.view_4d(weights, ne, weights.nb[1], weights.nb[2] // streams, weights.nb[3] // streams)


def scores(q: Tensor, k: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
    """The score of every cached token for each token of a micro-batch."""
    return ops.lightning_indexer(q, k, weights, mask, "indexer_score")


def best(b: Builder, made: Tensor) -> Tensor:
    """The tokens with the best scores."""
    return ops.cont(ops.top_k(made, min(made.ne[0], b.number("attention.indexer.top_k"))), name="top_k")


def only_picked(mask: Tensor, picked: Tensor, kind: str = "F32") -> Tensor:
    """A mask that hides what was not picked: `kind` is the type of the zeros that are set where something was."""
    hidden = ops.fill(mask)
    hidden = ops.view_4d(hidden, (1, mask.ne[0], mask.ne[1], mask.ne[3]), *hidden.nb[:3])
    places = ops.view_4d(picked, (picked.ne[0], picked.ne[1], picked.ne[3], 1), picked.nb[1], picked.nb[2], picked.ne[3] * picked.nb[3])
    zeros = ops.fill(given("", kind, 1, *places.ne[:3]))
    shown = ops.set_rows(hidden, zeros, places)
    shown = ops.view_4d(shown, (shown.ne[1], shown.ne[2], 1, shown.ne[3]), shown.nb[2], shown.nb[3], shown.nb[3])
    return ops.add(shown, mask)


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(dict.fromkeys(("deepseek32", "glm-dsa"), indexed))
"""Architectures and what makes their graph."""
