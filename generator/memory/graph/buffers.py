"""The compute buffers of a run: its worst-case graph made, scheduled and allocated, with what fills each buffer at its fullest.

Source: llama.cpp src/llama-context.cpp, `sched_reserve`; tools/server/server-context.cpp and common/speculative.cpp for the outputs
that a program reserves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generator.gguf.types import block
from generator.memory import backends
from generator.memory.context import Context
from generator.memory.graph import delta_nets, kimi, latent, state_spaces, windowed
from generator.memory.graph.allocate import Peak, allocate
from generator.memory.graph.builder import Batch, Builder, CacheView
from generator.memory.graph.decoder import decoder
from generator.memory.graph.schedule import COPIES, Devices, schedule
from generator.memory.graph.tensor import Tensor
from generator.memory.kv_cache import cells_of
from generator.memory.layers import Cache, Layers
from generator.memory.model import Model
from generator.memory.placement import HOST, Placement
from generator.memory.rows import head_length
from generator.memory.settings import Settings

ALIGNMENT = 128
"""Bytes to which a device aligns a tensor (ggml/src/ggml-cuda/ggml-cuda.cu)."""

HOST_ALIGNMENT = 32
"""Bytes to which the host does (ggml/src/ggml-impl.h, TENSOR_ALIGNMENT)."""

GRAPHS: Mapping[str, Callable[[Builder], None]] = MappingProxyType(
    {**windowed.GRAPHS, **latent.GRAPHS, **delta_nets.GRAPHS, **kimi.GRAPHS, **state_spaces.GRAPHS}
)
"""Architectures with a graph of their own; the others are plain decoders."""


def compute_buffers(
    model: Model, layers: Layers, context: Context, settings: Settings, placement: Placement, gpus: int, backend: str
) -> list[Peak]:
    """Give the peak of each device's compute buffer, in the order of devices, the host's last."""
    builder = _builder(model, layers, context, settings, placement, gpus)
    GRAPHS.get(model.architecture, decoder)(builder)
    offloads = settings.op_offload and backend not in backends.TAKES_NOTHING_OVER
    devices = Devices(host=gpus, offloads=offloads, copies=COPIES if works_as_pipeline(model, settings, placement, gpus) else 1)
    planned = schedule(builder.leafs, builder.nodes, devices)
    return allocate(planned.leafs, planned.nodes, [*(ALIGNMENT,) * gpus, HOST_ALIGNMENT], _size)


def works_as_pipeline(model: Model, settings: Settings, placement: Placement, gpus: int) -> bool:
    """Tell whether devices work on several micro-batches at once, for which each input is kept several times.

    Source: src/llama-context.cpp, `pipeline_parallel`: all layers on several devices, and nothing placed by hand.
    """
    whole = all(device != HOST for device in (*placement.layer_devices, placement.output_device))
    several = len({*placement.layer_devices, placement.output_device}) > 1 and gpus > 1
    return whole and several and settings.split_mode == "layer" and settings.kv_offload and not settings.overrides


def _size(tensor: Tensor) -> int:
    return tensor.nbytes


def _builder(model: Model, layers: Layers, context: Context, settings: Settings, placement: Placement, gpus: int) -> Builder:
    where = {placed.tensor.name: _index(placed.device, gpus) for placed in placement.tensors[::-1]}  # a tied embedding's own place first
    where["output"] = _index(placement.output_device, gpus)

    def layer_device(il: int) -> int:
        return _index(placement.layer_devices[il], gpus) if settings.kv_offload else gpus

    batch = batch_of(context, settings, layers)
    made = [cache_view(model, cache, context, settings) for cache in layers.caches]
    views = {block: view for cache, view in zip(layers.caches, made, strict=True) for block in cache.blocks}
    builder = Builder(model, batch, views, where.get, layer_device, lambda il: _index(placement.layer_devices[il], gpus))
    builder.every_cache = tuple(made)
    builder.attention_device = None if settings.kv_offload else gpus
    return builder


def _index(device: int, gpus: int) -> int:
    return gpus if device == HOST else device


def batch_of(context: Context, settings: Settings, layers: Layers) -> Batch:
    """Give the batch of the worst case: a micro-batch, in whole shares of the sequences, and the outputs that a program reserves.

    States have a row a sequence (src/llama-model.cpp, `create_memory`), and copies for a draft where it can be taken back.
    """
    sequences = int(context.sequences)
    asked = min(int(context.total_cells), int(context.n_ubatch))
    tokens = -(-asked // sequences) * sequences
    unified = int(context.streams) == 1
    outputs = min(asked, outputs_of(context, settings))
    rollback = settings.rollback_depth if layers.rolls_back else 0
    return Batch(tokens, sequences, outputs, unified, settings.flash_attn != "off", state_rows=sequences, rollback=rollback)


def outputs_of(context: Context, settings: Settings) -> int:
    """Give the tokens whose logits a program keeps: llama-server's slots and their drafts, elsewhere a whole batch."""
    if settings.program != "llama-server" or settings.embedding:
        return int(context.n_batch)
    drafted = settings.spec_draft_n_max if settings.spec_type else 0
    return int(context.sequences) * (1 + drafted)


def cache_view(model: Model, cache: Cache, context: Context, settings: Settings) -> CacheView:
    """Give a cache as the graph sees it."""
    streams = int(context.sequences if cache.per_sequence else context.streams)
    cells = int(cells_of(cache, context, swa_full=settings.swa_full)) // streams
    keys = {il: int(elements) for il, elements in cache.keys.items()}
    values = None if cache.values is None else {il: int(elements) for il, elements in cache.values.items()}
    widest = 0 if cache.widest_value is None else int(cache.widest_value)
    return CacheView(
        *(cells, streams, settings.type_k.upper(), settings.type_v.upper(), keys, values),
        transposed=settings.flash_attn == "off",
        widest_value=widest,
        rotates_keys=_rotation(model, cache, settings.type_k, "key"),
        rotates_values=64 if values is not None and _rotates(model, settings.type_v, "value") else 0,
    )


SMALLEST_ROTATION = 64
"""Elements of the smallest rotation before quantised rows (src/llama-kv-cache.cpp)."""


def _rotates(model: Model, kind: str, part: str) -> bool:
    """Tell whether rows of a cache are rotated before they are quantised (src/llama-kv-cache.cpp, `attn_rot_k`)."""
    return block(kind)[0] > 1 and int(head_length(model, part)) % SMALLEST_ROTATION == 0


def _rotation(model: Model, cache: Cache, kind: str, part: str) -> int:
    """Give the elements that K is rotated by: the largest power of two that divides its head (`build_input_k_rot`)."""
    windowed = cache.window is not None
    head = int(head_length(model, part, windowed=windowed))
    if not _rotates(model, kind, part) or not head:
        return 0
    size = SMALLEST_ROTATION
    while not head % (size * 2):
        size *= 2
    return size
