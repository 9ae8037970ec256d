"""What a guide's templates are given: numbers by key, marks, and plain rows that need no arithmetic to print."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from generator.claims.scope import Situation
from generator.errors import InputError
from generator.facts import Facts
from generator.gguf import shard_names
from generator.guide.balance import buffers_beside
from generator.guide.cards import card_values
from generator.guide.environment import has_template, rendered
from generator.guide.install import backend_of, cuda_of, floor_of
from generator.guide.ledger import Book
from generator.guide.marks import Marks, anchor, code, escaped, linked, spelled
from generator.guide.numbers import Offload, Subject, ladder_rows
from generator.guide.numbers.beside import DRAFT, draft_types
from generator.guide.numbers.budget import fits
from generator.guide.numbers.ladder import fallback_rung, ladder_caches, own_offload
from generator.guide.numbers.speed import depths
from generator.guide.ollama import is_older, ollama_values
from generator.guide.pictures import Picture
from generator.guide.threads import PLACES, Threads
from generator.guide.working import working_rows
from generator.memory.budget import Policy
from generator.memory.context import context_of
from generator.memory.rows import is_latent
from generator.memory.settings import to_arguments
from generator.memory.windows import windowed_blocks
from generator.quantity import BYTE, Quantity
from generator.solve.auto import Chosen
from generator.specs import PAGE_SECTIONS, Card, Citation, Engine, Fallback, Issue, Model, Recipe, Setting, Spec

COMMAND_WIDTH = 48
"""Characters of a command's line, without its indent."""

TITLES = {
    "what_you_build": "What you build",
    "requirements": "Requirements",
    "install": "Install",
    "download": "Download",
    "run": "Run",
    "offload": "How the offload works",
    "budget": "The memory budget",
    "two_cards": "What each card holds",
    "choosing": "Choose your own settings",
    "fallback": "The fallback, and what it costs",
    "speed": "Where speed goes",
    "prefill": "Reading the prompt",
    "results": "Results",
    "draft_head": "The draft head",
    "vision": "Images",
    "alternatives": "Instead of this",
    "ollama": "Ollama",
    "troubleshooting": "When something goes wrong",
    "unknown": "What this page does not know",
}
"""Headings of sections that a recipe writes in its own words, where it gives none."""

WITHOUT_A_RUN = ("what_you_build", "requirements", "budget", "two_cards", "choosing", "alternatives", "unknown")
"""Sections of a page whose recipe does not fit: nothing to install, fetch or start, and no speed to have."""

ROOMY = Quantity.constant(2 << 30, BYTE, "so much to spare that another program's share is no risk")

SAMPLING = {"temp": "temperature", "top_p": "top-p", "top_k": "top-k", "min_p": "min-p", "repeat_penalty": "repetition penalty"}


@dataclass(frozen=True, slots=True)
class Nearest:
    """Another recipe of the same model: its page beside this one, its title, and what it takes of system memory where that is asked."""

    page: str
    title: str
    host: Quantity | None = None


@dataclass(frozen=True, slots=True)
class Sources:
    """The specs of one guide, as authored; `chosen` is how the recipe came to a depth that it leaves open.

    `nearest` is a recipe that fits where this one does not; `elsewhere` are the other recipes of the model.
    """

    recipe: Recipe
    model: Model
    card: Card
    engine: Engine
    issues: Mapping[str, Issue]
    facts: Facts
    templates: Path
    chosen: Chosen | None = None
    nearest: Nearest | None = None
    elsewhere: tuple[Nearest, ...] = ()


