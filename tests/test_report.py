"""`gen plan`, by way of the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from generator.cli import main
from generator.memory.budget import Policy
from generator.memory.plan import make_plan
from generator.memory.settings import flags_of_recipe, parse_flags
from generator.report.planned import PlanReport
from generator.report.rows import plan_as_dict
from generator.report.words import plan_as_text
from tests.memory.models import ROOT, hybrid

DATA = ROOT / "tests/data/engine_truth"
DENSE = str(DATA / "llama31-8b.gguf.head")
HYBRID = str(DATA / "qwen35moe-mtp.gguf.head")
ODD_HEADS = str(DATA / "open-llama-3b.gguf.head")
RECIPE = "apodex-mini/rtx-5070"
EMBEDDING = 248_320 * 2048 // 256 * 144
"""Bytes of the Apodex model's input embedding, from its lock: 248,320 rows of 2048 elements in Q4_K."""
SECRET = "correct-horse-battery"
MIB, GIB = 2**20, 2**30


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("GEN_ROOT", raising=False)


class Answer:
    """What a command printed, and what it left with."""

    def __init__(self, code: int, out: str, error: str) -> None:
        self.code, self.out, self.error = code, out, error

    @property
    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.error
        found: dict[str, Any] = json.loads(self.out)
        return found

    def ladder(self) -> dict[tuple[int, int, str], str]:
        """Give the figures of the printed ladder by depth, context and caches."""
        lines = self.out.splitlines()
        [top] = [number for number, line in enumerate(lines) if line.lstrip().startswith("-ncmoe")]
        columns = lines[top].split()[2:]
        found = {}
        for line in lines[top + 1 :]:
            depth, n_ctx, *cells = line.removesuffix("  <").split()
            for column, figure in zip(columns, re.findall(r"[\d.]+ [GM]iB\*?", " ".join(cells)), strict=True):
                found[int(depth), int(n_ctx), column] = figure
        return found


class Plan:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *words: str) -> Answer:
        code = main(["plan", *words])
        out, error = self.capsys.readouterr()
        return Answer(code, out, error)


@pytest.fixture
def plan(capsys: pytest.CaptureFixture[str]) -> Plan:
    return Plan(capsys)


# --- a recipe -------------------------------------------------------------------------------------


def test_a_recipe_brings_its_settings_card_build_and_policy(plan: Plan) -> None:
    given = plan(RECIPE, "--json").json
    assert (given["format"], given["source"], given["architecture"]) == (1, RECIPE, "qwen35moe")
    assert (given["program"], given["build"], given["policy"]) == ("llama-server", "b10666", "published")
    assert (given["n_ctx"], given["n_ctx_seq"]) == (65_536, 65_536)
    # the published budget: 21,376,133,632 loaded, 12,608,077,824 of it on the host, cache and state
    assert given["on_card"] == 21_376_133_632 - 12_608_077_824 + 713_031_680 + 65_863_680
    assert given["card"] == {
        "name": "rtx-5070",
        "usable": 11 * GIB,
        "reserve": GIB,
        "ceiling": 10 * GIB,
        "slack": 10 * GIB - given["on_card"],
        "verdict": "fits",
        "fits": True,
    }
    assert given["attention_scores"] is None
    host, card = given["devices"]
    assert (host["name"], host["weights"]) == ("host", 12_608_077_824 + EMBEDDING)
    assert (card["name"], card["kv"], card["recurrent"]) == ("gpu0", 713_031_680, 65_863_680)
    # a copy of one expert tensor on its way, 210 MiB, a mask of 512 x 65,536 in F16 and in F32 before it, and rows of 8 experts
    assert 210 * MIB + 512 * 65_536 * 2 + 512 * 8 * 2048 * 4 < card["compute"] < 400 * MIB
    assert given["draft"] is None


def test_the_published_ladder_is_printed(plan: Plan) -> None:
    answer = plan(RECIPE)
    ladder = answer.ladder()
    wanted = {
        (24, 65_536): ("9.799", "10.092", "10.385"),
        (25, 65_536): ("9.378", "9.671", "9.964"),
        (26, 65_536): ("8.891", "9.184", "9.477"),
        (26, 131_072): ("9.555", "10.141", "10.727"),
    }
    for (depth, n_ctx), totals in wanted.items():
        for caches, total in zip(("q8_0/q8_0", "q8_0/f16", "f16/f16"), totals, strict=True):
            over = "*" if float(total) > 10 else ""
            assert ladder[depth, n_ctx, caches] == f"{total} GiB{over}"
    [own] = [line for line in answer.out.splitlines() if line.endswith("  <")]
    assert own.split()[:2] == ["26", "65536"]
    assert "RTX 5070: fits. 8.891 GiB under policy 'published', ceiling 10.000 GiB" in answer.out
    assert "(11.0 GiB usable, 1,024 MiB reserved), 1.109 GiB to spare" in answer.out


