"""Ollama beside the guide: what its own defaults would make of the budget, and how it would run the same file.

It starts llama.cpp's own llama-server, so a cache there is the cache that llama.cpp lays out, and is counted by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from generator.catalog import Catalog
from generator.facts import Facts
from generator.guide.ledger import Book
from generator.guide.numbers import Offload, Subject
from generator.memory.builds import Build
from generator.memory.settings import Settings
from generator.quantity import BYTE, TOKEN, Quantity, Value, derived, total

NAME = "ollama"
TYPES = frozenset({"f16", "q8_0", "q4_0"})
"""Cache types that Ollama's documentation names (docs/faq.mdx)."""

PARAMETERS = {"temp": "temperature", "top_p": "top_p", "top_k": "top_k", "min_p": "min_p", "repeat_penalty": "repeat_penalty"}
"""Sampling settings of a recipe by the names that a Modelfile has for them (docs/modelfile.mdx)."""

_SHARD = re.compile(r"^(?P<stem>.*)-00001-of-(?P<count>\d{5})\.gguf$")


def ollama_facts(catalog: Catalog) -> Facts:
    """Give what is known of Ollama, from the newest file the catalogue has of it; nothing where it has none. Raises SpecErrors."""
    builds = [build for name, build in catalog.engines() if name == NAME]
    return catalog.engine(NAME, builds[-1]).beside() if builds else Facts()


def write_ollama(book: Book, subject: Subject) -> None:
    """Write what Ollama's defaults give: its context on these cards, the cache for that in F16, and the cache for the recipe's own.

    Nothing is written where its facts are not known, or the model keeps no cache.
    """
    own = f"kv.total.{'/'.join(subject.caches)}"
    if "ollama.version" not in subject.facts or own not in book:
        return
    memory = book["budget.usable"] if subject.unified else book["budget.card"] * subject.gpus
    book.add("ollama.gpu_memory", memory, "GiB", 0)
    context = book.add("ollama.n_ctx", _context(book, subject), "tokens")
    for name in ("n_parallel", "keep_alive"):
        fact = subject.facts[f"ollama.{name}"]
        book.add(fact.key, fact.quantity())
    cache = book.add("ollama.cache", _cache(subject, int(context)))
    book.add("ollama.cache_difference", _apart(cache, book[own]))
    plain = _cache(subject, int(book["settings.n_ctx"]))
    if int(plain) != int(book[own]):
        book.add("ollama.own_context", plain)
        book.add("ollama.own_context_difference", _apart(book["ollama.own_context"], book[own]))


def ollama_values(book: Book, subject: Subject, file: str) -> dict[str, object]:
    """Give what the section on Ollama decides by: what is known of the model there, how its cache compares, and what a Modelfile says."""
    facts = subject.facts
    if "ollama.version" not in facts:
        return {"known": False}
    tag = facts["model.ollama_tag"].value if "model.ollama_tag" in facts else None
    pair, layers = subject.caches, subject.settings.n_gpu_layers
    own = f"kv.total.{'/'.join(pair)}"
    counted = "ollama.cache" in book
    return {
        "known": True,
        "version": str(facts["ollama.version"].value),
        "llama_cpp": str(facts["ollama.llama_cpp"].value),
        "tag": tag if isinstance(tag, str) else "",
        "looked": tag is not None,
        "counted": counted,
        "less": counted and int(book["ollama.cache"]) < int(book[own]),
        "same": counted and int(book["ollama.cache"]) == int(book[own]),
        "less_at_own": "ollama.own_context" in book and int(book["ollama.own_context"]) < int(book[own]),
        "cache_type": pair[0] if pair[0] == pair[1] and pair[0] in TYPES else "",
        "sampling": [(PARAMETERS[name], value) for name, value in subject.recipe.settings.items() if name in PARAMETERS],
        "num_gpu": layers if subject.offload is Offload.LAYERS else None,
        "files": files_of(file),
    }


def is_older(facts: Facts, floor: str) -> bool:
    """Tell whether the llama.cpp that Ollama comes with is older than a build; not where no build is known."""
    return bool(floor) and "ollama.llama_cpp" in facts and Build.named(str(facts["ollama.llama_cpp"].value)) < Build.named(floor)


def files_of(file: str) -> list[str]:
    """Give the files of a set by the name of its first, or the one file."""
    shards = _SHARD.fullmatch(file)
    if shards is None:
        return [file]
    count = int(shards["count"])
    return [f"{shards['stem']}-{index:05}-of-{count:05}.gguf" for index in range(1, count + 1)]


def _context(book: Book, subject: Subject) -> Quantity:
    """Give the context that Ollama takes by the memory of all GPUs together, no longer than the model was trained for.

    Source: server/routes.go (the three steps) and server/sched.go, `effectiveContext`.
    """
    names = ("middle_from", "large_from", "n_ctx_small", "n_ctx_middle", "n_ctx_large")
    rules = [book.add(f"ollama.{name}", subject.facts[f"ollama.{name}"].quantity()) for name in names]
    inputs = [book["ollama.gpu_memory"], *rules, subject.model.number("context_length")]
    value = _tier([int(quantity) for quantity in inputs])
    words = "the tokens that belong to so much GPU memory, no more than the model was trained for"
    return derived(value, TOKEN, inputs, _tier, words)


def _tier(values: Sequence[Value]) -> Value:
    memory, middle, large, *contexts, trained = (int(value) for value in values)  # type: ignore[arg-type]
    step = (memory >= middle) + (memory >= large)
    return min(contexts[step], trained)


def _cache(subject: Subject, n_ctx: int) -> Quantity:
    """Give the bytes of all caches for a context as Ollama starts llama-server: one sequence, F16, its own batch, no draft head."""
    batch = int(subject.facts["ollama.n_batch"].quantity())
    settings: Settings = replace(
        subject.settings,
        n_ctx=n_ctx,
        n_parallel=1,
        kv_unified=None,
        n_batch=batch,
        n_ubatch=batch,
        type_k="f16",
        type_v="f16",
        flash_attn="auto",
        swa_full=False,
        spec_type=(),
    )
    return total([device.kv for device in subject.held(settings)], unit=BYTE, words="caches on every device")


def _apart(one: Quantity, other: Quantity) -> Quantity:
    """Give how far two sizes are apart."""
    return one - other if int(one) >= int(other) else other - one
