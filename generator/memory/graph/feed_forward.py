"""Feed-forward parts: dense, and a mixture of experts.

Source: llama.cpp src/llama-graph.cpp (`build_ffn`, `build_moe_ffn`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.memory.graph import ops
from generator.memory.graph.builder import Builder
from generator.memory.graph.tensor import Tensor

GATINGS: Mapping[int, str] = MappingProxyType({1: "softmax", 2: "sigmoid", 3: "softmax_weight", 4: "sqrt_softplus"})
"""How experts are weighted, by the number in a header (src/llama-hparams.h, `llama_expert_gating_func_type`)."""


def stated_gating(b: Builder, default: str) -> str:
    """Give how experts are weighted as the header says, `default` where it does not."""
    return GATINGS.get(b.number("expert_gating_func", 0), default)


def dense(b: Builder, cur: Tensor, il: int, *, suffix: str = "", gate: str = "parallel", steps: int = 1, clamped: bool = False) -> Tensor:
    """A dense feed-forward part, `ffn_up`, `ffn_gate` and `ffn_down` with `suffix` (`build_ffn`).

    `gate` is how its gate is taken: parallel, sequential, or fused into the up matrix (as it is where that is twice as wide as the down
    matrix takes). `steps` are the operations of one element in place of a gated unit (one for silu or gelu, two for a squared relu).
    `clamped` limits both halves of the unit. A file may have a norm before the down matrix.
    """
    up_name, gate_name, down_name = (f"ffn_{part}{suffix}" for part in ("up", "gate", "down"))
    has_gate = b.opt(gate_name, il) is not None
    up = _with_extras(b, cur, up_name, il, "ffn_up") if b.opt(up_name, il) is not None else cur
    gated = _with_extras(b, up if gate == "sequential" else cur, gate_name, il, "ffn_gate") if has_gate else up
    if has_gate and gate == "parallel" and clamped:
        up = ops.clamp(up, "ffn_up_clamped")
        gated = ops.clamp(ops.unary(gated, "ffn_silu"), "ffn_silu_clamped")
        made = ops.mul(gated, up, "ffn_swiglu_limited")
    elif has_gate and gate == "parallel":
        made = ops.glu(gated, up, "ffn_glu")
    elif gate == "fused" or (not has_gate and _is_fused(b, up_name, down_name, il)):
        made = ops.glu(gated, name="ffn_glu")
    else:
        made = gated
        for step in range(steps):
            made = ops.unary(made, "ffn_act") if step == 0 else ops.sqr(made, "ffn_sqr")
        scales = b.opt("ffn.act", il, "scales")
        if scales is not None:
            made = ops.div(made, scales, "ffn_act")
    made = b.norm_if_any(made, "ffn_sub_norm", il)
    return _with_extras(b, made, down_name, il, "ffn_down") if b.opt(down_name, il) is not None else made


def _is_fused(b: Builder, up_name: str, down_name: str, il: int) -> bool:
    up, down = b.opt(up_name, il), b.opt(down_name, il)
    return up is not None and down is not None and up.ne[1] == 2 * down.ne[0]


def _with_extras(b: Builder, cur: Tensor, name: str, il: int, label: str) -> Tensor:
    made = ops.mul_mat(b.w(name, il), cur, label)
    bias, scale = b.bias(name, il), b.opt(name, il, "scale")
    if bias is not None:
        made = ops.add(made, bias, label)
    return made if scale is None else ops.mul(made, scale, label)


def experts(
    b: Builder,
    cur: Tensor,
    il: int,
    *,
    gating: str = "softmax",
    normalised: bool = True,
    scaled: bool | None = None,
    unit: str = "glu",
    logits: Tensor | None = None,
    selected: Tensor | None = None,
    router: str = "ffn_gate_inp",
    suffix: str = "_exps",
    weight_first: bool = False,
    used: int | None = None,
    clamped: bool = False,
) -> Tensor:
    """A mixture of experts (`build_moe_ffn`): who is chosen, what they compute, and their sum.

    `gating` is softmax, sigmoid, sqrt_softplus, or softmax_weight for a softmax of the chosen ones only. `normalised` divides the
    weights by their sum, `scaled` multiplies them (by default where the header states a scale other than 1). `unit` is glu, or the
    operations of one element (one, or two for a squared relu), or situ. Where `logits` choose among more experts than there are, each
    of these stands for a group of them.
    """
    n = cur.ne[1]
    n_embd = cur.ne[0]
    count = b.w(f"ffn_down{suffix}", il).ne[2]
    used = used if used is not None else min(count, b.of_block("expert_used_count", il))
    if scaled is None:
        scaled = b.real("expert_weights_scale") not in {0.0, 1.0}
    weights, chosen = route(
        b,
        cur,
        il,
        gating=gating,
        normalised=normalised,
        scaled=scaled,
        logits=logits,
        selected=selected,
        router=router,
        used=used,
        count=count,
    )
    cur = ops.reshape(cur, n_embd, 1, n)
    if weight_first:
        cur = ops.mul(ops.repeat(cur, n_embd, used, n), weights, "ffn_moe_weighted")
    made = _expert_units(b, cur, chosen, il, suffix, unit, clamped=clamped)
    made = _by_expert(b, made, f"ffn_down{suffix}", chosen, il, "ffn_moe_down")
    if not weight_first:
        made = ops.mul(made, weights, "ffn_moe_weighted")
    b.expand(made)
    each = [b.expand(ops.view_2d(made, n_embd, n, made.nb[2])) for _ in range(used)]
    out = each[0]
    for other in each[1:]:
        out = b.expand(ops.add(out, other, "ffn_moe_out"))
    return ops.cont(out, name="ffn_moe_out") if used == 1 else out


def route(
    b: Builder,
    cur: Tensor,
    il: int,
    *,
    gating: str,
    normalised: bool,
    scaled: bool,
    logits: Tensor | None,
    selected: Tensor | None,
    router: str,
    used: int,
    count: int,
) -> tuple[Tensor, Tensor]:
    """Give the weights of the chosen experts [1, used, tokens] and who of `count` they are [used, tokens]."""
    n = cur.ne[1]
    if logits is None:
        logits = b.linear(router, cur, il, "ffn_moe_logits")
    bias = b.bias(router, il)
    if bias is not None:
        logits = ops.add(logits, bias, "ffn_moe_logits_biased")
    probs = _PROBABILITIES[gating](logits)
    choice = _within_groups(b, _choice(b, logits, probs, il))
    chosen = selected if selected is not None else ops.argsort_top_k(choice, used, "ffn_moe_topk")
    if count != probs.ne[0]:
        chosen = ops.cast(ops.scale(ops.cast(chosen, "F32")), "I32", "ffn_moe_topk_groups")
    weights = ops.get_rows(ops.reshape(probs, 1, probs.ne[0], n), chosen, "ffn_moe_weights")
    if gating == "softmax_weight":
        weights = ops.soft_max(ops.reshape(weights, used, n), name="ffn_moe_weights_softmax")
        weights = ops.reshape(weights, 1, used, n)
    if normalised:
        weights = ops.reshape(weights, used, n)
        total = ops.clamp(ops.sum_rows(weights, "ffn_moe_weights_sum"), "ffn_moe_weights_sum")
        weights = ops.reshape(ops.div(weights, total, "ffn_moe_weights_norm"), 1, used, n)
    if scaled:
        weights = ops.scale(weights, "ffn_moe_weights_scaled")
    return b.expand(weights), chosen


_PROBABILITIES: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {
        "softmax": lambda logits: ops.soft_max(logits, name="ffn_moe_probs"),
        "sigmoid": lambda logits: ops.unary(logits, "ffn_moe_probs"),
        "sqrt_softplus": lambda logits: ops.sqrt(ops.unary(logits), "ffn_moe_probs"),
        "softmax_weight": lambda logits: logits,
    }
)
"""What each weighting of experts makes of the router's logits before experts are chosen."""