def test_the_policies_differ_by_the_input_embedding(plan: Plan) -> None:
    published, engine = plan(RECIPE, "--json").json, plan(RECIPE, "--policy", "engine", "--json").json
    assert published["on_card"] - engine["on_card"] == EMBEDDING
    assert published["devices"] == engine["devices"]
    pairs = list(zip(published["ladder"], engine["ladder"], strict=True))
    assert pairs and {upper["total"] - lower["total"] for upper, lower in pairs} == {EMBEDDING}


@pytest.mark.parametrize(
    ("flags", "blocks"),
    [
        (["-ncmoe", "24"], 24),
        (["--n_cpu_moe", "24"], 24),
        (["-ncmoe", "99"], 40),
        (["-cmoe"], 40),
        (["--cpu-moe"], 40),
        (["-ncmoe", "0"], 0),
    ],
)
def test_a_depth_replaces_the_recipes_and_is_not_added_to_it(flags: list[str], blocks: int, plan: Plan) -> None:
    # experts of a loaded block: 452,984,832 bytes, 522,190,848 in the large ones (seed figures)
    large = {0, 1, 2, 3, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 35, 36, 37, 38, 39}
    experts = sum(522_190_848 if block in large else 452_984_832 for block in range(blocks))
    assert plan(RECIPE, *flags, "--json").json["devices"][0]["weights"] == EMBEDDING + experts


def test_flags_win_over_the_recipe_and_the_rest_of_it_stays(plan: Plan) -> None:
    given = plan(RECIPE, "-c", "10000", "-np", "3", "--cache_type_v", "f16", "--json").json
    assert (given["n_ctx"], given["n_ctx_seq"]) == (10_752, 3_584)
    assert given["devices"][1]["kv"] == 10_752 * 15_680  # K is q8_0 still
    assert given["devices"][1]["recurrent"] == 3 * 65_863_680
    assert given["devices"][0]["weights"] == 12_608_077_824 + EMBEDDING


@pytest.mark.parametrize("flags", [[], ["-ncmoe", "24", "-fa", "on"], ["LLAMA_ARG_N_PARALLEL=1", "-ncmoe", "24"]])
def test_what_the_recipe_gave_is_said(flags: list[str], plan: Plan) -> None:
    [told] = [note for note in plan(RECIPE, *flags, "--json").json["notes"] if note.startswith("from the recipe: ")]
    words = told.split()
    assert {"-ngl", "-c", "65536", "-ctk", "--port"} <= set(words)
    assert ("-ncmoe" in words) == ("26" in words) == ("-ncmoe" not in flags)
    assert ("-fa" in words) == ("-fa" not in flags)
    assert "24" not in words and "LLAMA_ARG" not in told


@pytest.mark.parametrize(
    "given",
    [
        ["./build/bin/llama-server", "-ngl", "99", "-c", "8192", "-np", "1"],
        ["sudo", "CUDA_VISIBLE_DEVICES=0", "llama-server", "-ngl", "99", "-c", "8192", "-np", "1"],
        ["-m", "x.gguf", "-ngl", "99", "-c", "8192", "-np", "1"],
        ["-hf", "owner/repository:Q8_0", "-ngl", "99", "-c", "8192", "-np", "1"],
    ],
)
def test_a_whole_command_line_stands_in_place_of_the_recipes_settings(given: list[str], plan: Plan) -> None:
    found = plan(RECIPE, *given, "--json").json
    assert (found["n_ctx"], found["build"], found["policy"], found["card"]["name"]) == (8192, "b10666", "published", "rtx-5070")
    host, card = found["devices"]
    assert host["weights"] == EMBEDDING  # no -ncmoe
    assert card["kv"] == 8192 * 20_480  # f16 for K and V: 10 blocks, 2 heads of 256, 2 bytes each
    told = [note for note in found["notes"] if "recipe" in note]
    assert told == ["a whole command line: the recipe's settings are left out, its Q4_K_M stands for the model file"]


