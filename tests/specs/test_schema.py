from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator, FormatChecker

from generator.errors import SpecErrors, UnknownNameError
from generator.specs import (
    SETTINGS,
    SPEC_TYPES,
    load_card,
    load_check,
    load_engine,
    load_issue,
    load_model,
    load_recipe,
    schema,
    schema_text,
)

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "tests" / "catalogue" / "recipes"
PLACES = {
    "card": ("cards/*.yml", load_card),
    "engine": ("engines/*/*.yml", load_engine),
    "model": ("models/*/model.yml", load_model),
    "recipe": ("models/*/[!m]*.yml", load_recipe),
    "issue": ("issues/*/*.md", load_issue),
    "check": ("checks/*/*.yml", load_check),
}


class CoreLoader(yaml.SafeLoader):
    """YAML 1.2's core schema, as editors read it: an implementation of its own, beside the one under test."""


CoreLoader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("bool", r"^(true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("null", r"^(~|null|Null|NULL|)$", ["~", "n", "N", ""]),
):
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


def data_of(text: str) -> Any:
    front = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    return yaml.load(front[1] if front else text, Loader=CoreLoader)


def faults(kind: str, text: str) -> list[str]:
    validator = Draft202012Validator(schema(kind), format_checker=FormatChecker())
    return [error.message for error in validator.iter_errors(data_of(text))]


FILES = [
    pytest.param(kind, path, id=f"{kind}-{path.parent.name}-{path.stem}")
    for kind, (place, _) in PLACES.items()
    for root in (SAMPLE, ROOT / "recipes")
    for path in sorted(root.glob(place))
]


@pytest.mark.parametrize("kind", SPEC_TYPES)
def test_a_schema_is_a_json_schema_and_describes_every_key(kind: str) -> None:
    found = schema(kind)
    Draft202012Validator.check_schema(found)
    assert found["title"] == kind
    assert found["additionalProperties"] is False
    properties = found["properties"]
    assert isinstance(properties, dict)
    assert all(rows["description"] for rows in properties.values())


@pytest.mark.parametrize("kind", SPEC_TYPES)
def test_the_committed_schema_is_the_one_the_loader_reads_by(kind: str) -> None:
    assert (ROOT / "schemas" / f"{kind}.json").read_text(encoding="utf-8") == schema_text(kind), "write it with `gen schema`"


def test_no_other_schema_is_committed() -> None:
    assert sorted(path.stem for path in (ROOT / "schemas").iterdir()) == sorted(SPEC_TYPES)


def test_an_unknown_type_suggests_the_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'recipe'"):
        schema("recipes")


def tables_in(rows: object) -> Iterator[dict[str, Any]]:
    if isinstance(rows, dict):
        yield rows
        for row in rows.values():
            yield from tables_in(row)


@pytest.mark.parametrize("kind", SPEC_TYPES)
def test_the_examples_of_a_schema_are_valid(kind: str) -> None:
    found = schema(kind)
    checked = 0
    for rows in tables_in(found):
        for example in rows.get("examples", []):
            checked += 1
            Draft202012Validator({**rows, "$defs": found["$defs"]}, format_checker=FormatChecker()).validate(example)
    assert checked > 5


@pytest.mark.parametrize(("kind", "path"), FILES)
def test_a_file_the_loader_takes_is_valid_by_its_schema(kind: str, path: Path) -> None:
    PLACES[kind][1](path)
    assert faults(kind, path.read_text(encoding="utf-8")) == []


