"""Headers of models with delta nets and their kin, eight or nine blocks each, and what the engine made of them.

Each row is the blocks that have a tensor (none outside them), its name, type and shape.
"""

from __future__ import annotations

from collections.abc import Mapping

QWEN35: tuple[str, Mapping[str, object], str] = (
    "qwen35",
    {
        "block_count": 9,
        "embedding_length": 2048,
        "attention.head_count": 16,
        "attention.head_count_kv": 2,
        "feed_forward_length": 6144,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "rope.dimension_count": 64,
        "nextn_predict_layers": 1,
        "rope.dimension_sections": [16, 24, 24, 0],
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 4096,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 32,
        "ssm.group_count": 16,
    },
    """
    0-8 F32 attn_norm:2048 post_attention_norm:2048
    8 Q4_K nextn.eh_proj:4096x2048
    0-2,4-6 Q4_K attn_gate:2048x4096 attn_qkv:2048x8192 ssm_beta:2048x32 ssm_alpha:2048x32 ssm_out:4096x2048
    3,7-8 F32 attn_k_norm:256 attn_q_norm:256
    8 F32 nextn.enorm:2048 nextn.hnorm:2048
    - Q4_K token_embd:2048x32000
    - F32 output_norm:2048
    0-2,4-6 F32 ssm_conv1d:4x8192 ssm_dt.bias:32 ssm_a:32 ssm_norm:128
    0-8 Q4_K ffn_gate:2048x6144 ffn_down:6144x2048 ffn_up:2048x6144
    3,7-8 Q4_K attn_q:2048x8192 attn_k:2048x512 attn_v:2048x512 attn_output:4096x2048
    """,
)

QWEN3NEXT: tuple[str, Mapping[str, object], str] = (
    "qwen3next",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 16,
        "attention.head_count_kv": 2,
        "feed_forward_length": 6144,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "rope.dimension_count": 64,
        "rope.dimension_sections": [11, 11, 10, 0],
        "expert_count": 64,
        "expert_used_count": 6,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 4096,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 32,
        "ssm.group_count": 16,
    },
    """
    0-2,4-6 Q4_K ssm_in:2048x12288 ssm_ba:2048x64 ssm_out:4096x2048
    3,7 F32 attn_k_norm:256 attn_q_norm:256
    - Q4_K token_embd:2048x32000
    - F32 output_norm:2048
    0-7 F32 attn_norm:2048 post_attention_norm:2048 ffn_gate_inp:2048x64 ffn_gate_inp_shexp:2048
    0-2,4-6 F32 ssm_conv1d:4x8192 ssm_dt.bias:32 ssm_a:32 ssm_norm:128
    0-7 Q4_K ffn_down_exps:1024x2048x64 ffn_gate_exps:2048x1024x64 ffn_up_exps:2048x1024x64 ffn_gate_shexp:2048x6144
    0-7 Q4_K ffn_up_shexp:2048x6144 ffn_down_shexp:6144x2048
    3,7 Q4_K attn_q:2048x8192 attn_k:2048x512 attn_v:2048x512 attn_output:4096x2048
    """,
)

