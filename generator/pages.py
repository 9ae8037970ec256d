"""Every page of the catalogue, of whatever kind, by model and name."""

from __future__ import annotations

from generator.build import build_guide
from generator.catalog import Catalog
from generator.check.build import build_check
from generator.claims.state import State
from generator.guide.page import Page


def build_page(catalog: Catalog, model: str, name: str, *, answered: State | None = None) -> Page:
    """Build the check of that name, or else the guide. Raises any GenError of the layers below; nothing is written."""
    if (model, name) in catalog.checks():
        return build_check(catalog, model, name, answered=answered)
    return build_guide(catalog, model, name, answered=answered)
