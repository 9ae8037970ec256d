from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import markdown  # type: ignore[import-untyped]
import pytest

from generator.build import Guide, OutdatedPageError, build_guide, outdated, write_files
from generator.catalog import Catalog
from generator.errors import InputError, MissingFileError, RefusedSettings, SpecErrors, UnknownNameError
from generator.facts import LockError
from generator.guide.environment import TemplateError
from generator.guide.lint import LintErrors
from generator.guide.page import STALE_AFTER
from generator.guide.prose import ProseError

ROOT = Path(__file__).resolve().parents[1]
RECIPE = "recipes/models/apodex-mini/rtx-5070.yml"
MODEL = "recipes/models/apodex-mini/model.yml"
LOCK = "recipes/models/apodex-mini/model.lock.json"
CARD = "recipes/cards/rtx-5070.yml"
THREAD = "recipes/issues/llama.cpp/26609.md"
PAGE = "site/guides/apodex-mini/rtx-5070.md"

Change = Callable[..., Path]


def build(root: Path) -> Guide:
    return build_guide(Catalog.open(root), "apodex-mini", "rtx-5070")


@pytest.fixture
def change(project: Path) -> Change:
    """Replace pieces of one file of the copy: (name, old, new, old, new, ...). Give the copy."""

    def changed(name: str, *pairs: str) -> Path:
        path = project / name
        text = path.read_text(encoding="utf-8")
        for old, new in zip(pairs[::2], pairs[1::2], strict=True):
            assert old in text, old
            text = text.replace(old, new, 1)
        path.write_text(text, encoding="utf-8")
        return project

    return changed


def line_of(path: Path, text: str) -> int:
    """Give the line of a file in which a text stands first."""
    return path.read_text(encoding="utf-8").partition(text)[0].count("\n") + 1


# --- the committed guide -------------------------------------------------------------------------


def test_the_committed_guide_is_what_its_recipe_gives(guide: Guide) -> None:
    assert sorted(guide.files) == [
        "guides/apodex-mini/rtx-5070.md",
        "guides/apodex-mini/rtx-5070/crossover.svg",
        "guides/apodex-mini/rtx-5070/guide.json",
        "guides/apodex-mini/rtx-5070/ladder.svg",
        "guides/apodex-mini/rtx-5070/planner.json",
        "guides/apodex-mini/rtx-5070/vram.svg",
    ]
    for name, text in guide.files.items():
        assert (ROOT / "site" / name).read_bytes() == text.encode(), f"{name}: run `gen build --all`"


def test_building_twice_gives_the_same_bytes(guide: Guide) -> None:
    assert build(ROOT).files == guide.files


