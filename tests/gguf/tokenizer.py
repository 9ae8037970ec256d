"""Headers with a tokenizer of any size, written quickly: a sample of strings repeated, longer as the list goes on."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

from tests.gguf.raw import ARRAY, F32, FLOAT32, INT32, STRING, Row, string

SAMPLE = 256


@dataclass(frozen=True)
class Tokenizer:
    """How many entries of each list, and the mean length of a text at the start and at the end of the lists of texts."""

    tokens: int
    merges: int
    scores: bool = False
    types: bool = True
    first_mean: float = 6.0
    last_mean: float = 10.0
    tensors: int = 300
    template: int = 6000

    def header(self, seed: int = 1) -> bytes:
        chance = random.Random(seed)
        pairs = [string("general.architecture") + struct.pack("<I", STRING) + string("llama")]
        pairs += [string(f"llama.key_{number}") + struct.pack("<II", INT32, number) for number in range(25)]
        pairs.append(self._texts("tokenizer.ggml.tokens", self.tokens, chance))
        if self.scores:
            pairs.append(_array("tokenizer.ggml.scores", FLOAT32, self.tokens, bytes(4 * self.tokens)))
        if self.types:
            pairs.append(_array("tokenizer.ggml.token_type", INT32, self.tokens, bytes(4 * self.tokens)))
        if self.merges:
            pairs.append(self._texts("tokenizer.ggml.merges", self.merges, chance))
        pairs.append(string("tokenizer.chat_template") + struct.pack("<I", STRING) + string("t" * self.template))
        rows = b"".join(Row(f"blk.{n}.ffn_down_exps.weight", (32, 2), F32, 256 * n).packed() for n in range(self.tensors))
        header = b"GGUF" + struct.pack("<IQQ", 3, self.tensors, len(pairs)) + b"".join(pairs) + rows
        return header + bytes(-len(header) % 32)

    def _texts(self, key: str, count: int, chance: random.Random) -> bytes:
        parts = []
        repeats = max(1, count // SAMPLE // 64)
        for first in range(0, count, SAMPLE * repeats):
            mean = self.first_mean + (self.last_mean - self.first_mean) * first / count
            sample = [string(b"x" * round(chance.lognormvariate(-0.08, 0.4) * mean)) for _ in range(SAMPLE)]
            parts += (sample * repeats)[: count - first]
        return _array(key, STRING, count, b"".join(parts))


def _array(key: str, element: int, count: int, values: bytes) -> bytes:
    return string(key) + struct.pack("<IIQ", ARRAY, element, count) + values
