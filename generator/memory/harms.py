"""What the engine takes without a word although it does nothing, or harm: no command that a guide prints may have it.

`gen plan` counts such a command all the same, for it is what the engine would run; a recipe that asks for it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from generator.errors import RefusedSettings
from generator.memory.architectures import layers_of
from generator.memory.backends import CUDA, METAL, ROCM, SYCL, VULKAN, attends, reads
from generator.memory.context import context_of
from generator.memory.flash import INCAPABLE, heads_of, leaves_a_choice, settled
from generator.memory.model import Model
from generator.memory.overrides import DENSE, EXPERTS, buffer_type_of
from generator.memory.refusals import refuse, refuse_cache, refuse_outputs
from generator.memory.settings import Settings
from generator.memory.windows import windowed_blocks

ALL_TYPES = "GGML_CUDA_FA_ALL_QUANTS"
"""CMake option with which CUDA and ROCm builds have flash attention for every pair of cache types."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a command runs on: the backend of its devices, how many there are, the engine's build, and the CMake options it has."""

    backend: str = CUDA
    gpus: int = 1
    build: str | None = None
    options: tuple[str, ...] = ()


def refuse_printed(model: Model, settings: Settings, run: Run) -> None:
    """Raise RefusedSettings for the first thing that the engine would refuse, or would take although it does nothing or harm."""
    refuse(model, settings)
    layers = layers_of(model, run.build)
    context = context_of(model, settings)
    refuse_cache(layers, settings, context, run.backend)
    refuse_outputs(context, settings, run.build)
    for rule in RULES:
        rule(model, settings, run)


def _attention(model: Model, settings: Settings, run: Run) -> None:
    """Without a kernel for them on the device, the scheduler hands attention to the CPU (ggml/src/ggml-backend.cpp)."""
    settings = settled(model, settings)
    if settings.flash_attn == "off" or leaves_a_choice(settings):
        return
    pairs = [(settings.type_k, settings.type_v, "-ctv")]
    if settings.drafts_with_own_head:
        pairs.append((settings.type_k_draft, settings.type_v_draft, "-ctvd"))
    for type_k, type_v, flag in pairs:
        if reads(run.backend, (type_k, type_v), run.build, every=ALL_TYPES in run.options):
            continue
        option = f", or build with -D{ALL_TYPES}=ON and say so under `build_options`" if run.backend in {CUDA, ROCM} else ""
        raise RefusedSettings(
            f"K in {type_k} and V in {type_v}: a default {run.backend} build has no flash attention for this pair, and the engine "
            "computes it on the CPU without saying so",
            rule="flash attention on the CPU",
            source=_SOURCES[run.backend],
            where=flag,
            remedy=f"give -ctk and -ctv the same of f16, q8_0 and q4_0{option}",
        )
    kernels = CUDA if run.backend == ROCM else run.backend
    if not all(attends(kernels, *lengths, ("f16", "f16"), run.build) for lengths in heads_of(model, layers_of(model, run.build))):
        raise RefusedSettings(
            f"flash attention is asked for, {run.backend} has no kernel for this model's heads, and the engine computes it on the CPU "
            "without saying so",
            rule="flash attention on the CPU",
            source=_SOURCES[run.backend],
            where="-fa",
            remedy="give -fa auto or off, and a V in f16",
        )


_SOURCES = {
    CUDA: "ggml/src/ggml-cuda/fattn.cu",
    ROCM: "ggml/src/ggml-cuda/fattn.cu",
    VULKAN: "ggml/src/ggml-vulkan/ggml-vulkan.cpp",
    SYCL: "ggml/src/ggml-sycl/fattn.cpp",
    METAL: "ggml/src/ggml-metal/ggml-metal-device.m",
}


def _forced_off(model: Model, settings: Settings, _: Run) -> None:
    if model.architecture in INCAPABLE and settings.flash_attn == "on":
        raise RefusedSettings(
            f"the engine says 'flash_attn is not compatible with {model.architecture.title()} - forcing off'",
            rule="flash attention forced off",
            source="src/llama-context.cpp",
            where="-fa",
            remedy="give -fa off",
        )


