"""The budget: what the card that holds most holds, against what may be used of it."""

from __future__ import annotations

from generator.config.tolerance import Experts, Tolerance
from generator.guide.ledger import Book
from generator.guide.numbers.subject import Offload, Subject
from generator.memory.budget import Policy, Pool, clears_by
from generator.quantity import Quantity


def write_pool(book: Book, subject: Subject) -> Pool:
    """Write the card's memory, what is usable of it, the reserve, and the ceiling between."""
    usable = book.add("budget.usable", subject.facts["card.usable"].quantity(), "GiB", 1)
    declared = subject.recipe.budget.reserve
    margin = subject.facts["engine.fit_margin"].quantity() if declared is None else declared.quantity()
    reserve = book.add("budget.reserve", margin, "MiB", 0)
    ceiling = book.add("budget.ceiling", usable - reserve, "GiB", 1)
    card = book.add("budget.card", subject.facts["card.memory"].quantity(), "GiB", 0)
    book.add("budget.driver", card - usable, "GiB", 1)
    return Pool(usable, reserve, ceiling)


def write_budget(book: Book, subject: Subject, pool: Pool) -> None:
    """Write the total on the card that holds most and what it leaves, under the recipe's policy and under the other."""
    cache = book["kv.card"]
    state = (book["recurrent.card"],) if "recurrent.card" in book else ()
    weights = book["weights.card"]
    own = _sum([weights, cache, *state])
    book.add("budget.total", own)
    book.add("budget.slack", clears_by(book["budget.total"], pool))
    if not book["budget.total"] <= pool.ceiling:
        _write_excess(book, [cache, *state], pool)
    if subject.unified:
        book.add("budget.needed", book["budget.total"] + pool.reserve, "GiB", 1)
    if subject.offload is Offload.LAYERS and subject.gpus == 1:
        waiting = _sum([book[key] for key in ("weights.host", "kv.host", "recurrent.host") if key in book])
        if not waiting <= book["budget.slack"]:
            book.add("budget.short_of_whole", waiting - book["budget.slack"])
    embedding = book["weights.input_embedding"]
    if subject.policy is Policy.PUBLISHED:
        _add(book, Policy.ENGINE, _sum([weights - embedding, cache, *state]), pool)
    else:
        _add(book, Policy.PUBLISHED, _sum([weights + embedding, cache, *state]), pool)
    if subject.estimated:
        highest = book.add("estimate.weights_highest", _highest(book, subject))
        book.add("budget.highest", _sum([highest, cache, *state]))
        book.add("budget.lowest_slack", clears_by(book["budget.highest"], pool))


def _write_excess(book: Book, others: list[Quantity], pool: Pool) -> None:
    """Write by how much a total is over the ceiling, and what room there is for weights beside the `others`, where there is some."""
    book.add("budget.over", book["budget.total"] - pool.ceiling)
    room = pool.ceiling - _sum(others)
    if room.number > 0:
        book.add("budget.room", room, "GiB", 1)


def _highest(book: Book, subject: Subject) -> Quantity:
    """Give the weights on the card at the upper end of an estimate, within the file.

    Experts may be off by a share of all of them, other weights by a share of themselves.
    """
    for fact in _tolerance(subject).experts, _tolerance(subject).rest:
        book.add(fact.key, fact.quantity(), "%", 0)
    experts = _experts_on(subject, subject.tightest, "on the card that holds most")
    if experts is not None:
        book.add("estimate.experts_on_card", experts)
    return _upper_end(book, subject, book["weights.card"], experts)


def _tolerance(subject: Subject) -> Tolerance:
    return Tolerance(subject.facts["estimate.experts"], subject.facts["estimate.rest"])


def _experts_on(subject: Subject, index: int, where: str) -> Quantity | None:
    """Give the bytes of routed experts on a card, which the derivation says in words; None where it has none."""
    placed = subject.plan.placement.tensors
    here = [each.tensor for each in placed if each.device == index and each.tensor.routed_expert]
    return subject.model.size_of(here, f"routed experts {where}") if here else None


def _upper_end(book: Book, subject: Subject, weights: Quantity, among_them: Quantity | None) -> Quantity:
    experts = None if among_them is None else Experts(among_them, book["experts.all_blocks"])
    return _tolerance(subject).upper_end(weights, book["weights.file"], experts)


def write_cards(book: Book, subject: Subject) -> None:
    """Write what each of several cards holds; nothing for one."""
    if subject.gpus < 2:
        return
    for index, device in enumerate(subject.plan.gpus):
        key = f"gpu.{index}"
        book.add(f"{key}.weights", device.terms.weights)
        book.add(f"{key}.kv", device.terms.kv)
        book.add(f"{key}.recurrent", device.terms.recurrent, "MiB", 1)
        if subject.plan.unknown_graph is None:
            book.add(f"{key}.compute", device.terms.compute, "MiB", 1)
        rest = [book[f"{key}.kv"], book[f"{key}.recurrent"]]
        book.add(f"{key}.held", _sum([book[f"{key}.weights"], *rest]))
        if subject.estimated:
            weights = _upper_end(book, subject, book[f"{key}.weights"], _experts_on(subject, index, f"on device {index}"))
            book.add(f"{key}.highest", _sum([weights, *rest]))
    book.add("cards.weights", _sum([book[f"gpu.{index}.weights"] for index in range(subject.gpus)]))


def fits(book: Book) -> str:
    """Say whether the recipe fits: `yes`, `no`, or `open` where that hangs on the tolerance of an estimate.

    It fits where each card stays under the ceiling and with its working buffers under what is usable.
    """
    if not _under(book, "budget.total", "held"):
        return "no"
    return "yes" if "budget.highest" not in book or _under(book, "budget.highest", "highest") else "open"


def _under(book: Book, key: str, each: str) -> bool:
    """Tell whether a total fits, and of several cards what each of them holds under the name `each`."""
    if not book[key] <= book["budget.ceiling"]:
        return False
    cards = range(int(book["settings.gpus"]) if "settings.gpus" in book else 0)
    pairs = [(key, "compute.card"), *((f"gpu.{index}.{each}", f"gpu.{index}.compute") for index in cards)]
    return all(compute not in book or book[held] + book[compute] <= book["budget.usable"] for held, compute in pairs)


def _add(book: Book, policy: Policy, amount: Quantity, pool: Pool) -> None:
    book.add(f"budget.{policy}.total", amount)
    book.add(f"budget.{policy}.slack", clears_by(book[f"budget.{policy}.total"], pool))


def _sum(parts: list[Quantity]) -> Quantity:
    """Give a sum of which each part is named in the formula."""
    first, *rest = parts
    for part in rest:
        first = first + part
    return first