MUTATIONS = [
    ("card", "title: Tiny 8", "titel: Tiny 8"),
    ("card", "vendor: nvidia", "vendor: nvidea"),
    ("card", "chip: GA000", "chip: 100"),
    ("card", 'compute_capability: "8.6"', "compute_capability: 8.6"),
    ("card", 'compute_capability: "8.6"\n', ""),
    ("card", "backend: cuda", "backend: vulkan"),
    ("card", "checked: 2026-01-02\n\n", "checked: 2026-13-02\n\n"),
    ("card", "memory: 8 GiB", "memory: {note: big}"),
    ("card", "memory: 8 GiB", "memory: {value: 8 GiB, status: not_published}"),
    ("card", "memory: 8 GiB", "memory: {value: 8 GiB, origin: declared}"),
    ("card", "memory: 8 GiB", "memory: {value: 8 GiB, origin: guessed}"),
    ("card", "memory: 8 GiB", "memory: {value: 8 GiB, citation: x}"),
    ("card", "memory: 8 GiB", "memory: []"),
    ("card", "  memory: 8 GiB\n", ""),
    ("card", "  cores: 6144", "  Cores: 6144"),
    ("card", "  vendor: https://example.org/tiny-8", "  vendor: javascript:alert(1)"),
    ("engine", "/{path}#L{line}", "/common.h"),
    ("engine", "  n_cpu_moe: {names", "  n_cpu_mo: {names"),
    ("engine", "[-ncmoe, --n-cpu-moe]", "[]"),
    ("engine", "[-ncmoe, --n-cpu-moe]", "[-a, -a]"),
    ("engine", "    line: 481\n    checked: 2026-01-02\n", "    line: 481\n"),
    ("engine", "    line: 40\n", ""),
    ("engine", "path: ggml/CMakeLists.txt", "path: ../ggml/CMakeLists.txt"),
    ("engine", 'toolkit: "12.8"', "toolkit: 12.8"),
    ("model", "file: tiny-Q4_K_M.gguf", "file: tiny-Q4_K_M.bin"),
    ("model", "fidelity: header", "fidelity: heder"),
    ("model", "  top_k: {value", "  topk: {value"),
    ("model", "publisher: Example\n", ""),
    ("recipe", "  n_ctx: 4096\n", "  n_ctxx: 4096\n"),
    ("recipe", "  n_ctx: 4096\n", "  n_ctx: 4k\n"),
    ("recipe", "flash_attn: on\n", "flash_attn: true\n"),
    ("recipe", "type_k: q8_0\n", "type_k: q8\n"),
    ("recipe", "kv_offload: true", "kv_offload: on"),
    ("recipe", "reserve: 512 MiB", "reserve: 512"),
    ("recipe", "[3, 512]]", "[3]]"),
    ("recipe", "[llama.cpp#7]", "[7]"),
    ("recipe", "off, type_v: f16}", "off, type_v: f17}"),
    ("issue", "severity: red", "severity: rde"),
    ("issue", "number: 7", "number: seven"),
    ("issue", "state: {value: merged", "state: {value: done"),
    ("issue", "  state: {value: merged, checked: 2026-01-03}\n", ""),
    ("issue", "[expert_offload,", "[expert_ofload,"),
    ("issue", "builds: {confirmed: [b90, b91]}", "builds: {confirmd: [b90]}"),
]


@pytest.mark.parametrize(("kind", "old", "new"), MUTATIONS)
def test_what_the_loader_refuses_the_schema_refuses_too(tmp_path: Path, kind: str, old: str, new: str) -> None:
    place, load = PLACES[kind]
    original = next(path for path in sorted(SAMPLE.glob(place), reverse=True))
    text = original.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = tmp_path / original.relative_to(SAMPLE)
    path.parent.mkdir(parents=True)
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecErrors):
        load(path)
    assert faults(kind, path.read_text(encoding="utf-8"))


def test_every_setting_is_in_the_recipes_schema_with_its_meaning() -> None:
    rows: Any = schema("recipe")["$defs"]
    properties = rows["settings"]["properties"]
    assert {name: row["description"] for name, row in properties.items()} == {name: row.meaning for name, row in SETTINGS.items()}
    assert properties["flash_attn"]["enum"] == ["on", "off", "auto"]


def test_the_engine_of_the_catalogue_has_a_flag_for_every_setting() -> None:
    engine = load_engine(ROOT / "recipes" / "engines" / "llama.cpp" / "b10666.yml")
    assert set(engine.flags) == set(SETTINGS)


def test_importing_the_specs_loads_no_heavy_library() -> None:
    program = "import sys, generator.specs, generator.catalog; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert "yaml" in loaded
    assert not {"jinja2", "requests", "huggingface_hub", "gguf", "numpy", "mkdocs"} & set(loaded)


def test_a_schema_is_stable_json() -> None:
    assert json.loads(schema_text("card")) == schema("card")
