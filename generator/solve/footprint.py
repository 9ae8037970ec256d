"""What a depth of offload puts where and what a token reads there, without a graph: weights, caches, states.

The figures are those of `memory.plan`, as bare numbers and for all depths at once: a tensor is placed once, and moving the splits
between the host and each card is a sum over blocks. What a plan adds to them is the compute buffer, which needs the graph.

Weights of an estimate are counted at its upper end, as a guide has it (`config.tolerance`), so that nothing fits by its tolerance alone.
What a token reads stays in the middle: it orders settings and rules none out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from generator.config.estimate import Estimate
from generator.config.tolerance import Experts
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
from generator.memory.placement import HEAD_IS_INPUT, HOST, Placed, Placement, devices_of_layers, place
from generator.memory.settings import Settings
from generator.quantity import BYTE, Quantity
from generator.solve.grid import Depth


class Span(NamedTuple):
    """What one card gets at a depth: blocks from `first` up to `end` without it, `weights` in bytes, routed `experts` among them."""

    first: int
    end: int
    weights: int
    experts: int


@dataclass(frozen=True, slots=True)
class Share:
    """One depth's weights in bytes: what is loaded on each card and on the host, and what a token reads of it on either side.

    Of routed experts a token reads the share that its router picks, of the input layer one row, which is not counted (see
    `traffic.decode`).
    """

    cards: tuple[Span, ...]
    host: int
    host_experts: int
    card_read: Fraction
    host_read: Fraction

    @property
    def card(self) -> int:
        """Bytes on all cards."""
        return sum(span.weights for span in self.cards)


class Footprint:
    """Weights, caches and states of one model under settings that leave context, cache types, micro-batch and depth open.

    `shares` are those of the grid's depths (see `shares_of`), in their order. With an `estimate`, weights are those of its upper end.
    """

    def __init__(
        self, model: Model, settings: Settings, shares: Sequence[Share], build: str | None, policy: Policy, estimate: Estimate | None = None
    ) -> None:
        self.model, self.settings, self.shares = model, settled(model, settings), shares
        self.build, self.policy, self.estimate = build, policy, estimate
        self.layers: Layers = layers_of(model, build)
        self.blocks = int(model.block_count)
        self._experts = sum(int(tensor.size) for tensor in model.experts())
        self._weights = [[self._at_most(span.weights, span.experts) for span in share.cards] for share in shares]
        self._host = [self._at_most(share.host, share.host_experts) for share in shares]
        self._embeddings = [[self._embedding(span) for span in share.cards] for share in shares]
        self._states = self._state_sums()
        self._sums: dict[tuple[int, Caches, int], list[int]] = {}

    def beside_weights(self, n_ctx: int, caches: Caches, n_ubatch: int) -> list[int]:
        """Give bytes of caches and states of all blocks, of all but the first, …, and of none."""
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

    def cards(self, n_ctx: int, caches: Caches, n_ubatch: int) -> list[list[int]]:
        """Give the bytes on each card at each depth, the input embedding on the fullest where the policy counts it on a card."""
        sums = self._on_card(n_ctx, caches, n_ubatch)
        pairs = zip(self._weights, self.shares, strict=True)
        found = [[size + _between(sums, span) for size, span in zip(weights, share.cards, strict=True)] for weights, share in pairs]
        for sizes, embeddings in zip(found, self._embeddings, strict=True):
            fullest = sizes.index(max(sizes))
            sizes[fullest] += embeddings[fullest]
        return found

    def least_compute(self, n_ctx: int, n_ubatch: int) -> tuple[list[list[int]], int]:
        """Give bytes that compute buffers take at the least: on each card at each depth, and on the host.

        On the host these are inputs of the graph: the attention mask, F16 or more for every cell and token of a micro-batch, and rows of
        the embedding, those that come as they are and those that are looked up there; and beside the graph the logits that are handed
        over. On a card it is, without flash attention, one block's scores. Only caches of a whole context count.
        """
        context = context_of(self.model, replace(self.settings, n_ctx=n_ctx, n_ubatch=n_ubatch))
        whole = [cache for cache in self.layers.caches if cache.values is not None and not cache.window and not cache.ratio]
        blocks = [block for cache in whole for block in cache.blocks]
        row = F32_BYTES * int(self.model.number("embedding_length", 0))
        rows = row if self.settings.overrides else 2 * row
        host = (rows + F16_BYTES * int(context.cells) * bool(blocks)) * int(context.n_ubatch) + int(logits(self.model, context))
        if self.settings.flash_attn != "off" or not self.settings.kv_offload or not blocks:
            return [[0] * len(share.cards) for share in self.shares], host
        each = [0] * self.blocks
        for block in blocks:
            each[block] = int(attention_scores(self.model, block, context.cells, context.n_ubatch))
        return [[max(each[span.first : span.end], default=0) for span in share.cards] for share in self.shares], host

    def host(self, n_ctx: int, caches: Caches, n_ubatch: int) -> list[int]:
        """Give the bytes on the host at each depth, as the engine places things."""
        sums, everything = self._on_card(n_ctx, caches, n_ubatch), self.beside_weights(n_ctx, caches, n_ubatch)[0]
        return [size + everything - _on_cards(sums, share) for size, share in zip(self._host, self.shares, strict=True)]

    def above_on_host(self, depth: int) -> int:
        """Give by how many bytes the upper end of an estimate is above its middle on the host; 0 where the tensor table is known."""
        return self._host[depth] - self.shares[depth].host

    def middle(self) -> Footprint:
        """Give the same footprint with an estimate's weights as they are in its middle."""
        return Footprint(self.model, self.settings, self.shares, self.build, self.policy)

    def reads(self) -> list[tuple[Fraction, Fraction]]:
        """Give what a token reads on the host and on the card at each depth, with empty caches: weights and states."""
        on_card = self._states if self.settings.kv_offload else [0] * len(self._states)
        everything = self._states[0]
        states = [_on_cards(on_card, share) for share in self.shares]
        return [(share.host_read + everything - here, share.card_read + here) for share, here in zip(self.shares, states, strict=True)]

    def _at_most(self, weights: int, experts: int) -> int:
        """Give what weights take: of an estimate at its upper end, within the file as far as no tensor is loaded twice."""
        if self.estimate is None:
            return weights
        routed = Experts(_bytes(experts), _bytes(self._experts)) if experts else None
        highest = self.estimate.tolerance.upper_end(_bytes(weights), self.estimate.size.quantity(), routed)
        return max(weights, int(highest.rounded_up()))

    def _embedding(self, span: Span) -> int:
        """Give what the input embedding adds to a card where the policy counts it there; a tied one is there already, as the head."""
        if self.policy is Policy.ENGINE:
            return 0
        size = sum(int(tensor.size) for tensor in self.model.tensors if tensor.is_input)
        if self.model.tied_embedding:
            return self._at_most(size, 0)
        return self._at_most(span.weights + size, span.experts) - self._at_most(span.weights, span.experts)

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


