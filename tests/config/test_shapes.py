"""Shapes from a configuration against the headers of the same models (tests/data/engine_truth/README.md)."""

from __future__ import annotations

import pytest

from generator.config.geometry import Geometry
from generator.config.shapes import ARCHITECTURES, shapes_of
from generator.errors import InputError, UnknownNameError
from tests.config.heads import HEADS, config_of, header

SCALED_ROTATION = {"llama31-8b": {"rope_freqs.weight": (64,)}}
"""Factors of a scaled rotation: 256 bytes that no value of a shape tells of."""


@pytest.mark.parametrize("name", HEADS)
def test_the_shapes_are_those_of_the_models_own_header(name: str) -> None:
    model = header(name)
    found = dict(shapes_of(Geometry(model.architecture, config_of(model))))
    assert found | SCALED_ROTATION.get(name, {}) == {tensor.name: tensor.shape for tensor in model.tensors}


def test_every_architecture_with_rules_is_held_against_a_header() -> None:
    assert {header(name).architecture for name in HEADS} == set(ARCHITECTURES)


def test_a_draft_head_is_a_block_of_attention_after_the_last_whatever_the_interval() -> None:
    config = config_of(header("qwen35-27b")) | {"block_count": 65, "nextn_predict_layers": 1}
    names = [name.removeprefix("blk.64.") for name, _ in shapes_of(Geometry("qwen35", config)) if name.startswith("blk.64.")]
    assert "attn_q.weight" in names
    assert "nextn.eh_proj.weight" in names
    assert not [name for name in names if name.startswith("ssm")]


def test_an_architecture_without_rules_is_named() -> None:
    with pytest.raises(UnknownNameError, match="no architecture whose shapes are known is called 'mamba9'") as caught:
        shapes_of(Geometry("mamba9", {}))
    assert "generator/config/shapes.py" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("block_count", None, "config.block_count is not known, and the shapes of architecture 'qwen35moe' follow from it"),
        ("block_count", 0, "config.block_count should be one whole number from 1 up, not 0"),
        ("block_count", 10**9, "config.block_count should be 512 or fewer, as the engine loads, not 1000000000"),
        ("expert_count", None, "config.expert_count is not known"),
        ("expert_count", True, "config.expert_count should be one whole number from 0 up, not True"),
        ("expert_count", 2.5, "config.expert_count should be one whole number from 0 up, not 2.5"),
        ("embedding_length", "2048", "config.embedding_length should be one whole number from 0 up, not '2048'"),
        ("full_attention_interval", 0, "config.full_attention_interval should be one whole number from 1 up, not 0"),
        ("attention.head_count_kv", [2, 2], "config.attention.head_count_kv should be a list that reaches block 3, not one of 2 values"),
        ("attention.head_count_kv", [-1] * 41, "config.attention.head_count_kv[3] should be one whole number from 0 up, not -1"),
        ("tied_embeddings", None, "config.tied_embeddings is not known"),
        ("tied_embeddings", 0, "config.tied_embeddings should be true or false, not 0"),
    ],
)
def test_a_value_that_is_missing_or_wrong_is_named_with_its_file(name: str, value: object, problem: str) -> None:
    config = config_of(header("qwen35moe-mtp")) | {name: value}
    with pytest.raises(InputError) as caught:
        shapes_of(Geometry("qwen35moe", config, "recipes/models/x/model.yml"))
    assert caught.value.problem.startswith(problem)
    assert caught.value.where == "recipes/models/x/model.yml"
    assert caught.value.remedy.startswith(f"give {name} under `config`")


def test_every_block_says_whether_it_has_a_window() -> None:
    config = config_of(header("gemma4-26b-a4b"))
    config.pop("attention.sliding_window_pattern")
    with pytest.raises(InputError, match=r"config\.attention\.sliding_window_pattern is not known"):
        shapes_of(Geometry("gemma4", config))


def refusal(geometry: Geometry) -> str:
    try:
        shapes_of(geometry)
    except InputError as error:
        return error.problem
    return ""


@pytest.mark.parametrize("name", HEADS)
def test_whatever_a_configuration_lacks_is_either_not_needed_or_named(name: str) -> None:
    model = header(name)
    config = config_of(model)
    for left_out in config:
        rest = {key: value for key, value in config.items() if key != left_out}
        problem = refusal(Geometry(model.architecture, rest))
        assert not problem or problem.startswith(f"config.{left_out} is not known")
