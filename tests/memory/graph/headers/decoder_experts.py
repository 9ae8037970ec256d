"""Headers of plain decoders with experts."""

from __future__ import annotations

from tests.memory.graph.headers.compact import SMALL, Header

MIXTRAL: Header = (
    "llama",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q6_K output:1024x8192
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024 ffn_gate_inp:1024x8
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_down_exps:2816x1024x8 ffn_up_exps:1024x2816x8
    """,
)

PHIMOE: Header = (
    "phimoe",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    0-2 Q4_K attn_qkv:1024x1536 attn_output:1024x1024 ffn_gate_exps:1024x2816x8 ffn_down_exps:2816x1024x8 ffn_up_exps:1024x2816x8
    - F32 rope_factors_long:32 rope_factors_short:32 output_norm:1024 output_norm.bias:1024 output.bias:8192
    - Q4_K token_embd:1024x8192
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024 attn_norm.bias:1024 attn_output.bias:1024 ffn_norm:1024 ffn_norm.bias:1024 ffn_gate_inp:1024x8
    """,
)

QWEN2MOE: Header = (
    "qwen2moe",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "expert_feed_forward_length": 704,
        "expert_shared_feed_forward_length": 2816,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 attn_norm:1024 ffn_norm:1024 ffn_gate_inp:1024x8 ffn_gate_inp_shexp:1024
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    - Q6_K output:1024x8192
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate_exps:1024x704x8 ffn_up_exps:1024x704x8
    0-2 Q4_K ffn_gate_shexp:1024x2816 ffn_down_shexp:2816x1024 ffn_up_shexp:1024x2816
    0-2 Q8_0 ffn_down_exps:704x1024x8
    """,
)

DBRX: Header = (
    "dbrx",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "attention.clamp_kqv": 8.0,
        "attention.layer_norm_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024 attn_output_norm:1024 ffn_gate_inp:1024x8
    0-2 Q4_K attn_qkv:1024x1536 attn_output:1024x1024 ffn_gate_exps:1024x2816x8 ffn_down_exps:2816x1024x8 ffn_up_exps:1024x2816x8
    """,
)

