"""Every number of a guide, derived and named, in the order a reader meets them.

One function a topic; each writes its numbers into the book under stable keys and says nothing about words. Keys are
those of the ledger (`weights.resident`, `kv.total.q8_0/q8_0`, `ladder.26@65536.q8_0/f16`).
"""

from __future__ import annotations

from generator.guide.ledger import Book
from generator.guide.numbers.beside import write_draft, write_host, write_quants
from generator.guide.numbers.budget import write_budget, write_cards, write_pool
from generator.guide.numbers.caches import write_caches, write_states
from generator.guide.numbers.ladder import Row, ladder_rows, rung_total, write_chosen, write_fallback, write_ladder, write_scores
from generator.guide.numbers.speed import write_prefill, write_traffic
from generator.guide.numbers.subject import Offload, Subject
from generator.guide.numbers.weights import write_experts, write_header, write_settings, write_weights
from generator.guide.working import excess_of, write_working

__all__ = ["Offload", "Row", "Subject", "ladder_rows", "rung_total", "write_numbers"]


def write_numbers(subject: Subject) -> Book:
    """Give the book of a guide's numbers."""
    book = Book()
    write_header(book, subject)
    write_settings(book, subject)
    write_weights(book, subject)
    write_experts(book, subject)
    write_caches(book, subject)
    write_states(book, subject)
    pool = write_pool(book, subject)
    write_budget(book, subject, pool)
    write_working(book, subject.plan, pool, excess_of(subject.facts), subject.tightest)
    write_cards(book, subject)
    write_ladder(book, subject, pool)
    write_fallback(book, subject, pool)
    write_chosen(book, subject, pool)
    write_scores(book, subject)
    write_traffic(book, subject)
    write_draft(book, subject)
    write_host(book, subject)
    write_prefill(book, subject)
    write_quants(book, subject)
    return book
