"""Claims: predicates over facts, evaluated safely."""

from generator.claims.claim import Claim
from generator.claims.predicates import Predicate

__all__ = ["Claim", "Predicate"]
