"""`gen update`: a pin moves, with every citation found again in the engine's source at the new build."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest

from generator.catalog import Catalog
from generator.specs import load_engine
from tests.emulator import Fault, Tag
from tests.night.world import TRACKER, Done, World

OLD, NEW = "b10666", "b10712"
TODAY = "2026-12-02"
ENGINE = f"recipes/engines/llama.cpp/{NEW}.yml"
RECIPE = "recipes/models/apodex-mini/rtx-5070.yml"
COMMON = "common/common.h"
CUDA = "ggml/src/ggml-cuda/ggml-cuda.cu"
HYBRID = "src/llama-memory-hybrid.cpp"


def tags(world: World) -> dict[str, Tag]:
    return world.scenario.trackers[TRACKER].tags


def changed(world: World, changes: Mapping[str, bytes | None]) -> None:
    """Let the new build have the old one's source, with some files changed or gone."""
    files = {**tags(world)[OLD].files, **changes}
    tags(world)[NEW].files = {path: content for path, content in files.items() if content is not None}


def update(world: World, *words: str) -> Done:
    return world.gen("update", "apodex-mini", "--build", NEW, "--now", TODAY, *words)


def updated(world: World, code: int) -> dict[str, Any]:
    done = update(world, "--json")
    assert (done.code, done.err) == (code, "")
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_lines_that_moved_are_moved_and_the_recipe_is_pinned_to_the_new_build(world: World) -> None:
    changed(world, {COMMON: b"//\n//\n//\n" + tags(world)[OLD].files[COMMON]})
    before = Catalog.open(world.root).engine("llama.cpp", OLD)
    found = updated(world, 0)
    engine = load_engine(world.root / ENGINE)
    assert (engine.build, engine.source_url) == (NEW, before.source_url.replace(OLD, NEW))
    assert engine.citations.keys() == before.citations.keys()
    for name, old in before.citations.items():
        new = engine.citations[name]
        assert (new.path, new.pattern, new.quote, new.read_elsewhere) == (old.path, old.pattern, old.quote, old.read_elsewhere)
        if old.line is not None:
            assert new.line == old.line + (3 if old.path == COMMON else 0)
            assert (new.end_line or 0) - new.line == (old.end_line or 0) - old.line if old.end_line else new.end_line is None
        assert new.checked == date(2026, 12, 2)
    assert found["moved"]["fit_margin"] == [481, 484]
    assert (found["lost"], found["reworded"], found["failed"], found["numbers"]) == ({}, {}, {}, {})
    assert set(found["written"]) == {ENGINE, RECIPE}
    assert Catalog.open(world.root).recipe("apodex-mini", "rtx-5070").build == NEW
    assert (engine.flags, engine.architectures, engine.cuda) == (before.flags, before.architectures, before.cuda)
    assert {name: note.text for name, note in engine.notes.items()} == {name: note.text for name, note in before.notes.items()}


def test_a_line_that_was_never_recorded_is_put_in_and_its_note_goes(world: World) -> None:
    """At b10666 nobody recorded the line of `abort` in fit.cpp; the emulated source has it in line 485."""
    changed(world, {})
    before = Catalog.open(world.root).engine("llama.cpp", OLD).citations
    found = updated(world, 0)
    after = load_engine(world.root / ENGINE).citations
    assert (before["fit_aborts"].line, after["fit_aborts"].line) == (None, 485)
    assert found["moved"]["fit_aborts"] == [None, 485]
    assert (before["fit_aborts"].note, after["fit_aborts"].note) == ("The line at the pin was not recorded.", "")
    assert after["attention_scores_f32"].note == "The comment over the call that makes the scores F32."
    elsewhere = after["fit_aborts"].read_elsewhere
    assert elsewhere
    assert (elsewhere.line, elsewhere.checked) == (485, date(2026, 11, 30))  # another copy, which nobody read again


def test_a_citation_that_is_lost_keeps_where_it_was_read_and_is_told(world: World) -> None:
    source = tags(world)[OLD].files[CUDA].replace(b'getenv("GGML_OP_OFFLOAD_MIN_BATCH")', b'getenv("GGML_OFFLOAD_MIN_BATCH")')
    changed(world, {CUDA: source, HYBRID: None})
    found = updated(world, 3)
    assert found["lost"].keys() == {"op_offload_min_batch", "hybrid_state"}
    was, now = found["lost"]["op_offload_min_batch"]
    assert 'getenv("GGML_OP_OFFLOAD_MIN_BATCH")' in was
    assert 'getenv("GGML_OFFLOAD_MIN_BATCH")' in now  # the line most like it
    assert found["lost"]["hybrid_state"] == ["mem_recr->state_write(io, seq_id, flags);", ""]
    assert found["facts_to_read_again"] == ["engine.op_offload_min_batch"]
    citation = load_engine(world.root / ENGINE).citations["op_offload_min_batch"]
    assert (citation.line, citation.checked) == (None, None)
    assert citation.read_elsewhere
    assert (citation.read_elsewhere.source, citation.read_elsewhere.line) == (f"llama.cpp {OLD}", 5515)
    assert citation.read_elsewhere.checked == date(2026, 12, 2)
    text = "\n".join(line for line in world.gen("lint", "--all").err.splitlines())
    assert text == ""  # the page can be built, with the file alone for a citation


