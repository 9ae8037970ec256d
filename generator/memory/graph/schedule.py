"""Which device computes each tensor of a graph, and what has to be copied to it first.

Source: llama.cpp ggml/src/ggml-backend.cpp, `ggml_backend_sched_split_graph` and `ggml_backend_sched_backend_id_from_cur`. Devices are
numbered as the engine ranks them: 0 and up, the host last.

site/assets/planner/schedule.js does the same in a browser, move for move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from generator.memory.graph.tensor import NONE, VIEWS, Tensor

MIN_OFFLOADED_BATCH = 32
"""Rows from which on a device takes an operation whose weight is on the host (ggml/src/ggml-cuda/ggml-cuda.cu, `offload_op`)."""

COPIES = 4
"""Copies of each input where devices work as a pipeline (ggml/src/ggml-backend.cpp, GGML_SCHED_MAX_COPIES)."""

NO_ROOM_OF_ITS_OWN = frozenset({"ROPE", "FLASH_ATTN_EXT"})
"""Operations whose weights are too small to draw them to where those are."""


def everything(_device: int, _node: Tensor) -> bool:
    """Tell that a device computes every operation."""
    return True


@dataclass(slots=True)
class Devices:
    """Those a graph runs on: `host` is the number of the last one, `copies` how often inputs are kept.

    `offloads` tells whether devices take over operations with weights on the host, `computes` whether a device knows an operation.
    """

    host: int
    offloads: bool = True
    copies: int = 1
    computes: Callable[[int, Tensor], bool] = everything


@dataclass(slots=True)
class Schedule:
    """A graph in the order it is computed, copies of operands included, each with its device."""

    leafs: list[Tensor]
    nodes: list[Tensor]


def schedule(leafs: Sequence[Tensor], nodes: Sequence[Tensor], devices: Devices) -> Schedule:
    """Assign devices to all tensors of a graph and add the copies that those make necessary. The operands of nodes are replaced."""
    _assign_by_operands(leafs, nodes, devices)
    computed = [node for node in nodes if node.op not in VIEWS]
    _expand(computed, devices, host=False)
    _expand(computed[::-1], devices, host=False)
    _expand(computed, devices, host=True)
    _expand(computed[::-1], devices, host=True)
    _assign_rest(nodes, devices)
    return _split(list(leafs), list(nodes), devices)


def _assign_by_operands(leafs: Sequence[Tensor], nodes: Sequence[Tensor], devices: Devices) -> None:
    for leaf in leafs:
        leaf.device = _from_current(leaf, devices)
    for node in nodes:
        node.device = node.pinned if node.pinned is not None else _from_current(node, devices)


def _from_current(tensor: Tensor, devices: Devices) -> int | None:
    """Give the device that a tensor's own memory or its weights call for, None for none."""
    home = tensor.view.home if tensor.view is not None else tensor.home
    if home is not None:
        return home
    if tensor.is_input:
        return devices.host
    if tensor.op in NO_ROOM_OF_ITS_OWN:
        return None
    for operand in tensor.src:
        if operand.is_weight and operand.home is not None:
            return _where_weight_is(tensor, operand.home, devices)
    return None


def _where_weight_is(node: Tensor, home: int, devices: Devices) -> int:
    """Give where an operation with a weight is done: on the weight's device, or on a device that takes it over from the host."""
    where = home if devices.computes(home, node) else devices.host
    if where == devices.host == home and devices.offloads and batch_of(node) >= MIN_OFFLOADED_BATCH:
        for device in range(devices.host):
            if devices.computes(device, node):
                return device
    return where


def batch_of(node: Tensor) -> int:
    """Give the rows that decide whether an operation is worth taking over (ggml/src/ggml-cuda/ggml-cuda.cu, `get_op_batch_size`)."""
    if node.op == "GET_ROWS":
        return 0
    if node.op == "MUL_MAT":
        return node.ne[1]
    return node.ne[2] if node.op in {"MUL_MAT_ID", "ROPE"} else node.rows


def _expand(nodes: Sequence[Tensor], devices: Devices, *, host: bool) -> None:
    """Let each assignment spread over the neighbours that have none; those to the host only when `host`."""
    current: int | None = None
    for node in nodes:
        if node.device is not None:
            current = None if node.device == devices.host and not host else node.device
        elif current is not None and devices.computes(current, node):
            node.device = current


