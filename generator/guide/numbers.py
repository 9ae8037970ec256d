"""Every number of a guide, derived and named, in the order a reader meets them.

One function a topic; each writes its numbers into the book under stable keys and says nothing about words. Keys are
those of the ledger (`weights.resident`, `kv.total.q8_0/q8_0`, `ladder.26@65536.q8_0/f16`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from generator.errors import InputError
from generator.facts import Fact, Facts
from generator.guide.ledger import Book
from generator.guide.working import excess_of, write_working
from generator.memory import kv_cache, recurrent
from generator.memory.architectures import layers_of
from generator.memory.backends import CUDA
from generator.memory.budget import Policy, Pool, clears_by
from generator.memory.compute import attention_scores
from generator.memory.context import CELL_PADDING, context_of
from generator.memory.host import entry_crossover, prompt_cache_limit
from generator.memory.ladder import Caches, Rung, experts_up_to, shallowest
from generator.memory.layers import Layers
from generator.memory.model import Model
from generator.memory.plan import Plan, make_plan
from generator.memory.settings import Settings
from generator.quantity import BYTE, ONE, TOKEN, Quantity, derived, largest, scalar, total
from generator.solve.auto import Chosen
from generator.specs import Recipe
from generator.traffic import decode, prefill


@dataclass(frozen=True, slots=True)
class Subject:
    """What the numbers are about: a recipe with its settings, the model's header, and every fact in reach.

    `chosen` is how the recipe came to a depth that it leaves open.
    """

    recipe: Recipe
    settings: Settings
    model: Model
    facts: Facts
    backend: str = CUDA
    chosen: Chosen | None = None

    @property
    def plan(self) -> Plan:
        """The plan of the recipe's settings on one device of the card's backend."""
        return make_plan(self.model, self.settings, build=self.recipe.build, backend=self.backend)

    @property
    def layers(self) -> Layers:
        """What each block of the model keeps. Raises InputError where that is more than a guide's numbers tell apart."""
        layers = layers_of(self.model, self.recipe.build)
        if len(layers.caches) != 1 or layers.caches[0].window or layers.caches[0].values is None or len(layers.states) > 1:
            raise InputError(
                f"a guide counts one cache of K and V and one kind of state; '{self.model.architecture}' has others",
                remedy="`gen plan` counts them all",
            )
        return layers

    @property
    def caches(self) -> Caches:
        """The recipe's cache types."""
        return self.settings.type_k, self.settings.type_v

    @property
    def fallbacks(self) -> tuple[Settings, ...]:
        """The recipe's settings with those of each fallback laid over them."""
        return tuple(Settings.from_recipe({**self.recipe.settings, **step.settings}) for step in self.recipe.fallbacks)

    @property
    def kept_caches(self) -> tuple[Caches, ...]:
        """The cache types that must fit: the recipe's, and those of its fallbacks, each once."""
        return tuple(dict.fromkeys([self.caches, *((step.type_k, step.type_v) for step in self.fallbacks)]))

    @property
    def all_caches(self) -> tuple[Caches, ...]:
        """Those, then the ladder's, and unquantised ones to compare with."""
        return tuple(dict.fromkeys([*self.kept_caches, *self.recipe.ladder.cache, ("f16", "f16")]))

    @property
    def prefix(self) -> str:
        """Where the lock keeps what belongs to the recipe's quant."""
        return self.recipe.quant.lower()


def write_numbers(subject: Subject) -> Book:
    """Give the book of a guide's numbers."""
    book = Book()
    _header(book, subject)
    _settings(book, subject)
    _weights(book, subject)
    _experts(book, subject)
    _caches(book, subject)
    _recurrent(book, subject)
    pool = _pool(book, subject)
    _budget(book, subject, pool)
    write_working(book, subject.plan, pool, excess_of(subject.facts))
    _ladder(book, subject, pool)
    _fallback(book, subject, pool)
    _chosen(book, subject, pool)
    _scores(book, subject)
    _traffic(book, subject)
    _draft(book, subject)
    _host(book, subject)
    _prefill(book)
    _quants(book, subject)
    return book


# --- memory --------------------------------------------------------------------------------------


