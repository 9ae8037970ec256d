"""What a guide's numbers are about: a recipe with its settings, the model, the card, and every fact in reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from generator.facts import Facts
from generator.memory.architectures import layers_of
from generator.memory.backends import CUDA
from generator.memory.budget import Policy
from generator.memory.ladder import Caches
from generator.memory.layers import Layers
from generator.memory.model import Model
from generator.memory.plan import Held, Plan, held, make_plan
from generator.memory.settings import Settings
from generator.solve.auto import Chosen
from generator.specs import Recipe, Setting


class Offload(StrEnum):
    """What a run keeps in system memory: nothing, routed experts of some blocks, or whole layers."""

    WHOLE = "whole"
    EXPERTS = "experts"
    LAYERS = "layers"


@dataclass(frozen=True, slots=True)
class Subject:
    """What the numbers are about: a recipe with its settings, the model's header, and every fact in reach.

    `chosen` is how the recipe came to a depth that it leaves open. `unified` marks a card whose memory is the system's.
    """

    recipe: Recipe
    settings: Settings
    model: Model
    facts: Facts
    backend: str = CUDA
    chosen: Chosen | None = None
    unified: bool = False
    _kept: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def gpus(self) -> int:
        """How many cards the recipe has."""
        return self.recipe.gpus

    @property
    def plan(self) -> Plan:
        """The plan of the recipe's settings on its cards."""
        if "plan" not in self._kept:
            self._kept["plan"] = make_plan(self.model, self.settings, gpus=self.gpus, build=self.recipe.build, backend=self.backend)
        found: Plan = self._kept["plan"]
        return found

    @property
    def tightest(self) -> int:
        """The index of the card that holds most."""
        devices = self.plan.gpus
        return max(range(len(devices)), key=lambda index: int(devices[index].terms.held))

    @property
    def estimated(self) -> bool:
        """Whether weights were shared out over parameters, because the tensor table is not known."""
        return "estimate.rest" in self.facts

    @property
    def offload(self) -> Offload:
        """What the run keeps in system memory."""
        layers = self.settings.n_gpu_layers
        if isinstance(layers, int) and layers <= int(self.model.block_count):
            return Offload.LAYERS
        moved = self.settings.cpu_moe or self.settings.n_cpu_moe
        return Offload.EXPERTS if moved and self.model.experts() else Offload.WHOLE

    @property
    def depth(self) -> int:
        """Blocks whose routed experts are in system memory."""
        return int(self.model.loaded_blocks) if self.settings.cpu_moe else self.settings.n_cpu_moe

    @property
    def layers(self) -> Layers:
        """What each block of the model keeps."""
        return layers_of(self.model, self.recipe.build)

    @property
    def policy(self) -> Policy:
        """Where the recipe counts the input embedding."""
        return Policy(self.recipe.budget.policy)

    @property
    def caches(self) -> Caches:
        """The recipe's cache types."""
        return self.settings.type_k, self.settings.type_v

    @property
    def fallbacks(self) -> tuple[Settings, ...]:
        """The recipe's settings with those of each fallback laid over them."""
        return tuple(self.altered(step.settings) for step in self.recipe.fallbacks)

    @property
    def kept_caches(self) -> tuple[Caches, ...]:
        """The cache types that must fit: the recipe's, and those of its fallbacks, each once."""
        return tuple(dict.fromkeys([self.caches, *((step.type_k, step.type_v) for step in self.fallbacks)]))

    @property
    def all_caches(self) -> tuple[Caches, ...]:
        """Those, then the ladder's, and unquantised ones to compare with."""
        return tuple(dict.fromkeys([*self.kept_caches, *self.ladder_caches, ("f16", "f16")]))

    @property
    def ladder_caches(self) -> tuple[Caches, ...]:
        """The cache types of the ladder's columns: the recipe's, or where it names none its own, eight bits and sixteen."""
        return self.recipe.ladder.cache or tuple(dict.fromkeys((self.caches, ("q8_0", "q8_0"), ("f16", "f16"))))

    @property
    def prefix(self) -> str:
        """Where the lock keeps what belongs to the recipe's quant."""
        return self.recipe.quant.lower()

    def altered(self, settings: Mapping[str, Setting]) -> Settings:
        """Give the recipe's settings with others laid over them."""
        return Settings.from_recipe({**self.recipe.settings, **settings})

    def held(self, settings: Settings) -> tuple[Held, ...]:
        """Give what each card holds under some settings, the host's last."""
        if settings not in self._kept:
            self._kept[settings] = held(self.model, settings, gpus=self.gpus, build=self.recipe.build, backend=self.backend)
        found: tuple[Held, ...] = self._kept[settings]
        return found

    def under(self, recipe: Recipe) -> Subject:
        """Give the same with another recipe of the same model and card."""
        return replace(self, recipe=recipe, settings=Settings.from_recipe(recipe.settings), _kept={})
