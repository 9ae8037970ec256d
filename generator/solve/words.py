"""An answer of the solver as lines for a terminal and as JSON. Sizes in JSON are in bytes, reads in bytes a token."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction

from generator.config.estimate import Estimate
from generator.memory.settings import to_arguments
from generator.quantity import BYTE, Number, Quantity, shown
from generator.solve.answer import Answer, Step
from generator.solve.goals import CUSHION, ORDERS, Goal
from generator.solve.grid import Point, precision
from generator.solve.question import Question
from generator.solve.space import Need, OnCard, Space

FORMAT = 1
NOTHING = "nothing fits"
UPPER = "upper"
"""The end of an estimate that sizes are of."""

GAINS = {
    "offload": "one step less of offload",
    "context": "the next longer context",
    "caches": "the next better cache types",
    "micro-batch": "the next larger micro-batch",
    "quant": "the next larger file",
}
"""What a step on each axis is, in words."""


def answer_as_text(answer: Answer) -> Iterator[str]:
    """Give the answer as lines."""
    question, space = answer.question, answer.question.space
    yield f"{question.model} on {_cards(question)}, {question.goal} (by {ORDERS[question.goal]})"
    yield _ground(question)
    yield ""
    if answer.choice is None:
        yield from _verdict(answer)
    else:
        yield command(space, answer.choice)
        yield ""
        yield from _memory(space, answer.choice, answer.needs, recipe=question.recipe is not None)
        yield from _why(answer)
        yield ""
        yield from _beside(answer, answer.choice)
    for quant in space.quants:
        if quant.estimate:
            yield f"{quant.name} is {quant.estimate.words}; it fits where it does at the upper end, and sizes here are of that end"
    for name, reason in question.left_out:
        yield f"left out: {name}, {reason}"


def _cards(question: Question) -> str:
    gpus = question.space.budget.gpus
    return question.card.title if gpus == 1 else f"{gpus} x {question.card.title}"


def command(space: Space, point: Point) -> str:
    """Give the command line of a point."""
    words = to_arguments({**space.written(point)})
    return shlex.join(["llama-server", "-m", space.quants[point.quant].file, *(word for argument in words for word in argument)])


def _ground(question: Question) -> str:
    """Say under whose settings the search went."""
    budget, recipe = question.space.budget, question.recipe
    ram = f", {_size(budget.ram)} of host memory" if budget.ram is not None else ""
    if recipe is None:
        return f"no recipe: one slot, the engine's defaults and its margin of {_size(budget.reserve)}{ram}"
    runs = [f"'{run.name}'" for run in question.space.runs[1:]]
    fallbacks = f"; {' and '.join(runs)} must fit too, by more than {_size(budget.margin - 1)}" if runs else ""
    return f"under the settings and budget of its recipe, policy '{question.space.policy}'{fallbacks}{ram}"


def _memory(space: Space, point: Point, needs: Sequence[Need], *, recipe: bool) -> Iterator[str]:
    own, budget = needs[0], space.budget
    for index, card in enumerate(own.cards):
        buffers = f"{_size(card.compute)} of compute buffer" if not own.without_graph else "a compute buffer not derived from this header"
        inside = "inside" if card.compute <= budget.reserve else "more than"
        name = "card   " if budget.gpus == 1 else f"gpu{index}   "
        yield f"{name}{_size(card.held)} of weights, caches and state; {buffers}, {inside} the reserve of {_size(budget.reserve)}"
    where = "" if budget.gpus == 1 else f" on gpu{own.worst}, the least of the cards"
    if space.quants[point.quant].estimate:
        yield f"       {_above(space, point, own)}"
    yield f"       {_size(space.slack(own))} to spare of {_size(budget.usable)} usable{where}"
    for need in needs[1:]:
        yield f"       {_size(space.slack(need))} to spare with '{need.name}'"
    of_ram = f", of {_size(budget.ram)}" if budget.ram is not None else ""
    host = max(map(space.host, needs))
    system = " and what the recipe leaves to the system" if recipe else ""
    beside = f", up to {_size(budget.beside)} of it for the prompt cache{system}" if budget.beside else ""
    yield f"host   {_size(host)}{beside}{of_ram}"
    host_read, card_read = space.reads(point)
    cards = "card" if budget.gpus == 1 else "cards"
    yield f"reads  {_size(host_read)} from the host and {_size(card_read)} from the {cards} for a token, with an empty cache"


def _above(space: Space, point: Point, own: Need) -> str:
    """Say which end of an estimate the figures are of."""
    card, host = space.above(point, own)
    return f"the upper end of an estimate: {_size(card)} more on the card and {_size(host)} on the host than its middle, which reads are of"


def _why(answer: Answer) -> Iterator[str]:
    """Say what binds: the first step that the search could not take, or that would have taken room the goal wants."""
    space, wants_room = answer.question.space, answer.question.goal is Goal.SAFEST
    for step in answer.steps:
        left = space.slack(step.needs[0])
        if not step.fits:
            yield f"why    {_flags(answer, step.point)} would be {_over(space, step)}"
            return
        if wants_room and left < CUSHION:
            yield f"why    {_flags(answer, step.point)} would leave {_size(left)}, and up to {_size(CUSHION)} more room is safer"
            return
    yield "why    nothing binds: no better step is left out for want of memory"


def _over(space: Space, step: Step) -> str:
    card, host = step.over
    parts = [f"{_size(card)} over on the card"] * bool(card) + [f"{_size(host)} over on the host"] * bool(host)
    said = " and ".join(parts) + (f" with '{step.worst.name}'" if step.worst.name else "")
    return f"{said}, which is no more than the estimate may be off" if space.hangs_on_estimate(step.point, step.needs) else said


def _beside(answer: Answer, choice: Point) -> Iterator[str]:
    space = answer.question.space
    if answer.runner_up is None:
        yield "runner-up: none; nothing else that fits has anything over this"
    else:
        yield f"runner-up: {_flags(answer, answer.runner_up)}"
        yield f"  {'; '.join(differences(space, choice, answer.runner_up))}"
    if answer.steps:
        yield "one more step:"
    for step in answer.steps:
        verdict = "fits" if step.fits else _over(space, step)
        cost = f"{_size(step.cost)} more on the card"
        said = "; ".join([cost, *differences(space, choice, step.point), verdict])
        yield f"  {_flags(answer, step.point)}: {GAINS[step.axis]}, {said}"


def _flags(answer: Answer, point: Point) -> str:
    """Give the flags in which a point differs from the choice, and its quant where that does."""
    space, choice = answer.question.space, answer.choice
    assert choice is not None
    before, after = space.written(choice), space.written(point)
    changed = {name: value for name, value in after.items() if before.get(name) != value}
    if "n_cpu_moe" in before and "n_cpu_moe" not in after:
        changed["n_cpu_moe"] = 0
    words = [word for argument in to_arguments(changed) for word in argument]
    quant = [space.quants[point.quant].name or space.quants[point.quant].file] if point.quant != choice.quant else []
    return " ".join([*quant, shlex.join(words)]) if words or not quant else quant[0]


def differences(space: Space, choice: Point, other: Point) -> list[str]:
    """Give in words what another point has more or less of than the choice."""
    found = []
    (host, card), (host_before, card_before) = space.reads(other), space.reads(choice)
    for side, more in (("host", host - host_before), ("card", card - card_before)):
        if more:
            found.append(f"reads {_size(abs(more))} {'more' if more > 0 else 'less'} from the {side} a token")
    if other.n_ctx != choice.n_ctx:
        found.append(f"context {choice.n_ctx:,} → {other.n_ctx:,} tokens")
    if other.caches != choice.caches:
        word = "better" if precision(other.caches) > precision(choice.caches) else "coarser"
        found.append(f"{word} caches, {'/'.join(choice.caches)} → {'/'.join(other.caches)}")
    if other.n_ubatch != choice.n_ubatch:
        passes = Fraction(choice.n_ubatch, other.n_ubatch)
        found.append(f"{shown(Quantity.constant(passes), '', 2)} times the passes over a prompt")
    if other.quant != choice.quant:
        size = space.sizes[other.quant] - space.sizes[choice.quant]
        found.append(f"a file {_size(abs(size))} {'larger' if size > 0 else 'smaller'}")
    return found


def _verdict(answer: Answer) -> Iterator[str]:
    budget = answer.question.space.budget
    yield f"{NOTHING}: no quant, context, cache type, micro-batch and depth of offload comes in under the budget"
    if answer.card is not None:
        on = "the card" if answer.question.space.budget.gpus == 1 else "each card"
        host = "with this host memory" if budget.ram is not None else "with as much host memory as it takes"
        yield f"{host} it would take {_size(answer.card)} usable on {on}; {answer.question.card.title} has {_size(budget.usable)}"
    if answer.host is not None and budget.ram is not None:
        beside = f", {_size(budget.beside)} of it for the prompt cache (-cram) and the system"
        yield f"on this card it would take {_size(answer.host)} of host memory{beside}; there are {_size(budget.ram)}"
    if answer.card is None and (answer.host is None or budget.ram is None):
        yield "neither more memory on the card nor on the host alone would do"


def _size(value: Number) -> str:
    size = Quantity.constant(value, BYTE)
    return shown(size, "MiB", 1) if -(2**30) < value < 2**30 else shown(size, "GiB", 3)


# --- JSON ------------------------------------------------------------------------------------------


def answer_as_dict(answer: Answer) -> dict[str, object]:
    """Give the answer for JSON."""
    question, space = answer.question, answer.question.space
    budget = space.budget
    return {
        "format": FORMAT,
        "model": question.model,
        "card": question.card.name,
        "gpus": space.budget.gpus,
        "goal": str(question.goal),
        "order": ORDERS[question.goal],
        "recipe": question.recipe is not None,
        "build": space.build,
        "policy": str(space.policy),
        "budget": {
            "usable": budget.usable,
            "reserve": budget.reserve,
            "margin": max(budget.margin - 1, 0),
            "ram": budget.ram,
            "beside": budget.beside,
        },
        "fits": answer.choice is not None,
        "choice": None if answer.choice is None else _point(space, answer.choice, answer.needs),
        "runner_up": _runner_up(answer),
        "steps": [_step(answer, step) for step in answer.steps],
        "least": {"card": answer.card, "host": answer.host} if answer.choice is None else None,
        "estimated": [_estimated(quant.name, quant.estimate) for quant in space.quants if quant.estimate],
        "left_out": [{"quant": name, "reason": reason} for name, reason in question.left_out],
    }


def _point(space: Space, point: Point, needs: Sequence[Need]) -> dict[str, object]:
    host_read, card_read = space.reads(point)
    return {
        "quant": space.quants[point.quant].name or None,
        "file": space.quants[point.quant].file,
        "settings": space.written(point),
        "command": command(space, point),
        "reads": {"host": int(host_read), "card": int(card_read)},
        "runs": [_need(space, need) for need in needs],
        **({"estimate": _end(space, point, needs[0])} if space.quants[point.quant].estimate and needs else {}),
    }


def _end(space: Space, point: Point, own: Need) -> dict[str, object]:
    """Give which end of an estimate the sizes of a point are of, and by how much they are above its middle, which reads are of."""
    card, host = space.above(point, own)
    return {"end": UPPER, "above": {"card": card, "host": host}}


def _estimated(quant: str, estimate: Estimate) -> dict[str, object]:
    """Give how far a quant's weights may be off, in percent: routed experts of all of them, other weights of themselves."""
    tolerance, mixture = estimate.tolerance, bool(estimate.model.experts())
    percent = {"rest": tolerance.rest.value, **({"experts": tolerance.experts.value} if mixture else {})}
    return {"quant": quant, "words": estimate.words, "percent": percent, "end": UPPER}


