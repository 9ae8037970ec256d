"""The settings that size memory or traffic, under llama.cpp's own names, from a command line or from a recipe.

Names and defaults are those of `common_params` (common/common.h) and of the flags that set it (common/arg.cpp).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, Literal

from generator.errors import InputError, UnknownNameError
from generator.memory import flag_values as read
from generator.memory.flags import Flag, Use, all_flags, command_of, flags_of, uses_of
from generator.memory.overrides import DENSE, EXPERTS, Override
from generator.memory.presets import PRESETS

FIT_FULL_CONTEXT = 2**32 - 1
"""What `-c 0` makes of `fit_ctx`, so that fitting never shortens a context asked for in full (common/arg.cpp, --ctx-size)."""


ROLLING_BACK = frozenset({"draft-mtp", "draft-eagle3", "draft-dflash", "draft-dspark"})
"""Kinds of speculation that keep copies of a recurrent state."""


NGRAM_CACHE_DRAFT = 8
"""Tokens that ngram-cache drafts at most (common/speculative.cpp)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything on a command line that sizes memory or traffic; flags that do not are kept as they were, in `others`.

    Sizes are in tokens, `cache_ram` and `fit_target` in MiB. None is the program's own choice: `n_parallel` None is 4 slots with
    one unified cache in llama-server, whatever -kvu says (tools/server/server.cpp), and 1 elsewhere.
    """

    program: str = "llama-server"
    environment: tuple[tuple[str, str], ...] = ()

    model: str | None = None
    model_url: str | None = None
    docker_repo: str | None = None
    hf_repo: str | None = None
    hf_file: str | None = None
    lora: tuple[str, ...] = ()
    override_kv: tuple[str, ...] = ()

    n_gpu_layers: int | Literal["auto", "all"] = "auto"
    overrides: tuple[Override, ...] = ()
    split_mode: str = "layer"
    tensor_split: tuple[Fraction, ...] = ()
    main_gpu: int = 0
    devices: tuple[str, ...] = ()
    kv_offload: bool = True
    op_offload: bool = True
    repack: bool = True
    no_host: bool = False

    n_ctx: int = 0
    n_batch: int = 2048
    n_ubatch: int = 512
    n_parallel: int | None = None
    kv_unified: bool | None = None
    kv_unified_per_slot: int = 0
    swa_full: bool = False
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attn: Literal["on", "off", "auto"] = "auto"
    embedding: bool = False
    pooling: str | None = None
    backend_sampling: bool = False

    fit: bool = True
    fit_target: tuple[int, ...] = (1024,)
    fit_ctx: int = 4096

    load_mode: str = "auto"
    lazy_mode: str = "auto"
    cache_ram: int = 8192
    ctx_checkpoints: int = 32

    mmproj: str | None = None
    mmproj_url: str | None = None
    no_mmproj: bool = False
    mmproj_offload: bool = True
    mmproj_device: str | None = None
    image_min_tokens: int = -1
    image_max_tokens: int = -1
    mtmd_batch_max_tokens: int = 1024

    spec_type: tuple[str, ...] = ()
    spec_draft_n_max: int = 3
    spec_ngram_mod_n_max: int = 64
    spec_ngram_simple_size_m: int = 48
    spec_ngram_map_k_size_m: int = 48
    spec_ngram_map_k4v_size_m: int = 48
    spec_draft_backend_sampling: bool = True
    model_draft: str | None = None
    hf_repo_draft: str | None = None
    n_gpu_layers_draft: int | Literal["auto", "all"] = "auto"
    overrides_draft: tuple[Override, ...] = ()
    devices_draft: tuple[str, ...] = ()
    type_k_draft: str = "f16"
    type_v_draft: str = "f16"

    others: tuple[tuple[str, ...], ...] = ()

    @property
    def n_cpu_moe(self) -> int:
        """How many leading blocks keep their experts on the host: the largest -ncmoe, for each one adds to the list."""
        return max((override.blocks or 0 for override in self.overrides if override.pattern == EXPERTS), default=0)

    @property
    def cpu_moe(self) -> bool:
        """Whether all experts stay on the host."""
        return Override(EXPERTS) in self.overrides

    @property
    def n_cpu_ffn(self) -> int:
        """How many leading blocks keep their dense feed-forward weights on the host."""
        return max((override.blocks or 0 for override in self.overrides if override.pattern == DENSE), default=0)

    @property
    def loads_draft_head(self) -> bool:
        """Whether blocks of a draft head are loaded with the model; even where another file does the drafting (common/common.cpp)."""
        return "draft-mtp" in self.spec_type

    @property
    def drafts_with_own_head(self) -> bool:
        """Whether the model's own draft head does the drafting, for which it must have one."""
        return self.loads_draft_head and self.model_draft is None and self.hf_repo_draft is None

    @property
    def rollback_depth(self) -> int:
        """How many copies of the recurrent state are kept beside it, so that a rejected draft can be taken back.

        Source: common/common.h, `common_params_speculative::need_n_rs_seq`.
        """
        return self.spec_draft_n_max if ROLLING_BACK & set(self.spec_type) else 0

    @property
    def longest_draft(self) -> int:
        """How many tokens are drafted at most, by whatever kind of speculation drafts the most; 0 without one.

        Source: common/speculative.cpp, `common_speculative_n_max`.
        """
        lengths = {
            "ngram-simple": self.spec_ngram_simple_size_m,
            "ngram-map-k": self.spec_ngram_map_k_size_m,
            "ngram-map-k4v": self.spec_ngram_map_k4v_size_m,
            "ngram-mod": self.spec_ngram_mod_n_max,
            "ngram-cache": NGRAM_CACHE_DRAFT,
        }
        return max((lengths.get(kind, self.spec_draft_n_max) for kind in self.spec_type), default=0)

    def with_n_cpu_moe(self, blocks: int) -> Settings:
        """Give the settings with another -ncmoe, in the place of the first one on the command line, else after all overrides."""
        places = [place for place, override in enumerate(self.overrides) if override.pattern == EXPERTS and override.blocks]
        at = places[0] if places else len(self.overrides)
        kept = [override for place, override in enumerate(self.overrides) if place not in places]
        wanted = [Override(EXPERTS, blocks=blocks)] if blocks else []
        return replace(self, overrides=(*kept[:at], *wanted, *kept[at:]))

    @classmethod
    def from_recipe(cls, settings: Mapping[str, object], program: str = "llama-server") -> Settings:
        """Read a recipe's settings as the flags that `to_arguments` writes for them; errors say `settings.<name>`.

        Raises what `to_arguments` and `parse_flags` raise.
        """
        placed = [(word, f"settings.{name}") for name, words in _written(settings, program) for word in words]
        return _settled(program, (), uses_of(placed, program))


