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
from generator.guide.numbers import Subject
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
    if subject.recipe.ladder.rows:
        drawn["ladder"] = _ladder(book, subject, title)
    if len(subject.recipe.depths) > 1:
        drawn["crossover"] = _crossover(book, subject, title)
    return drawn


def _amount(book: Book, label: str, key: str, unit: str | None = None, digits: int | None = None) -> Amount:
    return Amount(label, int(book[key]), book.text(key, unit, digits))


def _caption(book: Book, label: str, key: str) -> Caption:
    return Caption(label, book.text(key))


def _vram(book: Book, subject: Subject, title: str) -> Picture:
    caches = "/".join(subject.caches)
    published = Policy(subject.recipe.budget.policy) is Policy.PUBLISHED
    weights = _amount(book, "weights", "weights.card") if published else _amount(book, "weights", "weights.card_without_embedding")
    host = [_amount(book, "routed experts", "weights.host"), _amount(book, "input embedding", "weights.input_embedding")]
    caps = (_amount(book, "prompt cache, at most", "prompt_cache.limit"),) if "prompt_cache.limit" in book else ()
    memory = _amount(book, "installed", "host.machine") if "host.machine" in book else None
    svg = vram_bar(
        VramBar(
            title=f"{title}: memory",
            subtitle=f"{book.text('budget.total')} on the card at a context of {book.text('settings.n_ctx')}",
            parts=(weights, _amount(book, "cache", f"kv.total.{caches}"), _amount(book, "state", "recurrent.total")),
            ceiling=_amount(book, "ceiling", "budget.ceiling"),
            usable=_amount(book, "usable", "budget.usable"),
            card=_amount(book, "card", "budget.card"),
            margin=_caption(book, "to spare", "budget.slack"),
            reserve=_caption(book, "reserve", "budget.reserve"),
            beyond=_caption(book, "driver, display", "budget.driver"),
            host=HostBar("System memory", tuple(host), caps, memory),
        )
    )
    return Picture("vram", "Bar of the card's memory by what fills it, and of the system memory beside it", svg)


def _ladder(book: Book, subject: Subject, title: str) -> Picture:
    recipe = subject.recipe
    rungs = []
    chosen = None
    for index, (depth, n_ctx) in enumerate(recipe.ladder.rows):
        keys = [f"ladder.{depth}@{n_ctx}.{k}/{v}" for k, v in recipe.ladder.cache]
        totals = tuple(Total(int(book[key]), book.text(key)) for key in keys)
        rungs.append(Rung(str(depth), f"{n_ctx:,}", totals))
        if (depth, n_ctx) == (subject.settings.n_cpu_moe, subject.settings.n_ctx):
            chosen = Chosen(index, 0, "this recipe")
    svg = ladder(
        LadderFigure(
            title=f"{title}: the ladder",
            subtitle="weights, cache and state on the card, by depth of offload and context",
            ceiling=_amount(book, "ceiling", "budget.ceiling"),
            series=tuple(f"{k}/{v}" for k, v in recipe.ladder.cache),
            rungs=tuple(rungs),
            chosen=chosen,
        )
    )
    return Picture("ladder", "Totals on the card for each depth of offload and pair of cache types, against the ceiling", svg)


def _crossover(book: Book, subject: Subject, title: str) -> Picture:
    points = []
    for depth in subject.recipe.depths:
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
