"""The data of a page from which a browser works out its plan under other settings, to the byte.

What a recipe fixes (model, build, backend, cards, policy) is in the data as it comes out here; what a reader changes is left to the
scripts: context, cache types, offload, micro-batch, flash attention and slots. What is not covered raises UncoveredError, so that a page
has no planner rather than a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from generator.gguf.types import BLOCKS
from generator.memory import flash, windows
from generator.memory.architectures import layers_of
from generator.memory.backends import PAIRED_ON_CUDA, TAKES_NOTHING_OVER, unknown_operations
from generator.memory.budget import Policy
from generator.memory.builds import Build
from generator.memory.context import context_of
from generator.memory.flags import flags_of
from generator.memory.graph.buffers import ALIGNMENT, HOST_ALIGNMENT, LARGEST_ALONE, MASKS_IN_F32, OUTPUTS_OF_SLOTS, RESERVES_ALONE
from generator.memory.graph.room import ROOM_BY_TENSORS
from generator.memory.graph.unknown import UnknownGraphError
from generator.memory.host import logits
from generator.memory.ladder import experts_up_to
from generator.memory.layers import Cache, Layers
from generator.memory.model import Model
from generator.memory.overrides import EXPERTS
from generator.memory.placement import HEAD_BEFORE_INPUT, HEAD_IS_INPUT, devices_used, split_points
from generator.memory.recurrent import bytes_per_block
from generator.memory.refusals import ONE_CACHE_TYPE, head_lengths, refuse_header
from generator.memory.rows import is_latent, row_elements
from generator.memory.settings import Settings, to_arguments
from generator.planner.encode import Encoder, Graph, Table
from generator.planner.family import Family, manners
from generator.planner.symbols import Conditions, UncoveredError
from generator.planner.trace import Traced
from generator.planner.weights import weights_data

FORMAT = 1

COVERED = Settings(n_gpu_layers=0, n_ctx=0)
"""Settings whose value must be the default, for nothing else is worked out in the browser."""

_FIXED = (
    *("split_mode", "main_gpu", "devices", "no_host", "kv_unified_per_slot", "embedding", "pooling", "backend_sampling"),
    *("spec_type", "model_draft", "hf_repo_draft", "program", "lora"),
)


@dataclass(frozen=True, slots=True)
class Speed:
    """What bounds the speed: the card's bytes a second where they are known, those of kinds of system memory, and depths of context.

    Without `depths` they are none, half and all of the context. `unified` is a card whose memory is the system's.
    """

    bandwidth: int | None
    kinds: tuple[tuple[str, int], ...]
    depths: tuple[int, ...]
    unified: bool


@dataclass(frozen=True, slots=True)
class Run:
    """What a recipe fixes of a run: its name, its settings as written, build, backend, cards, policy, and what a card offers in bytes.

    `excess` is what readings of the engine add to a card's buffer, `estimate` the percentages by which experts and the rest of an
    estimated table may be off, and the bytes of its file.
    """

    name: str
    written: Mapping[str, object]
    build: str
    backend: str
    gpus: int
    policy: str
    card: str
    usable: int
    reserve: int
    speed: Speed
    excess: int | None = None
    estimate: tuple[int, int, int] | None = None


def planner_data(model: Model, run: Run) -> dict[str, object]:
    """Give the data of a page. Raises UncoveredError where a recipe does what the scripts do not know."""
    settings = Settings.from_recipe(run.written)
    layers = layers_of(model, run.build)
    _refuse_uncovered(model, layers, settings, run)
    refuse_header(model)
    return {
        "format": FORMAT,
        "source": run.name,
        "architecture": model.architecture,
        "program": settings.program,
        "build": run.build,
        "backend": run.backend,
        "gpus": run.gpus,
        "policy": run.policy,
        "card": {"name": run.card, "usable": run.usable, "reserve": run.reserve},
        "excess": run.excess,
        "estimate": run.estimate,
        "settings": _settings(settings),
        "flags": _flags(run.written, settings.program),
        "model": _model(model, layers),
        "engine": _engine(settings, run),
        "speed": _speed(model, run.speed),
        "weights": weights_data(model, run.backend),
        "blocks": {name: [elements, size] for name, (_, elements, size) in BLOCKS.items()},
        "graphs": _graphs(model, layers, run.build, settings),
    }


def _refuse_uncovered(model: Model, layers: Layers, settings: Settings, run: Run) -> None:
    """Raise UncoveredError for settings, builds and models that the scripts have no rules for."""
    for name in _FIXED:
        if getattr(settings, name) != getattr(COVERED, name):
            raise UncoveredError(f"{name} is set")
    if any(override.pattern != EXPERTS or override.blocks is None for override in settings.overrides):
        raise UncoveredError("tensors are placed by patterns")
    if settings.flash_attn != flash.settled(model, settings).flash_attn:
        raise UncoveredError("the architecture never attends with flash attention")
    if settings.mmproj is not None:
        raise UncoveredError("a projector is loaded beside the model")
    build = Build.named(run.build)
    if build not in OUTPUTS_OF_SLOTS or build in ROOM_BY_TENSORS:
        raise UncoveredError("the build has other limits")
    if model.architecture in LARGEST_ALONE and build in RESERVES_ALONE:
        raise UncoveredError("the build reserves for one sequence as well")
    if any(cache.ratio is not None or cache.per_sequence for cache in layers.caches):
        raise UncoveredError("cells stand for several tokens")


# --- settings ------------------------------------------------------------------------------------


def _settings(settings: Settings) -> dict[str, object]:
    """Give what a reader may change, and what of the rest bears on memory."""
    n_gpu_layers = settings.n_gpu_layers
    names = ("n_ctx", "n_batch", "n_ubatch", "n_parallel", "kv_unified", "type_k", "type_v", "flash_attn", "n_cpu_moe")
    return {"n_gpu_layers": n_gpu_layers, **{name: getattr(settings, name) for name in names}}


def _flags(written: Mapping[str, object], program: str) -> list[list[str]]:
    """Give the recipe's flags in its order, each as the setting's name and the words that say it."""
    return [[name, *words] for name, value in written.items() for words in to_arguments({name: value}, program)]


# --- the model -----------------------------------------------------------------------------------


def _model(model: Model, layers: Layers) -> dict[str, object]:
    newest = layers_of(model)
    return {
        "trained": int(model.number("context_length", 0)),
        "blocks": int(model.block_count),
        "loaded": int(model.loaded_blocks),
        "tied": _tied(model),
        "caches": [_cache(cache) for cache in layers.caches],
        "states": [[list(state.blocks), int(bytes_per_block(state))] for state in layers.states],
        "attends": list(layers.attention.blocks),
        "heads": [list(heads) for heads in flash.heads_of_blocks(model, layers.attention.blocks)],
        "scores": [[block, int(model.per_block("attention.head_count", block))] for block in newest.attention.blocks],
        "one_type": is_latent(model) or model.architecture in ONE_CACHE_TYPE,
        "lengths": {part: head_lengths(model, part) for part in ("key", "value")},
        "rows": list({int(row) for cache in (*newest.caches, *newest.draft) for row in cache.keys.values()}),
        "window": int(windows.window_of(model) or 0),
        "staged": 2 * max((int(tensor.size) for tensor in model.experts()), default=0),
        "widest": max((int(row_elements(model, block, part)) for block in newest.attention.blocks for part in ("key", "value")), default=0),
        "embedding": int(model.size_of((tensor for tensor in model.tensors if tensor.is_input), "input embedding")),
        "experts": sum(int(tensor.size) for tensor in model.experts()),
        "logits": _logits(model),
    }


def _tied(model: Model) -> int:
    """Give when a tied embedding is loaded again as the head: never, where the head is on a device, or always."""
    if not model.tied_embedding or model.architecture in HEAD_IS_INPUT:
        return 0
    return 2 if model.architecture in HEAD_BEFORE_INPUT else 1


def _cache(cache: Cache) -> dict[str, object]:
    return {
        "blocks": list(cache.blocks),
        "keys": _rows(cache.keys.values()),
        "values": None if cache.values is None else _rows(cache.values.values()),
        "widest": 0 if cache.widest_value is None else int(cache.widest_value),
        "window": None if cache.window is None else int(cache.window),
    }


def _rows(rows: Iterable[object]) -> int | list[int]:
    """Give the elements of each block's row, one number where they are all the same."""
    found = [int(row) for row in rows]  # type: ignore[call-overload]
    return found[0] if len(set(found)) == 1 else found


