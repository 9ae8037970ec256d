"""The graph of DeepSeek V4: attention on a window and on rows that stand for several tokens, and hyper-connections.

Source: llama.cpp src/models/deepseek4.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from generator.memory.architectures import COARSE, FINE
from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import AttentionInput, attention_input, heads_attend, read_k, write_k
from generator.memory.graph.builder import Builder, CacheView, hadamard, rotation_of
from generator.memory.graph.models import hyper_connections
from generator.memory.graph.models.deepseek4_compressors import Compressor
from generator.memory.graph.models.deepseek_sparse import best, only_picked, rows_by_stream, scores, weights_by_stream
from generator.memory.graph.models.drafts import embedded, last_norm, logits
from generator.memory.graph.models.hyper_connections import Fused
from generator.memory.graph.models.latent_attention import short_query
from generator.memory.graph.tensor import Tensor


def compressed(b: Builder) -> None:
    """DeepSeek V4."""
    tokens = b.embedding()
    positions, out_ids = b.positions(), b.out_ids()
    attention = _Attention.of(b, positions)
    b.expand(attention.window.mask)
    streams = hyper_connections.started(b, tokens)
    fused = Fused.of(b)
    for il in b.blocks:
        cur, kept = hyper_connections.read(b, streams, "attn", il, fused)
        cur = attention.block(b.norm(cur, "attn_norm", il), il)
        streams = hyper_connections.write(b, cur, kept, fused)
        cur, kept = hyper_connections.read(b, streams, "ffn", il, fused)
        for part in (kept.residual, kept.written, kept.mixed):
            b.expand(part)
        cur = _feed(b, b.norm(cur, "ffn_norm", il), tokens.src[1], il)
        streams = hyper_connections.write(b, cur, kept, fused)
    rows = hyper_connections.rows_kept(streams, out_ids)
    b.finish(hyper_connections.joined(b, hyper_connections.taken_apart(rows, streams)))


def compressed_draft(b: Builder) -> None:
    """The draft head of DeepSeek V4: one more block on the streams of the model before it, which attends to a window alone."""
    il, count, fused = b.n_layer, b.number("hyper_connection.count"), Fused.of(b)
    token = embedded(b, il)
    hidden = b.input("mtp_h_input", "F32", b.n_embd * count, b.n_tokens)
    before = b.norm(ops.reshape(hidden, b.n_embd, count, b.n_tokens), "nextn.hnorm", il)
    positions, out_ids = b.positions(), b.out_ids()
    token = hyper_connections.started(b, b.norm(token, "nextn.enorm", il))
    streams = b.linear("nextn.eh_proj", ops.concat(token, before, 0, "mtp_concat"), il, "mtp_eh_proj")
    cur, kept = hyper_connections.read(b, streams, "attn", il, fused)
    cur = _Attention.drafting(b, positions).block(b.norm(cur, "attn_norm", il), il)
    streams = hyper_connections.write(b, cur, kept, fused)
    cur, kept = hyper_connections.read(b, streams, "ffn", il, fused)
    streams = hyper_connections.write(b, _feed(b, b.norm(cur, "ffn_norm", il), None, il), kept, fused)
    rows = hyper_connections.rows_kept(streams, out_ids, "h_nextn")
    rows.is_output = True
    cur = hyper_connections.joined(b, hyper_connections.taken_apart(rows, streams))
    cur = last_norm(b, cur, "nextn.shared_head_norm", label="mtp_shared_head_norm")
    cur.is_output = True
    logits(b, cur, il)


def _feed(b: Builder, cur: Tensor, tokens: Tensor | None, il: int) -> Tensor:
    """A mixture of experts; the first blocks choose them by the token alone."""
    table = b.opt("ffn_gate_tid2eid", il)
    selected = None if table is None or tokens is None else ops.get_rows(table, tokens)
    normalised = b.flag("expert_weights_norm")
    made = feed_forward.experts(b, cur, il, gating="sqrt_softplus", normalised=normalised, selected=selected)
    return ops.add(made, feed_forward.dense(b, cur, il, suffix="_shexp"), "ffn_out")


@dataclass(frozen=True, slots=True)
class _Attention:
    """The attention of all blocks, and its inputs: those of the window, and the compressors, which a draft head does not have."""

    b: Builder
    positions: Tensor
    window: AttentionInput
    beside: _Compressors | None

    @staticmethod
    def of(b: Builder, positions: Tensor) -> _Attention:
        labels = ("", "fine_", "coarse_", "indexer_")
        raw, fine, coarse, indexer = (replace(cache, label=label) for cache, label in zip(b.every_cache, labels, strict=True))
        head, picked = b.head("key", 0), b.number("attention.indexer.key_length")
        mask, rotation = "F16" if b.batch.flash else "F32", _rotation(b, raw)
        beside = _Compressors(
            Compressor(b, "attn_compressor", fine, FINE, head, mask, rotation=rotation),
            Compressor(b, "attn_compressor", coarse, COARSE, head, mask, rotation=rotation),
            Compressor(b, "indexer_compressor", indexer, FINE, picked, "F16", rotation=rotation_of(picked)),
        )
        return _Attention(b, positions, _window(b, raw, rotation), beside)

    @staticmethod
    def drafting(b: Builder, positions: Tensor) -> _Attention:
        """Give that of a draft head."""
        cache = b.caches[b.n_layer]
        return _Attention(b, positions, _window(b, cache, _rotation(b, cache)), None)

    def block(self, cur: Tensor, il: int) -> Tensor:
        """The attention of one block, from what it reads to what it gives."""
        b, n, head, heads = self.b, self.b.n_tokens, self.b.head("key", il), self.b.of_block("attention.head_count", il)
        short = short_query(b, cur, il)
        q = ops.rms_norm(ops.reshape(b.linear("attn_q_b", short, il), head, heads, n), "q_norm")
        q = ops.rope(q, self.positions, name="q")
        k = b.norm(b.linear("attn_kv", cur, il), "attn_kv_a_norm", il)
        k = ops.rope(ops.reshape(k, head, 1, n, name="kv_norm"), self.positions, name="kv")
        ratio, beside = b.of_block("attention.compress_ratios", il), self.beside
        rows: tuple[Compressor, Tensor] | None = None
        if beside is not None and ratio == FINE:
            beside.fine.store(cur, il)
            beside.indexer.store(cur, il)
            mask = beside.fine.mask
            rows = (beside.fine, only_picked(mask, self._pick(beside.indexer, short, cur, il), mask.type))
        elif beside is not None and ratio == COARSE:
            beside.coarse.store(cur, il)
            rows = (beside.coarse, beside.coarse.mask)
        return self._project(self._attend(q, k, il, rows), head, heads, il)

    def _pick(self, beside: Compressor, short: Tensor, cur: Tensor, il: int) -> Tensor:
        """Give the compressed rows that each token looks at."""
        b = self.b
        q = ops.reshape(b.linear("indexer.attn_q_b", short, il), beside.head, b.number("attention.indexer.head_count"), b.n_tokens)
        q = ops.rope(q, self.positions, name="lid_q_rope")
        assert beside.rotation is not None
        q = hadamard(q, beside.rotation)
        weights = ops.scale(b.linear("indexer.proj", cur, il), "lid_weights")
        keys = _whole(read_k(b, beside.cache, il, beside.head, 1))
        streams = keys.ne[3]
        q, weights = rows_by_stream(q, streams), weights_by_stream(weights, streams)
        return best(b, scores(q, keys, weights, beside.mask))

    def _attend(self, q: Tensor, k: Tensor, il: int, beside: tuple[Compressor, Tensor] | None) -> Tensor:
        """Attention on the window, and on the compressed rows `beside` it, with their mask."""
        b, window, head = self.b, self.window, k.ne[0]
        if window.k_rotation is not None:
            q, k = hadamard(q, window.k_rotation), hadamard(k, window.k_rotation)
        b.expand(q)
        b.expand(k)
        b.expand(write_k(b, window, k, il))
        keys, mask = read_k(b, window.cache, il, head, 1), window.mask
        if beside is not None:
            compressor, mask_beside = beside
            keys = ops.concat(keys, _whole(read_k(b, compressor.cache, il, head, 1)), 2, "k_all")
            mask = ops.concat(mask, mask_beside, 0, "kq_mask")
        values = _whole(keys) if self.beside is None else keys
        out = heads_attend(b, q, keys, values, mask, il, sinks=b.w("attn_sinks", il))
        return out if window.k_rotation is None else hadamard(out, window.k_rotation)

    def _project(self, cur: Tensor, head: int, heads: int, il: int) -> Tensor:
        """What heads give with its rotation taken back, and projected in groups to a short row."""
        b, n, groups = self.b, self.b.n_tokens, self.b.number("attention.output_group_count")
        each, rank = heads // groups * head, b.number("attention.output_lora_rank")
        cur = ops.rope_back(ops.reshape(cur, head, heads, n), self.positions, name="attn_derope")
        cur = ops.permute(ops.reshape(cur, each, groups, n), 0, 2, 1, 3)
        short = ops.permute(ops.mul_mat(b.shaped("attn_output_a", il, each, rank, groups), cur, "attn_wo_a"), 0, 2, 1, 3)
        return b.linear("attn_output_b", ops.cont(short, rank * groups, n), il, "attn_out")


@dataclass(frozen=True, slots=True)
class _Compressors:
    """Those of blocks with fine and with coarse rows, and that of the indexer of fine ones."""

    fine: Compressor
    coarse: Compressor
    indexer: Compressor


def _rotation(b: Builder, cache: CacheView) -> int:
    """Give the elements that rows of a window are rotated by: always, where they are as long as an indexer's."""
    head = b.head("key", 0)
    return rotation_of(head) if cache.rotates_keys or head == b.number("attention.indexer.key_length") else 0


def _window(b: Builder, cache: CacheView, rotation: int) -> AttentionInput:
    window = attention_input(b, cache, values=False)
    window.k_rotation = b.input("attn_inp_k_rot", "F32", rotation, rotation) if rotation else None
    return window


def _whole(keys: Tensor) -> Tensor:
    """All rows of a compressed cache once more: the engine takes as many as it may look at."""
    return ops.view_4d(keys, keys.ne, *keys.nb[1:])


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType({"deepseek4": compressed})
"""Architectures and what makes their graph."""

DRAFTS: Mapping[str, Callable[[Builder], None]] = MappingProxyType({"deepseek4": compressed_draft})
"""Architectures and what makes the graph of their draft head."""
