"""The graph of a plain decoder: blocks of attention and feed-forward, each behind a norm and added to what came in.

What a file has decides most of it: norms of Q and K, norms after a part, biases, experts, shared experts, learned positions. What an
architecture's name decides is in `decoder_traits.py`. Source: llama.cpp src/models/<name>.cpp.
"""

from __future__ import annotations

from collections.abc import Callable

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import AttentionInput, attend, attention_input, project, project_flat
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder_traits import TRAITS, Traits
from generator.memory.graph.tensor import Tensor


class Inputs:
    """The inputs of every cache, by the blocks that have rows in it; with rotations of quantised rows or without."""

    def __init__(self, b: Builder, *, rotated: bool = True) -> None:
        made: dict[int, AttentionInput] = {}
        for cache in dict.fromkeys(b.caches.values()):
            made[id(cache)] = attention_input(b, cache, values=cache.values is not None, rotated=rotated)
        self._of = {block: made[id(cache)] for block, cache in b.caches.items()}

    def of(self, il: int) -> AttentionInput:
        """Give the inputs of the cache that a block reads."""
        return self._of[il]


class Run:
    """What all blocks of a graph share: the architecture's traits and the inputs."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.traits = TRAITS.get(b.arch, Traits())
        b.unread = self.traits.unread
        self.positions = b.positions(4 if self.traits.sections and b.uses_mrope else 1)
        tempers = b.real("attention.temperature_scale") != 0
        self.q_factors = b.input("inp_attn_scale", "F32", 1, 1, b.n_tokens) if tempers else None
        self.inputs = Inputs(b)
        self.out_ids = b.out_ids() if self.traits.keeps_rows else None

    def norm(self, cur: Tensor, name: str, il: int) -> Tensor:
        """Norm as the blocks of this architecture do."""
        return self.b.norm(cur, name, il, kind=self.traits.norm)

    def rows(self, il: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Leave only the rows whose logits are kept, in the last block."""
        return tensors if self.out_ids is None else self.b.kept(il, self.out_ids, *tensors)


Block = Callable[[Run, Tensor, int], Tensor]


def decoder(b: Builder, block: Block | None = None, after: Callable[[Tensor], Tensor] | None = None) -> None:
    """Make the graph of a plain decoder.

    `block` makes one of its blocks where those are not the usual ones, `after` is what becomes of the logits.
    """
    run = Run(b)
    traits = run.traits
    if block is None:
        block = parallel_block if traits.sums and (traits.sums_if is None or b.flag(traits.sums_if)) else plain_block
    cur = _embedded(run)
    for il in b.blocks:
        cur = with_image(b, cur, stream_before(b, il))
        cur = block(run, cur, il)
        cur = with_image(b, cur, il + 1 if il < b.number("n_deepstack_layers", 0) else 0)
    factors = int(traits.scales_logits or bool(b.real("logit_scale")))
    capping = 3 if b.real("final_logit_softcapping") else 0
    b.logits(b.norm(cur, "output_norm", kind=traits.norm, label="result_norm"), scaled=factors + capping, after=after)


def _embedded(run: Run) -> Tensor:
    b, traits = run.b, run.traits
    cur = b.embedding(scaled=traits.scales_embedding)
    if traits.scales_input:
        cur = ops.scale(cur, "inp_scaled")
    if b.opt("token_embd_norm") is not None:
        cur = b.norm(cur, "token_embd_norm", kind=traits.norm, label="inp_norm")
    if b.opt("position_embd") is not None:
        cur = ops.add(cur, ops.get_rows(b.w("position_embd"), run.positions, "pos_embd"), "inpL")
    return cur


def stream_before(b: Builder, il: int) -> int:
    """Give which further embedding of an image is added before a block, 0 for none (src/models/granite.cpp)."""
    mapping = b.model.raw("deepstack_mapping") if b.model.has("deepstack_mapping") else ()
    return max(0, int(mapping[il])) if isinstance(mapping, list | tuple) and 0 < il < len(mapping) else 0


def with_image(b: Builder, cur: Tensor, stream: int) -> Tensor:
    """Add a further embedding of an image (src/models/qwen3vl.cpp)."""
    if not stream:
        return cur
    embedded = b.embedded
    assert embedded is not None
    return ops.add(cur, ops.view_2d(embedded, b.n_embd, b.n_tokens, embedded.nb[1]), "deepstack_out")


