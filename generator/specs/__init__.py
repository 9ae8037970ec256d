"""Authored specs: models, cards, engines, recipes, checks and issues, read strictly from YAML and front matter.

`load_<type>(path)` gives a frozen dataclass or raises SpecErrors with every problem of the file; `schema(<type>)` gives
the JSON Schema made from the same tables.
"""

from generator.specs.card import BACKENDS, VENDORS, Card, load_card
from generator.specs.check import Check, load_check
from generator.specs.common import Prose, Quote, Spec
from generator.specs.engine import Backend, Citation, Cuda, CudaFloor, CudaStep, Engine, Flag, ReadElsewhere, Support, load_engine
from generator.specs.issue import OUTCOMES, SECTIONS, SEVERITIES, STATES, TOPICS, WORDS, Applies, Issue, Variant, load_issue, tracker_name
from generator.specs.model import Model, Projector, Quant, load_model
from generator.specs.recipe import PAGE_SECTIONS, Budget, Draft, Fallback, Ladder, Machine, MemoryKind, Recipe, Section, load_recipe
from generator.specs.schema import SPEC_TYPES, schema, schema_text
from generator.specs.settings_names import CACHE_TYPES, LOAD_MODES, SETTINGS, SPECULATION, SPLIT_MODES, Setting, SettingName

__all__ = [
    "BACKENDS",
    "CACHE_TYPES",
    "LOAD_MODES",
    "OUTCOMES",
    "PAGE_SECTIONS",
    "SECTIONS",
    "SETTINGS",
    "SEVERITIES",
    "SPECULATION",
    "SPEC_TYPES",
    "SPLIT_MODES",
    "STATES",
    "TOPICS",
    "VENDORS",
    "WORDS",
    "Applies",
    "Backend",
    "Budget",
    "Card",
    "Check",
    "Citation",
    "Cuda",
    "CudaFloor",
    "CudaStep",
    "Draft",
    "Engine",
    "Fallback",
    "Flag",
    "Issue",
    "Ladder",
    "Machine",
    "MemoryKind",
    "Model",
    "Projector",
    "Prose",
    "Quant",
    "Quote",
    "ReadElsewhere",
    "Recipe",
    "Section",
    "Setting",
    "SettingName",
    "Spec",
    "Support",
    "Variant",
    "load_card",
    "load_check",
    "load_engine",
    "load_issue",
    "load_model",
    "load_recipe",
    "schema",
    "schema_text",
    "tracker_name",
]
