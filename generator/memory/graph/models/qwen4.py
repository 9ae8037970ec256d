"""The graph of Qwen4 (experimental): delta nets and attention to picked tokens, on several residual streams.

Source: llama.cpp src/models/qwen4exp.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from types import MappingProxyType

from generator.memory.graph import ops
from generator.memory.graph.attention import AttentionInput, attention_input, read_k, write_k
from generator.memory.graph.builder import Builder, CacheView
from generator.memory.graph.models.deepseek_sparse import only_picked
from generator.memory.graph.models.gated_delta_net import after_ends, delta_net, feed, gated_attention
from generator.memory.graph.models.hyper_connections import Fused, rows_kept, started, taken_apart
from generator.memory.graph.states import StateInput, by_sequence, held_state
from generator.memory.graph.tensor import Tensor
from generator.memory.states import dilated_convolution, looked_up_blocks


def qwen4(b: Builder) -> None:
    """Each part of a block reads one mix of the streams and is added to all of them."""
    cur = b.embedding()
    recurrent = StateInput(b)
    main, beside = (replace(cache, label=label) for cache, label in zip(b.every_cache, ("", "idx_"), strict=True))
    given, positions, out_ids = attention_input(b, main), b.positions(4), b.out_ids()
    picker = _Picker(b, beside, positions, given.mask)
    looked_up = b.expand(_looked_up(b)) if looked_up_blocks(b.model) else None
    streams, fused = started(b, cur), Fused.of(b)
    for il in b.blocks:
        if looked_up is not None and il in looked_up_blocks(b.model):
            streams = _with_ngrams(b, recurrent, looked_up, streams, il)
        cur, wide = _mixed(b, streams, "hc_attn", il, fused)
        b.expand(cur)
        if il in main.keys:
            picked = picker.pick(cur, il) if picker.ratio(il) else None
            seen = given if picked is None else replace(given, mask=only_picked(given.mask, picked))
            cur = gated_attention(b, seen, cur, positions, il, reshaped=False)
        else:
            cur = delta_net(b, recurrent, cur, il)
        inject = b.linear("hc_attn_inject", wide, il, scale=False)
        if il == b.n_layer - 1:
            cur, inject = ops.get_rows(cur, out_ids), ops.get_rows(inject, out_ids)
            streams = taken_apart(rows_kept(streams, out_ids), streams)
        streams = _added(streams, cur, inject, fused)
        cur, wide = _mixed(b, streams, "hc_ffn", il, fused)
        streams = _added(streams, feed(b, cur, il), b.linear("hc_ffn_inject", wide, il, scale=False), fused)
    b.logits(_mixed(b, streams, "output_hc", None, fused)[0])


# --- streams ---------------------------------------------------------------------------------------


def _mixed(b: Builder, streams: Tensor, name: str, il: int | None, fused: Fused) -> tuple[Tensor, Tensor]:
    """What a part reads of the streams, and all of them as one normed row (`build_hc_mix`)."""
    width, count, n = streams.ne[:3]
    wide = ops.reshape(ops.mul(ops.rms_norm(streams), b.w(f"{name}_norm", il)), width * count, n)
    gate = b.linear(f"{name}_up", ops.unary(ops.scale(b.linear(f"{name}_down", wide, il, scale=False))), il, scale=False)
    if il is not None and fused.read:
        return ops.hc_pre(ops.reshape(wide, width, count, n), ops.reshape(gate, width, count, n), "hc_mixed"), wide
    gated = ops.reshape(ops.mul(wide, ops.unary(gate)), width, count, n)
    first, *others = (ops.view_2d(gated, width, n, gated.nb[2]) for _ in range(count))
    return ops.scale(reduce(ops.add, others, ops.cont(first)), "hc_mixed"), wide


def _added(streams: Tensor, cur: Tensor, inject: Tensor, fused: Fused) -> Tensor:
    """The streams with what a part gave, by their weights (`build_hc_combine`)."""
    weights = ops.scale(ops.unary(ops.scale(inject)))
    if fused.write:
        return ops.hc_post(cur, streams, weights, None, "hc_combine")
    width, count, n = streams.ne[:3]
    each = ops.repeat(ops.reshape(cur, width, 1, n), width, count, n)
    return ops.add(streams, ops.mul(each, ops.reshape(weights, 1, count, n)), "hc_combine")


# --- which tokens are looked at --------------------------------------------------------------------


class _Picker:
    """Scores runs of cached tokens by the mean of their short K rows, and picks the tokens of the best (`build_qsa_top_k`)."""

    def __init__(self, b: Builder, cache: CacheView, positions: Tensor, mask: Tensor) -> None:
        self.b, self.cache, self.positions, self.mask = b, cache, positions, mask
        self._inputs: dict[int, tuple[AttentionInput, Tensor, Tensor, Tensor, Tensor]] = {}

    def ratio(self, il: int) -> int:
        """Give the tokens of a run in a block, 0 where it looks at all tokens."""
        return self.b.of_block("attention.compress_ratios", il, 0)

    def _of(self, ratio: int) -> tuple[AttentionInput, Tensor, Tensor, Tensor, Tensor]:
        """Give the inputs of blocks with runs of this length: where K goes, the run of each token, a run's tokens and places, a bias."""
        if ratio not in self._inputs:
            b, cells, streams = self.b, self.cache.cells, self.cache.streams
            runs = -(-cells // ratio)
            k_idxs = b.input("attn_inp_k_idxs", "I64", b.n_tokens)
            self._inputs[ratio] = (
                AttentionInput(self.cache, k_idxs, None, self.mask, None, None),
                b.input("cell_blk", "I32", cells, streams),
                b.input("blk_cells", "I32", ratio * runs, streams),
                b.input("blk_pos", "I32", 4 * runs * streams),
                b.input("bias", "F32", runs, b.n_tokens // streams, streams),
            )
        return self._inputs[ratio]

    def pick(self, cur: Tensor, il: int) -> Tensor:
        """Give the tokens that each token of a micro-batch looks at; its own K rows are stored."""
        b, ratio, streams = self.b, self.ratio(il), self.cache.streams
        given, run_of, members, _, bias = self._of(ratio)
        head, each = b.number("attention.indexer.key_length"), b.n_tokens // streams
        b.expand(write_k(b, given, ops.reshape(b.linear("indexer.k_proj", cur, il, scale=False), head, 1, b.n_tokens), il))
        held = read_k(b, self.cache, il, head, 1)
        held = ops.view_3d(held, head, self.cache.cells, streams, held.nb[2], held.nb[3])
        score = self._scores(self._pooled(ops.get_rows(held, members), ratio, il), cur, il)
        score = ops.add(score, bias)
        score = ops.get_rows(ops.cont(ops.permute(score, 1, 0, 2, 3)), run_of)
        score = ops.cont(ops.permute(score, 1, 0, 2, 3))
        mask = self.mask if self.mask.type == "F32" else ops.cast(self.mask, "F32")
        score = ops.add(score, ops.reshape(mask, self.cache.cells, each, streams), "indexer_score_tokens")
        width = min(self.cache.cells, b.number("attention.indexer.top_k") + ratio - 1)
        return ops.reshape(ops.cont(ops.top_k(score, width)), width, each, 1, streams, name="indexer_top_k")

    def _pooled(self, members: Tensor, ratio: int, il: int) -> Tensor:
        """The mean of each run, normed and rotated: [length, runs, streams]."""
        head, streams = members.ne[0], self.cache.streams
        runs = members.ne[1] // ratio
        members = ops.reshape(members, head, ratio, runs, streams)
        parts = [ops.cont(ops.view_3d(members, head, runs, streams, members.nb[2], members.nb[3])) for _ in range(ratio)]
        pooled = ops.reshape(ops.scale(reduce(ops.add, parts)), head, runs * streams, 1)
        pooled = ops.reshape(self.b.norm(pooled, "indexer.k_norm", il), head, 1, runs * streams)
        return ops.reshape(ops.rope(pooled, self._of(ratio)[3]), head, runs, streams, name="indexer_k")

    def _scores(self, keys: Tensor, cur: Tensor, il: int) -> Tensor:
        """The score of every run for each token: [runs, tokens of a stream, streams]."""
        b, (head, runs, streams) = self.b, keys.ne[:3]
        heads, each = b.number("attention.indexer.head_count"), b.n_tokens // streams
        q = ops.reshape(b.linear("indexer.q_proj", cur, il, scale=False), head, heads, b.n_tokens)
        q = ops.rope(b.norm(q, "indexer.q_norm", il), self.positions, name="indexer_q")
        score = ops.mul_mat(keys, ops.reshape(q, head, heads * each, streams))
        score = ops.unary(ops.reshape(score, runs, heads, each, streams))
        first, *others = (ops.view_3d(score, runs, each, streams, score.nb[2], score.nb[3]) for _ in range(heads))
        return reduce(ops.add, others, ops.cont(first))


# --- looked-up n-grams -----------------------------------------------------------------------------


def _looked_up(b: Builder) -> Tensor:
    """The rows of all n-grams that end at each token (`build_inp_ple`)."""
    heads = (b.number("ple.ngram_size") - 1) * b.number("ple.heads_per_ngram")
    rows = ops.get_rows(b.w("per_layer_token_embd"), b.input("ple_rows", "I32", heads * b.n_tokens))
    return ops.reshape(rows, rows.ne[0] * heads, b.n_tokens, name="ple_embd")


def _with_ngrams(b: Builder, given: StateInput, looked_up: Tensor, streams: Tensor, il: int) -> Tensor:
    """The streams with what n-grams give, by a gate and a convolution that skips tokens (`build_ple`)."""
    width, count, n = streams.ne[:3]

    def normed(cur: Tensor, name: str) -> Tensor:
        return ops.mul(ops.rms_norm(ops.reshape(cur, width, count, n)), b.w(name, il))

    key, value = (b.linear(f"ple_{part}", looked_up, il, scale=False) for part in ("key", "value"))
    fit = ops.sum_rows(ops.mul(normed(key, "ple_norm_key"), normed(streams, "ple_norm_query")))
    fit = ops.scale(fit)
    size = ops.sqrt(ops.clamp(ops.unary(fit)))
    gate = ops.unary(ops.mul(ops.unary(fit), size), "ple_gate")
    gated = ops.mul(ops.repeat(ops.reshape(value, width, 1, n), width, count, n), gate, "ple_gated_value")
    rows = ops.reshape(normed(ops.reshape(gated, width * count, n), "ple_norm_conv"), width * count, n)
    made = ops.unary(_convolved(b, given, rows, il))
    made = ops.reshape(ops.cont(made), width, count, n, name="ple_conv_out")
    return ops.add(streams, ops.add(gated, made))


def _convolved(b: Builder, given: StateInput, rows: Tensor, il: int) -> Tensor:
    """The convolution as a sum of shifted copies."""
    kernel, channels, sequences = b.w("ple_conv1d", il), rows.ne[0], b.batch.sequences
    held = held_state(b, "ple_r", il, int(dilated_convolution(b.model, il).r))
    inputs = after_ends(b, given, held, by_sequence(b, rows, channels), held.ne[0] // channels, copied=True)
    terms = []
    for _ in range(kernel.ne[0]):
        shifted = ops.view_3d(inputs, b.n_tokens // sequences, channels, sequences, inputs.nb[1], inputs.nb[2])
        factor = ops.reshape(ops.cont(ops.view_2d(kernel, 1, channels, kernel.nb[1])), channels)
        factor = factor if factor.type == "F32" else ops.cast(factor, "F32")
        terms.append(ops.mul(ops.cont(ops.transpose(shifted)), factor))
    return reduce(ops.add, terms)


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType({"qwen4exp": qwen4})
"""Architectures and what makes their graph."""
