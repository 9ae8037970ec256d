"""What the cards of a recipe hold beside one another: room left on one of them, and buffers larger than the reserve."""

from __future__ import annotations

from generator.errors import Problem
from generator.guide.ledger import Book
from generator.guide.numbers import Offload, Subject
from generator.memory.placement import HOST
from generator.quantity import Quantity, shown, smallest

REMEDIES = {
    Offload.EXPERTS: (
        "settings.n_cpu_moe",
        "divide the layers with tensor_split so that each card holds about as much, then lower n_cpu_moe",
    ),
    Offload.LAYERS: ("settings.n_gpu_layers", "raise n_gpu_layers, and divide the layers with tensor_split where one card is fuller"),
}
"""By what a run keeps in system memory, the setting to see to and how."""


def unused_room(subject: Subject, book: Book) -> tuple[Problem, ...]:
    """Give a warning for each of several cards that has more free than one more block would take of it.

    Free is what stays under the ceiling and beside the card's compute buffer, at the upper end of an estimate. A run that keeps nothing
    in system memory has no block to move.
    """
    if subject.gpus < 2 or subject.offload is Offload.WHOLE or not int(book["weights.host"]):
        return ()
    block, margin = _block(subject), subject.recipe.fallback_margin.quantity()
    path, remedy = REMEDIES[subject.offload]
    return tuple(
        Problem(
            subject.recipe.file,
            subject.recipe.lines.get(path, 0),
            path,
            f"card {index} has {shown(free, 'GiB', 2)} free where a block in system memory takes {shown(block, 'GiB', 2)}",
            remedy,
        )
        for index in range(subject.gpus)
        if (free := _free(book, index) - margin) > block
    )


def _free(book: Book, index: int) -> Quantity:
    """Give the bytes that a card has left; negative where it is over."""
    key = f"gpu.{index}"
    held = book[f"{key}.highest" if f"{key}.highest" in book else f"{key}.held"]
    left = [book["budget.ceiling"] - held]
    if f"{key}.compute" in book:
        left.append(book["budget.usable"] - held - book[f"{key}.compute"])
    return smallest(left)


def _block(subject: Subject) -> Quantity:
    """Give what the last block in system memory would take of a card: its routed experts, or all of it with its cache and state."""
    host = [each.tensor for each in subject.plan.placement.tensors if each.device == HOST and each.tensor.block is not None]
    if subject.offload is Offload.EXPERTS:
        host = [tensor for tensor in host if tensor.routed_expert]
    last = max(tensor.block for tensor in host if tensor.block is not None)
    weights = subject.model.size_of([tensor for tensor in host if tensor.block == last], f"block {last} in system memory")
    if subject.offload is Offload.EXPERTS:
        return weights
    terms = subject.plan.host.terms
    blocks = {tensor.block for tensor in host}
    return weights + (terms.kv + terms.recurrent) / len(blocks)


def buffers_beside(subject: Subject, book: Book) -> list[dict[str, object]]:
    """Give the cards whose working buffers are larger than the reserve while another card holds more, and whether there they fit."""
    rows: list[dict[str, object]] = []
    for index in range(subject.gpus if subject.gpus > 1 else 0):
        key = f"gpu.{index}"
        if index == subject.tightest or f"{key}.compute" not in book or book[f"{key}.compute"] <= book["budget.reserve"]:
            continue
        rows.append({"index": index, "fit": book[f"{key}.held"] + book[f"{key}.compute"] <= book["budget.usable"]})
    return rows
