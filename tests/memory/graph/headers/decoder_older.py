"""Headers of plain decoders of the first years, most with a layer norm."""

from __future__ import annotations

from tests.memory.graph.headers.compact import SMALL, SMALL_BLOCK, Header

PHI2: Header = (
    "phi2",
    {**SMALL, "attention.layer_norm_epsilon": 9.999999747378752e-06},
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024 output_norm.bias:1024 output.bias:8192
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024 attn_norm.bias:1024 attn_output.bias:1024 ffn_down.bias:1024 ffn_up.bias:2816
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

FALCON: Header = (
    "falcon",
    {**SMALL, "attention.layer_norm_epsilon": 9.999999747378752e-06},
    """
    0-2 F32 attn_norm_2:1024 attn_norm_2.bias:1024 attn_norm:1024 attn_norm.bias:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024 output_norm.bias:1024
    0-2 Q4_K attn_qkv:1024x1536 attn_output:1024x1024 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

MPT: Header = (
    "mpt",
    {
        **SMALL,
        "attention.clamp_kqv": 8.0,
        "attention.max_alibi_bias": 8.0,
        "attention.layer_norm_epsilon": 9.999999747378752e-06,
    },
    """
    0-2 F32 ffn.act.scales:2816 attn_qkv.bias:1536 attn_norm:1024 ffn_norm:1024
    - Q4_K position_embd:1024x32768 token_embd:1024x8192
    - F32 output_norm:1024
    0-2 Q4_K attn_qkv:1024x1536 attn_output:1024x1024 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

GPT2: Header = (
    "gpt2",
    {**SMALL, "attention.head_count_kv": 16, "attention.layer_norm_epsilon": 9.999999747378752e-06},
    """
    - Q4_K token_embd:1024x8192 position_embd:1024x32768
    - F32 output_norm:1024 output_norm.bias:1024
    0-2 F32 attn_norm:1024 attn_norm.bias:1024 attn_qkv.bias:3072 attn_output.bias:1024 ffn_norm:1024 ffn_norm.bias:1024
    0-2 F32 ffn_down.bias:1024 ffn_up.bias:2816
    0-2 Q4_K attn_qkv:1024x3072 attn_output:1024x1024 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

GPTNEOX: Header = (
    "gptneox",
    {
        **SMALL,
        "attention.head_count_kv": 16,
        "use_parallel_residual": True,
        "attention.layer_norm_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024 output_norm.bias:1024
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024 attn_norm.bias:1024 attn_qkv.bias:3072 attn_output.bias:1024 ffn_norm:1024 ffn_norm.bias:1024
    0-2 F32 ffn_down.bias:1024 ffn_up.bias:2816
    0-2 Q4_K attn_qkv:1024x3072 attn_output:1024x1024 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

GPTNEOX_IN_ORDER: Header = (
    "gptneox",
    {
        **SMALL,
        "attention.head_count_kv": 16,
        "use_parallel_residual": False,
        "attention.layer_norm_epsilon": 9.999999747378752e-06,
    },
    GPTNEOX[2],
)

BAICHUAN: Header = (
    "baichuan",
    {**SMALL, "attention.head_count_kv": 16, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024 ffn_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x1024 attn_v:1024x1024 attn_output:1024x1024 ffn_gate:1024x2816 ffn_down:2816x1024
    0-2 Q4_K ffn_up:1024x2816
    """,
)

STARCODER2: Header = (
    "starcoder2",
    {**SMALL, "attention.layer_norm_epsilon": 9.999999747378752e-06},
    """
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 ffn_down.bias:1024 ffn_up.bias:2816 attn_norm:1024 attn_norm.bias:1024
    0-2 F32 attn_output.bias:1024 ffn_norm:1024 ffn_norm.bias:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024 output_norm.bias:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

REFACT: Header = (
    "refact",
    {**SMALL, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    f"""
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    0-2 {SMALL_BLOCK}
    """,
)

BLOOM: Header = (
    "bloom",
    {**SMALL, "attention.head_count_kv": 16, "attention.layer_norm_epsilon": 9.999999747378752e-06},
    """
    - Q4_K token_embd:1024x8192
    - F32 token_embd_norm:1024 token_embd_norm.bias:1024 output_norm:1024 output_norm.bias:1024
    0-2 F32 attn_norm:1024 attn_norm.bias:1024 attn_qkv.bias:3072 attn_output.bias:1024 ffn_norm:1024 ffn_norm.bias:1024
    0-2 F32 ffn_down.bias:1024 ffn_up.bias:2816
    0-2 Q4_K attn_qkv:1024x3072 attn_output:1024x1024 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

STABLELM: Header = (
    "stablelm",
    {**SMALL, "attention.layer_norm_epsilon": 9.999999747378752e-06},
    f"""
    0-2 F32 ffn_norm:1024 ffn_norm.bias:1024 attn_norm:1024 attn_norm.bias:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm.bias:1024 output_norm:1024
    - Q6_K output:1024x8192
    0-2 {SMALL_BLOCK}
    """,
)

STABLELM2: Header = (
    "stablelm",
    {**SMALL, "attention.layer_norm_epsilon": 9.999999747378752e-06},
    f"""
    0-2 F32 attn_q_norm:64x16 attn_k_norm:64x4 attn_norm:1024 attn_norm.bias:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm.bias:1024 output_norm:1024
    - Q6_K output:1024x8192
    0-2 {SMALL_BLOCK}
    """,
)

PLAMO: Header = (
    "plamo",
    {**SMALL, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    f"""
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024
    0-2 {SMALL_BLOCK}
    """,
)

OLMO: Header = (
    "olmo",
    {**SMALL, "attention.clamp_kqv": 8.0, "attention.layer_norm_epsilon": 9.999999747378752e-06},
    f"""
    - Q4_K token_embd:1024x8192
    0-2 {SMALL_BLOCK}
    """,
)

OPENELM: Header = (
    "openelm",
    {
        "block_count": 3,
        "embedding_length": 1024,
        "attention.head_count": (12, 16, 16),
        "attention.head_count_kv": (3, 4, 4),
        "feed_forward_length": (768, 1024, 1280),
        "attention.key_length": 64,
        "attention.value_length": 64,
        "rope.dimension_count": 64,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 attn_q_norm:64 attn_k_norm:64 ffn_norm:1024
    0 Q4_K attn_qkv:1024x1152 attn_output:768x1024 ffn_gate:1024x768 ffn_down:768x1024 ffn_up:1024x768
    1-2 Q4_K attn_qkv:1024x1536 attn_output:1024x1024
    1 Q4_K ffn_gate:1024x1024 ffn_down:1024x1024 ffn_up:1024x1024
    2 Q4_K ffn_gate:1024x1280 ffn_down:1280x1024 ffn_up:1024x1280
    """,
)

CHATGLM: Header = (
    "chatglm",
    {**SMALL, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    """
    0-2 Q4_K attn_qkv:1024x1536 attn_output:1024x1024 ffn_up:1024x5632 ffn_down:2816x1024
    0-2 F32 attn_qkv.bias:1536 attn_norm:1024 ffn_norm:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    """,
)

CHAMELEON: Header = (
    "chameleon",
    {**SMALL, "swin_norm": False, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    f"""
    - Q4_K token_embd:1024x16384
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 attn_q_norm:64x16 attn_k_norm:64x4 ffn_norm:1024
    0-2 {SMALL_BLOCK}
    """,
)

CHAMELEON_SWIN: Header = (
    "chameleon",
    {**SMALL, "swin_norm": True, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    CHAMELEON[2],
)

COGVLM: Header = (
    "cogvlm",
    {**SMALL, "attention.head_count_kv": 16, "attention.layer_norm_rms_epsilon": 9.999999747378752e-06},
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    0-2 Q4_K attn_qkv:1024x3072 attn_output:1024x1024 vis_attn_qkv:1024x3072 vis_attn_output:1024x1024 ffn_gate:1024x2816
    0-2 Q4_K ffn_down:2816x1024 ffn_up:1024x2816 vis_gate:1024x2816 vis_down:2816x1024 vis_up:1024x2816
    """,
)
