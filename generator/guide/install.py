"""What a reader installs: the engine's build for the card's backend, and the builds that know the model's architecture."""

from __future__ import annotations

from generator.guide.marks import Marks, code
from generator.specs import Card, Engine, Model


def floor_of(engine: Engine, model: Model, marks: Marks) -> dict[str, str]:
    """Give the build that first runs the model's architecture, and the sentence that says so; no build where none is recorded."""
    support = engine.architectures.get(model.architecture)
    if support is None:
        return {"build": "", "words": f"which build first ran architecture {code(model.architecture)} is not recorded here"}
    slot = f"floor_{model.architecture}"
    said = marks.prose(engine.notes[slot], engine, "engine") if slot in engine.notes else "the build that first ran this architecture"
    return {"build": support.floor, "words": f"{said} ({marks.cite(support.citation)})"}


def cuda_of(engine: Engine, card: Card) -> dict[str, object] | None:
    """Give what the engine's build files say of the card's compute capability; None on another backend."""
    if engine.cuda is None or not card.compute_capability:
        return None
    floor = next((row for row in engine.cuda.floors if row.compute_capability == card.compute_capability), None)
    if floor is None:
        return None
    rows = []
    for step in engine.cuda.fallback_list:
        bounds = [f"{code(step.since)} and later" if step.since else "", f"before {code(step.below)}" if step.below else ""]
        rows.append(
            {
                "toolkit": ", ".join(bound for bound in bounds if bound) or "any",
                "architectures": ", ".join(code(name) for name in step.architectures),
                "citation": step.citation,
            }
        )
    key = card.compute_capability.replace(".", "_")
    return {"toolkit": floor.toolkit, "architecture": floor.architecture, "citation": floor.citation, "rows": rows, "slot": f"cuda_{key}"}
