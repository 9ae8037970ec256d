"""Which blocks of a model keep what: the seam where architectures differ.

An architecture is a function from a model to its `Layers`. Rules follow the header's metadata; a name is in the
table when its rules have been held against the engine's own report. Sources: llama.cpp src/models/<name>.cpp
(`load_arch_hparams`) and src/llama-hparams.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from generator.errors import InputError, UnsupportedArchitecture
from generator.memory.model import Model
from generator.quantity import Quantity, Value


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """Elements of the fixed state that one recurrent block keeps for one sequence: convolution `r` and state `s`."""

    r: Quantity
    s: Quantity


@dataclass(frozen=True, slots=True)
class Layers:
    """What each loaded block keeps between tokens.

    `attention` and `recurrent` are block indices; `draft_attention` those of the draft head. `inputs` and `words` are
    what the list of attention blocks follows from, and `evaluate` gives it again from their values.
    """

    attention: tuple[int, ...]
    recurrent: tuple[int, ...] = ()
    draft_attention: tuple[int, ...] = ()
    state: RecurrentState | None = None
    inputs: tuple[Quantity, ...] = ()
    words: str = ""
    evaluate: Callable[[Sequence[Value]], tuple[int, ...]] = lambda _: ()


def layers_of(model: Model) -> Layers:
    """Give what each block keeps. Raises UnsupportedArchitecture where the rules are not known."""
    rule = ARCHITECTURES.get(model.architecture)
    if rule is None:
        raise UnsupportedArchitecture(model.architecture, ARCHITECTURES)
    return rule(model)


def _draft(model: Model) -> tuple[int, ...]:
    return tuple(range(int(model.loaded_blocks), int(model.block_count)))


def grouped_query(model: Model) -> Layers:
    """Every block caches K and V (src/models/llama.cpp, qwen3.cpp, qwen3moe.cpp)."""
    return Layers(
        attention=tuple(range(int(model.loaded_blocks))),
        draft_attention=_draft(model),
        inputs=(model.loaded_blocks,),
        words="every loaded block",
        evaluate=lambda values: tuple(range(_whole(values[0]))),
    )


def gated_delta_net(model: Model) -> Layers:
    """Every `full_attention_interval`-th block caches K and V, the others keep a gated delta net state.

    A header may list the blocks of the second kind instead. Source: src/models/qwen35moe.cpp and qwen35.cpp, `load_arch_hparams`
    (the default interval is 4; blocks of a draft head are attention only).
    """
    count = int(model.loaded_blocks)
    inputs, words, evaluate = _listed(model, count) if model.has("attention.recurrent_layers") else _at_intervals(model)
    attention = evaluate([quantity.value for quantity in inputs])
    return Layers(
        attention=attention,
        recurrent=tuple(block for block in range(count) if block not in set(attention)),
        draft_attention=_draft(model),
        state=_delta_net_state(model),
        inputs=inputs,
        words=words,
        evaluate=evaluate,
    )


Rule = tuple[tuple[Quantity, ...], str, Callable[[Sequence[Value]], tuple[int, ...]]]
"""What blocks follow from, in words, and how."""


def _at_intervals(model: Model) -> Rule:
    interval = model.number("full_attention_interval", 4)
    if not int(interval):
        raise InputError(f"'{model.architecture}.full_attention_interval' is 0", remedy="the header was written wrongly: take another file")
    inputs = (model.loaded_blocks, interval)
    words = "loaded blocks i with (i + 1) divisible by full_attention_interval"
    return inputs, words, lambda values: _every(_whole(values[0]), _whole(values[1]))


def _listed(model: Model, count: int) -> Rule:
    inputs = tuple(model.per_block("attention.recurrent_layers", block) for block in range(count))
    words = "loaded blocks that attention.recurrent_layers does not mark"
    return inputs, words, lambda values: tuple(block for block, recurrent in enumerate(values) if not recurrent)


def _every(count: int, interval: int) -> tuple[int, ...]:
    return tuple(block for block in range(count) if (block + 1) % interval == 0)


def _whole(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _delta_net_state(model: Model) -> RecurrentState:
    """Source: src/llama-hparams.cpp, `n_embd_r` and `n_embd_s` (Mamba-2 and gated delta net share the formula)."""
    conv = model.number("ssm.conv_kernel")
    inner = model.number("ssm.inner_size")
    state = model.number("ssm.state_size")
    groups = model.number("ssm.group_count")
    one = Quantity.constant(1)
    return RecurrentState(r=(conv - one) * (inner + groups * state * 2), s=state * inner)


ARCHITECTURES: Mapping[str, Callable[[Model], Layers]] = MappingProxyType(
    {
        "llama": grouped_query,
        "mistral3": grouped_query,
        "qwen2": grouped_query,
        "qwen3": grouped_query,
        "qwen3moe": grouped_query,
        "qwen35": gated_delta_net,
        "qwen35moe": gated_delta_net,
    }
)
