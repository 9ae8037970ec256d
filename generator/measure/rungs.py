"""The questions a recipe asks of an engine: each rung of its ladder and each fallback, as flags of llama-fit-params."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from generator.errors import InputError
from generator.memory.context import sequences_of
from generator.memory.flags import all_flags
from generator.memory.settings import Settings, parse_flags, to_arguments
from generator.specs import Recipe

PROGRAM = "llama-fit-params"

BESIDE_THE_PLAN = frozenset({"cache_ram", "ctx_checkpoints", "no_mmproj", "mmproj", "mmproj_offload", "load_mode", "lazy_mode"})
"""Settings of sizes that this program does not answer for: they change nothing of weights, context or compute on a device."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One question: its key in the lock, the flags that ask it, and the settings they come to."""

    key: str
    flags: tuple[str, ...]
    settings: Settings


def rungs_of(recipe: Recipe) -> list[Rung]:
    """Give the recipe's ladder, its own settings and its fallbacks as rungs, each once.

    Keys are `26@65536.q8_0/q8_0` and `fallback.0`. Raises InputError for a setting that the program has no flag for.
    """
    own = Settings.from_recipe(recipe.settings)
    rungs = {}
    rows = [(depth, n_ctx, (type_k, type_v)) for depth, n_ctx in recipe.ladder.rows for type_k, type_v in recipe.ladder.cache]
    rows.append((own.n_cpu_moe, own.n_ctx, (own.type_k, own.type_v)))
    for depth, n_ctx, (type_k, type_v) in rows:
        key = key_of(depth, n_ctx, type_k, type_v)
        rungs[key] = rung_of(key, {**recipe.settings, "n_cpu_moe": depth, "n_ctx": n_ctx, "type_k": type_k, "type_v": type_v})
    for index, step in enumerate(recipe.fallbacks):
        rungs[f"fallback.{index}"] = rung_of(f"fallback.{index}", {**recipe.settings, **step.settings})
    return list(rungs.values())


def key_of(n_cpu_moe: int, n_ctx: int, type_k: str, type_v: str) -> str:
    """Give a rung's key."""
    return f"{n_cpu_moe}@{n_ctx}.{type_k}/{type_v}"


def rung_of(key: str, settings: Mapping[str, object]) -> Rung:
    """Give the rung of some settings. Raises InputError for a setting that the program has no flag for."""
    flags = tuple(_flags(settings))
    return Rung(key, flags, parse_flags(flags, PROGRAM))


def _flags(settings: Mapping[str, object]) -> Iterator[str]:
    known = {name for flag in all_flags() if PROGRAM in flag.programs for name in (*flag.names, *flag.negated)}
    for name, value in settings.items():
        if name in BESIDE_THE_PLAN:
            continue
        for words in to_arguments({name: value}, PROGRAM):
            if parse_flags(words, PROGRAM).others:
                continue  # sizes nothing
            if words[0] not in known:
                raise InputError(
                    f"{PROGRAM} has no flag {words[0]}, so this recipe cannot be asked of it",
                    where=f"settings.{name}",
                    remedy="run llama-server and give its log: --log FILE",
                )
            yield from words
    if "n_parallel" not in settings:
        sequences, _ = sequences_of(Settings.from_recipe(settings))
        raise InputError(
            f"the recipe leaves -np to llama-server, which takes {sequences} slots in one cache; {PROGRAM} cannot be told that",
            where="settings.n_parallel",
            remedy="give n_parallel in the recipe, or run llama-server and give its log: --log FILE",
        )
