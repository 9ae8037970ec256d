"""Which quant a recipe takes where nobody says: a rule that needs no header but the sizes of the files."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

SHARE = Fraction(3, 4)
"""Of what a run can use of the card, what a file may take to go there whole with a cache and working buffers beside it."""

PREFERRED = (
    *("Q4_K_M", "Q4_K_XL", "Q4_K_S", "Q4_K", "IQ4_XS", "IQ4_NL", "MXFP4", "MXFP4_MOE", "Q4_0", "Q4_1"),
    *("Q5_K_M", "Q5_K_S", "Q6_K", "Q8_0"),
)
"""Four bits first, as the engine itself takes where no quant is named (find_best_model in its common/download.cpp)."""

UNQUANTISED = ("F16", "BF16", "F32")


def usual(sizes: Mapping[str, int]) -> str:
    """Give the quant that is taken without regard to a card: Q4_K_M or the nearest to it, else the smallest file."""
    plain = {name.upper().removeprefix("UD-"): name for name in sorted(sizes, reverse=True)}
    found = next((plain[name] for name in PREFERRED if name in plain), None)
    return found or min(sizes, key=lambda name: (sizes[name], name))


def quant_for(sizes: Mapping[str, int], usable: int, *, unified: bool) -> str:
    """Give the quant for a card of which a run can use so many bytes: the largest that may take its share of it, else the usual one.

    Fewer bits than the usual quant has are not taken to fit more on the card, but where all memory is one and nothing can wait elsewhere.
    `sizes` are in bytes.
    """
    quantised = {name: size for name, size in sizes.items() if name.upper().removeprefix("UD-") not in UNQUANTISED} or sizes
    floor = 0 if unified else quantised[usual(quantised)]
    whole = [name for name, size in quantised.items() if floor <= size <= usable * SHARE]
    if whole:
        return max(whole, key=lambda name: (quantised[name], name))
    return min(quantised, key=lambda name: (quantised[name], name)) if unified else usual(quantised)
