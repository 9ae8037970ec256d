"""The plan: what the engine would allocate on the host and on each device, term by term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from generator.errors import RefusedSettings
from generator.memory import kv_cache, recurrent
from generator.memory.architectures import layers_of
from generator.memory.backends import backend_of
from generator.memory.compute import declared_reserve
from generator.memory.context import Context, context_of
from generator.memory.flash import is_on, leaves_a_choice, settled
from generator.memory.graph.allocate import Peak
from generator.memory.graph.buffers import Engine, compute_buffers, draft_buffers, flash_stays
from generator.memory.graph.terms import Buffer, buffer_of
from generator.memory.graph.unknown import MisfitError, UnknownGraphError
from generator.memory.layers import Cache, Layers
from generator.memory.model import Model
from generator.memory.placement import HOST, Placement, place
from generator.memory.projector import Projector, projector_of
from generator.memory.refusals import refuse, refuse_cache, refuse_outputs
from generator.memory.settings import Settings
from generator.quantity import BYTE, Quantity, total


@dataclass(frozen=True, slots=True)
class Held:
    """What one device holds whatever it computes, as quantities in bytes, each with its derivation."""

    weights: Quantity
    kv: Quantity
    recurrent: Quantity

    @property
    def held(self) -> Quantity:
        """The three together."""
        return self.weights + self.kv + self.recurrent


@dataclass(frozen=True, slots=True)
class Terms(Held):
    """One device's memory as quantities in bytes, each with its derivation; `buffer` is what `compute` consists of."""

    buffer: Buffer

    @property
    def compute(self) -> Quantity:
        """The compute buffer."""
        return self.buffer.size

    @property
    def total(self) -> Quantity:
        """All four together."""
        return self.held + self.compute


@dataclass(frozen=True, slots=True)
class Device:
    """One device's memory in bytes; `terms` are the same figures with their derivations.

    `compute` is the peak of the worst-case graph on the device.
    """

    name: str
    terms: Terms

    @property
    def weights(self) -> int:
        """Bytes of tensors."""
        return int(self.terms.weights)

    @property
    def kv(self) -> int:
        """Bytes of the attention cache."""
        return int(self.terms.kv)

    @property
    def recurrent(self) -> int:
        """Bytes of recurrent state."""
        return int(self.terms.recurrent)

    @property
    def compute(self) -> int:
        """Bytes of working buffers: activations, logits, masks, copies of weights on their way."""
        return int(self.terms.compute)

    @property
    def total(self) -> int:
        """All four together."""
        return int(self.terms.total)


@dataclass(frozen=True, slots=True)
class Draft:
    """The context of a draft head: its own cache, on the host and on each device, and its own compute buffers.

    Its block is among the plan's weights, its copies of the recurrent state among the plan's state. `buffers` are those of the devices
    in order, the host's last; none where the head's graph is not known, and `unknown_graph` says why.
    """

    host: Quantity
    gpus: tuple[Quantity, ...]
    buffers: tuple[Buffer, ...] = ()
    unknown_graph: str | None = None

    @property
    def kv(self) -> int:
        """Bytes of the cache, wherever it is."""
        return sum(int(part) for part in (self.host, *self.gpus))

    @property
    def compute(self) -> int:
        """Bytes of the compute buffers, wherever they are."""
        return sum(int(buffer.size) for buffer in self.buffers)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would allocate: the host, each GPU in order, and the draft context where one is asked for.

    `n_ctx` are the cells of all streams, `n_ctx_seq` those one sequence can use. `unknown_graph` says why a graph cannot be
    made of the header; the engine's margin then stands for compute. `projector` is a second file, in no device's terms.
    """

    model: Model
    settings: Settings
    program: str
    build: str | None
    backend: str
    context: Context
    placement: Placement
    host: Device
    gpus: tuple[Device, ...]
    draft: Draft | None
    unknown_graph: str | None = None
    projector: Projector | None = None

    @property
    def n_ctx(self) -> int:
        """Cells of all streams together, after the engine's rounding."""
        return int(self.context.total_cells)

    @property
    def n_ctx_seq(self) -> int:
        """Cells one sequence can use."""
        return int(self.context.cells)


