"""What `gen new` did, as lines for a terminal and as JSON, with what is left for a person to write."""

from __future__ import annotations

from collections.abc import Iterator

from generator.new.command import Outcome
from generator.new.described import NOBODY

FORMAT = 1


def outcome_as_text(outcome: Outcome) -> Iterator[str]:
    """Give the outcome as lines."""
    yield from (f"{path}" for path in outcome.written)
    yield from (f"{path} (unchanged)" for path in outcome.unchanged)
    if outcome.origin and outcome.origin.old_name:
        yield f"{outcome.origin.old_name} is called {outcome.origin.repository} now"
    for made in outcome.recipes:
        flags = ", ".join(f"{name} {value}" for name, value in made.choice.settings.items())
        yield f"{made.card}: {made.quant}, {made.choice.why} ({flags})"
    if outcome.origin:
        yield from (f"left out: {path}: {reason}" for path, reason in outcome.origin.left_out)
    yield ""
    yield "next:"
    yield from (f"  {command}" for command in _commands(outcome))
    if todo := to_write(outcome):
        yield "what a person should still write:"
        yield from (f"  {place}: {what}" for place, what in todo)


def outcome_as_dict(outcome: Outcome) -> dict[str, object]:
    """Give the outcome for JSON."""
    origin = outcome.origin
    return {
        "format": FORMAT,
        "model": outcome.model,
        "written": list(outcome.written),
        "unchanged": list(outcome.unchanged),
        "renamed_from": origin.old_name if origin else "",
        "recipes": [
            {
                "card": made.card,
                "quant": made.quant,
                "fits": made.choice.fits,
                "chosen": made.choice.why,
                "settings": dict(made.choice.settings),
            }
            for made in outcome.recipes
        ],
        "left_out": [{"file": path, "reason": reason} for path, reason in (origin.left_out if origin else ())],
        "next": _commands(outcome),
        "to_write": [{"place": place, "what": what} for place, what in to_write(outcome)],
    }


def _commands(outcome: Outcome) -> list[str]:
    if outcome.recipes:
        return [f"gen build {outcome.model} {made.card}" for made in outcome.recipes]
    return [f"gen new {outcome.model} --card CARD"]


def to_write(outcome: Outcome) -> list[tuple[str, str]]:
    """Give what no program can know of a new guide: for each place, what belongs there."""
    model = f"{outcome.model}/model.yml"
    rows = [(model, what) for what in _of_model(outcome)]
    for made in outcome.recipes:
        recipe = f"{outcome.model}/{made.card}.yml"
        if not made.choice.fits:
            rows.append((recipe, "a card or a quant with which it fits: the page will say that this one does not, and link to what does"))
            continue
        rows.append((recipe, "`notes`: overview (what the model is good for, and for whom this set-up is), and why these settings"))
        rows.append((recipe, "`fallbacks` if the flags have a known way to fail; `budget: {policy: …}` if not the engine's own"))
    return rows


def _of_model(outcome: Outcome) -> Iterator[str]:
    about, origin = outcome.about, outcome.origin
    if about is None or origin is None:
        return
    yield "`title`, `publisher` and `base` as their owners write them: they were taken from the header and the repository"
    if about.publisher == NOBODY:
        yield "`publisher`: nothing names one"
    if not about.licence:
        yield "`licence`: neither the header nor the model card's metadata names one"
    if not origin.repository:
        yield "`repository`, if the file is published: without one the page has nothing to download"
    if not about.sampling:
        yield "`sampling`: the header has none; the publisher's model card may"
    if len(origin.projectors) > 1 and about.projector:
        yield f"`projector`: one of {len(origin.projectors)} was taken, {about.projector.name}"
    yield "`facts`: whether a tag for Ollama exists (ollama_tag), and what the publisher says of quality, each with source and date"
    if not outcome.architecture_known:
        yield f"which build first ran {about.architecture}: `architectures` in the engine's file does not say"