def parse_flags(given: str | Sequence[str], program: str = "llama-server") -> Settings:
    """Read a command line, pasted as text or split into words, as the engine reads it.

    A program named in it wins over `program`. Raises UnknownFlagError, FlagValueError, UnknownNameError, and RefusedSettings for what
    llama.cpp refuses while it reads its flags; what it refuses with a model in hand is checked elsewhere.
    """
    command = command_of(given, program)
    return _settled(command.program, command.environment, command.uses)


def to_arguments(settings: Mapping[str, object], program: str = "llama-server") -> list[tuple[str, ...]]:
    """Give the flags of a recipe's settings, in their order, each with its values, under the names people copy.

    Names are those of `Settings` (with n_cpu_moe, cpu_moe, n_cpu_ffn, override_tensor for its overrides) and, for flags that size
    nothing, their long names with underscores. Values are as in YAML: None says nothing, lists are joined with commas.
    `shlex.join` makes a command of them. Raises UnknownNameError, InputError for a value that no flag can say.
    """
    return [words for _, words in _written(settings, program)]


def flags_of_recipe(settings: Mapping[str, object], over: Sequence[str], program: str = "llama-server") -> list[str]:
    """Give a recipe's settings as a command line that goes on with the words in `over`, without what those set anew.

    A second -ncmoe, or a -cmoe, would only add to the first, so what is overridden has to be left out: either of the two for the
    other as well. A program that `over` names stays in front. Raises what `to_arguments` and `parse_flags` raise.
    """
    command = command_of(over, program)
    known = flags_of(command.program)
    given = {use.flag.names[0] for use in command.uses}
    experts = {known[word].names[0] for word in ("-ncmoe", "-cmoe")}
    if given & experts:
        given |= experts
    written = to_arguments(settings, command.program)
    kept = [word for words in written if known[words[0]].names[0] not in given for word in words]
    return [*over[: command.begin], *kept, *over[command.begin :]]


@dataclass(frozen=True, slots=True)
class _Size:
    """A flag that sizes memory: the name to write it by, the recipe's name for it, the field it sets and how its value is read."""

    flag: str
    name: str
    read: read.Reader
    field: str = ""
    appends: bool = False


