"""Memory rules of older builds and of forks, each with a name, the builds it holds for and where it was read.

A recorded run is held against the rules of the engine that made it. Ours are the pinned engine's; where another engine does
otherwise, a rule here changes what is counted, and the comparison names every rule that changed something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date

from generator.gguf.types import block
from generator.measure.cases import IK, LLAMA, TURBOQUANT, Case
from generator.memory.architectures import layers_of
from generator.memory.layers import Cache, Layers
from generator.memory.model import Model

Types = tuple[str, str]
"""Cache types of K and V."""

DEFAULT_DRAFT = 3
"""Tokens of a draft where a run does not say (common/common.h, `n_max`)."""

TURBOQUANT_BLOCKS: Mapping[str, tuple[int, int]] = {"tbq3_0": (256, 98), "tbqp3_0": (256, 100)}
"""Elements and bytes of a block: 3 bits an element and an F16 norm, and with a sign correction one norm more.

Source: the fork's ggml-common.h, `block_tbq3_0` and `block_tbqp3_0` (QK_K elements; `d`, `d_qjl`, `qs[64]`, `qjl[32]`).
"""

_DRAFT_LENGTH = re.compile(r"--(?:spec-)?draft(?:-n)?-max[ =](\d{1,4})\b")


@dataclass(frozen=True, slots=True)
class Footing:
    """What is counted for a case: the blocks' caches with their types, and the copies kept beside a recurrent state."""

    model: Model
    layers: Layers
    types: tuple[Types, ...]
    copies: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of other engines: `apply` gives the changed footing, None where it changes nothing.

    It holds for builds of `family` before `until` (a build's number; `until_day` stands for it in runs whose build nobody noted).
    """

    name: str
    family: str
    words: str
    source: str
    apply: Callable[[Footing, Case], Footing | None]
    until: int | None = None
    until_day: date | None = None

    def holds_for(self, case: Case) -> bool:
        """Tell whether the rule is that of a case's engine and build."""
        if case.family != self.family:
            return False
        if self.until is None or self.until_day is None:
            return True
        if case.number is not None:
            return case.number < self.until
        return case.day is not None and case.day < self.until_day

    @property
    def builds(self) -> str:
        """The builds it holds for, in words."""
        return f"{self.family} before b{self.until}" if self.until else self.family

    def as_dict(self) -> dict[str, object]:
        """Give the rule for JSON."""
        return {"name": self.name, "builds": self.builds, "rule": self.words, "source": self.source}


def footing_of(model: Model, case: Case) -> tuple[Footing, tuple[Rule, ...]]:
    """Give what a case's engine counts, and the rules by which that differs from the pinned engine's. Raises what `layers_of` raises."""
    layers = layers_of(model, case.build if case.family == LLAMA else None)
    types = (str(case.settings.get("cache_type_k") or "f16"), str(case.settings.get("cache_type_v") or "f16"))
    footing = Footing(model, layers, (types,) * len(layers.caches), _copies(case, layers))
    used = []
    for rule in RULES:
        changed = rule.apply(footing, case) if rule.holds_for(case) else None
        if changed is not None:
            footing = changed
            used.append(rule)
    return footing, tuple(used)


def block_of(cache_type: str) -> tuple[int, int]:
    """Give elements and bytes of a block of a cache type, a fork's own included. Raises UnknownNameError."""
    return TURBOQUANT_BLOCKS.get(cache_type) or block(cache_type)


def flash_attention(case: Case) -> bool:
    """Tell whether a run used flash attention; where it was left to the engine, or nobody noted it, it did."""
    return str(case.settings.get("flash_attn", "auto")) not in {"0", "False", "off", "disabled"}


def _copies(case: Case, layers: Layers) -> int:
    """Give the copies of a state: as the log says (`n_rs_seq`), else as many as a draft head of the model's own drafts."""
    logged = case.settings.get("n_rs_seq")
    if isinstance(logged, int):
        return logged
    if not layers.rolls_back or "draft-mtp" not in str(case.settings.get("spec") or ""):
        return 0
    found = _DRAFT_LENGTH.search(case.command)
    return int(found[1]) if found else DEFAULT_DRAFT


# --- the rules -----------------------------------------------------------------------------------


def _draft_blocks(footing: Footing, _: Case) -> Footing | None:
    model = footing.model
    if not int(model.draft_blocks):
        return None
    key = f"{model.architecture}.nextn_predict_layers"
    own = replace(model, metadata={name: value for name, value in model.metadata.items() if name != key})
    layers = layers_of(own)
    return replace(footing, layers=layers, types=footing.types[:1] * len(layers.caches))


def _latent(footing: Footing, case: Case) -> Footing | None:
    mode = case.settings.get("mla_attn")
    model = footing.model
    if not isinstance(mode, int) or not mode or not model.has("attention.kv_lora_rank"):
        return None
    rank, rope = model.number("attention.kv_lora_rank"), model.number("rope.dimension_count")
    blocks = footing.layers.attention.blocks
    transposed = dict.fromkeys(blocks, rank) if mode == 1 and not flash_attention(case) else None
    layers = replace(footing.layers, caches=(Cache(dict.fromkeys(blocks, rank + rope), transposed),))
    return replace(footing, layers=layers, types=footing.types[:1])


def _whole_window(footing: Footing, _: Case) -> Footing | None:
    caches = footing.layers.caches
    if all(cache.window is None for cache in caches):
        return None
    return replace(footing, layers=replace(footing.layers, caches=tuple(replace(cache, window=None) for cache in caches)))


def _window_in_f16(footing: Footing, _: Case) -> Footing | None:
    pairs = zip(footing.layers.caches, footing.types, strict=True)
    types = tuple(("f16", "f16") if cache.window is not None else given for cache, given in pairs)
    return replace(footing, types=types) if types != footing.types else None


def _no_copies(footing: Footing, _: Case) -> Footing | None:
    return replace(footing, copies=0) if footing.copies else None


_IK = "https://github.com/ikawrakow/ik_llama.cpp"

RULES: tuple[Rule, ...] = (
    Rule(
        name="cache for a draft head's blocks",
        family=IK,
        words="the blocks of a draft head (nextn) cache like the model's own, though a normal run never reads them",
        source=f"{_IK}/pull/843",
        apply=_draft_blocks,
        until=3918,
        until_day=date(2025, 10, 20),
    ),
    Rule(
        name="latent cache by -mla",
        family=IK,
        words="with -mla a file without key_length_mla caches the latent all the same: kv_lora_rank + rope.dimension_count elements of K, "
        "and V only with -mla 1 and no flash attention",
        source=f"{_IK}/blob/f649e36a/src/llama.cpp#L2770",
        apply=_latent,
    ),
    Rule(
        name="whole window",
        family=IK,
        words="blocks with a sliding window cache the whole context (unless --swa-compress, in builds that know it, is given)",
        source=f"{_IK}/blob/f649e36a/src/llama.cpp#L2770",
        apply=_whole_window,
    ),
    Rule(
        name="TurboQuant's windows in f16",
        family=TURBOQUANT,
        words="blocks with a sliding window keep their cache in f16, whatever -ctk and -ctv say",
        source="https://github.com/AmesianX/TurboQuant",
        apply=_window_in_f16,
    ),
    Rule(
        name="no copies of a recurrent state",
        family=LLAMA,
        words="no copy of a recurrent state is kept for a draft, so a rejected one is calculated anew",
        source="https://github.com/ggml-org/llama.cpp/pull/22673",
        apply=_no_copies,
        until=9180,
        until_day=date(2026, 5, 16),
    ),
)
"""In the order in which they are applied. Builds and days are those of the first build with the change that ended a rule."""
