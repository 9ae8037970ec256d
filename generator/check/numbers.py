"""Every number of a check, from the model's configuration, the size of one file, and bandwidths.

The view is that of two tiers: what every token reads has to be on the card, and what is left of the card is a cache of routed experts
whose other share is read from system memory. Bytes of a file are shared out over parameters, so everything here is an estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from generator.config.estimate import estimated
from generator.config.parameters import parameters_of
from generator.config.tolerance import tolerance_of
from generator.facts import Fact, Facts, Source
from generator.guide.ledger import Book
from generator.memory import kv_cache, recurrent
from generator.memory.architectures import layers_of
from generator.memory.model import Model
from generator.quantity import BYTE, ONE, PARAMETER, SECOND, TOKEN, Quantity, smallest, total
from generator.specs import Check

BF16_BYTES = 2
ONE_TOKEN = Quantity.constant(1, TOKEN, "one token")
ONE_SECOND = Quantity.constant(1, SECOND, "one second")


@dataclass(frozen=True, slots=True)
class Split:
    """How a file is divided between routed experts and all else, in bytes."""

    experts: Quantity
    dense: Quantity


@dataclass(frozen=True, slots=True)
class Token:
    """What a token takes at one depth of context, in seconds by what is read, and the ceiling in tokens per second."""

    dense: Quantity
    experts_card: Quantity
    experts_host: Quantity
    cache: Quantity
    time: Quantity
    ceiling: Quantity


@dataclass(frozen=True, slots=True)
class Claim:
    """What the numbers are about: a check, its facts, and the model's shape."""

    check: Check
    architecture: str
    facts: Facts

    @property
    def model(self) -> Model:
        """The model as its configuration describes it; only its shape is used."""
        size = self.facts["check.file_size"]
        known = Facts([*self.facts.under("config"), Fact(f"file.{self.check.quant.lower()}.size", size.value, size.unit)])
        return estimated(self.architecture, known, self.check.quant, Source(""), where=self.check.file).model

    def fact(self, name: str) -> Quantity:
        """Give a fact of the check as a quantity."""
        return self.facts[f"check.{name}"].quantity()


def write_check(claim: Claim) -> Book:
    """Give the book of a check's numbers."""
    book = Book()
    _parameters(book, claim)
    split = _weights(book, claim)
    _memory(book, claim)
    for n_ctx in claim.check.contexts:
        depth = book.add(f"depth.{n_ctx}", Quantity.constant(n_ctx, TOKEN, "a depth of context that the check considers"), "tokens")
        _residency(book, claim, split, n_ctx, depth)
        _decode(book, n_ctx)
    _ends(book, claim, split)
    _prefill(book, claim)
    _readers(book, claim)
    return book


# --- what there is -------------------------------------------------------------------------------


def _parameters(book: Book, claim: Claim) -> None:
    counted = parameters_of(claim.architecture, claim.facts.under("config"), where=claim.check.file)
    whole = claim.fact("parameters_file") / Quantity.constant(BF16_BYTES, BYTE, "bytes of a BF16")
    everything = book.add("params.total", _as_parameters(whole), "G", 2)
    experts = book.add("params.routed_experts", counted.routed_experts, "G", 2)
    active = book.add("params.active_experts", counted.active_experts, "G", 3)
    shared = book.add("params.shared_expert", counted.shared_expert, "G", 2)
    router = book.add("params.router", counted.router, "G", 2)
    embeddings = book.add("params.embeddings", counted.embeddings, "G", 2)
    book.add("params.attention_and_norms", everything - experts - shared - router - embeddings, "G", 2)
    words = claim.facts["config.vocab_size"].quantity()
    book.add("header.vocab_size", words)
    width = book.add("header.embedding_length", claim.facts["config.embedding_length"].quantity())
    table = book.add("params.input_embedding", _as_parameters(words * width), "G", 2)
    book.add("params.read_per_token", active + everything - experts - table, "G", 2)
    book.add("params.experts_share", experts / everything, "%", 1)
    book.add("params.active_share", active / experts, "%", 1)