_SIZES = (
    _Size("-m", "model", read.text),
    _Size("-mu", "model_url", read.text),
    _Size("-dr", "docker_repo", read.text),
    _Size("-hf", "hf_repo", read.text),
    _Size("-hff", "hf_file", read.text),
    _Size("--lora", "lora", read.listed, appends=True),
    _Size("--lora-scaled", "lora_scaled", read.scaled_adapters, "lora", appends=True),
    _Size("--override-kv", "override_kv", read.model_overrides, appends=True),
    _Size("-ngl", "n_gpu_layers", read.layers),
    _Size("-ot", "override_tensor", read.tensor_overrides, "overrides", appends=True),
    _Size("--cpu-moe", "cpu_moe", read.experts_on_host, "overrides", appends=True),
    _Size("-ncmoe", "n_cpu_moe", read.experts_on_host, "overrides", appends=True),
    _Size("-ncffn", "n_cpu_ffn", read.dense_on_host, "overrides", appends=True),
    _Size("-sm", "split_mode", read.choice),
    _Size("-ts", "tensor_split", read.proportions),
    _Size("-mg", "main_gpu", read.whole),
    _Size("-dev", "devices", read.device_names),
    _Size("--kv-offload", "kv_offload", read.switched_on),
    _Size("--op-offload", "op_offload", read.switched_on),
    _Size("--repack", "repack", read.switched_on),
    _Size("--no-host", "no_host", read.switched_on),
    _Size("-c", "n_ctx", read.count),
    _Size("-b", "n_batch", read.count),
    _Size("-ub", "n_ubatch", read.count),
    _Size("-np", "n_parallel", read.whole),
    _Size("-kvu", "kv_unified", read.switched_on),
    _Size("--kv-unified-per-slot", "kv_unified_per_slot", read.whole),
    _Size("--swa-full", "swa_full", read.switched_on),
    _Size("-ctk", "type_k", read.choice),
    _Size("-ctv", "type_v", read.choice),
    _Size("-fa", "flash_attn", read.switch_word),
    _Size("--embedding", "embedding", read.switched_on),
    _Size("--pooling", "pooling", read.choice),
    _Size("--backend-sampling", "backend_sampling", read.switched_on),
    _Size("--fit", "fit", read.on_word),
    _Size("-fitt", "fit_target", read.margins),
    _Size("-fitc", "fit_ctx", read.count),
    _Size("--load-mode", "load_mode", read.choice),
    _Size("--lazy-mode", "lazy_mode", read.choice),
    _Size("-cram", "cache_ram", read.whole),
    _Size("--ctx-checkpoints", "ctx_checkpoints", read.whole),
    _Size("--mmproj", "mmproj", read.text),
    _Size("--mmproj-url", "mmproj_url", read.text),
    _Size("--no-mmproj", "no_mmproj", read.switched_off),
    _Size("--mmproj-offload", "mmproj_offload", read.switched_on),
    _Size("--mmproj-device", "mmproj_device", read.text),
    _Size("--image-min-tokens", "image_min_tokens", read.whole),
    _Size("--image-max-tokens", "image_max_tokens", read.whole),
    _Size("--mtmd-batch-max-tokens", "mtmd_batch_max_tokens", read.whole),
    _Size("--spec-type", "spec_type", read.speculative_types, appends=True),
    _Size("--spec-draft-n-max", "spec_draft_n_max", read.between(0, read.INT_MAX)),
    _Size("--spec-ngram-mod-n-max", "spec_ngram_mod_n_max", read.between(0, 1024)),
    _Size("--spec-ngram-simple-size-m", "spec_ngram_simple_size_m", read.between(1, 1024)),
    _Size("--spec-ngram-map-k-size-m", "spec_ngram_map_k_size_m", read.between(1, 1024)),
    _Size("--spec-ngram-map-k4v-size-m", "spec_ngram_map_k4v_size_m", read.between(1, 1024)),
    _Size("--spec-draft-backend-sampling", "spec_draft_backend_sampling", read.switched_on),
    _Size("-md", "model_draft", read.text),
    _Size("-hfd", "hf_repo_draft", read.text),
    _Size("-ngld", "n_gpu_layers_draft", read.layers),
    _Size("-otd", "override_tensor_draft", read.tensor_overrides, "overrides_draft", appends=True),
    _Size("-cmoed", "cpu_moe_draft", read.experts_on_host, "overrides_draft", appends=True),
    _Size("-ncmoed", "n_cpu_moe_draft", read.experts_on_host, "overrides_draft", appends=True),
    _Size("-devd", "devices_draft", read.device_names),
    _Size("-ctkd", "type_k_draft", read.choice),
    _Size("-ctvd", "type_v_draft", read.choice),
)


@cache
def _size_of_flag() -> Mapping[str, _Size]:
    """Give the sizing flags by each of their names, those that negate included."""
    sizes = {size.flag: size for size in _SIZES}
    found = {}
    for flag in all_flags():
        names = (*flag.names, *flag.negated)
        found.update({name: sizes[written] for written in names if written in sizes for name in names})
    return found


@cache
def _size_of_name() -> Mapping[str, _Size]:
    return {size.name: size for size in _SIZES}


