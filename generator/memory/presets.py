"""Flags that stand for a whole command line: each names a model and sets what llama.cpp sets for it (common/arg.cpp, at the end).

Only what sizes memory is kept. `spec_type` is added to what the command line asks for; everything else replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping

_FILL_IN = {"n_ubatch": 1024, "n_batch": 1024, "n_ctx": 0}
_CODER_7B = {"hf_repo": "ggml-org/Qwen2.5-Coder-7B-Q8_0-GGUF", "hf_file": "qwen2.5-coder-7b-q8_0.gguf"}
_GPT_OSS = {"n_ubatch": 2048, "n_batch": 32768, "n_parallel": 2, "n_ctx": 262144}

PRESETS: Mapping[str, dict[str, object]] = {
    "--embd-gemma-default": {
        "hf_repo": "ggml-org/embeddinggemma-300M-qat-q4_0-GGUF",
        "hf_file": "embeddinggemma-300M-qat-Q4_0.gguf",
        "n_ubatch": 2048,
        "n_batch": 2048,
        "n_parallel": 32,
        "n_ctx": 65536,
        "embedding": True,
    },
    "--fim-qwen-1.5b-default": {
        "hf_repo": "ggml-org/Qwen2.5-Coder-1.5B-Q8_0-GGUF",
        "hf_file": "qwen2.5-coder-1.5b-q8_0.gguf",
        **_FILL_IN,
    },
    "--fim-qwen-3b-default": {
        "hf_repo": "ggml-org/Qwen2.5-Coder-3B-Q8_0-GGUF",
        "hf_file": "qwen2.5-coder-3b-q8_0.gguf",
        **_FILL_IN,
    },
    "--fim-qwen-7b-default": {**_CODER_7B, **_FILL_IN},
    "--fim-qwen-7b-spec": {**_CODER_7B, "hf_repo_draft": "ggml-org/Qwen2.5-Coder-0.5B-Q8_0-GGUF", **_FILL_IN},
    "--fim-qwen-14b-spec": {
        "hf_repo": "ggml-org/Qwen2.5-Coder-14B-Q8_0-GGUF",
        "hf_file": "qwen2.5-coder-14b-q8_0.gguf",
        "hf_repo_draft": "ggml-org/Qwen2.5-Coder-0.5B-Q8_0-GGUF",
        **_FILL_IN,
    },
    "--fim-qwen-30b-default": {
        "hf_repo": "ggml-org/Qwen3-Coder-30B-A3B-Instruct-Q8_0-GGUF",
        "hf_file": "qwen3-coder-30b-a3b-instruct-q8_0.gguf",
        **_FILL_IN,
    },
    "--gpt-oss-20b-default": {"hf_repo": "ggml-org/gpt-oss-20b-GGUF", "hf_file": "gpt-oss-20b-mxfp4.gguf", **_GPT_OSS},
    "--gpt-oss-120b-default": {"hf_repo": "ggml-org/gpt-oss-120b-GGUF", **_GPT_OSS},
    "--vision-gemma-4b-default": {"hf_repo": "ggml-org/gemma-3-4b-it-qat-GGUF", "n_ctx": 0},
    "--vision-gemma-12b-default": {"hf_repo": "ggml-org/gemma-3-12b-it-qat-GGUF", "n_ctx": 0},
    "--spec-default": {"spec_type": ("ngram-mod",), "spec_ngram_mod_n_max": 64},
    "--rerank": {"embedding": True, "pooling": "rank"},
}