def values_of(sources: Sources, subject: Subject, marks: Marks, drawn: Mapping[str, Picture], here: Situation) -> dict[str, object]:
    """Give the names that templates may use."""
    book = marks.book
    threads = Threads(sources.issues, sources.recipe, here, marks)
    floor = floor_of(sources.engine, sources.model, marks)
    values: dict[str, object] = {
        **_names(sources, subject, marks),
        **_run(sources, subject, book),
        **_model_words(subject, book),
        **card_values(sources.card, sources.facts, marks),
        "book": book,
        "n": marks.number,
        "cite": marks.cite,
        "checked": marks.checked,
        "holds": lambda key: (marks.holds if sources.facts[key].source.url else marks.checked)(key),
        "citation_quote": lambda name: sources.engine.citation(name).quote,
        "prose": _prose(sources, marks),
        "noted": _noted(sources),
        "command": lambda fallback=None: command(sources, fallback),
        "referee": _referee(sources, marks),
        "floor": floor,
        "cuda": cuda_of(sources.engine, sources.card),
        "backend": backend_of(sources.engine, sources.card, sources.recipe, marks),
        "ladder": _ladder(subject, book),
        "fallbacks": sources.recipe.fallbacks,
        "fallback_off": any(step.settings.get("flash_attn") == "off" for step in sources.recipe.fallbacks[:1]),
        "fallback_rows": _fallback_rows(sources, subject),
        "scores": sources.recipe.scores,
        "buffers_beside": buffers_beside(subject, book),
        "working": working_rows(subject.plan, subject.tightest),
        "figures": {name: {"alt": picture.alt, "path": f"{sources.recipe.page}/{name}.svg"} for name, picture in drawn.items()},
        "issues_at": threads.told(),
        "known_issues": bool(threads.gathered()),
        "nearest": _nearest(sources.nearest, book),
        "smaller": _smaller(sources, book),
        "elsewhere": [_link_to(other) for other in sources.elsewhere],
        "uncited": lambda: [uncited_place(citation) for _, citation in sorted(marks.uncited.items())],
        "checked_between": marks.checked_between,
        "sections": PAGE_SECTIONS if fits(book) != "no" else tuple(name for name in PAGE_SECTIONS if name in WITHOUT_A_RUN),
    }
    values["ollama"] = ollama_values(book, subject)
    values["ollama_older"] = is_older(sources.facts, str(floor["build"]))
    values["risk"] = next((row for place in PLACES for row in values["issues_at"][place] if row.get("is_risk")), None)  # type: ignore[index]
    values["flags"] = _flags(sources, marks, values) if fits(book) != "no" else []
    values["caps"] = _caps(sources, subject, marks)
    values["written"], values["added"] = _own_sections(sources, marks)
    return values


def _names(sources: Sources, subject: Subject, marks: Marks) -> dict[str, object]:
    """Give what things are called."""
    recipe, card = sources.recipe, sources.card
    unified, many = subject.unified, subject.gpus > 1
    on_card = "in the GPU's memory" if unified else "on the cards" if many else "on the card"
    header = f"header.{subject.prefix}.tensors"
    origin = sources.facts[header].origin if header in sources.facts else ""
    sampling = [
        f"{SAMPLING[name]} {marks.fact(f'model.sampling.{name}')}" for name in SAMPLING if f"model.sampling.{name}" in sources.facts
    ]
    dates = sorted({marks.checked(f"model.sampling.{name}") for name in SAMPLING if f"model.sampling.{name}" in sources.facts})
    return {
        "model": _model(sources.model),
        "card": {
            "title": escaped(card.title),
            "compute_capability": card.compute_capability,
            "llvm_target": card.llvm_target,
            "vendor": card.vendor,
            "backend": card.backend,
        },
        "title_of_cards": escaped(recipe.titled(card)),
        "recipe": recipe,
        "build": sources.engine.build,
        "quant": recipe.quant,
        "prefix": subject.prefix,
        "file_names": _files(sources),
        "size_asked": bool(sources.facts[f"file.{subject.prefix}.size"].source.url),
        "model_path": model_path(sources),
        "on_card": on_card,
        "on_the_fuller": "on the fuller card" if many else on_card,
        "on_card_title": "In the GPU's memory" if unified else "On the fuller card" if many else "On the card",
        "device_name": {"cuda": "CUDA", "rocm": "ROCm", "vulkan": "Vulkan", "sycl": "SYCL", "metal": "MTL"}[card.backend],
        "memory_kinds": [{"name": escaped(kind.name)} for kind in recipe.memory_kinds],
        "reconstructed": origin == "reconstructed",
        "estimated": subject.estimated,
        "converted": sources.model.quant(recipe.quant).converted,
        "config_link": linked("its published configuration", f"#estimate.{subject.prefix}.tensors"),
        "sampling": f"{', '.join(sampling)} ({'; '.join(dates)})" if sampling else "",
        "address": f"{recipe.settings.get('host', '127.0.0.1')}:{recipe.settings.get('port', 8080)}",
    }