def _settled(program: str, environment: tuple[tuple[str, str], ...], uses: Iterable[Use]) -> Settings:
    """Apply flags in order, the last one winning but for those that append, and draw what the engine draws at the end."""
    state: dict[str, Any] = {}
    others: list[tuple[str, ...]] = []
    for use in uses:
        size = _size_of_flag().get(use.flag.names[0])
        if size is not None:
            changes = _changes(size, use, program)
        elif use.flag.long_name in PRESETS:
            changes = PRESETS[use.flag.long_name]
        else:
            _check_choice(use)
            others.append((use.word, *use.values))
            continue
        for field, value in changes.items():
            appends = field in _APPENDED
            state[field] = (*state.get(field, ()), *value) if appends else value
    return _with_projector_device(Settings(program=program, environment=environment, others=tuple(others), **state))


_APPENDED = frozenset(size.field or size.name for size in _SIZES if size.appends)


def _changes(size: _Size, use: Use, program: str) -> dict[str, Any]:
    """Give the fields that one sizing flag sets."""
    value = size.read(use, size.name)
    if size.name == "n_ctx" and value == 0:
        return {"n_ctx": 0, "fit_ctx": FIT_FULL_CONTEXT}
    if size.name == "n_parallel":
        return {"n_parallel": _sequences(value, use, program)}
    if size.name == "mmproj_device":
        if "," in value:
            raise use.refused(size.name, "one device, or 'none'")
        return {"mmproj_device": None if value == "none" else value, "mmproj_offload": value != "none"}
    return {size.field or size.name: value}


def _sequences(value: int, use: Use, program: str) -> int | None:
    """Give what -np means: llama-server refuses 0 and takes a negative number for auto; elsewhere 0 is 1.

    Elsewhere a negative number wraps to more sequences than there may be (src/llama-context.cpp, LLAMA_MAX_SEQ).
    """
    if program == "llama-server":
        if value == 0:
            raise use.refused("n_parallel", "a number of slots from 1 up, or -1 for auto")
        return value if value > 0 else None
    if value < 0:
        raise use.refused("n_parallel", "a number of sequences from 1 up")
    return value or 1


def _with_projector_device(settings: Settings) -> Settings:
    """Put the projector on the first of the chosen devices unless it has one (common/arg.cpp, `common_params_parse_ex`)."""
    if not settings.devices or not settings.mmproj_offload or settings.mmproj_device is not None:
        return settings
    first = settings.devices[0]
    return replace(settings, mmproj_device=None if first == "none" else first, mmproj_offload=first != "none")


def _check_choice(use: Use) -> None:
    """Refuse a value that is not on a flag's closed list, for flags that size nothing."""
    if use.values and use.flag.choices:
        reader = read.switch_word if "on" in use.flag.choices else read.choice
        reader(use, use.flag.long_name.lstrip("-").replace("-", "_"))


def _written(settings: Mapping[str, object], program: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each setting's name and the words that say it."""
    known = flags_of(program)
    for name, value in settings.items():
        size = _size_of_name().get(name)
        word = size.flag if size else f"--{name.replace('_', '-')}"
        if word not in known or (size is None and word in _size_of_flag()):
            raise UnknownNameError("setting", name, _setting_names(program))
        words = () if value is None else _words(known[word], word, f"settings.{name}", value)
        if words:
            yield name, words


def _setting_names(program: str) -> list[str]:
    """Give every name a recipe may use: of what sizes memory, and of the program's other flags."""
    others = {flag.long_name for flag in flags_of(program).values()} - set(_size_of_flag())
    return [*_size_of_name(), *(name.removeprefix("--").replace("-", "_") for name in others if name.startswith("--"))]


def _words(flag: Flag, word: str, where: str, value: object) -> tuple[str, ...]:
    """Give the words that say one value of a flag, () where leaving the flag out says it."""
    if flag.values == 0:
        if not isinstance(value, bool):
            raise InputError(f"{word} is a switch and {value!r} neither true nor false", where=where, remedy="write true or false")
        if value:
            return (word,)
        opposite = flag.negated[-1:] if word in flag.names else (flag.long_name,)
        return tuple(opposite)
    items = list(value) if isinstance(value, list | tuple) else [value]
    texts = [_text(item, flag, where) for item in items]
    if flag.values == 2 and len(texts) == 2:
        return (word, *texts)
    if flag.values == 2 or (len(texts) > 1 and any("," in text for text in texts)):
        problem = f"{word} takes two values" if flag.values == 2 else f"an item of {word}'s list has a comma, which divides items"
        raise InputError(problem, where=where, remedy="give a list of two" if flag.values == 2 else "write an item without one")
    return (word, ",".join(texts))


def _text(item: object, flag: Flag, where: str) -> str:
    """Give one value as the engine reads it; YAML takes a bare `on` for true."""
    if isinstance(item, bool) and "on" in flag.choices:
        return "on" if item else "off"
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        raise InputError(f"{flag.long_name} takes no such value as {item!r}", where=where, remedy="write a number, text or a list of them")
    return str(item)