KIMI_LINEAR: tuple[str, Mapping[str, object], str] = (
    "kimi-linear",
    {
        "block_count": 8,
        "embedding_length": 2304,
        "attention.head_count": 32,
        "attention.head_count_kv": [0, 0, 0, 1, 0, 0, 0, 1],
        "feed_forward_length": 9216,
        "rope.dimension_count": 64,
        "kda.head_dim": 128,
        "expert_weights_scale": 2.446,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "expert_count": 32,
        "expert_used_count": 4,
        "expert_feed_forward_length": 1024,
        "leading_dense_block_count": 1,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 512,
        "ssm.conv_kernel": 4,
        "expert_shared_count": 1,
        "expert_gating_func": 2,
    },
    """
    1-7 Q4_K ffn_gate_shexp:2304x1024 ffn_up_shexp:2304x1024 ffn_down_shexp:1024x2304 ffn_gate_exps:2304x1024x32
    1-7 Q4_K ffn_down_exps:1024x2304x32 ffn_up_exps:2304x1024x32
    0-2,4-6 Q4_K attn_qkv:2304x12288 ssm_f_a:2304x128 ssm_beta:2304x32 ssm_g_a:2304x128
    3,7 Q4_K attn_v_b:512x128x32 attn_q:2304x6144 attn_kv_a_mqa:2304x576
    - Q4_K token_embd:2304x32000
    - F32 output_norm:2304
    - Q6_K output:2304x32000
    0-7 F32 attn_norm:2304 ffn_norm:2304
    0-2,4-6 F32 ssm_conv1d_q:4x1x4096x1 ssm_conv1d_k:4x1x4096x1 ssm_conv1d_v:4x1x4096x1 ssm_a:1x32x1x1 ssm_dt.bias:4096
    0-2,4-6 F32 ssm_norm:128
    0-2,4-6 Q8_0 ssm_f_b:128x4096 ssm_g_b:128x4096
    0-7 Q4_K attn_output:4096x2304
    0 Q4_K ffn_gate:2304x9216 ffn_down:9216x2304 ffn_up:2304x9216
    1-7 F32 ffn_gate_inp:2304x32 exp_probs_b.bias:32
    3,7 F32 attn_kv_a_norm:512
    3,7 Q8_0 attn_k_b:128x512x32
    """,
)

KIMI_LINEAR_UNCOMPRESSED: tuple[str, Mapping[str, object], str] = (
    "kimi-linear",
    {
        "block_count": 8,
        "embedding_length": 2304,
        "attention.head_count": 32,
        "attention.head_count_kv": [0, 0, 0, 32, 0, 0, 0, 32],
        "feed_forward_length": 9216,
        "rope.dimension_count": 64,
        "kda.head_dim": 128,
        "expert_weights_scale": 2.446,
        "expert_count": 32,
        "expert_used_count": 4,
        "expert_feed_forward_length": 1024,
        "leading_dense_block_count": 1,
        "attention.key_length": 192,
        "attention.value_length": 128,
        "attention.key_length_mla": 0,
        "attention.value_length_mla": 0,
        "attention.kv_lora_rank": 512,
        "ssm.conv_kernel": 4,
        "expert_shared_count": 1,
        "expert_gating_func": 2,
    },
    """
    1-7 Q4_K ffn_gate_shexp:2304x1024 ffn_up_shexp:2304x1024 ffn_down_shexp:1024x2304 ffn_gate_exps:2304x1024x32
    1-7 Q4_K ffn_down_exps:1024x2304x32 ffn_up_exps:2304x1024x32
    3,7 Q4_K attn_kv_b:512x8192 attn_kv_a_mqa:2304x576 attn_q:2304x6144
    - Q4_K token_embd:2304x32000
    - F32 output_norm:2304
    - Q6_K output:2304x32000
    0-7 F32 attn_norm:2304 ffn_norm:2304
    0-2,4-6 F32 ssm_conv1d_q:4x1x4096x1 ssm_conv1d_k:4x1x4096x1 ssm_conv1d_v:4x1x4096x1 ssm_a:1x32x1x1 ssm_dt.bias:4096
    0-2,4-6 F32 ssm_norm:128
    0-2,4-6 Q4_K attn_q:2304x4096 attn_k:2304x4096 attn_v:2304x4096 ssm_f_a:2304x128 ssm_beta:2304x32 ssm_g_a:2304x128
    0-2,4-6 Q8_0 ssm_f_b:128x4096 ssm_g_b:128x4096
    0-7 Q4_K attn_output:4096x2304
    0 Q4_K ffn_gate:2304x9216 ffn_down:9216x2304 ffn_up:2304x9216
    1-7 F32 ffn_gate_inp:2304x32 exp_probs_b.bias:32
    3,7 F32 attn_kv_a_norm:512
    """,
)

