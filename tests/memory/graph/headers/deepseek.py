"""Headers of models with latent attention and their kin, a few blocks each."""

from __future__ import annotations

from tests.memory.graph.headers.compact import Header

DEEPSEEK2: Header = (
    "deepseek2",
    {
        "block_count": 4,
        "context_length": 32768,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 1,
        "feed_forward_length": 2048,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_feed_forward_length": 256,
        "expert_shared_count": 1,
        "leading_dense_block_count": 1,
        "attention.key_length": 288,
        "attention.value_length": 256,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 256,
        "rope.dimension_count": 32,
        "attention.q_lora_rank": 512,
        "expert_group_count": 4,
        "expert_group_used_count": 2,
        "expert_weights_scale": 2.5,
        "expert_weights_norm": True,
        "expert_gating_func": 2,
        "attention.temperature_scale": 0.1,
        "attention.temperature_length": 8192,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    1-3 F32 exp_probs_b.bias:16 ffn_gate_inp:1024x16
    1-3 Q4_K ffn_down_exps:256x1024x16 ffn_gate_exps:1024x256x16 ffn_up_exps:1024x256x16 ffn_gate_shexp:1024x256 ffn_down_shexp:256x1024
    1-3 Q4_K ffn_up_shexp:1024x256
    - Q4_K token_embd:1024x8000
    - F32 output_norm:1024
    0-3 F32 attn_norm:1024 attn_q_a_norm:512 attn_kv_a_norm:256 ffn_norm:1024
    0-3 Q4_K attn_q_a:1024x512 attn_q_b:512x3072 attn_kv_a_mqa:1024x288 attn_v_b:256x128x16 attn_output:2048x1024
    0-3 Q8_0 attn_k_b:160x256x16
    0 Q4_K ffn_gate:1024x2048 ffn_down:2048x1024 ffn_up:1024x2048
    """,
)

DEEPSEEK2_UNCOMPRESSED: Header = (
    "deepseek2",
    {
        "block_count": 27,
        "context_length": 32768,
        "embedding_length": 1024,
        "attention.head_count": 8,
        "attention.head_count_kv": 8,
        "feed_forward_length": 2048,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_feed_forward_length": 256,
        "expert_shared_count": 1,
        "leading_dense_block_count": 1,
        "attention.key_length": 192,
        "attention.value_length": 128,
        "attention.kv_lora_rank": 256,
        "rope.dimension_count": 64,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    1-26 F32 ffn_gate_inp:1024x16
    1-26 Q4_K ffn_down_exps:256x1024x16 ffn_gate_exps:1024x256x16 ffn_up_exps:1024x256x16 ffn_gate_shexp:1024x256
    1-26 Q4_K ffn_down_shexp:256x1024 ffn_up_shexp:1024x256
    - Q4_K token_embd:1024x8000
    - F32 output_norm:1024
    0-26 F32 attn_norm:1024 attn_kv_a_norm:256 ffn_norm:1024
    0-26 Q4_K attn_q:1024x1536 attn_kv_a_mqa:1024x320 attn_kv_b:256x2048 attn_output:1024x1024
    0 Q4_K ffn_gate:1024x2048 ffn_down:2048x1024 ffn_up:1024x2048
    """,
)

MISTRAL4: Header = (
    "mistral4",
    {
        "block_count": 4,
        "context_length": 32768,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 1,
        "feed_forward_length": 2048,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_feed_forward_length": 256,
        "expert_shared_count": 1,
        "leading_dense_block_count": 0,
        "attention.key_length": 288,
        "attention.value_length": 256,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 256,
        "rope.dimension_count": 32,
        "attention.q_lora_rank": 512,
        "expert_weights_norm": True,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-3 Q4_K ffn_gate_up_exps:1024x512x16 attn_q_a:1024x512 attn_q_b:512x3072 attn_kv_a_mqa:1024x288 attn_v_b:256x128x16
    0-3 Q4_K attn_output:2048x1024 ffn_down_exps:256x1024x16 ffn_gate_shexp:1024x256 ffn_down_shexp:256x1024 ffn_up_shexp:1024x256
    - Q4_K token_embd:1024x8000
    - F32 output_norm:1024
    0-3 F32 attn_norm:1024 attn_q_a_norm:512 attn_kv_a_norm:256 ffn_norm:1024 ffn_gate_inp:1024x16
    0-3 Q8_0 attn_k_b:160x256x16
    """,
)

GLM_DSA: Header = (
    "glm-dsa",
    {
        "block_count": 6,
        "context_length": 1048576,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 1,
        "feed_forward_length": 2048,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_feed_forward_length": 256,
        "expert_shared_count": 1,
        "leading_dense_block_count": 1,
        "attention.key_length": 288,
        "attention.value_length": 256,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 256,
        "rope.dimension_count": 32,
        "attention.q_lora_rank": 512,
        "attention.indexer.head_count": 32,
        "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 512,
        "expert_weights_norm": True,
        "expert_weights_scale": 2.5,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-2 F32 indexer.k_norm:128 indexer.k_norm.bias:128
    0-2 Q4_K indexer.proj:1024x32 indexer.attn_k:1024x128 indexer.attn_q_b:512x4096
    1-5 F32 exp_probs_b.bias:16 ffn_gate_inp:1024x16
    1-5 Q4_K ffn_gate_exps:1024x256x16 ffn_down_exps:256x1024x16 ffn_up_exps:1024x256x16 ffn_gate_shexp:1024x256 ffn_down_shexp:256x1024
    1-5 Q4_K ffn_up_shexp:1024x256
    - Q4_K token_embd:1024x8000
    - F32 output_norm:1024
    0-5 F32 attn_norm:1024 attn_q_a_norm:512 attn_kv_a_norm:256 ffn_norm:1024
    0-5 Q4_K attn_q_a:1024x512 attn_q_b:512x3072 attn_kv_a_mqa:1024x288 attn_v_b:256x128x16 attn_output:2048x1024
    0-5 Q8_0 attn_k_b:160x256x16
    0 Q4_K ffn_gate:1024x2048 ffn_down:2048x1024 ffn_up:1024x2048
    """,
)

DEEPSEEK4: Header = (
    "deepseek4",
    {
        "block_count": 6,
        "context_length": 65536,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 1,
        "feed_forward_length": 2048,
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.q_lora_rank": 512,
        "attention.sliding_window": 128,
        "rope.dimension_count": 64,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_feed_forward_length": 512,
        "expert_shared_count": 1,
        "expert_weights_scale": 1.5,
        "expert_weights_norm": True,
        "expert_gating_func": 4,
        "swiglu_clamp_exp": 10.0,
        "attention.indexer.head_count": 64,
        "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 512,
        "attention.output_group_count": 4,
        "attention.output_lora_rank": 256,
        "attention.compress_rope_freq_base": 160000.0,
        "hyper_connection.count": 4,
        "hyper_connection.sinkhorn_iterations": 20,
        "hyper_connection.epsilon": 1e-06,
        "hash_layer_count": 1,
        "attention.compress_ratios": [0, 4, 128, 4, 0, 0],
        "nextn_predict_layers": 1,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-5 F32 attn_norm:1024 attn_sinks:16 attn_q_a_norm:512 attn_kv_a_norm:512 hc_attn_base:24 hc_attn_scale:3 hc_ffn_base:24
    0-5 F32 hc_ffn_scale:3 ffn_gate_inp:1024x16 ffn_norm:1024
    5 Q4_K nextn.eh_proj:2048x1024
    5 F32 nextn.enorm:1024 nextn.hnorm:1024
    1-5 F32 exp_probs_b.bias:16
    - Q4_K token_embd:1024x8000 output_hc_fn:4096x4
    - F32 output_norm:1024 output_hc_base:4 output_hc_scale:1
    - Q6_K output:1024x8000
    0-5 Q4_K attn_q_a:1024x512 attn_q_b:512x8192 attn_kv:1024x512 attn_output_a:2048x256x4 attn_output_b:1024x1024 hc_attn_fn:4096x24
    0-5 Q4_K hc_ffn_fn:4096x24 ffn_gate_exps:1024x512x16 ffn_down_exps:512x1024x16 ffn_up_exps:1024x512x16 ffn_gate_shexp:1024x512
    0-5 Q4_K ffn_down_shexp:512x1024 ffn_up_shexp:1024x512
    0 I32 ffn_gate_tid2eid:4x8000
    1,3 Q4_K attn_compressor_kv:1024x1024 attn_compressor_gate:1024x1024 attn_compressor_ape:1024x4 indexer.proj:1024x64
    1,3 Q4_K indexer.attn_q_b:512x8192 indexer_compressor_kv:1024x256 indexer_compressor_gate:1024x256 indexer_compressor_ape:256x4
    2 Q4_K attn_compressor_kv:1024x512 attn_compressor_gate:1024x512 attn_compressor_ape:512x128
    1-3 F32 attn_compressor_norm:512
    1,3 F32 indexer_compressor_norm:128
    """,
)

MINICPM3: Header = (
    "minicpm3",
    {
        "block_count": 4,
        "context_length": 32768,
        "embedding_length": 1280,
        "attention.head_count": 20,
        "attention.head_count_kv": 20,
        "feed_forward_length": 3200,
        "attention.q_lora_rank": 512,
        "attention.kv_lora_rank": 256,
        "attention.key_length": 96,
        "attention.value_length": 64,
        "rope.dimension_count": 32,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - Q4_K token_embd:1280x8000
    - F32 output_norm:1280
    0-3 F32 attn_norm:1280 attn_q_a_norm:512 attn_kv_a_norm:256 ffn_norm:1280
    0-3 Q4_K attn_q_a:1280x512 attn_q_b:512x1920 attn_kv_a_mqa:1280x288 attn_kv_b:256x2560 attn_output:1280x1280 ffn_gate:1280x3200
    0-3 Q4_K ffn_up:1280x3200
    0-3 Q8_0 ffn_down:3200x1280
    """,
)

PLM: Header = (
    "plm",
    {
        "block_count": 4,
        "context_length": 32768,
        "embedding_length": 1024,
        "attention.head_count": 8,
        "attention.head_count_kv": 8,
        "feed_forward_length": 4096,
        "attention.kv_lora_rank": 256,
        "attention.key_length": 192,
        "attention.value_length": 128,
        "rope.dimension_count": 64,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - Q4_K token_embd:1024x8000
    - F32 output_norm:1024
    0-3 F32 attn_norm:1024 attn_kv_a_norm:256 ffn_norm:1024
    0-3 Q4_K attn_q:1024x1536 attn_kv_a_mqa:1024x320 attn_kv_b:256x2048 attn_output:1024x1024 ffn_down:4096x1024 ffn_up:1024x4096
    """,
)

DEEPSEEK2_OCR: Header = (
    "deepseek2-ocr",
    {
        "block_count": 4,
        "context_length": 32768,
        "embedding_length": 1024,
        "attention.head_count": 8,
        "attention.head_count_kv": 8,
        "feed_forward_length": 2048,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_feed_forward_length": 256,
        "expert_shared_count": 1,
        "leading_dense_block_count": 1,
        "rope.dimension_count": 128,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    1-3 F32 ffn_gate_inp:1024x16
    1-3 Q4_K ffn_down_exps:256x1024x16 ffn_gate_exps:1024x256x16 ffn_up_exps:1024x256x16 ffn_gate_shexp:1024x256 ffn_down_shexp:256x1024
    1-3 Q4_K ffn_up_shexp:1024x256
    - Q4_K token_embd:1024x8000
    - F32 output_norm:1024
    0-3 Q4_K attn_q:1024x1024 attn_k:1024x1024 attn_v:1024x1024 attn_output:1024x1024
    0-3 F32 ffn_norm:1024 attn_norm:1024
    0 Q4_K ffn_down:2048x1024 ffn_up:1024x2048 ffn_gate:1024x2048
    """,
)

HUNYUAN3: Header = (
    "hy_v3",
    {
        "block_count": 4,
        "context_length": 32768,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "feed_forward_length": 2048,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_feed_forward_length": 256,
        "expert_shared_count": 1,
        "leading_dense_block_count": 1,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "rope.dimension_count": 128,
        "expert_weights_norm": True,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0 Q4_K ffn_gate:1024x2048 ffn_up:1024x2048 ffn_down:2048x1024
    1-3 F32 ffn_gate_inp:1024x16 exp_probs_b!:16
    1-3 Q4_K ffn_gate_exps:1024x256x16 ffn_up_exps:1024x256x16 ffn_down_exps:256x1024x16 ffn_gate_shexp:1024x256 ffn_up_shexp:1024x256
    1-3 Q4_K ffn_down_shexp:256x1024
    - Q4_K token_embd:1024x8000
    - F32 output_norm:1024
    0-3 F32 attn_norm:1024 attn_q_norm:128 attn_k_norm:128 ffn_norm:1024
    0-3 Q4_K attn_q:1024x2048 attn_k:1024x512 attn_v:1024x512 attn_output:2048x1024
    """,
)