def _as_parameters(count: Quantity) -> Quantity:
    return count * Quantity.constant(1, PARAMETER, "one parameter")


def _weights(book: Book, claim: Claim) -> Split:
    file = book.add("weights.file", claim.fact("file_size"), "GiB", 2)
    share = book["params.routed_experts"] / book["params.total"]
    experts = book.add("weights.experts", file * share, "GiB", 1)
    dense = book.add("weights.dense", file - experts, "GiB", 1)
    reads = (book["params.read_per_token"] - book["params.active_experts"]) / book["params.total"]
    book.add("read.dense", file * reads, "GB", 2)
    book.add("read.experts", file * book["params.active_experts"] / book["params.total"], "GB", 2)
    tolerance = tolerance_of(claim.check.quant, mixture=True)
    book.add("tolerance.experts", tolerance.experts.quantity(), "%", 0)
    book.add("tolerance.rest", tolerance.rest.quantity(), "%", 0)
    return Split(experts, dense)


def _memory(book: Book, claim: Claim) -> None:
    model = claim.model
    layers = layers_of(model, claim.check.build)
    rows = [kv_cache.bytes_per_token(cache, cache.blocks, *claim.check.cache) for cache in layers.caches if cache.window is None]
    row = rows[0] if len(rows) == 1 else total(rows, unit=rows[0].unit, words="caches that grow with the context")
    book.add(f"kv.bytes_per_token.{'/'.join(claim.check.cache)}", row)
    states = [
        recurrent.bytes_per_block(state) * Quantity.constant(len(state.blocks), ONE, "blocks with a state") for state in layers.states
    ]
    if states:
        book.add("recurrent.per_sequence", states[0] if len(states) == 1 else total(states, words="states"), "MiB", 1)
    book.add("budget.usable", claim.fact("usable"), "GiB", 1)
    book.add("budget.compute", claim.fact("compute"), "GiB", 2)
    book.add("bandwidth.card", claim.fact("card_bandwidth"), "GB/s", 0)
    book.add("bandwidth.host", claim.fact("host_bandwidth"), "GB/s", 0)
    book.add("bandwidth.link", claim.fact("link_bandwidth"), "GB/s", 0)
    book.add("observed.best_share", claim.fact("best_share"), "%", 0)
    book.add("context.trained", claim.facts["config.context_length"].quantity())
    book.add("claim.speed", Quantity.constant(claim.check.speed, TOKEN, "tokens a second that are claimed") / ONE_SECOND, "tok/s", 0)


# --- at a depth ----------------------------------------------------------------------------------


def _residency(book: Book, claim: Claim, split: Split, n_ctx: int, depth: Quantity) -> None:
    cache = book.add(f"kv.at.{n_ctx}", book[f"kv.bytes_per_token.{'/'.join(claim.check.cache)}"] * depth, "GiB", 2)
    left = _left(book, split.dense, cache)
    book.add(f"experts_cache.left.{n_ctx}", left, "GiB", 2)
    book.add(f"experts_cache.resident_share.{n_ctx}", _share(left, split.experts), "%", 0)


def _left(book: Book, dense: Quantity, cache: Quantity) -> Quantity:
    left = book["budget.usable"] - dense - cache - book["budget.compute"]
    return left - book["recurrent.per_sequence"] if "recurrent.per_sequence" in book else left


def _share(left: Quantity, experts: Quantity) -> Quantity:
    """Give the share of routed experts that the card holds: none where nothing is left, all where more is left than they take."""
    whole = Quantity.constant(1, ONE, "all of them")
    share = left / experts
    return Quantity.constant(0, ONE, "nothing is left") if share.number < 0 else smallest([share, whole])


def _token(book: Book, dense: Quantity, experts: Quantity, share: Quantity, cache: Quantity, host: Quantity) -> Token:
    """Give what a token takes when so many bytes of it are dense and of experts, and a share of the experts is on the card."""
    card = book["bandwidth.card"]
    whole = Quantity.constant(1, ONE, "all of them")
    times = (dense / card, experts * share / card, experts * (whole - share) / host, cache / card)
    time = total(times, unit=times[0].unit, words="dense + experts on the card + experts on the host + cache")
    return Token(*times, time, ONE_TOKEN / time)


