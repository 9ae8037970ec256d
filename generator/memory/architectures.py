"""What each block of a model keeps, by architecture: which blocks cache, which keep a state, which have rules of their own.

Everything that the header states is read from it; an architecture's name decides only what the engine decides by it. Sources:
llama.cpp src/llama-model.cpp (`create_memory`), src/models/<name>.cpp (`load_arch_hparams`) and src/llama-hparams.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from generator.errors import InputError, UnsupportedArchitecture
from generator.memory import windows
from generator.memory.builds import Build, Builds
from generator.memory.layers import Cache, Choice, Layers
from generator.memory.model import Model
from generator.memory.rows import head_length, is_latent, kv_heads, row_elements
from generator.memory.states import ROLLING_BACK, compressor_state, dilated_convolution, looked_up_blocks, state_of
from generator.quantity import ONE, Quantity, Value, largest

DRAFT_BLOCKS_CACHED = Builds(since="b10603", until="v0.5.0")
"""Builds whose contexts, the normal one and a draft head's, each cache for every block (src/llama-model.cpp, `create_memory`).

Later ones leave out what a context never reads; so do earlier ones, which could not run a glm4moe's head at all (#26534 taught them),
and hybrids and indexed caches at any build.
"""


def layers_of(model: Model, build: str | None = None) -> Layers:
    """Give what each block keeps, at a build (the newest where none is named). Raises UnsupportedArchitecture."""
    rule = ARCHITECTURES.get(model.architecture)
    if rule is None:
        raise UnsupportedArchitecture(model.architecture, ARCHITECTURES)
    return rule(model, Build.named(build))


# --- which blocks ----------------------------------------------------------------------------------


def _every(count: Quantity) -> Choice:
    return Choice.of((count,), "every loaded block", lambda values: tuple(range(_whole(values[0]))))


def _with_heads(model: Model, count: int) -> Choice:
    """Blocks without K and V heads cache nothing: in hybrids they are the recurrent ones."""
    heads = [kv_heads(model, block) for block in range(count)]
    words = "loaded blocks with K and V heads"
    return Choice.of(heads, words, lambda values: tuple(block for block, heads in enumerate(values) if heads))


def _before(count: Quantity, end: Quantity) -> Choice:
    words = "loaded blocks that do not share the cache of an earlier one"
    return Choice.of((count, end), words, lambda values: tuple(range(min(map(_whole, values)))))


def _at_intervals(model: Model, default: int) -> Choice:
    interval = model.number("full_attention_interval", default)
    if not int(interval):
        raise InputError(f"'{model.architecture}.full_attention_interval' is 0", remedy="the header was written wrongly: take another file")
    inputs = (model.loaded_blocks, interval)
    words = "loaded blocks i with (i + 1) divisible by full_attention_interval"
    return Choice.of(inputs, words, lambda values: _each(_whole(values[0]), _whole(values[1])))


def _listed(model: Model) -> Choice:
    inputs = tuple(model.per_block("attention.recurrent_layers", block) for block in range(int(model.loaded_blocks)))
    words = "loaded blocks that attention.recurrent_layers does not mark"
    return Choice.of(inputs, words, lambda values: tuple(block for block, recurrent in enumerate(values) if not recurrent))


def _each(count: int, interval: int) -> tuple[int, ...]:
    return tuple(block for block in range(count) if (block + 1) % interval == 0)


def _none(count: Quantity) -> Choice:
    return Choice.of((count,), "no block", lambda _: ())


def _whole(value: Value) -> int:
    assert isinstance(value, int)
    return value


# --- caches ----------------------------------------------------------------------------------------


def _caches(model: Model, blocks: Iterable[int]) -> tuple[Cache, ...]:
    """Give the cache of some blocks; two where some of them have a sliding window (src/llama-kv-cache-iswa.cpp)."""
    windowed = windows.windowed_blocks(model)
    owners = list(blocks)
    full = [block for block in owners if block not in windowed]
    short = [block for block in owners if block in windowed]
    parts = [(full, None), (short, windows.window_of(model))]
    return tuple(_cache(model, part, window) for part, window in parts if part)


def _cache(model: Model, blocks: Sequence[int], window: Quantity | None) -> Cache:
    """Give one cache with rows as the header has them; a latent one has no V (src/llama-kv-cache.cpp)."""
    keys = {block: row_elements(model, block, "key", windowed=window is not None) for block in blocks}
    if is_latent(model):
        return Cache(keys, None, window=window)
    values = {block: row_elements(model, block, "value", windowed=window is not None) for block in blocks}
    return Cache(keys, values, _widest_value(model), window)


def _widest_value(model: Model) -> Quantity:
    """Give the widest V row of all blocks (src/llama-hparams.cpp, `n_embd_v_gqa_max`)."""
    windowed = windows.windowed_blocks(model)
    return largest(row_elements(model, block, "value", windowed=block in windowed) for block in range(int(model.block_count)))


def _draft_blocks(model: Model) -> range:
    return range(int(model.loaded_blocks), int(model.block_count))


# --- architectures ---------------------------------------------------------------------------------


def _layers(model: Model, attention: Choice, recurrent: Iterable[int] = ()) -> Layers:
    states = state_of(model, tuple(recurrent))
    draft = _caches(model, [block for block in _draft_blocks(model) if int(kv_heads(model, block))])
    return Layers(attention, _caches(model, attention.blocks), states, draft, model.architecture in ROLLING_BACK)


def attention(model: Model, build: Build) -> Layers:
    """Every block caches K and V, but for those that share the cache of an earlier block."""
    whole = build in DRAFT_BLOCKS_CACHED
    count, end = model.block_count if whole else model.loaded_blocks, windows.shared_from(model)
    chosen = _every(count) if end is None else _before(count, end)
    drafting = chosen.blocks if whole and int(model.draft_blocks) else _draft_blocks(model)
    return Layers(chosen, _caches(model, chosen.blocks), draft=_caches(model, drafting))


def gated_delta_net(model: Model, _: Build) -> Layers:
    """Every `full_attention_interval`-th block caches K and V, the others keep a gated delta net state.

    A header may list the blocks of the second kind instead. Source: src/models/qwen35moe.cpp, qwen35.cpp and qwen3next.cpp
    (the default interval is 4; blocks of a draft head are attention only).
    """
    return _intervals(model, 4)


def picking_delta_net(model: Model, _: Build) -> Layers:
    """The same with an indexer beside each cached block; a block that looks up n-grams has one more state (src/models/qwen4exp.cpp)."""
    plain = _intervals(model, 4)
    indexer = Cache(dict.fromkeys(plain.attention.blocks, model.number("attention.indexer.key_length")), None, picks_tokens=True)
    states = plain.states + tuple(dilated_convolution(model, block) for block in looked_up_blocks(model))
    return replace(plain, caches=(*plain.caches, indexer), states=states)


def lightning(model: Model, _: Build) -> Layers:
    """The same with states of lightning attention (src/models/minimax-01.cpp: the default interval is 8)."""
    return _intervals(model, 8)


def _intervals(model: Model, default: int) -> Layers:
    chosen = _listed(model) if model.has("attention.recurrent_layers") else _at_intervals(model, default)
    return _layers(model, chosen, _others(model, chosen))


def by_heads(model: Model, _: Build) -> Layers:
    """Blocks without K and V heads keep a state, the others cache (src/models/jamba.cpp, granite-hybrid.cpp, lfm2.cpp, kimi-linear.cpp).

    The filter does not leave out a draft head's blocks (src/llama-memory-hybrid.cpp).
    """
    chosen = _with_heads(model, int(model.block_count))
    return _layers(model, chosen, _others(model, chosen))


def picking_by_heads(model: Model, _: Build) -> Layers:
    """The same with an indexer beside each cached block that is marked: its row has a key, a gate and the key of a pool.

    Blocks of a draft head are left out (src/models/glm5-next.cpp; src/llama-memory-hybrid-idx.cpp).
    """
    chosen = _with_heads(model, int(model.loaded_blocks))
    plain = _layers(model, chosen, _others(model, chosen))
    row = model.number("attention.indexer.key_length") * Quantity.constant(3, ONE, "a key, a gate and the key of a pool")
    indexer = Cache(dict.fromkeys(_picking(model, chosen.blocks), row), None, picks_tokens=True)
    return replace(plain, caches=(*plain.caches, indexer))


def by_heads_and_width(model: Model, _: Build) -> Layers:
    """Of the blocks without K and V heads those with a feed-forward width are no recurrent ones (src/models/nemotron-h.cpp)."""
    chosen = _with_heads(model, int(model.block_count))
    return _layers(model, chosen, [block for block in _others(model, chosen) if not int(model.per_block("feed_forward_length", block))])


def both(model: Model, _: Build) -> Layers:
    """Every block caches and keeps a state (src/models/falcon-h1.cpp)."""
    return _layers(model, _every(model.loaded_blocks), range(int(model.loaded_blocks)))


def recurrent(model: Model, _: Build) -> Layers:
    """Every block keeps a state and none caches (src/llama-arch.cpp, `llm_arch_is_recurrent`)."""
    states = state_of(model, tuple(range(int(model.loaded_blocks))))
    return Layers(_none(model.loaded_blocks), (), states, rolls_back=model.architecture in ROLLING_BACK)


def _others(model: Model, chosen: Choice) -> list[int]:
    caching = set(chosen.blocks)
    return [block for block in range(int(model.loaded_blocks)) if block not in caching]


def indexed(model: Model, _: Build) -> Layers:
    """A latent cache, and one K row more a block for the indexer that picks tokens (src/llama-kv-cache-dsa.cpp)."""
    chosen = _every(model.loaded_blocks)
    indexer = Cache(dict.fromkeys(_picking(model, chosen.blocks), model.number("attention.indexer.key_length")), None, picks_tokens=True)
    return Layers(chosen, (*_caches(model, chosen.blocks), indexer), draft=_caches(model, _draft_blocks(model)))


SHARING_CONTEXT = 1048576
"""Trained context from which on GLM 5 shares indexers where the header does not list them: those of 5.2."""


def _picking(model: Model, blocks: Iterable[int]) -> list[int]:
    """Give those of some blocks that have an indexer of their own: those the header lists, else all.

    Of GLM 5.2 those are the first three and every fourth after them; DeepSeek V3.2's are all.
    Source: src/models/glm-dsa.cpp (`GLM_5_2_DEFAULT_INDEXER_TYPES`).
    """
    if model.architecture != "deepseek32" and model.has("attention.indexer.types"):
        return [block for block in blocks if int(model.per_block("attention.indexer.types", block))]
    shared = model.architecture == "glm-dsa" and int(model.number("context_length", 0)) >= SHARING_CONTEXT
    return [block for block in blocks if not shared or block < 2 or block % 4 == 2]


FINE, COARSE = 4, 128
"""Tokens a cell of deepseek4's compressed caches (src/llama-kv-cache-dsv4.cpp, DSV4_CSA_RATIO and DSV4_HCA_RATIO)."""