def make_plan(
    model: Model,
    settings: Settings,
    *,
    gpus: int = 1,
    build: str | None = None,
    backend: str | None = None,
    projector: Model | None = None,
) -> Plan:
    """Give the plan of a run at a build on devices of a backend. Raises RefusedSettings and UnsupportedArchitecture."""
    backend = backend or backend_of(build)
    layers = layers_of(model, build)
    settings = settled(model, settings)
    refuse(model, settings)
    context = context_of(model, settings)
    refuse_outputs(context, settings, build)
    refuse_cache(layers, settings, context, backend if gpus else None)
    placement = place(model, settings, gpus, draft_head=settings.loads_draft_head, backend=backend)
    engine = Engine(build, backend, gpus)
    flash = _attends_at_once(model, layers, context, settings, placement, engine)
    compute, unknown = _compute(model, layers, context, settings, placement, engine, flash=flash)
    host = Device("host", _terms(settings, layers, context, placement, HOST, compute[gpus]))
    devices = tuple(Device(f"gpu{index}", _terms(settings, layers, context, placement, index, compute[index])) for index in range(gpus))
    draft = draft_of(layers, settings, context, placement, gpus)
    if draft is not None:
        buffers, why = _draft_compute(model, layers, context, settings, placement, engine, flash=flash)
        draft = replace(draft, buffers=buffers, unknown_graph=why)
    beside = None if projector is None else projector_of(projector, settings, gpus)
    return Plan(model, settings, settings.program, build, backend, context, placement, host, devices, draft, unknown, beside)


def held(model: Model, settings: Settings, *, gpus: int = 1, build: str | None = None, backend: str | None = None) -> tuple[Held, ...]:
    """Give what each device holds in a run, the host's last: a plan without its graph, for settings that the engine is known to take."""
    layers, settings = layers_of(model, build), settled(model, settings)
    context = context_of(model, settings)
    placement = place(model, settings, gpus, draft_head=settings.loads_draft_head, backend=backend or backend_of(build))
    return tuple(_held(settings, layers, context, placement, device) for device in (*range(gpus), HOST))


def _attends_at_once(model: Model, layers: Layers, context: Context, settings: Settings, placement: Placement, engine: Engine) -> bool:
    """Tell whether a run attends with flash attention; -fa auto depends on where the graph's attention is computed."""
    on = is_on(model, layers, settings, placement, engine.backend, engine.build)
    by_hand = settings.overrides or not settings.kv_offload or HOST in placement.layer_devices
    if not on or not leaves_a_choice(settings) or not by_hand or not engine.gpus:
        return on
    try:
        return flash_stays(model, layers, context, settings, placement, engine)
    except UnknownGraphError:
        return on


def _compute(
    model: Model, layers: Layers, context: Context, settings: Settings, placement: Placement, engine: Engine, *, flash: bool
) -> tuple[tuple[Buffer, ...], str | None]:
    """Give the compute buffer of each device, the host's last, and why no graph can be made."""
    try:
        peaks = compute_buffers(model, layers, context, settings, placement, engine, flash=flash)
    except UnknownGraphError as error:
        if isinstance(error, MisfitError):
            _refuse_settings(error, model, layers, settings, placement, engine, flash=flash)
        return (*[Buffer(declared_reserve())] * engine.gpus, Buffer(Quantity.constant(0, BYTE, "not known"))), str(error)
    return _buffers(peaks, model), None


def _refuse_settings(
    error: MisfitError, model: Model, layers: Layers, settings: Settings, placement: Placement, engine: Engine, *, flash: bool
) -> None:
    """Raise RefusedSettings where a graph that ends the engine could be made under other settings, and so is no fault of the header's."""
    turned = replace(settings, flash_attn="off" if flash else "on")
    others = (turned, replace(settings, n_parallel=1), replace(turned, n_parallel=1))
    for other in others:
        attention = not flash if other.flash_attn == turned.flash_attn else flash
        try:
            compute_buffers(model, layers, context_of(model, other), other, placement, engine, flash=attention)
        except UnknownGraphError:
            continue
        raise RefusedSettings(
            f"the engine ends while it makes its graph: {error}",
            rule="graph the engine cannot make",
            remedy="take other settings for sequences (-np) or flash attention (-fa), or another build of the engine",
        ) from error


