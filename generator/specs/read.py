"""Reading one authored file by its shape."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from generator.errors import Problem, SpecErrors
from generator.specs.document import RefusedError, Report, parse, read_text
from generator.specs.shapes import Place, Shape

T = TypeVar("T")


def read_spec(path: Path, shape: Shape[T], shown: str, expected: dict[str, str]) -> T:
    """Give what a YAML file holds. Raises SpecErrors with all its problems, or MissingFileError."""
    report = Report(shown, expected)
    try:
        node = parse(read_text(path, report), report)
        report.look(node)
        return shape.read(node, Place(report))
    except RefusedError:
        raise SpecErrors(in_order(report.problems)) from None


def in_order(problems: list[Problem]) -> list[Problem]:
    """Give problems in the order of their lines."""
    return sorted(problems, key=lambda problem: (problem.file, problem.line))