def _bytes(size: int) -> Quantity:
    return Quantity.constant(size, BYTE)


def _between(sums: Sequence[int], span: Span) -> int:
    return sums[span.first] - sums[span.end]


def _on_cards(sums: Sequence[int], share: Share) -> int:
    return sum(_between(sums, span) for span in share.cards)


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

    def __sub__(self, other: _Part) -> _Part:
        return _Part(self.loaded - other.loaded, self.whole - other.whole, self.routed - other.routed)

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

    `fixed` stays on each card by an override, `outer` goes with the first block, `output` with the last layer. Without a layer on a card
    `alone` bytes are on the host: a tied embedding is not loaded a second time then.
    """

    everything: _Part
    fixed: list[_Part]
    outer: _Part
    output: _Part
    dense: list[_Part]
    experts: list[_Part]
    alone: int


def shares_of(model: Model, settings: Settings, depths: Sequence[Depth], backend: str, gpus: int = 1) -> list[Share]:
    """Give the share of each depth on a number of cards: tensors placed with all layers on cards, and moved from there."""
    parts, used = _parts(model, settings, backend, gpus), _used(model)
    return [
        _share(depth, parts, used, devices_of_layers(model, replace(settings, n_gpu_layers=depth.n_gpu_layers), gpus)) for depth in depths
    ]


def _share(depth: Depth, parts: _Parts, used: Fraction, layers: tuple[int, ...]) -> Share:
    """Give a depth's share, with the device of each of its layers."""
    cards, on_cards = [], _Part()
    for device, fixed in enumerate(parts.fixed):
        blocks = [block for block, here in enumerate(layers[:-1]) if here == device]
        first, end = (blocks[0], blocks[-1] + 1) if blocks else (0, 0)
        moved = min(max(first, depth.n_cpu_moe), end)
        here = fixed + parts.dense[first] - parts.dense[end] + parts.experts[moved] - parts.experts[end]
        if layers[0] == device:
            here += parts.outer
        if layers[-1] == device:
            here += parts.output
        cards.append(Span(first, end, here.loaded, here.routed))
        on_cards += here
    card_read, read = on_cards.whole + on_cards.routed * used, parts.everything.whole + parts.everything.routed * used
    host = parts.alone if layers[-1] == HOST else parts.everything.loaded - on_cards.loaded
    return Share(tuple(cards), host, parts.everything.routed - on_cards.routed, card_read, read - card_read)