def test_another_card_is_an_option(plan: Plan) -> None:
    answer = plan(RECIPE, "--card", "rtx-9999")
    assert answer.code == 2
    assert "no card is called 'rtx-9999'" in answer.error


# --- a file, a pasted command -----------------------------------------------------------------------


def test_a_file_is_planned_without_a_card(plan: Plan) -> None:
    answer = plan(DENSE, "-ngl", "99", "-c", "4096", "-np", "1")
    assert answer.code == 0
    first, *rest = answer.out.splitlines()
    assert first == f"{DENSE}: llama, llama-server, 4,096 tokens in 4,096 cells"
    # the engine's own figures for llama31-8b/B/00: 4,617,396,480, 536,870,912 on the card, 295,501,824 on the host
    assert any(line.split()[:7] == ["host", "281.8", "MiB", "0.0", "MiB", "0.0", "MiB"] for line in rest)
    assert any(line.split()[:5] == ["gpu0", "4.300", "GiB", "512.0", "MiB"] for line in rest)
    assert "ceiling" not in answer.out


@pytest.mark.parametrize(
    "words",
    [
        ["./build/bin/llama-server", "-m", DENSE, "-ngl", "99", "-c", "4096", "-np", "1"],
        ["llama-server", "-m", DENSE, "-ngl", "99", "-c", "4096", "-np", "1"],
        [f"./build/bin/llama-server -m {DENSE} \\\n  -ngl 99 \\\n  -c 4096 \\\n  -np 1\n"],
        [f"./build/bin/llama-server -m {DENSE} \\\n  -ngl 99", "-c", "4096", "-np", "1"],
        ["LLAMA_ARG_CTX_SIZE=4096", "CUDA_VISIBLE_DEVICES=0", "llama-server", "-m", DENSE, "-ngl", "99", "-np", "1"],
        ["-m", DENSE, "-ngl", "99", "-c", "4096", "-np", "1"],
        [DENSE, "llama-server", "-ngl", "99", "-c", "4096", "-np", "1"],
        [DENSE, "--", "-ngl", "99", "-c", "4096", "-np", "1"],
        ["--json", "-m", DENSE, "--gpus=1", "-ngl", "99", "-c", "4096", "-np", "1"],
    ],
)
def test_a_command_line_can_be_pasted_whole(words: list[str], plan: Plan) -> None:
    given = plan("--json", *words).json
    assert given["source"] == DENSE
    assert [device["kv"] for device in given["devices"]] == [0, 536_870_912]
    assert abs(given["devices"][1]["weights"] - 4_617_396_480) <= 64 * 2**10


def test_a_program_in_the_command_wins_over_the_option(plan: Plan) -> None:
    assert plan("llama-cli", "-m", DENSE, "--program", "llama-fit-params", "--json").json["program"] == "llama-cli"
    assert plan("-m", DENSE, "--program", "llama-fit-params", "--json").json["program"] == "llama-fit-params"


def test_a_card_makes_a_verdict_under_the_chosen_policy(plan: Plan) -> None:
    fits = plan(DENSE, "--card", "rtx-5070", "-c", "4096", "-np", "1", "--json").json
    assert fits["card"]["fits"] and fits["policy"] == "engine"
    answer = plan(DENSE, "--card", "rtx-5070", "-c", "131072", "-np", "1")
    assert "RTX 5070: does not fit." in answer.out
    # 131,072 tokens of f16 in 32 blocks of 8 heads of 128: 16 GiB, beside 4,617,396,480 bytes of weights, 4.300 GiB; 10 GiB may be used
    assert "reserved), 10.300 GiB over" in answer.out
    assert "to spare" not in answer.out


def scores_of(words: list[str], plan: Plan) -> tuple[dict[str, Any], list[str]]:
    found = plan(*words, "--json").json
    return found, [note for note in found["notes"] if "attention scores" in note]


