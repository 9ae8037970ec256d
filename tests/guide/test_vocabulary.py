"""No committed guide names what its reader does not have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from generator.catalog import Catalog

ROOT = Path(__file__).resolve().parents[2]
CATALOG = Catalog.open(ROOT)
PAGES = [pytest.param(model, page, id=f"{model}-{page}") for model, page in CATALOG.recipes()]

OF_BACKENDS = {
    "cuda": ("nvidia-smi", "nvcc", "CUDA toolkit", "GGML_CUDA", "compute capability", "CUDA", "NVIDIA"),
    "rocm": ("rocm-smi", "rocminfo", "GGML_HIP", "ROCm"),
    "metal": ("sysctl", "macOS", "GGML_METAL", "Metal"),
    "sycl": ("oneAPI", "GGML_SYCL", "SYCL"),
    "vulkan": ("GGML_VULKAN",),
}
"""Words that only readers of one backend are told."""

TOLD = re.compile(
    r"github\.com/ggml-org/llama\.cpp/(issues|pull|discussions)/|#issue[.-]|^\*\*(Established|Not |What would change)|^### |^- "
)
"""Lines of threads: they say which backends a report is about, and which it is not."""


def lines(model: str, page: str) -> Iterator[str]:
    """Give the lines of a guide above its ledger but for those of threads, without the model's own names."""
    text = (ROOT / "site" / "guides" / model / f"{page}.md").read_text(encoding="utf-8").partition("\n## Ledger\n")
    assert text[1]
    spec = CATALOG.model(model)
    fenced = False
    for line in text[0].splitlines():
        fenced = fenced != line.startswith("```")
        if fenced or not TOLD.search(line):
            for name in (spec.repository, spec.base, spec.publisher, spec.licence):
                line = line.replace(name, "") if name else line  # noqa: PLW2901  # what is left of the line
            yield line


def named(word: str, line: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![a-z])", line) is not None


@pytest.mark.parametrize(("model", "page"), PAGES)
def test_a_guide_names_no_tool_of_another_backend(model: str, page: str) -> None:
    own = CATALOG.card(CATALOG.recipe(model, page).card).backend
    others = [word for backend, words in OF_BACKENDS.items() if backend != own for word in words]
    assert [(word, line) for line in lines(model, page) for word in others if named(word, line)] == []


@pytest.mark.parametrize(("model", "page"), PAGES)
def test_a_guide_names_the_flag_for_experts_only_where_experts_are_offloaded(model: str, page: str) -> None:
    ledger = json.loads((ROOT / "site" / "guides" / model / page / "guide.json").read_text(encoding="utf-8"))
    settings = ledger["recipe"]["settings"]
    offloaded = "experts.count" in ledger["numbers"] and (settings.get("n_cpu_moe") or settings.get("cpu_moe"))
    naming = [line for line in lines(model, page) if named("-ncmoe", line) or named("-cmoe", line)]
    assert bool(naming) is bool(offloaded)


def test_the_words_are_seen_where_they_do_belong() -> None:
    assert any(named("nvidia-smi", line) for line in lines("apodex-mini", "rtx-5070"))
    assert any(named("sysctl", line) for line in lines("qwen3-8b", "apple-m4-16gb"))
    assert any(named("ROCm", line) for line in lines("gpt-oss-20b", "rx-9070-xt"))


def test_a_guide_of_what_does_not_fit_says_so_first_and_gives_nothing_to_install_or_run() -> None:
    refused = [ROOT / "site" / "guides" / model / f"{page}.md" for model, page in CATALOG.recipes()]
    texts = {path.stem: text for path in refused if "**It does not run as set up here" in (text := path.read_text(encoding="utf-8"))}
    assert texts
    for name, text in texts.items():
        assert text.splitlines()[2].startswith("**It does not run as set up here"), name
        assert not re.search(r"^## (Install|Download|Run|Ollama)$|llama-server -m|^FROM ", text, re.MULTILINE), name


@pytest.mark.parametrize(("model", "page"), PAGES)
def test_every_link_of_a_guide_into_the_site_leads_to_a_file(model: str, page: str) -> None:
    path = ROOT / "site" / "guides" / model / f"{page}.md"
    text = re.sub(r"`[^`\n]*`", "", path.read_text(encoding="utf-8"))
    own = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert own
    assert [link for link in own if not (path.parent / link).resolve().is_file()] == []
