"""The verdict on each part of a check's claim, from its numbers and facts."""

from __future__ import annotations

from collections.abc import Mapping

from generator.check import verdicts
from generator.check.decode import token
from generator.check.numbers import STATED, Worked
from generator.check.past import Past
from generator.check.verdicts import Shares, Verdict
from generator.claims import Predicate
from generator.facts import Facts
from generator.quantity import Quantity, largest
from generator.specs.check import Part


def judge(worked: Worked) -> dict[str, Verdict]:
    """Give the verdict on each part, by name."""
    return {part.name: verdict_on(worked, part, worked.book["best.share"]) for part in worked.subject.check.parts}


def judge_leniently(worked: Worked) -> dict[str, Verdict]:
    """Give the verdicts there would be if the highest share of any run that the check names were the measure."""
    shares = [worked.book["best.share"], *(worked.book[f"seen.{run}.share"] for run in worked.subject.check.seen)]
    return {part.name: verdict_on(worked, part, largest(shares)) for part in worked.subject.check.parts}


def verdict_on(worked: Worked, part: Part, best: Quantity) -> Verdict:
    """Give the verdict on one part, with `best` the share of a ceiling up to which a speed is credible."""
    subject = worked.subject
    contexts, claimed = subject.contexts, subject.claimed_context
    room = verdicts.memory(_fits(worked), claimed)
    match part.kind:
        case "opinion":
            return verdicts.opinion()
        case "fact":
            return verdicts.fact(part.holds, holds=_holds(part.holds, subject.facts))
        case "memory":
            return room
        case "context":
            trained = subject.facts["config.context_length"].quantity() if "config.context_length" in subject.facts else None
            return verdicts.context(None if trained is None else int(trained), claimed or contexts[-1], room)
    shortest = verdicts.speed(shares(worked, contexts[0]), best.number)
    if part.kind == "speed" or claimed is None:
        return shortest
    return verdicts.speed(shares(worked, claimed), best.number, shortest)


def shares(worked: Worked, context: int) -> Shares:
    """Give the share of the ceiling that the claim needs at a context, in every scenario."""
    found = {}
    for name in worked.scenarios():
        key = f"decode.claim_share_of_ceiling.{context}" if name == STATED else f"ends.{name}.share.{context}"
        found[name] = (key, worked.book[key].number if key in worked.book else None)
    return Shares(context, found)


def shares_with_caches(worked: Worked, pair: tuple[str, str], context: int) -> Shares:
    """Give the same with another pair of cache types."""
    past = Past(worked.shape, worked.past.layers, pair)
    found = {}
    for name, (split, rates) in worked.scenarios().items():
        made = token(split, worked.beside(context, past), rates)
        share = None if made is None else (worked.book["claim.speed"] / made.ceiling).number
        found[name] = (f"ways.cache.{'/'.join(pair)}.share.{context}", share)
    return Shares(context, found)


def _fits(worked: Worked) -> Mapping[str, Mapping[int, bool]]:
    """Tell at each context whether what must be on the card fits there, for each split."""
    found: dict[str, dict[int, bool]] = {}
    for name, split in worked.splits.items():
        found[name] = {}
        for context in worked.subject.contexts:
            beside = worked.beside(context)
            found[name][context] = worked.needed(split, beside) <= beside.usable
    return found


def _holds(predicate: str, facts: Facts) -> bool | None:
    parsed = Predicate.parse(predicate)
    return parsed.holds(facts) if all(facts[key].known for key in parsed.keys) else None