def _decode(book: Book, n_ctx: int) -> None:
    share, cache = book[f"experts_cache.resident_share.{n_ctx}"], book[f"kv.at.{n_ctx}"]
    token = _token(book, book["read.dense"], book["read.experts"], share, cache, book["bandwidth.host"])
    book.add(f"decode.dense.{n_ctx}", token.dense, "ms", 2)
    book.add(f"decode.experts_card.{n_ctx}", token.experts_card, "ms", 2)
    book.add(f"decode.experts_host.{n_ctx}", token.experts_host, "ms", 2)
    book.add(f"decode.cache.{n_ctx}", token.cache, "ms", 2)
    book.add(f"decode.time_per_token.{n_ctx}", token.time, "ms", 2)
    ceiling = book.add(f"decode.ceiling.{n_ctx}", token.ceiling, "tok/s", 0)
    book.add(f"decode.claim_share_of_ceiling.{n_ctx}", book["claim.speed"] / ceiling, "%", 0)


def _ends(book: Book, claim: Claim, split: Split) -> None:
    """Write the share of the ceiling that the claim needs at both ends of the tolerance: dense weights larger, and smaller."""
    one = Quantity.constant(1, ONE, "the estimate itself")
    for name, sign in (("slow", 1), ("fast", -1)):
        rest = one + book["tolerance.rest"] * sign
        dense = split.dense * rest
        experts = book["weights.file"] - dense
        for n_ctx in claim.check.contexts:
            cache = book[f"kv.at.{n_ctx}"]
            share = _share(_left(book, dense, cache), experts)
            read = book["read.experts"] * experts / split.experts
            token = _token(book, book["read.dense"] * rest, read, share, cache, book["bandwidth.host"])
            book.add(f"tolerance.{name}.{n_ctx}", book["claim.speed"] / token.ceiling, "%", 0)


def _prefill(book: Book, claim: Claim) -> None:
    """Write what each pass over a prompt of the longest context reads on the host, and the time that takes at the least."""
    longest = claim.check.contexts[-1]
    resident = book[f"experts_cache.left.{longest}"]
    per_pass = book.add("prefill.host_bytes_per_pass", book["weights.experts"] - resident, "GiB", 1)
    for batch in claim.check.batches:
        size = Quantity.constant(batch, TOKEN, "-ub")
        passes = book.add(f"prefill.passes.{batch}", (book[f"depth.{longest}"] / size).rounded_up())
        book.add(f"prefill.floor.{batch}", per_pass * passes / book["bandwidth.host"], "s", 1)
    book.add("stream.experts", book["read.experts"] / book["bandwidth.link"], "ms", 1)
    book.add("stream.compute", book["read.experts"] / book["bandwidth.host"], "ms", 1)
    book.add("stream.ratio", book["bandwidth.host"] / book["bandwidth.link"], "×", 1)


def _readers(book: Book, claim: Claim) -> None:
    """Write the ceiling at each context for several bandwidths of system memory, in which a reader finds their own."""
    for rate, n_ctx in _pairs(claim):
        key = f"reader.{rate}"
        if key not in book:
            book.add(key, Fact(key, rate, "GB/s", "declared", note="a bandwidth of system memory to compare with").quantity(), "GB/s", 0)
        share, cache = book[f"experts_cache.resident_share.{n_ctx}"], book[f"kv.at.{n_ctx}"]
        token = _token(book, book["read.dense"], book["read.experts"], share, cache, book[key])
        book.add(f"{key}.ceiling.{n_ctx}", token.ceiling, "tok/s", 0)


def _pairs(claim: Claim) -> Iterator[tuple[int, int]]:
    return ((rate, n_ctx) for rate in claim.check.host_rates for n_ctx in claim.check.contexts)