def _logits(model: Model) -> int:
    """Give the bytes of one sequence's logits."""
    return int(logits(model, context_of(model, Settings(n_ctx=1, n_parallel=1))))


# --- the engine ----------------------------------------------------------------------------------


def _engine(settings: Settings, run: Run) -> dict[str, object]:
    used = devices_used(settings, run.gpus)
    return {
        "used": list(used),
        "points": split_points(settings, len(used)),
        "pipelines": len(used) > 1 and settings.split_mode == "layer" and settings.kv_offload,
        "alignments": [*([HOST_ALIGNMENT if run.backend == "rpc" else ALIGNMENT] * run.gpus), HOST_ALIGNMENT],
        "offloads": settings.op_offload and run.backend not in TAKES_NOTHING_OVER,
        "paired": Build.named(run.build) in PAIRED_ON_CUDA,
        "missing": sorted(unknown_operations(run.backend, run.build)),
        "kv_offload": settings.kv_offload,
        "swa_full": settings.swa_full,
        "cache_ram": settings.cache_ram,
        "ctx_checkpoints": settings.ctx_checkpoints,
        "published": run.policy == Policy.PUBLISHED,
        "types": list(flags_of(settings.program)["-ctk"].choices),
    }


def _speed(model: Model, speed: Speed) -> dict[str, object]:
    resident, experts = model.loaded(), experts_up_to(model, int(model.loaded_blocks))
    return {
        "bandwidth": speed.bandwidth,
        "kinds": [list(kind) for kind in speed.kinds],
        "depths": list(speed.depths) or None,
        "unified": speed.unified,
        "used": int(model.number("expert_used_count", 0)),
        "count": int(model.number("expert_count", 0)),
        "dense": sum(int(tensor.size) for tensor in resident) - int(experts),
    }


