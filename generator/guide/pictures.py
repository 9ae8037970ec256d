"""The three figures of a guide, from its numbers: what is drawn is what the ledger has."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from generator.guide.figures import (
    Amount,
    Caption,
    Chosen,
    CrossoverFigure,
    CrossoverPoint,
    HostBar,
    LadderFigure,
    Rung,
    Total,
    VramBar,
    crossover,
    ladder,
    vram_bar,
)
from generator.guide.ledger import Book
from generator.guide.numbers import Offload, Subject, ladder_rows
from generator.guide.numbers.ladder import ladder_caches, own_offload
from generator.guide.numbers.speed import depths
from generator.memory.budget import Policy


@dataclass(frozen=True, slots=True)
class Picture:
    """One figure: the name of its file, what a reader without it is told, and the SVG."""

    name: str
    alt: str
    svg: str


def pictures(book: Book, subject: Subject, title: str) -> dict[str, Picture]:
    """Give the figures of a guide by name."""
    drawn = {"vram": _vram(book, subject, title)}
    if ladder_rows(subject) and ladder_caches(subject):
        drawn["ladder"] = _ladder(book, subject, title)
    if len(depths(subject)) > 1 and all(f"crossover.{depth}" in book for depth in depths(subject)) and not subject.unified:
        drawn["crossover"] = _crossover(book, subject, title)
    return drawn


def _amount(book: Book, label: str, key: str, unit: str | None = None, digits: int | None = None) -> Amount:
    return Amount(label, int(book[key]), book.text(key, unit, digits))


def _caption(book: Book, label: str, key: str) -> Caption:
    return Caption(label, book.text(key))


def _vram(book: Book, subject: Subject, title: str) -> Picture:
    published = subject.policy is Policy.PUBLISHED
    weights = _amount(book, "weights", "weights.card_without_embedding" if published else "weights.card")
    parts = [weights, _amount(book, "cache", "kv.card")]
    if "recurrent.card" in book:
        parts.append(_amount(book, "state", "recurrent.card"))
    what = "routed experts" if subject.offload is Offload.EXPERTS else "layers"
    host = [_amount(book, what, "weights.host")] if int(book["weights.host"]) else []
    host.append(_amount(book, "input embedding", "weights.input_embedding"))
    caps = (_amount(book, "prompt cache, at most", "prompt_cache.limit"),) if "prompt_cache.limit" in book else ()
    memory = _amount(book, "installed", "host.machine") if "host.machine" in book else None
    over = int(book["budget.total"]) > int(book["budget.ceiling"])
    svg = vram_bar(
        VramBar(
            title=f"{title}: memory",
            subtitle=f"{book.text('budget.total')} {_held_where(subject)} at a context of {book.text('settings.n_ctx')}",
            parts=tuple(part for part in parts if part.size),
            ceiling=_amount(book, "ceiling", "budget.ceiling"),
            usable=_amount(book, "usable", "budget.usable"),
            card=_amount(book, "machine" if subject.unified else "card", "budget.card"),
            margin=_caption(book, "missing" if over else "to spare", "budget.slack"),
            reserve=_caption(book, "reserve", "budget.reserve"),
            beyond=_caption(book, "the system" if subject.unified else "driver, display", "budget.driver"),
            host=None if subject.unified else HostBar("System memory", tuple(host), caps, memory),
        )
    )
    alt = "Bar of the machine's memory by what fills it"
    if not subject.unified:
        alt = f"Bar of {'the fuller' if subject.gpus > 1 else 'the'} card's memory by what fills it, and of the system memory beside it"
    return Picture("vram", alt, svg)


def _ladder(book: Book, subject: Subject, title: str) -> Picture:
    pairs, rows = ladder_caches(subject), ladder_rows(subject)
    own = (own_offload(subject), int(book["settings.n_ctx"]))
    rungs = []
    chosen = None
    for index, row in enumerate(rows):
        totals = tuple(Total(int(book[key]), book.text(key)) for key in map(row.key, pairs))
        rungs.append(Rung("all" if row.offload is None else str(row.offload), f"{row.n_ctx:,}", totals))
        if (row.offload, row.n_ctx) == own:
            chosen = Chosen(index, 0, "this recipe")
    flag = {Offload.EXPERTS: "-ncmoe", Offload.LAYERS: "-ngl", Offload.WHOLE: "-ngl"}[subject.offload]
    svg = ladder(
        LadderFigure(
            title=f"{title}: the ladder",
            subtitle=_subtitle(book, subject),
            ceiling=_amount(book, "ceiling", "budget.ceiling"),
            series=tuple(f"{k}/{v}" for k, v in pairs),
            rungs=tuple(rungs),
            chosen=chosen,
            heads=(flag, "-c"),
        )
    )
    by = {Offload.EXPERTS: "by depth of offload, context", Offload.LAYERS: "by layers, context"}.get(subject.offload, "by context")
    return Picture("ladder", f"What is held {_held_where(subject)} {by} and pair of cache types, against the ceiling", svg)


def _held_where(subject: Subject) -> str:
    return "on the fuller card" if subject.gpus > 1 else "for the GPU" if subject.unified else "on the card"


def _subtitle(book: Book, subject: Subject) -> str:
    held = "weights, cache and state" if "recurrent.card" in book else "weights and cache"
    by = {Offload.EXPERTS: "by depth of offload and context", Offload.LAYERS: "by layers there and context"}
    return f"{held} {_held_where(subject)}, {by.get(subject.offload, 'by context')}"


def _crossover(book: Book, subject: Subject, title: str) -> Picture:
    points = []
    for depth in depths(subject):
        key = f"crossover.{depth}"
        points.append(CrossoverPoint(depth, f"{depth:,}", Fraction(book[key].number), book.text(key)))
    svg = crossover(
        CrossoverFigure(
            title=f"{title}: which half is slower",
            subtitle="card bandwidth over host bandwidth at which both halves of a token take equal time",
            points=tuple(points),
        )
    )
    return Picture("crossover", "The bandwidth ratio at which card and host take equal time for a token, by tokens in the cache", svg)