def _need(space: Space, need: Need) -> dict[str, object]:
    card, host = space.over(need)
    return {
        "fallback": need.name or None,
        "held": need.held,
        "compute": None if need.without_graph else need.compute,
        "slack": space.slack(need),
        **({"cards": [_on_card(card, without_graph=need.without_graph) for card in need.cards]} if space.budget.gpus > 1 else {}),
        "host": space.host(need),
        "over": {"card": card, "host": host},
    }


def _on_card(card: OnCard, *, without_graph: bool) -> dict[str, object]:
    return {"held": card.held, "compute": None if without_graph else card.compute}


def _runner_up(answer: Answer) -> dict[str, object] | None:
    space, point, choice = answer.question.space, answer.runner_up, answer.choice
    if point is None or choice is None:
        return None
    rows = _point(space, point, space.needs(point) or ())
    return {**rows, "against_the_choice": differences(space, choice, point)}


def _step(answer: Answer, step: Step) -> dict[str, object]:
    space, choice = answer.question.space, answer.choice
    assert choice is not None
    estimate = space.quants[step.point.quant].estimate
    return {
        "axis": step.axis,
        "flags": _flags(answer, step.point),
        "fits": step.fits,
        "cost": step.cost,
        "over": {"card": step.over[0], "host": step.over[1]},
        **({"hangs_on_estimate": not step.fits and space.hangs_on_estimate(step.point, step.needs)} if estimate else {}),
        "fallback": step.worst.name or None,
        "against_the_choice": differences(space, choice, step.point),
    }
