"""Graphs of RWKV: its sixth and seventh generations, and the models of other families that were given its mixer.

Source: llama.cpp src/models/rwkv6-base.cpp, rwkv7-base.cpp, rwkv6.cpp, rwkv7.cpp, rwkv6qwen2.cpp, arwkv7.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.builder import Builder
from generator.memory.graph.states import StateInput, by_sequence, held_state, read_state
from generator.memory.graph.tensor import Tensor

Mixer = Callable[["Mixing", Tensor, Tensor, int], Tensor]


class Mixing:
    """What all blocks share: the builder, the rows of states, and what the first block's values were."""

    __slots__ = ("b", "first_value", "given", "head", "heads", "sequences", "shifts", "tokens")

    def __init__(self, b: Builder) -> None:
        self.b, self.given = b, StateInput(b)
        self.first_value: Tensor | None = None
        self.head = b.number("wkv.head_size")
        self.heads = b.n_embd // self.head
        self.shifts = b.number("token_shift_count", 2)
        self.sequences = b.batch.sequences
        self.tokens = b.batch.tokens // self.sequences

    def by_head(self, cur: Tensor) -> Tensor:
        """Give rows of tokens by their heads."""
        return ops.reshape(cur, self.head, self.heads, self.b.n_tokens)

    def shifted_state(self, il: int) -> Tensor:
        """Give the tokens before the micro-batch (`build_rwkv_token_shift_load`)."""
        rows = read_state(self.b, self.given, self._held_shift(il))
        return ops.reshape(rows, self.b.n_embd, self.shifts, self.sequences)

    def store_shift(self, shift: Tensor, il: int) -> None:
        """Keep the last tokens of the micro-batch (`build_rwkv_token_shift_store`)."""
        count = self.b.n_embd * self.shifts * self.sequences
        self.b.expand(ops.cpy(ops.view_1d(shift, count), ops.view_1d(self._held_shift(il), count)))

    def _held_shift(self, il: int) -> Tensor:
        return held_state(self.b, "r", il, self.b.n_embd * self.shifts)

    def part(self, a: Tensor, tokens: int) -> Tensor:
        """Give some tokens of each sequence."""
        return ops.view_3d(a, self.b.n_embd, tokens, self.sequences, a.nb[1], a.nb[2])

    def before(self, shift: Tensor, cur: Tensor) -> Tensor:
        """Give what came before each token."""
        return ops.concat(shift, self.part(cur, self.tokens - 1), 1)

    def held_wkv(self, il: int) -> Tensor:
        """Give the memory of a block's matrices."""
        return held_state(self.b, "s", il, self.b.n_embd * self.head)

    def output(self, made: Tensor, il: int) -> Tensor:
        """Store the matrices that come after the rows of tokens, and give these rows."""
        b = self.b
        rows = ops.view_1d(made, b.n_embd * b.n_tokens)
        count = b.n_embd * self.head * self.sequences
        b.expand(ops.cpy(ops.view_1d(made, count), ops.view_1d(self.held_wkv(il), count)))
        return rows


def rwkv(b: Builder, mixer: Mixer, channels: Callable[[Builder, Tensor, Tensor, int], Tensor]) -> None:
    """RWKV's own models: a mixer over time and one over channels, both of which see the token before (rwkv6.cpp, rwkv7.cpp)."""
    cur = b.norm(b.embedding(), "token_embd_norm", kind="layer")
    mixing, out_ids = Mixing(b), b.out_ids()
    every = b.number("rescale_every_n_layers", 0) if b.arch == "rwkv6" else 0
    for il in b.blocks:
        cur = by_sequence(b, cur, b.n_embd)
        shift = mixing.shifted_state(il)
        for_time, for_channels = (mixing.part(shift, 1) for _ in range(2))
        normed = b.norm(cur, "attn_norm", il, kind="layer")
        after = ops.add(mixer(mixing, normed, mixing.before(for_time, normed), il), cur, "ffn_inp")
        normed_after = b.norm(after, "attn_norm_2", il, kind="layer", label="ffn_norm")
        previous = mixing.before(for_channels, normed_after)
        mixing.store_shift(ops.concat(mixing.part(normed, 1), mixing.part(normed_after, 1), 1), il)
        after, normed_after, previous = (ops.reshape(part, b.n_embd, b.n_tokens) for part in (after, normed_after, previous))
        after, normed_after, previous = b.kept(il, out_ids, after, normed_after, previous)
        cur = ops.add(channels(b, normed_after, previous, il), after, "l_out")
        if every and not (il + 1) % every:
            cur = ops.scale(cur)
    b.finish(cur, norm="layer")


