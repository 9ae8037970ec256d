"""Headers of models with windows and a draft head, four blocks and one of the head."""

from __future__ import annotations

from tests.memory.graph.headers.compact import Header

COHERE2MOE_DRAFT: Header = (
    "cohere2moe",
    {
        "block_count": 5,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 2,
        "feed_forward_length": 2048,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "nextn_predict_layers": 1,
        "attention.layer_norm_epsilon": 1e-05,
        "expert_weights_norm": True,
        "expert_feed_forward_length": 256,
        "expert_count": 16,
        "expert_used_count": 4,
        "attention.sliding_window": 1024,
        "logit_scale": 0.5,
        "leading_dense_block_count": 1,
    },
    """
    0-4 F32 attn_norm:1024
    0-4 Q4_K attn_q:1024x2048 attn_k:1024x256 attn_v:1024x256 attn_output:2048x1024
    4 Q4_K nextn.eh_proj:2048x1024 nextn.shared_head_head:1024x8000 nextn.embed_tokens:1024x8000
    4 F32 nextn.enorm:1024 nextn.hnorm:1024 nextn.shared_head_norm:1024
    1-4 F32 ffn_gate_inp:1024x16
    1-4 Q4_K ffn_gate_exps:1024x256x16 ffn_up_exps:1024x256x16 ffn_down_exps:256x1024x16
    - Q4_K token_embd:1024x8000
    - F32 output_norm:1024
    0 Q4_K ffn_gate:1024x2048 ffn_down:2048x1024 ffn_up:1024x2048
    """,
)

STEP35_DRAFT: Header = (
    "step35",
    {
        "block_count": 5,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 2,
        "feed_forward_length": 2048,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "nextn_predict_layers": 1,
        "attention.sliding_window_pattern": [False, True, True, True, True],
        "attention.sliding_window": 512,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_feed_forward_length": 256,
        "expert_weights_scale": 3.0,
        "expert_shared_feed_forward_length": 256,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-4 F32 attn_norm:1024 ffn_norm:1024 attn_q_norm:128 attn_k_norm:128
    0-4 Q4_K attn_q:1024x2048 attn_k:1024x256 attn_v:1024x256 attn_output:2048x1024 attn_gate:1024x16
    4 Q4_K nextn.eh_proj:2048x1024
    4 F32 nextn.enorm:1024 nextn.hnorm:1024
    0,4 Q4_K ffn_gate:1024x2048 ffn_up:1024x2048 ffn_down:2048x1024
    1-3 F32 ffn_gate_inp:1024x16
    1-3 Q4_K ffn_gate_exps:1024x256x16 ffn_up_exps:1024x256x16 ffn_down_exps:256x1024x16 ffn_gate_shexp:1024x256 ffn_up_shexp:1024x256
    1-3 Q4_K ffn_down_shexp:256x1024
    - Q4_K token_embd:1024x8000
    - F32 output_norm:1024
    - Q6_K output:1024x8000
    """,
)

MIMO2_DRAFT: Header = (
    "mimo2",
    {
        "block_count": 5,
        "embedding_length": 1024,
        "attention.head_count": 16,
        "attention.head_count_kv": 2,
        "feed_forward_length": 2048,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "nextn_predict_layers": 1,
        "attention.sliding_window_pattern": [False, True, True, True, True],
        "attention.sliding_window": 128,
        "expert_count": 16,
        "expert_used_count": 4,
        "expert_feed_forward_length": 256,
        "attention.value_scale": 0.707,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-4 F32 attn_norm:1024 ffn_norm:1024
    0-4 Q4_K attn_qkv:1024x2560 attn_output:2048x1024 ffn_gate:1024x2048 ffn_up:1024x2048 ffn_down:2048x1024
    4 Q4_K nextn.eh_proj:2048x1024
    4 F32 nextn.enorm:1024 nextn.hnorm:1024 layer_output_norm:1024
    1-4 F32 attn_sinks:16
    - Q4_K token_embd:1024x8000
    - F32 output_norm:1024
    - Q6_K output:1024x8000
    """,
)
