"""What a depth of offload puts where and what a token reads there, without a graph: weights, caches, states.

The figures are those of `memory.plan`, as bare numbers and for all depths at once: a tensor is placed once, and moving the split
between host and card is a sum over blocks. What a plan adds to them is the compute buffer, which needs the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate

from generator.gguf.types import F16_BYTES, F32_BYTES
from generator.memory import kv_cache, recurrent
from generator.memory.architectures import layers_of
from generator.memory.budget import Policy
from generator.memory.compute import attention_scores
from generator.memory.context import Context, context_of
from generator.memory.flash import settled
from generator.memory.host import logits
from generator.memory.ladder import Caches
from generator.memory.layers import Cache, Layers
from generator.memory.model import Model
from generator.memory.overrides import buffer_type_of
from generator.memory.placement import HEAD_IS_INPUT, HOST, Placed, Placement, place
from generator.memory.settings import Settings
from generator.solve.grid import Depth


@dataclass(frozen=True, slots=True)
class Share:
    """One depth's weights in bytes: what is loaded on the card and on the host, and what a token reads of it on either side.

    `first` is the first block whose layer is on the card. Of routed experts a token reads the share that its router picks, of the input
    layer one row, which is not counted (see `traffic.decode`).
    """

    first: int
    card: int
    host: int
    card_read: Fraction
    host_read: Fraction


class Footprint:
    """Weights, caches and states of one model under settings that leave context, cache types, micro-batch and depth open.

    `shares` are those of the grid's depths (see `shares_of`), in their order.
    """

    def __init__(self, model: Model, settings: Settings, shares: Sequence[Share], build: str | None, policy: Policy) -> None:
        self.model, self.settings, self.shares = model, settled(model, settings), shares
        self.layers: Layers = layers_of(model, build)
        self.blocks = int(model.block_count)
        self._embedding = sum(int(tensor.size) for tensor in model.tensors if tensor.is_input) if policy is Policy.PUBLISHED else 0
        self._states = self._state_sums()
        self._sums: dict[tuple[int, Caches, int], list[int]] = {}

    def beside_weights(self, n_ctx: int, caches: Caches, n_ubatch: int) -> list[int]:
        """Give bytes of caches and states that are on the card when the first block on it is block 0, 1, …, and none."""
        key = (n_ctx, caches, n_ubatch)
        if key not in self._sums:
            settings = replace(self.settings, n_ctx=n_ctx, n_ubatch=n_ubatch)
            context = context_of(self.model, settings)
            sums = [*self._states]
            for cache in self.layers.caches:
                sums = _added(sums, self._cache_sums(cache, caches, context))
            if settings.drafts_with_own_head:
                for cache in self.layers.draft:
                    sums = _added(sums, self._cache_sums(cache, (settings.type_k_draft, settings.type_v_draft), context))
            self._sums[key] = sums
        return self._sums[key]

    def card(self, n_ctx: int, caches: Caches, n_ubatch: int) -> list[int]:
        """Give the bytes on the card at each depth, the input embedding among them where the policy counts it there."""
        sums = self._on_card(n_ctx, caches, n_ubatch)
        return [share.card + sums[share.first] + self._embedding for share in self.shares]

    def least_compute(self, n_ctx: int, n_ubatch: int) -> tuple[list[int], int]:
        """Give bytes that compute buffers take at the least: on the card at each depth, and on the host.

        On the host these are inputs of the graph: the attention mask, F16 or more for every cell and token of a micro-batch, and rows of
        the embedding, those that come as they are and those that are looked up there; and beside the graph the logits that are handed
        over. On the card it is, without flash attention, one block's scores. Only caches of a whole context count.
        """
        context = context_of(self.model, replace(self.settings, n_ctx=n_ctx, n_ubatch=n_ubatch))
        whole = [cache for cache in self.layers.caches if cache.values is not None and not cache.window and not cache.ratio]
        blocks = [block for cache in whole for block in cache.blocks]
        row = F32_BYTES * int(self.model.number("embedding_length", 0))
        rows = row if self.settings.overrides else 2 * row
        host = (rows + F16_BYTES * int(context.cells) * bool(blocks)) * int(context.n_ubatch) + int(logits(self.model, context))
        if self.settings.flash_attn != "off" or not self.settings.kv_offload or not blocks:
            return [0] * len(self.shares), host
        each = [0] * self.blocks
        for block in blocks:
            each[block] = int(attention_scores(self.model, block, context.cells, context.n_ubatch))
        largest = [*accumulate(reversed(each), max, initial=0)][::-1]
        return [largest[share.first] for share in self.shares], host

    def host(self, n_ctx: int, caches: Caches, n_ubatch: int) -> list[int]:
        """Give the bytes on the host at each depth, as the engine places things."""
        sums, everything = self._on_card(n_ctx, caches, n_ubatch), self.beside_weights(n_ctx, caches, n_ubatch)[0]
        return [share.host + everything - sums[share.first] for share in self.shares]

    def reads(self) -> list[tuple[Fraction, Fraction]]:
        """Give what a token reads on the host and on the card at each depth, with empty caches: weights and states."""
        on_card = self._states if self.settings.kv_offload else [0] * len(self._states)
        everything = self._states[0]
        return [(share.host_read + everything - on_card[share.first], share.card_read + on_card[share.first]) for share in self.shares]

    def _on_card(self, n_ctx: int, caches: Caches, n_ubatch: int) -> list[int]:
        sums = self.beside_weights(n_ctx, caches, n_ubatch)
        return sums if self.settings.kv_offload else [0] * len(sums)

    def _cache_sums(self, cache: Cache, caches: Caches, context: Context) -> list[int]:
        cells = int(kv_cache.cells_of(cache, context, swa_full=self.settings.swa_full))
        padded, by_row, each = self.settings.flash_attn == "off", dict[tuple[int, int], int](), [0] * self.blocks
        for block in cache.blocks:
            rows = (int(cache.keys[block]), int(cache.values[block]) if cache.values else 0)
            if rows not in by_row:
                by_row[rows] = int(kv_cache.bytes_per_token(cache, [block], *caches, padded_values=padded) * cells)
            each[block] = by_row[rows]
        return _from_each_on(each)

    def _state_sums(self) -> list[int]:
        context = context_of(self.model, replace(self.settings, n_ctx=1))
        copies = self.settings.rollback_depth if self.layers.rolls_back else 0
        each = [0] * self.blocks
        for state in self.layers.states:
            size = int(recurrent.state_bytes(recurrent.bytes_per_block(state), 1, context, copies))
            for block in state.blocks:
                each[block] += size
        return _from_each_on(each)


def _from_each_on(sizes: Sequence[int]) -> list[int]:
    """Give the sum of all sizes, of all but the first, …, and of none."""
    return [*accumulate(reversed(sizes), initial=0)][::-1]


def _added(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [one + other for one, other in zip(left, right, strict=True)]


# --- weights ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Part:
    """Tensors that move together: bytes loaded, those of them that a token reads whole, and those it reads a router's share of."""

    loaded: int = 0
    whole: int = 0
    routed: int = 0

    def __add__(self, other: _Part) -> _Part:
        return _Part(self.loaded + other.loaded, self.whole + other.whole, self.routed + other.routed)

    def add(self, placed: Placed) -> None:
        """Add a tensor; an input embedding on the card is there as the output head, on the host a token reads one row of it."""
        size = int(placed.tensor.size)
        self.loaded += size
        if placed.tensor.routed_expert:
            self.routed += size
        elif placed.device != HOST or not placed.tensor.is_input:
            self.whole += size


