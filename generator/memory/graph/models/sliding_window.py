"""Graphs of models with a sliding window or chunked attention in some blocks, and their kin.

What a file has decides most of it: norms before and after a part, norms of Q and K, a gate of the attention, sinks, experts and shared
experts. What an architecture's name decides is in `Traits`, one entry an architecture. Source: llama.cpp src/models/<name>.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generator.memory.graph import feed_forward, ops
from generator.memory.graph.attention import attend, project, project_flat
from generator.memory.graph.builder import Builder
from generator.memory.graph.models.decoder import Inputs, rope_factors, stream_before, with_image
from generator.memory.graph.tensor import Tensor
from generator.memory.windows import window_of

Rotates = Callable[[Builder, int], bool]


def _in_windows(b: Builder, il: int) -> bool:
    return il in b.windowed


def _in_windows_if_any(b: Builder, il: int) -> bool:
    """Rotation in the blocks with a window, in all of a model without one (src/models/exaone4.cpp)."""
    return il in b.windowed or not b.windowed


def _in_windows_and_lead(b: Builder, il: int) -> bool:
    """Rotation in the blocks with a window and in the leading dense ones (src/models/cohere2moe.cpp)."""
    return il in b.windowed or il < b.number("leading_dense_block_count")


def _but_fourth_or_last(b: Builder, il: int) -> bool:
    """No rotation in every fourth block; in the last one only of a model without windows (src/llama-hparams.h, `n_no_rope_layer_step`)."""
    return (il + 1) % (4 if window_of(b.model) is not None else b.n_layer) != 0


def _but_first_of_four(b: Builder, il: int) -> bool:
    """No rotation in the first of each four blocks of a model with windows (src/models/smallthinker.cpp)."""
    return window_of(b.model) is None or il % 4 != 0


def _as_listed(b: Builder, il: int) -> bool:
    return not b.model.has("attention.rope_pattern") or bool(b.of_block("attention.rope_pattern", il))


@dataclass(frozen=True, slots=True)
class Traits:
    """How an architecture's graph differs from the plain one.

    `norm` is rms, layer, or stated where the header tells by which epsilon it has. `embedding` tells what becomes of the embedded
    tokens: plain, scaled, or normed. `rotates` tells which blocks rotate by position, all of them where it is None. `flat`
    projections are normed before they are split into heads. `crops` is where rows without logits are dropped: after the attention,
    its norm, all blocks, or the last norm. `gating` and `normalised` say how experts are weighted, None for what the header states
    (sigmoid where it is silent). `caps_logits` tells whether logits are capped where the header does not say.
    """

    norm: str = "rms"
    embedding: str = "plain"
    rotates: Rotates | None = None
    factors_in_windows: bool = True
    flat: bool = False
    scales_query: bool = False
    norms_rotated: bool = False
    tempers: bool = False
    crops: str = "attention"
    ffn_norm: str = "ffn_norm"
    parallel: bool = False
    gate: str = "parallel"
    gating: str | None = "softmax"
    normalised: bool | None = True
    weight_first: bool = False
    routes_block_input: bool = False
    limits_experts: bool = False
    halves_shared: bool = False
    caps_scores: bool = False
    caps_logits: bool = False


TRAITS: Mapping[str, Traits] = MappingProxyType(
    {
        "afmoe": Traits(embedding="scaled", rotates=_but_fourth_or_last, crops="norm", gating=None, normalised=None),
        "cohere2": Traits(norm="layer", rotates=_in_windows, parallel=True),
        "cohere2moe": Traits(
            norm="stated",
            rotates=_in_windows_and_lead,
            crops="last norm",
            parallel=True,
            gating=None,
            normalised=None,
            halves_shared=True,
        ),
        "exaone4": Traits(rotates=_in_windows_if_any),
        "exaone-moe": Traits(rotates=_in_windows, gating=None, normalised=None),
        "gemma2": Traits(embedding="scaled", scales_query=True, caps_scores=True, caps_logits=True),
        "gemma3": Traits(embedding="scaled", scales_query=True),
        "gpt-oss": Traits(crops="blocks", ffn_norm="post_attention_norm", gating="softmax_weight", normalised=False),
        "granite_swa": Traits(rotates=_as_listed),
        "laguna": Traits(gating=None, normalised=None),
        "llama4": Traits(
            rotates=_but_fourth_or_last,
            norms_rotated=True,
            tempers=True,
            gating="sigmoid",
            normalised=False,
            weight_first=True,
        ),
        "maple": Traits(rotates=_in_windows),
        "mellum": Traits(),
        "mimo2": Traits(gating="sigmoid"),
        "muse-glimmer": Traits(embedding="normed", rotates=_in_windows, crops="norm", caps_logits=True),
        "olmo2": Traits(flat=True),
        "plamo3": Traits(gate="fused"),
        "smallthinker": Traits(rotates=_but_first_of_four, routes_block_input=True, gating=None),
        "spark2_5": Traits(),
        "step35": Traits(flat=True, factors_in_windows=False, crops="blocks", gating=None, normalised=None, limits_experts=True),
    }
)


class Run:
    """What all blocks of a graph share: the architecture's traits and the inputs."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.traits = TRAITS[b.arch]
        self.norm = self.traits.norm
        if self.norm == "stated":
            self.norm = "rms" if b.real("attention.layer_norm_rms_epsilon") else "layer"
        self.windows = window_of(b.model) is not None
        self.positions = b.positions()
        self.temperatures = b.input("inp_attn_scale", "F32", 1, 1, b.n_tokens) if self.traits.tempers else None
        self.inputs = Inputs(b)
        self.out_ids = b.out_ids()

    def rows(self, cur: Tensor) -> Tensor:
        """Give the rows whose logits are kept."""
        return ops.get_rows(cur, self.out_ids)


