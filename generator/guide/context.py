"""What a guide's templates are given: numbers by key, marks, and plain rows that need no arithmetic to print."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.errors import InputError
from generator.facts import Facts
from generator.guide.environment import has_template, rendered
from generator.guide.ledger import Book
from generator.guide.marks import Marks, anchor, code, escaped, spelled
from generator.guide.numbers import Subject
from generator.guide.pictures import Picture
from generator.guide.working import working_rows
from generator.memory.budget import Policy
from generator.memory.settings import to_arguments
from generator.solve.auto import Chosen
from generator.specs import Card, Citation, Engine, Fallback, Issue, Model, Recipe, Setting

CARD_ROWS = (
    ("memory", "Memory"),
    ("memory_type", "Memory type"),
    ("memory_bus", "Memory bus"),
    ("cuda_cores", "CUDA cores"),
    ("boost_clock", "Boost clock"),
    ("base_clock", "Base clock"),
    ("board_power", "Board power"),
    ("system_power", "Recommended supply"),
    ("pcie_generation", "PCI Express generation"),
    ("pcie_lanes", "PCI Express lanes"),
    ("memory_speed", "Memory speed"),
    ("memory_bandwidth", "Memory bandwidth"),
)
"""Facts of a card in the order the page shows them, with the words it uses."""

COMMAND_WIDTH = 48
"""Characters of a command's line, without its indent."""

ICONS = {"red": "🔴", "amber": "🟠", "note": "⚪"}


@dataclass(frozen=True, slots=True)
class Sources:
    """The specs of one guide, as authored; `chosen` is how the recipe came to a depth that it leaves open."""

    recipe: Recipe
    model: Model
    card: Card
    engine: Engine
    issues: Mapping[str, Issue]
    facts: Facts
    templates: Path
    chosen: Chosen | None = None


def values_of(sources: Sources, subject: Subject, marks: Marks, drawn: Mapping[str, Picture]) -> dict[str, object]:
    """Give the names that templates may use."""
    book = marks.book
    policy = Policy(sources.recipe.budget.policy)
    values: dict[str, object] = {
        "model": _model(sources.model),
        "card": {"title": escaped(sources.card.title), "compute_capability": sources.card.compute_capability},
        "recipe": sources.recipe,
        "settings": subject.settings,
        "chosen": None
        if subject.chosen is None
        else {"run": spelled(subject.chosen.run), "by_compute": subject.chosen.compute is not None},
        "build": sources.engine.build,
        "quant": sources.recipe.quant,
        "prefix": subject.prefix,
        "caches": "/".join(subject.caches),
        "file_name": sources.model.quant(sources.recipe.quant).file,
        "model_path": model_path(sources),
        "book": book,
        "n": marks.number,
        "cite": marks.cite,
        "checked": marks.checked,
        "holds": marks.holds,
        "citation_quote": lambda name: sources.engine.citation(name).quote,
        "prose": _prose(sources, marks),
        "command": lambda fallback=None: command(sources, fallback),
        "fits": book["budget.total"] <= book["budget.ceiling"],
        "measured": False,
        "referee": _referee(sources, marks),
        "reconstructed": sources.facts[f"header.{subject.prefix}.tensors"].origin == "reconstructed",
        "policy": str(policy),
        "other_policy": str(Policy.ENGINE if policy is Policy.PUBLISHED else Policy.PUBLISHED),
        "floor": _floor(sources, marks),
        "cuda": _cuda(sources),
        "card_facts": list(_card_facts(sources, marks)),
        "not_published": list(_not_published(sources, marks)),
        "memory_kinds": [{"name": escaped(kind.name)} for kind in sources.recipe.memory_kinds],
        "ladder": _ladder(sources, subject, book),
        "fallbacks": sources.recipe.fallbacks,
        "fallback_rows": _fallback_rows(sources, subject),
        "scores": sources.recipe.scores,
        "working": working_rows(subject.plan),
        "inside_reserve": "compute.slack" in book and int(book["compute.slack"]) >= 0,
        "depths": sources.recipe.depths,
        "draft": _draft(sources.recipe),
        "figures": {name: {"alt": picture.alt, "path": f"{sources.card.name}/{name}.svg"} for name, picture in drawn.items()},
        "issues_at": _issues(sources, marks),
        "uncited": lambda: [_uncited(citation) for _, citation in sorted(marks.uncited.items())],
        "oldest_check": lambda: _day(marks, 0),
        "newest_check": lambda: _day(marks, -1),
    }
    values["flags"] = _flags(sources, marks, values)
    return values


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


