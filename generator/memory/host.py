"""Host memory: what a run surely takes of it, and what llama-server may add up to its limits.

Source: llama.cpp tools/server/server-context.cpp (an entry is the whole state of a sequence) and
src/llama-memory-hybrid.cpp `state_write` (attention cells and the recurrent state, the latter whatever the length).
"""

from __future__ import annotations

from dataclasses import dataclass

from generator.gguf.types import F32_BYTES
from generator.memory.context import Context
from generator.memory.model import Model
from generator.memory.plan import Plan
from generator.quantity import BYTE, ONE, Quantity, total

MEBIBYTE = 2**20


def prompt_cache_limit(mebibytes: int) -> Quantity | None:
    """Give the bytes the prompt cache may take (`-cram`): none where it has no limit (-1)."""
    return None if mebibytes < 0 else Quantity.constant(mebibytes * MEBIBYTE, BYTE, "-cram")


def entry_crossover(per_sequence: Quantity, per_token: Quantity) -> Quantity:
    """Give the tokens from which on an entry's cache cells outweigh its copy of the recurrent state."""
    return (per_sequence / per_token).rounded_up()


@dataclass(frozen=True, slots=True)
class HostNeed:
    """Host memory in bytes by what it is for: `taken` from the start, `may_add` at most, each None where there is no limit."""

    taken: tuple[tuple[str, Quantity], ...]
    may_add: tuple[tuple[str, Quantity | None], ...]

    @property
    def least(self) -> Quantity:
        """What is taken from the start."""
        return total((size for _, size in self.taken), unit=BYTE, words="weights, caches, states and buffers in host memory")

    @property
    def most(self) -> Quantity | None:
        """That and all that may be added; None where something has no limit."""
        added = [size for _, size in self.may_add if size is not None]
        if len(added) < len(self.may_add):
            return None
        return total([self.least, *added], unit=BYTE, words="the least, and every limit")


def host_need(plan: Plan) -> HostNeed:
    """Give what a run takes of host memory. Weights count once, mapped or read; what is mapped may be read again from the file.

    Source: src/llama-context.cpp, `output_reserve` (logits of a token a sequence), tools/server/server-context.cpp,
    `create_checkpoint` and the prompt cache.
    """
    terms = plan.host.terms
    taken = [("weights", terms.weights), ("cache and state", terms.kv + terms.recurrent), ("compute buffer", terms.compute)]
    taken.append(("logits", logits(plan.model, plan.context)))
    if plan.draft is not None:
        beside = plan.draft.host + plan.draft.buffers[-1].size if plan.draft.buffers else plan.draft.host
        taken.append(("draft head", beside))
    may_add: list[tuple[str, Quantity | None]] = []
    if plan.program == "llama-server":
        if plan.settings.cache_ram:
            may_add.append(("prompt cache", prompt_cache_limit(plan.settings.cache_ram)))
        checkpoints = _checkpoints(plan)
        if int(checkpoints):
            may_add.append(("context checkpoints", checkpoints))
    return HostNeed(tuple((name, size) for name, size in taken if int(size)), tuple(may_add))


def logits(model: Model, context: Context) -> Quantity:
    """Give the logits that are handed over: an F32 for each word of the vocabulary, a token a sequence."""
    head = model.named("output.weight") or model.named("token_embd.weight")
    if head is None or len(head.shape) < 2:
        return Quantity.constant(0, BYTE, "no output head")
    words = Quantity.read(head.shape[1], ONE, model.tensors_fact, f"{head.name}, dimension 1")
    return words * context.sequences * Quantity.constant(F32_BYTES, BYTE, "bytes of an F32")


def _checkpoints(plan: Plan) -> Quantity:
    """Give what context checkpoints may take: copies of recurrent state, so many a slot; windows are cut short and not counted."""
    state = total((device.terms.recurrent for device in (plan.host, *plan.gpus)), words="recurrent state of every sequence")
    return state * Quantity.constant(max(plan.settings.ctx_checkpoints, 0), ONE, "--ctx-checkpoints")
