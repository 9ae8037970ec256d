from __future__ import annotations

import os
from pathlib import Path

import pytest

from generator.errors import InputError
from generator.guide.environment import TemplateError, environment, has_template, rendered


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return folder


def test_a_template_is_given_values_and_its_tags_leave_no_blank_lines(tmp_path: Path) -> None:
    write(tmp_path, "a.md.j2", "{% for row in rows %}\n| {{ row }} |\n{% endfor %}\nend\n")
    assert rendered(tmp_path, "a.md.j2", {"rows": ["×", "<b>"]}) == "| × |\n| <b> |\nend\n"


def test_a_value_is_text_and_never_a_template(tmp_path: Path) -> None:
    write(tmp_path, "a.md.j2", "{{ title }}")
    hostile = "{{ 7*7 }} {% include 'b' %} {# c #}"
    assert rendered(tmp_path, "a.md.j2", {"title": hostile}) == hostile


def test_an_undefined_name_is_an_error_that_names_the_template_and_line_it_stands_in(tmp_path: Path) -> None:
    write(tmp_path, "a.md.j2", "one\n{% include 'sections/b.md.j2' %}\n")
    write(tmp_path, "sections/b.md.j2", "one\n\n{{ budjet }}\n")
    with pytest.raises(TemplateError, match="'budjet' is undefined") as caught:
        rendered(tmp_path, "a.md.j2", {})
    assert caught.value.where == "templates/sections/b.md.j2:3"
    assert caught.value.remedy


def test_a_template_that_does_not_parse_is_told_with_file_and_line(tmp_path: Path) -> None:
    write(tmp_path, "a.md.j2", "fine\n{% include 'sections/b.md.j2' %}")
    write(tmp_path, "sections/b.md.j2", "fine\n\n{% if %}")
    with pytest.raises(TemplateError) as caught:
        rendered(tmp_path, "a.md.j2", {})
    assert caught.value.where == "templates/sections/b.md.j2:3"


def test_a_template_that_is_not_there_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"b\.md\.j2"):
        rendered(tmp_path, "b.md.j2", {})


def test_an_error_of_ours_passes_through_a_template(tmp_path: Path) -> None:
    def fail() -> str:
        raise InputError("no such number", remedy="look it up")

    write(tmp_path, "a.md.j2", "{{ fail() }}")
    with pytest.raises(InputError, match="no such number"):
        rendered(tmp_path, "a.md.j2", {"fail": fail})


def test_a_template_is_found_only_below_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "templates", "flags/n_ctx.md.j2", "x")
    write(tmp_path, "secret.md.j2", "x")
    assert has_template(tmp_path / "templates", "flags/n_ctx.md.j2")
    assert not has_template(tmp_path / "templates", "flags/n_batch.md.j2")
    assert not has_template(tmp_path / "templates", "flags")
    with pytest.raises(TemplateError):
        rendered(tmp_path / "templates", "../secret.md.j2", {})


def test_what_was_compiled_is_kept_beside_and_a_changed_template_is_compiled_again(tmp_path: Path) -> None:
    templates = write(tmp_path / "templates", "a.md.j2", "one {{ x }}")
    assert rendered(templates, "a.md.j2", {"x": 1}) == "one 1"
    assert list((tmp_path / ".gen" / "templates").iterdir())
    environment.cache_clear()
    assert rendered(templates, "a.md.j2", {"x": 2}) == "one 2"
    write(templates, "a.md.j2", "two {{ x }}")
    environment.cache_clear()
    assert rendered(templates, "a.md.j2", {"x": 2}) == "two 2"


def test_templates_are_rendered_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    templates = write(tmp_path / "file" / "templates", "a.md.j2", "one")
    (tmp_path / "file" / ".gen").write_text("in the way")
    assert rendered(templates, "a.md.j2", {}) == "one"
    monkeypatch.setattr(os, "access", lambda *_: False)
    templates = write(tmp_path / "locked" / "templates", "a.md.j2", "one")
    assert rendered(templates, "a.md.j2", {}) == "one"
    assert not list((tmp_path / "locked" / ".gen" / "templates").iterdir())
