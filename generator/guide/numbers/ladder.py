"""The ladder: what other depths of offload, contexts and cache types come to on the card; the fallbacks; the depth that was chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace

from generator.guide.ledger import Book
from generator.guide.numbers.caches import cache_total, cacheable
from generator.guide.numbers.subject import Offload, Subject
from generator.memory.budget import Policy, Pool, clears_by
from generator.memory.compute import attention_scores
from generator.memory.context import context_of
from generator.memory.ladder import Caches, experts_up_to, shallowest
from generator.quantity import ONE, TOKEN, Quantity, derived, largest

CONTEXTS = (4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
"""Contexts, in tokens, among which a ladder shows those around the recipe's where the recipe names none."""

AROUND = 3
"""How many steps of offload a ladder shows on either side of the recipe's where the recipe names none."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the ladder: how much is offloaded, under the engine's flag for it, and the context in tokens.

    `offload` is what -ncmoe or -ngl says; None where nothing is offloaded.
    """

    offload: int | None
    n_ctx: int

    def key(self, pair: Caches) -> str:
        """Give the ledger's key of the row's total in a pair of cache types."""
        return f"ladder.{'all' if self.offload is None else self.offload}@{self.n_ctx}.{pair[0]}/{pair[1]}"


def own_offload(subject: Subject) -> int | None:
    """Give what the recipe's own flag says."""
    if subject.offload is Offload.EXPERTS:
        return subject.depth
    layers = subject.settings.n_gpu_layers
    return layers if subject.offload is Offload.LAYERS and isinstance(layers, int) else None


