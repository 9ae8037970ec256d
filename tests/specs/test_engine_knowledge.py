"""What the pinned engine's file has to say for the recipes there are, and for those that may be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.catalog import Catalog
from generator.memory.flags import flags_of
from generator.memory.settings import Settings, to_arguments
from generator.specs import BACKENDS, SETTINGS, Engine

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Catalog.open(ROOT).engine("llama.cpp", "b10666")


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_has_a_flag_with_default_help_and_citation(engine: Engine, setting: str) -> None:
    flag = engine.flag(setting)
    assert flag.help
    assert engine.url(flag.citation).startswith("https://github.com/ggml-org/llama.cpp/blob/b10666/")
    known = flags_of("llama-server")
    assert {known[name].long_name for name in (*flag.names, *flag.negated)} == {known[flag.names[0]].long_name}


DEFAULTS = {
    "n_gpu_layers": "auto",
    "n_ctx": 0,
    "n_batch": 2048,
    "n_ubatch": 512,
    "type_k": "f16",
    "type_v": "f16",
    "flash_attn": "auto",
    "cache_ram": 8192,
    "load_mode": "auto",
    "split_mode": "layer",
    "spec_draft_n_max": 3,
    "swa_full": False,
    "kv_offload": True,
}


@pytest.mark.parametrize("setting", DEFAULTS)
def test_a_default_is_the_one_that_settings_are_counted_with(engine: Engine, setting: str) -> None:
    assert engine.flag(setting).default == DEFAULTS[setting] == getattr(Settings(), setting)


def test_every_backend_of_a_card_has_its_table(engine: Engine) -> None:
    assert set(engine.backends) == set(BACKENDS)
    for name, backend in engine.backends.items():
        paths = [engine.citation(each).path for each in (backend.op_offload, backend.op_offload_limit, backend.flash_attention)]
        folder = {"rocm": "cuda"}.get(name, name)
        assert all(path.startswith(f"ggml/src/ggml-{folder}/") for path in paths), name
        assert engine.citation(backend.instructions).path.startswith("docs/")


def test_every_model_of_the_catalogue_has_a_floor_with_a_source_and_a_day(engine: Engine) -> None:
    catalog = Catalog.open(ROOT)
    for architecture in {catalog.model(name).architecture for name in catalog.models()}:
        floor = engine.architectures[architecture].floor
        assert floor is not None, architecture
        assert floor.source.url.startswith("https://github.com/ggml-org/llama.cpp/pull/")
        assert floor.checked is not None


def test_a_newer_architecture_has_a_later_floor(engine: Engine) -> None:
    """Merged in this order: August 2023, May 2024, March 2025, August 2025, February 2026, April 2026."""
    order = ("llama", "deepseek2", "gemma3", "gpt-oss", "qwen35", "gemma4")
    floors = [engine.architectures[name].floor for name in order]
    builds = [int(str(floor.value).removeprefix("b")) for floor in floors if floor]
    assert builds == sorted(builds)
    assert len(builds) == len(order)


def test_every_setting_that_a_recipe_has_can_be_said_on_a_command_line() -> None:
    catalog = Catalog.open(ROOT)
    for names in catalog.recipes():
        recipe = catalog.recipe(*names)
        settings = {name: value for name, value in recipe.settings.items() if value != "auto"}
        assert to_arguments(settings)