@dataclass(frozen=True, slots=True)
class _Parts:
    """All that is loaded with every layer on the card, by what moves it to the host; `dense` and `experts` from a block on.

    `fixed` stays on the card by an override, `outer` goes with the first block, `output` with the last layer. Without a layer on the card
    `alone` bytes are on the host: a tied embedding is not loaded a second time then.
    """

    everything: _Part
    fixed: _Part
    outer: _Part
    output: _Part
    dense: list[_Part]
    experts: list[_Part]
    alone: int


def shares_of(model: Model, settings: Settings, depths: Sequence[Depth], backend: str) -> list[Share]:
    """Give the share of each depth: tensors placed with all layers on the card, and moved from there."""
    parts, used = _parts(model, settings, backend), _used(model)
    return [_share(depth, parts, used) for depth in depths]


def _share(depth: Depth, parts: _Parts, used: Fraction) -> Share:
    count = len(parts.dense) - 1
    layers = min(depth.n_gpu_layers, count + 1)
    first = min(count + 1 - layers, count)
    card = parts.fixed + parts.dense[first] + parts.experts[min(max(first, depth.n_cpu_moe), count)]
    if layers > count:
        card += parts.outer
    if layers:
        card += parts.output
    card_read, read = card.whole + card.routed * used, parts.everything.whole + parts.everything.routed * used
    return Share(first, card.loaded, parts.everything.loaded - card.loaded if layers else parts.alone, card_read, read - card_read)


def _parts(model: Model, settings: Settings, backend: str) -> _Parts:
    blocks = int(model.block_count)
    given = replace(settings.with_n_cpu_moe(0), n_gpu_layers=blocks + 1)
    everything, fixed, outer, output = (_Part() for _ in range(4))
    dense, experts = ([_Part() for _ in range(blocks)] for _ in range(2))
    with_output = _outside_with_output(model, given, backend)
    for placed in _placed(model, given, backend).tensors:
        tensor = placed.tensor
        everything.add(placed)
        if placed.device == HOST:
            continue
        if given.overrides and buffer_type_of(tensor.name, given.overrides) is not None:
            fixed.add(placed)
        elif tensor.block is None:
            (output if tensor.name in with_output else outer).add(placed)
        else:
            (experts if tensor.routed_expert else dense)[tensor.block].add(placed)
    if model.tied_embedding and model.architecture in HEAD_IS_INPUT:
        everything.whole += sum(int(tensor.size) for tensor in model.tensors if tensor.name == "token_embd.weight")
    alone = _placed(model, replace(given, n_gpu_layers=0), backend)
    on_host = sum(int(placed.tensor.size) for placed in alone.tensors if placed.device == HOST)
    return _Parts(everything, fixed, outer, output, _suffixes(dense), _suffixes(experts), on_host)


def _placed(model: Model, settings: Settings, backend: str) -> Placement:
    return place(model, settings, 1, draft_head=settings.loads_draft_head, backend=backend)


def _outside_with_output(model: Model, settings: Settings, backend: str) -> frozenset[str]:
    """Give the tensors outside the blocks that are on the card as long as the output layer is; others go with the first block."""
    placement = _placed(model, replace(settings, n_gpu_layers=1), backend)
    return frozenset(placed.tensor.name for placed in placement.tensors if placed.device != HOST and placed.tensor.block is None)


def _used(model: Model) -> Fraction:
    """Give the share of its routed experts that a block uses for a token."""
    if not model.experts():
        return Fraction(1)
    return Fraction(model.number("expert_used_count").number) / Fraction(model.number("expert_count").number)


def _suffixes(parts: Sequence[_Part]) -> list[_Part]:
    """Give the sum of all parts, of all but the first, …, and of none."""
    return [*accumulate(reversed(parts), initial=_Part())][::-1]
