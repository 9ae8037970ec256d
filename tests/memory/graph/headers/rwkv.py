"""Headers of RWKV models and of those with its mixer, six or eight blocks each."""

from __future__ import annotations

from tests.memory.graph.headers.compact import Header

RWKV6: Header = (
    "rwkv6",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 0,
        "attention.head_count_kv": 0,
        "feed_forward_length": 7168,
        "time_mix_extra_dim": 32,
        "time_decay_extra_dim": 64,
        "rescale_every_n_layers": 6,
        "wkv.head_size": 64,
    },
    """
    0-7 F32 time_mix_lerp_fused:2048x1x1x5 attn_norm:2048 attn_norm.bias:2048 attn_norm_2:2048 attn_norm_2.bias:2048
    0-7 F32 time_mix_lerp_x:2048x1x1 time_mix_first:64x32 time_mix_decay:2048 time_mix_ln:2048 time_mix_ln.bias:2048
    0-7 F32 channel_mix_lerp_k:2048x1x1 channel_mix_lerp_r:2048x1x1
    - Q4_K token_embd:2048x65536
    - F32 token_embd_norm:2048 token_embd_norm.bias:2048 output_norm:2048 output_norm.bias:2048
    - Q6_K output:2048x65536
    0-7 Q4_K time_mix_w1:2048x160 time_mix_decay_w1:2048x64 time_mix_key:2048x2048 time_mix_value:2048x2048
    0-7 Q4_K time_mix_receptance:2048x2048 time_mix_gate:2048x2048 time_mix_output:2048x2048 channel_mix_key:2048x7168
    0-7 Q4_K channel_mix_value:7168x2048 channel_mix_receptance:2048x2048
    0-7 Q8_0 time_mix_w2:32x2048x5 time_mix_decay_w2:64x2048
    """,
)

RWKV6_UNFUSED: Header = (
    "rwkv6",
    {
        "block_count": 8,
        "embedding_length": 4096,
        "attention.head_count": 0,
        "attention.head_count_kv": 0,
        "feed_forward_length": 14336,
        "time_mix_extra_dim": 64,
        "time_decay_extra_dim": 128,
        "rescale_every_n_layers": 0,
        "wkv.head_size": 64,
    },
    """
    0-7 F32 time_mix_lerp_w:4096x1x1 time_mix_lerp_k:4096x1x1 time_mix_lerp_v:4096x1x1 time_mix_lerp_r:4096x1x1 time_mix_lerp_g:4096x1x1
    0-7 F32 attn_norm:4096 attn_norm.bias:4096 attn_norm_2:4096 attn_norm_2.bias:4096 time_mix_lerp_x:4096x1x1 time_mix_first:64x64
    0-7 F32 time_mix_decay:4096 time_mix_ln:4096 time_mix_ln.bias:4096 channel_mix_lerp_k:4096x1x1 channel_mix_lerp_r:4096x1x1
    - Q4_K token_embd:4096x65536
    - F32 token_embd_norm:4096 token_embd_norm.bias:4096 output_norm:4096 output_norm.bias:4096
    - Q6_K output:4096x65536
    0-7 Q4_K time_mix_w1:4096x320 time_mix_decay_w1:4096x128 time_mix_key:4096x4096 time_mix_value:4096x4096
    0-7 Q4_K time_mix_receptance:4096x4096 time_mix_gate:4096x4096 time_mix_output:4096x4096 channel_mix_key:4096x14336
    0-7 Q4_K channel_mix_value:14336x4096 channel_mix_receptance:4096x4096
    0-7 Q8_0 time_mix_w2:64x4096x5 time_mix_decay_w2:128x4096
    """,
)

RWKV6_QWEN2: Header = (
    "rwkv6qwen2",
    {
        "block_count": 8,
        "embedding_length": 5120,
        "attention.head_count": 40,
        "attention.head_count_kv": 8,
        "feed_forward_length": 27648,
        "wkv.head_size": 128,
        "time_mix_extra_dim": 64,
        "time_decay_extra_dim": 128,
        "token_shift_count": 1,
    },
    """
    0-7 F32 time_mix_key.bias:1024 time_mix_value.bias:1024 time_mix_receptance.bias:5120 attn_norm:5120 time_mix_lerp_x:5120x1x1
    0-7 F32 time_mix_lerp_fused:5120x1x1x5 time_mix_decay:5120 ffn_norm:5120
    - Q4_K token_embd:5120x152064
    - F32 output_norm:5120
    - Q6_K output:5120x152064
    0-7 Q4_K time_mix_w1:5120x320 time_mix_decay_w1:5120x128 time_mix_key:5120x1024 time_mix_value:5120x1024
    0-7 Q4_K time_mix_receptance:5120x5120 time_mix_gate:5120x5120 time_mix_output:5120x5120 ffn_gate:5120x27648 ffn_down:27648x5120
    0-7 Q4_K ffn_up:5120x27648
    0-7 Q8_0 time_mix_w2:64x5120x5 time_mix_decay_w2:128x5120
    """,
)

