"""Where each tensor of a graph is put, and what that takes at most: the engine's own allocator, move for move.

Source: llama.cpp ggml/src/ggml-alloc.c (`ggml_gallocr_alloc_graph_impl` and the dynamic allocator below it). A tensor's room is given
back as soon as nothing reads it any more; the smallest gap that is large enough is taken, else the end; some operations write over
an operand.

site/assets/planner/allocate.js does the same in a browser, move for move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from generator.memory.graph.tensor import IN_PLACE, NONE, Tensor

ENDLESS = 1 << 62


class Arena:
    """One device's memory for a graph: gaps in their order, and the highest address used so far."""

    __slots__ = ("alignment", "gaps", "highest")

    def __init__(self, alignment: int) -> None:
        self.alignment = alignment
        self.gaps: list[list[int]] = [[0, ENDLESS]]
        self.highest = 0

    def padded(self, size: int) -> int:
        """Give a size in whole units of alignment."""
        return -(-size // self.alignment) * self.alignment

    def take(self, size: int) -> int:
        """Give the address of room for `size` padded bytes."""
        gaps, best, best_size = self.gaps, len(self.gaps) - 1, ENDLESS
        for index in range(len(gaps) - 1):
            here = gaps[index][1]
            if size <= here <= best_size:
                best, best_size = index, here
        gap = gaps[best]
        address = gap[0]
        gap[0] += size
        gap[1] -= size
        if not gap[1]:
            del gaps[best]
        self.highest = max(self.highest, address + size)
        return address

    def give_back(self, address: int, size: int) -> None:
        """Free `size` padded bytes, and join the gap with its neighbours. Gaps of no bytes, left by tensors of none, may lie within."""
        gaps = self.gaps
        for index, gap in enumerate(gaps):
            if gap[0] + gap[1] == address:
                gap[1] += size
                if index + 1 < len(gaps) and gap[0] + gap[1] == gaps[index + 1][0]:
                    gap[1] += gaps.pop(index + 1)[1]
                return
            if address + size == gap[0]:
                gap[0], gap[1] = address, gap[1] + size
                return
        place = next((index for index, gap in enumerate(gaps) if gap[0] >= address), len(gaps))
        gaps.insert(place, [address, size])


@dataclass(slots=True)
class Peak:
    """The most a device's memory held: its size in bytes, and the tensors that were in it then, with their padded sizes."""

    size: int = 0
    held: list[tuple[Tensor, int]] = field(default_factory=list)


def allocate(leafs: Sequence[Tensor], nodes: Sequence[Tensor], alignments: Sequence[int], size_of: Callable[[Tensor], int]) -> list[Peak]:
    """Put every tensor of a scheduled graph that nobody has put yet; give the peak of each device."""
    return _Allocation(alignments, size_of).run(leafs, nodes)


class _Allocation:
    def __init__(self, alignments: Sequence[int], size_of: Callable[[Tensor], int]) -> None:
        self.arenas = [Arena(alignment) for alignment in alignments]
        self.size_of = size_of
        self.live: list[dict[int, tuple[Tensor, int]]] = [{} for _ in alignments]
        self.peaks = [Peak() for _ in alignments]

    def run(self, leafs: Sequence[Tensor], nodes: Sequence[Tensor]) -> list[Peak]:
        for leaf in leafs:
            self._put(leaf, leaf.device)
        for node in nodes:
            self._count(node)
        for node in nodes:
            for operand in node.src:
                if not operand.held:
                    self._put(operand, node.device)
            self._put(node, node.device)
            for operand in node.src:
                operand.children -= 1
                if not operand.children and not operand.views:
                    self._let_go(operand)
        return self.peaks

    def _count(self, node: Tensor) -> None:
        """Count who reads and who shows a tensor, and put what the host fills in before anything else."""
        if node.view is not None and node.op != NONE:
            node.view.views += 1
        if node.is_input:
            self._put(node, node.device)
        for operand in node.src:
            operand.children += 1
            if operand.is_input:
                self._put(operand, node.device)

    def _put(self, tensor: Tensor, device: int | None) -> None:
        if tensor.held or tensor.view is not None or tensor.home is not None:
            return
        tensor.held = True
        if tensor.op in IN_PLACE and self._take_over(tensor):
            return
        assert device is not None
        arena = self.arenas[device]
        size = arena.padded(self.size_of(tensor))
        before = arena.highest
        tensor.address, tensor.place, tensor.size = arena.take(size), device, size
        self.live[device][id(tensor)] = (tensor, size)
        if arena.highest > before:
            self.peaks[device] = Peak(arena.highest, list(self.live[device].values()))

    def _take_over(self, tensor: Tensor) -> bool:
        """Try to write over an operand that nothing else reads; the engine never does so through a view."""
        for operand in tensor.src:
            alone = operand.held and operand is not tensor and operand.children == 1 and not operand.views
            if alone and not operand.is_output and operand.has_layout_of(tensor):
                self._succeed(tensor, operand)
                return True
        return False

    def _succeed(self, tensor: Tensor, operand: Tensor) -> None:
        tensor.address, tensor.place, tensor.size = operand.address, operand.place, operand.size
        operand.held = False
        live = self.live[operand.place]
        live.pop(id(operand), None)
        live[id(tensor)] = (tensor, tensor.size)

    def _let_go(self, operand: Tensor) -> None:
        """Give back the room of what nothing reads or shows any more, of a view that of what it shows."""
        root = operand.view
        if root is None:
            self._free(operand)
            return
        root.views -= 1
        if not root.views and not root.children:
            self._free(root)

    def _free(self, tensor: Tensor) -> None:
        if tensor.held and not tensor.is_output:
            self.arenas[tensor.place].give_back(tensor.address, tensor.size)
            self.live[tensor.place].pop(id(tensor), None)
            tensor.held = False
