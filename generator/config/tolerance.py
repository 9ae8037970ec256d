"""How far the bytes of an estimate may be off, by the kind of quant and of model.

Measured on tables that are known (tests/config/test_tolerance.py measures again), and declared with some room above what was found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from generator.config.sharing import BY_FORMAT, EVEN, is_own_mixture
from generator.facts import Fact

_USUAL = re.compile(r"Q[2-6]_K(_[SML])?")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far estimated bytes may be off on either side, in percent.

    `experts` is of routed experts: of a sum over all blocks or some, by so much of all experts of the file. `rest` is of other weights,
    by so much of themselves.
    """

    experts: Fact
    rest: Fact

    def words(self, *, mixture: bool) -> str:
        """Say it in a line, for a mixture of experts or for a model without."""
        rest = f"within {self.rest.value} %"
        return f"routed experts within {self.experts.value} % of all of them, other weights {rest}" if mixture else f"weights {rest}"


def tolerance_of(quant: str, *, mixture: bool) -> Tolerance:
    """Give the tolerance of a quant's estimate, for a mixture of experts or for a model without."""
    if quant in EVEN:
        return _declared(1, 1, "every matrix has the same type; tables of such files that are known agree with the estimate")
    if quant in BY_FORMAT:
        return _declared(1, 5, "experts have the format that the file is called after; one such table is known and agrees")
    if is_own_mixture(quant):
        if mixture:
            return _declared(8, 70, "a log of one such file prints eight bits for nearly all but the experts, two thirds above their share")
        return _declared(8, 25, "no table of such a file is known; wider than for the usual mixtures, by choice")
    if _USUAL.fullmatch(quant):
        return _declared(3, 15, "held against the tables of such files that are known, of which none is further off")
    return _declared(3, 30, "held against the few tables of such files that are known, of which none is further off")


def _declared(experts: int, rest: int, basis: str) -> Tolerance:
    both = (Fact(f"estimate.{name}", value, "%", origin="declared", note=basis) for name, value in (("experts", experts), ("rest", rest)))
    return Tolerance(*both)