RWKV7: Header = (
    "rwkv7",
    {
        "block_count": 6,
        "embedding_length": 768,
        "attention.head_count": 0,
        "attention.head_count_kv": 0,
        "feed_forward_length": 3072,
        "attention.gate_lora_rank": 128,
        "wkv.head_size": 64,
        "attention.decay_lora_rank": 64,
        "attention.iclr_lora_rank": 64,
        "attention.value_residual_mix_lora_rank": 32,
    },
    """
    - Q4_K token_embd:768x65536
    - F32 token_embd_norm:768 token_embd_norm.bias:768 output_norm:768 output_norm.bias:768
    - Q6_K output:768x65536
    0-5 F32 attn_norm:768 attn_norm.bias:768 attn_norm_2:768 attn_norm_2.bias:768 time_mix_w0:768 time_mix_a0:768 time_mix_v0:768
    0-5 F32 time_mix_lerp_fused:768x1x1x6 time_mix_k_k:768 time_mix_k_a:768 time_mix_r_k:768 time_mix_ln:768 time_mix_ln.bias:768
    0-5 F32 channel_mix_lerp_k:768x1x1
    0-5 Q4_K time_mix_w1:768x64 time_mix_a1:768x64 time_mix_g1:768x128 time_mix_key:768x768 time_mix_value:768x768
    0-5 Q4_K time_mix_receptance:768x768 time_mix_output:768x768 channel_mix_key:768x3072 channel_mix_value:3072x768
    0-5 Q8_0 time_mix_w2:64x768 time_mix_a2:64x768 time_mix_g2:128x768
    0 Q4_K time_mix_v1:768x64
    1-5 Q4_K time_mix_v1:768x32
    0 Q8_0 time_mix_v2:64x768
    1-5 Q8_0 time_mix_v2:32x768
    """,
)

ARWKV7: Header = (
    "arwkv7",
    {
        "block_count": 8,
        "embedding_length": 3584,
        "attention.head_count": 0,
        "attention.head_count_kv": 0,
        "feed_forward_length": 18944,
        "token_shift_count": 1,
        "wkv.head_size": 64,
        "attention.decay_lora_rank": 64,
        "attention.iclr_lora_rank": 64,
        "attention.value_residual_mix_lora_rank": 32,
    },
    """
    0-7 F32 time_mix_ln:3584 time_mix_ln.bias:3584 attn_norm:3584 time_mix_w0:3584 time_mix_a0:3584 time_mix_v0:3584
    0-7 F32 time_mix_lerp_fused:3584x1x1x5 time_mix_k_k:3584 time_mix_k_a:3584 time_mix_r_k:3584 ffn_norm:3584
    - Q4_K token_embd:3584x152064
    - F32 output_norm:3584
    - Q6_K output:3584x152064
    0-7 Q4_K time_mix_w1:3584x64 time_mix_a1:3584x64 time_mix_key:3584x3584 time_mix_value:3584x3584 time_mix_receptance:3584x3584
    0-7 Q4_K time_mix_output:3584x3584 ffn_gate:3584x18944 ffn_down:18944x3584 ffn_up:3584x18944
    0-7 Q8_0 time_mix_w2:64x3584 time_mix_a2:64x3584
    0 Q4_K time_mix_v1:3584x64
    1-7 Q4_K time_mix_v1:3584x32
    0 Q8_0 time_mix_v2:64x3584
    1-7 Q8_0 time_mix_v2:32x3584
    """,
)

ARWKV7_GATED: Header = (
    "arwkv7",
    {
        "block_count": 8,
        "embedding_length": 1536,
        "attention.head_count": 0,
        "attention.head_count_kv": 0,
        "feed_forward_length": 8960,
        "token_shift_count": 1,
        "attention.gate_lora_rank": 128,
        "wkv.head_size": 64,
        "attention.decay_lora_rank": 64,
        "attention.iclr_lora_rank": 64,
        "attention.value_residual_mix_lora_rank": 32,
    },
    """
    0-7 Q4_K time_mix_g1:1536x128 time_mix_w1:1536x64 time_mix_a1:1536x64 time_mix_key:1536x1536 time_mix_value:1536x1536
    0-7 Q4_K time_mix_receptance:1536x1536 time_mix_output:1536x1536 ffn_gate:1536x8960 ffn_down:8960x1536 ffn_up:1536x8960
    0-7 Q8_0 time_mix_g2:128x1536 time_mix_w2:64x1536 time_mix_a2:64x1536
    0-7 F32 time_mix_lerp_fused:1536x1x1x6 attn_norm:1536 time_mix_w0:1536 time_mix_a0:1536 time_mix_v0:1536 time_mix_k_k:1536
    0-7 F32 time_mix_k_a:1536 time_mix_r_k:1536 ffn_norm:1536
    - Q4_K token_embd:1536x151936
    - F32 output_norm:1536
    - Q6_K output:1536x151936
    0 Q4_K time_mix_v1:1536x64
    1-7 Q4_K time_mix_v1:1536x32
    0 Q8_0 time_mix_v2:64x1536
    1-7 Q8_0 time_mix_v2:32x1536
    """,
)
