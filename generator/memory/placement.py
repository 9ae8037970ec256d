"""Where each tensor goes: host memory or a device, by -ngl, overrides and the split between devices.

Source: llama.cpp src/llama.cpp, `llama_prepare_model_devices` (-dev, -sm none), src/llama-model.cpp, `load_tensors` (input layer on
the host, layers counted from the end, split points) and src/llama-model-loader.cpp, `create_tensor` (overrides come first; a tied
embedding is loaded again as the output head, unless an override sends both to one buffer).
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from generator.errors import InputError, RefusedSettings, counted
from generator.memory.backends import CUDA, computes
from generator.memory.flag_values import FLOAT_MAX
from generator.memory.model import Model, Tensor
from generator.memory.overrides import buffer_type_of
from generator.memory.settings import Settings
from generator.quantity import Quantity

HOST = -1
"""The index that stands for host memory among devices 0, 1, …"""

HEAD_BEFORE_INPUT = frozenset({"gemma3n", "gemma4"})
"""Architectures that make a tied output head first, so that the embedding is loaded again whatever the buffers (src/models/gemma4.cpp)."""

HEAD_IS_INPUT = frozenset({"bitnet"})
"""Architectures whose head is the embedding itself, in host memory (src/models/bitnet.cpp)."""

FIRST_LAYER = frozenset(
    {"token_embd_norm", "per_layer_model_proj", "per_layer_proj_norm", "rope_freqs", "rope_factors_long", "rope_factors_short"}
)
"""Tensors outside the blocks that go with the first one (src/llama-arch.cpp, LLM_TENSOR_INFOS), by the name before `.weight`."""

_BACKENDS = "CUDA|ROCm|Vulkan|SYCL|MTL|Metal|RPC|CANN|MUSA|OpenCL"
_DEVICE = re.compile(rf"(?:{_BACKENDS})(\d*)")
_DEVICE_BUFFER = re.compile(rf"(?:{_BACKENDS})(\d*)(?:\[.*\])?")


@dataclass(frozen=True, slots=True)
class Placed:
    """A tensor and the device it is loaded to (HOST or an index)."""

    tensor: Tensor
    device: int


@dataclass(frozen=True)
class Placement:
    """Where the loaded tensors of a model go; `layer_devices` are those of its blocks, `output_device` that of the head.

    `used` are the devices that layers may go to, those that the split leaves without any included.
    """

    model: Model
    tensors: tuple[Placed, ...]
    layer_devices: tuple[int, ...]
    output_device: int
    used: tuple[int, ...]

    def weights(self, device: int, words: str) -> Quantity:
        """Give the payload bytes on a device; `words` name the device in the derivation."""
        return self.model.size_of(self._by_device.get(device, ()), f"loaded tensors {words}")

    @cached_property
    def _by_device(self) -> dict[int, list[Tensor]]:
        found: dict[int, list[Tensor]] = {}
        for placed in self.tensors:
            found.setdefault(placed.device, []).append(placed.tensor)
        return found


def place(model: Model, settings: Settings, gpus: int, *, draft_head: bool, backend: str = CUDA) -> Placement:
    """Place every tensor a run loads, on devices of a backend.

    Raises RefusedSettings for a device or a buffer that is not here, InputError for a split whose rules are not known here.
    """
    used = devices_used(settings, gpus)
    for override in settings.overrides:
        _buffer_device(override.buffer_type, gpus)
    *layer_devices, output = _layer_devices(int(model.block_count), settings, used)
    placed = tuple(_placed(model, settings, gpus, tuple(layer_devices), output, backend, draft_head=draft_head))
    for each in placed:
        if each.device != HOST and each.device not in used:
            raise RefusedSettings(
                f"'{each.tensor.name}' is sent to device {each.device}, which this run does not use",
                rule="buffer of an unused device",
                where="-ot",
                remedy="name a device that -dev, -sm and -mg leave in use",
            )
    return Placement(model, placed, tuple(layer_devices), output, used)


def devices_of_layers(model: Model, settings: Settings, gpus: int) -> tuple[int, ...]:
    """Give the device of each block and, last, of the output layer (HOST or an index); raises what `place` does."""
    return tuple(_layer_devices(int(model.block_count), settings, devices_used(settings, gpus)))


def _placed(
    model: Model, settings: Settings, gpus: int, layer_devices: tuple[int, ...], output: int, backend: str, *, draft_head: bool
) -> Iterator[Placed]:
    """Give each loaded tensor its place, and a tied embedding a second one as the output head."""
    for tensor in model.loaded(draft_head=draft_head):
        buffer_type = buffer_type_of(tensor.name, settings.overrides)
        if buffer_type is not None:
            yield Placed(tensor, _buffer_device(buffer_type, gpus))
        elif tensor.block is not None:
            yield Placed(tensor, layer_devices[tensor.block] if computes(backend, model, tensor) else HOST)
        elif is_of_first_layer(model, tensor):
            yield Placed(tensor, layer_devices[0])
        else:
            yield Placed(tensor, HOST if tensor.is_input else output)
    tied = model.named("token_embd.weight") if model.tied_embedding else None
    if tied is None or model.architecture in HEAD_IS_INPUT:
        return
    buffer_type = buffer_type_of(tied.name, settings.overrides)
    if model.architecture in HEAD_BEFORE_INPUT:
        yield Placed(tied, output if buffer_type is None else _buffer_device(buffer_type, gpus))
    elif output != HOST and buffer_type is None:
        yield Placed(tied, output)


def is_of_first_layer(model: Model, tensor: Tensor) -> bool:
    """Tell whether a tensor outside the blocks goes with the first; what LFM2 calls a norm of the embedding is that of the output."""
    name = tensor.name.partition(".")[0]
    return name in FIRST_LAYER and not (name == "token_embd_norm" and model.architecture.startswith("lfm2"))


def devices_used(settings: Settings, gpus: int) -> tuple[int, ...]:
    """Give the devices that layers may go to, in their order: those of -dev, or all, and of these the one of -mg with -sm none."""
    used = tuple(range(gpus))
    if settings.devices:
        used = () if settings.devices == ("none",) else tuple(device_named(name, gpus) for name in settings.devices)
    if settings.split_mode == "none" and used:
        if settings.main_gpu >= len(used):
            raise RefusedSettings(
                f"-mg {settings.main_gpu} with {counted(len(used), 'device')} in use",
                rule="no such main GPU",
                where="-mg",
                remedy="devices are counted from 0",
            )
        used = used[settings.main_gpu :][:1] if settings.main_gpu >= 0 else ()
    if settings.split_mode in {"row", "tensor"} and len(used) > 1:
        raise InputError(
            f"how -sm {settings.split_mode} divides tensors between devices is not known here, so no figure is given",
            where="-sm",
            remedy="give -sm layer, or plan for one device",
        )
    return used


def _layer_devices(count: int, settings: Settings, used: tuple[int, ...]) -> list[int]:
    """Give the device of each block and, last, of the output layer: they move to devices from the last one down.

    The engine holds a layer's position against the split points in single precision, so that is done here.
    """
    asked = settings.n_gpu_layers
    n_gpu_layers = asked if isinstance(asked, int) else count + 1
    moved = min(n_gpu_layers, count + 1) if used else 0
    first = count + 1 - moved
    points = split_points(settings, len(used))
    positions = [_single((index - first) / moved) for index in range(first, count + 1)]
    return [HOST] * first + [used[bisect_right(points, position)] for position in positions]


def split_points(settings: Settings, devices: int) -> list[float]:
    """Give where one device's layers end and the next one's begin, as shares; equal ones where -ts says nothing.

    Without -ts the engine takes the devices' free memory for shares, which is not known here.
    """
    given = [float(part) for part in settings.tensor_split[:devices]]
    parts = given + [0.0] * (devices - len(given)) if any(given) else [1.0] * devices
    if min(parts, default=0.0) < 0 or sum(parts) > FLOAT_MAX:
        raise InputError(
            "what the engine does with shares below 0, or with a sum of shares beyond a single-precision number, is not known here",
            where="-ts",
            remedy="give each device a share from 0 up, such as 3,1",
        )
    ends = list(accumulate(map(_single, parts), lambda left, right: _single(left + right)))
    return [_single(end / ends[-1]) for end in ends]


def _single(value: float) -> float:
    """Round to single precision."""
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


def device_named(name: str, gpus: int) -> int:
    """Give the index of a device named by -dev."""
    match = _DEVICE.fullmatch(name)
    index = int(match[1] or 0) if match else gpus
    if index >= gpus:
        raise RefusedSettings(
            f"there is no device '{name}' here",
            rule="no such device",
            where="-dev",
            remedy="name devices by backend and number, counted from 0, such as CUDA0",
        )
    return index


def _buffer_device(buffer_type: str, gpus: int) -> int:
    if buffer_type == "CPU":
        return HOST
    match = _DEVICE_BUFFER.fullmatch(buffer_type)
    index = int(match[1] or 0) if match else gpus
    if index >= gpus:
        raise RefusedSettings(
            f"'{buffer_type}' is the buffer of no device here",
            rule="unknown buffer type",
            where="-ot",
            remedy="give CPU, or a device by backend and number, such as CUDA0; host buffers of a device (CUDA_Host) are not offered",
        )
    return index