def with_dense_part(b: Builder, mixer: Mixer) -> None:
    """RWKV's mixer over time and an ordinary dense part (rwkv6qwen2.cpp, arwkv7.cpp)."""
    cur = b.embedding()
    mixing, out_ids = Mixing(b), b.out_ids()
    for il in b.blocks:
        cur = by_sequence(b, cur, b.n_embd)
        shift = mixing.shifted_state(il)
        normed = b.norm(cur, "attn_norm", il)
        mixed = mixer(mixing, normed, mixing.before(shift, normed), il)
        mixing.store_shift(mixing.part(normed, 1), il)
        (after,) = b.kept(il, out_ids, ops.reshape(ops.add(mixed, cur, "ffn_inp"), b.n_embd, b.n_tokens))
        cur = ops.add(feed_forward.dense(b, b.norm(after, "ffn_norm", il), il), after, "l_out")
    b.finish(cur)


def time_mix_7(m: Mixing, cur: Tensor, previous: Tensor, il: int) -> Tensor:
    """The seventh generation's mixer over time (`build_rwkv7_time_mix`)."""
    b = m.b

    def w(name: str) -> Tensor:
        return b.w(f"time_mix_{name}", il)

    gated = b.opt("time_mix_g1", il) is not None and b.opt("time_mix_g2", il) is not None
    change = ops.repeat(ops.sub(previous, cur), b.n_embd, m.tokens, m.sequences, 6 if gated else 5)
    mixed = ops.add(ops.mul(change, w("lerp_fused")), cur)
    xr, xw, xk, xv, xa, xg = (ops.view_2d(mixed, b.n_embd, b.n_tokens, mixed.nb[1]) for _ in range(6))
    r = b.linear("time_mix_receptance", xr, il)
    decay = ops.add(_low_rank(b, "w", xw, il, between=True), w("w0"))
    decay = ops.unary(ops.scale(ops.unary(decay)))
    k, v = b.linear("time_mix_key", xk, il), _value_7(m, xv, il)
    gate = ops.mul_mat(w("g2"), ops.unary(ops.mul_mat(w("g1"), xg))) if gated else None
    rate = ops.unary(ops.add(_low_rank(b, "a", xa, il), w("a0")))
    kk = ops.l2_norm(m.by_head(ops.mul(k, w("k_k"))))
    ka = ops.mul(k, w("k_a"))
    k = ops.add(k, ops.sub(ops.mul(rate, ka), ka))
    r, decay, k, v, rate = (m.by_head(part) for part in (r, decay, k, v, rate))
    state = read_state(b, m.given, m.held_wkv(il))
    made = ops.linear_attn("RWKV_WKV7", r, decay, k, v, ops.unary(kk), ops.mul(kk, rate), state)
    cur = _normed_by_head(m, m.output(made, il), il)
    rk = ops.sum_rows(ops.mul(ops.mul(k, r), ops.reshape(w("r_k"), m.head, m.heads)))
    cur = ops.add(cur, ops.reshape(ops.mul(v, rk), b.n_embd, b.n_tokens))
    if gate is not None:
        cur = ops.mul(cur, gate)
    return by_sequence(b, b.linear("time_mix_output", cur, il), b.n_embd)


def _low_rank(b: Builder, name: str, cur: Tensor, il: int, *, between: bool = False) -> Tensor:
    """Two narrow matrices, with a function between them or without."""
    narrow = ops.mul_mat(b.w(f"time_mix_{name}1", il), cur)
    return ops.mul_mat(b.w(f"time_mix_{name}2", il), ops.unary(narrow) if between else narrow)


def _value_7(m: Mixing, xv: Tensor, il: int) -> Tensor:
    """The values, to which later blocks add some of the first block's."""
    v = m.b.linear("time_mix_value", xv, il)
    if m.first_value is None:
        m.first_value = v
        return v
    share = ops.unary(ops.add(_low_rank(m.b, "v", xv, il), m.b.w("time_mix_v0", il)))
    return ops.add(v, ops.mul(ops.sub(m.first_value, v), share))


def _normed_by_head(m: Mixing, cur: Tensor, il: int) -> Tensor:
    """A norm of each head where the file has its weight."""
    b = m.b
    weight, bias = b.opt("time_mix_ln", il), b.bias("time_mix_ln", il)
    if weight is None or bias is None:
        return ops.reshape(cur, b.n_embd, b.n_tokens)
    cur = ops.reshape(ops.norm(m.by_head(cur)), b.n_embd, b.n_tokens)
    return ops.add(ops.mul(cur, weight), bias)


def channel_mix_7(b: Builder, cur: Tensor, previous: Tensor, il: int) -> Tensor:
    """The seventh generation's mixer over channels (`build_rwkv7_channel_mix`)."""
    xk = ops.add(ops.mul(ops.sub(previous, cur), b.w("channel_mix_lerp_k", il)), cur)
    k = ops.sqr(ops.unary(b.linear("channel_mix_key", xk, il)))
    return b.linear("channel_mix_value", k, il)


