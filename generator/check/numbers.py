"""Every number of a check, derived and named, in the order a reader meets them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from generator.check.decode import Bandwidths, Beside, Token, token
from generator.check.params import Counts, counts_of
from generator.check.past import Past
from generator.check.split import Split, by_parameters, ends
from generator.check.subject import Subject
from generator.guide.ledger import Book
from generator.guide.marks import decimals_of
from generator.memory.model import Model
from generator.quantity import BIT, BYTE, BYTE_PER_SECOND, ONE, PER_SECOND, TOKEN, Number, Quantity, derived, scalar
from generator.traffic import decode, prefill

STATED = "stated"
"""The scenario of the page: bytes by share of parameters, system memory at what is assumed."""

RATED = "host_rated"
"""The scenario in which system memory reaches its rated bandwidth."""

PCIE = {3: 8, 4: 16, 5: 32}
"""Transfers a second of a lane by generation, in 10^9, each of one bit, of which 128 in 130 are data."""


@dataclass(slots=True)
class Worked:
    """The book of a check, and what its numbers were made of, for what goes beyond them."""

    book: Book
    subject: Subject
    shape: Model
    counts: Counts
    splits: dict[str, Split]
    rates: dict[str, Bandwidths]
    past: Past
    tokens: dict[int, Token] = field(default_factory=dict)

    def beside(self, context: int, past: Past | None = None, extra: Quantity | None = None) -> Beside:
        """Give what the card holds beside weights at a context; `extra` is held as well."""
        past = past or self.past
        compute = self.book["check.compute"] if extra is None else self.book["check.compute"] + extra
        if past is self.past and f"kv.{context}" in self.book:
            cache, read = self.book[f"kv.{context}"], self.book[f"kv.read.{context}"]
        else:
            at = Quantity.constant(context, TOKEN, "a context")
            cache = past.held(at, past.growth())
            read = past.read(at, cache)
        return Beside(self.book["usable"], cache, read, self.book["recurrent.per_sequence"], compute)

    def needed(self, split: Split, beside: Beside) -> Quantity:
        """Give what must be in the card's memory: everything but routed experts, which may wait elsewhere where there is an elsewhere."""
        weights = split.dense + split.experts if self.subject.card.unified and split.experts.number else split.dense
        return weights + beside.cache + beside.state + beside.compute

    def scenarios(self) -> dict[str, tuple[Split, Bandwidths]]:
        """Give what may be otherwise than stated: each end of the split, with system memory as assumed and as rated."""
        found = {}
        for split_name, split in self.splits.items():
            for rate_name, rates in self.rates.items():
                words = [word for word in (split_name, rate_name) if word != STATED]
                found["_".join(words) or STATED] = (split, rates)
        return found


def work_out(subject: Subject) -> Worked:
    """Give the numbers of a check. Raises what reading shape and sizes raises."""
    book, check, facts = Book(), subject.check, subject.facts
    book.add("claim.speed", facts["claim.speed"].quantity(), "tok/s", decimals_of(facts["claim.speed"]))
    if "claim.context" in facts:
        book.add("claim.context", facts["claim.context"].quantity(), "tokens")
    full = facts[check.files[check.full_precision].key].quantity() if check.full_precision else None
    counts = counts_of(subject.model.architecture, facts, where=subject.model.file, full_precision=full)
    for count in (*counts.kinds, counts.total, counts.from_shapes, counts.active_experts, counts.dense, counts.input_embedding):
        if count.number and count.key not in book:
            book.add(count.key, count, "G", 3 if count is counts.active_experts else 2)
    book.add(counts.read.key, counts.read, "G", 2)
    if counts.routed_experts.number:
        book.add("params.experts_share", counts.routed_experts / counts.total, "%", 1)
        book.add("params.active_share", counts.active_experts / counts.routed_experts, "%", 1)
    file = book.add("weights.file", facts[check.file_of_quant.key].quantity(), "GiB", 2)
    splits = {STATED: _split(book, file, counts), **_ends(book, subject, file, counts)}
    rates = _bandwidths(book, subject)
    best = [book.add(f"best.{name}", facts[f"best.{name}"].quantity(), "tok/s", 1) for name in ("speed", "ceiling")]
    book.add("best.share", best[0] / best[1], "%", 0)
    _write_seen(book, subject)
    shape = subject.shape()
    worked = Worked(book, subject, shape, counts, splits, rates, Past.of(shape, check.build, check.caches[0]))
    _write_past(worked)
    for context in subject.contexts:
        _write_tiers(worked, context)
    _write_ends(worked)
    _write_prefill(worked)
    return worked


