"""What is said beside the choice: the runner-up, the steps, and what is missing where nothing fits."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import generator
from generator.cli import main
from generator.solve.answer import Answer, has_something_over, solve
from generator.solve.goals import CUSHION, Goal, Order
from generator.solve.grid import contexts, precision
from generator.solve.question import ask
from generator.solve.words import answer_as_text

ROOT = Path(__file__).parents[2]
HEADERS = ROOT / "tests/data/engine_truth"
EXPERTS, DENSE = str(HEADERS / "qwen3moe-30b-a3b.gguf.head"), str(HEADERS / "llama31-8b.gguf.head")
PAIR = ("apodex-mini", "rtx-5070")


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("GEN_ROOT", raising=False)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["solve", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code, out, error = run(capsys, *words, "--json")
    assert (code, error) == (0, "")
    rows: dict[str, Any] = json.loads(out)
    return rows


# --- the answer ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[*Goal])
def answer(request: pytest.FixtureRequest) -> Answer:
    """Give the answer for the recipe of the repository, for each goal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.delenv("GEN_ROOT", raising=False)
        return solve(ask(*PAIR, request.param))


def test_the_choice_fits_by_the_plan_of_its_own_command(answer: Answer) -> None:
    space = answer.question.space
    assert answer.choice is not None
    for run_ in space.runs:
        words = generator.memory.settings.to_arguments(space.written(answer.choice, run_))
        flags = shlex.join(word for argument in words for word in argument)
        plan = generator.plan(space.quants[0].model, flags, build="b10666", backend="cuda")
        embedding = 248_320 * 2048 // 256 * 144  # counted on the card under the recipe's policy
        held = plan.gpus[0].total - plan.gpus[0].compute + embedding
        assert held + 2**30 + 256 * 2**20 < 11 * 2**30
        assert held + plan.gpus[0].compute <= 11 * 2**30


def test_the_runner_up_is_no_better_and_has_something_over_the_choice(answer: Answer) -> None:
    space, order = answer.question.space, Order(answer.question.space, answer.question.goal)
    assert answer.choice is not None
    assert answer.runner_up is not None
    assert space.fits(answer.runner_up)
    keys = []
    for point in (answer.choice, answer.runner_up):
        needs = space.needs(point)
        assert needs is not None
        keys.append(order.key(point, space.slack(needs[0])))
    assert keys[0] < keys[1]
    assert has_something_over(space, answer.runner_up, answer.choice)


def test_steps_change_one_axis_for_the_better_and_those_that_fit_do(answer: Answer) -> None:
    space, choice = answer.question.space, answer.choice
    assert choice is not None
    for step in answer.steps:
        changed = [name for name, old, new in zip(choice._fields, choice, step.point, strict=True) if old != new]
        assert len(changed) == 1
        assert step.point.depth <= choice.depth
        assert step.point.n_ctx >= choice.n_ctx
        assert precision(step.point.caches) >= precision(choice.caches)
        assert step.fits == space.fits(step.point)


def test_a_step_of_context_costs_its_cache(answer: Answer) -> None:
    # 10 blocks cache 2 heads of 256 elements for K and as many for V: 20,480 bytes a token in f16
    for step in answer.steps:
        if step.axis == "context" and step.worst.compute <= 2**30:
            assert answer.choice is not None
            assert answer.choice.caches == ("f16", "f16")
            assert step.cost == (step.point.n_ctx - answer.choice.n_ctx) * 20_480


def test_the_safest_has_the_cushion_the_recipes_context_and_f16_caches() -> None:
    found = solve(ask(*PAIR, Goal.SAFEST))
    assert found.choice is not None
    assert (found.choice.n_ctx, found.choice.caches, found.choice.n_ubatch) == (65_536, ("f16", "f16"), 512)
    assert found.question.space.slack(found.needs[0]) >= CUSHION
    assert "more room is safer" in "\n".join(answer_as_text(found))


def test_contexts_are_powers_of_two_and_the_steps_half_way() -> None:
    assert contexts(32_768) == (4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768)
    assert contexts(40_960) == (4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 40_960)
    assert contexts(2048) == (2048,)


# --- the command -----------------------------------------------------------------------------------