def channel_mix_6(b: Builder, cur: Tensor, previous: Tensor, il: int) -> Tensor:
    """The sixth generation's (`build_rwkv6_channel_mix`)."""
    change = ops.sub(previous, cur)
    xk, xr = (ops.add(ops.mul(change, b.w(f"channel_mix_lerp_{part}", il)), cur) for part in "kr")
    r = ops.unary(b.linear("channel_mix_receptance", xr, il))
    k = ops.sqr(ops.unary(b.linear("channel_mix_key", xk, il)))
    return ops.mul(r, b.linear("channel_mix_value", k, il))


def time_mix_6(m: Mixing, cur: Tensor, previous: Tensor, il: int) -> Tensor:
    """The sixth generation's mixer over time (`build_rwkv6_time_mix`); without `time_mix_first` it is a gated linear attention."""
    b = m.b
    first = b.opt("time_mix_first", il)
    xw, xk, xv, xr, xg = _mixed_6(b, cur, previous, il)
    r, k, v = (b.linear_with_bias(f"time_mix_{name}", x, il) for name, x in (("receptance", xr), ("key", xk), ("value", xv)))
    gate = ops.unary(b.linear("time_mix_gate", xg, il))
    k, v = _repeated_6(m, k, il), _repeated_6(m, v, il)
    k, v, r = (m.by_head(part) for part in (k, v, r))
    decay = ops.add(_low_rank(b, "decay_w", xw, il, between=True), b.w("time_mix_decay", il))
    decay = m.by_head(ops.unary(ops.unary(ops.unary(decay))))
    if first is None:
        k = ops.sub(k, ops.mul(k, decay))
    state = read_state(b, m.given, m.held_wkv(il))
    if first is None:
        made = ops.linear_attn("GATED_LINEAR_ATTN", k, v, r, decay, state)
        cur = ops.reshape(m.output(made, il), b.n_embd, b.n_tokens)
    else:
        made = ops.linear_attn("RWKV_WKV6", k, v, r, first, decay, state)
        cur = _normed_by_head(m, m.output(made, il), il)
    return by_sequence(b, b.linear("time_mix_output", ops.mul(cur, gate), il), b.n_embd)


def _mixed_6(b: Builder, cur: Tensor, previous: Tensor, il: int) -> list[Tensor]:
    """Each of five inputs is a share of its own of a token and the one before it."""
    n, tokens = b.n_embd, b.n_tokens
    change = ops.reshape(ops.sub(previous, cur), n, tokens)
    cur = ops.reshape(cur, n, tokens)
    mixed = ops.add(ops.mul(change, b.w("time_mix_lerp_x", il)), cur)
    down, up = b.w("time_mix_w1", il), b.w("time_mix_w2", il)
    mixed = ops.reshape(ops.unary(ops.mul_mat(down, mixed)), down.ne[1] // 5, 1, 5, tokens)
    mixed = ops.cont(ops.permute(mixed, 0, 1, 3, 2))
    mixed = ops.mul_mat(ops.reshape(up, up.ne[0], up.ne[1], 1, 5), mixed)
    fused = b.opt("time_mix_lerp_fused", il)
    if fused is not None:
        change, cur = ops.reshape(change, n, 1, tokens), ops.reshape(cur, n, 1, tokens)
        mixed = ops.add(ops.mul(ops.add(mixed, fused), change), cur)
    parts = [ops.view_2d(mixed, n, tokens, mixed.nb[1]) for _ in range(5)]
    if fused is not None:
        return parts
    shares = (b.w(f"time_mix_lerp_{name}", il) for name in "wkvrg")
    return [ops.add(ops.mul(ops.add(part, share), change), cur) for part, share in zip(parts, shares, strict=True)]


def _repeated_6(m: Mixing, cur: Tensor, il: int) -> Tensor:
    """K or V of fewer heads repeated for all of them."""
    heads = m.b.heads_kv(il)
    if heads in {0, m.heads}:
        return cur
    cur = ops.reshape(cur, m.head, 1, heads, m.b.n_tokens)
    return ops.repeat(cur, m.head, m.heads // heads, heads, m.b.n_tokens)


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(
    {
        "rwkv6": lambda b: rwkv(b, time_mix_6, channel_mix_6),
        "rwkv7": lambda b: rwkv(b, time_mix_7, channel_mix_7),
        "rwkv6qwen2": lambda b: with_dense_part(b, time_mix_6),
        "arwkv7": lambda b: with_dense_part(b, time_mix_7),
    }
)
"""Architectures and what makes their graph."""
