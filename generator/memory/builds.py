"""Builds of the engine in their order, for rules that changed between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from generator.errors import InputError

_NUMBERED = re.compile(r"b(\d+)")
_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True, order=True)
class Build:
    """A build as its place in the order: numbered ones (b10666) first, then the versions that followed them (v0.5.0)."""

    place: tuple[int, ...]

    @staticmethod
    @cache
    def named(name: str | None) -> Build:
        """Give the build of a name, the newest for None. Raises InputError for what names no build."""
        if name is None:
            return Build((2,))
        numbered, version = _NUMBERED.fullmatch(name), _VERSION.fullmatch(name)
        if numbered:
            return Build((0, int(numbered[1])))
        if version:
            return Build((1, *map(int, version.groups())))
        raise InputError(
            f"'{name}' names no build of the engine", remedy="give a numbered build such as b10666, or a version such as v0.5.0"
        )


@dataclass(frozen=True, slots=True)
class Builds:
    """A range of builds that a rule holds for: from `since` on, before `until`; None leaves an end open."""

    since: str | None = None
    until: str | None = None

    def __contains__(self, build: Build) -> bool:
        return (self.since is None or Build.named(self.since) <= build) and (self.until is None or build < Build.named(self.until))