def compressed(model: Model, _: Build) -> Layers:
    """K only, a stream a sequence: a window on every block, and rows that stand for several tokens (src/llama-kv-cache-dsv4.cpp).

    Blocks of the fine ratio have an indexer beside; each compressor keeps a state. A draft head caches V as well, and does not read it.
    """
    chosen = _every(model.block_count)
    ratios = [int(model.per_block("attention.compress_ratios", block)) for block in chosen.blocks]
    fine, coarse = (tuple(block for block, ratio in enumerate(ratios) if ratio == wanted) for wanted in (FINE, COARSE))
    head, picked = head_length(model, "key"), model.number("attention.indexer.key_length")

    def cache(blocks: Sequence[int], row: Quantity | None, **cells: Quantity) -> Cache:
        rows = {block: row or row_elements(model, block, "key") for block in blocks}
        return Cache(rows, None, per_sequence=True, picks_tokens=row is not None, **cells)

    by_fine, by_coarse = (Quantity.constant(ratio, ONE, "tokens a cell") for ratio in (FINE, COARSE))
    caches = (
        cache(chosen.blocks, None, window=windows.all_windowed(model)),
        cache(fine, None, ratio=by_fine),
        cache(coarse, None, ratio=by_coarse),
        cache(fine, picked, ratio=by_fine),
    )
    states = (
        compressor_state(fine, 2 * FINE, head * 2),
        compressor_state(coarse, COARSE, head),
        compressor_state(fine, 2 * FINE, picked * 2),
    )
    drafting = _draft_blocks(model)
    draft = (_cache(model, drafting, windows.all_windowed(model)),) if drafting else ()
    return Layers(chosen, caches, states, draft, model.architecture in ROLLING_BACK)