@pytest.mark.parametrize(
    ("here", "now", "environment"),
    [
        (".", "2026-09-01", {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Pacific/Kiritimati"}),
        ("recipes/cards", "2031-02-28", {"PYTHONHASHSEED": "77777", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Pago_Pago"}),
        ("/", "2026-12-01", {"PYTHONHASHSEED": "random", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0", "GEN_ROOT": "."}),
    ],
)
def test_the_guide_depends_on_no_day_place_locale_or_hash(
    project: Path, guide: Guide, here: str, now: str, environment: dict[str, str]
) -> None:
    if "GEN_ROOT" in environment:
        environment = environment | {"GEN_ROOT": str(project)}
    program = "import sys; from generator.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, "build", "apodex-mini", "rtx-5070", "--now", now],
        cwd=project / here,
        env={**os.environ, "PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    for name, text in guide.files.items():
        assert (project / "site" / name).read_bytes() == text.encode()


# --- writing and comparing -----------------------------------------------------------------------


def test_only_what_is_new_is_written(tmp_path: Path, guide: Guide) -> None:
    assert sorted(write_files(guide.files, tmp_path)) == sorted(tmp_path / name for name in guide.files)
    assert write_files(guide.files, tmp_path) == []
    assert outdated(guide.files, tmp_path) == []
    (tmp_path / guide.page).write_text("edited")
    (tmp_path / "guides/apodex-mini/rtx-5070/vram.svg").unlink()
    assert outdated(guide.files, tmp_path) == [f"site/{guide.page}", "site/guides/apodex-mini/rtx-5070/vram.svg"]
    assert set(write_files(guide.files, tmp_path)) == {tmp_path / guide.page, tmp_path / "guides/apodex-mini/rtx-5070/vram.svg"}


def test_pages_that_are_out_of_date_are_named_with_what_to_do() -> None:
    error = OutdatedPageError(["site/a.md", "site/b.md"])
    assert error.exit_code == 3
    assert "site/a.md, site/b.md" in str(error)
    assert "gen build --all" in error.remedy


def test_a_fact_is_stale_when_it_was_not_checked_for_longer_than_the_limit(guide: Guide) -> None:
    used = [guide.facts[key] for key in guide.ledger.rows if key in guide.facts]
    used += [fact for claim in guide.ledger.claims.values() for fact in claim.facts]
    days = sorted({fact.checked for fact in used if fact.checked})
    oldest = days[0]
    assert guide.stale(oldest + STALE_AFTER) == []
    first = guide.stale(oldest + STALE_AFTER + timedelta(days=1))
    assert {fact.checked for fact in first} == {oldest}
    everything = guide.stale(date(2040, 1, 1))
    assert [fact.checked for fact in everything] == sorted(fact.checked for fact in everything if fact.checked)
    assert {fact.key for fact in everything} == {fact.key for fact in used if fact.checked}


# --- rule 2, from the template to the page -------------------------------------------------------

MUTATIONS = (
    ("offload", "So a slow slot", "So 31 slow slots", "a number that nothing stands behind: '31'"),
    ("offload", "## How the offload works", "## How the 5071 offload works", "a number that nothing stands behind: '5071'"),
    ("requirements", "| What | How much |", "| What | How much of 13 |", "a number that nothing stands behind: '13'"),
    ("offload", "- **Generating**, one", "- **Generating**, 17", "a number that nothing stands behind: '17'"),
    ("prefill", "Four times the", "4× the", "a number that nothing stands behind: '4×'"),
    (
        "requirements",
        '{{ n("budget.total") }} computed{%',
        "[8.892 GiB](#budget.total) computed{%",
        "'8.892 GiB' is not what the ledger has under 'budget.total'",
    ),
    ("budget", '{{ n("budget.total") }}', "[8.891 GB](#budget.total)", "'8.891 GB' is not what the ledger has under 'budget.total'"),
    ("issue", ", {{ issue.state }}", "", "is in the ledger and not on the page"),
    ("issue", "{{ issue.link }}", "{{ issue.link }} now", "a tracker thread without the date it was checked"),
    ("speed", '<a id="speed"></a>', "", "a link to '#speed', which is nowhere on the page"),
    ("run", "## Run", "#### Run", "a heading of level 4 follows one of level 2"),
    ("download", "## Download", "## <b>Download</b>", "raw HTML: '<b>'"),
    ("results", "## Results", "## [Results](javascript:alert)", "a link that is no web address: 'javascript:alert'"),
    ("prefill", "## Reading the prompt", "## Reading “the prompt”", "quotation marks around what is no quotation"),
    (
        "speed",
        "## Where speed goes",
        "## Speed on [2026-08-30](https://example.org)",
        "nothing was read at https://example.org on 2026-08-30",
    ),
)


def test_a_template_that_says_what_nothing_stands_behind_fails_the_build_with_every_such_place(change: Change, project: Path) -> None:
    for template, old, new, _ in MUTATIONS:
        change(f"templates/sections/{template}.md.j2", old, new)
    with pytest.raises(LintErrors) as caught:
        build(project)
    for *_, message in MUTATIONS:
        found = [problem for problem in caught.value.problems if message in problem.message]
        assert found, message
        assert all(problem.file == PAGE and problem.remedy for problem in found)
        assert all(problem.line > 0 or "not on the page" in problem.message for problem in found)


def test_the_line_that_is_named_is_that_of_the_page(change: Change, guide: Guide) -> None:
    with pytest.raises(LintErrors, match="a number that nothing stands behind: '31'") as caught:
        build(change("templates/sections/offload.md.j2", "So a slow slot", "So 31 slow slots"))
    (problem,) = caught.value.problems
    assert problem.line == guide.files[guide.page].partition("So a slow slot")[0].count("\n") + 1


def test_a_template_that_asks_for_a_number_there_is_not_names_the_near_ones(change: Change) -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'budget\.total'"):
        build(change("templates/sections/budget.md.j2", 'n("budget.total")', 'n("budget.totl")'))


def test_a_template_that_asks_for_a_value_it_was_not_given_names_its_line(change: Change, project: Path) -> None:
    with pytest.raises(TemplateError, match="'bugdet' is undefined") as caught:
        build(change("templates/sections/run.md.j2", "## Run", "## Run {{ bugdet }}"))
    assert caught.value.where == f"templates/sections/run.md.j2:{line_of(project / 'templates/sections/run.md.j2', 'bugdet')}"


# --- recipes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        (
            RECIPE,
            "{budget.slack} to spare",
            "{budget.slak} to spare",
            "no number or fact is called 'budget.slak'; did you mean 'budget.slack'",
        ),
        (RECIPE, "{issue 27698}", "{issue 99999}", "there is no thread 'llama.cpp#99999' in the catalogue"),
        (CARD, "{tier_peak} of", "{teir_peak} of", "no number or fact is called 'teir_peak'; did you mean 'tier_peak'"),
        (THREAD, "{passes_fa_off} runs", "{passes_fa} runs", "no number or fact is called 'passes_fa'"),
        (THREAD, "hit it at least", "hit it {{ 7*7 }} times at least", "no number or fact is called '7*7'"),
    ],
)
def test_prose_that_names_what_there_is_not_is_told_with_its_file_and_line(
    change: Change, name: str, old: str, new: str, problem: str
) -> None:
    root = change(name, old, new)
    with pytest.raises(ProseError) as caught:
        build(root)
    assert caught.value.where == f"{name}:{line_of(root / name, new)}"
    assert problem in caught.value.problem


def test_digits_typed_into_prose_fail_the_build_and_in_code_they_do_not(change: Change) -> None:
    with pytest.raises(LintErrors, match="a number that nothing stands behind: '87'"):
        build(change(THREAD, "a campaign of {campaign_requests} requests", "a campaign of 87 requests"))
    build(change(THREAD, "a campaign of 87 requests", "a campaign of `87` requests"))


@pytest.mark.parametrize("depth", ["26", "auto"])
def test_a_depth_and_all_experts_are_one_too_many(change: Change, depth: str) -> None:
    root = change(RECIPE, "  n_cpu_moe: 26", f"  n_cpu_moe: {depth}\n  cpu_moe: true")
    with pytest.raises(RefusedSettings, match="together they keep all") as caught:
        build(root)
    assert caught.value.where == f"{RECIPE}:12: settings.cpu_moe"


@pytest.mark.parametrize(
    ("pairs", "where", "message"),
    [
        (("  flash_attn: on", "  flash_attn: off"), "settings.type_v", "-ctv: V in q8_0 without flash attention"),
        (
            ("type_k: q8_0, type_v: f16", "type_k: q8_0, type_v: q4_0"),
            "fallbacks[0].settings.type_v",
            "-ctv: V in q4_0 without flash attention",
        ),
        (("  n_parallel: 1", "  n_parallel: 300"), "settings.n_parallel", "-np: 300 sequences are more than the engine allows (256)"),
        (
            ("  type_v: q8_0", "  type_v: f16"),
            "settings.type_v",
            "-ctv: K in q8_0 and V in f16: a default cuda build has no flash attention",
        ),
        (("  type_v: q8_0", "  type_v: q5_1\n  n_ubatch: 4096"), "settings.type_v", "the engine computes it on the CPU without saying so"),
        (("  n_ctx: 65536", "  n_ctx: 65536\n  swa_full: true"), "settings.swa_full", "the model has no sliding window"),
        (("  n_ctx: 65536", "  n_ctx: 65536\n  n_ubatch: 4096"), "settings.n_ubatch", "a micro-batch of 4096 in a batch of 2048"),
        (
            ("flash_attn: off, type_k: f16, type_v: f16", "n_cpu_ffn: 3"),
            "fallbacks[1].settings.n_cpu_ffn",
            "no tensor of the file has such a name",
        ),
    ],
)
def test_settings_that_no_reader_should_copy_are_refused_with_the_recipes_line(
    change: Change, pairs: tuple[str, str], where: str, message: str
) -> None:
    root = change(RECIPE, *pairs)
    with pytest.raises(RefusedSettings) as caught:
        build(root)
    name = where.rpartition(".")[2]
    last = {"fallbacks[0].settings.type_v": "type_v: q4_0", "fallbacks[1].settings.n_cpu_ffn": "n_cpu_ffn: 3"}.get(where, f"  {name}:")
    rows = (root / RECIPE).read_text(encoding="utf-8").split("\n")
    line = next(number for number, row in enumerate(rows, 1) if last in row)
    assert caught.value.where == f"{RECIPE}:{line}: {where}"
    assert message in caught.value.problem


def test_other_pairs_of_cache_types_are_taken_where_the_recipe_builds_for_them(change: Change) -> None:
    root = change(RECIPE, "build: b10666", "build: b10666\nbuild_options: [GGML_CUDA_FA_ALL_QUANTS]", "  type_v: q8_0", "  type_v: f16")
    assert "-DGGML_CUDA=ON -DGGML_CUDA_FA_ALL_QUANTS=ON" in build(root).files["guides/apodex-mini/rtx-5070.md"]


def test_a_command_in_prose_is_held_to_the_same_rules(change: Change) -> None:
    block = "\n\n    ```bash\n    ./build/bin/llama-server -m x.gguf -ngl 99 \\\n        -fa off -ctv q8_0\n    ```\n"
    root = change(
        RECIPE, "It was made with llama.cpp {model.quantised_at}", f"Or so:{block}\n    It was made with llama.cpp {{model.quantised_at}}"
    )
    with pytest.raises(RefusedSettings, match="quantized V cache requires flash_attn") as caught:
        build(root)
    assert caught.value.where.startswith("site/guides/apodex-mini/rtx-5070.md:")


def test_a_quant_the_model_does_not_have_names_the_near_ones(change: Change) -> None:
    with pytest.raises(UnknownNameError, match="no quant is called 'Q4_K_S'; did you mean 'Q4_K_M'"):
        build(change(RECIPE, "quant: Q4_K_M", "quant: Q4_K_S"))


def test_a_quant_whose_header_is_not_locked_is_told_with_the_command(change: Change) -> None:
    with pytest.raises(InputError, match="neither the header of 'IQ4_XS' nor the model's shape is known") as caught:
        build(change(RECIPE, "quant: Q4_K_M", "quant: IQ4_XS"))
    assert caught.value.remedy == "give `config`, or run `gen lock apodex-mini --header IQ4_XS=FILE`"


def test_a_typing_error_in_a_recipe_is_told_with_line_and_what_was_meant(change: Change) -> None:
    root = change(RECIPE, "  n_cpu_moe: 26", "  n_cpu_meo: 26", "depths: [0", "depths: [zero")
    with pytest.raises(SpecErrors) as caught:
        build(root)
    first, second = caught.value.problems
    assert (first.file, first.line) == (RECIPE, line_of(root / RECIPE, "n_cpu_meo"))
    assert "n_cpu_moe" in first.remedy
    assert (second.file, second.line) == (RECIPE, line_of(root / RECIPE, "depths"))


def test_a_lock_that_was_edited_or_is_gone_stops_the_build(change: Change) -> None:
    root = change(LOCK, '"value": 21864082336', '"value": 21864082337')
    with pytest.raises(LockError, match="edited by hand"):
        build(root)
    (root / LOCK).unlink()
    with pytest.raises(MissingFileError, match="the lock does not exist") as caught:
        build(root)
    assert "gen lock" in caught.value.remedy


@pytest.mark.parametrize(
    ("model", "card", "message"),
    [
        ("apodex", "rtx-5070", "no model is called 'apodex'; did you mean 'apodex-mini'"),
        ("apodex-mini", "rtx-507", "no card is called 'rtx-507'; did you mean 'rtx-5070'"),
        ("../models/apodex-mini", "rtx-5070", "no model is called"),
        ("apodex-mini", "../apodex-mini/rtx-5070", "no card is called"),
        ("apodex-mini", "model", "no card is called 'model'"),
    ],
)
def test_a_name_that_is_not_there_suggests_the_near_ones(model: str, card: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=re.escape(message)):
        build_guide(Catalog.open(ROOT), model, card)


# --- other people's text -------------------------------------------------------------------------

HOSTILE = "<script>alert('x')</script> **b** [l](javascript:a()) `c` | {{ 7*7 }} {% x %} $(id) & <img src=x onerror=a()> # \\"


class _Tags(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def hostile(change: Change) -> Guide:
    """The guide, built with hostile text in every place that is not prose."""
    quoted = json.dumps(HOSTILE)
    change(MODEL, "title: Apodex 1.1 mini", f"title: {quoted}", "publisher: Apodex AI", f"publisher: {quoted}")
    change(MODEL, "licence: Apache-2.0", f"licence: {quoted}")
    change(MODEL, "text: since imatrix calibration does not exercise them", f"text: {quoted}")
    change(MODEL, "from: the model card of the quant repository", f"from: {quoted}")
    change(MODEL, "quantised_at: {value: b10630,", f"quantised_at: {{value: {quoted},")
    change(CARD, "title: RTX 5070\n", f"title: {quoted}\n", "memory_type: GDDR7", f"memory_type: {quoted}")
    change(CARD, "note: the vendor publishes no bandwidth; this one agrees with bus width and memory clock", f"note: {quoted}")
    change(RECIPE, "{name: DDR4-3200,", f"{{name: {quoted},")
    path = change(THREAD, "symptom: ", "# symptom: ") / THREAD
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'title: \{value: ".*?", ', lambda _: f"title: {{value: {quoted}, ", text), encoding="utf-8")
    return build(path.parents[3])


def test_hostile_text_is_shown_as_the_words_it_is_on_the_page_in_figures_and_in_json(hostile: Guide) -> None:
    page = _Tags(markdown.markdown(hostile.files[hostile.page], extensions=["tables", "pymdownx.superfences"]))
    harmless = {"h1", "h2", "h3", "p", "a", "strong", "em", "code", "pre", "div", "span", "ul", "ol", "li", "img", "br"}
    assert {tag for tag, _ in page.tags} <= harmless | {"table", "thead", "tbody", "tr", "th", "td"}
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        address = attributes.get("href") or attributes.get("src") or "#"
        assert address.startswith(("#", "https://", "rtx-5070/", "../../method/")), (tag, attributes)
    words = " ".join(page.text.split())
    assert words.count(f"{HOSTILE} on {HOSTILE}") == 1
    assert f"“{HOSTILE}” 🔴" in words
    assert f"“{HOSTILE}” ({HOSTILE}, read 2026-08-31)" in words
    assert "{{ 7*7 }}" in words
    for name, text in hostile.files.items():
        if name.endswith(".svg"):
            root = ET.fromstring(text)
            assert not [each for each in root.iter() if each.tag.rpartition("}")[2] in {"script", "image", "a", "foreignObject"}]
            assert HOSTILE in "".join(root.itertext())
        elif name.endswith("guide.json"):
            rows: Any = json.loads(text)
            assert HOSTILE in [row.get("note") for row in rows["numbers"].values()]


def test_a_copy_without_its_templates_says_so(project: Path) -> None:
    shutil.rmtree(project / "templates")
    with pytest.raises(TemplateError, match=r"guide\.md\.j2"):
        build(project)


def test_the_recipe_that_the_readme_shows_builds(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parent.parent
    for name in ("recipes", "templates"):
        shutil.copytree(root / name, tmp_path / name)
    shown = (root / "README.md").read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "recipes/models/apodex-mini/rtx-5070.yml").write_text(shown, encoding="utf-8")

    guide = build_guide(Catalog.open(tmp_path), "apodex-mini", "rtx-5070")

    assert guide.ledger["weights.host"].quantity.value == 12_608_077_824  # experts of 26 blocks, as published