@pytest.mark.parametrize(
    ("flags", "size", "against", "verdict"),
    [
        # 65,536 cells x micro-batch x 16 heads x 4 bytes: 1 GiB with 256, 2 GiB with 512
        # as much as the reserve alone, and the mask on top of them: 11 GiB hold all of it, but without the reserve
        (["-ctv", "f16", "-ub", "256"], GIB, "less than the reserve", "fits with nothing in reserve"),
        (["-ctv", "f16", "-ub", "128"], GIB // 2, "less than the reserve", "fits"),
        # 9.184 GiB of weights, cache and state, 11 GiB usable
        (["-ctv", "f16"], 2 * GIB, "more than the reserve", "does not fit"),
        # two blocks deeper, 930 MiB less: 10.276 GiB with the scores
        (["-ctv", "f16", "-ncmoe", "28"], 2 * GIB, "more than the reserve", "fits with nothing in reserve"),
        # all experts on the host: 2 GiB and the reserve have room
        (["-ctv", "f16", "-cmoe"], 2 * GIB, "more than the reserve", "fits"),
    ],
)
def test_without_flash_attention_the_scores_are_held_against_the_reserve(
    flags: list[str], size: int, against: str, verdict: str, plan: Plan
) -> None:
    words = [RECIPE, "-fa", "off", *flags]
    found, [told] = scores_of(words, plan)
    assert found["attention_scores"] == size
    assert against in told
    assert (found["card"]["verdict"], found["card"]["fits"]) == (verdict, verdict == "fits")
    text = plan(*words).out
    assert f"RTX 5070: {verdict}. " in text
    assert ("of all that is usable: " in text) == (found["devices"][1]["compute"] > GIB)
    [own] = [rung for rung in found["ladder"] if rung["total"] == found["on_card"] and rung["n_ctx"] == 65_536]
    assert own["fits"] == found["card"]["fits"]


def test_scores_on_the_host_or_with_flash_attention_are_no_matter(plan: Plan) -> None:
    for flags in (["-fa", "on"], ["-fa", "auto"], ["-fa", "off", "-nkvo"], ["-fa", "off", "-ngl", "0"], ["-fa", "off", "--gpus", "0"]):
        found, told = scores_of([DENSE, "-c", "8192", "-np", "1", *flags], plan)
        assert (found["attention_scores"], told) == (None, [])


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["-fa", "on"], ""),
        (["-fa", "on", "-ctk", "q4_0", "-ctv", "q4_0"], ""),
        (["-fa", "on", "-ctk", "bf16", "-ctv", "bf16"], ""),
        (["-fa", "off", "-ctk", "q8_0"], ""),
        (["-fa", "on", "-ctk", "q8_0"], "for q8_0/f16: attention runs on the CPU"),
        (["-fa", "on", "-ctk", "q5_1", "-ctv", "q5_1"], "for q5_1/q5_1: attention runs on the CPU"),
        (["-fa", "on", "-ctk", "q5_1", "-ctv", "q5_1", "-nkvo"], ""),
        (["-ctk", "q8_0"], "for q8_0/f16: -fa auto turns it off"),
    ],
)
def test_cache_types_without_a_cuda_kernel_are_warned_of(flags: list[str], told: str, plan: Plan) -> None:
    notes = plan(DENSE, "-c", "4096", "--build", "b10666", *flags, "--json").json["notes"]
    newer = plan(DENSE, "-c", "4096", "--build", "v0.5.0", *flags, "--json").json["notes"]  # copies other types to f16
    assert not [note for note in newer if note.startswith("warning: ")]
    warned = [note for note in notes if note.startswith("warning: a default CUDA build has no flash attention")]
    assert len(warned) == bool(told)
    assert told in "".join(warned)


def test_how_table_and_verdict_count_is_said(plan: Plan) -> None:
    assert "verdict and ladder, policy 'published', add the input embedding, 272.8 MiB\n" in plan(RECIPE).out
    assert "table, verdict and ladder count as the engine places things, policy 'engine'\n" in plan(RECIPE, "--policy", "engine").out


@pytest.mark.parametrize(("gpus", "names"), [("0", ["host"]), ("1", ["host", "gpu0"]), ("2", ["host", "gpu0", "gpu1"])])
def test_devices_are_as_many_as_asked_for(gpus: str, names: list[str], plan: Plan) -> None:
    given = plan(DENSE, "--gpus", gpus, "-c", "4096", "-np", "1", "--json").json
    assert [device["name"] for device in given["devices"]] == names
    assert sum(device["kv"] for device in given["devices"]) == 536_870_912
    assert bool(given["ladder"]) == (gpus == "1")
    text = plan(DENSE, "--gpus", gpus, "-c", "4096", "-np", "1").out
    assert re.findall(r"^(host|gpu\d)\b", text, re.MULTILINE) == names


