"""The elements of a recurrent block's fixed state, from the header.

Source: llama.cpp src/llama-hparams.cpp, `n_embd_r` and `n_embd_s`; src/llama-kv-cache-dsv4.cpp, `llama_dsv4_comp_state`.
"""

from __future__ import annotations

from generator.errors import InputError
from generator.memory.layers import RecurrentState
from generator.memory.model import Model
from generator.memory.rows import head_length
from generator.quantity import ONE, Quantity

NOTHING = Quantity.constant(0, ONE)
_ONE = Quantity.constant(1, ONE)

ROLLING_BACK = frozenset(
    {
        *("bailingmoe3", "deepseek4", "glm5-next", "kimi-k3", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe"),
        *("qwen35", "qwen35moe", "qwen4exp"),
    }
)
"""Architectures whose state can be taken back after a rejected draft (src/llama-arch.cpp, `llm_arch_supports_rs_rollback`)."""


def state_of(model: Model, blocks: tuple[int, ...]) -> tuple[RecurrentState, ...]:
    """Give the state that each of `blocks` keeps; nothing for no blocks."""
    if not blocks:
        return ()
    if model.has("wkv.head_size"):
        return (_wkv(model, blocks),)
    if model.has("shortconv.l_cache"):
        return (_short_convolution(model, blocks),)
    if model.has("kda.head_dim"):
        return (_delta_attention(model, blocks),)
    if not model.has("ssm.conv_kernel"):
        return (_lightning(model, blocks),)
    return (_selective(model, blocks),)


def _wkv(model: Model, blocks: tuple[int, ...]) -> RecurrentState:
    """RWKV: the shifted tokens, and a matrix a head."""
    width = model.number("embedding_length")
    return RecurrentState(blocks, r=model.number("token_shift_count", 2) * width, s=width * model.number("wkv.head_size"))


def _short_convolution(model: Model, blocks: tuple[int, ...]) -> RecurrentState:
    """LFM2: the inputs of a short convolution, and nothing else."""
    return RecurrentState(blocks, r=model.number("embedding_length") * (model.number("shortconv.l_cache") - _ONE), s=NOTHING)


def _delta_attention(model: Model, blocks: tuple[int, ...]) -> RecurrentState:
    """KDA: convolutions of Q, K and V, and a square matrix a head."""
    head, heads = model.number("kda.head_dim"), model.per_block("attention.head_count", 0)
    kernel = model.number("ssm.conv_kernel", 4)
    return RecurrentState(blocks, r=(kernel - _ONE) * heads * head * 3, s=head * head * heads)


def _lightning(model: Model, blocks: tuple[int, ...]) -> RecurrentState:
    """Lightning attention: a square matrix a head, and no convolution."""
    head = head_length(model, "key")
    return RecurrentState(blocks, r=NOTHING, s=head * head * model.per_block("attention.head_count", 0))


def _selective(model: Model, blocks: tuple[int, ...]) -> RecurrentState:
    """Mamba and gated delta net share the formula; Mamba-1 states no groups."""
    conv = model.number("ssm.conv_kernel")
    inner = model.number("ssm.inner_size")
    state = model.number("ssm.state_size")
    groups = model.number("ssm.group_count", 0)
    return RecurrentState(blocks, r=(conv - _ONE) * (inner + groups * state * 2), s=state * inner)


def looked_up_blocks(model: Model) -> tuple[int, ...]:
    """Give the blocks that look up n-grams of tokens (`ple.layers`). Raises InputError for one that the model does not have."""
    listed = model.raw("ple.layers") if model.has("ple.layers") else ()
    blocks = tuple(block for block in listed if isinstance(block, int)) if isinstance(listed, list | tuple) else ()
    count = int(model.block_count)
    if beyond := [block for block in blocks if not 0 <= block < count]:
        raise InputError(
            f"'{model.architecture}.ple.layers' names block {beyond[0]}, and the header states {count} blocks",
            remedy="the engine loads no such file",
        )
    return blocks


def dilated_convolution(model: Model, block: int) -> RecurrentState:
    """The inputs of the convolution after looked-up n-grams, which skips tokens (src/llama-hparams.cpp, `ple_conv_state`)."""
    steps = (model.number("ple.conv_kernel") - _ONE) * model.number("ple.ngram_size")
    return RecurrentState((block,), r=steps * model.number("hyper_connection.count") * model.number("embedding_length"), s=NOTHING)


def compressor_state(blocks: tuple[int, ...], rows: int, width: Quantity) -> RecurrentState:
    """Give the state of a compressor: as many elements of K as of scores, `rows` of `width` each."""
    each = width * Quantity.constant(rows, ONE, "rows of a compressor's state")
    return RecurrentState(blocks, r=each, s=each)
