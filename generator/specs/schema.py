"""The JSON Schemas of the spec types, made from the same tables the loader reads by."""

from __future__ import annotations

import json

from generator.errors import UnknownNameError
from generator.specs.card import CARD
from generator.specs.check import CHECK
from generator.specs.engine import ENGINE
from generator.specs.issue import FRONT_MATTER
from generator.specs.model import MODEL
from generator.specs.recipe import RECIPE
from generator.specs.shapes import Schema, Shape

_RECORDS: dict[str, Shape[object]] = {
    "card": CARD,
    "check": CHECK,
    "engine": ENGINE,
    "issue": FRONT_MATTER,
    "model": MODEL,
    "recipe": RECIPE,
}

SPEC_TYPES = tuple(_RECORDS)
"""The spec types, by the names `schema` takes."""


def schema(spec_type: str) -> dict[str, object]:
    """Give the JSON Schema (draft 2020-12) of a spec type. Raises UnknownNameError."""
    if spec_type not in _RECORDS:
        raise UnknownNameError("spec type", spec_type, SPEC_TYPES)
    record = _RECORDS[spec_type]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": spec_type}
    return {**head, **record.definition(), "$defs": dict(sorted(_named(record).items()))}


def schema_text(spec_type: str) -> str:
    """Give the schema as it is committed in schemas/<type>.json."""
    return json.dumps(schema(spec_type), indent=2, ensure_ascii=False) + "\n"


def _named(shape: Shape[object]) -> dict[str, Schema]:
    """Give the definitions of all named shapes that a shape is made of."""
    found: dict[str, Schema] = {}
    for part in shape.parts():
        found.update(_named(part))
        if part.name:
            found[part.name] = part.definition()
    return found
