"""The parts that the repository's guide is made from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from generator import build
from generator.catalog import Catalog
from generator.guide.context import Sources
from generator.guide.ledger import Book
from generator.guide.marks import Marks
from generator.guide.numbers import Subject, write_numbers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def sources() -> Sources:
    """Give the specs and facts of the repository's guide."""
    return build.gather(Catalog.open(ROOT), "apodex-mini", "rtx-5070")


@pytest.fixture(scope="session")
def subject(sources: Sources) -> Subject:
    """Give what the guide's numbers are about."""
    return build.subject_of(Catalog.open(ROOT), sources)


@pytest.fixture(scope="session")
def numbers(subject: Subject) -> Book:
    """Give the guide's numbers. Not to be changed."""
    return write_numbers(subject)


@pytest.fixture
def marks(sources: Sources, numbers: Book) -> Marks:
    """Give the guide's marks before anything was said."""
    book = replace(numbers, numbers=dict(numbers.numbers), shows=dict(numbers.shows))
    return Marks(book, sources.facts, sources.engine, sources.issues, build.names_of(sources), sources.model.quotes)
