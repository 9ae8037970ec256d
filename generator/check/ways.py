"""What would have to be otherwise for the claimed speed to be one that was seen elsewhere: context, memory, caches, files, drafts."""

from __future__ import annotations

from collections.abc import Iterator

from generator.check.decode import Bandwidths, Token, token
from generator.check.numbers import STATED, Worked
from generator.check.past import Past
from generator.check.split import Split, by_parameters
from generator.guide.ledger import Book
from generator.quantity import TOKEN, Quantity, derived

STEP = 256
"""Tokens by which a context is searched for: the engine rounds up to as many."""

QUARTERS = (1, 2, 3, 4)


def write_ways(worked: Worked) -> None:
    """Write every number of the sections on what would change the verdict, and on the reader's own measurements."""
    _write_reach(worked)
    for context in worked.tokens:
        _write_host_needed(worked, context)
    last = worked.subject.contexts[-1]
    for pair in worked.subject.check.caches[1:]:
        _write_cache(worked, pair, last)
    _write_files(worked)
    if last in worked.tokens:
        for published in worked.subject.check.of_role("draft"):
            _write_draft(worked, published.name, last)
    _write_streaming(worked)
    _write_left_out(worked)
    _write_calibration(worked)


def allowed_time(book: Book) -> Quantity:
    """Give the seconds that a token's ceiling may take so that the claim needs no more than the best share that was seen."""
    return Quantity.constant(1, TOKEN, "one token") * book["best.share"] / book["claim.speed"]


# --- how far the claim reaches -------------------------------------------------------------------


def _write_reach(worked: Worked) -> None:
    """Write the longest context at which the claimed speed needs no more than the best share, as stated and over all scenarios."""
    found = {name: longest(worked, *scenario) for name, scenario in worked.scenarios().items()}
    words = f"longest context in steps of {STEP} tokens at which the claim needs no more than the best share that was seen"
    inputs = [worked.book[key] for key in ("claim.speed", "best.share", "weights.file", "bandwidth.card", "usable")]
    for name, value in {"stated": found[STATED], "least": min(found.values()), "most": max(found.values())}.items():
        worked.book.add(f"reach.{name}", _searched(value, inputs, words), "tokens")


def _searched(value: int, inputs: list[Quantity], words: str) -> Quantity:
    return derived(value, TOKEN, inputs, lambda _: value, words)


def longest(worked: Worked, split: Split, rates: Bandwidths) -> int:
    """Give the longest context at which the claim needs no more than the best share, zero where none is; the speed falls with context."""
    allowed = allowed_time(worked.book)

    def reached(steps: int) -> bool:
        made = token(split, worked.beside(steps * STEP), rates) if steps else None
        return made is not None and made.time <= allowed

    low, high = 0, _trained(worked) // STEP
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if reached(middle) else (low, middle - 1)
    return low * STEP


def _trained(worked: Worked) -> int:
    facts = worked.subject.facts
    return int(facts["config.context_length"].quantity()) if "config.context_length" in facts else worked.subject.contexts[-1]


def _write_host_needed(worked: Worked, context: int) -> None:
    """Write the bandwidth of system memory at which the claim needs the best share, where any is enough."""
    made = worked.tokens[context]
    if "experts_host" not in made.parts:
        return
    book = worked.book
    others = book[f"decode.time_per_token.{context}"] - book[f"decode.experts_host.{context}"]
    spare = allowed_time(book) - others
    if spare.number > 0:
        moved = book[f"decode.experts_host.{context}"] * book["bandwidth.host"]
        book.add(f"reach.host_bandwidth.{context}", moved / spare, "GB/s", 0)


# --- other settings and files --------------------------------------------------------------------


def _write_cache(worked: Worked, pair: tuple[str, str], context: int) -> None:
    past = Past(worked.shape, worked.past.layers, pair)
    made = token(worked.splits[STATED], worked.beside(context, past), worked.rates[STATED])
    key = f"ways.cache.{'/'.join(pair)}"
    worked.book.add(f"{key}.held", past.held(worked.book[f"context.{context}"], past.growth()), "GiB", 2)
    _write_share(worked, key, made, context)


def _write_share(worked: Worked, key: str, made: Token | None, context: int) -> None:
    if made is not None:
        ceiling = worked.book.add(f"{key}.ceiling.{context}", made.ceiling, "tok/s", 0)
        worked.book.add(f"{key}.share.{context}", worked.book["claim.speed"] / ceiling, "%", 0)


