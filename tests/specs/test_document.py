from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import MissingFileError, SpecErrors
from generator.specs import load_card, load_issue
from generator.specs.document import MAX_BYTES, MappingNode, RefusedError, Report, ScalarNode, parse


def one_problem(text: str | bytes, folder: Path) -> tuple[int, str, str]:
    path = folder / "a.yml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(SpecErrors) as caught:
        load_card(path)
    (problem,) = caught.value.problems
    assert problem.file == str(path)
    return problem.line, problem.message, problem.remedy


@pytest.mark.parametrize(
    ("text", "line", "message", "remedy"),
    [
        ("card: a\ntitle: [1, 2\n", 3, "this is no YAML", "quotes, colons"),
        ("card: a\n\tb: c\n", 2, "a tab", "spaces"),
        ("card: a\nfacts:\n\tmemory: 1\n", 3, "a tab", "spaces"),
        ("card: &x a\nlinks: {a: *x}\n", 2, "an alias (*x) is not allowed", "write the value out"),
        ("card: !!python/object/apply:os.system [ls]\n", 1, "a tag (tag:yaml.org,2002:python/object/apply:os.system)", "plain YAML"),
        ("card: a\n--- \ncard: b\n", 2, "a second document", "one file holds one spec"),
        ("", 1, "there is nothing in it", "gen schema"),
        ("# only a comment\n", 1, "there is nothing in it", "gen schema"),
        ("card: a\ntitle: \x07\n", 2, "control character", "delete it"),
        ("card: a\n? [x]\n: y\n", 2, "a key is a list or a table", "one word"),
        (b"card: a\ntitle: \xff\n", 2, "this is no UTF-8", "save the file as UTF-8"),
        ("a: " + "[" * 40 + "]" * 40, 1, "nested more than 16 deep", "no spec needs that"),
        ("a: " + "{b: " * 200_000, 1, "nested more than 16 deep", "no spec needs that"),
        ("#" * (MAX_BYTES + 1), 0, f"larger than {MAX_BYTES} bytes", "split it"),
        ("just words\n", 1, "a table", "key: value"),
        ("- a\n- b\n", 1, "a table", "key: value"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_at_its_line(tmp_path: Path, text: str | bytes, line: int, message: str, remedy: str) -> None:
    at, said, cure = one_problem(text, tmp_path)
    assert (at, message in said, remedy in cure) == (line, True, True), (at, said, cure)


def test_an_alias_bomb_is_refused_before_it_grows(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert one_problem("\n".join(rows), tmp_path)[:2] == (2, "an alias (*a0) is not allowed")


def test_a_missing_file_is_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="No such file"):
        load_card(tmp_path / "none.yml")


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    sample = Path(__file__).parents[1] / "catalogue" / "recipes" / "cards" / "tiny-8.yml"
    path = tmp_path / "tiny-8.yml"
    path.write_bytes(b"\xef\xbb\xbf" + sample.read_bytes().replace(b"\n", b"\r\n"))
    assert load_card(path).notes["usable"].text == load_card(sample).notes["usable"].text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("No", "No"),
        ("12", 12),
        ("-3", -3),
        ("010", 10),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("2026-08-31", "2026-08-31"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("~", None),
        ("null", None),
        ("", None),
        (".nan", ".nan"),
        ("12.0.1", "12.0.1"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    node = parse(f"key: {text}\n", Report("f"))
    assert isinstance(node, MappingNode)
    found = node.get("key")
    assert isinstance(found, ScalarNode)
    typed = found.typed()
    assert (typed, type(typed)) == (value, type(value))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_problem(text: str) -> None:
    report = Report("f")
    try:
        parse(text, report)
    except RefusedError:
        assert report.problems
    else:
        assert not report.problems


@given(st.text(alphabet="-#` \nabheadlinport:{}[]'\"|>&*!\t", max_size=300))
def test_any_front_matter_is_read_or_refused_with_problems(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("issues") / "7.md"
    path.write_text(f"---\n{text}\n---\n{text}", encoding="utf-8")
    with pytest.raises(SpecErrors) as caught:
        load_issue(path)
    assert caught.value.problems