# --- blocks ----------------------------------------------------------------------------------------


def plain_block(run: Run, inp: Tensor, il: int) -> Tensor:
    """A block whose feed-forward part reads the sum of what came in and the attention."""
    b, traits = run.b, run.traits
    read = run.norm(inp, "attn_norm", il)
    cur, residual, read = run.rows(il, attention_part(run, read, il), inp, read)
    before, after = _norms_between(b, il)
    if after is not None:
        cur = run.norm(cur, after, il)
    cur = _scaled_residual(run, cur)
    middle = ops.add(residual, cur, "ffn_inp") if traits.input_first else ops.add(cur, residual, "ffn_inp")
    cur = feed_forward_part(run, read if before is None else run.norm(middle, before, il), il)
    for name in ("post_ffw_norm", "layer_output_norm"):
        cur = b.norm_if_any(cur, name, il, kind=traits.norm)
    cur = _scaled_residual(run, cur)
    return ops.add(middle, cur, "l_out") if traits.ffn_last else ops.add(cur, middle, "l_out")


def parallel_block(run: Run, inp: Tensor, il: int) -> Tensor:
    """A block whose feed-forward part reads what the attention read, or a norm of its own of it."""
    b = run.b
    read = run.norm(inp, "attn_norm", il)
    by_attention = read if b.opt("attn_norm_2", il) is None else run.norm(inp, "attn_norm_2", il)
    cur, inp, read = run.rows(il, attention_part(run, by_attention, il), inp, read)
    if b.opt("ffn_norm", il) is not None:
        read = run.norm(inp, "ffn_norm", il)
    parts = {"a": cur, "f": feed_forward_part(run, read, il), "i": inp}
    first, second, third = (parts[letter] for letter in run.traits.sums)
    return ops.add(ops.add(first, second), third, "l_out")


def _norms_between(b: Builder, il: int) -> tuple[str | None, str | None]:
    """Give the norm before the feed-forward part and the one after the attention: a lone one is the former, by whatever name.

    A block with a norm before the attention alone has its feed-forward part read that; one without any norms without weights.
    """
    named = [name for name in ("ffn_norm", "post_attention_norm", "attn_output_norm") if b.opt(name, il) is not None]
    if not named:
        return (None if b.opt("attn_norm", il) is not None else "ffn_norm"), None
    return named[0], (named[1] if len(named) > 1 else None)


def _scaled_residual(run: Run, cur: Tensor) -> Tensor:
    """Scale what a part adds (src/models/granite.cpp, where the header states a factor)."""
    if not run.traits.scales_residual:
        return cur
    stated = run.b.arch == "minicpm" or run.b.real("residual_scale")
    return ops.scale(cur, "residual_scaled") if stated else cur


# --- attention -------------------------------------------------------------------------------------


def attention_part(run: Run, cur: Tensor, il: int) -> Tensor:
    """The attention of a block, up to and with its output matrix."""
    b, traits = run.b, run.traits
    q, k, v = qkv(b, cur, il, kind=traits.head_norm, normed=not traits.norms_rotated)
    if traits.rotates(b, il):
        factors = rope_factors(b, il)
        q, k = ops.rope(q, run.positions, factors, "Qcur"), ops.rope(k, run.positions, factors, "Kcur")
    if traits.norms_rotated:
        q, k = normed_heads(b, q, k, il, kind=traits.head_norm)
    if traits.scales_q:
        q = ops.scale(q, "Qcur")
    if run.q_factors is not None:
        q = ops.mul(q, run.q_factors, "Qcur_attn_temp_scaled")
    if b.opt("attn_sub_norm", il) is None:
        return attend(b, run.inputs.of(il), q, k, v, il)
    cur = attend(b, run.inputs.of(il), q, k, v, il, out=None)
    return b.linear_with_bias("attn_output", run.norm(cur, "attn_sub_norm", il), il, "attn_out")