def decoder(b: Builder) -> None:
    """Make the graph of a decoder whose blocks may have windows."""
    b.soft_caps_scores = TRAITS[b.arch].caps_scores
    cur = _embedded(b, TRAITS[b.arch].embedding)
    run = Run(b)
    for il in b.blocks:
        cur = _block(run, with_image(b, cur, stream_before(b, il)), il)
    _finish(run, cur)


def _embedded(b: Builder, how: str) -> Tensor:
    cur = b.embedding()
    if how == "scaled":
        return ops.scale(cur, "inp_scaled")
    return ops.rms_norm(cur, "embd_norm") if how == "normed" else cur


def _finish(run: Run, cur: Tensor) -> None:
    """The last norm and the logits; where all rows go through the blocks, what goes into the norm or comes out of it is kept."""
    b, crops = run.b, run.traits.crops
    if crops == "blocks":
        cur.is_output = True
        cur = run.rows(cur)
    cur = b.norm(cur, "output_norm", kind=run.norm, label="result_norm")
    if crops == "last norm":
        cur.is_output = True
        cur = run.rows(cur)
    scaled = int(bool(b.real("logit_scale")))
    capped = 3 * bool(b.real("final_logit_softcapping", float(run.traits.caps_logits)))
    b.logits(cur, scaled=scaled + capped)


def _block(run: Run, inp: Tensor, il: int) -> Tensor:
    b, traits = run.b, run.traits
    last = il == b.n_layer - 1
    read = b.norm_if_any(inp, "attn_norm", il, kind=run.norm)
    logits = b.linear("ffn_gate_inp", inp, il, "ffn_moe_logits") if traits.routes_block_input else None
    cur, residual = attention(run, read, il), inp
    if last and traits.crops == "attention":
        cur, residual, read = run.rows(cur), run.rows(residual), run.rows(read)
        logits = None if logits is None else run.rows(logits)
    if traits.parallel:
        return ops.add(ops.add(feed_forward_part(run, read, il, logits), residual), cur, "l_out")
    if traits.ffn_norm != "post_attention_norm":
        cur = b.norm_if_any(cur, "post_attention_norm", il)
    if last and traits.crops == "norm":
        cur, residual = run.rows(cur), run.rows(residual)
    after = ops.add(_residual(b, cur), residual, "ffn_inp")
    cur = feed_forward_part(run, b.norm_if_any(after, traits.ffn_norm, il), il, logits)
    cur = b.norm_if_any(cur, "post_ffw_norm", il)
    return ops.add(_residual(b, cur), after, "l_out")


def _residual(b: Builder, cur: Tensor) -> Tensor:
    return ops.scale(cur) if b.real("residual_scale") else cur


