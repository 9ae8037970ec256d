"""What stands beside the budget: the draft head's price, system memory, the repository's other files."""

from __future__ import annotations

from generator.guide.ledger import Book
from generator.guide.numbers.ladder import fallback_rung
from generator.guide.numbers.subject import Subject
from generator.memory import kv_cache, recurrent
from generator.memory.host import entry_crossover, prompt_cache_limit
from generator.quantity import BYTE, ONE, Quantity, total
from generator.specs import Draft

DRAFT = Draft(3, "f16", "f16")
"""What a draft head is priced at where the recipe does not say: the engine's own defaults."""


def write_draft(book: Book, subject: Subject) -> None:
    """Write what turning the file's draft head on would take of the card."""
    if not int(subject.model.draft_blocks) or subject.settings.loads_draft_head:
        return
    draft = subject.recipe.draft or DRAFT
    parts = [book["weights.draft_head"]]
    if "recurrent.per_sequence" in book and subject.layers.rolls_back:
        extra = recurrent.draft_depth_extra(book["recurrent.per_sequence"], draft.n_max)
        parts.append(book.add(f"draft.recurrent_extra_n_max_{draft.n_max}", extra, "MiB", 1))
    if subject.layers.draft:
        per_token = kv_cache.bytes_per_token(subject.layers.draft[0], subject.layers.draft_attention, draft.type_k, draft.type_v)
        per_token = book.add("draft.kv_bytes_per_token", per_token)
        parts.append(book.add(f"draft.kv_{draft_types(draft)}", per_token * book["settings.n_ctx"], "MiB", 0))
    book.add("draft.n_max", Quantity.constant(draft.n_max, ONE, "the draft depth that is priced"))
    book.add("draft.groups", book["draft.n_max"] + Quantity.constant(1, ONE, "the state itself"))
    everything = book.add("draft.total", total(parts, words=" + ".join(f"[{part.key}]" for part in parts)))
    book.add("draft.slack", book["budget.slack"] - everything)
    if subject.recipe.fallbacks:
        row, pair = fallback_rung(subject, 0)
        book.add("draft.fallback_slack", book[f"{row.key(pair)}.slack"] - everything, "MiB", 0)


def draft_types(draft: Draft) -> str:
    """Give the cache types of a draft as its key has them."""
    return draft.type_k if draft.type_k == draft.type_v else f"{draft.type_k}/{draft.type_v}"


def write_host(book: Book, subject: Subject) -> None:
    """Write what the run takes of system memory, what the server may add, and the machine that is enough."""
    pair = f"kv.bytes_per_token.{'/'.join(subject.caches)}"
    if "recurrent.per_sequence" in book and pair in book and int(book[pair]):
        book.add("prompt_cache.entry_crossover_tokens", entry_crossover(book["recurrent.per_sequence"], book[pair]))
    limit = prompt_cache_limit(subject.settings.cache_ram)
    parts = [book["weights.host"]] if int(book["weights.host"]) else []
    parts.append(book["weights.input_embedding"])
    parts += [book[key] for key in ("kv.host", "recurrent.host") if key in book]
    if limit is not None and int(limit):
        parts.append(book.add("prompt_cache.limit", limit, "GiB", 0))
    default = subject.facts["engine.cache_ram_default"].quantity()
    book.add("prompt_cache.default", default, "GiB", 0)
    book.add("host.by_default", book["weights.host"] + default)
    known = book.add("host.total", total(parts, unit=BYTE, words=" + ".join(f"[{part.key}]" for part in parts)))
    machine = subject.recipe.machine
    system = book.add("host.system", machine.system.quantity(), "GiB", 0)
    if subject.unified:
        book.add("host.need", known + book["budget.total"] + system, "GiB", 1)
        return
    need = book.add("host.need", known + system, "GiB", 1)
    enough = [size for size in machine.sizes if need <= size.quantity()]
    if enough:
        book.add("host.machine", enough[0].quantity(), "GiB", 0)
    short = [size for size in machine.sizes if not need <= size.quantity()]
    if short:
        book.add("host.too_small", short[-1].quantity(), "GiB", 0)


def write_quants(book: Book, subject: Subject) -> None:
    """Write the other files of the repository that the page weighs against this one."""
    for fact in subject.facts.under("file"):
        quant, _, what = fact.key.removeprefix("file.").rpartition(".")
        if what == "size" and quant != subject.prefix:
            book.add(f"quants.{quant}.size", fact.quantity())