def test_a_default_that_changed_is_told_with_its_line_then_and_now(world: World) -> None:
    """The pattern of the micro-batch's default has no number in it here, so it is found again; its line says something else."""
    engine = world.root / f"recipes/engines/llama.cpp/{OLD}.yml"
    text = engine.read_text(encoding="utf-8")
    citation = Catalog.open(world.root).engine("llama.cpp", OLD).citations["n_ubatch_default"]
    line = tags(world)[OLD].files[COMMON].decode().splitlines()[453]
    assert citation.pattern in line
    name = citation.pattern.split("=")[0].strip()
    engine.write_text(text.replace(f'"{citation.pattern}"', f'"{name}"'), encoding="utf-8")
    changed(world, {COMMON: tags(world)[OLD].files[COMMON].replace(line.encode(), line.replace("512", "1024").encode())})
    found = updated(world, 3)
    assert found["reworded"] == {"n_ubatch_default": [line.strip(), line.strip().replace("512", "1024")]}
    assert found["flags_to_read_again"] == ["n_ubatch"]
    assert found["facts_to_read_again"] == ["engine.n_ubatch_default"]
    assert load_engine(world.root / ENGINE).citations["n_ubatch_default"].line == 454


def test_numbers_that_move_with_the_build_are_told(world: World) -> None:
    """Somebody wrote the new build's file before, with twice the margin: it is left as it is, and the budget moves by 1,024 MiB."""
    changed(world, {})
    text = (world.root / f"recipes/engines/llama.cpp/{OLD}.yml").read_text(encoding="utf-8")
    theirs = text.replace(OLD, NEW).replace("fit_margin: {value: 1024 MiB", "fit_margin: {value: 2048 MiB")
    (world.root / ENGINE).write_text(theirs, encoding="utf-8")
    found = updated(world, 0)
    assert found["written"] == [RECIPE]
    assert (world.root / ENGINE).read_text(encoding="utf-8") == theirs
    numbers = found["numbers"]["guides/apodex-mini/rtx-5070.md"]
    assert numbers["budget.reserve"] == ["1,024 MiB", "2,048 MiB"]
    assert numbers["budget.ceiling"] == ["10.0 GiB", "9.0 GiB"]


def test_threads_that_closed_or_were_opened_in_between_are_told(world: World) -> None:
    changed(world, {})
    tracker = world.scenario.trackers[TRACKER]
    tracker.threads[27872].close(world.clock.now, "not_planned")
    tracker.threads[27756].deleted = True
    tracker.searches["qwen35moe created:>=2026-08-31"] = 7
    found = updated(world, 0)
    assert found["since"] == "2026-08-31"
    assert found["threads"]["llama.cpp#27872"] == "was open, is closed as not planned"
    assert found["threads"]["llama.cpp#28524"] == "open, opened on 2026-09-07"
    assert found["threads"]["llama.cpp#27756"] == "could not be asked: this was deleted from the server"
    assert "llama.cpp#26609" not in found["threads"]
    assert found["opened"] == 7


def test_the_update_for_a_terminal(world: World) -> None:
    changed(world, {COMMON: b"//\n" + tags(world)[OLD].files[COMMON], HYBRID: None})
    done = update(world)
    assert done.code == 3
    lines = done.out.splitlines()
    assert lines[0] == f"apodex-mini: {OLD} → {NEW}"
    assert "    fit_margin: line 481 → 482" in lines
    assert "    hybrid_state is lost: mem_recr->state_write(io, seq_id, flags);" in lines
    assert lines[-2:] == [f"  wrote {ENGINE}", f"  wrote {RECIPE}"]


def test_after_an_update_a_night_finds_every_line_where_it_was_put(world: World) -> None:
    changed(world, {COMMON: b"//\n" + tags(world)[OLD].files[COMMON], HYBRID: None})
    assert update(world).code == 3
    done = world.gen("check", "--json", "--now", f"{TODAY}T03:17")
    drifts = {row["subject"]: row["kind"] for row in json.loads(done.out)["drifts"]}
    assert drifts == {}
    missing = {row["fact"]: row["detail"] for row in json.loads(done.out)["unanswered"]}
    assert missing == {f"citation.{NEW}.hybrid_state": "there is no such file on the server"}


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("apodex-mini", "--build", "b99"), "ggml-org/llama.cpp has no build 'b99'"),
        (("apodex-mini", "--build", OLD), "the recipes of 'apodex-mini' are at b10666 already"),
        (("apodex-mini", "--build", "../b1"), "'../b1' is no name of a build"),
        (("apodex-mini", "--build", r"b1\g<0>"), r"'b1\g<0>' is no name of a build"),
        (("apodex", "--build", NEW), "no model is called 'apodex'"),
    ],
)
def test_what_cannot_be_moved_to_is_refused_and_nothing_is_written(world: World, words: tuple[str, ...], problem: str) -> None:
    before = world.files()
    done = world.gen("update", *words)
    assert done.code == 2
    assert problem in done.err
    assert world.files() == before


def test_nothing_is_written_where_not_everything_could_be_asked(world: World) -> None:
    changed(world, {COMMON: b"//\n" + tags(world)[OLD].files[COMMON]})
    world.scenario.faults = [Fault("status", host="github", path=r"ref=b10712", after=5)]
    before = world.files()
    done = update(world)
    assert done.code == 1
    assert "the server answers with status 503" in done.err
    assert world.files() == before


def test_a_citation_in_one_line_is_refused_rather_than_spoilt(world: World) -> None:
    engine = world.root / f"recipes/engines/llama.cpp/{OLD}.yml"
    rows = engine.read_text(encoding="utf-8").split("\n")
    start = rows.index("  cpu_moe_flag:")
    end = next(index for index in range(start + 1, len(rows)) if not rows[index].startswith("    "))
    flow = "  cpu_moe_flag: {path: common/arg.cpp, pattern: cpu-moe, line: 3, checked: 2026-08-31}"
    engine.write_text("\n".join([*rows[:start], flow, *rows[end:]]), encoding="utf-8")
    before = world.files()
    done = update(world)
    assert done.code == 2
    assert "the citation 'cpu_moe_flag' is not written one key a line" in done.err
    assert world.files() == before