@pytest.mark.parametrize("words", [[RECIPE], [DENSE, "-c", "0"], [HYBRID, "--spec-type", "draft-mtp", "-c", "8192", "--gpus", "2"]])
def test_text_and_json_show_the_same_figures(words: list[str], plan: Plan) -> None:
    given, text = plan(*words, "--json").json, plan(*words)
    for device in given["devices"]:
        [line] = [line for line in text.out.splitlines() if line.startswith(f"{device['name']} ")]
        figures = [device[name] for name in ("weights", "kv", "recurrent", "compute", "total")]
        assert figures[-1] == sum(figures[:-1])
        assert line.split()[1:] == " ".join(size(figure) for figure in figures).split()
    rungs = {(rung["n_cpu_moe"], rung["n_ctx"], f"{rung['type_k']}/{rung['type_v']}"): rung for rung in given["ladder"]}
    if rungs:
        shown = text.ladder()
        assert shown.keys() == rungs.keys()
        for key, rung in rungs.items():
            over = "*" if "fits" in rung and not rung["fits"] else ""
            assert shown[key] == f"{rung['total'] / GIB:.3f} GiB{over}"
    for note in given["notes"]:
        assert note in text.out


def size(amount: int) -> str:
    return f"{amount / GIB:.3f} GiB" if amount >= GIB else f"{amount / 2**20:.1f} MiB"


# --- the ladder -------------------------------------------------------------------------------------


def test_the_ladders_own_rung_is_the_plans_total(plan: Plan) -> None:
    for words in (
        [RECIPE, "-ncmoe", "30"],
        [HYBRID, "-c", "8192", "-np", "2", "-ncmoe", "20", "--spec-type", "draft-mtp"],
        [DENSE, "-c", "4096"],
    ):
        given = plan(*words, "--json").json
        depth = int(words[words.index("-ncmoe") + 1]) if "-ncmoe" in words else 0
        own = [rung for rung in given["ladder"] if rung["n_cpu_moe"] == depth and rung["n_ctx"] == (given["n_ctx"])]
        assert given["on_card"] in {rung["total"] for rung in own}


@pytest.mark.parametrize(("flags", "deepest"), [(["-cmoe"], 40), (["-ncmoe", "99"], 40), (["-cmoe", "--spec-type", "draft-mtp"], 41)])
def test_all_experts_on_the_host_are_the_ladders_deepest_rung(flags: list[str], deepest: int, plan: Plan) -> None:
    words = [HYBRID, "-c", "8192", "-np", "1", *flags]
    given = plan(*words, "--json").json
    totals = {rung["n_cpu_moe"]: rung["total"] for rung in given["ladder"] if (rung["n_ctx"], rung["type_k"]) == (8192, "f16")}
    assert max(totals) == deepest
    assert totals[deepest] == given["on_card"]
    assert list(totals.values()) == sorted(set(totals.values()), reverse=True)
    [own] = [line for line in plan(*words).out.splitlines() if line.endswith("  <")]
    assert own.split()[:2] == [str(deepest), "8192"]


def test_either_flag_for_experts_replaces_a_recipes_other_one() -> None:
    assert flags_of_recipe({"cpu_moe": True, "n_ctx": 4096}, ["-ncmoe", "24"]) == ["-c", "4096", "-ncmoe", "24"]
    assert flags_of_recipe({"n_cpu_moe": 26, "n_ctx": 4096}, ["-cmoe"]) == ["-c", "4096", "-cmoe"]
    assert flags_of_recipe({"n_cpu_moe": 26, "n_ctx": 4096}, ["llama-server", "-c", "0"]) == ["llama-server", "-ncmoe", "26", "-c", "0"]
    assert flags_of_recipe({"n_ctx": 4096}, ["LLAMA_ARG_CTX_SIZE=0", "llama-server"]) == ["LLAMA_ARG_CTX_SIZE=0", "llama-server"]


def test_a_draft_heads_cache_counts_on_the_card(plan: Plan) -> None:
    flags = ["-c", "32768", "-np", "1", "-ngl", "99"]
    without, drafting = plan(HYBRID, *flags, "--json").json, plan(HYBRID, *flags, "--spec-type", "draft-mtp", "--json").json
    cache = 67_108_864  # as the engine allocated it, qwen35moe-mtp/B/46
    assert drafting["draft"]["kv"] == cache
    assert drafting["draft"]["compute"] > 0

    def held(found: dict[str, Any]) -> int:
        return sum(found["devices"][1][term] for term in ("weights", "kv", "recurrent"))

    more = held(drafting) - held(without)
    assert drafting["on_card"] - without["on_card"] == more + cache
    assert "its own cache beside the above, 64.0 MiB on gpu0" in plan(HYBRID, *flags, "--spec-type", "draft-mtp").out
    assert "64.0 MiB on host" in plan(HYBRID, *flags, "-nkvo", "--spec-type", "draft-mtp").out


