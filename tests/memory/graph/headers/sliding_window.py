"""Headers of models with windows in some blocks, without experts."""

from __future__ import annotations

from tests.memory.graph.headers.compact import Header

GEMMA2: Header = (
    "gemma2",
    {
        "block_count": 6,
        "embedding_length": 2304,
        "attention.head_count": 8,
        "attention.head_count_kv": 4,
        "feed_forward_length": 9216,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "attention.sliding_window": 4096,
        "final_logit_softcapping": 30.0,
        "attn_logit_softcapping": 50.0,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - Q4_K token_embd:2304x256000
    - F32 output_norm:2304
    0-5 F32 attn_norm:2304 post_attention_norm:2304 ffn_norm:2304 post_ffw_norm:2304
    0-5 Q4_K attn_q:2304x2048 attn_k:2304x1024 attn_v:2304x1024 attn_output:2048x2304 ffn_gate:2304x9216 ffn_up:2304x9216
    0-5 Q4_K ffn_down:9216x2304
    """,
)

GEMMA3: Header = (
    "gemma3",
    {
        "block_count": 8,
        "embedding_length": 2560,
        "attention.head_count": 8,
        "attention.head_count_kv": 4,
        "feed_forward_length": 10240,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "final_logit_softcapping": 30.0,
        "attention.sliding_window": 1024,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - Q4_K token_embd:2560x262144
    - F32 output_norm:2560
    0-7 F32 attn_norm:2560 post_attention_norm:2560 attn_k_norm:256 attn_q_norm:256 ffn_norm:2560 post_ffw_norm:2560
    0-7 Q4_K attn_q:2560x2048 attn_k:2560x1024 attn_v:2560x1024 attn_output:2048x2560 ffn_gate:2560x10240 ffn_up:2560x10240
    0-7 Q4_K ffn_down:10240x2560
    """,
)

GEMMA3N: Header = (
    "gemma3n",
    {
        "block_count": 30,
        "embedding_length": 2048,
        "attention.head_count": 8,
        "attention.head_count_kv": 2,
        "feed_forward_length": 8192,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "attention.sliding_window": 512,
        "final_logit_softcapping": 30.0,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-29 Q4_K attn_qkv:2048x3072 attn_output:2048x2048 ffn_gate:2048x8192 ffn_up:2048x8192 ffn_down:8192x2048 inp_gate:2048x256
    0-29 Q4_K proj:256x2048 altup_router:2048x4 laurel_l:2048x64
    - Q4_K token_embd:2048x32000 altup_proj:2048x2048x3 altup_unembd_proj:2048x2048x3 per_layer_token_embd:7680x32000
    - Q4_K per_layer_model_proj:2048x7680
    - F32 per_layer_proj_norm:256 output_norm:2048
    0-29 F32 attn_norm:2048 attn_q_norm:256 attn_k_norm:256 post_attention_norm:2048 ffn_norm:2048 post_ffw_norm:2048 post_norm:2048
    0-29 F32 altup_correct_scale:2048 altup_router_norm:2048 laurel_post_norm:2048
    0-29 F16 altup_correct_coef:4x4 altup_predict_coef:4x16
    0-29 Q8_0 laurel_r:64x2048
    """,
)

GEMMA4_SHARED: Header = (
    "gemma4",
    {
        "block_count": 8,
        "embedding_length": 1536,
        "attention.head_count": 8,
        "attention.head_count_kv": 1,
        "feed_forward_length": [6144, 6144, 6144, 6144, 6144, 12288, 12288, 12288],
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.key_length_swa": 256,
        "attention.value_length_swa": 256,
        "attention.sliding_window": 512,
        "attention.sliding_window_pattern": [True, True, True, True, False, True, True, False],
        "attention.shared_kv_layers": 3,
        "embedding_length_per_layer_input": 256,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-7 F32 layer_output_scale:1 attn_norm:1536 post_attention_norm:1536 ffn_norm:1536 post_ffw_norm:1536 post_norm:1536
    0-3,5-6 Q4_K attn_v:1536x256 attn_q:1536x2048 attn_k:1536x256 attn_output:2048x1536
    4,7 Q4_K attn_v:1536x512 attn_q:1536x4096 attn_k:1536x512 attn_output:4096x1536
    - Q4_K token_embd:1536x32000 per_layer_token_embd:2048x32000 per_layer_model_proj:1536x2048
    - F32 per_layer_proj_norm:256 output_norm:1536 rope_freqs:256
    0-3,5-6 F32 attn_q_norm:256 attn_k_norm:256
    4,7 F32 attn_q_norm:512 attn_k_norm:512
    0-4 Q4_K ffn_gate:1536x6144 ffn_up:1536x6144 ffn_down:6144x1536
    5-7 Q4_K ffn_gate:1536x12288 ffn_up:1536x12288 ffn_down:12288x1536
    0-7 Q4_K inp_gate:1536x256 proj:256x1536
    """,
)

GEMMA4: Header = (
    "gemma4",
    {
        "block_count": 8,
        "embedding_length": 2816,
        "attention.head_count": 16,
        "attention.head_count_kv": [8, 8, 8, 8, 8, 2, 8, 2],
        "feed_forward_length": 8192,
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.key_length_swa": 256,
        "attention.value_length_swa": 256,
        "attention.sliding_window": 1024,
        "attention.sliding_window_pattern": [True, True, True, True, True, False, True, False],
        "embedding_length_per_layer_input": 0,
        "final_logit_softcapping": 30.0,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-4,6 Q4_K attn_v:2816x2048 attn_q:2816x4096 attn_k:2816x2048 attn_output:4096x2816
    - Q4_K token_embd:2816x32000
    - F32 output_norm:2816 rope_freqs:256
    0-7 F32 attn_norm:2816 post_attention_norm:2816 ffn_norm:2816 post_ffw_norm:2816
    5,7 Q4_K attn_q:2816x8192 attn_k:2816x1024 attn_output:8192x2816
    0-4,6 F32 attn_q_norm:256 attn_k_norm:256
    5,7 F32 attn_q_norm:512 attn_k_norm:512
    0-7 Q4_K ffn_gate:2816x8192 ffn_up:2816x8192 ffn_down:8192x2816
    """,
)

COHERE2: Header = (
    "cohere2",
    {
        "block_count": 8,
        "embedding_length": 4096,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.sliding_window": 4096,
        "logit_scale": 0.5,
        "attention.layer_norm_epsilon": 1e-05,
    },
    """
    - Q4_K token_embd:4096x256000
    - F32 output_norm:4096
    0-7 F32 attn_norm:4096
    0-7 Q4_K attn_q:4096x4096 attn_k:4096x1024 attn_v:4096x1024 attn_output:4096x4096 ffn_gate:4096x14336 ffn_down:14336x4096
    0-7 Q4_K ffn_up:4096x14336
    """,
)

OLMO2: Header = (
    "olmo2",
    {
        "block_count": 8,
        "embedding_length": 4096,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.sliding_window": 4096,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0-7 Q4_K attn_qkv:4096x6144 attn_output:4096x4096 ffn_gate:4096x14336 ffn_up:4096x14336 ffn_down:14336x4096
    - Q4_K token_embd:4096x32000
    - F32 output_norm:4096
    - Q6_K output:4096x32000
    0-7 F32 attn_q_norm:4096 attn_k_norm:1024 post_attention_norm:4096 post_ffw_norm:4096
    """,
)

EXAONE4: Header = (
    "exaone4",
    {
        "block_count": 64,
        "embedding_length": 5120,
        "attention.head_count": 40,
        "attention.head_count_kv": 8,
        "feed_forward_length": 27392,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window": 4096,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - F32 rope_freqs:64 output_norm:5120
    - Q4_K token_embd:5120x102400
    0-63 Q4_K attn_q:5120x5120 attn_k:5120x1024 attn_v:5120x1024 attn_output:5120x5120 ffn_gate:5120x27392 ffn_down:27392x5120
    0-63 Q4_K ffn_up:5120x27392
    0-63 F32 post_attention_norm:5120 attn_q_norm:128 attn_k_norm:128 post_ffw_norm:5120
    """,
)

PLAMO3: Header = (
    "plamo3",
    {
        "block_count": 16,
        "embedding_length": 4096,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.sliding_window": 2048,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - Q4_K token_embd:4096x32000
    - F32 output_norm:4096
    0-15 F32 attn_norm:4096 attn_q_norm:128 attn_k_norm:128 post_attention_norm:4096 ffn_norm:4096 post_ffw_norm:4096
    0-15 Q4_K attn_qkv:4096x6144 attn_output:4096x4096 ffn_up:4096x28672 ffn_down:14336x4096
    """,
)

MIMO2_DENSE: Header = (
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
        "expert_count": 64,
        "expert_used_count": 8,
        "expert_feed_forward_length": 2048,
        "attention.value_scale": 0.707,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    0,4 Q4_K attn_qkv:4096x13568
    1-3,5-7 Q4_K attn_qkv:4096x14848
    0-7 Q4_K ffn_gate:4096x16384 ffn_up:4096x16384 ffn_down:16384x4096 attn_output:8192x4096
    - Q4_K token_embd:4096x32000
    - F32 output_norm:4096
    - Q6_K output:4096x32000
    0-7 F32 attn_norm:4096 ffn_norm:4096
    """,
)

GRANITE_IMAGE: Header = (
    "granite_swa",
    {
        "block_count": 8,
        "embedding_length": 2560,
        "attention.head_count": 40,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.key_length": 64,
        "attention.value_length": 64,
        "attention.sliding_window": 1024,
        "attention.sliding_window_pattern": [True, True, True, False, True, True, True, False],
        "logit_scale": 10.0,
        "embedding_scale": 12.0,
        "deepstack_mapping": [0, -1, 1, -1, 2, -1, -1, -1],
        "rope.scaling.type": "longrope",
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - F32 rope_factors_long:32 rope_factors_short:32 output_norm:2560
    0-7 F32 attn_q.bias:2560 attn_k.bias:512 attn_v.bias:512 attn_norm:2560 attn_sinks:40 ffn_norm:2560
    - Q4_K token_embd:2560x32000
    0-7 Q4_K attn_q:2560x2560 attn_k:2560x512 attn_v:2560x512 attn_output:2560x2560 ffn_gate:2560x14336 ffn_down:14336x2560
    0-7 Q4_K ffn_up:2560x14336
    """,
)

MUSE_GLIMMER: Header = (
    "muse-glimmer",
    {
        "block_count": 8,
        "embedding_length": 4096,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window": 1024,
        "final_logit_softcapping": 30.0,
        "attention.layer_norm_rms_epsilon": 1e-05,
        "logit_scale": 0.5,
    },
    """
    - Q4_K token_embd:4096x32000
    - F32 output_norm:4096
    - Q6_K output:4096x32000
    0-7 F32 attn_norm:4096 post_attention_norm:4096 attn_q_norm:128 attn_k_norm:128 ffn_norm:4096 post_ffw_norm:4096
    0-7 Q4_K attn_q:4096x4096 attn_k:4096x1024 attn_v:4096x1024 attn_output:4096x4096 attn_gate:4096x4096 ffn_gate:4096x14336
    0-7 Q4_K ffn_down:14336x4096 ffn_up:4096x14336
    """,
)

SPARK2_5: Header = (
    "spark2_5",
    {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 16,
        "attention.head_count_kv": 8,
        "feed_forward_length": 14336,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window_pattern": [True, True, True, False, True, True, True, False],
        "attention.sliding_window": 512,
        "attention.layer_norm_rms_epsilon": 1e-05,
    },
    """
    - Q4_K token_embd:2048x32000
    - F32 output_norm:2048
    0-7 F32 attn_norm:2048 ffn_norm:2048
    0-7 Q4_K attn_q:2048x2048 attn_k:2048x1024 attn_v:2048x1024 attn_gate:2048x16 attn_output:2048x2048 ffn_gate:2048x14336
    0-7 Q4_K ffn_up:2048x14336 ffn_down:14336x2048
    """,
)