def _header(book: Book, subject: Subject) -> None:
    """Every whole number that the header states of the architecture, under the name it has there."""
    prefix = f"{subject.model.architecture}."
    for key, value in subject.model.metadata.items():
        if key.startswith(prefix) and isinstance(value, int) and not isinstance(value, bool):
            name = key.removeprefix(prefix)
            book.add(f"header.{name}", subject.model.number(name))
    book.add("blocks.loaded", subject.model.loaded_blocks)


def _settings(book: Book, subject: Subject) -> None:
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
    if "settings.n_parallel" not in book:
        book.add("settings.n_parallel", context_of(subject.model, subject.settings).sequences)
    if "settings.n_ubatch" not in book:
        default = Quantity.constant(subject.settings.n_ubatch, TOKEN, "the engine's default micro-batch")
        book.add("settings.n_ubatch", default, "tokens")


def _weights(book: Book, subject: Subject) -> None:
    model, depth = subject.model, subject.settings.n_cpu_moe
    file = book.add("weights.file", subject.facts[f"file.{subject.prefix}.size"].quantity())
    tensors = book.add("weights.tensors", model.size_of(model.tensors, "every tensor of the file"))
    book.add("weights.metadata", file - tensors, "MiB", 1)
    draft = [tensor for index in subject.layers.draft_attention for tensor in model.blocks.get(index, ())]
    head = book.add("weights.draft_head", model.size_of(draft, "blocks of the draft head"), "MiB", 1)
    resident = book.add("weights.resident", tensors - head)
    book.add("weights.file_minus_resident", file - resident, "MiB", 1)
    host = book.add("weights.host", experts_up_to(model, depth))
    everything = experts_up_to(model, int(model.loaded_blocks))
    loaded = book.add("experts.loaded_blocks", everything)
    book.add("weights.dense", resident - loaded)
    embedding = [tensor for tensor in model.tensors if tensor.is_input]
    book.add("weights.input_embedding", model.size_of(embedding, "input embedding"), "MiB", 1)
    card = book.add("weights.card", resident - host)
    book.add("weights.card_without_embedding", card - book["weights.input_embedding"])
    if "model.projector.size" in subject.facts:
        book.add("weights.projector", subject.facts["model.projector.size"].quantity(), "MiB", 1)


def _experts(book: Book, subject: Subject) -> None:
    model = subject.model
    experts = model.experts()
    count = derived(
        len(experts), ONE, [model.tensor_count], lambda _: len(experts), "tensors whose name matches the offload flag's expression"
    )
    book.add("experts.tensor_count", count)
    book.add("experts.all_blocks", model.size_of(experts, "routed experts of every block"))
    book.add("experts.share_of_resident", book["experts.loaded_blocks"] / book["weights.resident"], "%", 2)
    by_block = {index: model.size_of(model.experts(index), f"routed experts of block {index}") for index in range(int(model.loaded_blocks))}
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
    book.add("experts.large_blocks", derived(large, ONE, list(by_block.values()), _indices_of_largest, words))
    book.add("experts.used", model.number("expert_used_count"))
    book.add("experts.count", model.number("expert_count"))
    book.add("experts.used_share", book["experts.used"] / book["experts.count"], "%", 1)


def _count(sizes: Iterable[Quantity], size: int, name: str) -> Quantity:
    parts = list(sizes)
    number = sum(int(part) == size for part in parts)
    pick = min if name == "small" else max
    return derived(number, ONE, parts, lambda values: list(values).count(pick(values)), f"blocks of the {name} size")


def _indices_of_largest(values: object) -> tuple[int, ...]:
    sizes = list(values)  # type: ignore[call-overload]
    return tuple(index for index, size in enumerate(sizes) if size == max(sizes))


def _caches(book: Book, subject: Subject) -> None:
    model, layers = subject.model, subject.layers
    chosen, cache = layers.attention, layers.caches[0]
    blocks = derived(chosen.blocks, ONE, chosen.inputs, chosen.evaluate, chosen.words)
    book.add("kv.full_attention_blocks", blocks)
    book.add("kv.block_count", book["kv.full_attention_blocks"].length())
    book.add("kv.elements_per_token", kv_cache.elements_per_token(model, chosen.blocks))
    context = context_of(model, subject.settings)
    one_stream = book["settings.n_ctx"].rounded_up(CELL_PADDING) if "settings.n_ctx" in book and int(context.streams) == 1 else None
    cells = book.add("kv.cells", one_stream or context.total_cells, "tokens")
    for caches in subject.all_caches:
        name = "/".join(caches)
        book.add(f"kv.bytes_per_token.{name}", kv_cache.bytes_per_token(cache, chosen.blocks, *caches))
    for caches in subject.all_caches:
        name = "/".join(caches)
        book.add(f"kv.total.{name}", book[f"kv.bytes_per_token.{name}"] * cells)


