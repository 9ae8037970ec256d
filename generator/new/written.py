"""The YAML of a new model and its recipes, as a person would write it: in the order of the schema, a quant a line, few comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date

from generator.new.described import Described
from generator.new.settings import Choice
from generator.new.source import Origin

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./+()-]*(?: [A-Za-z0-9_./+()-]+)*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_SCHEMA = "# yaml-language-server: $schema=../../../schemas/{}.json"


def scalar(value: object) -> str:
    """Give a value as YAML writes it in one line: bare where nothing could be made of it but what it is, else in double quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | date):
        return str(value)
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


def flow(pairs: Iterable[tuple[str, object]]) -> str:
    """Give pairs as a table in one line."""
    return "{" + ", ".join(f"{key}: {scalar(value)}" for key, value in pairs) + "}"


def model_text(name: str, about: Described, origin: Origin, read: Iterable[str], today: date) -> str:
    """Give the text of a model's spec; `read` are the quants whose headers go into the lock beside it."""
    known = set(read)
    proof = _proof(origin, today)
    heads: list[tuple[str, object]] = [
        ("model", name),
        ("title", about.title),
        ("architecture", about.architecture),
        ("publisher", about.publisher),
        ("base", about.base),
        ("licence", about.licence),
        ("repository", origin.repository),
    ]
    lines = [_SCHEMA.format("model"), *(f"{key}: {scalar(value)}" for key, value in heads if value), ""]
    lines += ["# Sizes, and headers where the fidelity is one, are in the lock beside this file.", "quants:"]
    for quant, file in origin.quants.items():
        lines.append(f"  {scalar(quant)}: {flow([('file', file.name), ('fidelity', 'header' if quant in known else 'config')])}")
    if about.projector:
        size = flow([("value", f"{about.projector.size} B"), *proof])
        lines += ["", "projector:", f"  file: {scalar(about.projector.name)}", f"  size: {size}"]
    if about.sampling:
        lines += ["", "# Keys general.sampling of the header, which llama-server takes by itself.", "sampling:"]
        lines += [f"  {setting}: {flow([('value', value), *proof])}" for setting, value in about.sampling.items()]
    return "\n".join(lines) + "\n"


def _proof(origin: Origin, today: date) -> list[tuple[str, object]]:
    """Give the source of a fact and the day it was read."""
    told = ("source", origin.source().url) if origin.repository else ("published_in", "the header of the file")
    return [told, ("checked", today)]


def recipe_text(model: str, card: str, quant: str, engine: tuple[str, str], choice: Choice) -> str:
    """Give the text of a recipe with the settings that were chosen."""
    heads = {"model": model, "card": card, "quant": quant, "engine": engine[0], "build": engine[1]}
    lines = [_SCHEMA.format("recipe"), *(f"{key}: {scalar(value)}" for key, value in heads.items()), ""]
    lines += [f"# As `gen new` found them: {choice.why}.", "settings:", *_settings(choice.settings)]
    return "\n".join(lines) + "\n"


def _settings(settings: Mapping[str, object]) -> list[str]:
    """Give settings a line each; `on` and `off` are words here (YAML 1.2)."""
    return [f"  {name}: {value if value in {'on', 'off'} else scalar(value)}" for name, value in settings.items()]