# --- prose and threads ---------------------------------------------------------------------------


def _prose(sources: Sources, marks: Marks) -> Callable[[str], str]:
    """Give the function that fills a slot: the recipe's own, or with a prefix the card's, the engine's or the model's."""
    owners = {"card": sources.card, "engine": sources.engine, "model": sources.model}

    def prose(slot: str) -> str:
        owner, _, name = slot.rpartition(":")
        spec = owners[owner] if owner else sources.recipe
        if name not in spec.notes:
            return ""
        return marks.prose(spec.notes[name], spec, owner or "recipe")

    return prose


def _issues(sources: Sources, marks: Marks) -> dict[str, list[dict[str, str]]]:
    """Give the recipe's threads by the section that tells them, in the recipe's order."""
    places: dict[str, list[dict[str, str]]] = {
        name: [] for name in ("first", "install", "memory", "auto_fit", "prefill", "draft_head", "host", "troubleshooting")
    }
    for ref in sources.recipe.issues:
        issue = sources.issues[ref]
        row = {"number": str(issue.number), "link": marks.issue_link(issue), "icon": ICONS[issue.severity]}
        row["state"] = marks.state(issue)
        row["headline"] = marks.prose(issue.headline, issue, issue.prefix)
        if issue.severity == "red" and _is_open(issue, marks) and not places["first"]:
            places["first"].append(dict(row))
        titled = issue.symptom == str(marks.facts[f"{issue.prefix}.title"].value)
        row["symptom"] = marks.quoted(issue.symptom) if titled else escaped(issue.symptom)
        row["text"] = _told(issue, marks)
        places[_place(issue)].append(row)
    return places


def _place(issue: Issue) -> str:
    """Give the section that tells a thread: by its topic, and for some by the technique it is about."""
    if issue.topic in {"build", "draft_head"}:
        return {"build": "install", "draft_head": "draft_head"}[issue.topic]
    if "auto_fit" in issue.applies.techniques:
        return "auto_fit"
    if "prompt_cache" in issue.applies.techniques:
        return "host"
    if issue.topic == "memory":
        return "memory"
    if issue.topic == "speed" and "expert_offload" in issue.applies.techniques:
        return "prefill"
    return "troubleshooting"


def _is_open(issue: Issue, marks: Marks) -> bool:
    fact = marks.facts[f"{issue.prefix}.state"]
    return fact.value == "open" and fact.status != "gone"


def _told(issue: Issue, marks: Marks) -> str:
    """Give a thread's sections as Markdown: what is reported, established and not, and what to do."""
    parts = []
    open_words = {"established": "Established.", "not established": "Not established.", "would change our mind": "What would change this."}
    closed = not _is_open(issue, marks)
    for name in ("report", "if closed", "established", "not established", "advice", "would change our mind"):
        if name not in issue.sections or (name == "if closed" and not closed):
            continue
        text = marks.prose(issue.sections[name], issue, issue.prefix)
        lead = {"advice": f"What to do on the {marks.names['card']}."}.get(name, open_words.get(name, ""))
        joint = "\n\n" if text.startswith(("-", "1.", "|", "```")) else " "
        parts.append(f"**{lead}**{joint}{text}" if lead else text)
    return "\n\n".join(parts)


# --- rows ----------------------------------------------------------------------------------------


def _model(model: Model) -> dict[str, str]:
    return {
        "name": model.name,
        "title": escaped(model.title),
        "architecture": model.architecture,
        "publisher": escaped(model.publisher),
        "licence_name": escaped(model.licence) if not any(map(str.isdecimal, model.licence)) else code(model.licence),
        "base_name": code(model.base),
        "base_url": f"https://huggingface.co/{model.base}",
        "repository": model.repository,
        "repository_code": code(model.repository),
        "repository_url": f"https://huggingface.co/{model.repository}",
    }


def _floor(sources: Sources, marks: Marks) -> dict[str, str]:
    support = sources.engine.architectures.get(sources.model.architecture)
    if support is None:
        raise InputError(
            f"{sources.engine.name} {sources.engine.build} has no entry for architecture '{sources.model.architecture}'",
            where=sources.engine.file,
            remedy="add it under `architectures`, with the build that first runs it and a citation",
        )
    return {"build": support.floor, "cite": marks.cite(support.citation)}


