from __future__ import annotations

import pytest

from generator.errors import InputError
from generator.memory.builds import Build, Builds


def test_builds_are_ordered_by_number_then_by_version_and_no_name_is_the_newest() -> None:
    names = ["b9010", "b10666", "v0.4.0", "v0.5.0", "v0.10.0", None]
    assert sorted(map(Build.named, reversed(names))) == [Build.named(name) for name in names]


def test_a_range_has_its_first_build_and_not_the_one_it_ends_before() -> None:
    held = [name for name in ("b10666", "v0.4.0", "v0.4.9", "v0.5.0") if Build.named(name) in Builds(since="v0.4.0", until="v0.5.0")]
    assert held == ["v0.4.0", "v0.4.9"]
    assert Build.named(None) in Builds(since="v0.5.0")
    assert Build.named("b1") in Builds(until="v0.5.0")


@pytest.mark.parametrize("name", ["", "latest", "10666", "b10666-dirty", "v0.5"])
def test_what_names_no_build_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="names no build"):
        Build.named(name)
