from __future__ import annotations

import pytest

from generator.memory.host import entry_crossover, host_need, prompt_cache_limit
from generator.memory.plan import make_plan
from generator.memory.settings import parse_flags
from generator.quantity import BYTE, BYTE_PER_TOKEN, Quantity
from tests.memory.models import apodex


@pytest.mark.parametrize(("state", "per_token", "tokens"), [(65_863_680, 10_880, 6_054), (1_000, 10, 100), (1_001, 10, 101), (0, 10, 0)])
def test_an_entrys_cells_outweigh_its_state_from_so_many_tokens_on(state: int, per_token: int, tokens: int) -> None:
    # 65,863,680 / 10,880 = 6,053.6
    crossover = entry_crossover(Quantity.constant(state, BYTE), Quantity.constant(per_token, BYTE_PER_TOKEN))
    assert int(crossover) == crossover.recomputed() == tokens
    assert per_token * tokens >= state > per_token * (tokens - 1)


def test_the_prompt_cache_is_limited_in_mebibytes_or_not_at_all() -> None:
    limit = prompt_cache_limit(2048)
    assert limit is not None and int(limit) == 2 * 2**30
    nothing = prompt_cache_limit(0)
    assert nothing is not None and int(nothing) == 0
    assert prompt_cache_limit(-1) is None


MIB = 2**20
VOCABULARY, STATE = 248_320, 65_863_680
EMBEDDING = 286_064_640
"""Of the Apodex header: words, bytes of the recurrent state of a sequence, and of the input embedding."""


def needed(flags: str, program: str = "llama-server", gpus: int = 1) -> dict[str, int | None]:
    need = host_need(make_plan(apodex(), parse_flags(flags, program), gpus=gpus))
    assert int(need.least) == need.least.recomputed() == sum(int(size) for _, size in need.taken)
    return {name: None if size is None else int(size) for name, size in (*need.taken, *need.may_add)}


def test_what_is_on_the_host_from_the_start_is_weights_a_buffer_and_the_logits_of_a_token_a_sequence() -> None:
    found = needed("-ngl 99 -c 4096 -np 3 -fa on", "llama-fit-params")
    assert found.keys() == {"weights", "compute buffer", "logits"}  # a program that serves nobody adds nothing
    assert found["weights"] == EMBEDDING
    assert found["logits"] == 3 * VOCABULARY * 4


def test_caches_that_stay_on_the_host_are_among_it() -> None:
    # 10 blocks of 2 heads of 256, K and V in f16, and the state beside them
    found = needed("-ngl 99 -c 4096 -np 1 -fa on -nkvo", "llama-fit-params")
    assert found["cache and state"] == 4096 * 10 * 2 * 512 * 2 + STATE


def test_llama_server_adds_a_prompt_cache_and_checkpoints_up_to_their_limits() -> None:
    found = needed("-ngl 99 -c 4096 -np 2")
    assert found["prompt cache"] == 8192 * MIB
    assert found["context checkpoints"] == 32 * 2 * STATE
    assert needed("-ngl 99 -c 4096 -np 1 -cram 100 --ctx-checkpoints 4")["context checkpoints"] == 4 * STATE


@pytest.mark.parametrize(("flags", "most"), [("-cram -1", None), ("-cram 0 --ctx-checkpoints 0", 0), ("-cram 1 --ctx-checkpoints 0", MIB)])
def test_all_of_it_has_a_limit_unless_the_prompt_cache_has_none(flags: str, most: int | None) -> None:
    need = host_need(make_plan(apodex(), parse_flags(f"-ngl 99 -c 4096 -np 1 {flags}", "llama-server")))
    assert (None if need.most is None else int(need.most) - int(need.least)) == most
