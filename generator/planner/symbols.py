"""Whole numbers that remember how they were made, so that a graph made once gives its shapes for other settings.

A `Symbol` is a number with a polynomial over named variables beside it. Arithmetic keeps both; a comparison looks at the number, as the
code that makes a graph expects, and what it found is noted as a condition: the trace holds wherever all of its conditions do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import comb, prod
from typing import Any, ClassVar

from generator.memory.graph.tensor import Count

Monomial = tuple[str, ...]
"""Names of variables, in order, each as often as it is a factor."""


class Polynomial:
    """A sum of products of variables with whole coefficients; equal ones are one object.

    `constant` is the number that it is whatever the variables are, None for one that depends on them; `least` what it is at least while
    every variable is 1 or more, None where that is not seen at once.
    """

    __slots__ = ("constant", "least", "terms", "text")

    known: ClassVar[dict[tuple[tuple[Monomial, int], ...], Polynomial]] = {}

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self.text = _text(terms)
        self.constant = 0 if not terms else terms[0][1] if len(terms) == 1 and not terms[0][0] else None
        self.least = _least(terms)

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> Polynomial:
        """Give the polynomial of some terms."""
        key = tuple(sorted((monomial, factor) for monomial, factor in terms.items() if factor))
        found = Polynomial.known.get(key)
        if found is None:
            found = Polynomial.known[key] = Polynomial(key)
        return found

    def at(self, values: Mapping[str, int]) -> int:
        """Give its value for some variables."""
        return sum(factor * prod(values[name] for name in monomial) for monomial, factor in self.terms)


def _text(terms: tuple[tuple[Monomial, int], ...]) -> str:
    parts = []
    for monomial, factor in terms:
        words = [*(() if factor == 1 and monomial else (str(factor),)), *monomial]
        parts.append("*".join(words))
    return "+".join(parts) or "0"


def _least(terms: tuple[tuple[Monomial, int], ...]) -> int | None:
    """Give what a polynomial is at least: where no coefficient is negative once each variable is 1 and what it is more, the constant."""
    shifted: dict[Monomial, int] = {}
    for monomial, factor in terms:
        names = dict.fromkeys(monomial)
        powers = [monomial.count(name) for name in names]
        for chosen in product(*(range(power + 1) for power in powers)):
            share = prod(comb(power, more) for power, more in zip(powers, chosen, strict=True))
            key = tuple(name for name, more in zip(names, chosen, strict=True) for _ in range(more))
            shifted[key] = shifted.get(key, 0) + factor * share
    constant = shifted.pop((), 0)
    return constant if all(factor >= 0 for factor in shifted.values()) else None


Pair = tuple[Polynomial, Polynomial]
_products: dict[Pair, Polynomial] = {}
_sums: dict[Pair, Polynomial] = {}
_differences: dict[Pair, Polynomial] = {}
_quotients: dict[Pair, Polynomial | None] = {}
_constants: dict[int, Polynomial] = {}


def constant(value: int) -> Polynomial:
    """Give the polynomial that is a number."""
    found = _constants.get(value)
    if found is None:
        found = _constants[int(value)] = Polynomial.of({(): int(value)})
    return found


def _polynomial(value: int) -> Polynomial:
    return value.polynomial if type(value) is Symbol else constant(value)


def _product(pair: Pair) -> Polynomial:
    found = _products.get(pair)
    if found is None:
        terms: dict[Monomial, int] = {}
        for one, factor in pair[0].terms:
            for other, times in pair[1].terms:
                key = tuple(sorted(one + other))
                terms[key] = terms.get(key, 0) + factor * times
        found = _products[pair] = Polynomial.of(terms)
    return found


def _sum(pair: Pair) -> Polynomial:
    found = _sums.get(pair)
    if found is None:
        found = _sums[pair] = _added(pair, 1)
    return found


def _difference(pair: Pair) -> Polynomial:
    found = _differences.get(pair)
    if found is None:
        found = _differences[pair] = _added(pair, -1)
    return found


def _added(pair: Pair, sign: int) -> Polynomial:
    terms = dict(pair[0].terms)
    for monomial, factor in pair[1].terms:
        terms[monomial] = terms.get(monomial, 0) + sign * factor
    return Polynomial.of(terms)


def _quotient(pair: Pair) -> Polynomial | None:
    """Give a quotient that comes out even whatever the variables are; None where it need not."""
    if pair not in _quotients:
        _quotients[pair] = _divided(*pair)
    return _quotients[pair]


def _divided(dividend: Polynomial, divisor: Polynomial) -> Polynomial | None:
    if len(divisor.terms) != 1:
        return constant(1) if dividend is divisor else None
    ((names, by),) = divisor.terms
    terms: dict[Monomial, int] = {}
    for monomial, factor in dividend.terms:
        left = list(monomial)
        for name in names:
            if name not in left:
                return None
            left.remove(name)
        if factor % by:
            return None
        terms[tuple(left)] = factor // by
    return Polynomial.of(terms)


class UncoveredError(Exception):
    """A number came up that no polynomial is equal to, so that nothing is traced rather than something nearly right."""


@dataclass(slots=True)
class Conditions:
    """What comparisons of symbols found while they were noted, as relations of polynomials to 0."""

    noted: dict[tuple[str, str], bool] = field(default_factory=dict)
    polynomials: dict[str, Polynomial] = field(default_factory=dict)

    def note(self, difference: Polynomial, relation: str, *, found: bool) -> None:
        """Note that a polynomial had a relation to 0, or had not."""
        self.noted[difference.text, relation] = found
        self.polynomials[difference.text] = difference

    def hold(self, values: Mapping[str, int]) -> bool:
        """Tell whether every comparison would find the same for other values of the variables."""
        return all(RELATIONS[relation](self.polynomials[text].at(values)) is found for (text, relation), found in self.noted.items())


RELATIONS: Mapping[str, Callable[[int], bool]] = {"=": lambda value: value == 0, ">": lambda value: value > 0}
"""Relations of a number to 0."""

_open: list[Conditions] = []


class noting:  # noqa: N801 - reads as a statement
    """Notes what comparisons find while a graph is made; gives the conditions."""

    def __enter__(self) -> Conditions:
        _open.append(Conditions())
        return _open[-1]

    def __exit__(self, *_: object) -> None:
        _open.pop()


def _found(left: int, right: int, relation: str, *, found: bool) -> bool:
    """Give what a comparison found, and note it unless it would be found whatever the variables are."""
    difference = _difference((_polynomial(left), _polynomial(right)))
    if difference.constant is None and not _is_plain(difference, relation, found=found) and _open:
        _open[-1].note(difference, relation, found=found)
    return found


def _is_plain(difference: Polynomial, relation: str, *, found: bool) -> bool:
    if difference.least is not None and difference.least > 0:
        return found is (relation == ">")
    negated = _difference((constant(0), difference))
    return negated.least is not None and not found and (negated.least > 0 or (relation == ">" and negated.least >= 0))


class Symbol(Count):
    """A whole number and the polynomial that it is the value of."""

    polynomial: Polynomial

    @staticmethod
    def named(name: str, value: int) -> Symbol:
        """Give a variable with the value it has while a graph is traced."""
        return _made(value, Polynomial.of({(name,): 1}))

    def __add__(self, other: int) -> int:
        return _result(int(self) + int(other), _sum((self.polynomial, _polynomial(other))))

    __radd__ = __add__

    def __mul__(self, other: int) -> int:
        return _result(int(self) * int(other), _product((self.polynomial, _polynomial(other))))

    __rmul__ = __mul__

    def __sub__(self, other: int) -> int:
        return _result(int(self) - int(other), _difference((self.polynomial, _polynomial(other))))

    def __rsub__(self, other: int) -> int:
        return _result(int(other) - int(self), _difference((_polynomial(other), self.polynomial)))

    def __neg__(self) -> int:
        return 0 - self

    def __floordiv__(self, other: int) -> int:
        return _whole(self, other)

    def __rfloordiv__(self, other: int) -> int:
        return _whole(other, self)

    def __mod__(self, other: int) -> int:
        return _rest(self, other)

    def __rmod__(self, other: int) -> int:
        return _rest(other, self)

    def __pow__(self, power: int, modulus: None = None) -> Any:  # type: ignore[override]  # a shape's powers are small and plain
        return prod([self] * power)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int) and _found(self, other, "=", found=int(self) == int(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: int) -> bool:
        return _found(other, self, ">", found=int(self) < int(other))

    def __gt__(self, other: int) -> bool:
        return _found(self, other, ">", found=int(self) > int(other))

    def __le__(self, other: int) -> bool:
        return not self > other

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return self != 0

    def __hash__(self) -> int:
        return hash(int(self))


def _made(value: int, polynomial: Polynomial) -> Symbol:
    made = Symbol(value)
    made.polynomial = polynomial
    return made


def _result(value: int, polynomial: Polynomial) -> int:
    return value if polynomial.constant is not None else _made(value, polynomial)


def _whole(left: int, right: int) -> int:
    quotient = _quotient((_polynomial(left), _polynomial(right)))
    if quotient is None:
        raise UncoveredError(f"({_polynomial(left).text}) // ({_polynomial(right).text})")
    return _result(int(left) // int(right), quotient)


def _rest(left: int, right: int) -> int:
    """Give the rest of a division: none where it comes out even whatever the variables are.

    One variable may stand for a multiple of the divisor; then that is what the trace holds for.
    """
    if _quotient((_polynomial(left), _polynomial(right))) is not None:
        return 0
    raise UncoveredError(f"({_polynomial(left).text}) % ({_polynomial(right).text})")
