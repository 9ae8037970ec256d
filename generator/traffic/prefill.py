"""What processing a prompt moves across the bus.

At a batch of `GGML_OP_OFFLOAD_MIN_BATCH` tokens or more the scheduler copies host-resident expert weights to the card
for the pass (llama.cpp ggml/src/ggml-backend.cpp, ggml/src/ggml-cuda/ggml-cuda.cu): each pass over a micro-batch moves
at most all of them, and with hundreds of tokens choosing experts, nearly all.
"""

from __future__ import annotations

from generator.quantity import ONE, Quantity


def passes(prompt: Quantity, n_ubatch: Quantity) -> Quantity:
    """Give the passes that a prompt of so many tokens takes, one a micro-batch."""
    return (prompt / n_ubatch).rounded_up()


def moved(host_experts: Quantity, count: Quantity) -> Quantity:
    """Give the bytes that so many passes copy to the card at the most."""
    if count.unit != ONE:
        raise ValueError("passes are a bare count")
    return host_experts * count