LING3: tuple[str, Mapping[str, object], str] = (
    "bailingmoe3",
    {
        "block_count": 9,
        "embedding_length": 2560,
        "attention.head_count": 20,
        "attention.head_count_kv": [0, 0, 0, 1, 0, 0, 0, 1, 1],
        "feed_forward_length": 9216,
        "rope.dimension_count": 64,
        "kda.head_dim": 128,
        "expert_weights_scale": 2.446,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "expert_count": 32,
        "expert_used_count": 4,
        "expert_feed_forward_length": 1024,
        "nextn_predict_layers": 1,
        "kda.gate_lower_bound": -5.0,
        "swiglu_clamp_exp": [0.0, 0.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 0.0],
        "swiglu_clamp_shexp": [7.0, 0.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 0.0],
        "attention.q_lora_rank": 768,
        "rope.dimension_sections": [16, 24, 24, 0],
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 512,
        "ssm.conv_kernel": 4,
        "expert_shared_count": 1,
        "leading_dense_block_count": 1,
        "expert_gating_func": 2,
    },
    """
    0-8 F32 attn_norm:2560 ffn_norm:2560
    8 Q4_K nextn.eh_proj:5120x2560
    3,7-8 Q4_K attn_gate:2560x20 attn_q_a:2560x768 attn_q_b:768x3840 attn_kv_a_mqa:2560x576 attn_v_b:512x128x20
    8 F32 nextn.enorm:2560 nextn.hnorm:2560 layer_output_norm:2560
    - Q4_K token_embd:2560x32000
    - F32 output_norm:2560
    0-2,4-6 F32 ssm_conv1d_q:4x1x2560x1 ssm_conv1d_k:4x1x2560x1 ssm_conv1d_v:4x1x2560x1 ssm_a:1x20 ssm_dt.bias:2560
    0-2,4-6 F32 ssm_norm:128
    0-2,4-6 Q4_K attn_q:2560x2560 attn_k:2560x2560 attn_v:2560x2560 ssm_f_a:2560x2560 ssm_beta:2560x20 ssm_g_a:2560x2560
    0-8 Q4_K attn_output:2560x2560
    0 Q4_K ffn_gate:2560x9216 ffn_up:2560x9216 ffn_down:9216x2560
    1-8 F32 ffn_gate_inp:2560x32 exp_probs_b.bias:32
    1-8 Q4_K ffn_gate_exps:2560x1024x32 ffn_up_exps:2560x1024x32 ffn_down_exps:1024x2560x32 ffn_gate_shexp:2560x1024
    1-8 Q4_K ffn_up_shexp:2560x1024 ffn_down_shexp:1024x2560
    3,7-8 F32 attn_q_a_norm:768 attn_kv_a_norm:512
    3,7-8 Q8_0 attn_k_b:128x512x20
    """,
)

KIMI_K3: tuple[str, Mapping[str, object], str] = (
    "kimi-k3",
    {
        "block_count": 8,
        "embedding_length": 2304,
        "attention.head_count": 32,
        "attention.head_count_kv": [0, 0, 0, 1, 0, 0, 0, 1],
        "feed_forward_length": 9216,
        "rope.dimension_count": 64,
        "kda.head_dim": 128,
        "expert_weights_scale": 2.446,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "expert_count": 32,
        "expert_used_count": 4,
        "expert_feed_forward_length": 1024,
        "attn_res.block_size": 3,
        "activation.situ_beta": 4.0,
        "activation.situ_linear_beta": 0.0,
        "expert_latent_length": 1024,
        "attention.q_lora_rank": 768,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 512,
        "ssm.conv_kernel": 4,
        "expert_shared_count": 1,
        "expert_gating_func": 2,
    },
    """
    3,7 F32 attn_q_a_norm:768 attn_kv_a_norm:512
    3,7 Q4_K attn_gate:2304x4096 attn_v_b:512x128x32 attn_q_a:2304x768 attn_q_b:768x6144 attn_kv_a_mqa:2304x576
    1-7 F32 ffn_routed_norm:1024
    1-7 Q4_K ffn_gate_shexp:2304x1024 ffn_up_shexp:2304x1024 ffn_down_shexp:1024x2304
    - Q4_K token_embd:2304x32000
    - F32 output_norm:2304 output_res_score:2304
    - Q6_K output:2304x32000
    0-7 F32 attn_norm:2304 ffn_norm:2304 attn_res_score:2304 ffn_res_score:2304 ffn_gate_inp:2304x32 exp_probs_b.bias:32
    0-2,4-6 F32 ssm_conv1d_q:4x1x4096x1 ssm_conv1d_k:4x1x4096x1 ssm_conv1d_v:4x1x4096x1 ssm_a:32 ssm_dt.bias:4096 ssm_norm:128
    0-2,4-6 Q4_K attn_q:2304x4096 attn_k:2304x4096 attn_v:2304x4096 ssm_f_a:2304x128 ssm_beta:2304x32 ssm_g:2304x4096
    0-2,4-6 Q8_0 ssm_f_b:128x4096
    0-7 Q4_K attn_output:4096x2304 ffn_gate_exps:1024x1024x32 ffn_down_exps:1024x1024x32 ffn_up_exps:1024x1024x32
    0-7 Q4_K ffn_routed_down:2304x1024 ffn_routed_up:1024x2304
    3,7 Q8_0 attn_k_b:128x512x32
    """,
)

