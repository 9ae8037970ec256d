from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from generator.errors import InputError
from generator.guide.context import Sources, command, model_path, values_of
from generator.guide.marks import Marks
from generator.guide.numbers import Subject
from generator.guide.pictures import pictures
from generator.guide.situation import situation_of
from generator.memory.settings import Settings, parse_flags


def with_settings(sources: Sources, settings: Mapping[str, Any]) -> Sources:
    return replace(sources, recipe=replace(sources.recipe, settings={**sources.recipe.settings, **settings}))


def words(text: str) -> list[str]:
    """Give the words of a command as a shell splits them."""
    return shlex.split(text.replace("\\\n", " "))


# --- the command ---------------------------------------------------------------------------------


def test_the_command_runs_the_downloaded_file_with_the_recipes_settings(sources: Sources) -> None:
    given = words(command(sources))
    assert given[:3] == ["./build/bin/llama-server", "-m", "./apodex-mini/apodex_Apodex-1.1-mini-Q4_K_M.gguf"]
    read = parse_flags(given[3:], "llama-server")
    assert replace(read, model=None) == Settings.from_recipe(sources.recipe.settings)


def test_each_line_of_the_command_but_the_last_is_continued(sources: Sources) -> None:
    lines = command(sources).split("\n")
    assert len(lines) > 3
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert not lines[-1].endswith("\\")


def test_a_fallback_is_laid_over_the_recipe_and_its_address_stays_last(sources: Sources) -> None:
    fallback = sources.recipe.fallbacks[0]
    given = words(command(sources, fallback))
    assert given[-4:] == ["--host", "127.0.0.1", "--port", "8080"]
    read = parse_flags(given[3:], "llama-server")
    assert replace(read, model=None) == Settings.from_recipe({**sources.recipe.settings, **fallback.settings})
    assert (read.flash_attn, read.type_v, read.n_ubatch) == ("off", "f16", 128)


@pytest.mark.parametrize("host", ["a b", "x; rm -rf ~", "$(id)", "`id`", "it's", '"', "\\", "--help", "#", "| tee"])
def test_a_setting_is_one_word_for_the_shell_whatever_it_holds(sources: Sources, host: str) -> None:
    given = words(command(with_settings(sources, {"host": host})))
    assert given[given.index("--host") + 1] == host


@pytest.mark.parametrize("host", ["x\n```\n# evil", "x\ry", "x\x1b[2J", "x\u2028y", "x\u202ey", "\x00"])
def test_a_line_break_or_control_character_stays_out_of_the_command(sources: Sources, host: str) -> None:
    with pytest.raises(InputError, match="does not go into a command") as caught:
        command(with_settings(sources, {"host": host}))
    assert caught.value.where == sources.recipe.where("settings.host")
    assert caught.value.where.startswith("recipes/models/apodex-mini/rtx-5070.yml:23")


def test_the_path_of_the_model_is_that_of_the_download(sources: Sources) -> None:
    assert model_path(sources) == "./apodex-mini/apodex_Apodex-1.1-mini-Q4_K_M.gguf"


# --- rows and threads ----------------------------------------------------------------------------


def values(sources: Sources, subject: Subject, marks: Marks) -> dict[str, Any]:
    here = situation_of(subject, sources.card, marks.book)
    return values_of(sources, subject, marks, pictures(marks.book, subject, "title"), here)


def test_every_decision_of_the_recipe_is_explained_with_its_cited_default(sources: Sources, subject: Subject, marks: Marks) -> None:
    rows = values(sources, subject, marks)["flags"]
    assert [row["text"] for row in rows] == [
        "`--no-mmproj`",
        "`-ngl 99`",
        "`-ncmoe 26`",
        "`-np 1`",
        "`-c 65536`",
        "`-ctk q8_0`",
        "`-ctv q8_0`",
        "`-fa on`",
        "`--load-mode none`",
        "`-cram 2048`",
    ]
    for row in rows:
        assert row["words"]
        assert f"https://github.com/ggml-org/llama.cpp/blob/{sources.engine.build}/" in row["default"]


def test_what_the_vendor_publishes_is_a_row_and_what_it_does_not_is_a_claim(sources: Sources, subject: Subject, marks: Marks) -> None:
    given = values(sources, subject, marks)
    assert [row["name"] for row in given["card_facts"]][:3] == ["Memory", "Memory type", "Memory bus"]
    assert not any("bandwidth" in row["name"] for row in given["card_facts"])
    assert [line.partition("</a>")[2].partition(",")[0] for line in given["not_published"]] == [
        "The vendor publishes no PCI Express lanes",
        "The vendor publishes no memory speed",
        "The vendor publishes no memory bandwidth",
    ]
