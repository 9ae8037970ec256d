"""A llama-server's log, as llama.cpp v0.5.0 printed it, and others put together from its lines."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.catalog import Catalog
from generator.errors import GenError, InputError, MissingFileError
from generator.facts import Lock
from generator.measure.server import read_run, write_run
from generator.measure.server_log import parse_log, read_log
from tests.measure.conftest import DATA

PAIR = ("apodex-mini", "rtx-5070")
LOG = DATA / "llama-server.log"
TEXT = LOG.read_text(encoding="utf-8")

ON_A_CARD = """\
build: 10666 (abcdef123) with cc for x86_64-linux-gnu
load_tensors: offloaded 42/42 layers to GPU
llama_context: constructing llama_context
llama_context: n_seq_max     = 1
llama_context: n_ctx         = 65536
llama_context: n_batch       = 2048
llama_context: n_ubatch      = 512
llama_context: flash_attn    = enabled
llama_context: kv_unified    = false
llama_kv_cache: size =  680.00 MiB ( 65536 cells,  10 layers,  1/1 seqs), K (q8_0):  340.00 MiB, V (q8_0):  340.00 MiB
llama_memory_recurrent: size =   62.81 MiB (     1 cells,  40 layers,  1 seqs), R (f32):    2.81 MiB, S (f32):   60.00 MiB
llama_context: constructing llama_context
llama_context: n_ctx         = 256
llama_kv_cache: size =  128.00 MiB ( 65536 cells,  1 layers,  1/1 seqs), K (f16):  64.00 MiB, V (f16):  64.00 MiB
llama_memory_breakdown_print: | memory breakdown [MiB] | total   free    self   model   context   compute    unaccounted |
llama_memory_breakdown_print: |   - CUDA0 (RTX 5070)   | 12227 = 1900 + (9328 =  8089 +     742 +     497) +         999 |
llama_memory_breakdown_print: |   - Host               |                12424 = 12296 +       0 +     128                |
"""


def test_a_real_log_is_read_with_its_settings_and_figures() -> None:
    log = read_log(LOG)
    assert log.as_settings() == {
        "n_ctx": 8192,
        "n_batch": 2048,
        "n_ubatch": 512,
        "n_parallel": 1,
        "kv_unified": False,
        "flash_attn": "on",
        "type_k": "q8_0",
        "type_v": "q8_0",
        "n_gpu_layers": 0,
    }
    assert (log.build, log.moved, log.layers, log.devices) == (None, 0, 42, ())
    assert log.kv and log.state and (log.kv.text, log.state.text) == ("85.00 MiB", "62.81 MiB")
    [host] = log.host
    assert (host.model.text, host.context.text, host.compute.text) == ("20385 MiB", "147 MiB", "80 MiB")


def test_a_real_log_agrees_with_the_recipe_under_its_settings(catalog: Catalog) -> None:
    run = read_run(catalog, *PAIR, LOG)
    assert (run.key, run.exit_code) == ("26@8192.q8_0/q8_0", 0)
    assert {(check.device, check.term) for check in run.checks if check.outside == 0} >= {
        ("all", "cache"),
        ("all", "state"),
        ("host", "weights"),
        ("host", "context"),
    }


def test_a_run_on_a_card_is_compared_device_by_device(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(ON_A_CARD, encoding="utf-8")
    run = read_run(catalog, *PAIR, path)
    assert (run.build, run.exit_code) == ("b10666", 0)
    assert [(check.device, check.term) for check in run.checks] == [
        ("all", "cache"),
        ("all", "state"),
        *((device, term) for device in ("gpu0", "host") for term in ("weights", "context", "compute")),
    ]


def test_the_context_of_a_draft_head_is_not_taken_for_the_model_s() -> None:
    log = parse_log(ON_A_CARD, "a")
    assert (log.as_settings()["n_ctx"], log.types) == (65536, ("q8_0", "q8_0"))
    assert log.kv and log.kv.text == "680.00 MiB"


def test_what_a_log_does_not_say_is_given_beside_it(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(ON_A_CARD.replace("8089", "9019").replace("12296", "11366"), encoding="utf-8")
    assert read_run(catalog, *PAIR, path).exit_code == 3
    run = read_run(catalog, *PAIR, path, flags=["-ncmoe", "24"])
    assert (run.key, run.exit_code) == ("24@65536.q8_0/q8_0", 0)


def test_repacked_weights_count_as_host_memory(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    repacked = "x: |   - CPU_REPACK         |                10000 = 10000 +       0 +       0                |\n"
    path.write_text(ON_A_CARD.replace("12424 = 12296", " 2424 =  2296") + repacked, encoding="utf-8")
    assert read_run(catalog, *PAIR, path).exit_code == 0


def test_a_log_s_figures_are_locked_with_the_build_that_wrote_it(catalog: Catalog) -> None:
    run = read_run(catalog, *PAIR, LOG, build="v0.5.0")
    path, changed = write_run(catalog, run, date(2026, 11, 30))
    facts = Lock.read(path).facts
    assert changed and (facts["measured.server.build"].value, facts["measured.server.rung"].value) == ("v0.5.0", "26@8192.q8_0/q8_0")
    assert ["host", "weights", "20385 MiB"] in facts["measured.server.figures"].value  # type: ignore[operator]


def test_a_log_of_an_unknown_build_is_not_locked(catalog: Catalog) -> None:
    with pytest.raises(InputError, match="which build") as caught:
        write_run(catalog, read_run(catalog, *PAIR, LOG), date(2026, 11, 30))
    assert "--build" in caught.value.remedy
    assert not catalog.measured_path(*PAIR).exists()


def test_a_log_of_another_model_is_refused(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(TEXT.replace("0/42 layers", "0/33 layers"), encoding="utf-8")
    with pytest.raises(InputError, match="a model with 32 blocks"):
        read_run(catalog, *PAIR, path)


@pytest.mark.parametrize("text", ["", "hello", "llama_context: constructing llama_context\n"])
def test_what_is_no_log_is_refused_and_says_how_to_make_one(text: str) -> None:
    with pytest.raises(InputError, match="no context and no memory breakdown") as caught:
        parse_log(text, "a")
    assert "-lv 4" in caught.value.remedy


def test_a_log_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        read_log(tmp_path / "nowhere")


LINES = st.sampled_from(
    sorted({*TEXT.splitlines(), *ON_A_CARD.splitlines(), "llama_context: n_ctx = many", "x | memory breakdown [MiB] |"})
)


@given(st.lists(LINES | st.text(max_size=80), max_size=40))
def test_any_lines_are_a_log_or_a_clear_error(lines: list[str]) -> None:
    with suppress(GenError):
        parse_log("\n".join(lines), "a").as_settings()
