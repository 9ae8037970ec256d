"""Pages that explain how things are worked out, with figures from the guides of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from generator.build import Guide
from generator.facts import Fact, Source
from generator.guide.environment import rendered
from generator.guide.ledger import Book, Ledger, Row
from generator.guide.lint import Allowed, lint
from generator.guide.marks import anchor, code, escaped, linked
from generator.guide.page import METHODS, Page, tidied
from generator.quantity import TOKEN, Quantity, derived

WORKED = "llama-3.1-8b"
"""The model whose first guide the page on context works through: a dense one, in which nothing else grows."""


@dataclass(slots=True)
class _Figures:
    """Numbers of guides that a page shows, each with the guide it stands in."""

    book: Book = field(default_factory=Book)
    rows: dict[str, dict[str, str]] = field(default_factory=dict)

    def of(self, guide: Guide, key: str) -> str:
        """Give a number of a guide as a link to the page's own row of it."""
        row = guide.ledger[key]
        return self._noted(guide, key, row.quantity, row.display)

    def worked(self, guide: Guide, key: str, quantity: Quantity, shown: str) -> str:
        """Give a number that the page derives from a guide's, under a name that no guide has."""
        return self._noted(guide, key, quantity, shown)

    def _noted(self, guide: Guide, key: str, quantity: Quantity, shown: str) -> str:
        own = f"{guide.model}.{guide.card}.{key}"
        if own not in self.book:
            fact = Fact(own, None, "", "declared", Source(""), checked=None)
            self.book.add(own, Quantity.read(quantity.value, quantity.unit, fact).named(own))
            named = code(key) if key in guide.ledger.rows else code("worked out here")
            self.rows[own] = {"anchor": anchor(own), "display": shown, "guide": _link(guide), "key": named}
        return linked(shown, f"#{own}")

    def ledger(self) -> Ledger:
        """Give the numbers as the lint wants them."""
        rows = {
            key: Row(key, quantity, self.rows[key]["display"], "derived", "", (), (), None) for key, quantity in self.book.numbers.items()
        }
        return Ledger({}, rows, {})


def method_pages(pages: Iterable[Page], templates: Path) -> dict[str, str]:
    """Give the pages, with figures from the guides among `pages`, by their paths below the site's folder.

    Raises LintErrors for a page that may not be published.
    """
    guides = [page for page in pages if isinstance(page, Guide)]
    return {f"method/{name}.md": _page(name, guides, templates) for name in METHODS}


def _page(name: str, guides: Sequence[Guide], templates: Path) -> str:
    figures = _Figures()
    first = _first_of_each_model(guides)
    values: Mapping[str, Callable[[], dict[str, object]]] = {
        "context": lambda: {"models": list(_contexts(first, figures)), "worked": _worked(first, figures)},
        "expert-offload": lambda: {"guides": list(_offloads(guides, figures))},
        "numbers": lambda: {"models": list(_fidelities(first))},
    }
    body = rendered(templates, f"method/{name}.md.j2", {"title": METHODS[name], **(values[name]() if name in values else {})})
    if figures.rows:
        tail = [{**row, "display": code(row["display"])} for row in figures.rows.values()]
        body += "\n" + rendered(templates, "method_ledger.md.j2", {"rows": tail})
    page = tidied(body)
    links = frozenset(f"../{guide.page}" for guide in guides)
    titles = tuple(name for guide in guides for name in guide.names)
    lint(page, figures.ledger(), Allowed(titles, files=links), file=f"site/method/{name}.md")
    return page


def _first_of_each_model(guides: Sequence[Guide]) -> list[Guide]:
    first: dict[str, Guide] = {}
    for guide in guides:
        first.setdefault(guide.model, guide)
    return list(first.values())


def _link(guide: Guide) -> str:
    return linked(escaped(guide.title), f"../{guide.page}")


def _contexts(guides: Sequence[Guide], figures: _Figures) -> Iterator[Mapping[str, str]]:
    for guide in guides:
        rows = guide.ledger.rows
        growth = "kv.bytes_per_token.f16/f16"
        state = figures.of(guide, "recurrent.per_sequence") if "recurrent.per_sequence" in rows else "none"
        grown = figures.of(guide, growth) if growth in rows else "nothing"
        yield {"link": _link(guide), "words": _what_grows(guide), "growth": grown, "state": state}


def _what_grows(guide: Guide) -> str:
    keys = guide.ledger.rows
    latent = "header.attention.kv_lora_rank" in keys
    words = "one latent row" if latent else "K and V"
    if any(key.endswith(".window") for key in keys):
        return f"{words} in the blocks without a window"
    return f"{words} in the attention blocks, the others keep a state" if "recurrent.per_sequence" in keys else f"{words} in every block"


def _worked(guides: Sequence[Guide], figures: _Figures) -> Mapping[str, str]:
    guide = next((each for each in guides if each.model == WORKED), guides[0])
    rows = guide.ledger.rows
    caches = guide.ledger.recipe["settings"]
    assert isinstance(caches, Mapping)
    growth = f"kv.bytes_per_token.{caches.get('type_k', 'f16')}/{caches.get('type_v', 'f16')}"
    ceiling, weights = rows["budget.ceiling"].quantity, rows["weights.card"].quantity
    left = ceiling - weights
    if "recurrent.card" in rows:
        left = left - rows["recurrent.card"].quantity
    room = int(left) // int(rows[growth].quantity)
    tokens = derived(room, TOKEN, [left, rows[growth].quantity], lambda _: room, "what is left, in whole tokens")
    return {
        "link": _link(guide),
        "ceiling": figures.of(guide, "budget.ceiling"),
        "weights": figures.of(guide, "weights.card"),
        "state": figures.of(guide, "recurrent.card") if "recurrent.card" in rows else "",
        "growth": figures.of(guide, growth),
        "tokens": figures.worked(guide, "worked.tokens", tokens, f"{room:,} tokens"),
        "n_ctx": figures.of(guide, "settings.n_ctx"),
        "slack": figures.of(guide, "budget.slack"),
    }


def _offloads(guides: Sequence[Guide], figures: _Figures) -> Iterator[Mapping[str, str]]:
    keys = {"depth": "settings.n_cpu_moe", "host": "weights.host", "per_token": "traffic.host_per_token", "share": "traffic.host_share"}
    for guide in guides:
        if all(key in guide.ledger.rows for key in keys.values()):
            yield {"link": _link(guide)} | {name: figures.of(guide, key) for name, key in keys.items()}


def _fidelities(guides: Sequence[Guide]) -> Iterator[Mapping[str, str]]:
    for guide in guides:
        if "estimate.rest" in guide.ledger.rows:
            yield {"link": _link(guide), "fidelity": "config", "how": "shape from its published configuration, bytes shared out"}
            continue
        kinds = {row.kind for key, row in guide.ledger.rows.items() if key.startswith("header.") and key.endswith(".tensors")}
        how = "rebuilt from what is published" if "reconstructed" in kinds else "read from the file"
        yield {"link": _link(guide), "fidelity": "header", "how": how}
