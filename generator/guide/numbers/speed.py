"""What a token reads on either side, what that allows at the most, and what a prompt moves across the bus."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from generator.facts import Fact
from generator.guide.ledger import Book
from generator.guide.numbers.subject import Offload, Subject
from generator.memory import kv_cache
from generator.memory.budget import Policy
from generator.memory.context import context_of
from generator.memory.model import Tensor
from generator.memory.placement import HOST
from generator.memory.plan import blocks_on
from generator.quantity import BYTE, ONE, TOKEN, Quantity, derived, scalar, smallest, total
from generator.traffic import decode, prefill


@dataclass(frozen=True, slots=True)
class Side:
    """What a token reads on one side: weights and states whatever the depth, and cells of the caches."""

    fixed: Quantity
    cells: tuple[tuple[Quantity, Quantity | None], ...]

    def at(self, depth: Quantity) -> Quantity:
        """Give the bytes read with `depth` tokens in the caches; a window is read no further than it goes."""
        read = self.fixed
        for row, window in self.cells:
            read = read + row * (depth if window is None else smallest([depth, window]))
        return read


def write_traffic(book: Book, subject: Subject) -> None:
    """Write bytes read for a token on either side, the ratio of bandwidths at which both take equal time, and ceilings on speed."""
    host, card = _host_side(book, subject), _card_side(book, subject)
    window = book["settings.n_ctx"]
    full = book.add("traffic.vram_per_token_full_window", card.at(window))
    host_full = host.at(window)
    if host_full.number:
        book.add("traffic.host_share", host_full / (host_full + full), "%", 2)
    for depth in depths(subject):
        at = book.add(f"depth.{depth}", Quantity.constant(depth, TOKEN, "a depth of context that the page considers"), "tokens")
        book.add(f"traffic.card.{depth}", card.at(at))
        if host.at(at).number:
            book.add(f"crossover.{depth}", book[f"traffic.card.{depth}"] / host.at(at), "×", 2)
    if subject.policy is Policy.PUBLISHED and host_full.number:
        lean = full - book["weights.input_embedding"]
        book.add("crossover.engine", lean / host_full, "×", 2)
    if subject.offload is Offload.EXPERTS:
        _write_steps(book)
    _write_memory(book, subject, host)
    _write_ceilings(book, subject, host)


def depths(subject: Subject) -> tuple[int, ...]:
    """Give the depths of context at which speed is worked out: the recipe's, or none, half and all of its context."""
    if subject.recipe.depths:
        return subject.recipe.depths
    n_ctx = int(context_of(subject.model, subject.settings).asked)
    return (0, n_ctx // 2, n_ctx)


def _host_side(book: Book, subject: Subject) -> Side:
    """Give what is read in system memory: chosen experts there, and whole layers; of the input embedding one row, which is not counted."""
    on_host = subject.offload is not Offload.WHOLE
    experts = _experts(subject, on_device=False)
    share = None
    if experts:
        stored = book["weights.host"] if subject.offload is Offload.EXPERTS else subject.model.size_of(experts, "experts in system memory")
        share = decode.used_share(stored, book["experts.used"], book["experts.count"])
    if subject.offload is Offload.EXPERTS and share is not None:
        return Side(book.add("traffic.host_per_token", share), ())
    others = _others(subject, on_device=False)
    fixed = subject.model.size_of(others, "whole layers in system memory") if on_host else Quantity.constant(0, BYTE, "nothing")
    if share is not None:
        fixed = fixed + share
    state = subject.plan.host.terms.recurrent
    fixed = fixed + state if state.number else fixed
    if fixed.number:
        fixed = book.add("traffic.host_per_token", fixed)
    return Side(fixed, tuple(_cells(subject, on_device=False)))


def _card_side(book: Book, subject: Subject) -> Side:
    """Give what is read on the cards, all of them together."""
    weights = book["weights.dense"] if "weights.dense" in book else None
    if subject.policy is Policy.ENGINE or subject.offload is Offload.LAYERS or weights is None:
        weights = subject.model.size_of(_others(subject, on_device=True), "all but routed experts on the card")
    if "experts.loaded_blocks" in book:
        stored = book["experts.loaded_blocks"] - book["weights.host"]
        if subject.offload is Offload.LAYERS:
            stored = subject.model.size_of(_experts(subject, on_device=True), "experts on the card")
        elif subject.offload is Offload.WHOLE:
            stored = book["experts.loaded_blocks"]
        share = decode.used_share(stored, book["experts.used"], book["experts.count"])
        weights = book.add("traffic.card_experts_per_token", share) + weights
    weights = book.add("traffic.card_weights_per_token", weights)
    state = total((device.terms.recurrent for device in subject.plan.gpus), words="states on the card")
    fixed = weights + (book["recurrent.total"] if subject.offload is not Offload.LAYERS else state) if state.number else weights
    return Side(fixed, tuple(_cells(subject, on_device=True)))


def _placed(subject: Subject, *, on_device: bool) -> list[Tensor]:
    placed = subject.plan.placement.tensors
    return [each.tensor for each in placed if (each.device != HOST) is on_device]


def _experts(subject: Subject, *, on_device: bool) -> list[Tensor]:
    return [tensor for tensor in _placed(subject, on_device=on_device) if tensor.routed_expert]


def _others(subject: Subject, *, on_device: bool) -> list[Tensor]:
    """Give what is read whole for every token; an embedding that is placed on a card is its output head."""
    found = _placed(subject, on_device=on_device)
    return [tensor for tensor in found if not tensor.routed_expert and (on_device or not tensor.is_input)]


def _cells(subject: Subject, *, on_device: bool) -> Iterable[tuple[Quantity, Quantity | None]]:
    """Give, for each cache, the bytes of a cell on one side and the window beyond which no cell is read."""
    plan, layers = subject.plan, subject.layers
    if not layers.caches:
        return
    devices = range(subject.gpus) if on_device else [HOST]
    padded = plan.settings.flash_attn == "off"
    single = len(layers.caches) == 1
    for cache in layers.caches:
        here = tuple(block for device in devices for block in blocks_on(cache.blocks, plan.settings, plan.placement, device))
        if here:
            row = kv_cache.bytes_per_token(cache, here, *subject.caches, padded_values=padded)
            yield (row if cache.ratio is None else row / cache.ratio), (None if single and cache.window is None else cache.window)


def _write_steps(book: Book) -> None:
    used, count = book["experts.used"], book["experts.count"]
    steps = [
        book.add(f"traffic.step.{name}", decode.used_share(book[f"experts.block.{name}"], used, count), "MiB", 1)
        for name in ("small", "large")
    ]
    values = tuple(step.number for step in steps)
    words = "host bytes a token added by a small, a large block"
    book.add("traffic.step", derived(values, BYTE, steps, lambda sizes: tuple(map(scalar, sizes)), words), "MiB", 1)


def _write_memory(book: Book, subject: Subject, host: Side) -> None:
    """Write each kind of system memory's rated bandwidth, and where a token reads there what it allows at the most."""
    if subject.unified:
        return
    empty = host.at(Quantity.constant(0, TOKEN, "nothing in the cache"))
    for index, kind in enumerate(subject.recipe.memory_kinds):
        transfers = Fact(f"memory.{index}.transfers", kind.transfers, "MT/s", "declared", note=f"rated transfers of {kind.name}")
        book.add(transfers.key, transfers.quantity(), "MT/s")
        channels = book.add(f"memory.{index}.channels", Quantity.constant(kind.channels, ONE, f"channels of {kind.name}"))
        rate = book.add(f"memory.{index}.bandwidth", decode.memory_bandwidth(book[transfers.key], channels), "GB/s", 1)
        if not empty.number:
            continue
        book.add(f"memory.{index}.ceiling", decode.host_ceiling(empty, rate), "tok/s", 0)
        if "traffic.step.small" in book:
            for name in ("small", "large"):
                book.add(f"memory.{index}.step.{name}", decode.step_time(book[f"traffic.step.{name}"], rate), "ms", 2)


def _write_ceilings(book: Book, subject: Subject, host: Side) -> None:
    """Write the most tokens a second that the card's bandwidth allows, where it is known, alone and with each kind of system memory."""
    if "card.memory_bandwidth" not in subject.facts or not subject.facts["card.memory_bandwidth"].known:
        return
    rate = book.add("speed.card_bandwidth", subject.facts["card.memory_bandwidth"].quantity(), "GB/s", 1)
    one = Quantity.constant(1, TOKEN, "one token")
    for index in range(len(subject.recipe.memory_kinds)):
        if f"memory.{index}.ceiling" in book:
            book.add(f"memory.{index}.behind", rate / book[f"memory.{index}.bandwidth"], "×", 2)
    for depth in depths(subject):
        on_card, on_host = book[f"traffic.card.{depth}"], host.at(book[f"depth.{depth}"])
        if subject.unified:
            on_card = on_card + on_host
        time = on_card / rate
        if not on_host.number or subject.unified:
            book.add(f"speed.ceiling.{depth}", one / time, "tok/s", 0)
            continue
        for index in range(len(subject.recipe.memory_kinds)):
            both = time + on_host / book[f"memory.{index}.bandwidth"]
            book.add(f"speed.ceiling.{index}.{depth}", one / both, "tok/s", 0)


def write_prefill(book: Book, subject: Subject) -> None:
    """Write how many passes a prompt of the whole context takes and, where weights wait in system memory, what they move at the most."""
    count = book.add("prefill.passes", prefill.passes(book["settings.n_ctx"], book["settings.n_ubatch"]))
    if int(book["weights.host"]) and not subject.unified:
        book.add("prefill.moved", prefill.moved(book["weights.host"], count), "GiB", 0)