def _choice(b: Builder, logits: Tensor, probs: Tensor, il: int) -> Tensor:
    """Give what experts are chosen by: probabilities, with a correction where the file has one, or what two architectures take instead."""
    if b.arch == "llama4":
        return logits
    if b.arch == "grovemoe":
        return ops.unary(logits, "ffn_moe_probs_biased")
    correction = b.bias("exp_probs_b", il) or b.opt("exp_probs_b", il, suffix="")
    return probs if correction is None else ops.add(probs, correction, "ffn_moe_probs_biased")


def _within_groups(b: Builder, choice: Tensor) -> Tensor:
    """Leave only the best groups of experts to choose from."""
    groups = b.number("expert_group_count", 0)
    if groups <= 1:
        return choice
    count, n = choice.ne[0], choice.ne[1]
    each = count // groups
    grouped = ops.reshape(choice, each, groups, n)
    best = ops.argsort_top_k(grouped, 2)
    scores = ops.get_rows(ops.reshape(grouped, 1, each, groups, n), best)
    scores = ops.sum_rows(ops.reshape(scores, scores.ne[1], scores.ne[2], scores.ne[3]))
    scores = ops.reshape(scores, scores.ne[1], scores.ne[2])
    picked = ops.argsort_top_k(scores, b.number("expert_group_used_count", 0), "ffn_moe_group_topk")
    kept = ops.get_rows(grouped, picked)
    masked = ops.set_rows(ops.fill(grouped), kept, picked)
    return ops.reshape(masked, count, n, name="ffn_moe_probs_masked")


