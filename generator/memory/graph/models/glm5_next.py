"""The graph of GLM 5 Next: delta attention, and latent attention to tokens that an indexer picks pool by pool, on several residual streams.

Source: llama.cpp src/models/glm5-next.cpp; src/llama-memory-hybrid-idx.cpp for the pools of the worst case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from types import MappingProxyType

from generator.memory.graph import ops
from generator.memory.graph.attention import AttentionInput, attention_input, heads_attend, read_k, write_k
from generator.memory.graph.builder import Builder, CacheView
from generator.memory.graph.models import hyper_connections
from generator.memory.graph.models.kimi_delta_attention import delta_attention
from generator.memory.graph.models.latent_attention import queries_of, short_query
from generator.memory.graph.models.stack import feed_forward_part
from generator.memory.graph.states import StateInput
from generator.memory.graph.tensor import Tensor, given
from generator.memory.graph.unknown import UnknownGraphError

POOL_PADDING = 64
"""Pools are rounded up to a multiple of this, with one more that is never used."""

GATHERED_BATCH = 16
"""Tokens of a micro-batch up to which the engine attends to gathered rows, which it never reserves for with usual batches."""


def glm5_next(b: Builder) -> None:
    """Each part of a block reads one mix of the streams and is added to all of them."""
    if b.n_tokens <= GATHERED_BATCH:
        raise UnknownGraphError(f"in micro-batches of up to {GATHERED_BATCH} tokens the engine attends to gathered rows")
    cur = b.embedding()
    states = StateInput(b)
    main, beside = (replace(cache, label=label) for cache, label in zip(b.every_cache, ("", "idx_"), strict=True))
    inputs, out_ids = attention_input(b, main, values=False), b.out_ids()
    pools, fused = _Pools(b, beside, inputs), _fused(b)
    feed = feed_forward_part(b, gating="sigmoid")
    streams = hyper_connections.started(b, cur)
    for il in b.blocks:
        cur, kept = hyper_connections.read(b, streams, "attn", il, fused)
        cur = b.expand(b.norm(cur, "attn_norm", il))
        cur = _picked_attention(b, inputs, pools, cur, il) if il in main.keys else delta_attention(b, states, cur, il)
        streams = hyper_connections.write(b, cur, kept, fused)
        cur, kept = hyper_connections.read(b, streams, "ffn", il, fused)
        streams = hyper_connections.write(b, feed(b.norm(cur, "ffn_norm", il), il), kept, fused)
    streams = hyper_connections.taken_apart(hyper_connections.rows_kept(streams, out_ids), streams)
    width, count, n = streams.ne[:3]
    each = [ops.view_2d(streams, width, n, streams.nb[2]) for _ in range(count)]
    b.finish(ops.scale(reduce(ops.add, each), "hc_head"))


def _fused(b: Builder) -> hyper_connections.Fused:
    """Give which operations on streams are one: not the last where blocks follow others in host memory, whose end devices take over."""
    given_fused = hyper_connections.Fused.of(b)
    places = {b.w("attn_norm", il).home for il in range(b.n_layer)}
    return replace(given_fused, write=False) if len(places) > 1 and b.w("token_embd").home in places else given_fused


def _picked_attention(b: Builder, inputs: AttentionInput, pools: _Pools, cur: Tensor, il: int) -> Tensor:
    """Latent attention without rotation to the tokens that are picked (`build_dsa_layer`)."""
    heads, latent, n = b.of_block("attention.head_count", il), b.number("attention.kv_lora_rank"), b.n_tokens
    short = short_query(b, cur, il)
    q = queries_of(b, short, il)
    q = ops.reshape(q, q.ne[0] // heads, heads, n)
    row = b.norm(b.linear("attn_kv_a_mqa", cur, il, scale=False), "attn_kv_a_norm", il)
    row = ops.reshape(row, latent, 1, n, name="kv_cmpr")
    q = ops.permute(ops.mul_mat(b.w("attn_k_b", il), ops.permute(q, 0, 2, 1, 3)), 0, 2, 1, 3)
    picked = pools.picked(short, cur, il)
    b.expand(q)
    b.expand(row)
    b.expand(write_k(b, inputs, row, il))
    mask = ops.reshape(picked, *inputs.mask.ne, name="kq_mask_dsa")
    keys = read_k(b, inputs.cache, il, latent, 1)
    values = ops.view_4d(keys, (latent, *keys.ne[1:]), *keys.nb[1:])
    made = heads_attend(b, q, keys, values, mask, il, v_mla=b.w("attn_v_b", il))
    return b.linear("attn_output", made, il, "attn_out", scale=False)


class _Pools:
    """The indexer of all blocks: each pool of cached tokens has one mixed key, and the tokens of the best pools are looked at."""

    def __init__(self, b: Builder, cache: CacheView, inputs: AttentionInput) -> None:
        self.b, self.cache, self.mask = b, cache, inputs.mask
        self.head, self.each = b.number("attention.indexer.key_length"), b.number("attention.indexer.kpool")
        self.new = cache.cells // self.each * b.batch.sequences
        self.count = max(POOL_PADDING, -(-(self.new + 1) // POOL_PADDING) * POOL_PADDING)
        self.best = min(self.count, b.number("attention.indexer.top_k") // self.each)
        self.tail = self.each - 1 if b.flag("attention.indexer.kpool_select_tail", default=True) else 0
        n, picked = b.n_tokens, self.each * self.best + self.tail
        k_idxs = b.input("attn_inp_k_idxs", "I64", n)
        self.rows = AttentionInput(cache, k_idxs, None, self.mask, None, None)
        self.cells = b.expand(b.input("pool_cells", "I32", self.count))
        self.members = b.expand(b.input("pool_idxs", "I32", self.each, self.count))
        self.pool_mask = b.expand(b.input("pool_mask", "F16", self.count, n))
        self.tails = b.expand(b.input("tail_idxs", "I32", self.each - 1, n))
        self.live = b.expand(b.input("gather_mask", "F32", picked, 1, 1, n))
        self.new_members = b.input("new_pool_idxs", "I32", self.each, self.new)
        self.new_cells = b.input("new_pool_rep", "I64", self.new)
        self._last: Tensor | None = None

    def picked(self, short: Tensor, cur: Tensor, il: int) -> Tensor:
        """Give the mask of a block; one without an indexer takes that of the last one before it."""
        if il in self.cache.keys:
            self._last = self._pick(short, cur, il)
        assert self._last is not None
        return self._last

    def _pick(self, short: Tensor, cur: Tensor, il: int) -> Tensor:
        """Score the pools, and hide the tokens of all but the best (`build_kpool_select`)."""
        b, head, n = self.b, self.head, self.b.n_tokens
        q = ops.reshape(b.linear("indexer.attn_q_b", short, il, scale=False), head, b.number("attention.indexer.head_count"), n)
        self._store(cur, il)
        held = b.held(f"{self.cache.label}cache_k", il, self.cache.type_k, self.cache.keys[il], self.cache.cells, self.cache.streams)
        all_cells = self.cache.cells * self.cache.streams
        pooled = ops.view_2d(held, head, all_cells, held.nb[1])
        b.expand(ops.set_rows(pooled, self._mixed(ops.view_2d(held, 2 * head, all_cells, held.nb[1]), il), self.new_cells))
        keys = ops.reshape(ops.get_rows(pooled, self.cells), head, 1, self.count, name="indexer_pool_k")
        weights = ops.scale(b.linear("indexer.proj", cur, il, scale=False), "indexer_weights")
        return self._shown(self._tokens(ops.lightning_indexer(q, keys, weights, self.pool_mask, "indexer_score")))

    def _store(self, cur: Tensor, il: int) -> None:
        """Store each token's key and gate, and room for the key of a pool."""
        b, head, n = self.b, self.head, self.b.n_tokens
        key = b.norm(b.linear("indexer.attn_k", cur, il, scale=False), "indexer.k_norm", il, kind="layer")
        gate = b.linear("indexer_compressor_gate", cur, il, scale=False)
        row = ops.concat(ops.concat(key, gate, 0), ops.fill(given("", "F32", head, n)), 0)
        b.expand(write_k(b, self.rows, ops.reshape(row, 3 * head, 1, n), il))

    def _mixed(self, stored: Tensor, il: int) -> Tensor:
        """The keys of new pools: those of their tokens, by their gates."""
        head, each, new = self.head, self.each, self.new
        rows = ops.get_rows(stored, ops.reshape(self.new_members, each * new))
        rows = ops.reshape(rows, 2 * head, each, new)
        keys, gates = (ops.view_3d(rows, head, each, new, rows.nb[1], rows.nb[2]) for _ in range(2))
        shares = ops.cont(ops.permute(ops.add(gates, self.b.w("indexer_compressor_ape", il)), 1, 0, 2, 3))
        shares = ops.reshape(ops.soft_max(ops.reshape(shares, each, head * new)), each, head, new)
        mixed = ops.sum_rows(ops.mul(shares, ops.cont(ops.permute(keys, 1, 0, 2, 3))))
        return ops.reshape(mixed, head, new, name="indexer_pool_k_new")

    def _tokens(self, score: Tensor) -> Tensor:
        """The cells of the best pools for each token of the micro-batch, and of the pool that is not full yet."""
        n, best = self.b.n_tokens, self.best
        top = ops.top_k(score, best)
        order = ops.get_rows(ops.reshape(score, 1, self.count, n), top)
        order = ops.argsort(ops.reshape(order, best, n))
        top = ops.get_rows(ops.reshape(ops.cast(top, "F32"), 1, best, n), order)
        top = ops.cast(ops.cont(ops.reshape(top, best, n)), "I32", "indexer_top_k")
        cells = ops.get_rows(self.members, ops.reshape(top, best * n))
        cells = ops.reshape(cells, self.each * best, n)
        return ops.concat(cells, self.tails, 0) if self.tail else cells

    def _shown(self, picked: Tensor) -> Tensor:
        """The mask that shows what was picked, among what may be seen at all; what stands for nothing goes to rows of its own."""
        n, cells, count = self.b.n_tokens, self.mask.ne[0], picked.ne[0]
        seed = ops.cast(ops.view_1d(picked, 1), "F32")
        hidden = ops.fill(seed if self.mask.type == "F32" else ops.cast(seed, self.mask.type))
        hidden = ops.reshape(ops.repeat(hidden, 1, cells + count, n), 1, cells + count, n)
        zeros = ops.reshape(ops.repeat(ops.fill(seed), 1, count, n), 1, count, n)
        live = ops.unary(ops.reshape(self.live, count, n))
        spare = ops.arange(count)
        place = ops.add(ops.mul(ops.sub(ops.cast(picked, "F32"), spare), live), spare)
        shown = ops.set_rows(hidden, zeros, ops.reshape(ops.cast(place, "I32"), count, n, 1))
        shown = ops.view_2d(shown, cells, n, shown.nb[2])
        return ops.add(shown, ops.reshape(self.mask, cells, n), "indexer_sel")


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType({"glm5-next": glm5_next})
"""Architectures and what makes their graph."""
