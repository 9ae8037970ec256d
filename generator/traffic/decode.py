"""What one generated token reads, on either side of the bus.

At a batch of one, an operation runs where its weights are, so expert weights in host memory are read there and
never cross the bus. Of the routed experts a token uses `expert_used_count` of `expert_count`; everything else is read
whole, the occupied cache included. These are bytes that must be read: floors on time, ceilings on speed.
"""

from __future__ import annotations

from dataclasses import dataclass

from generator.quantity import BYTE, TOKEN, Quantity


@dataclass(frozen=True, slots=True)
class Decode:
    """Bytes read for one token: `host` from system memory, `card(depth)` from VRAM with `depth` tokens in the cache."""

    host: Quantity
    card_weights: Quantity
    recurrent: Quantity
    kv_per_token: Quantity

    def card(self, depth: Quantity) -> Quantity:
        """Give the bytes read from VRAM for one token, with `depth` tokens in the cache."""
        return self.card_weights + self.kv_per_token * depth + self.recurrent

    def crossover(self, depth: Quantity) -> Quantity:
        """Give the ratio of card to host bandwidth at which both halves take equal time, at a depth in tokens."""
        return self.card(depth) / self.host


def used_share(experts: Quantity, used: Quantity, count: Quantity) -> Quantity:
    """Give the bytes of `experts` that one token reads, with `used` of `count` experts chosen in each block."""
    return experts * used / count


def host_ceiling(host: Quantity, bandwidth: Quantity) -> Quantity:
    """Give the tokens per second that a host bandwidth allows at the most, from the host's bytes for one token."""
    return bandwidth / (host / Quantity.constant(1, TOKEN, "one token"))


def step_time(step: Quantity, bandwidth: Quantity) -> Quantity:
    """Give the seconds that so many more host bytes add to every token."""
    return step / bandwidth


def memory_bandwidth(transfers: Quantity, channels: Quantity) -> Quantity:
    """Give a memory's rated bytes per second from transfers per second and 64-bit channels."""
    return transfers * Quantity.constant(8, BYTE, "bytes of a 64-bit channel") * channels