_ATTENTION = (
    "llama llama4 deci falcon gpt2 gptj gptneox mpt baichuan starcoder refact bloom stablelm qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe "
    "qwen3vl qwen3vlmoe phi2 phi3 phimoe plamo plamo3 codeshell orion internlm2 minicpm minicpm3 gemma gemma2 gemma3 gemma3n gemma4 "
    "starcoder2 maple xverse grok command-r cohere2 cohere2moe dbrx olmo olmo2 olmoe muse-glimmer openelm arctic deepseek deepseek2 "
    "deepseek2-ocr chatglm glm4 glm4moe bitnet jais jais2 nemotron exaone exaone4 exaone-moe granite granitemoe granite_swa chameleon plm "
    "bailingmoe bailingmoe2 dots1 arcee afmoe laguna ernie4_5 ernie4_5-moe hunyuan-moe hunyuan-dense hunyuan_vl hy_v3 smollm3 gpt-oss "
    "smallthinker seed_oss grovemoe apertus minimax-m2 cogvlm pangu-embedded mistral3 mistral4 paddleocr mimo2 step35 spark2_5 maincoder "
    "mellum"
)
"""Architectures whose memory the engine makes without a case of its own (src/llama-model.cpp, `create_memory`)."""

Rule = Callable[[Model, Build], Layers]

ARCHITECTURES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(_ATTENTION.split(), attention),
        **dict.fromkeys(("qwen35", "qwen35moe", "qwen3next"), gated_delta_net),
        "minimax-01": lightning,
        "qwen4exp": picking_delta_net,
        "glm5-next": picking_by_heads,
        **dict.fromkeys(("jamba", "granitehybrid", "plamo2", "lfm2", "lfm2moe", "kimi-linear", "kimi-k3", "bailingmoe3"), by_heads),
        **dict.fromkeys(("nemotron_h", "nemotron_h_moe"), by_heads_and_width),
        "falcon-h1": both,
        **dict.fromkeys(("mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"), recurrent),
        **dict.fromkeys(("deepseek32", "glm-dsa"), indexed),
        "deepseek4": compressed,
    }
)