OLMOE: Header = (
    "olmoe",
    {
        **SMALL,
        "attention.head_count_kv": 16,
        "expert_count": 8,
        "expert_used_count": 2,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024 attn_q_norm:1024 attn_k_norm:1024 ffn_norm:1024 ffn_gate_inp:1024x8
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x1024 attn_v:1024x1024 attn_output:1024x1024 ffn_gate_exps:1024x2816x8 ffn_down_exps:2816x1024x8
    0-2 Q4_K ffn_up_exps:1024x2816x8
    """,
)

OLMOE_FUSED: Header = (
    "olmoe",
    {
        **SMALL,
        "attention.head_count_kv": 16,
        "expert_count": 8,
        "expert_used_count": 2,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    0-2 Q4_K attn_qkv:1024x3072 attn_output:1024x1024 ffn_gate_exps:1024x2816x8 ffn_down_exps:2816x1024x8 ffn_up_exps:1024x2816x8
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024 attn_q_norm:1024 attn_k_norm:1024 ffn_norm:1024 ffn_gate_inp:1024x8
    """,
)

ARCTIC: Header = (
    "arctic",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024 ffn_gate_inp:1024x8 ffn_norm_exps:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate:1024x1024 ffn_down:1024x1024 ffn_up:1024x1024
    0-2 Q4_K ffn_gate_exps:1024x2816x8 ffn_down_exps:2816x1024x8 ffn_up_exps:1024x2816x8
    """,
)

GROVEMOE: Header = (
    "grovemoe",
    {
        **SMALL,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_group_scale": 0.05000000074505806,
        "experts_per_group": 2,
        "expert_chunk_feed_forward_length": 128,
        "expert_feed_forward_length": 768,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 attn_k_norm:64 attn_q_norm:64 ffn_norm:1024 ffn_gate_inp:1024x16
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate_exps:1024x768x16 ffn_down_exps:768x1024x16
    0-2 Q4_K ffn_up_exps:1024x768x16 ffn_gate_chexps:1024x128x8 ffn_up_chexps:1024x128x8
    0-2 Q8_0 ffn_down_chexps:128x1024x8
    """,
)

MINIMAX_M2: Header = (
    "minimax-m2",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "expert_gating_func": 2,
        "expert_feed_forward_length": 1536,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    - Q6_K output:1024x8192
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate_exps:1024x2816x8 ffn_down_exps:2816x1024x8
    0-2 Q4_K ffn_up_exps:1024x2816x8
    0-2 F32 attn_norm:1024 attn_q_norm:1024 attn_k_norm:256 ffn_norm:1024 ffn_gate_inp:1024x8 exp_probs_b.bias:8
    """,
)

GRANITEMOE: Header = (
    "granitemoe",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "logit_scale": 8.0,
        "residual_scale": 0.2199999988079071,
        "expert_shared_feed_forward_length": 1024,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024 ffn_gate_inp:1024x8
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_down_exps:2816x1024x8 ffn_up_exps:1024x2816x8
    0-2 Q4_K ffn_gate_shexp:1024x1024 ffn_up_shexp:1024x1024 ffn_down_shexp:1024x1024
    """,
)

ERNIE: Header = (
    "ernie4_5-moe",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "interleave_moe_layer_step": 1,
        "leading_dense_block_count": 1,
        "expert_feed_forward_length": 768,
        "expert_shared_feed_forward_length": 1536,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    1-2 F32 ffn_gate_inp:1024x8
    1-2 Q4_K ffn_down_exps:768x1024x8 ffn_up_exps:1024x768x8 ffn_gate_shexp:1024x1536 ffn_down_shexp:1536x1024 ffn_up_shexp:1024x1536
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 ffn_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024
    0 Q4_K ffn_gate:1024x2816 ffn_down:2816x1024 ffn_up:1024x2816
    """,
)

HUNYUAN: Header = (
    "hunyuan-moe",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "expert_feed_forward_length": 768,
        "expert_shared_feed_forward_length": 1536,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 attn_k_norm:64 attn_q_norm:64 ffn_norm:1024 ffn_gate_inp:1024x8
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate_exps:1024x2816x8 ffn_down_exps:2816x1024x8
    0-2 Q4_K ffn_up_exps:1024x2816x8 ffn_gate_shexp:1024x1536 ffn_up_shexp:1024x1536 ffn_down_shexp:1536x1024
    """,
)

GLM4MOE: Header = (
    "glm4moe",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "expert_weights_norm": True,
        "expert_weights_scale": 2.5,
        "expert_feed_forward_length": 768,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
        "expert_shared_count": 1,
    },
    """
    0-2 F32 attn_q.bias:1024 attn_k.bias:256 attn_v.bias:256 attn_q_norm:64 attn_k_norm:64 attn_norm:1024 post_attention_norm:1024
    0-2 F32 ffn_gate_inp:1024x8 exp_probs_b.bias:8
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024 ffn_gate_exps:1024x768x8 ffn_down_exps:768x1024x8
    0-2 Q4_K ffn_up_exps:1024x768x8 ffn_gate_shexp:1024x768 ffn_down_shexp:768x1024 ffn_up_shexp:1024x768
    """,
)

BAILINGMOE2: Header = (
    "bailingmoe2",
    {
        **SMALL,
        "expert_count": 32,
        "expert_used_count": 4,
        "expert_group_count": 8,
        "expert_group_used_count": 4,
        "expert_weights_norm": True,
        "expert_weights_scale": 2.5,
        "expert_feed_forward_length": 512,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
        "expert_shared_count": 1,
        "expert_gating_func": 2,
    },
    """
    1-2 F32 exp_probs_b.bias:32
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    - Q6_K output:1024x8192
    0-2 F32 attn_norm:1024 attn_q_norm:64 attn_k_norm:64 ffn_norm:1024 ffn_gate_inp:1024x32
    0-2 Q4_K attn_qkv:1024x1536 attn_output:1024x1024 ffn_gate_exps:1024x512x32 ffn_down_exps:512x1024x32 ffn_up_exps:1024x512x32
    0-2 Q4_K ffn_gate_shexp:1024x512 ffn_down_shexp:512x1024 ffn_up_shexp:1024x512
    """,
)

GROK: Header = (
    "grok",
    {
        **SMALL,
        "expert_count": 8,
        "expert_used_count": 2,
        "expert_feed_forward_length": 1408,
        "final_logit_softcapping": 50.0,
        "attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    },
    """
    0-2 Q4_K ffn_up:1024x2816 ffn_gate:1024x2816 ffn_down:2816x1024 attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024
    0-2 Q4_K ffn_up_exps:1024x1408x8
    - Q4_K token_embd:1024x8192
    - F32 output_norm:1024
    0-2 F32 attn_norm:1024 attn_output_norm:1024 ffn_norm:1024 ffn_gate_inp:1024x8 post_ffw_norm:1024
    0-2 Q8_0 ffn_down_exps:1408x1024x8
    """,
)
