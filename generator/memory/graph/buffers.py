"""The compute buffers of a run: its worst-case graph made, scheduled and allocated, with what fills each buffer at its fullest.

Source: llama.cpp src/llama-context.cpp, `sched_reserve`; tools/server/server-context.cpp and common/speculative.cpp for the outputs
that a program reserves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from generator.gguf.types import block
from generator.memory import backends
from generator.memory.backends import unknown_operations
from generator.memory.builds import Build, Builds
from generator.memory.context import Context
from generator.memory.graph import support
from generator.memory.graph.allocate import Peak, allocate
from generator.memory.graph.builder import SMALLEST_ROTATION, Batch, Builder, CacheView, rotation_of
from generator.memory.graph.registry import draft_graph_of, graph_of
from generator.memory.graph.room import ROOM_BY_TENSORS, refuse_larger_graphs
from generator.memory.graph.schedule import COPIES, Devices, schedule
from generator.memory.graph.tensor import Count
from generator.memory.graph.unknown import of_header
from generator.memory.kv_cache import cells_of
from generator.memory.layers import Cache, Layers
from generator.memory.model import Model
from generator.memory.placement import HOST, Placement
from generator.memory.rows import head_length
from generator.memory.settings import Settings
from generator.quantity import ONE, TOKEN, Quantity, smallest

ALIGNMENT = 128
"""Bytes to which a device aligns a tensor (ggml/src/ggml-cuda/ggml-cuda.cu)."""

HOST_ALIGNMENT = 32
"""Bytes to which the host does (ggml/src/ggml-impl.h, TENSOR_ALIGNMENT)."""

MEASURING = frozenset({"llama-fit-params"})
"""Programs that measure the first graph only.

What was to be computed on the host is not (ggml_backend_sched_reserve_size resets that).
"""

LARGEST_ALONE = frozenset({"kimi-linear", "minimax-01"})
"""Architectures with inputs that grow with the square of a sequence's tokens, so that one sequence may need more than several."""

RESERVES_ALONE = Builds(since="v0.5.0")
"""Builds that reserve for one sequence as well; v0.4.0 accepts sequences that do not divide the micro-batch, these do not."""

OUTPUTS_OF_SLOTS = Builds(since="b9849")
"""Builds whose llama-server reserves logits for its slots only; b9010 still reserved a whole micro-batch, as logs of both show."""

MASKS_IN_F32 = Builds(until="v0.4.0")
"""Builds that make masks in F32 and a copy in F16 for flash attention; logs of b9849 show it, the versions from v0.4.0 do not."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What runs a graph: a build (the newest for None) on so many devices of a backend."""

    build: str | None
    backend: str
    gpus: int


def compute_buffers(
    model: Model, layers: Layers, context: Context, settings: Settings, placement: Placement, engine: Engine, *, flash: bool
) -> list[Peak]:
    """Give the peak of each device's compute buffer, in the order of devices, the host's last. Raises UnknownGraphError."""
    with of_header():
        batch = batch_of(context, settings, layers, engine, flash=flash)
        batches = [batch, *_one_token_a_sequence(batch)]
        if _reserves_for_one_sequence(model, context, engine):
            batches.append(batch_of(context, settings, layers, engine, flash=flash, alone=True))
        # Every graph is made, also those that a program does not measure: one may be refused.
        made = [_made(model, layers, context, settings, placement, engine, each) for each in batches]
        reserved = made[:1] if settings.program in MEASURING else made
        return _largest([_peaks(builder, settings, placement, engine) for builder in reserved])


def _one_token_a_sequence(batch: Batch) -> list[Batch]:
    """Give the batch of generation, which the engine reserves for too, where it may need more: where a micro-batch keeps fewer logits."""
    return [replace(batch, tokens=batch.sequences, outputs=batch.sequences)] if batch.outputs < batch.sequences else []


def _largest(peaks: list[list[Peak]]) -> list[Peak]:
    """Give the fullest of each device's buffers, which only grow from one graph to the next."""
    return [max(each, key=lambda peak: int(peak.size)) for each in zip(*peaks, strict=True)]


def _made(
    model: Model, layers: Layers, context: Context, settings: Settings, placement: Placement, engine: Engine, batch: Batch
) -> Builder:
    """Give the graph of a batch."""
    builder = _builder(model, layers, context, settings, placement, engine, batch)
    graph_of(model.architecture)(builder)
    if Build.named(engine.build) in ROOM_BY_TENSORS:
        tokens = min(int(context.n_ubatch), int(context.total_cells))
        refuse_larger_graphs(model.architecture, builder.leafs, builder.nodes, len(placement.tensors), tokens)
    return builder


