"""Headers of models with state spaces and short convolutions, eight or nine blocks each."""

from __future__ import annotations

from tests.memory.graph.headers.compact import Header

FALCON_MAMBA: Header = (
    "mamba",
    {
        "block_count": 8,
        "embedding_length": 4096,
        "attention.head_count": 0,
        "attention.head_count_kv": 0,
        "feed_forward_length": 0,
        "ssm.inner_size": 8192,
        "ssm.state_size": 16,
        "ssm.time_step_rank": 256,
        "ssm.dt_b_c_rms": True,
        "ssm.conv_kernel": 4,
    },
    """
    - Q6_K output:4096x65024
    - Q4_K token_embd:4096x65024
    - F32 output_norm:4096
    0-7 F32 attn_norm:4096 ssm_conv1d:4x8192 ssm_conv1d.bias:8192 ssm_dt:256x8192 ssm_dt.bias:8192 ssm_d!:8192
    0-7 Q4_K ssm_in:4096x16384 ssm_x:8192x288 ssm_out:8192x4096
    0-7 F16 ssm_a:16x8192
    """,
)

CODESTRAL_MAMBA: Header = (
    "mamba2",
    {
        "block_count": 8,
        "embedding_length": 4096,
        "attention.head_count": 0,
        "attention.head_count_kv": 0,
        "feed_forward_length": 0,
        "ssm.inner_size": 8192,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 128,
        "ssm.group_count": 8,
        "ssm.conv_kernel": 4,
    },
    """
    - Q6_K output:4096x32768
    - Q4_K token_embd:4096x32768
    - F32 output_norm:4096
    0-7 F32 attn_norm:4096 ssm_conv1d:4x10240 ssm_conv1d.bias:10240 ssm_dt.bias:128 ssm_a:1x128 ssm_d!:1x128 ssm_norm:1024x8
    0-7 Q4_K ssm_in:4096x18560 ssm_out:8192x4096
    """,
)

JAMBA: Header = (
    "jamba",
    {
        "block_count": 8,
        "embedding_length": 2560,
        "attention.head_count": 20,
        "attention.head_count_kv": [0, 0, 0, 4, 0, 0, 0, 0],
        "feed_forward_length": 8960,
        "ssm.inner_size": 5120,
        "ssm.state_size": 16,
        "ssm.time_step_rank": 160,
        "ssm.conv_kernel": 4,
    },
    """
    - Q4_K token_embd:2560x65536
    - F32 output_norm:2560
    0-7 F32 attn_norm:2560 ffn_norm:2560
    0-2,4-7 Q4_K ssm_in:2560x10240 ssm_x:5120x192 ssm_out:5120x2560
    0-2,4-7 F32 ssm_conv1d:4x5120 ssm_conv1d.bias:5120 ssm_dt_norm:160 ssm_dt:160x5120 ssm_dt.bias:5120 ssm_b_norm:16 ssm_c_norm:16
    0-2,4-7 F32 ssm_d!:5120
    0-2,4-7 F16 ssm_a:16x5120
    0-7 Q4_K ffn_gate:2560x8960 ffn_down:8960x2560 ffn_up:2560x8960
    3 Q4_K attn_q:2560x2560 attn_k:2560x512 attn_v:2560x512 attn_output:2560x2560
    """,
)

GRANITE: Header = (
    "granitehybrid",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 32,
        "attention.head_count_kv": [0, 0, 0, 8, 0, 0, 0, 8],
        "feed_forward_length": 768,
        "expert_count": 32,
        "expert_used_count": 6,
        "ssm.inner_size": 4096,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 64,
        "ssm.group_count": 1,
        "ssm.conv_kernel": 4,
    },
    """
    0-2,4-6 F32 ssm_conv1d.bias:4352 ssm_conv1d:4x4352 ssm_dt.bias:64 ssm_a:1x64 ssm_d!:1x64 ssm_norm:4096x1
    - Q6_K output:2048x100352
    3,7 F32 attn_output.bias:2048
    - F32 rope_freqs:32 output_norm:2048
    3,7 Q4_K attn_output:2048x2048 attn_q:2048x2048 attn_k:2048x512 attn_v:2048x512
    - Q4_K token_embd:2048x100352
    0-7 F32 attn_norm:2048 ffn_norm:2048 ffn_gate_inp:2048x32
    0-2,4-6 Q4_K ssm_in:2048x8512 ssm_out:4096x2048
    0-7 Q4_K ffn_down_exps:768x2048x32 ffn_up_exps:2048x768x32
    """,
)

