"""What a reader installs: the engine's build for the card's backend, and the builds that know the model's architecture."""

from __future__ import annotations

import json
from dataclasses import dataclass

from generator.facts import Fact
from generator.guide.marks import Marks, code
from generator.specs import Card, Engine, Model, Recipe

TITLES = {"cuda": "CUDA", "rocm": "ROCm", "vulkan": "Vulkan", "sycl": "SYCL", "metal": "Metal"}
"""Backends as prose names them."""


@dataclass(frozen=True, slots=True)
class BackendWords:
    """What a backend does, for templates. Links to the source are made when they are asked for, so that none is listed unused."""

    name: str
    title: str
    engine: Engine
    marks: Marks
    options: str

    @property
    def instructions_cite(self) -> str:
        """Where the engine says how to build it."""
        return self.marks.cite(self.engine.backend(self.name).instructions)

    @property
    def op_offload_cite(self) -> str:
        """Where it decides to compute with weights that wait in system memory."""
        return self.marks.cite(self.engine.backend(self.name).op_offload)

    @property
    def op_offload_limit_cite(self) -> str:
        """Where the smallest batch for that comes from."""
        return self.marks.cite(self.engine.backend(self.name).op_offload_limit)

    @property
    def cache_types_cite(self) -> str:
        """Where the cache types stand that its flash attention reads."""
        return self.marks.cite(self.engine.backend(self.name).flash_attention)

    @property
    def cache_types(self) -> str:
        """The cache types that its flash attention reads as built by default."""
        return ", ".join(code(each) for each in self.engine.backend(self.name).cache_types)

    @property
    def one_type(self) -> bool:
        """Whether K and V have to be of one type for it."""
        return self.engine.backend(self.name).one_type


def backend_of(engine: Engine, card: Card, recipe: Recipe, marks: Marks) -> BackendWords:
    """Give what the card's backend does; `options` are the recipe's CMake options as a command has them, each after a blank."""
    options = "".join(f" -D{option}=ON" for option in recipe.build_options)
    return BackendWords(card.backend, TITLES[card.backend], engine, marks, options)


def floor_of(engine: Engine, model: Model, marks: Marks) -> dict[str, str]:
    """Give the build that first runs the model, and the sentence that says so; no build where none is known to be the first.

    What the model's own file needs (`model.floor`) stands over what its architecture does. A build that somebody ran the architecture on
    is told, and is no floor; where there is not even that, the engine's list of architectures has to do.
    """
    facts = marks.facts
    if "model.floor" in facts:
        said = marks.prose(model.notes["floor"], model, "model") if "floor" in model.notes else "the first build that reads this file"
        return {"build": str(facts["model.floor"].value), "words": _claim(facts["model.floor"], said, marks)}
    support = engine.architectures.get(model.architecture)
    if support is None:
        return {"build": "", "words": f"which build first ran architecture {code(model.architecture)} is not recorded here"}
    if support.floor is not None:
        said = f"the first build that ran architecture {code(model.architecture)}"
        return {"build": str(facts[support.floor.key].value), "words": _claim(support.floor, said, marks)}
    if support.seen is not None:
        said = (
            f"somebody ran architecture {code(model.architecture)} on {code(str(support.seen.value))}; the first build is not recorded here"
        )
        return {"build": "", "words": _claim(support.seen, said, marks)}
    words = f"it lists architecture {code(model.architecture)} ({marks.cite(support.citation)}); the first build is not recorded here"
    return {"build": "", "words": words}


def _claim(fact: Fact, said: str, marks: Marks) -> str:
    return marks.claim(fact.key, said, f"{fact.key} == {json.dumps(str(marks.facts[fact.key].value))}")


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