def _recurrent(book: Book, subject: Subject) -> None:
    layers = subject.layers
    each_block = recurrent.bytes_per_block(layers.states[0]) if layers.states else Quantity.constant(0, BYTE, "no recurrent block")
    block = book.add("recurrent.per_block", each_block, "MiB", 2)
    book.add("recurrent.block_count", book["blocks.loaded"] - book["kv.block_count"])
    each = book.add("recurrent.per_sequence", block * book["recurrent.block_count"], "MiB", 1)
    book.add("recurrent.total", each * book["settings.n_parallel"], "MiB", 1)


def _pool(book: Book, subject: Subject) -> Pool:
    usable = book.add("budget.usable", subject.facts["card.usable"].quantity(), "GiB", 1)
    declared = subject.recipe.budget.reserve
    margin = subject.facts["engine.fit_margin"].quantity() if declared is None else declared.quantity()
    reserve = book.add("budget.reserve", margin, "MiB", 0)
    ceiling = book.add("budget.ceiling", usable - reserve, "GiB", 1)
    card = book.add("budget.card", subject.facts["card.memory"].quantity(), "GiB", 0)
    book.add("budget.driver", card - usable, "GiB", 1)
    return Pool(usable, reserve, ceiling)


def _budget(book: Book, subject: Subject, pool: Pool) -> None:
    cache = book[f"kv.total.{'/'.join(subject.caches)}"]
    published = book["weights.card"] + cache + book["recurrent.total"]
    engine = book["weights.card"] - book["weights.input_embedding"] + cache + book["recurrent.total"]
    both = {Policy.PUBLISHED: published, Policy.ENGINE: engine}
    chosen = Policy(subject.recipe.budget.policy)
    for policy, amount in both.items():
        if policy == chosen:
            book.add("budget.total", amount)
            book.add("budget.slack", clears_by(book["budget.total"], pool))
        else:
            book.add(f"budget.{policy}.total", amount)
            book.add(f"budget.{policy}.slack", clears_by(book[f"budget.{policy}.total"], pool))


def _ladder(book: Book, subject: Subject, pool: Pool) -> None:
    """The rungs the recipe asks for, and those its fallbacks stand on."""
    rungs = [(depth, n_ctx, caches) for depth, n_ctx in subject.recipe.ladder.rows for caches in subject.recipe.ladder.cache]
    rungs += [(step.n_cpu_moe, step.n_ctx, (step.type_k, step.type_v)) for step in subject.fallbacks]
    for depth, n_ctx, caches in dict.fromkeys(rungs):
        rung = rung_of(book, subject, depth, n_ctx, caches)
        book.add(f"ladder.{rung.key}", rung.total)
        book.add(f"ladder.{rung.key}.slack", clears_by(book[f"ladder.{rung.key}"], pool))


def rung_of(book: Book, subject: Subject, depth: int, n_ctx: int, caches: Caches, policy: Policy | None = None) -> Rung:
    """Give one rung of the ladder from numbers already in the book, under the recipe's policy or another."""
    host = book["weights.host"] if depth == subject.settings.n_cpu_moe else experts_up_to(subject.model, depth)
    own = n_ctx == subject.settings.n_ctx
    cells = book["kv.cells"] if own else context_of(subject.model, replace(subject.settings, n_ctx=n_ctx)).total_cells
    cache = book[f"kv.bytes_per_token.{'/'.join(caches)}"] * cells
    weights = book["weights.resident"] - host
    if Policy(policy or subject.recipe.budget.policy) is Policy.ENGINE:
        weights = weights - book["weights.input_embedding"]
    return Rung(depth, n_ctx, caches, weights + cache + book["recurrent.total"])


