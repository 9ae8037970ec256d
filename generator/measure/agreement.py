"""Our cache and state of a recorded run against what its machine printed, term by term."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.errors import GenError, InputError
from generator.facts import Fact, Source
from generator.gguf.types import F32_BYTES
from generator.measure.cases import IK, Case, read_cases
from generator.measure.printed import Printed, parts_of, total_of
from generator.measure.rules import Footing, Rule, Types, block_of, flash_attention, footing_of
from generator.memory.context import Context, context_of
from generator.memory.kv_cache import cells_of
from generator.memory.layers import Cache, RecurrentState
from generator.memory.model import Model
from generator.memory.settings import Settings

AGREES, DIFFERS, NOT_COMPARED = "agrees", "differs", "not compared"

TERMS = ("weights", "KV", "K", "V", "state", "R", "S", "context", "draft KV", "compute")
"""Terms in the order of a report. `context` is cache and state together, where an engine printed only that."""

NO_TENSORS = "the case has no tensor table, and a file's size does not say which tensors went where"
NO_PREDICTION = "for information: a graph needs the tensor table, which the case has not"


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a case: ours in bytes, what was printed, and how they compare; `why` where they were not."""

    name: str
    status: str
    ours: int | None = None
    printed: Printed | None = None
    why: str = ""

    def as_dict(self) -> dict[str, object]:
        """Give the term for JSON; sizes in bytes, what was printed as printed."""
        rows: dict[str, object] = {"term": self.name, "status": self.status}
        if self.ours is not None:
            rows["ours"] = self.ours
        if self.printed is not None:
            rows["printed"] = self.printed.text
        if self.ours is not None and self.printed is not None:
            rows["outside_by"] = self.printed.difference(self.ours)
        return rows | ({"why": self.why} if self.why else {})


@dataclass(frozen=True, slots=True)
class Comparison:
    """One case compared: its terms, and the rules of its engine that are not the pinned engine's."""

    case: Case
    terms: tuple[Term, ...]
    rules: tuple[Rule, ...] = ()
    error: str = ""

    @property
    def status(self) -> str:
        """What the terms say together: `differs` where one does, else whether any was compared and agrees."""
        found = {term.status for term in self.terms}
        return next((status for status in (DIFFERS, AGREES) if status in found), NOT_COMPARED)

    def as_dict(self) -> dict[str, object]:
        """Give the comparison for JSON."""
        case = self.case
        rows: dict[str, object] = {
            "case": case.name,
            "url": case.url,
            "engine": case.engine,
            "build": case.build,
            "complete": case.complete,
            "status": self.status,
            "rules": [rule.name for rule in self.rules],
            "terms": [term.as_dict() for term in self.terms],
        }
        return rows | ({"error": self.error} if self.error else {})


@dataclass(frozen=True, slots=True)
class Agreement:
    """A folder of cases compared; `others` are files that hold no case, `errors` what could not be read."""

    comparisons: tuple[Comparison, ...]
    others: tuple[str, ...]
    errors: tuple[GenError, ...]

    @property
    def failed(self) -> list[Comparison]:
        """The complete cases that do not agree."""
        return [each for each in self.comparisons if each.case.complete and each.status != AGREES]

    @property
    def rules(self) -> list[Rule]:
        """The rules of other builds and forks that were needed, each once."""
        return list({rule.name: rule for each in self.comparisons for rule in each.rules}.values())

    @property
    def exit_code(self) -> int:
        """0 where every complete case agrees, 3 where one does not, 2 where a file could not be read."""
        if self.failed:
            return 3
        return 2 if self.errors else 0


def compare_folder(folder: Path) -> Agreement:
    """Compare every case of a folder. Raises what `read_cases` raises."""
    cases, others, errors = read_cases(folder)
    return Agreement(tuple(compare(case) for case in cases), tuple(others), tuple(errors))


def compare(case: Case) -> Comparison:
    """Compare one case. What its metadata do not allow to predict is said in `error`, never guessed."""
    printed = dict(_printed(case))
    beside = [Term("weights", NOT_COMPARED, why=NO_TENSORS), *_compute(case)]
    try:
        ours, rules = predicted(case)
    except GenError as error:
        terms = [Term(name, NOT_COMPARED, printed=figure, why=error.problem) for name, figure in printed.items()]
        return Comparison(case, _sorted([*terms, *beside]), error=error.problem)
    terms = [_term(name, ours.get(name), figure) for name, figure in printed.items()]
    return Comparison(case, _sorted([*terms, *beside]), rules)


def _term(name: str, ours: int | None, figure: Printed) -> Term:
    if ours is None:
        return Term(name, NOT_COMPARED, printed=figure, why="our arithmetic has no such term for this run")
    return Term(name, AGREES if figure.holds(ours) else DIFFERS, ours, figure)


def _sorted(terms: Iterable[Term]) -> tuple[Term, ...]:
    return tuple(sorted(terms, key=lambda term: TERMS.index(term.name)))


