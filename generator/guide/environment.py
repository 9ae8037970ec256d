"""The Jinja environment of the templates: strict, local, and given values rather than trusted with arithmetic."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from generator.errors import GenError

if TYPE_CHECKING:
    from jinja2 import Environment


class TemplateError(GenError):
    """A template that names something it was not given, or does not parse."""


@lru_cache(maxsize=4)
def environment(templates: Path) -> Environment:
    """Give the environment over a folder of templates: an undefined name is an error, blank lines of tags vanish.

    Compiling thirty templates takes longer than rendering them, so what was compiled is kept in the state folder beside them;
    it is looked up by a digest of the template's text.
    """
    from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined

    compiled = templates.parent / ".gen" / "templates"
    with suppress(OSError):
        compiled.mkdir(parents=True, exist_ok=True)
    cache = FileSystemBytecodeCache(str(compiled)) if compiled.is_dir() and os.access(compiled, os.W_OK) else None

    return Environment(
        loader=FileSystemLoader(templates),
        bytecode_cache=cache,
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  what is rendered is Markdown; other people's text is escaped in `marks`
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def rendered(templates: Path, name: str, values: dict[str, object]) -> str:
    """Render one template. Raises TemplateError naming file and line; errors of ours pass through."""
    from jinja2 import TemplateError as JinjaError
    from jinja2 import TemplateSyntaxError

    try:
        return environment(templates).get_template(name).render(values)
    except TemplateSyntaxError as error:
        raise TemplateError(str(error.message), where=f"templates/{error.name}:{error.lineno}", remedy="mend the template") from error
    except JinjaError as error:
        where = _spot(error, templates) or f"templates/{name}"
        raise TemplateError(str(error), where=where, remedy="give the template that value, or take the line out") from error


def _spot(error: Exception, templates: Path) -> str:
    """Give the template and line that an error comes from, the innermost of those included; empty where it is none's."""
    spots = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(templates)]
    return f"templates/{Path(spots[-1].filename).relative_to(templates).as_posix()}:{spots[-1].lineno}" if spots else ""


def has_template(templates: Path, name: str) -> bool:
    """Tell whether there is a template of that name."""
    return (templates / name).is_file()