def _fallback(book: Book, subject: Subject, pool: Pool) -> None:
    margin = book.add("fallback.margin", subject.recipe.fallback_margin.quantity(), "MiB", 0)
    deepest = int(subject.model.loaded_blocks)
    for policy in Policy:
        totals: dict[tuple[int, Caches], Quantity] = {}

        def total_at(depth: int, caches: Caches, policy: Policy = policy, totals: dict[tuple[int, Caches], Quantity] = totals) -> Quantity:
            if (depth, caches) not in totals:
                totals[depth, caches] = rung_of(book, subject, depth, subject.settings.n_ctx, caches, policy).total
            return totals[depth, caches]

        depth = shallowest(range(deepest + 1), subject.kept_caches, total_at, pool, margin)
        own = policy == subject.recipe.budget.policy
        key = "fallback.shallowest_n_cpu_moe" if own else f"fallback.{policy}.shallowest_n_cpu_moe"
        if depth is None:
            continue
        worst = largest(total_at(depth, caches) for caches in subject.kept_caches)
        rule = "smallest n_cpu_moe at which the ceiling minus the total exceeds the margin at every declared pair of cache types"
        book.add(key, derived(depth, ONE, [pool.ceiling, margin, worst], lambda _, depth=depth: depth, rule))  # type: ignore[misc]


def _chosen(book: Book, subject: Subject, pool: Pool) -> None:
    """The depth that a recipe left open, and by how much one block less misses."""
    chosen = subject.chosen
    if chosen is None:
        return
    depth, margin = chosen.n_cpu_moe, book["fallback.margin"]
    at, less = (rung_of(book, subject, blocks, chosen.n_ctx, chosen.caches).total for blocks in (depth, depth - 1))
    rule = "smallest n_cpu_moe at which the recipe and every fallback clear the ceiling by more than the margin, compute buffers and all"
    book.add("settings.n_cpu_moe", derived(depth, ONE, [pool.ceiling, margin, at, less], lambda _: depth, rule))
    missing = less + margin - pool.ceiling if chosen.compute is None else less + chosen.compute - pool.usable
    book.add("settings.n_cpu_moe.one_less", missing, "MiB", 0)


def _scores(book: Book, subject: Subject) -> None:
    block = subject.layers.attention.blocks[0]
    for n_ctx, n_ubatch in subject.recipe.scores:
        cells, micro = Quantity.constant(n_ctx, TOKEN, "-c"), Quantity.constant(n_ubatch, TOKEN, "-ub")
        book.add(f"scores_flash_attn_off.{n_ctx}@{n_ubatch}", attention_scores(subject.model, block, cells, micro))


# --- traffic -------------------------------------------------------------------------------------


def _traffic(book: Book, subject: Subject) -> None:
    used, count = book["experts.used"], book["experts.count"]
    host = book.add("traffic.host_per_token", decode.used_share(book["weights.host"], used, count))
    on_card = book["experts.loaded_blocks"] - book["weights.host"]
    experts = book.add("traffic.card_experts_per_token", decode.used_share(on_card, used, count))
    weights = book.add("traffic.card_weights_per_token", experts + book["weights.dense"])
    reads = decode.Decode(host, weights, book["recurrent.total"], book[f"kv.bytes_per_token.{'/'.join(subject.caches)}"])
    window = book["settings.n_ctx"]
    full = book.add("traffic.vram_per_token_full_window", reads.card(window))
    book.add("traffic.host_share", host / (host + full), "%", 2)
    for depth in subject.recipe.depths:
        at = book.add(f"depth.{depth}", Quantity.constant(depth, TOKEN, "a depth the recipe considers"), "tokens")
        book.add(f"traffic.card.{depth}", reads.card(at))
        book.add(f"crossover.{depth}", book[f"traffic.card.{depth}"] / host, "×", 2)
    lean = decode.Decode(host, weights - book["weights.input_embedding"], book["recurrent.total"], reads.kv_per_token)
    book.add("crossover.engine", lean.crossover(window), "×", 2)
    _steps(book, subject)


