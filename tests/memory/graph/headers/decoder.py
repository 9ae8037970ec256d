"""Headers of plain decoders without experts."""

from __future__ import annotations

from tests.memory.graph.headers.compact import Header

LLAMA_BIASED: Header = (
    "llama",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q6_K output:1024x8192
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 attn_output.bias:1024 ffn_up.bias:2816 ffn_gate.bias:2816 ffn_down.bias:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    - F32 rope_freqs:32 output_norm:1024
    - Q4_K token_embd:1024x8192
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

LLAMA_LONG: Header = (
    "llama",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "rope.scaling.type": "longrope",
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
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
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 16,
        "feed_forward_length": 2816,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
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
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 attn_norm:1024 ffn_norm:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

QWEN2VL: Header = (
    "qwen2vl",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "rope.dimension_sections": (8, 12, 12, 0),
    },
    """
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 attn_norm:1024 ffn_norm:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

QWEN3VL: Header = (
    "qwen3vl",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "n_deepstack_layers": 2,
        "rope.dimension_sections": (8, 12, 12, 0),
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 attn_k_norm:64 attn_q_norm:64 ffn_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

BITNET: Header = (
    "bitnet",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 attn_sub_norm:1024 ffn_norm:1024 ffn_sub_norm:2816
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

NEMOTRON: Header = (
    "nemotron",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "attention.layer_norm_epsilon": 9.999999747378752e-06,
    },
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
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-4 F32 attn_norm:1024 ffn_norm:1024
    0-4 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

SEED_OSS: Header = (
    "seed_oss",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 attn_norm:1024 post_attention_norm:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_up:1024x2816 ffn_down:2816x1024
    """,
)

MAINCODER: Header = (
    "maincoder",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 attn_k_norm:64 attn_q_norm:64 ffn_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

GRANITE: Header = (
    "granite",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "logit_scale": 8.0,
        "residual_scale": 0.2199999988079071,
        "embedding_scale": 12.0,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

GRANITE_VISION: Header = (
    "granite",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "logit_scale": 8.0,
        "residual_scale": 0.2199999988079071,
        "embedding_scale": 12.0,
        "deepstack_mapping": (0, -1, 1),
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

MINICPM: Header = (
    "minicpm",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

GEMMA: Header = (
    "gemma",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
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
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "logit_scale": 0.0625,
        "attention.layer_norm_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

GLM4: Header = (
    "glm4",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "rope.dimension_sections": (8, 12, 12, 0),
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
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
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2816,
        "attention.temperature_scale": 0.10000000149011612,
        "rope.scaling.original_context_length": 8192,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)