def _overrides(model: Model, settings: Settings, _: Run) -> None:
    """The first pattern found in a tensor's name decides, so one that finds none, or none that is left, does nothing."""
    if settings.cpu_moe and settings.n_cpu_moe:
        raise RefusedSettings(
            "-cmoe keeps all experts in system memory and -ncmoe some: together they keep all",
            rule="all experts and some",
            source="common/arg.cpp",
            where="-cmoe",
            remedy="leave out one of the two",
        )
    names = [tensor.name for tensor in model.tensors]
    for place, override in enumerate(settings.overrides):
        if any(override.matches(name) and buffer_type_of(name, settings.overrides[:place]) is None for name in names):
            continue
        flags = {EXPERTS: "-ncmoe" if override.blocks is not None else "-cmoe", DENSE: "-ncffn"}
        flag = flags.get(override.pattern, "-ot")
        found = any(override.matches(name) for name in names)
        if found:
            problem, remedy = "everything it names is moved by a flag before it, and the engine does not say so", "keep one of the two"
        elif override.pattern == EXPERTS and not model.experts():
            problem = "the model has no routed experts, so it moves nothing, and the engine does not say so"
            remedy = "leave it out; -ngl keeps whole layers in system memory"
        else:
            problem, remedy = "no tensor of the file has such a name, so it moves nothing, and the engine does not say so", "leave it out"
        raise RefusedSettings(
            f"{flag}: {problem}", rule="override without effect", source="src/llama-model-loader.cpp", where=flag, remedy=remedy
        )


def _windows(model: Model, settings: Settings, _: Run) -> None:
    if settings.swa_full and not windowed_blocks(model):
        raise RefusedSettings(
            "the model has no sliding window, so --swa-full does nothing",
            rule="no sliding window",
            source="src/llama-kv-cache-iswa.cpp",
            where="--swa-full",
            remedy="leave it out",
        )


def _batches(_: Model, settings: Settings, __: Run) -> None:
    if settings.n_ubatch > settings.n_batch:
        raise RefusedSettings(
            f"a micro-batch of {settings.n_ubatch} in a batch of {settings.n_batch}: the engine takes the smaller and does not say so",
            rule="micro-batch over the batch",
            source="src/llama-context.cpp",
            where="-ub",
            remedy=f"raise -b to {settings.n_ubatch}, or lower -ub",
        )


def _projector(_: Model, settings: Settings, __: Run) -> None:
    if settings.no_mmproj and settings.mmproj is not None:
        raise RefusedSettings(
            "--no-mmproj and a projector's file contradict each other",
            rule="projector wanted and not",
            source="common/arg.cpp",
            where="--mmproj",
            remedy="keep one of the two",
        )


def _draft_length(_: Model, settings: Settings, __: Run) -> None:
    if settings.spec_draft_n_max != Settings().spec_draft_n_max and not settings.spec_type:
        raise RefusedSettings(
            "a draft length without speculation does nothing",
            rule="draft length without speculation",
            source="common/speculative.cpp",
            where="--spec-draft-n-max",
            remedy="give --spec-type, or leave it out",
        )


def _cards(_: Model, settings: Settings, run: Run) -> None:
    """Shares for devices that are not there (common/arg.cpp, --tensor-split; src/llama-model.cpp, `load_tensors`)."""
    one = run.gpus == 1
    if (one and settings.tensor_split) or len(settings.tensor_split) > run.gpus:
        raise RefusedSettings(
            f"{len(settings.tensor_split)} shares for {'one card' if one else f'{run.gpus} cards'}",
            rule="shares for cards that are not there",
            source="src/llama-model.cpp",
            where="-ts",
            remedy="leave it out" if one else f"give {run.gpus} shares",
        )
    if one and settings.split_mode in {"row", "tensor"}:
        raise RefusedSettings(
            f"-sm {settings.split_mode} with one card: there is nothing to split",
            rule="split of one card",
            source="src/llama-model.cpp",
            where="-sm",
            remedy="leave it out",
        )


def _slots(_: Model, settings: Settings, __: Run) -> None:
    if settings.program == "llama-server" and settings.n_parallel is None and settings.kv_unified is False:
        raise RefusedSettings(
            "with the number of slots left to llama-server its cache is unified, whatever is asked",
            rule="unified cache of automatic slots",
            source="tools/server/server.cpp",
            where="-kvu",
            remedy="give -np",
        )


RULES: tuple[Callable[[Model, Settings, Run], None], ...] = (
    _attention,
    _forced_off,
    _overrides,
    _windows,
    _batches,
    _projector,
    _draft_length,
    _cards,
    _slots,
)
"""What is looked at, in this order."""
