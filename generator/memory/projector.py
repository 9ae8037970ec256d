"""A vision projector: a second file whose tensors go to one device whole.

Source: llama.cpp tools/mtmd/clip.cpp (`clip_init` loads all tensors to one backend), common/arg.cpp (--mmproj-offload, --mmproj-device).
"""

from __future__ import annotations

from dataclasses import dataclass

from generator.memory.model import Model
from generator.memory.placement import HOST, device_named
from generator.memory.settings import Settings
from generator.quantity import Quantity


@dataclass(frozen=True, slots=True)
class Projector:
    """The projector's weights in bytes, and the device they are on (HOST or an index). Its own working buffers are not known here."""

    weights: Quantity
    device: int


def projector_of(model: Model, settings: Settings, gpus: int) -> Projector:
    """Give where a projector goes: to the device that is named for it, else to the first one, unless it is kept on the host.

    Raises RefusedSettings for a device that is not here.
    """
    weights = model.size_of(model.tensors, "tensors of the projector")
    if not settings.mmproj_offload or not gpus:
        return Projector(weights, HOST)
    named = settings.mmproj_device
    return Projector(weights, 0 if named is None else device_named(named, gpus))