# --- graphs --------------------------------------------------------------------------------------


_made: dict[tuple[object, ...], dict[str, object]] = {}
"""Graphs by what they depend on, for one model has many pages."""


def _graphs(model: Model, layers: Layers, build: str, settings: Settings) -> dict[str, object]:
    """Give all graphs of a model: their tables, and by the name of each manner which segments make it up.

    A graph is one of `patterns` (the kind of each segment, and the block it is of) with, for each kind, the number of its segment;
    it holds where its conditions do: a term, its relation to 0, and whether it has it.
    """
    masks_in_f32, on_host = Build.named(build) in MASKS_IN_F32, not settings.kv_offload
    names = tuple((tensor.name, tensor.shape) for tensor in model.tensors)
    key = (repr(model.metadata), names, tuple(layers.attention.blocks), masks_in_f32, on_host)
    if key not in _made:
        _made[key] = _traced(Traced(model, layers, masks_in_f32, on_host))
    return _made[key]


def _traced(traced: Traced) -> dict[str, object]:
    try:
        family = Family(traced)
        variants = {manner.name: family.variants(manner) for manner in manners(traced)}
    except UnknownGraphError as error:
        raise UncoveredError(f"no graph can be made: {error}") from error
    encoder = family.encoder
    if any(str(operation).startswith("DSV4") for operation in encoder.operations.things):
        raise UncoveredError("operations that not every device knows")
    patterns = Table()
    rows = {
        name: [[_conditions(encoder, variant.conditions), *_patterned(patterns, family.whole, variant.graph)] for variant in each]
        for name, each in variants.items()
    }
    return {
        "operations": encoder.operations.things,
        "types": encoder.types.things,
        "roles": encoder.roles.things,
        "terms": encoder.terms.things,
        "shapes": encoder.shapes.things,
        "rows": encoder.rows.things,
        "segments": [_shortened(segment) for segment in encoder.segments.things],
        "patterns": patterns.things,
        "manners": rows,
    }


def _shortened(segment: object) -> list[int]:
    """Give a segment with runs of rows that follow each other as the first of them, and how many more as a number below 0."""
    assert isinstance(segment, tuple)
    made: list[int] = []
    for before, row in zip((None, *segment), segment, strict=False):
        if before is None or row != before + 1:
            made.append(row)
        elif made[-1] < 0:
            made[-1] -= 1
        else:
            made.append(-1)
    return made


def _conditions(encoder: Encoder, conditions: Conditions) -> list[list[object]]:
    return [[encoder.terms.number(text), relation, int(found)] for (text, relation), found in conditions.noted.items()]


def _patterned(patterns: Table, whole: Graph, graph: Graph) -> tuple[int, list[int]]:
    """Give the number of a graph's pattern, and the segment of each kind: the pattern of the first graph where it is one of that."""
    kinds: dict[int, int] = {}
    if graph.blocks == whole.blocks and _is_function(zip(whole.segments, graph.segments, strict=True)):
        pairs = zip(whole.segments, graph.segments, strict=True)
        of = whole
    else:
        pairs = zip(graph.segments, graph.segments, strict=True)
        of = graph
    for kind, segment in pairs:
        kinds.setdefault(kind, segment)
    numbers = {kind: number for number, kind in enumerate(kinds)}
    return patterns.number((tuple(numbers[kind] for kind in of.segments), of.blocks)), list(kinds.values())


def _is_function(pairs: Iterable[tuple[int, int]]) -> bool:
    found: dict[int, int] = {}
    return all(found.setdefault(kind, segment) == segment for kind, segment in pairs)
