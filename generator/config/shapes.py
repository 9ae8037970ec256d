"""Names and shapes of a GGUF file's tensors, by architecture, from the published configuration.

Source: src/models/<architecture>.cpp of llama.cpp (`load_arch_tensors`: names and dimensions) and, for the tensors of a draft head,
src/llama-model.cpp. Shapes have the row first, as ggml has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from generator.config.geometry import Geometry
from generator.errors import UnknownNameError

Shape = tuple[str, tuple[int, ...]]
"""A tensor's name and dimensions."""

SOFTMAX = 1
"""LLAMA_EXPERT_GATING_FUNC_TYPE_SOFTMAX, src/llama-hparams.h."""

ONE_LENGTH = frozenset({"granitehybrid"})
"""Architectures whose files state the length of an expert as that of a feed-forward half."""

Block = Callable[[Geometry, int], Iterator[Shape]]


def shapes_of(geometry: Geometry) -> list[Shape]:
    """Give every tensor of a file. Raises UnknownNameError for an architecture without rules, InputError for a missing number."""
    if geometry.architecture not in ARCHITECTURES:
        remedy = "take a quant whose header is known, or write the architecture's rules in generator/config/shapes.py"
        raise UnknownNameError("architecture whose shapes are known", geometry.architecture, ARCHITECTURES, remedy=remedy)
    block = ARCHITECTURES[geometry.architecture]
    width, words = geometry.width, geometry.number("vocab_size")
    table: list[Shape] = [("token_embd.weight", (width, words)), ("output_norm.weight", (width,))]
    if not geometry.flag("tied_embeddings"):
        table.append(("output.weight", (width, words)))
    if geometry.architecture == "lfm2moe":
        table[1] = ("token_embd_norm.weight", (width,))
    if geometry.architecture == "gemma4":
        table.append(("rope_freqs.weight", (geometry.key_length // 2,)))
    for index in range(geometry.blocks):
        table += [(f"blk.{index}.{name}", shape) for name, shape in block(geometry, index)]
        if index >= geometry.blocks - geometry.draft_blocks:
            table += [(f"blk.{index}.nextn.{name}", shape) for name, shape in _draft(geometry)]
    return table


# --- parts of blocks -----------------------------------------------------------------------------


def _norms(geometry: Geometry, *names: str) -> Iterator[Shape]:
    yield from ((f"{name}.weight", (geometry.width,)) for name in names)


def _attention(geometry: Geometry, index: int, *, gated: bool = False) -> Iterator[Shape]:
    width, heads, kv_heads = geometry.width, geometry.heads, geometry.of_block("attention.head_count_kv", index)
    rows = heads * geometry.key_length
    yield "attn_q.weight", (width, 2 * rows if gated else rows)
    yield "attn_k.weight", (width, kv_heads * geometry.key_length)
    yield "attn_v.weight", (width, kv_heads * geometry.value_length)
    yield "attn_output.weight", (heads * geometry.value_length, width)


def _head_norms(length: int) -> Iterator[Shape]:
    yield "attn_q_norm.weight", (length,)
    yield "attn_k_norm.weight", (length,)


def _biases(geometry: Geometry, index: int) -> Iterator[Shape]:
    kv_heads = geometry.of_block("attention.head_count_kv", index)
    yield "attn_q.bias", (geometry.heads * geometry.key_length,)
    yield "attn_k.bias", (kv_heads * geometry.key_length,)
    yield "attn_v.bias", (kv_heads * geometry.value_length,)


def _dense(geometry: Geometry, length: int) -> Iterator[Shape]:
    yield "ffn_gate.weight", (geometry.width, length)
    yield "ffn_up.weight", (geometry.width, length)
    yield "ffn_down.weight", (length, geometry.width)


def _experts(geometry: Geometry, *, gate: bool = True) -> Iterator[Shape]:
    width, length, count = geometry.width, _expert_length(geometry), geometry.number("expert_count")
    yield "ffn_gate_inp.weight", (width, count)
    if gate:
        yield "ffn_gate_exps.weight", (width, length, count)
    yield "ffn_up_exps.weight", (width, length, count)
    yield "ffn_down_exps.weight", (length, width, count)


def _expert_length(geometry: Geometry) -> int:
    return geometry.number("feed_forward_length" if geometry.architecture in ONE_LENGTH else "expert_feed_forward_length")


def _shared(geometry: Geometry, length: int, *, gate: bool = True) -> Iterator[Shape]:
    """Give the expert that every token uses."""
    if gate:
        yield "ffn_gate_shexp.weight", (geometry.width, length)
    yield "ffn_up_shexp.weight", (geometry.width, length)
    yield "ffn_down_shexp.weight", (length, geometry.width)


def _shared_length(geometry: Geometry) -> int:
    return geometry.number("expert_shared_feed_forward_length")


def _chosen_by_bias(geometry: Geometry) -> Iterator[Shape]:
    yield "exp_probs_b.bias", (geometry.number("expert_count"),)


def _delta_net(geometry: Geometry) -> Iterator[Shape]:
    """Give a block of gated delta net: its convolution runs over queries, keys and values together."""
    width, inner, heads = geometry.width, geometry.number("ssm.inner_size"), geometry.number("ssm.time_step_rank")
    channels = inner + 2 * geometry.number("ssm.group_count") * geometry.number("ssm.state_size")
    yield "attn_qkv.weight", (width, channels)
    yield "attn_gate.weight", (width, inner)
    yield "ssm_conv1d.weight", (geometry.number("ssm.conv_kernel"), channels)
    yield "ssm_dt.bias", (heads,)
    yield "ssm_a", (heads,)
    yield "ssm_beta.weight", (width, heads)
    yield "ssm_alpha.weight", (width, heads)
    yield "ssm_norm.weight", (geometry.number("ssm.state_size"),)
    yield "ssm_out.weight", (inner, width)


def _mamba2(geometry: Geometry) -> Iterator[Shape]:
    """Give a Mamba-2 block: one projection in for gate, values, B, C and time steps."""
    width, inner, heads = geometry.width, geometry.number("ssm.inner_size"), geometry.number("ssm.time_step_rank")
    groups, state = geometry.number("ssm.group_count", least=1), geometry.number("ssm.state_size")
    channels = inner + 2 * groups * state
    yield "ssm_in.weight", (width, inner + channels + heads)
    yield "ssm_conv1d.weight", (geometry.number("ssm.conv_kernel"), channels)
    yield "ssm_conv1d.bias", (channels,)
    yield "ssm_dt.bias", (heads,)
    yield "ssm_a", (1, heads)
    yield "ssm_d", (1, heads)
    yield "ssm_norm.weight", (inner // groups, groups)
    yield "ssm_out.weight", (inner, width)


def _latent(geometry: Geometry) -> Iterator[Shape]:
    """Give latent attention: keys and values are made from one row a token, compressed, beside which a rotated part is kept."""
    width, heads, rank = geometry.width, geometry.heads, geometry.number("attention.kv_lora_rank")
    rotated = geometry.number("rope.dimension_count")
    key, value = geometry.number("attention.key_length_mla"), geometry.number("attention.value_length_mla")
    yield "attn_kv_a_norm.weight", (rank,)
    if geometry.has("attention.q_lora_rank"):
        query = geometry.number("attention.q_lora_rank")
        yield "attn_q_a_norm.weight", (query,)
        yield "attn_q_a.weight", (width, query)
        yield "attn_q_b.weight", (query, heads * key)
    else:
        yield "attn_q.weight", (width, heads * key)
    yield "attn_kv_a_mqa.weight", (width, rank + rotated)
    yield "attn_k_b.weight", (key - rotated, rank, heads)
    yield "attn_v_b.weight", (rank, value, heads)
    yield "attn_output.weight", (heads * value, width)


def _kimi_delta(geometry: Geometry) -> Iterator[Shape]:
    """Give a block of Kimi delta attention."""
    width, heads, length = geometry.width, geometry.heads, geometry.number("kda.head_dim")
    rows, kernel = heads * length, geometry.number("ssm.conv_kernel")
    for part in "qkv":
        yield f"ssm_conv1d_{part}.weight", (kernel, 1, rows, 1)
        yield f"attn_{part}.weight", (width, rows)
    yield "ssm_f_a.weight", (width, length)
    yield "ssm_f_b.weight", (length, rows)
    yield "ssm_beta.weight", (width, heads)
    yield "ssm_a", (1, heads, 1, 1)
    yield "ssm_dt.bias", (rows,)
    yield "ssm_g_a.weight", (width, length)
    yield "ssm_g_b.weight", (length, rows)
    yield "ssm_norm.weight", (length,)
    yield "attn_output.weight", (rows, width)


def _draft(geometry: Geometry) -> Iterator[Shape]:
    """Give what the block of a draft head has beside a block's own tensors; some have an embedding and a head of their own."""
    width = geometry.width
    yield "eh_proj.weight", (2 * width, width)
    yield from _norms(geometry, "enorm", "hnorm", "shared_head_norm")
    if geometry.values.get("draft_head_has_embedding"):
        words = geometry.number("vocab_size")
        yield "embed_tokens.weight", (width, words)
        yield "shared_head_head.weight", (width, words)


# --- blocks by architecture ----------------------------------------------------------------------


def _llama(geometry: Geometry, index: int) -> Iterator[Shape]:
    yield from _norms(geometry, "attn_norm", "ffn_norm")
    yield from _attention(geometry, index)
    yield from _dense(geometry, geometry.number("feed_forward_length"))


def _qwen3(geometry: Geometry, index: int) -> Iterator[Shape]:
    yield from _llama(geometry, index)
    yield from _head_norms(geometry.key_length)


def _qwen3moe(geometry: Geometry, index: int) -> Iterator[Shape]:
    yield from _norms(geometry, "attn_norm", "ffn_norm")
    yield from _attention(geometry, index)
    yield from _head_norms(geometry.key_length)
    yield from _experts(geometry)


def _qwen35(geometry: Geometry, index: int) -> Iterator[Shape]:
    yield from _mixed_with_delta_net(geometry, index)
    yield from _dense(geometry, geometry.number("feed_forward_length"))


def _qwen35moe(geometry: Geometry, index: int) -> Iterator[Shape]:
    yield from _mixed_with_delta_net(geometry, index)
    yield from _experts(geometry)
    yield "ffn_gate_inp_shexp.weight", (geometry.width,)
    yield from _shared(geometry, _shared_length(geometry))


def _mixed_with_delta_net(geometry: Geometry, index: int) -> Iterator[Shape]:
    """Give the first half of a block: attention at the end of each interval and in a draft head, delta net in the others."""
    yield from _norms(geometry, "attn_norm", "post_attention_norm")
    drafting = index >= geometry.blocks - geometry.draft_blocks
    if drafting or (index + 1) % geometry.number("full_attention_interval", least=1) == 0:
        yield from _attention(geometry, index, gated=True)
        yield from _head_norms(geometry.key_length)
    else:
        yield from _delta_net(geometry)


def _gpt_oss(geometry: Geometry, index: int) -> Iterator[Shape]:
    width, length, count = geometry.width, _expert_length(geometry), geometry.number("expert_count")
    yield from _norms(geometry, "attn_norm", "post_attention_norm")
    yield from _attention(geometry, index)
    yield from _biases(geometry, index)
    yield "attn_output.bias", (width,)
    yield "attn_sinks.weight", (geometry.heads,)
    yield from _experts(geometry)
    yield "ffn_gate_inp.bias", (count,)
    yield "ffn_gate_exps.bias", (length, count)
    yield "ffn_up_exps.bias", (length, count)
    yield "ffn_down_exps.bias", (width, count)


def _gemma3(geometry: Geometry, index: int) -> Iterator[Shape]:
    yield from _norms(geometry, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    yield from _attention(geometry, index)
    yield from _head_norms(geometry.key_length)
    yield from _dense(geometry, geometry.number("feed_forward_length"))


def _gemma4(geometry: Geometry, index: int) -> Iterator[Shape]:
    """Give a block of the mixture: a dense branch beside experts; blocks without a window have wider heads, and no V of their own."""
    width, heads, kv_heads = geometry.width, geometry.heads, geometry.of_block("attention.head_count_kv", index)
    windowed = geometry.flag_of_block("attention.sliding_window_pattern", index)
    length = geometry.number("attention.key_length_swa") if windowed else geometry.key_length
    count = geometry.number("expert_count")
    yield from _norms(geometry, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    yield "layer_output_scale.weight", (1,)
    yield "attn_q.weight", (width, heads * length)
    yield "attn_q_norm.weight", (length,)
    yield "attn_output.weight", (heads * length, width)
    yield "attn_k.weight", (width, kv_heads * length)
    yield "attn_k_norm.weight", (length,)
    if windowed:
        yield "attn_v.weight", (width, kv_heads * length)
    yield from _dense(geometry, geometry.number("feed_forward_length"))
    yield from _experts(geometry)
    yield "ffn_gate_inp.scale", (width,)
    yield from _norms(geometry, "pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2")
    yield "ffn_down_exps.scale", (count,)


def _glm4moe(geometry: Geometry, index: int) -> Iterator[Shape]:
    yield from _norms(geometry, "attn_norm", "post_attention_norm")
    yield from _attention(geometry, index)
    yield from _biases(geometry, index)
    yield from _dense_or_experts(geometry, index)


def _deepseek2(geometry: Geometry, index: int) -> Iterator[Shape]:
    yield from _norms(geometry, "attn_norm", "ffn_norm")
    yield from _latent(geometry)
    yield from _dense_or_experts(geometry, index)


def _kimi_linear(geometry: Geometry, index: int) -> Iterator[Shape]:
    yield from _norms(geometry, "attn_norm", "ffn_norm")
    yield from _latent(geometry) if geometry.of_block("attention.head_count_kv", index) else _kimi_delta(geometry)
    yield from _dense_or_experts(geometry, index)


def _dense_or_experts(geometry: Geometry, index: int, *, shared: bool = True) -> Iterator[Shape]:
    """Give a feed-forward half: the first blocks are dense, the others have experts that a bias helps to choose, softmax gates aside."""
    if index < geometry.number("leading_dense_block_count"):
        yield from _dense(geometry, geometry.number("feed_forward_length"))
        return
    yield from _experts(geometry)
    if geometry.values.get("expert_gating_func") != SOFTMAX:
        yield from _chosen_by_bias(geometry)
    if shared:
        yield from _shared(geometry, geometry.number("expert_shared_count") * _expert_length(geometry))


def _nemotron_h_moe(geometry: Geometry, index: int) -> Iterator[Shape]:
    """Give a block that is one thing only: attention, experts without a gate, or Mamba-2."""
    yield from _norms(geometry, "attn_norm")
    if geometry.of_block("attention.head_count_kv", index):
        yield from _attention(geometry, index)
    elif geometry.of_block("feed_forward_length", index):
        yield from _experts(geometry, gate=False)
        yield from _chosen_by_bias(geometry)
        yield from _shared(geometry, _shared_length(geometry), gate=False)
    else:
        yield from _mamba2(geometry)


def _granitehybrid(geometry: Geometry, index: int) -> Iterator[Shape]:
    yield from _norms(geometry, "attn_norm", "ffn_norm")
    yield from _attention(geometry, index) if geometry.of_block("attention.head_count_kv", index) else _mamba2(geometry)
    yield from _experts(geometry)
    yield from _shared(geometry, _shared_length(geometry))


def _lfm2moe(geometry: Geometry, index: int) -> Iterator[Shape]:
    width = geometry.width
    yield from _norms(geometry, "attn_norm", "ffn_norm")
    if geometry.of_block("attention.head_count_kv", index):
        yield from _attention(geometry, index)
        yield from _head_norms(geometry.key_length)
    else:
        yield "shortconv.conv.weight", (geometry.number("shortconv.l_cache"), width)
        yield "shortconv.in_proj.weight", (width, 3 * width)
        yield "shortconv.out_proj.weight", (width, width)
    yield from _dense_or_experts(geometry, index, shared=False)


ARCHITECTURES: dict[str, Block] = {
    "deepseek2": _deepseek2,
    "gemma3": _gemma3,
    "gemma4": _gemma4,
    "glm4moe": _glm4moe,
    "gpt-oss": _gpt_oss,
    "granitehybrid": _granitehybrid,
    "kimi-linear": _kimi_linear,
    "lfm2moe": _lfm2moe,
    "llama": _llama,
    "mistral3": _llama,
    "nemotron_h_moe": _nemotron_h_moe,
    "qwen3": _qwen3,
    "qwen35": _qwen35,
    "qwen35moe": _qwen35moe,
    "qwen3moe": _qwen3moe,
}
"""The blocks of each architecture whose shapes are known."""
