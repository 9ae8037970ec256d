"""What a check's templates are given: numbers by key, marks, and plain rows that need no arithmetic to print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from generator.check import verdicts
from generator.check.decode import PARTS
from generator.check.judged import judge_leniently, shares, shares_with_caches
from generator.check.numbers import RATED, STATED, Worked
from generator.check.verdicts import Verdict
from generator.check.ways import QUARTERS
from generator.guide.context import uncited_place
from generator.guide.marks import Marks, code, escaped, linked, spelled
from generator.guide.pictures import Picture
from generator.guide.situation import LONG_CONTEXT
from generator.specs.check import Part, Published

SECTIONS = ("read", "tiers", "ceiling", "split", "ways", "prefill", "threads", "calibrate", "unknown")
"""The sections of a page after its first screen, in their order."""

KIND_WORDS = {
    "routed_experts": "routed experts",
    "shared_expert": "the expert that every token passes",
    "router": "matrices that choose experts",
    "feed_forward": "feed-forward matrices",
    "draft_head": "the draft head, which a run without it skips",
}

TERM_WORDS = {
    "dense": "what every token reads, from the card",
    "dense_host": "what every token reads, from system memory",
    "experts_card": "experts, from the card",
    "experts_host": "experts, from system memory",
    "cache": "the cache, from the card",
}

SCENARIO_WORDS = {
    STATED: "as stated",
    "dense_least": "least bytes in what every token reads",
    "dense_most": "most bytes in what every token reads",
    "host_rated": "as stated, system memory at its rating",
    "dense_least_host_rated": "least bytes, system memory at its rating",
    "dense_most_host_rated": "most bytes, system memory at its rating",
}

NEEDLE_TOKENS = 8
"""Tokens that a line of filler takes at the most, in the test whether a long context is read."""

WITHIN = {"seen": "yes", "assumptions": "depends"}
"""Whether a share is within what was seen, by the reason of the verdict on it; anything else is a no."""


def values_of(worked: Worked, found: Mapping[str, Verdict], marks: Marks, drawn: Mapping[str, Picture]) -> dict[str, object]:
    """Give the names that templates may use."""
    return {
        **_names(worked, marks),
        **_shape(worked),
        **_rows(worked, marks),
        "book": worked.book,
        "n": marks.number,
        "checked": marks.checked,
        "prose": lambda slot: (
            marks.prose(worked.subject.check.notes[slot], worked.subject.check, "check") if slot in worked.subject.check.notes else ""
        ),
        "parts": [_part(worked, part, found[part.name], marks) for part in worked.subject.check.parts],
        "headline": _headline(worked, found),
        "short_credible": verdicts.speed(shares(worked, worked.subject.contexts[0]), worked.book["best.share"].number).reason == "seen",
        "seen": list(_seen(worked, found)),
        "threads": list(_threads(worked, marks)),
        "figures": {name: {"alt": picture.alt, "path": f"{worked.subject.check.name}/{name}.svg"} for name, picture in drawn.items()},
        "uncited": lambda: [uncited_place(citation) for _, citation in sorted(marks.uncited.items())],
        "checked_between": marks.checked_between,
        "op_offload_cite": lambda: marks.cite(worked.subject.engine.backend(worked.subject.card.backend).op_offload),
    }


def _names(worked: Worked, marks: Marks) -> dict[str, object]:
    """Give what things are called."""
    subject, check = worked.subject, worked.subject.check
    said = spelled(check.said_in)
    return {
        "model": {"title": escaped(subject.model.title)},
        "card": {"title": escaped(subject.card.title)},
        "about": escaped(check.about),
        "build": check.build,
        "said_in": linked(said, check.said_at) if check.said_at else said,
        "said_day": marks.checked("claim.speed"),
        "file": _file(check.file_of_quant),
        "full_precision": code(check.full_precision) if check.full_precision else "",
        "least_type": code(str(subject.facts["check.least_type"].value)),
        "caches": "/".join(check.caches[0]),
        "type_k": check.caches[0][0],
        "type_v": check.caches[0][1],
        "host_name": escaped(check.host.name) if check.host else "",
        "card_basis": "card.data_rate" if "card.data_rate" in subject.facts else "card.memory_bandwidth",
        "data_rate": "card.data_rate" in subject.facts,
    }


def _shape(worked: Worked) -> dict[str, object]:
    """Give what the model, the claim and the numbers are like."""
    book, contexts = worked.book, worked.subject.contexts
    first, last = contexts[0], contexts[-1]
    spills = any("experts_host" in made.parts or "dense_host" in made.parts for made in worked.tokens.values())
    depth = int(book[f"experts_cache.n_cpu_moe.{last}"]) if f"experts_cache.n_cpu_moe.{last}" in book else 0
    needed = f"reach.host_bandwidth.{last}"
    return {
        "mixture": bool(worked.splits[STATED].experts.number),
        "has_state": bool(worked.past.state().number),
        "growth": bool(worked.past.growth().number),
        "spills": spills,
        "unified": worked.subject.card.unified,
        "tier": "memory" if worked.subject.card.unified else "card",
        "place": "in memory" if worked.subject.card.unified else "on the card",
        "windowed": any(cache.window is not None for cache in worked.past.layers.caches),
        "best_about": spelled(worked.subject.check.best),
        "reach_everywhere": book["reach.least"].equals(book["reach.most"]),
        "host_short": needed in book and book["bandwidth.host"] < book[needed],
        "contexts": contexts,
        "first": first,
        "last": last,
        "claimed": worked.subject.claimed_context,
        "depth": depth,
        "needle_lines": last // NEEDLE_TOKENS if last > LONG_CONTEXT else 0,
        "reach": bool(int(book["reach.least"])),
        "other_caches": len(worked.subject.check.caches) > 1,
        "cache_largest": last in worked.tokens
        and max(worked.tokens[last].parts, key=lambda name: worked.tokens[last].parts[name].number) == "cache",
        "host_needed": needed in book and f"reach.host_bandwidth.{first}" in book,
        "beyond_rating": needed in book and book["bandwidth.host_rated"] < book[needed],
    }


def _rows(worked: Worked, marks: Marks) -> dict[str, object]:
    """Give the rows of the tables."""
    book, check, last = worked.book, worked.subject.check, worked.subject.contexts[-1]
    own = verdicts.speed(shares(worked, last), book["best.share"].number)
    terms = [name for name in PARTS if any(name in made.parts for made in worked.tokens.values())]
    spills = any(part.endswith("_host") for made in worked.tokens.values() for part in made.parts)
    names = [name for name in worked.scenarios() if spills or not name.endswith(RATED)]
    cells = {name: f"ends.{name}.share." if name != STATED else "decode.claim_share_of_ceiling." for name in names}
    return {
        "kinds": list(_kinds(worked, marks)),
        "terms": [{"name": name, "words": _term(name, worked)} for name in terms],
        "scenarios": [{"words": SCENARIO_WORDS[name], "cells": [f"{cells[name]}{at}" for at in worked.subject.contexts]} for name in names],
        "own_cache_within": WITHIN.get(own.reason, "no"),
        "cache_rows": list(_cache_rows(worked)),
        "file_rows": [_file_row(worked, published) for published in check.of_role("weights")],
        "draft_rows": [_draft_row(published) for published in check.of_role("draft")] if last in worked.tokens else [],
        "projector_rows": [_file(published) for published in check.of_role("projector")],
        "prefill_rows": list(_prefill_rows(worked)),
        "calibration_rows": list(_calibration_rows(worked)),
    }


def _term(name: str, worked: Worked) -> str:
    words = TERM_WORDS[name]
    if worked.subject.card.unified:
        words = words.replace(", from the card", "")
    return words if worked.splits[STATED].experts.number else words.replace("what every token reads", "weights")


def _kinds(worked: Worked, marks: Marks) -> Iterator[dict[str, str]]:
    """Give each kind of parameters with what a token reads of it."""
    counts = worked.counts
    untied = bool(counts.input_embedding.number)
    words = KIND_WORDS | {
        "embeddings": "input embedding and output head" if untied else "the embedding, which is the output head as well",
        "attention_and_norms": "attention, recurrent blocks and norms" if worked.past.layers.recurrent else "attention and norms",
    }
    for count in counts.kinds:
        name = count.key.removeprefix("params.")
        read = "all"
        if name == "routed_experts":
            read = marks.number("params.active_experts")
        elif name == "embeddings" and untied:
            read = f"all but one matrix of {marks.number('params.input_embedding')}"
        elif name == "draft_head":
            read = "none"
        yield {"key": count.key, "words": words.get(name, name), "read": read}


def _cache_rows(worked: Worked) -> Iterator[dict[str, str]]:
    last = worked.subject.contexts[-1]
    for pair in worked.subject.check.caches[1:]:
        key = f"ways.cache.{'/'.join(pair)}"
        if f"{key}.share.{last}" in worked.book:
            yield {
                "pair": "/".join(pair),
                "held": f"{key}.held",
                "ceiling": f"{key}.ceiling.{last}",
                "share": f"{key}.share.{last}",
                "within": WITHIN.get(_with_caches(worked, pair, last).reason, "no"),
            }


def _with_caches(worked: Worked, pair: tuple[str, str], context: int) -> Verdict:
    return verdicts.speed(shares_with_caches(worked, pair, context), worked.book["best.share"].number)


def _file(published: Published) -> dict[str, str]:
    repository = linked(code(published.repository), f"https://huggingface.co/{published.repository}") if published.repository else ""
    return {
        "code": code(published.name),
        "name": published.file or f"{published.name}.gguf",
        "repository": repository,
        "size": published.key,
    }


def _file_row(worked: Worked, published: Published) -> dict[str, str]:
    key, contexts = f"ways.file.{published.name.lower()}", worked.subject.contexts
    return _file(published) | {
        "bits": f"{key}.bits",
        "first": f"{key}.ceiling.{contexts[0]}",
        "last": f"{key}.ceiling.{contexts[-1]}",
        "share": f"{key}.share.{contexts[-1]}",
    }


def _draft_row(published: Published) -> dict[str, str]:
    key = f"ways.draft.{published.name.lower()}"
    return _file(published) | {"resident": f"{key}.resident_share", "tokens": f"{key}.tokens_per_pass"}


def _prefill_rows(worked: Worked) -> Iterator[dict[str, str]]:
    for batch in worked.subject.check.batches:
        if f"prefill.floor.{batch}" in worked.book:
            names = {"batch": "batch", "passes": "passes", "floor": "floor", "bus": "over_bus"}
            yield {name: f"prefill.{word}.{batch}" for name, word in names.items()}


def _calibration_rows(worked: Worked) -> Iterator[dict[str, str]]:
    first, last = worked.subject.contexts[0], worked.subject.contexts[-1]
    for count in QUARTERS:
        key = f"calibration.quarter_{count}"
        if f"{key}.ceiling.{first}" in worked.book:
            yield {"bandwidth": f"{key}.bandwidth", "first": f"{key}.ceiling.{first}", "last": f"{key}.ceiling.{last}"}


# --- parts, runs, threads ------------------------------------------------------------------------


def _part(worked: Worked, part: Part, verdict: Verdict, marks: Marks) -> dict[str, object]:
    subject = worked.subject
    said = marks.quoted(part.says)
    if part.kind == "fact" and verdict.reason == "fact":
        said = marks.claim(f"part.{part.name}", said, part.holds)
    at = subject.contexts[0] if part.kind == "speed" else subject.claimed_context or subject.contexts[0]
    row: dict[str, object] = {"said": said, "kind": part.kind, "word": verdict.word, "reason": verdict.reason, "context": at, "rescued": ""}
    row["note"] = " ".join(marks.prose(part.note, subject.check, "check").split()) if part.note else ""
    if verdict.reason == "unseen":
        row["rescued"] = _rescued(worked, at)
    return row


def _rescued(worked: Worked, context: int) -> str:
    """Say which other cache types would bring a share within what was seen, and which may."""
    found: dict[str, list[str]] = {"seen": [], "assumptions": []}
    for pair in worked.subject.check.caches[1:]:
        found.get(_with_caches(worked, pair, context).reason, []).append(f"a `{'/'.join(pair)}` cache")
    surely = f"{' or '.join(found['seen'])} would bring it within that" if found["seen"] else ""
    perhaps = f"{' or '.join(found['assumptions'])} may{'' if surely else ' bring it within that'}" if found["assumptions"] else ""
    return "; ".join(filter(None, [surely, perhaps]))


def _headline(worked: Worked, found: Mapping[str, Verdict]) -> str:
    """Give what the page says first: the verdict on the claim's speed where the claim puts it."""
    words = {part.kind: found[part.name].word for part in worked.subject.check.parts}
    word = words.get("speed_at_context", words.get("speed", ""))
    return {verdicts.NOT_THERE: "not_there", verdicts.CREDIBLE: "credible", verdicts.WRONG: "wrong"}.get(word, "open")


def _seen(worked: Worked, found: Mapping[str, Verdict]) -> Iterator[dict[str, str]]:
    """Give the other runs that the check names, and the verdict that there would be by the best of them, where it is another."""
    lenient = judge_leniently(worked)
    part = next((part.name for part in worked.subject.check.parts if part.kind == "speed_at_context"), "")
    other = lenient[part].word if part and lenient[part].word != found[part].word else ""
    for name, about in worked.subject.check.seen.items():
        yield {"about": spelled(about), "key": f"seen.{name}.share", "fact": f"seen.{name}.speed", "would_change": other}


def _threads(worked: Worked, marks: Marks) -> Iterator[dict[str, str]]:
    check = worked.subject.check
    for ref, prose in check.threads.items():
        issue = worked.subject.issues[ref]
        titled = issue.symptom == str(marks.facts[f"{issue.prefix}.title"].value)
        yield {
            "symptom": marks.quoted(issue.symptom) if titled else escaped(issue.symptom),
            "link": marks.issue_link(issue),
            "state": marks.state(issue),
            "text": marks.prose(prose, check, issue.prefix),
        }


# --- dates ---------------------------------------------------------------------------------------
