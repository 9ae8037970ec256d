"""Headers of plain decoders without experts."""

from __future__ import annotations

from tests.memory.graph.headers.compact import SMALL, SMALL_BLOCK, Header

LLAMA_BIASED: Header = (
    "llama",
    {**SMALL, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    f"""
    - Q6_K output:1024x8192
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 attn_output.bias:1024 ffn_up.bias:2816 ffn_gate.bias:2816 ffn_down.bias:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    - F32 rope_freqs:32 output_norm:1024
    - Q4_K token_embd:1024x8192
    0-2 {SMALL_BLOCK}
    """,
)

LLAMA_LONG: Header = (
    "llama",
    {**SMALL, "rope.scaling.type": "longrope", "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    """
    0-2 Q4_K attn_qkv:1024x1536 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    - F32 rope_factors_long:32 rope_factors_short:32 output_norm:1024
    - Q4_K token_embd:1024x8192
    0-2 F32 attn_norm:1024 ffn_norm:1024
    """,
)

DECI: Header = (
    "deci",
    {
        "block_count": 4,
        "embedding_length": 1024,
        "attention.head_count": (16, 0, 16, 16),
        "attention.head_count_kv": (4, 0, 0, 4),
        "feed_forward_length": (2816, 1408, 2816, 0),
        "attention.key_length": 64,
        "attention.value_length": 64,
        "rope.dimension_count": 64,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0,2-3 F32 attn_norm:1024
    0,3 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256
    0,2-3 Q4_K attn_output:1024x1024
    0-2 F32 ffn_norm:1024
    0,2 Q4_K ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    1 Q4_K ffn_gate:1024x1408 ffn_up:1024x1408
    1 Q8_0 ffn_down:1408x1024
    """,
)

QWEN: Header = (
    "qwen",
    {**SMALL, "attention.head_count_kv": 16, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024 attn_qkv.bias:3072 ffn_norm:1024
    0-2 Q4_K attn_qkv:1024x3072 attn_output:1024x1024 ffn_gate:1024x1408 ffn_up:1024x1408
    0-2 Q8_0 ffn_down:1408x1024
    """,
)

QWEN2: Header = (
    "qwen2",
    {**SMALL, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    f"""
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 attn_norm:1024 ffn_norm:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 {SMALL_BLOCK}
    """,
)

QWEN2VL: Header = (
    "qwen2vl",
    {**SMALL, "rope.dimension_sections": (8, 12, 12, 0)},
    QWEN2[2],
)

QWEN3VL: Header = (
    "qwen3vl",
    {
        **SMALL,
        "n_deepstack_layers": 2,
        "rope.dimension_sections": (8, 12, 12, 0),
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    f"""
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 attn_k_norm:64 attn_q_norm:64 ffn_norm:1024
    0-2 {SMALL_BLOCK}
    """,
)

BITNET: Header = (
    "bitnet",
    {**SMALL, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    f"""
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 attn_sub_norm:1024 ffn_norm:1024 ffn_sub_norm:2816
    0-2 {SMALL_BLOCK}
    """,
)

NEMOTRON: Header = (
    "nemotron",
    {**SMALL, "attention.layer_norm_epsilon": 9.999999747378752e-06},
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024 output_norm.bias:1024
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024 attn_norm.bias:1024 ffn_norm:1024 ffn_norm.bias:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

SMOLLM3: Header = (
    "smollm3",
    {
        "block_count": 5,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    f"""
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-4 F32 attn_norm:1024 ffn_norm:1024
    0-4 {SMALL_BLOCK}
    """,
)

SEED_OSS: Header = (
    "seed_oss",
    {**SMALL, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    """
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 attn_norm:1024 post_attention_norm:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_up:1024x2816 ffn_down:2816x1024
    """,
)

MAINCODER: Header = (
    "maincoder",
    {**SMALL, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    QWEN3VL[2],
)

GRANITE: Header = (
    "granite",
    {
        **SMALL,
        "logit_scale": 8.0,
        "residual_scale": 0.2199999988079071,
        "embedding_scale": 12.0,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    f"""
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    0-2 {SMALL_BLOCK}
    """,
)

GRANITE_VISION: Header = (
    "granite",
    {
        **SMALL,
        "logit_scale": 8.0,
        "residual_scale": 0.2199999988079071,
        "embedding_scale": 12.0,
        "deepstack_mapping": (0, -1, 1),
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    GRANITE[2],
)

MINICPM: Header = (
    "minicpm",
    {**SMALL, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    GRANITE[2],
)

GEMMA: Header = (
    "gemma",
    {
        **SMALL,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    0-2 Q4_K attn_q:1024x2048 attn_k:1024x512 attn_v:1024x512 attn_output:2048x1024 ffn_gate:1024x2816 ffn_up:1024x2816 ffn_down:2816x1024
    """,
)

COMMAND_R: Header = (
    "command-r",
    {**SMALL, "logit_scale": 0.0625, "attention.layer_norm_epsilon": 9.999999747378752e-06},
    f"""
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024
    0-2 {SMALL_BLOCK}
    """,
)

GLM4: Header = (
    "glm4",
    {**SMALL, "rope.dimension_sections": (8, 12, 12, 0), "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    """
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 attn_norm:1024 post_attention_norm:1024 ffn_norm:1024 post_ffw_norm:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_down:2816x1024 ffn_up:1024x5632
    """,
)

MISTRAL3: Header = (
    "mistral3",
    {
        **SMALL,
        "attention.temperature_scale": 0.10000000149011612,
        "rope.scaling.original_context_length": 8192,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    GRANITE[2],
)