def _write_files(worked: Worked) -> None:
    """Write each published file's size and bits, and for those of weights the ceiling at the shortest and the longest context."""
    check, book, counts = worked.subject.check, worked.book, worked.counts
    for published in check.files.values():
        size = book.add(published.key, worked.subject.facts[published.key].quantity(), "GiB", 2)
        if published.role != "weights":
            continue
        key = f"ways.file.{published.name.lower()}"
        count = counts.total.without_unit(counts.total.unit, "parameters")
        bits = size.without_unit(size.unit, "bytes") * Quantity.constant(8, why="bits of a byte")
        book.add(f"{key}.bits", bits / count, "", 2)
        split = by_parameters(size, counts)
        for context in dict.fromkeys([worked.subject.contexts[0], worked.subject.contexts[-1]]):
            _write_share(worked, key, token(split, worked.beside(context), worked.rates[STATED]), context)


def _write_draft(worked: Worked, name: str, context: int) -> None:
    """Write what a draft costs and has to bring: its file displaces experts, and each pass over it and the cache must yield tokens.

    The dense weights, the cache and the draft are read once a pass; experts are counted anew for every token that a pass yields, since
    each chooses its own.
    """
    book = worked.book
    key = f"ways.draft.{name.lower()}"
    size = book[f"files.{name.lower()}.size"]
    made = token(worked.splits[STATED], worked.beside(context, extra=size), worked.rates[STATED])
    if made is None:
        return
    if made.resident is not None:
        book.add(f"{key}.resident_share", made.resident, "%", 0)
    each = [part for term, part in made.parts.items() if term.startswith("experts")]
    once = [part for term, part in made.parts.items() if not term.startswith("experts")]
    shared = once[0]
    for part in once[1:]:
        shared = shared + part
    shared = book.add(f"{key}.pass", shared + size / worked.rates[STATED].card, "ms", 2)
    allowed = allowed_time(book)
    for part in each:
        allowed = allowed - part
    if allowed.number > 0:
        book.add(f"{key}.tokens_per_pass", shared / allowed, "", 1)


def _write_streaming(worked: Worked) -> None:
    """Write what copying experts over the bus, and not computing where they lie, would make of the ceilings."""
    book = worked.book
    if "bandwidth.bus" not in book or "bandwidth.host" not in book:
        return
    book.add("stream.ratio", book["bandwidth.host"] / book["bandwidth.bus"], "×", 1)
    over_bus = Bandwidths(book["bandwidth.card"], book["bandwidth.bus"])
    for context in dict.fromkeys([worked.subject.contexts[0], worked.subject.contexts[-1]]):
        made = token(worked.splits[STATED], worked.beside(context), over_bus)
        if made is not None:
            book.add(f"stream.ceiling.{context}", made.ceiling, "tok/s", 0)


def _write_left_out(worked: Worked) -> None:
    """Write the time that reading and writing the states of recurrent blocks adds to a token, which no ceiling counts."""
    state = worked.book["recurrent.per_sequence"]
    if state.number:
        twice = state * Quantity.constant(2, why="read and written")
        worked.book.add("left_out.state", twice / worked.book["bandwidth.card"], "ms", 2)


# --- the reader's own numbers --------------------------------------------------------------------


def _write_calibration(worked: Worked) -> None:
    """Write ceilings over bandwidths of system memory, and what two depths with one offload should differ by."""
    book, contexts = worked.book, worked.subject.contexts
    if "bandwidth.host_rated" in book:
        for part, rate in _host_rates(book):
            for context in dict.fromkeys([contexts[0], contexts[-1]]):
                made = token(worked.splits[STATED], worked.beside(context), Bandwidths(book["bandwidth.card"], rate))
                if made is not None:
                    book.add(f"calibration.{part}.ceiling.{context}", made.ceiling, "tok/s", 0)
    short, long = contexts[0], contexts[-1]
    if short == long or long not in worked.tokens:
        return
    longer = book[f"kv.read.{long}"] - book[f"kv.read.{short}"]
    more = book.add("calibration.cache_bytes", longer, "GB", 2)
    apart = book.add("calibration.difference", more / book["bandwidth.card"], "ms", 2)
    shallow = book[f"decode.time_per_token.{long}"] - apart
    if f"decode.experts_host.{long}" in book:
        book.add("calibration.host_bytes", book[f"decode.experts_host.{long}"] * book["bandwidth.host"], "GB", 2)
        book.add("calibration.card_time", shallow - book[f"decode.experts_host.{long}"], "ms", 2)
    book.add("calibration.ratio", book[f"decode.time_per_token.{long}"] / shallow, "×", 2)


def _host_rates(book: Book) -> Iterator[tuple[str, Quantity]]:
    """Give quarters of the rated bandwidth, each under its key."""
    for count in QUARTERS:
        part = book["bandwidth.host_rated"] * Quantity.constant(count) / Quantity.constant(len(QUARTERS), why="quarters of the rating")
        yield f"quarter_{count}", book.add(f"calibration.quarter_{count}.bandwidth", part, "GB/s", 0)
