"""What a guide's reader has and does, as scopes of threads and variants of prose name it."""

from __future__ import annotations

from collections.abc import Iterator

from generator.claims.scope import Situation
from generator.guide.ledger import Book
from generator.guide.numbers import Offload, Subject
from generator.guide.numbers.budget import fits
from generator.memory.flash import settled
from generator.memory.rows import is_latent
from generator.memory.settings import to_arguments
from generator.memory.windows import windowed_blocks
from generator.specs import Card

LONG_CONTEXT = 65536
"""A context above so many tokens is a long one."""


def situation_of(subject: Subject, card: Card, book: Book) -> Situation:
    """Give the situation of a guide's reader."""
    flags = {argument[0] for argument in to_arguments(dict(subject.recipe.settings))}
    flags |= {argument[0] for step in subject.recipe.fallbacks for argument in to_arguments(dict(step.settings))}
    return Situation(
        architecture=subject.model.architecture,
        backend=card.backend,
        card=card.name,
        compute_capability=card.compute_capability,
        build=subject.recipe.build,
        words=frozenset(_words(subject, book)),
        flags=frozenset(flags),
    )


def _words(subject: Subject, book: Book) -> Iterator[str]:
    model, settings, layers = subject.model, settled(subject.model, subject.settings), subject.layers
    yield "moe" if model.experts() else "dense"
    yield from (
        word
        for word, holds in {
            "hybrid": bool(layers.states),
            "sliding_window": bool(windowed_blocks(model)),
            "latent_attention": is_latent(model),
            "draft_head": "draft.total" in book,
            "vision": "weights.projector" in book,
            "does_not_fit": fits(book) == "no",
            "two_cards": subject.gpus > 1,
            "unified_memory": subject.unified,
            "quantised_cache": any(each not in {"f16", "bf16", "f32"} for each in subject.caches),
            "mixed_cache": settings.type_k != settings.type_v,
            "long_context": int(book["settings.n_ctx"]) > LONG_CONTEXT,
            "fallback": bool(subject.recipe.fallbacks),
            "auto_fit": subject.offload is not Offload.WHOLE,
            "prompt_cache": bool(settings.cache_ram),
            "mmap": settings.load_mode in {"auto", "mmap", "mmap+mlock"},
        }.items()
        if holds
    )
    yield {Offload.WHOLE: "whole", Offload.EXPERTS: "expert_offload", Offload.LAYERS: "layer_offload"}[subject.offload]
    yield "flash_attention_off" if settings.flash_attn == "off" else "flash_attention_on"