def _parts(model: Model, settings: Settings, backend: str, gpus: int) -> _Parts:
    blocks = int(model.block_count)
    given = replace(settings.with_n_cpu_moe(0), n_gpu_layers=blocks + 1)
    everything, outer, output = (_Part() for _ in range(3))
    fixed = [_Part() for _ in range(gpus)]
    dense, experts = ([_Part() for _ in range(blocks)] for _ in range(2))
    with_output = _outside_with_output(model, given, backend)
    for placed in _placed(model, given, backend, gpus).tensors:
        tensor = placed.tensor
        everything.add(placed)
        if placed.device == HOST:
            continue
        if given.overrides and buffer_type_of(tensor.name, given.overrides) is not None:
            fixed[placed.device].add(placed)
        elif tensor.block is None:
            (output if tensor.name in with_output else outer).add(placed)
        else:
            (experts if tensor.routed_expert else dense)[tensor.block].add(placed)
    if model.tied_embedding and model.architecture in HEAD_IS_INPUT:
        everything.whole += sum(int(tensor.size) for tensor in model.tensors if tensor.name == "token_embd.weight")
    alone = _placed(model, replace(given, n_gpu_layers=0), backend, gpus)
    on_host = sum(int(placed.tensor.size) for placed in alone.tensors if placed.device == HOST)
    return _Parts(everything, fixed, outer, output, _suffixes(dense), _suffixes(experts), on_host)


def _placed(model: Model, settings: Settings, backend: str, gpus: int) -> Placement:
    return place(model, settings, gpus, draft_head=settings.loads_draft_head, backend=backend)


def _outside_with_output(model: Model, settings: Settings, backend: str) -> frozenset[str]:
    """Give the tensors outside the blocks that are on a card as long as the output layer is; others go with the first block."""
    alone = replace(settings, n_gpu_layers=1, devices=(), overrides=(), split_mode="layer")
    placement = _placed(model, alone, backend, 1)
    return frozenset(placed.tensor.name for placed in placement.tensors if placed.device != HOST and placed.tensor.block is None)


def _used(model: Model) -> Fraction:
    """Give the share of its routed experts that a block uses for a token."""
    if not model.experts():
        return Fraction(1)
    return Fraction(model.number("expert_used_count").number) / Fraction(model.number("expert_count").number)


def _suffixes(parts: Sequence[_Part]) -> list[_Part]:
    """Give the sum of all parts, of all but the first, …, and of none."""
    return [*accumulate(reversed(parts), initial=_Part())][::-1]
