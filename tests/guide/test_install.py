from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from generator.build import build_guide
from generator.catalog import Catalog
from generator.facts import Fact, Source
from generator.guide.context import Sources
from generator.guide.install import backend_of, cuda_of, floor_of
from generator.guide.marks import Marks

ROOT = Path(__file__).parents[2]
SEEN = Fact("engine.seen.mamba9", "b9010", source=Source("https://example.org/log"), checked=date(2026, 12, 1), origin="transcribed")


def without_own_floor(marks: Marks) -> Marks:
    return replace(marks, facts=type(marks.facts)(fact for fact in marks.facts if fact.key != "model.floor"))


def test_what_a_file_needs_stands_over_what_its_architecture_does(sources: Sources, marks: Marks) -> None:
    assert floor_of(sources.engine, sources.model, marks)["build"] == "b10630"
    marks = without_own_floor(marks)
    floor = floor_of(sources.engine, sources.model, marks)
    assert floor["build"] == "b7990"
    assert (
        "the first build that ran architecture `qwen35moe`, checked [2026-12-01](https://github.com/ggml-org/llama.cpp/pull/19468)"
        in floor["words"]
    )
    assert marks.claims["engine.floor.qwen35moe"].holds


def test_a_build_that_was_seen_running_is_no_floor(sources: Sources, marks: Marks) -> None:
    engine = sources.engine
    support = replace(engine.architectures["llama"], floor=None, seen=SEEN)
    engine = replace(engine, architectures={"mamba9": support})
    marks = replace(without_own_floor(marks), facts=without_own_floor(marks).facts.merged([SEEN]))
    floor = floor_of(engine, replace(sources.model, architecture="mamba9"), marks)
    assert floor["build"] == ""
    assert "somebody ran architecture `mamba9` on `b9010`; the first build is not recorded here, checked [2026-12-01]" in floor["words"]


def test_an_architecture_that_is_only_listed_or_not_even_that_gets_words_and_no_build(sources: Sources, marks: Marks) -> None:
    engine, marks = sources.engine, without_own_floor(marks)
    listed = replace(engine, architectures={"mamba9": replace(engine.architectures["llama"], floor=None)})
    model = replace(sources.model, architecture="mamba9")
    assert floor_of(listed, model, marks)["words"].startswith("it lists architecture `mamba9` ([`src/llama-arch.cpp`]")
    nothing = floor_of(engine, model, marks)
    assert (nothing["build"], nothing["words"]) == ("", "which build first ran architecture `mamba9` is not recorded here")


@pytest.mark.parametrize(
    ("capability", "toolkit", "architecture"),
    [("8.6", "11.1", "86-real"), ("8.9", "11.8", "89-real"), ("12.0", "12.8", "120a-real"), ("12.1", "12.9", "121a-real")],
)
def test_each_compute_capability_of_the_catalogue_has_its_toolkit(
    sources: Sources, capability: str, toolkit: str, architecture: str
) -> None:
    """Read in ggml/src/ggml-cuda/CMakeLists.txt."""
    cuda = cuda_of(sources.engine, replace(sources.card, compute_capability=capability))
    assert cuda is not None
    assert (cuda["toolkit"], cuda["architecture"]) == (toolkit, architecture)
    assert cuda["slot"] in sources.engine.notes


def test_every_cuda_card_of_the_catalogue_is_told_its_toolkit(sources: Sources) -> None:
    catalog = Catalog.open(ROOT)
    cards = [catalog.card(name) for name in catalog.cards()]
    assert all(cuda_of(sources.engine, card) for card in cards if card.backend == "cuda")


def test_a_link_of_a_backend_is_made_when_it_is_asked_for(sources: Sources, marks: Marks) -> None:
    words = backend_of(sources.engine, replace(sources.card, backend="metal"), sources.recipe, marks)
    assert not marks.uncited
    assert "ggml/src/ggml-metal/ggml-metal.cpp" in words.op_offload_cite
    assert list(marks.uncited) == ["op_offload_metal"]
    assert (words.one_type, words.options) == (True, "")


INSTALLED = {
    "cuda": (["-DGGML_CUDA=ON", "nvcc --version"], "qwen3-8b", "rtx-3070"),
    "rocm": (["-DGGML_HIP=ON -DGPU_TARGETS=gfx1201", "HIPCXX="], "gpt-oss-20b", "rx-9070-xt"),
    "sycl": (["-DGGML_SYCL=ON", "source /opt/intel/oneapi/setvars.sh"], "qwen3-8b", "arc-b580"),
    "metal": (["cmake -B build\n", "sysctl -n hw.ncpu"], "qwen3-8b", "apple-m4-16gb"),
}


@pytest.mark.parametrize("backend", INSTALLED)
def test_a_page_says_how_to_build_for_its_own_backend_and_no_other(backend: str) -> None:
    words, model, card = INSTALLED[backend]
    page = build_guide(Catalog.open(ROOT), model, card).files[f"guides/{model}/{card}.md"]
    install = page.partition("## Install")[2].partition("\n## ")[0]
    assert all(word in install for word in words)
    others = {word.strip() for name, (each, _, _) in INSTALLED.items() if name != backend for word in each} - {"cmake -B build"}
    assert not [word for word in others if word in install]
    named = {"cuda": "CUDA", "rocm": "ROCm", "sycl": "SYCL", "metal": "Apple"}
    assert not [word for name, word in named.items() if name != backend and word in install]