def test_the_ladder_has_no_rung_that_the_engine_would_refuse(plan: Plan) -> None:
    def caches(*words: str) -> set[tuple[str, str]]:
        return {(rung["type_k"], rung["type_v"]) for rung in plan(*words, "--json").json["ladder"]}

    assert caches(DENSE, "-c", "4096", "-fa", "on") == {("f16", "f16"), ("q8_0", "q8_0"), ("q8_0", "f16")}
    assert caches(DENSE, "-c", "4096", "-fa", "off") == {("f16", "f16"), ("q8_0", "f16")}
    assert caches(ODD_HEADS, "-c", "2048") == {("f16", "f16")}


def test_a_dense_model_has_no_depths(plan: Plan) -> None:
    assert {rung["n_cpu_moe"] for rung in plan(DENSE, "-c", "4096", "--json").json["ladder"]} == {0}


def test_contexts_of_the_ladder_stay_within_what_the_model_was_trained_on(plan: Plan) -> None:
    # llama31-8b was trained on 131,072
    for asked, wanted in (
        (4096, {2048, 4096, 8192}),
        (100_000, {50_000, 100_000, 131_072}),
        (131_072, {65_536, 131_072}),
        (200_000, {100_000, 200_000}),
    ):
        assert {rung["n_ctx"] for rung in plan(DENSE, "-c", str(asked), "--json").json["ladder"]} == wanted


# --- notes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--mmproj", "p.gguf"], "files of its own: the projector"),
        (["-md", "d.gguf"], "files of its own: the draft model"),
        (["--mmproj", "p.gguf", "--lora", "l.gguf"], "the projector, adapters"),
        (["-ngl", "auto"], "the engine's own fitting"),
        (["-ngl", "99", "-c", "0"], "the engine's own fitting"),
    ],
)
def test_what_the_figures_leave_out_is_said(flags: list[str], told: str, plan: Plan) -> None:
    assert told in " ".join(plan(DENSE, "-c", "4096", *flags, "--json").json["notes"])


@pytest.mark.parametrize("flags", [["-ngl", "99"], ["-ncmoe", "3"], ["--fit", "off"]])
def test_nothing_is_said_of_fitting_where_the_engine_would_not(flags: list[str], plan: Plan) -> None:
    assert not [note for note in plan(DENSE, "-c", "4096", *flags, "--json").json["notes"] if "fitting" in note]


