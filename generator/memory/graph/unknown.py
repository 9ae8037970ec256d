"""What a graph cannot be made of: the one error that says so, and the one place where everything else that goes wrong becomes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_MISFITS = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What arithmetic on a header that contradicts itself ends in: a division by its zero heads, a block that its list does not reach."""


class UnknownGraphError(Exception):
    """A graph cannot be made; the text is a clause that says why: "the header has no 'output_norm.weight'"."""


class MisfitError(UnknownGraphError):
    """Two operands do not go together, which the engine asserts: it ends there, before it has said what it needs."""


@contextmanager
def of_header() -> Iterator[None]:
    """Turn what a header's contradictions end in while a graph is made of it into UnknownGraphError, with the place it came up at."""
    try:
        yield
    except _MISFITS as error:
        raise UnknownGraphError(f"the header's tensors and hyperparameters do not fit together ({_place(error)})") from error


def _place(error: Exception) -> str:
    """Give an error's kind and where it was raised, so that a mistake of ours can be told from one of the header's."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    module = "" if last is None else str(last.tb_frame.f_globals.get("__name__", "")).rpartition(".")[2]
    return f"{type(error).__name__} in {module}, line {last.tb_lineno}" if last is not None else type(error).__name__