def _write_seen(book: Book, subject: Subject) -> None:
    """Write the share of its ceiling that each other run reached."""
    for run in subject.check.seen:
        speed, read, bandwidth = (subject.facts[f"seen.{run}.{name}"].quantity() for name in ("speed", "read", "bandwidth"))
        ceiling = bandwidth / (read / Quantity.constant(1, TOKEN, "one token"))
        book.add(f"seen.{run}.share", speed / ceiling, "%", 0)


def _split(book: Book, file: Quantity, counts: Counts) -> Split:
    """Write how the file's bytes are split by parameters."""
    split = by_parameters(file, counts)
    read = book.add("weights.dense_per_token", split.dense_read, "GB", 2)
    if not split.experts.number:
        return Split(split.experts, book.add("weights.dense", split.dense, "GiB", 2), split.experts_read, read)
    experts = book.add("weights.experts", split.experts, "GiB", 1)
    dense = book.add("weights.dense", split.dense, "GiB", 2)
    return Split(experts, dense, book.add("weights.experts_per_token", split.experts_read, "GB", 2), read)


def _ends(book: Book, subject: Subject, file: Quantity, counts: Counts) -> dict[str, Split]:
    """Write both ends of what the split may be."""
    found = ends(file, counts, str(subject.facts["check.least_type"].value), where=subject.check.where("least_type"))
    named = {}
    for name, split in found.items():
        dense = book.add(f"ends.{name}.dense", split.dense, "GiB", 2)
        read = book.add(f"ends.{name}.dense_per_token", split.dense_read, "GB", 2)
        named[name] = Split(split.experts, dense, split.experts_read, read)
    return named


def _bandwidths(book: Book, subject: Subject) -> dict[str, Bandwidths]:
    """Write the bandwidths; give them as assumed, and with system memory at its label where that is another number."""
    check, facts = subject.check, subject.facts
    if "card.data_rate" in facts:
        bus = facts["card.memory_bus"].quantity() / Quantity.constant(8, BIT, "bits of a byte")
        card = bus * Quantity.constant(1, BYTE, "one byte") * facts["card.data_rate"].quantity()
    else:
        card = facts["card.memory_bandwidth"].quantity()
    card = book.add("bandwidth.card", card, "GB/s", 0)
    if "bus.realised" in facts:
        _write_bus(book, subject)
    if check.host is None or subject.card.unified:
        return {STATED: Bandwidths(card, None, alone=subject.card.unified)}
    transfers = Quantity.constant(check.host.transfers * 10**6, PER_SECOND, f"rated transfers a second of {check.host.name}")
    channels = Quantity.constant(check.host.channels, ONE, "channels")
    rated = book.add("bandwidth.host_rated", decode.memory_bandwidth(transfers, channels), "GB/s", 0)
    host = book.add("bandwidth.host", facts["host.realised"].quantity(), "GB/s", 0)
    book.add("bandwidth.host_share", host / rated, "%", 0)
    return {STATED: Bandwidths(card, host), RATED: Bandwidths(card, rated)}


def _write_bus(book: Book, subject: Subject) -> None:
    """Write what the card's PCI Express slot is rated at, where its generation and lanes are known, and what is reached of it."""
    facts = subject.facts
    known = all(f"card.{name}" in facts and facts[f"card.{name}"].known for name in ("pcie_generation", "pcie_lanes"))
    if known and facts["card.pcie_generation"].value in PCIE:
        generation, lanes = (facts[f"card.{name}"].quantity() for name in ("pcie_generation", "pcie_lanes"))
        words = "bytes a second of a lane of this generation, times the lanes"
        value = _rated(int(generation), int(lanes))
        rated = derived(value, BYTE_PER_SECOND, [generation, lanes], lambda read: _rated(*map(scalar, read)), words)
        book.add("bandwidth.bus_rated", rated, "GB/s", 1)
    book.add("bandwidth.bus", facts["bus.realised"].quantity(), "GB/s", 0)


def _rated(generation: Number, lanes: Number) -> Number:
    return PCIE[int(generation)] * 10**9 * 128 // 130 // 8 * lanes