# --- what is wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told", "remedy"),
    [
        ([], "no model is named", "gen plan MODEL/CARD"),
        (["-ngl", "99"], "no model is named", "-m"),
        (["apodex-mini/rtx-507"], "no card is called 'rtx-507'", "rtx-5070"),
        (["apodex-mimi/rtx-5070"], "apodex-mimi", "apodex-mini"),
        (["nothing.gguf"], "there is no such file", "hf://"),
        (["-m", "nothing.gguf", "-ngl", "99"], "there is no such file", "hf://"),
        ([str(ROOT / "tests")], "this is a directory", "hf://"),
        (["/usr"], "this is a directory", "hf://"),  # one slash, and no recipe without a model
        ([str(ROOT / "README.md")], "no GGUF file", ".gguf"),
        ([DENSE, "-ngl", "many"], "-ngl does not take 'many'", "whole number"),
        ([DENSE, "-nglx", "99"], "no flag '-nglx'", "-ngl"),
        ([DENSE, "-fa", "off", "-ctv", "q8_0"], "requires flash_attn", "-fa on"),
        ([DENSE, "--spec-type", "draft-mtp"], "no draft head", "drop --spec-type"),
        ([DENSE, "-ot", "exps=CUDA_Host"], "'CUDA_Host' is the buffer of no device here", "CUDA0"),
        ([DENSE, "-ot", "(?i)exps=CPU"], "-ot does not take", "regular expression"),
        ([DENSE, "--gpus", "-1"], "no fewer devices than none", "0 or more"),
        ([DENSE, "--gpus", "two"], "invalid int value: 'two'", "usage"),
        ([DENSE, "--policy", "mine"], "invalid choice: 'mine'", "usage"),
        ([DENSE, "--program", "llama-run"], "no program is called 'llama-run'", ""),
        ([DENSE, "--card", "rtx-507"], "no card is called 'rtx-507'", "rtx-5070"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_what_is_wrong_is_told_with_a_remedy_and_code_2(words: list[str], told: str, remedy: str, form: list[str], plan: Plan) -> None:
    answer = plan(*form, *words)
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.error and remedy in answer.error
    if form:
        assert json.loads(answer.error)["problem"]


def test_an_unsupported_architecture_names_those_that_are_known(plan: Plan, tmp_path: Path) -> None:
    raw = (DATA / "llama31-8b.gguf.head").read_bytes()
    other = tmp_path / "other.gguf.head"
    other.write_bytes(raw.replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0bamba", 1))
    answer = plan(str(other))
    assert answer.code == 2
    assert "architecture 'bamba' are not known here" in answer.error
    assert "'qwen35moe'" in answer.error


# --- secrets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        [DENSE, "-c", "512", "--api-key", SECRET],
        [DENSE, "-c", "512", "--api_key", SECRET, "-hft", SECRET],
        ["HF_TOKEN=" + SECRET, "llama-server", "-m", DENSE, "-c", "512", "--api-key", SECRET],
        [f"HF_TOKEN={SECRET} LLAMA_API_KEY={SECRET} ./llama-server -m {DENSE} -c 512 --api-key {SECRET}"],
        ["HF_TOKEN=" + SECRET, "llama-server", "-m", "nothing.gguf"],
        ["HF_TOKEN=" + SECRET],
        ["HF_TOKEN=" + SECRET, "-m", "nothing.gguf"],
        [DENSE, "HF_TOKEN=" + SECRET, "llama-server", "-c", "512"],
        [DENSE, "-c", "512", "HF_TOKEN=" + SECRET],
        [DENSE, f"--api-key={SECRET}"],
        [DENSE, f"--hf_token={SECRET}"],
        [DENSE, "--api-key", "first", SECRET],
        [DENSE, "-hft", "first", SECRET, "-c", "512"],
        [DENSE, "--api-key", SECRET, "-ngl", "many"],
        [DENSE, "-ngl", "many", "--api-key", SECRET],
        [DENSE, "--api-key", SECRET, "--nonsense"],
        [DENSE, "--apikey", SECRET],
        [RECIPE, "--api-key", SECRET],
        [RECIPE, f"--api-key={SECRET}"],
        [RECIPE, f"HF_TOKEN={SECRET}", "llama-server", "-ncmoe", "24"],
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_keys_and_tokens_are_never_printed(words: list[str], form: list[str], plan: Plan) -> None:
    answer = plan(*form, *words)
    assert SECRET not in answer.out + answer.error
    assert answer.out or answer.error


@pytest.mark.parametrize("shares", ["1,-1", "-1,1", "3e38,3e38"])
def test_shares_the_engine_has_no_known_answer_to_are_one_clear_error(shares: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "apodex-mini/rtx-5070", "-ts", shares, "--gpus", "2"]) == 2
    assert "-ts" in capsys.readouterr().err


def test_more_devices_than_the_engine_uses_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "apodex-mini/rtx-5070", "--gpus", "17"]) == 2
    assert "at most 16 devices" in capsys.readouterr().err


def test_a_graph_that_cannot_be_made_is_said_with_the_reason() -> None:
    plan = make_plan(hybrid(), parse_flags("-ngl 99 -c 1000 -np 1 --spec-type draft-mtp", "llama-server"))
    report = PlanReport("hybrid.gguf", plan, Policy.ENGINE, None, None, (plan.gpus[0].terms.weights,), None, ())
    text, rows = "\n".join(plan_as_text(report)), plan_as_dict(report)
    reason, drafting = plan.unknown_graph, plan.draft.unknown_graph if plan.draft else None
    assert reason == "the header has no 'blk.0.ssm_dt.bias'"
    assert drafting is not None
    assert f"compute is not known, its column is the engine's fitting margin: {reason}" in text
    assert f"draft head: compute of its own is not known, and not counted: {drafting}" in text
    assert rows["unknown_graph"] == reason
    assert rows["draft"] == {"kv": 262_144, "compute": None, "unknown_graph": drafting}