def _run(sources: Sources, subject: Subject, book: Book) -> dict[str, object]:
    """Give what the run does and whether it fits."""
    settings, plan = subject.settings, subject.plan
    draft = sources.recipe.draft or DRAFT
    pair = "/".join(subject.caches)
    at = depths(subject)
    ceilings = [
        {"depth": depth, "cells": keys}
        for depth in at
        if (keys := [key for key in (f"speed.ceiling.{depth}", *(f"speed.ceiling.{kind}.{depth}" for kind in range(8))) if key in book])
    ]
    depth, n_ctx = subject.depth, int(plan.context.asked)
    shallowest = "fallback.shallowest_n_cpu_moe"
    asked = settings.n_gpu_layers
    return {
        "settings": settings,
        "offload": str(subject.offload),
        "fits": fits(book),
        "roomy": book["budget.slack"] >= ROOMY,
        "heavier_than_cards": book["budget.card"] * subject.gpus <= book["weights.resident"],
        "weights_alone_fit": book["weights.resident"] - book["weights.input_embedding"] <= book["budget.ceiling"] * subject.gpus,
        "engine_chooses": settings.n_gpu_layers == "auto",
        "unified": subject.unified,
        "gpus": subject.gpus,
        "policy": str(subject.policy),
        "other_policy": str(Policy.ENGINE if subject.policy is Policy.PUBLISHED else Policy.PUBLISHED),
        "one_slot": int(plan.context.sequences) == 1,
        "slots": int(plan.context.sequences),
        "n_ctx": n_ctx,
        "depth": depth,
        "bench_layers": asked if isinstance(asked, int) else 99,
        "tensor_split": sources.recipe.settings.get("tensor_split", ""),
        "bench_depth": min(32768, n_ctx // 2),
        "all_experts": depth >= int(subject.model.loaded_blocks),
        "deeper_than_needed": shallowest in book and int(book[shallowest]) < depth,
        "n_host": int(book["weights.host"]) > 0,
        "own_growth": f"kv.bytes_per_token.{pair}",
        "own_total": f"kv.total.{pair}",
        "inside_reserve": "compute.slack" in book and int(book["compute.slack"]) >= 0,
        "depths": at,
        "crossover_rows": all(f"crossover.{depth}" in book for depth in at),
        "grows": len(at) > 1 and f"crossover.{at[-1]}" in book and book[f"crossover.{at[0]}"] < book[f"crossover.{at[-1]}"],
        "ceilings": ceilings,
        "default_ubatch": "n_ubatch" not in sources.recipe.settings,
        "caps_prompt_cache": "cache_ram" in sources.recipe.settings,
        "mapped": settings.load_mode in {"auto", "mmap"},
        "draft": {"n_max": draft.n_max, "cache_key": f"draft.kv_{draft_types(draft)}", "type_k": draft.type_k},
        "draft_fits": "draft.slack" in book and int(book["draft.slack"]) > 0,
        "projector_fits": "weights.projector" in book and book["weights.projector"] <= book["budget.slack"],
        "chosen": None
        if subject.chosen is None
        else {
            "run": spelled(subject.chosen.run),
            "by_compute": subject.chosen.compute is not None,
            "one_less": "settings.n_cpu_moe.one_less" in book,
        },
    }


def _model_words(subject: Subject, book: Book) -> dict[str, object]:
    """Give what the model is made of."""
    model, layers = subject.model, subject.layers
    first_dense = int(model.number("leading_dense_block_count", 0))
    uneven = "experts.block_sizes" in book and len(book["experts.block_sizes"].value) > 1  # type: ignore[arg-type]
    return {
        "mixture": bool(model.experts()),
        "has_cache": bool(layers.caches),
        "has_state": "recurrent.card" in book,
        "latent": is_latent(model),
        "windowed": bool(windowed_blocks(model)) and not subject.settings.swa_full,
        "draft_in_file": bool(int(model.draft_blocks)),
        "shared_expert": any("_shexp" in tensor.name for tensor in model.tensors),
        "first_dense": first_dense,
        "uneven": uneven,
        "more_sizes": uneven and len(book["experts.block_sizes"].value) > 2,  # type: ignore[arg-type]
        "all_blocks_have_experts": "experts.blocks" in book and int(book["experts.blocks"]) == int(model.loaded_blocks),
        "cache_parts": list(_cache_parts(subject, book)),
    }


def _cache_parts(subject: Subject, book: Book) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for index, cache in enumerate(subject.layers.caches):
        key = f"cache.{index}"
        if f"{key}.size" not in book:
            continue
        words = "the whole context"
        if cache.window is not None:
            words = "a sliding window"
        elif cache.picks_tokens:
            words = "an index of the context"
        elif cache.ratio is not None:
            words = "the context, compressed"
        rows.append({"key": key, "words": words, "window": f"{key}.window" if f"{key}.window" in book else ""})
    return rows


READING_ALLOWS = "Reading the weights for each token [allows](#speed)"


def _caps(sources: Sources, subject: Subject, marks: Marks) -> str:
    """Say, for the first screen, what bounds the speed: both memories with an empty and a full context, or system memory alone."""
    book, kinds = marks.book, sources.recipe.memory_kinds
    at = depths(subject)
    if f"speed.ceiling.{at[0]}" in book:
        most = f"at most {marks.number(f'speed.ceiling.{at[0]}')} with an empty context"
        most += f", {marks.number(f'speed.ceiling.{at[-1]}')} with a full one" if len(at) > 1 else ""
        return f"{READING_ALLOWS} {most}; expect less"
    shown = dict.fromkeys([0, len(kinds) - 1] if kinds else [])

    def by_kind(key: str, *, named: bool = True) -> str:
        words = [f" with {escaped(kinds[kind].name)}" if named else "" for kind in shown]
        return ", ".join(f"{marks.number(key.format(kind))}{with_kind}" for kind, with_kind in zip(shown, words, strict=True))

    if shown and f"speed.ceiling.0.{at[0]}" in book:
        most = f"at most {by_kind(f'speed.ceiling.{{}}.{at[0]}')} and an empty context"
        most += f" ({by_kind(f'speed.ceiling.{{}}.{at[-1]}', named=False)} with a full one)" if len(at) > 1 else ""
        return f"{READING_ALLOWS} {most}; expect less"
    if shown and "memory.0.ceiling" in book:
        most = f"at most {by_kind('memory.{}.ceiling')}"
        return f"Reading the part in system memory alone [allows](#speed) {most}; the card's part slows it further"
    return ""


def _nearest(nearest: Nearest | None, book: Book) -> dict[str, object] | None:
    if nearest is None:
        return None
    if nearest.host is not None:
        book.add("nearest.host", nearest.host, "GiB", 1)
    return {"link": _link_to(nearest), "host": nearest.host is not None}


def _smaller(sources: Sources, book: Book) -> str:
    """Name the model's other files that the room for weights would hold, largest first, with their sizes."""
    if "budget.room" not in book:
        return ""
    sizes = {name: f"quants.{name.lower()}.size" for name in sources.model.quants}
    found = [(int(book[key]), name, key) for name, key in sizes.items() if key in book and book[key] <= book["budget.room"]]
    rows = [f"{code(name)} ({linked(book.text(key), f'#{key}')})" for _, name, key in sorted(found, reverse=True)]
    return f"{' and '.join(rows)} {'is' if len(rows) == 1 else 'are'} small enough" if rows else ""


def _link_to(other: Nearest) -> str:
    return linked(escaped(other.title), f"{other.page}.md")


# --- the command ---------------------------------------------------------------------------------


def command(sources: Sources, fallback: Fallback | None = None) -> str:
    """Give the command a reader copies, with a fallback's settings laid over the recipe's. Raises InputError for a line break."""
    settings = dict(sources.recipe.settings)
    if fallback is not None:
        address: dict[str, Setting] = {name: settings.pop(name) for name in ("host", "port") if name in settings}
        settings = {**settings, **fallback.settings, **address}
    for name, value in settings.items():
        if isinstance(value, str) and not value.isprintable():
            where = sources.recipe.where(f"settings.{name}")
            raise InputError("a line break or control character does not go into a command", where=where, remedy="write it in one line")
    words = [shlex.join(argument) for argument in to_arguments(settings)]
    return " \\\n    ".join(["./build/bin/llama-server", f"-m {shlex.quote(model_path(sources))}", *_lines(words)])


def _lines(words: list[str]) -> list[str]:
    """Put flags together as long as a line stays short, each with its values, so that a command takes few lines on a phone too."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) < COMMAND_WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _files(sources: Sources) -> list[str]:
    """Give the file of the quant, or all of them where it is sharded."""
    path = PurePosixPath(sources.model.quant(sources.recipe.quant).file)
    return [str(path.with_name(name)) for name in shard_names(path.name)]


def model_path(sources: Sources) -> str:
    """Give the path that the download section leaves the file at."""
    return f"./{sources.model.name}/{sources.model.quant(sources.recipe.quant).file}"


def _flags(sources: Sources, marks: Marks, values: Mapping[str, object]) -> list[dict[str, str]]:
    """Give a row for each setting of the recipe whose words have a template: flag, default with its citation, what it decides."""
    rows = []
    for name, value in sources.recipe.settings.items():
        template = f"flags/{name}.md.j2"
        if not has_template(sources.templates, template):
            continue
        flag = sources.engine.flag(name)
        text = " ".join(to_arguments({name: value})[0])
        words = " ".join(rendered(sources.templates, template, dict(values)).split())
        default = "not set" if flag.default is None else code(_word(flag.default))
        rows.append({"text": code(text), "default": f"{default} ({marks.cite(flag.citation)})", "words": words})
    return rows


def _word(value: object) -> str:
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)


# --- prose ---------------------------------------------------------------------------------------


def _prose(sources: Sources, marks: Marks) -> Callable[[str], str]:
    """Give the function that fills a slot: the recipe's own, or with a prefix the card's, the engine's or the model's."""

    def prose(slot: str) -> str:
        spec, owner, name = _slot(sources, slot)
        return marks.prose(spec.notes[name], spec, owner) if name in spec.notes else ""

    return prose


def _noted(sources: Sources) -> Callable[[str], bool]:
    """Give the function that tells whether somebody wrote a slot."""

    def noted(slot: str) -> bool:
        spec, _, name = _slot(sources, slot)
        return name in spec.notes

    return noted


def _slot(sources: Sources, slot: str) -> tuple[Spec, str, str]:
    owners: dict[str, Spec] = {"card": sources.card, "engine": sources.engine, "model": sources.model}
    owner, _, name = slot.rpartition(":")
    return (owners[owner] if owner else sources.recipe), owner or "recipe", name


def _own_sections(sources: Sources, marks: Marks) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Give the recipe's own sections as Markdown: those in the place of the page's, and those that follow each of them."""
    written: dict[str, str] = {}
    added: dict[str, list[str]] = {name: [] for name in PAGE_SECTIONS}
    for name, section in sources.recipe.sections.items():
        text = f"## {escaped(section.title or TITLES[name])}\n\n{marks.prose(section.text, sources.recipe, 'recipe')}"
        if name in PAGE_SECTIONS:
            written[name] = f"{anchor(name.replace('_', '-'))}\n\n{text}"
        else:
            added[section.after].append(text)
    return written, added


# --- rows ----------------------------------------------------------------------------------------


def _model(model: Model) -> dict[str, str]:
    return {
        "name": model.name,
        "title": escaped(model.title),
        "architecture": model.architecture,
        "publisher": escaped(model.publisher),
        "licence_name": escaped(model.licence) if not any(map(str.isdecimal, model.licence)) else code(model.licence),
        "base": model.base,
        "base_name": code(model.base) if model.base else "",
        "base_url": f"https://huggingface.co/{model.base}" if model.base else "",
        "repository": model.repository,
        "repository_code": code(model.repository),
        "repository_url": model.repository_url,
    }


def _ladder(subject: Subject, book: Book) -> dict[str, object]:
    """Give the rows of the ladder, with the cells that are over the ceiling marked, and the flag its rows are about."""
    pairs = ladder_caches(subject)
    own, n_ctx = own_offload(subject), int(context_of(subject.model, subject.settings).asked)
    rows = []
    for row in ladder_rows(subject):
        cells = [(key, not book[key] <= book["budget.ceiling"]) for key in map(row.key, pairs)]
        rows.append({"offload": row.offload, "n_ctx": row.n_ctx, "chosen": (row.offload, row.n_ctx) == (own, n_ctx), "cells": cells})
    flag = {Offload.EXPERTS: "-ncmoe", Offload.LAYERS: "-ngl", Offload.WHOLE: ""}[subject.offload]
    return {"caches": ["/".join(pair) for pair in pairs], "rows": rows if pairs else [], "flag": flag}


def _fallback_rows(sources: Sources, subject: Subject) -> list[dict[str, str]]:
    rows = []
    for index, step in enumerate(sources.recipe.fallbacks):
        flags = " ".join(" ".join(argument) for argument in to_arguments(step.settings))
        row, pair = fallback_rung(subject, index)
        rows.append({"flags": code(flags), "key": row.key(pair)})
    return rows


def _referee(sources: Sources, marks: Marks) -> dict[str, object] | None:
    """Give which build of the engine was asked, and how; None where the book has no answer of one."""
    if "referee.difference" not in marks.book:
        return None
    build = str(sources.facts["measured.build"].value)
    return {
        "build": code(build),
        "day": marks.day("measured.ladder"),
        "pinned": build == sources.engine.build,
        "posed": sources.facts["measured.posed"].value is True,
        "written": str(sources.facts["measured.header"].value).startswith("written"),
        "differs": int(marks.book["referee.difference"]) > 0,
    }


def uncited_place(citation: Citation) -> str:
    """Name a place of the engine's source whose line was not read at the pin, and where it was read instead."""
    elsewhere = citation.read_elsewhere
    said = f", line {code(str(elsewhere.line))} of {code(elsewhere.source)}" if elsewhere else ""
    return f"{code(citation.pattern)} in {code(citation.path)}{said}"


__all__ = ["Nearest", "Sources", "command", "model_path", "uncited_place", "values_of"]