def _draft_compute(
    model: Model, layers: Layers, context: Context, settings: Settings, placement: Placement, engine: Engine, *, flash: bool
) -> tuple[tuple[Buffer, ...], str | None]:
    """Give the same for the context of a draft head; no buffers where its graph is not known."""
    try:
        return _buffers(draft_buffers(model, layers, context, settings, placement, engine, flash=flash), model), None
    except UnknownGraphError as error:
        return (), str(error)


def _buffers(peaks: Sequence[Peak], model: Model) -> tuple[Buffer, ...]:
    """Give the buffers of peaks, the last of which is the host's."""
    where = [*(f"device {index}'s" for index in range(len(peaks) - 1)), "the host's"]
    return tuple(buffer_of(peak, model, f"what {whose} buffer holds at its fullest") for peak, whose in zip(peaks, where, strict=True))


def _terms(settings: Settings, layers: Layers, context: Context, placement: Placement, device: int, compute: Buffer) -> Terms:
    here = _held(settings, layers, context, placement, device)
    return Terms(here.weights, here.kv, here.recurrent, compute)


def _held(settings: Settings, layers: Layers, context: Context, placement: Placement, device: int) -> Held:
    """Give what one device holds: a block's cache and state are where the block is, on the host with --no-kv-offload."""
    words = "in host memory" if device == HOST else f"on device {device}"
    cache = caches_bytes(layers.caches, (settings.type_k, settings.type_v), settings, context, placement, device)
    return Held(placement.weights(device, words), cache, _states_bytes(layers, settings, context, placement, device))


def caches_bytes(
    caches: tuple[Cache, ...], types: tuple[str, str], settings: Settings, context: Context, placement: Placement, device: int
) -> Quantity:
    """Give what caches of K and V in `types` take on a device."""
    sizes = []
    for cache in caches:
        here = blocks_on(cache.blocks, settings, placement, device)
        per_token = kv_cache.bytes_per_token(cache, here, *types, padded_values=settings.flash_attn == "off")
        sizes.append(kv_cache.cache_bytes(per_token, kv_cache.cells_of(cache, context, swa_full=settings.swa_full)))
    return sizes[0] if len(sizes) == 1 else total(sizes, words="sum of the caches")


def _states_bytes(layers: Layers, settings: Settings, context: Context, placement: Placement, device: int) -> Quantity:
    """Give what recurrent states take on a device, with their copies for a draft where the engine keeps any."""
    copies = settings.rollback_depth if layers.rolls_back else 0
    sizes = []
    for state in layers.states:
        here = blocks_on(state.blocks, settings, placement, device)
        sizes.append(recurrent.state_bytes(recurrent.bytes_per_block(state), len(here), context, copies))
    return sizes[0] if len(sizes) == 1 else total(sizes, words="sum of the recurrent states")


def draft_of(layers: Layers, settings: Settings, context: Context, placement: Placement, gpus: int) -> Draft | None:
    """Give the context of the model's own draft head; None where none is asked for, or another file does the drafting."""
    if not settings.drafts_with_own_head:
        return None

    def cache(device: int) -> Quantity:
        return caches_bytes(layers.draft, (settings.type_k_draft, settings.type_v_draft), settings, context, placement, device)

    return Draft(cache(HOST), tuple(cache(index) for index in range(gpus)))


def blocks_on(blocks: tuple[int, ...], settings: Settings, placement: Placement, device: int) -> tuple[int, ...]:
    """Give those of some blocks whose cache or state is on a device."""
    return tuple(block for block in blocks if (placement.layer_devices[block] if settings.kv_offload else HOST) == device)