GRANITE_DENSE: Header = (
    "granitehybrid",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 32,
        "attention.head_count_kv": [0, 0, 0, 8, 0, 0, 0, 8],
        "feed_forward_length": 8192,
        "ssm.inner_size": 4096,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 64,
        "ssm.group_count": 1,
        "rope.scaling.finetuned": False,
        "residual_scale": 0.22,
        "embedding_scale": 12.0,
        "logit_scale": 8.0,
        "ssm.conv_kernel": 4,
    },
    """
    0-2,4-6 F32 ssm_conv1d.bias:4352 ssm_conv1d:4x4352 ssm_dt.bias:64 ssm_a:1x64 ssm_d!:1x64 ssm_norm:4096x1
    3,7 Q4_K attn_output:2048x2048 attn_q:2048x2048 attn_k:2048x512 attn_v:2048x512
    - Q4_K token_embd:2048x100352
    - F32 output_norm:2048
    0-7 F32 attn_norm:2048 ffn_norm:2048
    0-2,4-6 Q4_K ssm_in:2048x8512 ssm_out:4096x2048
    0-7 Q4_K ffn_gate:2048x8192 ffn_down:8192x2048 ffn_up:2048x8192
    """,
)

NEMOTRON: Header = (
    "nemotron_h",
    {
        "block_count": 8,
        "embedding_length": 4480,
        "attention.head_count": 40,
        "attention.head_count_kv": [0, 0, 0, 8, 0, 0, 0, 0],
        "feed_forward_length": [0, 15680, 0, 0, 15680, 0, 15680, 0],
        "attention.key_length": 128,
        "attention.value_length": 128,
        "ssm.inner_size": 10240,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 128,
        "ssm.group_count": 8,
        "ssm.conv_kernel": 4,
    },
    """
    0,2,5,7 F32 ssm_conv1d.bias:12288 ssm_conv1d:4x12288 ssm_dt.bias:128 ssm_a:1x128 ssm_d!:1x128 ssm_norm:1280x8
    - Q8_0 token_embd:4480x131072
    - F32 output_norm:4480
    0-7 F32 attn_norm:4480
    0,2,5,7 Q8_0 ssm_in:4480x22656
    0,2,5,7 Q4_K ssm_out:10240x4480
    1,4,6 Q8_0 ffn_down:15680x4480 ffn_up:4480x15680
    3 Q8_0 attn_q:4480x5120 attn_k:4480x1024 attn_v:4480x1024
    3 Q4_K attn_output:5120x4480
    """,
)

NEMOTRON_LATENT: Header = (
    "nemotron_h_moe",
    {
        "block_count": 9,
        "embedding_length": 1024,
        "attention.head_count": 8,
        "attention.head_count_kv": [0, 0, 0, 2, 0, 0, 0, 0, 2],
        "feed_forward_length": [0, 1344, 0, 0, 1344, 0, 1344, 0, 0],
        "nextn_predict_layers": 1,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_feed_forward_length": 512,
        "expert_shared_feed_forward_length": 1024,
        "expert_shared_count": 1,
        "moe_latent_size": 512,
        "expert_weights_norm": True,
        "expert_weights_scale": 2.5,
        "ssm.inner_size": 2048,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 32,
        "ssm.group_count": 8,
        "ssm.conv_kernel": 4,
    },
    """
    0,2,5,7 F32 ssm_conv1d.bias:4096 ssm_conv1d:4x4096 ssm_dt.bias:32 ssm_a:1x32 ssm_d!:1x32 ssm_norm:256x8
    1,4,6,8 Q4_K ffn_latent_down:1024x512 ffn_latent_up:512x1024 ffn_down_exps:512x512x16 ffn_up_exps:512x512x16
    1,4,6,8 Q4_K ffn_down_shexp:1024x1024 ffn_up_shexp:1024x1024
    - Q6_K output:1024x32000
    0-8 F32 attn_norm:1024
    3,8 Q4_K attn_q:1024x1024 attn_k:1024x256 attn_v:1024x256 attn_output:1024x1024
    8 F32 post_attention_norm:1024 nextn.enorm:1024 nextn.hnorm:1024 nextn.shared_head_norm:1024
    8 Q4_K nextn.eh_proj:2048x1024
    1,4,6,8 F32 ffn_gate_inp:1024x16 exp_probs_b.bias:16
    - Q4_K token_embd:1024x32000
    - F32 output_norm:1024
    0,2,5,7 Q4_K ssm_in:1024x6176 ssm_out:2048x1024
    """,
)

FALCON_H1: Header = (
    "falcon-h1",
    {
        "block_count": 8,
        "embedding_length": 5120,
        "attention.head_count": 32,
        "attention.head_count_kv": 4,
        "feed_forward_length": 21504,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "ssm.inner_size": 4096,
        "ssm.state_size": 256,
        "ssm.time_step_rank": 32,
        "ssm.group_count": 2,
        "ssm.conv_kernel": 4,
    },
    """
    0-7 F32 ssm_conv1d.bias:5120 ssm_norm:2048x2 ssm_conv1d:4x5120 ssm_dt.bias:32 ssm_a:1x32 ssm_d!:1x32 attn_norm:5120 ffn_norm!:5120
    - Q6_K output:5120x32000
    - Q4_K token_embd:5120x32000
    - F32 output_norm:5120
    0-7 Q4_K ssm_in:5120x9248 ssm_out:4096x5120 attn_q:5120x4096 attn_k:5120x512 attn_v:5120x512 attn_output:4096x5120
    0-7 Q4_K ffn_gate:5120x21504 ffn_down:21504x5120 ffn_up:5120x21504
    """,
)