def _assign_rest(nodes: Sequence[Tensor], devices: Devices) -> None:
    for node in nodes:
        if node.device is None and node.op not in VIEWS:
            node.device = _most_operands(node, devices)
    for node in nodes:
        if node.device is None and node.view is not None:
            node.device = node.view.device
        for operand in node.src:
            if operand.device is None:
                operand.device = node.device if operand.view is None else operand.view.device
        if node.device is None:
            node.device = next(device for device in range(devices.host + 1) if devices.computes(device, node))


def _most_operands(node: Tensor, devices: Devices) -> int:
    """Give the device that has most of a node's operands, the first of several."""

    def count(device: int) -> int:
        return sum(1 for operand in node.src if _is_on(operand, device))

    able = [device for device in range(devices.host + 1) if devices.computes(device, node)]
    return max(able or [devices.host], key=lambda device: (count(device), -device))


def _is_on(tensor: Tensor, device: int) -> bool:
    root = tensor.view if tensor.view is not None else tensor
    where = root.home if root.home is not None else tensor.device if tensor.device is not None else root.device
    return where == device


@dataclass(slots=True)
class _Part:
    """A run of nodes on one device, and the operands that are copied there before it starts."""

    device: int
    inputs: list[tuple[Tensor, list[Tensor]]] = field(default_factory=list)
    nodes: list[Tensor] = field(default_factory=list)

    def takes(self, node: Tensor) -> bool:
        """Tell whether a node can go on here: not where it brings a weight while room for other copies may be had again."""
        if node.device != self.device:
            return False
        if not self.inputs:
            return True
        return not any(operand.is_weight and operand.home is not None and operand.home != self.device for operand in node.src)


def _split(leafs: list[Tensor], nodes: list[Tensor], devices: Devices) -> Schedule:
    """Cut the graph where the device changes, or where other weights have to be brought; copy operands at the start of each part."""
    parts: list[_Part] = []
    copied: dict[tuple[int, int], list[Tensor]] = {}
    for node in nodes:
        if node.op in VIEWS:
            if parts:
                parts[-1].nodes.append(node)
            continue
        assert node.device is not None
        if not parts or not parts[-1].takes(node):
            parts.append(_Part(node.device))
        parts[-1].nodes.append(node)
        if any(operand.device != node.device for operand in node.src):
            node.src = tuple(_brought(operand, node, parts[-1], copied, devices.copies) for operand in node.src)
    ordered: list[Tensor] = []
    for part in parts:
        for operand, copies in part.inputs:
            ordered += (_dependency(operand), copies[0])
        ordered += part.nodes
    kept = _pipeline_leafs(leafs, parts, devices.copies) if devices.copies > 1 else []
    return Schedule([*kept, *leafs], ordered)


def _brought(operand: Tensor, node: Tensor, part: _Part, copied: dict[tuple[int, int], list[Tensor]], count: int) -> Tensor:
    """Give an operand as a part of the graph reads it: itself, or its copy on the part's device."""
    if operand is node or operand.device == part.device or _is_on(operand, part.device):
        return operand
    key = (id(operand), part.device)
    if key not in copied:
        copied[key] = [_copy_of(operand, part.device, kept=count > 1) for _ in range(count)]
        part.inputs.append((operand, copied[key]))
    return copied[key][0]


def _copy_of(tensor: Tensor, device: int, *, kept: bool) -> Tensor:
    copy = Tensor(NONE, tensor.type, tensor.ne, (), tensor.name, tensor.nb)
    copy.device = device
    copy.is_input = copy.is_output = kept
    return copy


def _dependency(tensor: Tensor) -> Tensor:
    """Give a node that keeps a tensor until it has been copied."""
    kept = Tensor(NONE, tensor.type, tensor.ne, (tensor,), tensor.name, tensor.nb)
    kept.view = tensor.view or tensor
    kept.device = tensor.device
    return kept


def _pipeline_leafs(leafs: Sequence[Tensor], parts: Sequence[_Part], count: int) -> list[Tensor]:
    """Give what a pipeline keeps for the whole run: the copies of every input, on the host and on each device."""
    kept: list[Tensor] = []
    for leaf in leafs:
        if leaf.is_input:
            assert leaf.device is not None
            leaf.is_output = True
            kept += (leaf, *(_copy_of(leaf, leaf.device, kept=True) for _ in range(count - 1)))
    for part in parts:
        for _, copies in part.inputs:
            kept += copies
    return kept