def _expert_units(b: Builder, cur: Tensor, chosen: Tensor, il: int, suffix: str, unit: str, *, clamped: bool) -> Tensor:
    fused, gate = f"ffn_gate_up{suffix}", f"ffn_gate{suffix}"
    if b.opt(fused, il) is not None:
        both = _by_expert(b, cur, fused, chosen, il, "ffn_moe_gate_up")
        width = both.ne[0] // 2
        gated, up = (ops.view_3d(both, width, both.ne[1], both.ne[2], both.nb[1], both.nb[2]) for _ in range(2))
        has_gate = True
    else:
        up = _by_expert(b, cur, f"ffn_up{suffix}", chosen, il, "ffn_moe_up")
        has_gate = b.opt(gate, il) is not None
        gated = _by_expert(b, cur, gate, chosen, il, "ffn_moe_gate") if has_gate else up
    if unit == "glu" and has_gate:
        if clamped:
            up = ops.clamp(up, "ffn_moe_up_clamped")
            gated = ops.clamp(ops.unary(gated, "ffn_moe_silu"), "ffn_moe_silu_clamped")
            return ops.mul(gated, up, "ffn_moe_swiglu_limited")
        return ops.glu(gated, up, "ffn_moe_glu")
    if unit == "situ":
        return situ(gated, up, limited=b.real("activation.situ_linear_beta") > 0)
    made = ops.unary(gated, "ffn_moe_act")
    return ops.sqr(made, "ffn_moe_relu_sqr") if unit == "relu_sqr" else made


SMALLEST_LIMIT = 1e-6
"""A limit of gated units up to this is none (src/llama-graph.cpp)."""


def limits(b: Builder, name: str, il: int) -> bool:
    """Tell whether the header limits a block's gated units, by `swiglu_clamp_exp` or `swiglu_clamp_shexp`."""
    if not b.model.has(name):
        return False
    stated = b.model.raw(name)
    limit = stated[il] if isinstance(stated, list | tuple) else stated
    return isinstance(limit, int | float) and limit > SMALLEST_LIMIT


def situ(gated: Tensor, up: Tensor, *, limited: bool) -> Tensor:
    """Kimi K3's unit: a bent gate times its sigmoid, times the other half, which is bent too where `limited` (LLM_FFN_SITU)."""
    bent = ops.scale(ops.unary(ops.scale(gated)))
    bent = ops.mul(bent, ops.unary(gated))
    return ops.mul(bent, ops.scale(ops.unary(ops.scale(up))) if limited else up, "ffn_situ")


def _by_expert(b: Builder, cur: Tensor, name: str, chosen: Tensor, il: int, label: str) -> Tensor:
    """A product with the chosen experts' matrices, their scales and biases where the file has them (`build_lora_mm_id`)."""
    made = ops.mul_mat_id(b.w(name, il), cur, chosen, label)
    scale, bias = b.opt(name, il, "scale"), b.bias(name, il)
    if scale is not None:
        count, n = scale.ne[0], cur.ne[2]
        factors = ops.get_rows(ops.repeat(ops.reshape(scale, 1, count, 1), 1, count, n, 1), chosen)
        made = ops.mul(made, factors, label)
    return made if bias is None else ops.add_id(made, bias, chosen, label)
