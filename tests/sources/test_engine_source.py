"""Finding a cited pattern in a source file."""

from __future__ import annotations

import pytest

from generator.sources.engine_source import Found, find

SOURCE = """#include "common.h"

struct params {
    int n_ctx = 0;    // context
    int n_batch = 0;
};

int n_ctx_of(params & p) { return p.n_ctx; }
"""


@pytest.mark.parametrize(
    ("pattern", "near", "expected"),
    [
        ("struct params", None, Found(3, 3, 1)),
        ("n_ctx", None, Found(4, 4, 3)),
        ("n_ctx", 7, Found(8, 8, 3)),
        ("n_ctx", 1, Found(4, 4, 3)),
        ("n_ctx", 6, Found(4, 4, 3)),
        ("n_ctx", 100_000, Found(8, 8, 3)),
        ("#include", 3, Found(1, 1, 1)),
        ("int n_batch = 0;\n};", None, Found(5, 6, 1)),
        ("struct params {\n    int n_ctx = 0;    // context\n", None, Found(3, 4, 1)),
        ("n_ct[x]", None, None),
        ("N_CTX", None, None),
        ("n_ubatch", 4, None),
        ("", None, None),
    ],
)
def test_a_pattern_is_found_literally_at_the_line_nearest_to_where_it_was(pattern: str, near: int | None, expected: Found | None) -> None:
    assert find(SOURCE, pattern, near) == expected


def test_how_lines_end_does_not_matter() -> None:
    assert find(SOURCE.replace("\n", "\r\n"), "int n_batch = 0;\n};") == Found(5, 6, 1)
    assert find(SOURCE.replace("\n", "\r"), "struct params") == Found(3, 3, 1)
    assert find(SOURCE, "int n_batch = 0;\r\n};") == Found(5, 6, 1)


def test_places_that_overlap_are_counted_apart_from_each_other() -> None:
    assert find("aaaa\naa", "aa") == Found(1, 1, 3)


def test_other_marks_that_end_lines_for_some_do_not_count() -> None:
    assert find("a\x0cb\u2028c\nd", "d") == Found(2, 2, 1)