def attention(run: Run, read: Tensor, il: int) -> Tensor:
    """The attention part of a block; that of a draft head always rotates by position."""
    b, traits = run.b, run.traits
    q, k, v = _qkv(run, read, il)
    if traits.rotates is None or il >= b.n_layer or traits.rotates(b, il):
        factors = rope_factors(b, il) if traits.factors_in_windows or il not in b.windowed else None
        q, k = ops.rope(q, run.positions, factors, "Qcur"), ops.rope(k, run.positions, factors, "Kcur")
        if traits.norms_rotated and b.number("expert_count", 0) != WIDE_LLAMA4:
            q, k = ops.rms_norm(q, "Qcur_normed"), ops.rms_norm(k, "Kcur_normed")
    elif run.temperatures is not None:
        q = ops.mul(q, run.temperatures, "Qcur")
    if traits.scales_query:
        q = ops.scale(q, "Qcur")
    gated = b.opt("attn_gate", il) is not None
    cur = attend(
        *(b, run.inputs.of(il), q, k, v, il),
        out=None if gated else "attn_output",
        sinks=b.opt("attn_sinks", il),
        window_order=run.windows,
    )
    if gated:
        cur = b.linear("attn_output", _gated(b, cur, read, il), il, "attn_out")
    return ops.scale(cur, "attn_out_scaled") if b.real("attention.value_scale", 1.0) not in {0.0, 1.0} else cur


WIDE_LLAMA4 = 128
"""Experts of the llama4 model that does not norm Q and K (src/models/llama4.cpp, `use_kq_norm`)."""


def _qkv(run: Run, read: Tensor, il: int) -> tuple[Tensor, Tensor, Tensor]:
    """Q, K and V with their norms: of whole rows where the norm is wider than a head."""
    b = run.b
    heads, heads_kv = b.of_block("attention.head_count", il), b.heads_kv(il)
    head_k, head_v = b.head("key", il), b.head("value", il)
    made = project_flat if run.traits.flat else project
    q, k, v = made(b, read, il, ((head_k, heads), (head_k, heads_kv), (head_v, heads_kv)))

    def in_heads(part: Tensor, norm: str, head: int, count: int) -> Tensor:
        weight = b.opt(norm, il) if norm else None
        if run.traits.flat:
            if weight is not None and weight.ne[0] != head:
                return ops.reshape(b.norm(part, norm, il), head, count, b.n_tokens)
            part = ops.reshape(part, head, count, b.n_tokens)
        return part if weight is None else b.norm(part, norm, il)

    return in_heads(q, "attn_q_norm", head_k, heads), in_heads(k, "attn_k_norm", head_k, heads_kv), in_heads(v, "", head_v, heads_kv)


def _gated(b: Builder, cur: Tensor, read: Tensor, il: int) -> Tensor:
    """What the heads give, times a gate of each head or of each element."""
    gate = ops.unary(b.linear("attn_gate", read, il), "attn_gate")
    heads = b.of_block("attention.head_count", il)
    if gate.ne[0] != heads:
        return ops.mul(cur, gate, "attn_gated")
    width, n = cur.ne[0], cur.ne[1]
    split = ops.mul(ops.reshape(cur, width // heads, heads, n), ops.reshape(gate, 1, heads, n))
    return ops.reshape(split, width, n, name="attn_gated")


def feed_forward_part(run: Run, cur: Tensor, il: int, logits: Tensor | None = None) -> Tensor:
    """The feed-forward part of a block: dense, or a mixture of experts with what is always added to it."""
    b, traits = run.b, run.traits
    if b.opt("ffn_gate_inp", il) is None:
        return feed_forward.dense(b, cur, il, gate=traits.gate, clamped=_limit(run, "swiglu_clamp_shexp", il))
    made = feed_forward.experts(
        *(b, cur, il),
        gating=traits.gating or feed_forward.stated_gating(b, "sigmoid"),
        normalised=b.flag("expert_weights_norm") if traits.normalised is None else traits.normalised,
        logits=logits,
        weight_first=traits.weight_first,
        clamped=_limit(run, "swiglu_clamp_exp", il),
    )
    if b.opt("ffn_up_shexp", il) is None:
        return made
    gate = "parallel" if b.opt("ffn_gate_shexp", il) is not None else "fused"
    shared = feed_forward.dense(b, cur, il, suffix="_shexp", gate=gate, clamped=_limit(run, "swiglu_clamp_shexp", il))
    made = ops.add(made, shared, "ffn_out")
    return ops.scale(made, "ffn_out") if traits.halves_shared else made


def _limit(run: Run, name: str, il: int) -> bool:
    """Tell whether a block limits its gated units by operations of their own."""
    return run.traits.limits_experts and feed_forward.limits(run.b, name, il)


GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(dict.fromkeys(TRAITS, decoder))
"""Architectures and what makes their graph."""
