from __future__ import annotations

import pytest

from generator.memory import recurrent
from generator.memory.architectures import layers_of
from generator.memory.context import context_of
from generator.memory.settings import parse_flags
from tests.memory.models import apodex, dense, hybrid


def test_a_block_keeps_its_convolution_and_its_state_in_f32() -> None:
    assert int(recurrent.bytes_per_block(layers_of(hybrid()).states[0])) == (576 + 2048) * 4
    assert layers_of(dense()).states == ()


def test_the_published_state_of_the_apodex_model_comes_out() -> None:
    # (4 - 1) * (4096 + 2 * 16 * 128) + 128 * 4096 = 24,576 + 524,288 elements of 4 bytes, in 40 - 10 blocks
    per_block = recurrent.bytes_per_block(layers_of(apodex()).states[0])
    assert int(per_block) == 2_195_456
    context = context_of(apodex(), parse_flags("-np 1"))
    per_sequence = recurrent.state_bytes(per_block, 30, context)
    assert int(per_sequence) == 65_863_680
    assert int(recurrent.draft_depth_extra(per_sequence, 3)) == 197_591_040


@pytest.mark.parametrize(("flags", "sequences"), [("-np 1", 1), ("-np 5", 5), ("-np 5 -kvu", 5), ("", 4)])
def test_every_sequence_has_a_state_whatever_the_context_is(flags: str, sequences: int) -> None:
    per_block = recurrent.bytes_per_block(layers_of(hybrid()).states[0])
    for n_ctx in (256, 100_000):
        context = context_of(hybrid(), parse_flags(f"{flags} -c {n_ctx}"))
        assert int(recurrent.state_bytes(per_block, 6, context)) == 10_496 * 6 * sequences


def test_a_draft_keeps_a_copy_of_the_state_for_each_of_its_tokens() -> None:
    per_block = recurrent.bytes_per_block(layers_of(hybrid()).states[0])
    context = context_of(hybrid(), parse_flags("-np 2"))
    assert int(recurrent.state_bytes(per_block, 6, context, 3)) == 10_496 * 6 * 2 * (1 + 3)