def qkv(b: Builder, cur: Tensor, il: int, *, kind: str = "rms", normed: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Q, K and V, with the norms that the file has for them unless those come later."""
    heads, heads_kv = b.of_block("attention.head_count", il), b.heads_kv(il)
    head_k, head_v = b.head("key", il), b.head("value", il)
    sizes = ((head_k, heads), (head_k, heads_kv), (head_v, heads_kv))
    if _norms_whole_rows(b, il, head_k):
        q, k, v = project_flat(b, cur, il, sizes)
        q, k = normed_heads(b, q, k, il, kind=kind)
        n = b.n_tokens
        return ops.reshape(q, head_k, heads, n), ops.reshape(k, head_k, heads_kv, n), ops.reshape(v, head_v, heads_kv, n)
    q, k, v = project(b, cur, il, sizes)
    if normed:
        q, k = normed_heads(b, q, k, il, kind=kind)
    return q, k, v


def rotated(b: Builder, cur: Tensor, positions: Tensor | None, il: int) -> tuple[Tensor, Tensor, Tensor]:
    """Q, K and V with positions rotated in where there are any."""
    q, k, v = qkv(b, cur, il)
    if positions is None:
        return q, k, v
    factors = rope_factors(b, il)
    return ops.rope(q, positions, factors, "Qcur"), ops.rope(k, positions, factors, "Kcur"), v


def _norms_whole_rows(b: Builder, il: int, head: int) -> bool:
    weight = b.opt("attn_q_norm", il)
    return weight is not None and weight.ne[0] != head


def normed_heads(b: Builder, q: Tensor, k: Tensor, il: int, *, kind: str = "rms") -> tuple[Tensor, Tensor]:
    """Q and K with the norms that the file has for them."""
    q = b.norm_if_any(q, "attn_q_norm", il, kind=kind, label="Qcur_normed")
    return q, b.norm_if_any(k, "attn_k_norm", il, kind=kind, label="Kcur_normed")


def rope_factors(b: Builder, il: int) -> Tensor | None:
    """The factors of rotation that a file may have, the same for every block; those of a long and a short context are of one size."""
    return b.shared("rope_freqs", il) or b.shared("rope_factors_long", il) or b.shared("rope_factors_short", il)


# --- feed-forward ----------------------------------------------------------------------------------


def feed_forward_part(run: Run, cur: Tensor, il: int) -> Tensor:
    """The feed-forward part of a block: dense, or a mixture of experts with what is always added to it."""
    b = run.b
    if b.opt("ffn_gate_inp", il) is None:
        return feed_forward.dense(b, cur, il, steps=run.traits.steps)
    if b.opt("ffn_up_chexps", il) is not None:
        return _with_chunks(run, cur, il)
    made = mixture(run, cur, il)
    if b.opt("ffn_up_shexp", il) is not None:
        return ops.add(made, _shared_expert(b, cur, il), "ffn_out")
    if b.opt("ffn_up", il) is not None:
        return ops.scale(ops.add(feed_forward.dense(b, cur, il), made, "ffn_out"), "ffn_out")
    return made


def mixture(run: Run, cur: Tensor, il: int) -> Tensor:
    """The routed experts of a block (sigmoid where the header should say how they are weighted and does not)."""
    b, traits = run.b, run.traits
    gating = traits.gating or feed_forward.stated_gating(b, "sigmoid")
    normalised = b.flag("expert_weights_norm") if traits.normalised is None else traits.normalised
    return feed_forward.experts(b, cur, il, gating=gating, normalised=normalised)


def _shared_expert(b: Builder, cur: Tensor, il: int) -> Tensor:
    """The expert that every token sees; it may have a gate, a sigmoid written as silu(x)/x (src/models/qwen2moe.cpp)."""
    gate = b.linear("ffn_gate_inp_shexp", cur, il) if b.opt("ffn_gate_inp_shexp", il) is not None else None
    made = feed_forward.dense(b, cur, il, suffix="_shexp")
    if gate is None:
        return made
    return ops.mul(made, ops.div(ops.unary(gate, "ffn_shexp_gate"), gate, "ffn_shexp_gate"), "ffn_shexp_out")


def _with_chunks(run: Run, cur: Tensor, il: int) -> Tensor:
    """Experts and the smaller ones that groups of them share, chosen by the same scores (src/models/grovemoe.cpp)."""
    b = run.b
    scores = b.linear("ffn_gate_inp", cur, il, "ffn_moe_logits")
    made = feed_forward.experts(b, cur, il, logits=scores)
    shared = feed_forward.experts(b, made, il, logits=scores, suffix="_chexps")
    return ops.add(made, ops.scale(shared, "ffn_moe_chunks"), "ffn_out")