PLAMO2: Header = (
    "plamo2",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": [0, 32, 0, 32, 0, 32, 0, 32],
        "attention.head_count_kv": [0, 4, 0, 4, 0, 4, 0, 4],
        "feed_forward_length": 8192,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "ssm.inner_size": 8192,
        "ssm.state_size": 64,
        "ssm.time_step_rank": 64,
        "ssm.group_count": 0,
        "ssm.conv_kernel": 4,
    },
    """
    1,3,5,7 Q4_K attn_output:4096x2048 attn_qkv:2048x5120
    - Q4_K token_embd:2048x100000
    - F32 output_norm:2048
    0-7 F32 attn_norm:2048 post_attention_norm!:2048 ffn_norm:2048 post_ffw_norm!:2048
    0,2,4,6 Q4_K ssm_in:2048x16384 ssm_x:8192x256 ssm_out:8192x2048
    0,2,4,6 F32 ssm_conv1d:4x8192 ssm_dt:128x64 ssm_dt.bias:64 ssm_a:64 ssm_d!:64 ssm_dt_norm!:128 ssm_b_norm!:64 ssm_c_norm!:64
    0-7 Q4_K ffn_down:8192x2048 ffn_up:2048x16384
    1,3,5,7 F32 attn_q_norm:128x32 attn_k_norm:128x4
    """,
)

LFM2: Header = (
    "lfm2",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 32,
        "attention.head_count_kv": [0, 0, 8, 0, 0, 8, 0, 8],
        "feed_forward_length": 8192,
        "shortconv.l_cache": 3,
    },
    """
    2,5,7 Q4_K attn_output:2048x2048 attn_q:2048x2048 attn_k:2048x512 attn_v:2048x512
    - Q4_K token_embd:2048x65536
    - F32 token_embd_norm:2048
    0-7 F32 ffn_norm:2048 attn_norm:2048
    0-7 Q4_K ffn_gate:2048x8192 ffn_down:8192x2048 ffn_up:2048x8192
    0-1,3-4,6 F16 shortconv.conv:3x2048
    0-1,3-4,6 Q4_K shortconv.in_proj:2048x6144 shortconv.out_proj:2048x2048
    2,5,7 F32 attn_q_norm:64 attn_k_norm:64
    """,
)

LFM2_WINDOW: Header = (
    "lfm2",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 32,
        "attention.head_count_kv": [0, 0, 8, 0, 0, 8, 0, 8],
        "feed_forward_length": 8192,
        "shortconv.l_cache": 3,
        "attention.sliding_window": 512,
    },
    """
    - Q6_K output:2048x65536
    2,5,7 Q4_K attn_output:2048x2048 attn_q:2048x2048 attn_k:2048x512 attn_v:2048x512
    - Q4_K token_embd:2048x65536
    - F32 token_embd_norm:2048
    0-7 F32 ffn_norm:2048 attn_norm:2048
    0-7 Q4_K ffn_gate:2048x8192 ffn_down:8192x2048 ffn_up:2048x8192
    0-1,3-4,6 F16 shortconv.conv:3x2048
    0-1,3-4,6 Q4_K shortconv.in_proj:2048x6144 shortconv.out_proj:2048x2048
    2,5,7 F32 attn_q_norm:64 attn_k_norm:64
    """,
)

LFM2_MOE: Header = (
    "lfm2moe",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 32,
        "attention.head_count_kv": [0, 0, 8, 0, 0, 8, 0, 8],
        "feed_forward_length": 11776,
        "expert_feed_forward_length": 1536,
        "expert_count": 64,
        "expert_used_count": 4,
        "leading_dense_block_count": 2,
        "expert_gating_func": 2,
        "shortconv.l_cache": 3,
    },
    """
    2,5,7 Q4_K attn_output:2048x2048 attn_q:2048x2048 attn_k:2048x512 attn_v:2048x512
    - Q4_K token_embd:2048x65536
    - F32 token_embd_norm:2048
    0-7 F32 ffn_norm:2048 attn_norm:2048
    0-1 Q4_K ffn_gate:2048x11776 ffn_down:11776x2048 ffn_up:2048x11776
    0-1,3-4,6 F16 shortconv.conv:3x2048
    0-1,3-4,6 Q4_K shortconv.in_proj:2048x6144 shortconv.out_proj:2048x2048
    2-7 F32 ffn_gate_inp:2048x64 exp_probs_b.bias:64
    2-7 Q4_K ffn_gate_exps:2048x1536x64 ffn_down_exps:1536x2048x64 ffn_up_exps:2048x1536x64
    2,5,7 F32 attn_q_norm:64 attn_k_norm:64
    """,
)