MINIMAX: tuple[str, Mapping[str, object], str] = (
    "minimax-01",
    {
        "block_count": 8,
        "embedding_length": 3072,
        "attention.head_count": 32,
        "attention.head_count_kv": 4,
        "feed_forward_length": 4608,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "rope.dimension_count": 64,
        "expert_count": 32,
        "expert_used_count": 2,
        "residual_scale": 0.5,
    },
    """
    - Q4_K token_embd:3072x32000
    - F32 output_norm:3072
    0-7 F32 attn_norm:3072 ffn_norm:3072 ffn_gate_inp:3072x32
    0-6 F32 attn_norm_2:4096
    0-6 Q4_K attn_qkv:3072x12288 attn_gate:3072x4096
    0-7 Q4_K attn_output:4096x3072 ffn_down_exps:4608x3072x32 ffn_up_exps:3072x4608x32
    7 Q4_K attn_q:3072x4096 attn_k:3072x512 attn_v:3072x512
    """,
)

QWEN4: tuple[str, Mapping[str, object], str] = (
    "qwen4exp",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 16,
        "attention.head_count_kv": 2,
        "feed_forward_length": 14336,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "rope.dimension_count": 64,
        "rope.dimension_sections": [11, 11, 10, 0],
        "hyper_connection.count": 4,
        "hyper_connection.low_rank": 64,
        "expert_count": 64,
        "expert_used_count": 6,
        "expert_feed_forward_length": 512,
        "expert_shared_feed_forward_length": 512,
        "attention.indexer.head_count": 4,
        "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 2048,
        "attention.compress_ratios": [0, 0, 0, 4, 0, 0, 0, 4],
        "ple.layers": [1],
        "ple.ngram_size": 3,
        "ple.heads_per_ngram": 4,
        "ple.conv_kernel": 4,
        "ple.eos_token_id": 2,
        "embedding_length_per_layer_input": 256,
        "ple.layer_multipliers": [11, 13, 17],
        "ple.head_offsets": [0, 1000, 2000, 3000, 4000, 5000, 6000, 7000],
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 4096,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 32,
        "ssm.group_count": 16,
    },
    """
    - Q4_K per_layer_token_embd:256x8000 token_embd:2048x32000 output_hc_down:8192x64
    3,7 F32 indexer.k_norm:128 attn_q_norm:256 attn_k_norm:256 indexer.q_norm:128
    - F32 output_hc_norm:2048x4
    - Q8_0 output_hc_up:64x8192
    0-7 F32 hc_attn_norm:2048x4 hc_ffn_norm:2048x4 ffn_gate_inp:2048x64 ffn_gate_inp_shexp:2048
    0-7 Q4_K hc_attn_down:8192x64 hc_attn_inject:8192x4 hc_ffn_down:8192x64 hc_ffn_inject:8192x4 ffn_down_exps:512x2048x64
    0-7 Q4_K ffn_gate_exps:2048x512x64 ffn_up_exps:2048x512x64 ffn_gate_shexp:2048x512 ffn_up_shexp:2048x512
    0-7 Q4_K ffn_down_shexp:512x2048
    0-7 Q8_0 hc_attn_up:64x8192 hc_ffn_up:64x8192
    0-2,4-6 Q4_K attn_qkv:2048x8192 attn_gate:2048x4096 ssm_beta:2048x32 ssm_alpha:2048x32 ssm_out:4096x2048
    0-2,4-6 F32 ssm_conv1d:4x8192 ssm_dt.bias:32 ssm_a:32 ssm_norm:128
    1 Q4_K ple_key:2048x8192 ple_value:2048x2048 ple_norm_key:2048x4 ple_norm_query:2048x4 ple_norm_conv:2048x4
    1 F32 ple_conv1d:4x8192
    3,7 Q4_K attn_q:2048x8192 attn_k:2048x512 attn_v:2048x512 attn_output:4096x2048 indexer.q_proj:2048x512
    3,7 Q4_K indexer.k_proj:2048x128
    """,
)

