"""A model's tensors for a page: each role once, with runs of blocks in which its type, shape and size are the same."""

from __future__ import annotations

import re

from generator.memory.backends import computes
from generator.memory.graph.tensor import shape, strides
from generator.memory.model import Model, Tensor
from generator.memory.overrides import EXPERTS
from generator.memory.placement import is_of_first_layer
from generator.planner.encode import Table

EXPERT, INPUT, FIRST_LAYER, NOT_COMPUTED = 1, 2, 4, 8
"""Flags of a role: what -ncmoe moves, what stays with the input, what goes with the first block, what the backend does not compute."""

_ROLE = re.compile(r"blk\.\d+\.(.*)")
_EXPERTS = re.compile(EXPERTS)


def weights_data(model: Model, backend: str) -> dict[str, object]:
    """Give the loaded tensors by role, the numbers of their types and shapes beside.

    A role has its name, its flags, and for each run of blocks: type, shape, first block, how many, and bytes where those are not what the
    type and the shape come to. One outside of blocks has a name that begins with `/`.
    """
    types, shapes = Table(), Table()
    roles: dict[tuple[str, int], list[list[int]]] = {}
    for tensor in model.loaded(draft_head=False):
        runs = roles.setdefault((role_name(tensor), _flags(model, tensor, backend)), [])
        kind = [types.number(tensor.type), shapes.number(tensor.shape)]
        more = [int(tensor.size)] if int(tensor.size) != _nbytes(tensor) else []
        index = tensor.block or 0
        if runs and runs[-1][:2] == kind and runs[-1][4:] == more and runs[-1][2] + runs[-1][3] == index:
            runs[-1][3] += 1
        else:
            runs.append([*kind, index, 1, *more])
    return {"types": types.things, "shapes": shapes.things, "roles": [[name, flags, *runs] for (name, flags), runs in roles.items()]}


def role_name(tensor: Tensor) -> str:
    """Give the name of a tensor without its block, one outside of blocks with a stroke before it."""
    found = _ROLE.fullmatch(tensor.name)
    return found[1] if found else f"/{tensor.name}"


def _flags(model: Model, tensor: Tensor, backend: str) -> int:
    flags = EXPERT if _EXPERTS.search(tensor.name) else 0
    if tensor.block is not None:
        return flags if computes(backend, model, tensor) else flags + NOT_COMPUTED
    if is_of_first_layer(model, tensor):
        return flags + FIRST_LAYER
    return flags + INPUT if tensor.is_input else flags


def _nbytes(tensor: Tensor) -> int:
    ne = shape(*tensor.shape)
    return strides(tensor.type, ne)[3] * ne[3]
