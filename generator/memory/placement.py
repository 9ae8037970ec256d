"""Where each tensor goes: host memory or a device, by -ngl, overrides and the split between devices.

Source: llama.cpp src/llama-model.cpp, `load_tensors` (input layer on the host, layers counted from the end, split points) and
src/llama-model-loader.cpp, `create_tensor` (overrides come first; a tied embedding is loaded again as the output head).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from generator.errors import RefusedSettings
from generator.memory.model import Model, Tensor
from generator.memory.overrides import buffer_type_of
from generator.memory.settings import Settings
from generator.quantity import Quantity

HOST = -1
"""The index that stands for host memory among devices 0, 1, …"""

ALL_LAYERS = 2**31 - 1

_DEVICE_BUFFER = re.compile(r"(?:CUDA|ROCm|Vulkan|SYCL|MTL|Metal|RPC|CANN|MUSA|OpenCL)(\d*)(?:\[.*\])?")


@dataclass(frozen=True, slots=True)
class Placed:
    """A tensor and the device it is loaded to (HOST or an index)."""

    tensor: Tensor
    device: int


@dataclass(frozen=True)
class Placement:
    """Where the loaded tensors of a model go; `layer_devices` are those of its blocks, `output_device` that of the head."""

    model: Model
    tensors: tuple[Placed, ...]
    layer_devices: tuple[int, ...]
    output_device: int

    def weights(self, device: int, words: str) -> Quantity:
        """Give the payload bytes on a device; `words` name the device in the derivation."""
        return self.model.size_of(self._by_device.get(device, ()), f"loaded tensors {words}")

    @cached_property
    def _by_device(self) -> dict[int, list[Tensor]]:
        found: dict[int, list[Tensor]] = {}
        for placed in self.tensors:
            found.setdefault(placed.device, []).append(placed.tensor)
        return found


def place(model: Model, settings: Settings, gpus: int, *, draft_head: bool) -> Placement:
    """Place every tensor a run loads. Raises RefusedSettings for an override to a buffer no device here has."""
    count = int(model.block_count)
    layer_devices = tuple(_layer_device(index, count, settings, gpus) for index in range(count))
    output = _layer_device(count, count, settings, gpus)
    tensors = model.loaded(draft_head=draft_head)
    return Placement(model, tuple(_placed(model, tensors, settings, gpus, (*layer_devices, output))), layer_devices, output)


def _placed(model: Model, tensors: Iterable[Tensor], settings: Settings, gpus: int, devices: tuple[int, ...]) -> Iterator[Placed]:
    """Give each tensor its place; `devices` are those of the blocks, then that of the output layer."""
    output = devices[-1]
    for tensor in tensors:
        buffer_type = buffer_type_of(tensor.name, settings.overrides)
        if buffer_type is not None:
            yield Placed(tensor, _buffer_device(buffer_type, gpus))
        elif tensor.block is not None:
            yield Placed(tensor, devices[tensor.block])
        else:
            yield Placed(tensor, HOST if tensor.is_input else output)
    tied = model.named("token_embd.weight") if model.tied_embedding else None
    if tied is not None and output != HOST:
        yield Placed(tied, output)


def _layer_device(index: int, count: int, settings: Settings, gpus: int) -> int:
    """Give the device of a layer; `count` itself is the output layer. Layers move to devices from the last one down."""
    asked = settings.n_gpu_layers
    n_gpu_layers = asked if isinstance(asked, int) and asked >= 0 else ALL_LAYERS
    first = max(count + 1 - n_gpu_layers, 0)
    moved = min(n_gpu_layers, count + 1) if gpus else 0
    if index < first or index - first >= moved:
        return HOST
    return bisect_right(_split_points(settings, gpus), (index - first) / moved)


def _split_points(settings: Settings, gpus: int) -> list[float]:
    """Give where one device's layers end and the next one's begin, as shares; equal ones where -ts says nothing."""
    given = [float(part) for part in settings.tensor_split[:gpus]]
    parts = given + [0.0] * (gpus - len(given)) if any(given) else [1.0] * gpus
    ends = list(accumulate(parts))
    return [end / ends[-1] for end in ends]


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