def _compute(case: Case) -> Iterator[Term]:
    for device, figure in case.reported.compute_buffers:
        yield Term("compute", NOT_COMPARED, printed=Printed(figure.low, figure.high, f"{figure.text} on {device}"), why=NO_PREDICTION)


# --- what was printed ----------------------------------------------------------------------------


def _printed(case: Case) -> Iterator[tuple[str, Printed]]:
    """Give what a case's engine printed, by term: the lines of totals, else buffers added up, else a breakdown's column.

    Totals come first because a buffer may be padded beyond what its tensors take; unless lines of some caches are missing.
    """
    reported = case.reported
    whole = not reported.caches or len(reported.kv_totals) == reported.caches
    kv_totals = reported.kv_totals if whole else ()
    groups = (("KV", kv_totals, reported.kv_buffers), ("state", reported.state_totals, reported.state_buffers))
    for name, lines, buffers in groups:
        totals = [figure for line in lines if (figure := total_of(line))]
        if totals:
            yield name, Printed.added(totals)
        elif buffers:
            yield name, Printed.added(figure for _, figure in buffers)
        parts = [parts_of(line) for line in lines]
        for part in ("K", "V", "R", "S"):
            if parts and all(part in each for each in parts):
                yield part, Printed.added(each[part] for each in parts)
    if reported.breakdown and not any(lines or buffers for _, lines, buffers in groups):
        yield "context", Printed.added(row.context for row in reported.breakdown)
    if reported.draft_kv is not None:
        yield "draft KV", reported.draft_kv


# --- ours ----------------------------------------------------------------------------------------


def predicted(case: Case) -> tuple[dict[str, int], tuple[Rule, ...]]:
    """Give our figures of a case in bytes by term, and the rules of its engine that went in. Raises GenError."""
    model, settings = model_of_case(case), settings_of(case)
    footing, rules = footing_of(model, case)
    if footing.layers.caches and not model.has("attention.head_count"):
        raise InputError(f"the header does not state '{model.architecture}.attention.head_count'", where=case.file)
    context = context_of(model, settings)
    padded = case.family != IK and settings.flash_attn == "off"
    keys, values = _caches(footing.layers.caches, footing.types, context, settings, padded=padded)
    r, s = _states(footing, context)
    sizes = {"K": keys, "V": values, "KV": keys + values, "R": r, "S": s, "state": r + s, "context": keys + values + r + s}
    if footing.layers.draft:
        types = (("f16", "f16"),) * len(footing.layers.draft)
        sizes["draft KV"] = sum(_caches(footing.layers.draft, types, context, settings, padded=padded))
    return sizes, rules


def model_of_case(case: Case) -> Model:
    """Give a case's model: its hyperparameters, without tensors. Raises InputError where no architecture is stated."""
    source = Source(case.url, title=case.name)
    metadata, tensors = (Fact(f"case.{what}", None, origin="transcribed", source=source) for what in ("metadata", "tensors"))
    return Model.build(case.metadata, (), metadata, tensors)


def settings_of(case: Case) -> Settings:
    """Give a case's settings as far as they size caches and states. Raises InputError where the context is not known."""
    given = case.settings
    if not isinstance(given.get("n_ctx"), int):
        raise InputError("the case does not say n_ctx, so cells are not known", where=case.file, remedy="add it as the log has it")
    return Settings(
        program="llama-fit-params",  # which takes the number of sequences as it is told
        n_ctx=_whole(given.get("n_ctx"), 0),
        n_batch=_whole(given.get("n_batch"), 2048),
        n_ubatch=_whole(given.get("n_ubatch"), 512),
        n_parallel=_whole(given.get("n_seq_max"), 1) or 1,
        kv_unified=given.get("kv_unified") is True,
        swa_full=given.get("swa_full") is True,
        flash_attn="on" if flash_attention(case) else "off",
    )


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


def _caches(caches: Sequence[Cache], types: Sequence[Types], context: Context, settings: Settings, *, padded: bool) -> tuple[int, int]:
    """Give the bytes of all rows of K, and of all rows of V (as wide as the widest where they are `padded`)."""
    keys = values = 0
    for cache, (type_k, type_v) in zip(caches, types, strict=True):
        cells = int(cells_of(cache, context, swa_full=settings.swa_full))
        least = int(cache.widest_value) if padded and cache.widest_value is not None else 0
        keys += cells * sum(_row(int(elements), type_k) for elements in cache.keys.values())
        values += cells * sum(_row(max(int(elements), least), type_v) for elements in (cache.values or {}).values())
    return keys, values


def _row(elements: int, cache_type: str) -> int:
    per_block, size = block_of(cache_type)
    return elements // per_block * size


def _states(footing: Footing, context: Context) -> tuple[int, int]:
    """Give the bytes of the convolution and of the state, of every sequence, with their copies."""
    each = int(context.sequences) * (1 + footing.copies) * F32_BYTES

    def size(states: Iterable[RecurrentState], part: str) -> int:
        return each * sum(int(getattr(state, part)) * len(state.blocks) for state in states)

    return size(footing.layers.states, "r"), size(footing.layers.states, "s")
