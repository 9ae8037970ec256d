"""The public face: every name once, importable, documented, and cheap until it is used."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import generator
from tests.memory.models import build, named

SOURCE = Path(generator.__file__)
TREE = ast.parse(SOURCE.read_text(encoding="utf-8"))

HEAVY = ("gguf", "huggingface_hub", "jinja2", "markdown_it", "mkdocs", "numpy", "requests", "yaml")


def imported_for_types() -> dict[str, str]:
    """Give what the module imports under TYPE_CHECKING: name -> module."""
    [guard] = [node for node in TREE.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for node in guard.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(guard.body)
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def modules_after(code: str) -> set[str]:
    """Give the modules a new interpreter holds after some code."""
    program = f"{code}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split())


def test_every_name_is_listed_once_in_order() -> None:
    assert list(generator.__all__) == sorted(set(generator.__all__))


def test_the_names_of_the_issue_are_there() -> None:
    assert {"plan", "Plan", "RefusedSettings"} <= set(generator.__all__)


@pytest.mark.parametrize("name", generator.__all__)
def test_every_name_is_importable_and_documented(name: str) -> None:
    found = getattr(generator, name)
    assert found.__name__ == name
    assert not name.startswith("_")
    documentation = found.__doc__
    assert documentation and not documentation.startswith(f"{name}("), "a docstring of its own"
    public = [member for key, member in vars(found).items() if not key.startswith("_")] if inspect.isclass(found) else []
    functions = [member.fget if isinstance(member, property) else member for member in public]
    assert not [each for each in functions if inspect.isfunction(each) and not each.__doc__]


def test_what_is_imported_late_is_what_the_types_say_it_is() -> None:
    types = imported_for_types()
    assert sorted(types) == sorted(generator.__all__)
    assert types == generator._HOMES
    assert all(getattr(generator, name).__module__ == home for name, home in types.items())


def test_an_unknown_name_is_an_attribute_error_that_tells_it() -> None:
    with pytest.raises(AttributeError, match="'generator' has no attribute 'plans'"):
        _ = generator.plans


def test_star_import_gives_the_public_names_and_no_others() -> None:
    names: dict[str, object] = {}
    exec("from generator import *", names)
    assert set(names) - {"__builtins__"} == set(generator.__all__)


def test_the_package_alone_imports_nothing_of_weight() -> None:
    loaded = modules_after("import generator")
    assert not loaded & set(HEAVY)
    assert {name for name in loaded if name.startswith("generator")} == {"generator"}


def test_a_plan_of_a_local_file_imports_no_network_templates_or_specs() -> None:
    head = SOURCE.parents[1] / "tests/data/engine_truth/llama31-8b.gguf.head"
    loaded = modules_after(f"import generator\ngenerator.plan({str(head)!r}, '-ngl 99 -c 4096')")
    assert not loaded & set(HEAVY)
    assert not {name for name in loaded if name.startswith(("generator.sources", "generator.specs", "generator.guide"))}


def test_a_refusal_is_caught_by_its_public_name_and_tells_its_rule_and_remedy() -> None:
    head = SOURCE.parents[1] / "tests/data/engine_truth/llama31-8b.gguf.head"
    with pytest.raises(generator.RefusedSettings) as raised:
        generator.plan(head, "-fa off -ctv q8_0")
    assert isinstance(raised.value, generator.GenError)
    assert (raised.value.rule, raised.value.where) == ("quantised V without flash attention", "-ctv")
    assert raised.value.remedy
    with pytest.raises(generator.UnsupportedArchitecture, match="'unheard-of'"):
        generator.plan(build(named("unheard-of", {"block_count": 27}), []))