def _cuda(sources: Sources) -> dict[str, object] | None:
    """Give what the engine's build files say of this card's compute capability; None on another backend."""
    if sources.engine.cuda is None or not sources.card.compute_capability:
        return None
    floor = next((row for row in sources.engine.cuda.floors if row.compute_capability == sources.card.compute_capability), None)
    if floor is None:
        return None
    rows = []
    for step in sources.engine.cuda.fallback_list:
        bounds = [f"{code(step.since)} and later" if step.since else "", f"before {code(step.below)}" if step.below else ""]
        rows.append(
            {
                "toolkit": ", ".join(bound for bound in bounds if bound) or "any",
                "architectures": ", ".join(code(name) for name in step.architectures),
                "citation": step.citation,
            }
        )
    key = sources.card.compute_capability.replace(".", "_")
    return {"toolkit": floor.toolkit, "architecture": floor.architecture, "citation": floor.citation, "rows": rows, "slot": f"cuda_{key}"}


def _card_facts(sources: Sources, marks: Marks) -> list[dict[str, str]]:
    rows = []
    for name, words in CARD_ROWS:
        key = f"card.{name}"
        if key in sources.facts and sources.facts[key].known:
            rows.append({"name": words, "text": marks.fact(key), "checked": marks.day(key)})
    return rows


def _not_published(sources: Sources, marks: Marks) -> list[str]:
    lines = []
    for name, words in CARD_ROWS:
        key = f"card.{name}"
        if key in sources.facts and sources.facts[key].status == "not_published":
            text = f"the vendor publishes no {words[0].lower() + words[1:] if not words.startswith('PCI') else words}"
            lines.append("- " + marks.claim(key, text[0].upper() + text[1:], f"{key} is not_published"))
    return lines


def _ladder(sources: Sources, subject: Subject, book: Book) -> dict[str, object]:
    pairs = [f"{k}/{v}" for k, v in sources.recipe.ladder.cache]
    rows = []
    for depth, n_ctx in sources.recipe.ladder.rows:
        cells = [f"ladder.{depth}@{n_ctx}.{pair}" for pair in pairs]
        over = [not book[key] <= book["budget.ceiling"] for key in cells]
        chosen = (depth, n_ctx) == (subject.settings.n_cpu_moe, subject.settings.n_ctx)
        rows.append({"depth": depth, "n_ctx": n_ctx, "chosen": chosen, "cells": list(zip(cells, over, strict=True))})
    return {"caches": pairs, "rows": rows}


def _fallback_rows(sources: Sources, subject: Subject) -> list[dict[str, str]]:
    rows = []
    for step, settings in zip(sources.recipe.fallbacks, subject.fallbacks, strict=True):
        flags = " ".join(" ".join(argument) for argument in to_arguments(step.settings))
        rung = f"{settings.n_cpu_moe}@{settings.n_ctx}.{settings.type_k}/{settings.type_v}"
        rows.append({"flags": code(flags), "key": f"ladder.{rung}"})
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


def _draft(recipe: Recipe) -> dict[str, object] | None:
    if recipe.draft is None:
        return None
    name = recipe.draft.type_k if recipe.draft.type_k == recipe.draft.type_v else f"{recipe.draft.type_k}/{recipe.draft.type_v}"
    return {"n_max": recipe.draft.n_max, "cache_key": f"draft.kv_{name}", "type_k": recipe.draft.type_k}


def _uncited(citation: Citation) -> str:
    """Name a place of the engine's source whose line was not read at the pin, and where it was read instead."""
    elsewhere = citation.read_elsewhere
    said = f", line {code(str(elsewhere.line))} of {code(elsewhere.source)}" if elsewhere else ""
    return f"{code(citation.pattern)} in {code(citation.path)}{said}"


def _day(marks: Marks, position: int) -> str:
    checks = marks.checks()
    if not checks:
        raise InputError("no fact of the guide was ever checked, so it cannot say when")
    day, key = checks[position]
    url = marks.facts[key].source.url
    return f"[{day.isoformat()}]({url})" if url else f"[{day.isoformat()}](#{key})"


__all__ = ["CARD_ROWS", "Sources", "anchor", "command", "model_path", "values_of"]