GLM5_NEXT: tuple[str, Mapping[str, object], str] = (
    "glm5-next",
    {
        "block_count": 12,
        "embedding_length": 2048,
        "attention.head_count": 16,
        "attention.head_count_kv": [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1],
        "feed_forward_length": 6144,
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.key_length_mla": 128,
        "attention.value_length_mla": 128,
        "rope.dimension_count": 0,
        "kda.head_dim": 128,
        "attention.q_lora_rank": 768,
        "expert_count": 32,
        "expert_used_count": 4,
        "expert_feed_forward_length": 1024,
        "attention.indexer.head_count": 16,
        "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 2048,
        "attention.indexer.kpool": 4,
        "hyper_connection.count": 4,
        "hyper_connection.sinkhorn_iterations": 3,
        "hyper_connection.epsilon": 0.0,
        "expert_weights_norm": False,
        "attention.indexer.types": [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1],
        "swiglu_clamp_exp": 7.0,
        "attention.kv_lora_rank": 512,
        "ssm.conv_kernel": 4,
        "expert_shared_count": 1,
    },
    """
    3,11 Q8_0 indexer_compressor_ape:128x4
    - Q4_K token_embd:2048x32000
    - F32 output_norm:2048
    - Q6_K output:2048x32000
    0-11 F32 attn_norm:2048 ffn_norm:2048 hc_attn_base:24 hc_attn_scale:3 hc_ffn_base:24 hc_ffn_scale:3 ffn_gate_inp:2048x32
    0-11 F32 exp_probs_b.bias:32
    0-11 Q4_K hc_attn_fn:8192x24 hc_ffn_fn:8192x24 attn_output:2048x2048 ffn_gate_exps:2048x1024x32 ffn_down_exps:1024x2048x32
    0-11 Q4_K ffn_up_exps:2048x1024x32 ffn_gate_shexp:2048x1024 ffn_down_shexp:1024x2048 ffn_up_shexp:2048x1024
    0-2,4-6,8-10 F32 ssm_conv1d_q:4x1x2048x1 ssm_conv1d_k:4x1x2048x1 ssm_conv1d_v:4x1x2048x1 ssm_a:16 ssm_dt.bias:2048
    0-2,4-6,8-10 F32 ssm_norm:128
    0-2,4-6,8-10 Q4_K attn_q:2048x2048 attn_k:2048x2048 attn_v:2048x2048 ssm_f_a:2048x128 ssm_beta:2048x16 ssm_g_a:2048x128
    0-2,4-6,8-10 Q8_0 ssm_f_b:128x2048 ssm_g_b:128x2048
    3,7,11 F32 attn_q_a_norm:768 attn_kv_a_norm:512
    3,7,11 Q4_K attn_q_a:2048x768 attn_q_b:768x2048 attn_kv_a_mqa:2048x512 attn_v_b:512x128x16
    3,7,11 Q8_0 attn_k_b:128x512x16
    3,11 F32 indexer.k_norm:128 indexer.k_norm.bias:128
    3,11 Q4_K indexer.proj:2048x16 indexer.attn_k:2048x128 indexer.attn_q_b:768x2048 indexer_compressor_gate:2048x128
    """,
)
