"""Guides for running a language model on a given card, in which no number is typed by hand and no claim is undated.

    import generator
    plan = generator.plan("model.gguf", "-ngl 99 -c 32768 -fa on")
    plan.gpus[0].weights, plan.host.weights   # bytes

The names below are the public face; they are imported when first used, so that the command line starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generator.errors import GenError, RefusedSettings, UnsupportedArchitecture
    from generator.memory.plan import Device, Draft, Plan
    from generator.memory.settings import Settings, parse_flags
    from generator.planning import plan

__all__ = [
    "Device",
    "Draft",
    "GenError",
    "Plan",
    "RefusedSettings",
    "Settings",
    "UnsupportedArchitecture",
    "parse_flags",
    "plan",
]

_HOMES = {
    "Device": "generator.memory.plan",
    "Draft": "generator.memory.plan",
    "GenError": "generator.errors",
    "Plan": "generator.memory.plan",
    "RefusedSettings": "generator.errors",
    "Settings": "generator.memory.settings",
    "UnsupportedArchitecture": "generator.errors",
    "parse_flags": "generator.memory.settings",
    "plan": "generator.planning",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'generator' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