def test_text_gives_command_memory_reason_runner_up_and_steps(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, error = run(capsys, *PAIR, "--ctx", "65536")
    assert (code, error) == (0, "")
    assert "llama-server -m apodex_Apodex-1.1-mini-Q4_K_M.gguf" in out
    assert "-ncmoe 26 -c 65536 -ctk f16 -ctv f16 -ub 2048" in out
    # 25@65536 with f16/f16 is 9.964 GiB in the published ladder: 256 - 36.3 MiB short of the margin
    assert "-ncmoe 25 would be 218.7 MiB over on the card" in out
    assert "runner-up: " in out
    assert "one more step:" in out
    assert "left out: IQ2_M, only the size of its file is known, not its header" in out


def test_json_has_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    rows = as_json(capsys, *PAIR, "--ctx", "65536")
    assert rows["fits"] is True
    assert rows["budget"] == {"usable": 11 * 2**30, "reserve": 2**30, "margin": 256 * 2**20, "ram": None, "beside": 6 * 2**30}
    assert rows["choice"]["settings"]["n_cpu_moe"] == 26
    assert rows["choice"]["reads"]["host"] == 394_002_432
    assert rows["choice"]["runs"][0]["fallback"] is None
    offload = rows["steps"][0]
    assert (offload["axis"], offload["flags"], offload["fits"]) == ("offload", "-ncmoe 25", False)
    assert offload["cost"] == 522_190_848  # a large block, the published ladder's 0.486 GiB
    assert rows["least"] is None


def test_a_dense_model_is_offloaded_by_layers(capsys: pytest.CaptureFixture[str]) -> None:
    # 8B in Q4_K_M is 4.6 GiB of weights; 131,072 tokens of f16 cache are 16 GiB, so layers have to go for the whole context
    rows = as_json(capsys, DENSE, "rtx-5070", "--ctx", "131072", "--goal", "safest")
    assert rows["choice"]["settings"]["type_k"] == "f16"
    assert 0 < rows["choice"]["settings"]["n_gpu_layers"] < 33
    assert "n_cpu_moe" not in rows["choice"]["settings"]


def test_without_a_recipe_nothing_is_said_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, DENSE, "rtx-5070", "--ctx", "4096")
    assert ", up to 8.000 GiB of it for the prompt cache\n" in out
    _, out, _ = run(capsys, *PAIR, "--ctx", "65536")
    assert ", up to 6.000 GiB of it for the prompt cache and what the recipe leaves to the system\n" in out


def test_host_memory_binds_where_it_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    free, bound = (as_json(capsys, EXPERTS, "rtx-5070", *ram, "--goal", "longest-context") for ram in ([], ["--ram", "20GiB"]))
    assert max(each["host"] for each in bound["choice"]["runs"]) <= 20 * 2**30 < max(each["host"] for each in free["choice"]["runs"])


def test_that_nothing_fits_is_an_answer_with_what_it_would_take(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, EXPERTS, "rtx-5070", "--ram", "9GiB")
    assert code == 0
    assert "nothing fits" in out
    rows = as_json(capsys, EXPERTS, "rtx-5070", "--ram", "9GiB")
    assert (rows["fits"], rows["choice"]) == (False, None)
    assert rows["least"]["card"] > 11 * 2**30
    assert rows["least"]["host"] > 9 * 2**30
    enough = as_json(capsys, EXPERTS, "rtx-5070", "--ram", f"{rows['least']['host']} B")
    assert enough["fits"] is True
    short = as_json(capsys, EXPERTS, "rtx-5070", "--ram", f"{rows['least']['host'] - 1} B")
    assert short["fits"] is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("apodex-min", "rtx-5070"), "did you mean 'apodex-mini'?"),
        (("apodex-mini", "rtx-507"), "did you mean 'rtx-5070'"),
        (("./none.gguf", "rtx-5070"), "there is no such file"),
        (("README.md", "rtx-5070"), "no GGUF file"),
        ((*PAIR, "--ctx", "262145"), "the 1 to 262144 tokens the model was trained for"),
        ((*PAIR, "--ctx", "0"), "the 1 to 262144 tokens the model was trained for"),
        ((*PAIR, "--ctx", "64k"), "invalid int value"),
        ((*PAIR, "--ram", "32"), "'32' is no size of memory"),
        ((*PAIR, "--ram", "32 tokens"), "'32 tokens' is no size of memory"),
        ((*PAIR, "--ram", "-1GiB"), "expected one argument"),
        ((*PAIR, "--goal", "best"), "invalid choice"),
    ],
)
def test_bad_input_is_one_clear_error(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    code, out, error = run(capsys, *words)
    assert (code, out) == (2, "")
    assert said in error
    assert error.startswith("gen: ")
    assert "Traceback" not in error