def flash_stays(model: Model, layers: Layers, context: Context, settings: Settings, placement: Placement, engine: Engine) -> bool:
    """Tell whether every layer's flash attention is computed on the layer's own device, without which -fa auto comes to off.

    The engine looks at a graph of one token a sequence; overrides and -nkvo can draw attention to the host. Raises UnknownGraphError.
    Source: src/llama-context.cpp, `resolve_fused_ops`.
    """
    with of_header():
        whole = batch_of(context, settings, layers, engine, flash=True)
        batch = replace(whole, tokens=whole.sequences, outputs=whole.sequences)
        builder = _made(model, layers, context, settings, placement, engine, batch)
    planned = schedule(builder.leafs, builder.nodes, _devices(settings, placement, engine))
    attending = {node.name: node.device for node in planned.nodes if node.op == "FLASH_ATTN_EXT"}
    layer_devices = {f"fattn-{il}": _index(device, engine.gpus) for il, device in enumerate(placement.layer_devices)}
    return all(layer_devices.get(name, device) == device for name, device in attending.items())


def _reserves_for_one_sequence(model: Model, context: Context, engine: Engine) -> bool:
    """Tell whether the engine makes the graph once more as if all tokens were of one sequence, and reserves for that as well.

    Source: src/llama-context.cpp, `sched_reserve` (TAG_RESERVE_DIAG_DECAY).
    """
    return model.architecture in LARGEST_ALONE and int(context.sequences) > 1 and Build.named(engine.build) in RESERVES_ALONE


def draft_buffers(
    model: Model, layers: Layers, context: Context, settings: Settings, placement: Placement, engine: Engine, *, flash: bool
) -> list[Peak]:
    """Give the same for the context of the model's own draft head, which keeps no state and one token's logits a sequence.

    Source: common/speculative.cpp, `common_base_params_to_speculative`. Raises UnknownGraphError for a draft head that is not known.
    """
    alone = replace(layers, caches=layers.draft, states=(), rolls_back=False)
    asked = replace(settings, program="llama-server", embedding=False, spec_type=())
    asked = replace(asked, type_k=settings.type_k_draft, type_v=settings.type_v_draft)
    with of_header():
        batch = batch_of(context, asked, alone, engine, flash=flash)
        made = [_builder(model, alone, context, asked, placement, engine, each) for each in (batch, *_one_token_a_sequence(batch))]
        for builder in made:
            draft_graph_of(model.architecture)(builder)
        return _largest([_peaks(builder, asked, placement, engine) for builder in made])


def _devices(settings: Settings, placement: Placement, engine: Engine) -> Devices:
    gpus, backend = engine.gpus, engine.backend
    offloads = settings.op_offload and backend not in backends.TAKES_NOTHING_OVER
    copies = COPIES if works_as_pipeline(settings, placement) else 1
    return Devices(gpus, offloads, copies, support.computes(backend, gpus, engine.build, unknown_operations(backend, engine.build)))


def _peaks(builder: Builder, settings: Settings, placement: Placement, engine: Engine) -> list[Peak]:
    gpus, backend = engine.gpus, engine.backend
    planned = schedule(builder.leafs, builder.nodes, _devices(settings, placement, engine))
    alignment = HOST_ALIGNMENT if backend == backends.RPC else ALIGNMENT  # of the far side: a device is the host there
    return allocate(planned.leafs, planned.nodes, [*(alignment,) * gpus, HOST_ALIGNMENT], support.allocated(backend))


def works_as_pipeline(settings: Settings, placement: Placement) -> bool:
    """Tell whether devices work on several micro-batches at once, for which each input is kept several times.

    Devices count that the split leaves without layers. Source: src/llama-context.cpp, `pipeline_parallel`: all layers on devices, of
    which there are several, and nothing placed by hand.
    """
    whole = all(device != HOST for device in (*placement.layer_devices, placement.output_device))
    return whole and len(placement.used) > 1 and settings.split_mode == "layer" and settings.kv_offload and not settings.overrides


