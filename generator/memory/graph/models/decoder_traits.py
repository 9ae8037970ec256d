"""What an architecture's name decides about the graph of a plain decoder, one entry an architecture.

Source: llama.cpp src/models/<name>.cpp. What is not here follows from the tensors and hyperparameters that a file has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generator.memory.graph.builder import Builder

Rotates = Callable[[Builder, int], bool]


def always(b: Builder, il: int) -> bool:
    """Every block rotates positions into Q and K."""
    return True


def never(b: Builder, il: int) -> bool:
    """No block does: positions are learned, or biases of the scores."""
    return False


def three_of_four(b: Builder, il: int) -> bool:
    """Every fourth block does not (src/models/smollm3.cpp)."""
    return (il + 1) % 4 != 0


def if_seven_billion(b: Builder, il: int) -> bool:
    """The larger Baichuan has biases of the scores instead (src/models/baichuan.cpp)."""
    return b.n_layer == 32


def if_finetuned(b: Builder, il: int) -> bool:
    """The header switches the rotation off (src/models/granite.cpp)."""
    return b.flag("rope.scaling.finetuned", default=True)


@dataclass(frozen=True, slots=True)
class Traits:
    """How an architecture's decoder differs from the plain one.

    `norm` is that of blocks and `head_norm` that of Q and K, rms or layer; `norms_rotated` has Q and K normed after the rotation.
    `sections` tells whether positions may have several parts, `scales_q` whether Q is scaled before the attention does it.
    `gating` is how experts are weighted, None for what the header states; so is `normalised`. `steps` are the operations of one element
    of a dense part without a gate. `sums` is the order in which a block adds up its feed-forward part (f), its attention (a) and what
    came in (i), where the feed-forward part reads what the attention read; `sums_if` is the flag of the header that says so.
    `input_first` and `ffn_last` are orders of the two sums of other blocks. The rest tells which numbers are multiplied by a factor,
    whether only the rows whose logits are kept go through the end of the last block, and which tensors are loaded but not used.
    """

    norm: str = "rms"
    head_norm: str = "rms"
    norms_rotated: bool = False
    rotates: Rotates = always
    sections: bool = False
    scales_q: bool = False
    gating: str | None = "softmax"
    normalised: bool | None = True
    steps: int = 1
    sums: str = ""
    sums_if: str | None = None
    input_first: bool = False
    ffn_last: bool = False
    scales_input: bool = False
    scales_embedding: bool = False
    scales_residual: bool = False
    scales_logits: bool = False
    keeps_rows: bool = True
    unread: frozenset[str] = frozenset()


LAYER = Traits(norm="layer")
SECTIONS = Traits(sections=True)
WITHOUT_OUT_BIAS = frozenset({"attn_output.bias"})
STATED = Traits(gating=None, normalised=None)
SQUARED = Traits(steps=2)
LEARNED = Traits(norm="layer", rotates=never)

TRAITS: Mapping[str, Traits] = MappingProxyType(
    {
        "apertus": Traits(unread=frozenset({"attn_q_norm.bias", "attn_k_norm.bias"})),
        "arcee": SQUARED,
        "baichuan": Traits(rotates=if_seven_billion),
        "bailingmoe": Traits(normalised=None),
        "bailingmoe2": STATED,
        "bloom": LEARNED,
        "chameleon": Traits(head_norm="layer"),
        "codeshell": LAYER,
        "cogvlm": Traits(keeps_rows=False),
        "command-r": Traits(norm="layer", head_norm="layer", sums="fia"),
        "dbrx": LAYER,
        "deepseek": Traits(normalised=False),
        "dots1": STATED,
        "ernie4_5": Traits(unread=WITHOUT_OUT_BIAS),
        "ernie4_5-moe": Traits(unread=WITHOUT_OUT_BIAS),
        "falcon": Traits(norm="layer", sums="fai"),
        "gemma": Traits(scales_input=True, scales_q=True),
        "glm4": SECTIONS,
        "glm4moe": Traits(sections=True, gating=None, normalised=None),
        "gpt2": LEARNED,
        "gptneox": Traits(norm="layer", sums="fia", sums_if="use_parallel_residual"),
        "granite": Traits(rotates=if_finetuned, scales_residual=True, scales_logits=True),
        "granitemoe": Traits(scales_residual=True, scales_logits=True),
        "grok": Traits(scales_embedding=True, scales_logits=True),
        "hunyuan-dense": Traits(norms_rotated=True),
        "hunyuan-moe": Traits(norms_rotated=True),
        "hunyuan_vl": Traits(norms_rotated=True, sections=True),
        "jais": LEARNED,
        "jais2": Traits(norm="layer", steps=2),
        "maincoder": Traits(norms_rotated=True),
        "minicpm": Traits(scales_embedding=True, scales_residual=True, scales_logits=True),
        "minimax-m2": Traits(gating=None),
        "mpt": Traits(norm="layer", head_norm="layer", rotates=never),
        "nemotron": Traits(norm="layer", steps=2),
        "olmo": LAYER,
        "olmoe": Traits(normalised=False),
        "openelm": Traits(input_first=True),
        "orion": LAYER,
        "paddleocr": SECTIONS,
        "phi2": Traits(norm="layer", scales_q=True, sums="afi"),
        "phi3": Traits(scales_q=True, ffn_last=True),
        "phimoe": Traits(scales_q=True, ffn_last=True),
        "plamo": Traits(sums="fai"),
        "qwen2moe": Traits(normalised=False),
        "qwen2vl": Traits(sections=True, unread=frozenset({"output.bias"})),
        "qwen3vl": SECTIONS,
        "qwen3vlmoe": SECTIONS,
        "refact": Traits(rotates=never, unread=WITHOUT_OUT_BIAS | {"ffn_gate.bias", "ffn_up.bias", "ffn_down.bias"}),
        "smollm3": Traits(rotates=three_of_four),
        "stablelm": Traits(norm="layer", head_norm="layer"),
        "starcoder": LEARNED,
        "starcoder2": LAYER,
    }
)
"""Architectures whose decoder differs from the plain one."""