def ladder_rows(subject: Subject) -> tuple[Row, ...]:
    """Give the rows of the ladder: the recipe's, or those around its own settings where it names none."""
    if subject.recipe.ladder.rows:
        return tuple(Row(offload if subject.offload is not Offload.WHOLE else None, n_ctx) for offload, n_ctx in subject.recipe.ladder.rows)
    own, n_ctx = own_offload(subject), int(context_of(subject.model, subject.settings).asked)
    rows = {Row(own, n_ctx)}
    trained = int(subject.model.number("context_length", n_ctx))
    rows |= {Row(own, length) for length in CONTEXTS if length <= trained and (own is None or n_ctx // 4 <= length <= 4 * n_ctx)}
    if own is not None:
        most = int(subject.model.loaded_blocks) if subject.offload is Offload.EXPERTS else int(subject.model.block_count)
        rows |= {Row(step, n_ctx) for step in range(max(0, own - AROUND), min(most, own + AROUND) + 1)}
    return tuple(sorted(rows, key=lambda row: (row.offload or 0, row.n_ctx)))


def ladder_caches(subject: Subject) -> tuple[Caches, ...]:
    """Give the pairs of cache types of the ladder's columns that the model can have."""
    return tuple(pair for pair in subject.ladder_caches if cacheable(subject, pair))


def write_ladder(book: Book, subject: Subject, pool: Pool) -> None:
    """Write the rungs that the page shows, and those its fallbacks stand on."""
    rungs = [(row, pair) for row in ladder_rows(subject) for pair in ladder_caches(subject)]
    rungs += [fallback_rung(subject, index) for index in range(len(subject.fallbacks))]
    for row, pair in dict.fromkeys(rungs):
        key = row.key(pair)
        book.add(key, rung_total(book, subject, row, pair))
        book.add(f"{key}.slack", clears_by(book[key], pool))


def fallback_rung(subject: Subject, index: int) -> tuple[Row, Caches]:
    """Give the rung that a fallback of the recipe stands on."""
    step = subject.fallbacks[index]
    row = Row(own_offload(replace(subject, settings=step, _kept={})), int(context_of(subject.model, step).asked))
    return row, (step.type_k, step.type_v)


def rung_total(book: Book, subject: Subject, row: Row, pair: Caches, policy: Policy | None = None) -> Quantity:
    """Give a rung's bytes on the card that holds most, from numbers already in the book, under the recipe's policy or another."""
    policy = policy or subject.policy
    if subject.offload is Offload.LAYERS or subject.gpus > 1:
        return _placed_total(book, subject, row, pair, policy)
    weights = book["weights.card"]
    if subject.offload is Offload.EXPERTS and row.offload is not None and row.offload != subject.depth:
        weights = weights + book["weights.host"] - experts_up_to(subject.model, row.offload)
    if policy is not subject.policy:
        embedding = book["weights.input_embedding"]
        weights = weights - embedding if policy is Policy.ENGINE else weights + embedding
    parts = weights + _cache(book, subject, row, pair)
    return parts + book["recurrent.card"] if "recurrent.card" in book else parts


def _cache(book: Book, subject: Subject, row: Row, pair: Caches) -> Quantity:
    settings = subject.settings
    if not subject.layers.caches or not settings.kv_offload:
        return book["kv.card"]
    if row.n_ctx == settings.n_ctx and f"kv.total.{'/'.join(pair)}" in book:
        return book[f"kv.total.{'/'.join(pair)}"]
    return cache_total(book, subject, pair, context_of(subject.model, replace(settings, n_ctx=row.n_ctx)))


def _placed_total(book: Book, subject: Subject, row: Row, pair: Caches, policy: Policy) -> Quantity:
    """Give a rung's total by placing everything anew, for settings that move more than experts."""
    changed: dict[str, int | float | str | bool] = {"n_ctx": row.n_ctx, "type_k": pair[0], "type_v": pair[1]}
    if subject.offload is Offload.LAYERS and row.offload is not None:
        changed["n_gpu_layers"] = row.offload
    elif subject.offload is Offload.EXPERTS and row.offload is not None:
        changed["n_cpu_moe"] = row.offload
    devices = subject.held(subject.altered(changed))[:-1]
    held = largest(device.held for device in devices)
    return held if policy is Policy.ENGINE else held + book["weights.input_embedding"]


def write_fallback(book: Book, subject: Subject, pool: Pool) -> None:
    """Write the shallowest depth of offload at which the recipe and each fallback keep the margin, under either policy."""
    if subject.offload is not Offload.EXPERTS:
        return
    margin = book.add("fallback.margin", subject.recipe.fallback_margin.quantity(), "MiB", 0)
    deepest = int(subject.model.loaded_blocks)
    n_ctx = int(context_of(subject.model, subject.settings).asked)
    for policy in Policy:
        totals: dict[tuple[int, Caches], Quantity] = {}

        def total_at(depth: int, caches: Caches, policy: Policy = policy, totals: dict[tuple[int, Caches], Quantity] = totals) -> Quantity:
            if (depth, caches) not in totals:
                totals[depth, caches] = rung_total(book, subject, Row(depth, n_ctx), caches, policy)
            return totals[depth, caches]

        depth = shallowest(range(deepest + 1), subject.kept_caches, total_at, pool, margin)
        key = "fallback.shallowest_n_cpu_moe" if policy is subject.policy else f"fallback.{policy}.shallowest_n_cpu_moe"
        if depth is None:
            continue
        worst = largest(total_at(depth, caches) for caches in subject.kept_caches)
        rule = "smallest n_cpu_moe at which the ceiling minus the total exceeds the margin at every declared pair of cache types"
        book.add(key, derived(depth, ONE, [pool.ceiling, margin, worst], lambda _, depth=depth: depth, rule))  # type: ignore[misc]


def write_chosen(book: Book, subject: Subject, pool: Pool) -> None:
    """Write the depth that a recipe left open, and by how much one block less misses."""
    chosen = subject.chosen
    if chosen is None or not chosen.n_cpu_moe:
        return
    depth, margin = chosen.n_cpu_moe, book["fallback.margin"]
    at, less = (rung_total(book, subject, Row(blocks, chosen.n_ctx), chosen.caches) for blocks in (depth, depth - 1))
    rule = "smallest n_cpu_moe at which the recipe and every fallback clear the ceiling by more than the margin, compute buffers and all"
    if chosen.above is not None:
        rule += ", at the upper end of the estimate"
    book.add("settings.n_cpu_moe", derived(depth, ONE, [pool.ceiling, margin, at, less], lambda _: depth, rule))
    if chosen.above is not None:
        less = less + chosen.above
    missing = less + margin - pool.ceiling if chosen.compute is None else less + chosen.compute - pool.usable
    book.add("settings.n_cpu_moe.one_less", missing, "MiB", 0)


def write_scores(book: Book, subject: Subject) -> None:
    """Write what the attention scores take without flash attention, for the pairs of context and micro-batch of the recipe."""
    if not subject.recipe.scores:
        return
    block = subject.layers.attention.blocks[0]
    for n_ctx, n_ubatch in subject.recipe.scores:
        cells, micro = Quantity.constant(n_ctx, TOKEN, "-c"), Quantity.constant(n_ubatch, TOKEN, "-ub")
        book.add(f"scores_flash_attn_off.{n_ctx}@{n_ubatch}", attention_scores(subject.model, block, cells, micro))