def _write_past(worked: Worked) -> None:
    """Write what the past takes: growth by token, state, and the cache at each context."""
    book, past = worked.book, worked.past
    pair = "/".join(past.caches)
    growth = book.add(f"kv.bytes_per_token.{pair}", past.growth())
    book.add("kv.blocks", Quantity.constant(len(past.layers.attention.blocks), ONE, "blocks that cache"))
    book.add("recurrent.per_sequence", past.state(), "GiB", 2)
    if past.layers.recurrent:
        book.add("recurrent.blocks", Quantity.constant(len(past.layers.recurrent), ONE, "blocks that keep a state"))
    book.add("check.compute", worked.subject.facts["check.compute"].quantity(), "GiB", 2)
    book.add("usable", worked.subject.facts[worked.subject.usable].quantity(), "GiB", 1)
    for context in worked.subject.contexts:
        at = book.add(f"context.{context}", Quantity.constant(context, TOKEN, "a context that the check considers"), "tokens")
        held = book.add(f"kv.{context}", past.held(at, growth), "GiB", 2)
        book.add(f"kv.read.{context}", past.read(at, held), "GB", 2)


def _write_tiers(worked: Worked, context: int) -> None:
    """Write what the card holds at a context, what a token costs there, and the share of the ceiling that the claim needs."""
    book, split = worked.book, worked.splits[STATED]
    beside = worked.beside(context)
    book.add(f"needed.{context}", worked.needed(split, beside), "GiB", 2)
    made = token(split, beside, worked.rates[STATED], lambda name, quantity: _note(book, name, context, quantity))
    if made is None:
        return
    if made.resident is not None:
        waiting = split.experts * (Quantity.constant(1, ONE, "all of them") - made.resident)
        book.add(f"experts_cache.on_host.{context}", waiting, "GiB", 1)
        book.add(f"experts_cache.n_cpu_moe.{context}", _depth(worked.shape, made.resident))
        if made.resident.number == 1:
            book.add(f"held.{context}", split.dense + split.experts + beside.cache + beside.state + beside.compute, "GiB", 2)
    time = book.add(f"decode.time_per_token.{context}", made.time, "ms", 2)
    ceiling = book.add(f"decode.ceiling.{context}", Quantity.constant(1, TOKEN, "one token") / time, "tok/s", 0)
    book.add(f"decode.claim_share_of_ceiling.{context}", book["claim.speed"] / ceiling, "%", 0)
    worked.tokens[context] = made


def _note(book: Book, name: str, context: int, quantity: Quantity) -> Quantity:
    """Write a number of a token at a context, and give it with its name."""
    key, unit, digits = {
        "left": ("experts_cache.left", "GiB", 2),
        "resident": ("experts_cache.resident_share", "%", 0),
        "dense_resident": ("dense_cache.resident_share", "%", 0),
    }.get(name, (f"decode.{name}", "ms", 2))
    return book.add(f"{key}.{context}", quantity, unit, digits)


def _depth(shape: Model, share: Quantity) -> Quantity:
    """Give what -ncmoe says so that no more than a share of the experts stays on the card: it counts blocks without experts too."""
    blocks = sorted({tensor.block for tensor in shape.experts() if tensor.block is not None})
    moved = ceil(len(blocks) * (1 - share.number))
    value = blocks[moved - 1] + 1 if moved else 0
    words = f"up to the last of the {moved} of {len(blocks)} blocks with experts whose share is not resident"
    return derived(value, ONE, [share], lambda _: value, words)


def _write_ends(worked: Worked) -> None:
    """Write, for each scenario but the stated one, the ceiling at each context and the share of it that the claim needs."""
    book = worked.book
    for name, (split, rates) in worked.scenarios().items():
        if name == STATED:
            continue
        for context in worked.subject.contexts:
            made = token(split, worked.beside(context), rates)
            if made is not None:
                ceiling = book.add(f"ends.{name}.ceiling.{context}", made.ceiling, "tok/s", 0)
                book.add(f"ends.{name}.share.{context}", book["claim.speed"] / ceiling, "%", 0)


def _write_prefill(worked: Worked) -> None:
    """Write what reading a prompt of the longest context moves, by micro-batch: all experts that are not resident, once a pass."""
    book, context = worked.book, worked.subject.contexts[-1]
    host = worked.rates[STATED].host
    if host is None or f"experts_cache.on_host.{context}" not in book or not book[f"experts_cache.on_host.{context}"].number:
        return
    moved = book.add("prefill.host_bytes_per_pass", book[f"experts_cache.on_host.{context}"], "GiB", 1)
    for batch in worked.subject.check.batches:
        size = book.add(f"prefill.batch.{batch}", Quantity.constant(batch, TOKEN, "tokens of a micro-batch"), "tokens")
        passes = book.add(f"prefill.passes.{batch}", prefill.passes(book[f"context.{context}"], size))
        everything = prefill.moved(moved, passes)
        book.add(f"prefill.floor.{batch}", everything / host, "s", 1)
        if "bandwidth.bus" in book:
            book.add(f"prefill.over_bus.{batch}", everything / book["bandwidth.bus"], "s", 0)
