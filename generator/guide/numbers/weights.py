"""What the file holds and where it goes: header, settings, weights, routed experts."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from generator.facts import Fact
from generator.guide.ledger import Book
from generator.guide.numbers.subject import Offload, Subject
from generator.memory.budget import Policy
from generator.memory.context import context_of
from generator.memory.ladder import experts_up_to
from generator.quantity import BYTE, ONE, TOKEN, Quantity, derived


def write_header(book: Book, subject: Subject) -> None:
    """Write every whole number that the header states of the architecture, under the name it has there."""
    prefix = f"{subject.model.architecture}."
    for key, value in subject.model.metadata.items():
        if key.startswith(prefix) and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            name = key.removeprefix(prefix)
            book.add(f"header.{name}", subject.model.number(name))
    loaded = book.add("blocks.loaded", subject.model.loaded_blocks)
    book.add("blocks.layers", loaded + Quantity.constant(1, ONE, "the output head, which counts as a layer"), "", 0)


def write_settings(book: Book, subject: Subject) -> None:
    """Write the recipe's settings that are numbers, and those of the engine's defaults that a page speaks of."""
    for name, value in subject.recipe.settings.items():
        if name == "n_cpu_moe" and subject.chosen is not None:
            continue  # derived, once there is a budget
        fact = Fact(f"settings.{name}", value, origin="declared", note=f"the recipe's {name}")
        unit = {"n_ctx": TOKEN, "n_ubatch": TOKEN, "n_batch": TOKEN}.get(name, ONE)
        if name == "cache_ram":
            fact = Fact(fact.key, value, "MiB", "declared", note="the recipe's cache_ram")
            book.add(fact.key, fact.quantity(), "MiB")
        elif isinstance(value, int | float) and not isinstance(value, bool) and name != "port":
            quantity = Fact(fact.key, value, "tok" if unit == TOKEN else "", "declared", note=fact.note).quantity()
            digits = max(0, -int(Decimal(str(value)).as_tuple().exponent))
            book.add(fact.key, quantity, "tokens" if unit == TOKEN else "", digits)
    if subject.gpus > 1:
        book.add("settings.gpus", Quantity.constant(subject.gpus, ONE, "cards of the recipe"))
    context = context_of(subject.model, subject.settings)
    if "settings.n_ctx" not in book:
        book.add("settings.n_ctx", context.asked, "tokens")
    if "settings.n_parallel" not in book:
        book.add("settings.n_parallel", context.sequences)
    if "settings.n_ubatch" not in book:
        default = Quantity.constant(subject.settings.n_ubatch, TOKEN, "the engine's default micro-batch")
        book.add("settings.n_ubatch", default, "tokens")


def write_weights(book: Book, subject: Subject) -> None:
    """Write the file's bytes by what becomes of them: loaded or not, on the card that holds most, in system memory."""
    model = subject.model
    file = book.add("weights.file", subject.facts[f"file.{subject.prefix}.size"].quantity())
    tensors = book.add("weights.tensors", model.size_of(model.tensors, "every tensor of the file"))
    book.add("weights.metadata", file - tensors, "MiB", 1)
    loaded = {tensor.name for tensor in model.loaded(draft_head=subject.settings.loads_draft_head)}
    unread = [tensor for tensor in model.tensors if tensor.name not in loaded]
    head = book.add("weights.draft_head", model.size_of(unread, "blocks of the draft head"), "MiB", 1)
    resident = book.add("weights.resident", tensors - head)
    book.add("weights.file_minus_resident", file - resident, "MiB", 1)
    if subject.offload is Offload.EXPERTS:
        host = book.add("weights.host", experts_up_to(model, subject.depth))
    embedding = [tensor for tensor in model.tensors if tensor.is_input]
    embedded = book.add("weights.input_embedding", model.size_of(embedding, "input embedding"), "MiB", 1)
    if subject.offload is not Offload.EXPERTS:
        host = book.add("weights.host", subject.plan.host.terms.weights - embedded)
    if subject.policy is Policy.PUBLISHED:
        card = book.add("weights.card", resident - host)
        book.add("weights.card_without_embedding", card - embedded)
    else:
        book.add("weights.card", subject.plan.gpus[subject.tightest].terms.weights)
    if model.tied_embedding:
        book.add("weights.tied", embedded, "MiB", 1)
    if "model.projector.size" in subject.facts:
        book.add("weights.projector", subject.facts["model.projector.size"].quantity(), "MiB", 1)


def write_experts(book: Book, subject: Subject) -> None:
    """Write what a mixture's routed experts take, altogether and by block."""
    model = subject.model
    experts = model.experts()
    if not experts:
        return
    count = derived(
        len(experts), ONE, [model.tensor_count], lambda _: len(experts), "tensors whose name matches the offload flag's expression"
    )
    book.add("experts.tensor_count", count)
    book.add("experts.all_blocks", model.size_of(experts, "routed experts of every block"))
    loaded = book.add("experts.loaded_blocks", experts_up_to(model, int(model.loaded_blocks)))
    book.add("weights.dense", book["weights.resident"] - loaded)
    book.add("experts.share_of_resident", loaded / book["weights.resident"], "%", 2)
    by_block = {
        index: model.size_of(tensors, f"routed experts of block {index}")
        for index in range(int(model.loaded_blocks))
        if (tensors := model.experts(index))
    }
    sizes = sorted({int(size) for size in by_block.values()})
    words = "distinct sizes of one loaded block's routed experts"
    each = derived(tuple(sizes), BYTE, list(by_block.values()), lambda values: tuple(sorted(set(values))), words)  # type: ignore[arg-type]
    book.add("experts.block_sizes", each, "MiB", 0)
    for name, size in (("small", sizes[0]), ("large", sizes[-1])):
        one = next(quantity for quantity in by_block.values() if int(quantity) == size)
        book.add(f"experts.block.{name}", one, "MiB", 0)
        book.add(f"experts.count.{name}", _count(by_block.values(), size, name))
    large = tuple(index for index, size in by_block.items() if int(size) == sizes[-1])
    words = "blocks whose routed experts take the largest size"
    blocks = tuple(by_block)
    book.add("experts.large_blocks", derived(large, ONE, list(by_block.values()), lambda sizes: _of_largest(blocks, sizes), words))
    book.add(
        "experts.blocks", derived(len(by_block), ONE, [model.tensor_count], lambda _: len(by_block), "loaded blocks with routed experts")
    )
    book.add("experts.used", model.number("expert_used_count"))
    book.add("experts.count", model.number("expert_count"))
    book.add("experts.used_share", book["experts.used"] / book["experts.count"], "%", 1)


def _count(sizes: Iterable[Quantity], size: int, name: str) -> Quantity:
    parts = list(sizes)
    number = sum(int(part) == size for part in parts)
    pick = min if name == "small" else max
    return derived(number, ONE, parts, lambda values: list(values).count(pick(values)), f"blocks of the {name} size")


def _of_largest(blocks: tuple[int, ...], values: object) -> tuple[int, ...]:
    sizes = list(values)  # type: ignore[call-overload]
    return tuple(block for block, size in zip(blocks, sizes, strict=True) if size == max(sizes))
