from __future__ import annotations

from dataclasses import replace

import pytest

from generator.facts import Fact, Facts
from generator.guide.context import Sources
from generator.guide.environment import rendered
from generator.guide.ledger import Book
from generator.guide.numbers import Subject, write_numbers
from generator.guide.ollama import is_older, ollama_values, write_ollama
from generator.memory.settings import Settings


def written(subject: Subject) -> Book:
    book = write_numbers(subject)
    write_ollama(book, subject)
    return book


def on(subject: Subject, memory: int, unit: str = "GiB") -> Subject:
    """Give the subject with a card of so much memory."""
    facts = subject.facts.merged([Fact("card.memory", memory, unit, "declared", note="a card")])
    return replace(subject, facts=facts, _kept={})


@pytest.mark.parametrize(("memory", "context"), [(8, 4096), (16, 4096), (23, 32768), (24, 32768), (32, 32768), (47, 262144), (128, 262144)])
def test_the_context_follows_from_the_memory_of_the_gpus(subject: Subject, memory: int, context: int) -> None:
    """server/routes.go: 262144 tokens from 47 GiB on, 32768 from 23 GiB on, else 4096."""
    assert int(written(on(subject, memory))["ollama.n_ctx"]) == context


def test_it_is_no_longer_than_the_model_was_trained_for(subject: Subject) -> None:
    prefix = subject.model.architecture
    metadata = {**subject.model.metadata, f"{prefix}.context_length": 131072}
    short = replace(subject, model=replace(subject.model, metadata=metadata))
    assert int(written(on(short, 48))["ollama.n_ctx"]) == 131072


def test_its_cache_is_the_engines_at_its_own_context_and_type(subject: Subject) -> None:
    """10 blocks with attention keep 2 heads of 256 elements for each of K and V, in two bytes: 20,480 B a token."""
    book = written(subject)
    assert int(book["ollama.cache"]) == 20_480 * 4096
    assert int(book["ollama.own_context"]) == 20_480 * 65536
    own = int(book["kv.total.q8_0/q8_0"])
    assert int(book["ollama.cache_difference"]) == own - 20_480 * 4096
    assert int(book["ollama.own_context_difference"]) == 20_480 * 65536 - own
    assert [int(book[f"ollama.{name}"]) for name in ("n_parallel", "keep_alive")] == [1, 300]


def test_a_recipe_in_its_type_is_not_compared_at_its_own_context(subject: Subject) -> None:
    recipe = replace(subject.recipe, settings={**subject.recipe.settings, "type_k": "f16", "type_v": "f16"})
    book = written(replace(subject, recipe=recipe, settings=Settings.from_recipe(recipe.settings), _kept={}))
    assert "ollama.own_context" not in book
    assert "ollama.cache" in book


def test_nothing_is_written_where_nothing_is_known_of_it(subject: Subject) -> None:
    facts = Facts(fact for fact in subject.facts if not fact.key.startswith("ollama."))
    bare = replace(subject, facts=facts, _kept={})
    book = written(bare)
    assert not [key for key in book.numbers if key.startswith("ollama.")]
    assert ollama_values(book, bare) == {"known": False}


@pytest.mark.parametrize(("floor", "older"), [("b10487", False), ("b10488", False), ("b10489", True), ("", False)])
def test_its_engine_is_compared_with_the_build_that_a_page_asks_for(subject: Subject, floor: str, older: bool) -> None:
    """It comes with b10488 (LLAMA_CPP_VERSION)."""
    assert is_older(subject.facts, floor) is older


@pytest.mark.parametrize(
    ("pair", "word"), [(("q8_0", "q8_0"), "q8_0"), (("f16", "f16"), "f16"), (("q8_0", "f16"), ""), (("q5_1", "q5_1"), "")]
)
def test_its_cache_has_one_type_of_three(subject: Subject, pair: tuple[str, str], word: str) -> None:
    settings = replace(subject.settings, type_k=pair[0], type_v=pair[1])
    book = written(subject)
    book.numbers[f"kv.total.{'/'.join(pair)}"] = book["kv.total.q8_0/q8_0"]
    assert ollama_values(book, replace(subject, settings=settings))["cache_type"] == word


TOLD = {"fits": "yes", "offload": "whole", "on_card": "on the card", "one_slot": True, "has_cache": True, "n_ctx": 4096, "depth": 0}
KNOWN = {
    "known": True,
    "version": "v1",
    "llama_cpp": "b1",
    "tag": "",
    "looked": True,
    "counted": False,
    "cache_type": "q8_0",
    "num_gpu": None,
    "sampling": [("temperature", 1.0)],
}


def section(sources: Sources, *, noted: bool = False, backend: str = "cuda", **changes: object) -> str:
    told = {name: changes.pop(name, value) for name, value in TOLD.items()}
    values: dict[str, object] = {
        **told,
        "ollama": {**KNOWN, **changes},
        "ollama_older": False,
        "floor": {"build": "b2"},
        "noted": lambda _: noted,
        "prose": lambda _: "Own words." if noted else "",
        "holds": lambda key: f"checked {key}",
        "checked": lambda key: f"checked {key}",
        "model": {"name": "tiny"},
        "file_names": ["a-00001-of-00002.gguf", "a-00002-of-00002.gguf"],
        "settings": Settings(type_k="q8_0", type_v="q8_0", flash_attn="on"),
        "card": {"backend": backend},
        "book": {},
    }
    return rendered(sources.templates, "sections/ollama.md.j2", values)


def test_the_section_says_whether_there_is_a_tag_or_that_nobody_looked(sources: Sources) -> None:
    assert "Ollama names this model `gpt-oss:20b` (checked model.ollama_tag)" in section(sources, tag="gpt-oss:20b")
    assert "Ollama's library has no entry for this model (checked model.ollama_tag)." in section(sources)
    assert "nobody looked up for this page" in section(sources, looked=False)
    own = section(sources, noted=True)
    assert "Own words." in own
    assert "no entry" not in own


def test_the_modelfile_has_every_file_and_the_recipes_settings(sources: Sources) -> None:
    told = section(sources, num_gpu=20)
    block = told.partition("```text\n")[2].partition("```")[0]
    assert block.splitlines() == [
        "FROM ./tiny/a-00001-of-00002.gguf",
        "FROM ./tiny/a-00002-of-00002.gguf",
        "PARAMETER num_ctx 4096",
        "PARAMETER num_gpu 20",
        "PARAMETER temperature 1.0",
    ]
    assert "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=q8_0 ollama serve" in told


def test_the_section_speaks_of_nothing_that_its_reader_does_not_have(sources: Sources) -> None:
    plain = section(sources)
    assert not [word for word in ("experts", "num_gpu", "SYCL", "Vulkan", "older than") if word in plain]
    assert "no flag for experts" in section(sources, offload="experts")
    assert "through Vulkan (checked ollama.sycl)" in section(sources, backend="sycl")
    assert "cannot be had there" in section(sources, cache_type="")
    assert "OLLAMA_KV_CACHE_TYPE" not in section(sources, cache_type="")