def _builder(
    model: Model, layers: Layers, context: Context, settings: Settings, placement: Placement, engine: Engine, batch: Batch
) -> Builder:
    gpus = engine.gpus
    places = [(placed.tensor.name, _index(placed.device, gpus)) for placed in placement.tensors]
    where = dict(reversed(places))  # a tied embedding's own place, before that of its copy for the head
    where["output"] = dict(places).get("token_embd.weight", gpus)

    def layer_device(il: int) -> int:
        return _index(placement.layer_devices[il], gpus) if settings.kv_offload else gpus

    made = [cache_view(model, cache, context, settings) for cache in layers.caches]
    views = {block: view for cache, view in zip(layers.caches, made, strict=True) for block in cache.blocks}
    builder = Builder(model, batch, views, where.get, layer_device, lambda il: _index(placement.layer_devices[il], gpus))
    builder.every_cache = tuple(made)
    builder.attention_device = gpus if not settings.kv_offload and settings.program not in MEASURING else None
    if any(device != HOST for device in placement.layer_devices):
        builder.missing = unknown_operations(engine.backend, engine.build)
    return builder


def _index(device: int, gpus: int) -> int:
    return gpus if device == HOST else device


def batch_of(context: Context, settings: Settings, layers: Layers, engine: Engine, *, flash: bool, alone: bool = False) -> Batch:
    """Give the batch of the worst case: a micro-batch, in whole shares of the sequences, and the outputs that a program reserves.

    `alone` is a batch of which all tokens are of one sequence. States have a row a sequence (src/llama-model.cpp, `create_memory`), and
    copies for a draft where it can be taken back.
    Source: src/llama-context.cpp, `sched_reserve` and `graph_reserve`.
    """
    whole = context.n_ubatch if context.n_ubatch <= context.total_cells else context.total_cells
    asked = whole.without_unit(TOKEN, "one row a token of the micro-batch")
    rows = Count.of(context.sequences)
    sequences = Count.of(Quantity.constant(1, ONE, "one sequence")) if alone else rows
    tokens = asked if sequences == 1 else (asked / context.sequences).rounded_up() * context.sequences
    outputs = smallest([asked, outputs_of(context, settings, engine.build)])
    unified = int(context.streams) == 1
    rollback = settings.rollback_depth if layers.rolls_back else 0
    plain = Build.named(engine.build) in MASKS_IN_F32
    return Batch(Count.of(tokens), sequences, Count.of(outputs), unified, flash, plain, state_rows=rows, rollback=rollback)


def outputs_of(context: Context, settings: Settings, build: str | None) -> Quantity:
    """Give the tokens whose logits a program keeps: llama-server's slots and their drafts up to a batch, elsewhere a whole batch.

    Source: tools/server/server-context.cpp, `server_output_limits`; src/llama-context.cpp, `n_outputs_max` for 0.
    """
    pooled = settings.embedding or settings.pooling not in {None, "none"}
    if settings.program != "llama-server" or pooled or Build.named(build) not in OUTPUTS_OF_SLOTS:
        return context.n_batch.without_unit(TOKEN, "one row of logits a token of the batch")
    batch = Quantity.constant(settings.n_batch, TOKEN, "-b").without_unit(TOKEN, "one row of logits a token of the batch")
    return smallest([batch, context.sequences * Quantity.constant(1 + settings.longest_draft, ONE, "a token and its draft")])


def cache_view(model: Model, cache: Cache, context: Context, settings: Settings) -> CacheView:
    """Give a cache as the graph sees it."""
    streams = context.sequences if cache.per_sequence else context.streams
    cells = (cells_of(cache, context, swa_full=settings.swa_full) / streams).without_unit(TOKEN, "one column a cell")
    keys = {il: Count.of(elements) for il, elements in cache.keys.items()}
    values = None if cache.values is None else {il: Count.of(elements) for il, elements in cache.values.items()}
    widest = 0 if cache.widest_value is None else Count.of(cache.widest_value)
    return CacheView(
        *(Count.of(cells), Count.of(streams), settings.type_k.upper(), settings.type_v.upper(), keys, values),
        transposed=settings.flash_attn == "off",
        widest_value=widest,
        rotates_keys=rotation_of_keys(model, cache, settings.type_k),
        rotates_values=SMALLEST_ROTATION if values is not None and rotates(model, settings.type_v, "value") else 0,
    )


def rotates(model: Model, kind: str, part: str) -> bool:
    """Tell whether rows of a cache are rotated before they are quantised (src/llama-kv-cache.cpp, `attn_rot_k`)."""
    return block(kind)[0] > 1 and int(head_length(model, part)) % SMALLEST_ROTATION == 0


def rotation_of_keys(model: Model, cache: Cache, kind: str) -> int:
    """Give the elements that K is rotated by: the largest power of two that divides its head (`build_input_k_rot`)."""
    head = int(head_length(model, "key", windowed=cache.window is not None))
    return rotation_of(head) if head and rotates(model, kind, "key") else 0
