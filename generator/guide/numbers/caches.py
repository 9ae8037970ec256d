"""What a sequence's past takes: caches of K and V by type, and states of a fixed size."""

from __future__ import annotations

from collections.abc import Sequence

from generator.errors import RefusedSettings
from generator.guide.ledger import Book
from generator.guide.numbers.subject import Subject
from generator.memory import kv_cache, recurrent
from generator.memory.context import CELL_PADDING, Context, context_of
from generator.memory.ladder import Caches
from generator.memory.layers import Cache
from generator.memory.refusals import refuse, refuse_cache
from generator.quantity import BYTE, BYTE_PER_TOKEN, ONE, Quantity, derived, total


def write_caches(book: Book, subject: Subject) -> None:
    """Write which blocks cache, what a cell takes and how many there are, and each pair of types' bytes for the whole context."""
    layers = subject.layers
    chosen = layers.attention
    blocks = derived(chosen.blocks, ONE, chosen.inputs, chosen.evaluate, chosen.words)
    single = len(layers.caches) == 1 and _whole_context(layers.caches[0])
    if chosen.blocks:
        blocks = book.add("kv.full_attention_blocks" if single else "kv.blocks", blocks)
    book.add("kv.block_count", blocks.length())
    context = context_of(subject.model, subject.settings)
    one_stream = book["settings.n_ctx"].rounded_up(CELL_PADDING) if int(context.streams) == 1 else None
    book.add("kv.cells", one_stream or context.total_cells, "tokens")
    if single and layers.caches[0].values is not None and chosen.blocks:
        book.add("kv.elements_per_token", kv_cache.elements_per_token(subject.model, chosen.blocks))
    for pair in subject.all_caches:
        if cacheable(subject, pair):
            book.add(f"kv.bytes_per_token.{'/'.join(pair)}", growth(layers.caches, pair, subject))
    if not single:
        _write_parts(book, subject, context)
    for pair in subject.all_caches:
        if cacheable(subject, pair):
            book.add(f"kv.total.{'/'.join(pair)}", cache_total(book, subject, pair, context))
    book.add("kv.card", subject.plan.gpus[subject.tightest].terms.kv)
    if int(subject.plan.host.terms.kv):
        book.add("kv.host", subject.plan.host.terms.kv)


def write_states(book: Book, subject: Subject) -> None:
    """Write what recurrent blocks keep for a sequence, and for all of them."""
    states = subject.layers.states
    if not states:
        return
    each = [recurrent.bytes_per_block(state) for state in states]
    counts = [Quantity.constant(len(state.blocks), ONE, "blocks that keep a state") for state in states]
    if len(states) == 1:
        block = book.add("recurrent.per_block", each[0], "MiB", 2)
        rest = book["blocks.loaded"] - book["kv.block_count"]
        count = book.add("recurrent.block_count", rest if int(rest) == len(states[0].blocks) else counts[0])
        one = block * count
    else:
        count = book.add("recurrent.block_count", total(counts, unit=ONE, words="blocks that keep a state"))
        one = total([size * number for size, number in zip(each, counts, strict=True)], words="states of every block")
    each_sequence = book.add("recurrent.per_sequence", one, "MiB", 1)
    book.add("recurrent.total", each_sequence * book["settings.n_parallel"], "MiB", 1)
    book.add("recurrent.card", subject.plan.gpus[subject.tightest].terms.recurrent, "MiB", 1)
    if int(subject.plan.host.terms.recurrent):
        book.add("recurrent.host", subject.plan.host.terms.recurrent, "MiB", 1)


def cacheable(subject: Subject, pair: Caches) -> bool:
    """Tell whether the engine would take a pair of cache types for this model; without flash attention where V is quantised no more."""
    settings = subject.altered({"type_k": pair[0], "type_v": pair[1], "flash_attn": "auto"})
    layers = subject.layers
    if not layers.caches:
        return False
    try:
        refuse(subject.model, settings)
        refuse_cache(layers, settings, context_of(subject.model, settings), subject.backend)
    except RefusedSettings:
        return False
    return layers.caches[0].values is not None or pair[0] == pair[1]


def kv_cache_rows(subject: Subject, pair: Caches) -> list[Quantity]:
    """Give the bytes of one cell in each of the model's caches."""
    padded = subject.settings.flash_attn == "off"
    return [kv_cache.bytes_per_token(cache, cache.blocks, *pair, padded_values=padded) for cache in subject.layers.caches]


def growth(caches: Sequence[Cache], pair: Caches, subject: Subject) -> Quantity:
    """Give the bytes that a token more of context adds: those of every cache that has cells for all of it."""
    padded = subject.settings.flash_attn == "off"
    rows = []
    for cache in caches:
        if cache.window is not None:
            continue
        row = kv_cache.bytes_per_token(cache, cache.blocks, *pair, padded_values=padded)
        rows.append(row if cache.ratio is None else row / cache.ratio)
    if not rows:
        return Quantity.constant(0, BYTE_PER_TOKEN, "no cache grows with the context")
    return rows[0] if len(rows) == 1 else total(rows, unit=BYTE_PER_TOKEN, words="sum over the caches that grow with the context")


def cache_total(book: Book, subject: Subject, pair: Caches, context: Context | None = None) -> Quantity:
    """Give the bytes of all caches in a pair of types, at the recipe's context or another."""
    caches = subject.layers.caches
    own = context is None or context == context_of(subject.model, subject.settings)
    context = context or context_of(subject.model, subject.settings)
    if len(caches) == 1 and _whole_context(caches[0]):
        return book[f"kv.bytes_per_token.{'/'.join(pair)}"] * (book["kv.cells"] if own else context.total_cells)
    sizes = []
    for cache, row in zip(caches, kv_cache_rows(subject, pair), strict=True):
        sizes.append(kv_cache.cache_bytes(row, kv_cache.cells_of(cache, context, swa_full=subject.settings.swa_full)))
    return total(sizes, unit=BYTE, words="sum of the caches")


def _write_parts(book: Book, subject: Subject, context: Context) -> None:
    """Write each of several caches: how many blocks it has, its cells, and its bytes in the recipe's types."""
    rows = kv_cache_rows(subject, subject.caches)
    for index, (cache, row) in enumerate(zip(subject.layers.caches, rows, strict=True)):
        key = f"cache.{index}"
        book.add(f"{key}.block_count", Quantity.constant(len(cache.blocks), ONE, "blocks that own rows of this cache"))
        cells = book.add(f"{key}.cells", kv_cache.cells_of(cache, context, swa_full=subject.settings.swa_full), "tokens")
        book.add(f"{key}.row", row)
        book.add(f"{key}.size", book[f"{key}.row"] * cells)
        if cache.window is not None:
            book.add(f"{key}.window", cache.window, "tokens")


def _whole_context(cache: Cache) -> bool:
    return cache.window is None and cache.ratio is None and not cache.per_sequence