def _steps(book: Book, subject: Subject) -> None:
    used, count = book["experts.used"], book["experts.count"]
    steps = [
        book.add(f"traffic.step.{name}", decode.used_share(book[f"experts.block.{name}"], used, count), "MiB", 1)
        for name in ("small", "large")
    ]
    values = tuple(int(step) for step in steps)
    book.add(
        "traffic.step",
        derived(values, BYTE, steps, lambda sizes: tuple(map(scalar, sizes)), "host bytes a token added by a small, a large block"),
        "MiB",
        1,
    )
    for index, kind in enumerate(subject.recipe.memory_kinds):
        transfers = Fact(f"memory.{index}.transfers", kind.transfers, "MT/s", "declared", note=f"rated transfers of {kind.name}")
        book.add(transfers.key, transfers.quantity(), "MT/s")
        channels = book.add(f"memory.{index}.channels", Quantity.constant(kind.channels, ONE, f"channels of {kind.name}"))
        rate = book.add(f"memory.{index}.bandwidth", decode.memory_bandwidth(book[transfers.key], channels), "GB/s", 1)
        book.add(f"memory.{index}.ceiling", decode.host_ceiling(book["traffic.host_per_token"], rate), "tok/s", 0)
        for name in ("small", "large"):
            book.add(f"memory.{index}.step.{name}", decode.step_time(book[f"traffic.step.{name}"], rate), "ms", 2)


def _prefill(book: Book) -> None:
    count = book.add("prefill.passes", prefill.passes(book["settings.n_ctx"], book["settings.n_ubatch"]))
    book.add("prefill.moved", prefill.moved(book["weights.host"], count), "GiB", 0)


# --- beside the budget ---------------------------------------------------------------------------


def _draft(book: Book, subject: Subject) -> None:
    draft = subject.recipe.draft
    if draft is None or not subject.layers.draft_attention:
        return
    extra = recurrent.draft_depth_extra(book["recurrent.per_sequence"], draft.n_max)
    extra = book.add(f"draft.recurrent_extra_n_max_{draft.n_max}", extra, "MiB", 1)
    per_token = kv_cache.bytes_per_token(subject.layers.draft[0], subject.layers.draft_attention, draft.type_k, draft.type_v)
    per_token = book.add("draft.kv_bytes_per_token", per_token)
    name = draft.type_k if draft.type_k == draft.type_v else f"{draft.type_k}/{draft.type_v}"
    cache = book.add(f"draft.kv_{name}", per_token * book["settings.n_ctx"], "MiB", 0)
    book.add("draft.n_max", Quantity.constant(draft.n_max, ONE, "the recipe's draft depth"))
    book.add("draft.groups", book["draft.n_max"] + Quantity.constant(1, ONE, "the state itself"))
    everything = book.add("draft.total", book["weights.draft_head"] + extra + cache)
    book.add("draft.slack", book["budget.slack"] - everything)
    if subject.recipe.fallbacks:
        step = subject.fallbacks[0]
        rung = f"ladder.{step.n_cpu_moe}@{step.n_ctx}.{step.type_k}/{step.type_v}"
        book.add("draft.fallback_slack", book[f"{rung}.slack"] - everything, "MiB", 0)


def _host(book: Book, subject: Subject) -> None:
    cache = f"kv.bytes_per_token.{'/'.join(subject.caches)}"
    book.add("prompt_cache.entry_crossover_tokens", entry_crossover(book["recurrent.per_sequence"], book[cache]))
    limit = prompt_cache_limit(subject.settings.cache_ram)
    parts = [book["weights.host"], book["weights.input_embedding"]]
    if limit is not None:
        parts.append(book.add("prompt_cache.limit", limit, "GiB", 0))
    default = subject.facts["engine.cache_ram_default"].quantity()
    book.add("prompt_cache.default", default, "GiB", 0)
    book.add("host.by_default", book["weights.host"] + default)
    known = book.add("host.total", total(parts, words=" + ".join(f"[{part.key}]" for part in parts)))
    machine = subject.recipe.machine
    system = book.add("host.system", machine.system.quantity(), "GiB", 0)
    need = book.add("host.need", known + system, "GiB", 1)
    enough = [size for size in machine.sizes if need <= size.quantity()]
    if enough:
        book.add("host.machine", enough[0].quantity(), "GiB", 0)
    short = [size for size in machine.sizes if not need <= size.quantity()]
    if short:
        book.add("host.too_small", short[-1].quantity(), "GiB", 0)


def _quants(book: Book, subject: Subject) -> None:
    """The other files of the repository that the page weighs against this one."""
    for fact in subject.facts.under("file"):
        quant, _, what = fact.key.removeprefix("file.").rpartition(".")
        if what == "size" and quant != subject.prefix:
            book.add(f"quants.{quant}.size", fact.quantity())
