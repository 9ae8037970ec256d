from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import GenError, InputError
from generator.guide.prose import ProseError, fill
from generator.specs import Prose


def prose(text: str, line: int = 1) -> Prose:
    return Prose(text, "recipes/issues/llama.cpp/7.md", line)


def shout(content: str) -> str:
    return f"<{content.upper()}>"


def nothing(content: str) -> str:
    raise InputError(f"no '{content}'", remedy="know it")


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("", ""),
        ("no braces", "no braces"),
        ("a {key} b", "a <KEY> b"),
        ("{a}{b}", "<A><B>"),
        ("{ spaced out }", "<SPACED OUT>"),
        ("{budget.total|GiB|3}", "<BUDGET.TOTAL|GIB|3>"),
        ("**{a}**: [x]({b})", "**<A>**: [x](<B>)"),
        ("empty {} and { stay", "empty {} and { stay"),
        ("over\n{two\nlines}", "over\n{two\nlines}"),
    ],
)
def test_what_stands_in_braces_is_looked_up(text: str, filled: str) -> None:
    assert fill(prose(text), shout) == filled


@pytest.mark.parametrize(
    "code",
    [
        "`{x}`",
        "``{x} ` {x}``",
        "``` {x} ` ```",
        "`a\n{x}`",
        "```\n{x}\n```",
        "```bash\necho {x}\n\necho {x}\n```",
        "  ```\n  {x}\n  ```",
        "~~~\n{x}\n```\n{x}\n~~~",
        "````\n```\n{x}\n```\n````",
        "```\n{x} in a fence that never ends",
        "`curl -d '{\"a\": {x}}'`",
    ],
)
def test_code_is_left_as_it_is(code: str) -> None:
    assert fill(prose(f"{{a}} before\n\n{code}"), shout) == f"<A> before\n\n{code}"
    assert fill(prose(code), nothing) == code


def test_prose_goes_on_after_code() -> None:
    assert fill(prose("`{x}` {a} `{x}` {b}\n\n```\n{x}\n```\n\n{c}"), shout) == "`{x}` <A> `{x}` <B>\n\n```\n{x}\n```\n\n<C>"


@pytest.mark.parametrize("text", ["a ` b {a}", "\\`{a}\\`", "``{a}`", "`x\n\n{a}`"])
def test_a_backtick_that_opens_no_code_hides_nothing(text: str) -> None:
    assert fill(prose(text), shout) == text.replace("{a}", "<A>")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{x}", 40),
        ("one\ntwo {x}", 41),
        ("`code`\n\n```\nfence\n\n```\n{x}", 46),
        ("`a\nb` {x}", 41),
        ("fine\n\n`{y}`\n{x} and\n{z}", 43),
    ],
)
def test_a_placeholder_that_names_nothing_is_told_with_its_file_and_line(text: str, line: int) -> None:
    with pytest.raises(ProseError) as caught:
        fill(prose(text, 40), nothing)
    assert caught.value.where == f"recipes/issues/llama.cpp/7.md:{line}"
    assert str(caught.value) == f"recipes/issues/llama.cpp/7.md:{line}: {{x}}: no 'x'\n  know it"


@pytest.mark.parametrize(
    "hostile", ["{{ 7*7 }}", "{% set x = 7*7 %}", "{# 7 #}", "{{ ''.__class__.__mro__ }}", "{{7*7}}", "${7*7}", "{7*7!r}"]
)
def test_nothing_in_braces_is_ever_evaluated(hostile: str) -> None:
    asked: list[str] = []

    def resolve(content: str) -> str:
        asked.append(content)
        return "X"

    assert "49" not in fill(prose(hostile), resolve)
    assert asked == [hostile.strip("${}").strip()]
    with pytest.raises(ProseError):
        fill(prose(hostile), nothing)
    assert fill(prose(f"`{hostile}`"), nothing) == f"`{hostile}`"


def test_what_a_placeholder_stands_for_is_not_filled_again() -> None:
    assert fill(prose("{a} {b}"), lambda content: f"{{{content}{content}}} `{{c}}`") == "{aa} `{c}` {bb} `{c}`"


def test_an_error_that_is_not_ours_is_not_dressed_up() -> None:
    def broken(_: str) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fill(prose("{x}"), broken)


@given(st.text("`~{}ab\n \\", max_size=40))
def test_prose_without_a_placeholder_is_unchanged_and_the_rest_is_found_or_refused(text: str) -> None:
    same = fill(prose(text), lambda content: f"{{{content}}}")
    squeezed = "".join(text.split())
    assert "".join(same.split()) == squeezed
    try:
        fill(prose(text), nothing)
    except GenError as error:
        assert isinstance(error, ProseError)  # noqa: PT017
