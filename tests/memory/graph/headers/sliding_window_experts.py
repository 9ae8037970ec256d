"""Headers of models with windows in some blocks and with experts."""

from __future__ import annotations

from tests.memory.graph.headers.compact import Header

GPT_OSS: Header = (
    "gpt-oss",
    {
        "block_count": 8,
        "embedding_length": 2880,
        "attention.head_count": 64,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.key_length": 64,
        "attention.value_length": 64,
        "attention.sliding_window": 128,
        "expert_count": 128,
        "expert_used_count": 4,
        "expert_feed_forward_length": 2880,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-7 Q8_0 attn_qkv:2880x5120 ffn_gate_exps:2880x2880x128 ffn_down_exps:2880x2880x128 ffn_up_exps:2880x2880x128
    - Q8_0 token_embd:2880x32000 output:2880x32000
    - F32 output_norm:2880
    0-7 F32 attn_norm:2880 post_attention_norm:2880 attn_sinks:64 ffn_gate_inp:2880x128 attn_output.bias:2880 ffn_gate_inp.bias:128
    0-7 F32 ffn_gate_exps.bias:2880x128 ffn_down_exps.bias:2880x128 ffn_up_exps.bias:2880x128
    0-7 Q4_K attn_output:4096x2880
    """,
)

GEMMA4_EXPERTS: Header = (
    "gemma4",
    {
        "block_count": 8,
        "embedding_length": 2816,
        "attention.head_count": 16,
        "attention.head_count_kv": [8, 8, 8, 8, 8, 2, 8, 2],
        "feed_forward_length": 2112,
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.key_length_swa": 256,
        "attention.value_length_swa": 256,
        "attention.sliding_window": 1024,
        "attention.sliding_window_pattern": [True, True, True, True, True, False, True, False],
        "embedding_length_per_layer_input": 0,
        "expert_count": 128,
        "expert_used_count": 8,
        "expert_feed_forward_length": 704,
        "final_logit_softcapping": 0.0,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-4,6 Q4_K attn_qkv:2816x8192 attn_output:4096x2816
    5,7 Q4_K attn_qkv:2816x10240 attn_output:8192x2816
    0-7 F32 ffn_gate_inp:2816x128 attn_norm:2816 post_attention_norm:2816 ffn_norm:2816 post_ffw_norm:2816 ffn_gate_inp.scale:2816
    0-7 F32 pre_ffw_norm_2:2816 post_ffw_norm_1:2816 post_ffw_norm_2:2816
    0-7 Q4_K ffn_gate_up_exps:2816x1408x128 ffn_gate:2816x2112 ffn_up:2816x2112
    - Q4_K token_embd:2816x32000
    - F32 output_norm:2816 rope_freqs:256
    0-4,6 F32 attn_q_norm:256 attn_k_norm:256
    5,7 F32 attn_q_norm:512 attn_k_norm:512
    0-7 Q8_0 ffn_down:2112x2816 ffn_down_exps:704x2816x128
    """,
)

LLAMA4: Header = (
    "llama4",
    {
        "block_count": 8,
        "embedding_length": 5120,
        "attention.head_count": 40,
        "attention.head_count_kv": 8,
        "feed_forward_length": 16384,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "expert_count": 128,
        "expert_used_count": 1,
        "expert_feed_forward_length": 8192,
        "interleave_moe_layer_step": 2,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    1,3,5,7 Q4_K ffn_up_shexp:5120x8192 ffn_gate_exps:5120x8192x128 ffn_down_exps:8192x5120x128 ffn_up_exps:5120x8192x128
    1,3,5,7 Q4_K ffn_gate_shexp:5120x8192 ffn_down_shexp:8192x5120
    - Q4_K token_embd:5120x202048
    - F32 output_norm:5120
    0-7 F32 attn_norm:5120 ffn_norm:5120
    0-7 Q4_K attn_q:5120x5120 attn_k:5120x1024 attn_v:5120x1024 attn_output:5120x5120
    0,2,4,6 Q4_K ffn_gate:5120x16384 ffn_down:16384x5120 ffn_up:5120x16384
    1,3,5,7 F32 ffn_gate_inp:5120x128
    """,
)

COHERE2MOE: Header = (
    "cohere2moe",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.layer_norm_epsilon": 1e-05,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "expert_weights_norm": True,
        "expert_shared_count": 1,
        "expert_shared_feed_forward_length": 1024,
        "expert_feed_forward_length": 768,
        "expert_count": 64,
        "expert_used_count": 8,
        "expert_gating_func": 2,
        "attention.sliding_window": 1024,
        "logit_scale": 0.5,
        "leading_dense_block_count": 1,
    },
    """
    1-7 F32 ffn_gate_inp:2048x64
    1-7 Q4_K ffn_down_exps:768x2048x64 ffn_gate_exps:2048x768x64 ffn_up_exps:2048x768x64 ffn_gate_shexp:2048x1024 ffn_down_shexp:1024x2048
    1-7 Q4_K ffn_up_shexp:2048x1024
    - Q4_K token_embd:2048x32000
    - F32 output_norm:2048
    0-7 F32 attn_norm:2048
    0-7 Q4_K attn_q:2048x4096 attn_k:2048x1024 attn_v:2048x1024 attn_output:4096x2048
    0 Q4_K ffn_gate:2048x14336 ffn_down:14336x2048 ffn_up:2048x14336
    """,
)

COHERE2MOE_FUSED: Header = (
    "cohere2moe",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.layer_norm_rms_epsilon": 1e-05,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "expert_feed_forward_length": 768,
        "expert_count": 64,
        "expert_used_count": 8,
        "expert_weights_scale": 2.5,
        "logit_scale": 0.0,
        "expert_gating_func": 1,
        "attention.sliding_window": 1024,
        "leading_dense_block_count": 1,
    },
    """
    1-7 Q4_K ffn_gate_up_exps:2048x1536x64 ffn_down_exps:768x2048x64
    1-7 F32 ffn_gate_inp:2048x64
    - Q4_K token_embd:2048x32000
    - F32 output_norm:2048
    0-7 F32 attn_norm:2048
    0-7 Q4_K attn_q:2048x4096 attn_k:2048x1024 attn_v:2048x1024 attn_output:4096x2048
    0 Q4_K ffn_gate:2048x14336 ffn_down:14336x2048 ffn_up:2048x14336
    """,
)

EXAONE_MOE: Header = (
    "exaone-moe",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window": 128,
        "expert_gating_func": 2,
        "leading_dense_block_count": 1,
        "expert_weights_norm": True,
        "expert_weights_scale": 2.5,
        "expert_feed_forward_length": 1024,
        "expert_count": 128,
        "expert_used_count": 8,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - F32 rope_freqs:64 output_norm:2048
    1-7 F32 ffn_gate_inp:2048x128
    1-7 Q4_K ffn_gate_exps:2048x1024x128 ffn_down_exps:1024x2048x128 ffn_up_exps:2048x1024x128 ffn_gate_shexp:2048x1024
    1-7 Q4_K ffn_down_shexp:1024x2048 ffn_up_shexp:2048x1024
    - Q4_K token_embd:2048x32000
    - Q6_K output:2048x32000
    0-7 Q4_K attn_q:2048x4096 attn_k:2048x1024 attn_v:2048x1024 attn_output:4096x2048
    0-7 F32 attn_norm:2048 attn_q_norm:128 attn_k_norm:128 ffn_norm:2048
    0 Q4_K ffn_gate:2048x14336 ffn_down:14336x2048 ffn_up:2048x14336
    """,
)

SMALLTHINKER: Header = (
    "smallthinker",
    {
        "block_count": 8,
        "embedding_length": 2560,
        "attention.head_count": 28,
        "attention.head_count_kv": 4,
        "feed_forward_length": 14336,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window": 4096,
        "expert_count": 64,
        "expert_used_count": 6,
        "expert_feed_forward_length": 768,
        "expert_gating_func": 2,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - Q4_K token_embd:2560x32000
    - F32 output_norm:2560
    0-7 F32 attn_norm:2560 ffn_norm:2560 ffn_gate_inp:2560x64
    0-7 Q4_K attn_q:2560x3584 attn_k:2560x512 attn_v:2560x512 attn_output:3584x2560 ffn_gate_exps:2560x768x64 ffn_down_exps:768x2560x64
    0-7 Q4_K ffn_up_exps:2560x768x64
    """,
)

AFMOE: Header = (
    "afmoe",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window": 2048,
        "expert_count": 128,
        "expert_used_count": 8,
        "expert_shared_count": 1,
        "leading_dense_block_count": 2,
        "expert_weights_norm": True,
        "expert_weights_scale": 2.826,
        "expert_feed_forward_length": 1024,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    2-7 F32 ffn_gate_inp:2048x128 exp_probs_b.bias:128
    2-7 Q4_K ffn_gate_exps:2048x1024x128 ffn_down_exps:1024x2048x128 ffn_up_exps:2048x1024x128 ffn_gate_shexp:2048x1024
    2-7 Q4_K ffn_down_shexp:1024x2048 ffn_up_shexp:2048x1024
    - Q4_K token_embd:2048x32000
    - F32 output_norm:2048
    0-7 F32 attn_norm:2048 post_attention_norm:2048 attn_q_norm:128 attn_k_norm:128 ffn_norm:2048 post_ffw_norm:2048
    0-7 Q4_K attn_q:2048x4096 attn_k:2048x1024 attn_v:2048x1024 attn_output:4096x2048 attn_gate:2048x4096
    0-1 Q4_K ffn_gate:2048x14336 ffn_down:14336x2048 ffn_up:2048x14336
    """,
)

MELLUM: Header = (
    "mellum",
    {
        "block_count": 8,
        "embedding_length": 2304,
        "attention.head_count": 32,
        "attention.head_count_kv": 4,
        "feed_forward_length": 14336,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window": 1024,
        "expert_count": 64,
        "expert_used_count": 8,
        "expert_feed_forward_length": 896,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - Q4_K token_embd:2304x32000
    - F32 output_norm:2304
    - Q6_K output:2304x32000
    0-7 F32 attn_norm:2304 attn_k_norm:128 attn_q_norm:128 ffn_norm:2304 ffn_gate_inp:2304x64
    0-7 Q4_K attn_q:2304x4096 attn_k:2304x512 attn_v:2304x512 attn_output:4096x2304 ffn_gate_exps:2304x896x64 ffn_up_exps:2304x896x64
    0-7 Q8_0 ffn_down_exps:896x2304x64
    """,
)

LAGUNA: Header = (
    "laguna",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": [48, 64, 64, 64, 48, 64, 64, 64],
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window": 512,
        "expert_count": 256,
        "expert_used_count": 8,
        "expert_feed_forward_length": 512,
        "expert_shared_feed_forward_length": 512,
        "expert_weights_norm": True,
        "expert_weights_scale": 2.5,
        "attention.layer_norm_rms_epsilon": 1e-05,
        "leading_dense_block_count": 1,
    },
    """
    0,4 Q4_K attn_gate:2048x48 attn_q:2048x6144 attn_output:6144x2048
    1-3,5-7 Q4_K attn_gate:2048x64 attn_q:2048x8192 attn_output:8192x2048
    1-7 F32 ffn_gate_inp:2048x256 exp_probs_b.bias:256
    1-7 Q4_K ffn_gate_exps:2048x512x256 ffn_up_exps:2048x512x256 ffn_down_exps:512x2048x256 ffn_gate_shexp:2048x512 ffn_up_shexp:2048x512
    1-7 Q4_K ffn_down_shexp:512x2048
    - Q4_K token_embd:2048x32000
    - F32 output_norm:2048
    0-7 F32 attn_norm:2048 attn_q_norm:128 attn_k_norm:128 ffn_norm:2048
    0-7 Q4_K attn_k:2048x1024 attn_v:2048x1024
    0 Q4_K ffn_gate:2048x14336 ffn_up:2048x14336 ffn_down:14336x2048
    """,
)

STEP35: Header = (
    "step35",
    {
        "block_count": 8,
        "embedding_length": 4096,
        "attention.head_count": [64, 96, 96, 96, 64, 96, 96, 96],
        "attention.head_count_kv": 8,
        "feed_forward_length": 11264,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window_pattern": [False, True, True, True, False, True, True, True],
        "attention.sliding_window": 512,
        "expert_count": 288,
        "expert_used_count": 8,
        "expert_feed_forward_length": 1280,
        "expert_shared_feed_forward_length": 1280,
        "expert_weights_norm": True,
        "expert_weights_scale": 3.0,
        "swiglu_clamp_exp": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0, 7.0],
        "swiglu_clamp_shexp": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 16.0, 0.0],
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-7 F32 attn_q_norm:128 attn_k_norm:128 attn_norm:4096 ffn_norm:4096
    0,4 Q4_K attn_gate:4096x64 attn_q:4096x8192 attn_output:8192x4096
    1-3,5-7 Q4_K attn_gate:4096x96 attn_q:4096x12288 attn_output:12288x4096
    - F32 rope_freqs:64 output_norm:4096
    0-2 Q4_K ffn_gate:4096x11264 ffn_up:4096x11264 ffn_down:11264x4096
    3-7 F32 ffn_gate_inp:4096x288 exp_probs_b.bias:288
    3-7 Q4_K ffn_gate_exps:4096x1280x288 ffn_up_exps:4096x1280x288 ffn_down_exps:1280x4096x288 ffn_gate_shexp:4096x1280
    3-7 Q4_K ffn_up_shexp:4096x1280 ffn_down_shexp:1280x4096
    - Q4_K token_embd:4096x32000
    - Q6_K output:4096x32000
    0-7 Q4_K attn_k:4096x1024 attn_v:4096x1024
    """,
)

MIMO2: Header = (
    "mimo2",
    {
        "block_count": 8,
        "embedding_length": 4096,
        "attention.head_count": 64,
        "attention.head_count_kv": [4, 8, 8, 8, 4, 8, 8, 8],
        "feed_forward_length": 16384,
        "attention.key_length": 192,
        "attention.value_length": 128,
        "attention.sliding_window_pattern": [False, True, True, True, False, True, True, True],
        "attention.sliding_window": 128,
        "expert_count": 256,
        "expert_used_count": 8,
        "expert_feed_forward_length": 2048,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    1-3,5-7 F32 attn_sinks:64
    0 Q4_K ffn_gate:4096x16384 ffn_up:4096x16384 ffn_down:16384x4096
    1-7 F32 ffn_gate_inp:4096x256 exp_probs_b.bias:256
    1-7 Q4_K ffn_gate_exps:4096x2048x256 ffn_up_exps:4096x2048x256 ffn_down_exps:2048x4096x256
    - Q4_K token_embd:4096x32000
    - F32 output_norm:4096
    - Q6_K output:4096x32000
    0-7 Q4_K attn_q:4096x12288 attn_output:8192x4096
    0,4 Q4_K attn_k:4096x768 attn_v:4096x512
    1-3,5-7 Q4_K attn_k:4096x1536 attn_v:4096x1024
    0-7 F32 attn_norm:4096 ffn_norm:4096
    """,
)

GRANITE_EXPERTS: Header = (
    "granite_swa",
    {
        "block_count": 8,
        "embedding_length": 2560,
        "attention.head_count": 40,
        "attention.head_count_kv": 8,
        "feed_forward_length": 512,
        "attention.key_length": 64,
        "attention.value_length": 64,
        "attention.sliding_window": 1024,
        "attention.sliding_window_pattern": [True, True, True, False, True, True, True, False],
        "logit_scale": 10.0,
        "expert_count": 40,
        "expert_used_count": 8,
        "expert_shared_feed_forward_length": 1024,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-7 F32 attn_output.bias:2560 attn_norm:2560 attn_sinks:40 ffn_norm:2560 ffn_gate_inp:2560x40
    - F32 rope_freqs:32 output_norm:2560
    - Q4_K token_embd:2560x32000
    0-7 Q4_K attn_q:2560x2560 attn_k:2560x512 attn_v:2560x512 attn_output:2560x2560 ffn_down_exps:512x2560x40 ffn_gate_exps:2560x512x40
    0-7 Q4_K ffn_up_exps:2560x512x40 ffn_up_shexp:2560x2048 ffn_down_shexp:1024x2560
    """,
)

MAPLE: Header = (
    "maple",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window_pattern": [True, True, True, False, True, True, True, False],
        "attention.sliding_window": 512,
        "expert_count": 64,
        "expert_used_count": 4,
        "expert_feed_forward_length": 1024,
        "attention.layer_norm_rms_epsilon": 1e-05,
        "swiglu_clamp_exp": 7.0,
    },
    """
    - Q4_K token_embd:2048x32000
    - F32 output_norm:2048
    - Q6_K output:2048x32000
    0-7 F32 attn_norm:2048 attn_q_norm:128 attn_k_norm:128 ffn_norm:2048 ffn_gate_inp:2048x64
    0-7 Q4_K attn_q:2048x4096 attn_k:2048x1024 attn_v:2048x1024 attn_output:4096x2048 ffn_gate_exps:2048x1024x64
    0-7 Q4_K ffn_down_exps:1024x2048x64 ffn_up_exps:2048x1024x64
    """,
)
