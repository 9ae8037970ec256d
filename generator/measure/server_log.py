"""llama-server's own log: the settings it started with, what it says it allocated, and the breakdown it prints when it ends.

Figures are of one context: the first that is made after the last model was loaded (a draft head's own context comes after it; a fitting
pass loads before). Builds from autumn 2026 print these lines from verbosity 4 on (`-lv 4`). Source: llama.cpp src/llama-context.cpp,
src/llama-kv-cache.cpp, src/llama-memory-recurrent.cpp, src/llama-model.cpp and `llama_memory_breakdown_print`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.errors import InputError, MissingFileError
from generator.measure.fit_output import HOST
from generator.measure.printed import LONGEST_LINE, BreakdownRow, Printed, breakdown_row, total_of

MAX_BYTES = 64 * 2**20
"""Largest log that is read."""

_SETTING = re.compile(r"llama_context: (?P<name>n_[a-z_]+|flash_attn|kv_unified) += (?P<value>\w+)\s*$")
_TYPES = re.compile(r"llama_kv_cache\w*: size = .*\bK \((?P<type_k>\w+)\): .*\bV \((?P<type_v>\w+)\): ")
_OFFLOADED = re.compile(r"load_tensors: offloaded (?P<moved>\d{1,4})/(?P<layers>\d{1,4}) layers to GPU")
_BUILD = re.compile(r"\bbuild(?:_info)?: b?(?P<number>\d{4,6})\b")
_CONTEXT = "constructing llama_context"
_TABLE = "| memory breakdown [MiB] |"
_OF_HOST = ("CPU",)


@dataclass(frozen=True, slots=True)
class ServerLog:
    """What a log says.

    `settings` are numbers and words as printed (`n_ctx`, `flash_attn`, …); `moved` is the layers on devices, of `layers`; `kv` and
    `state` are the printed totals; `devices` are the breakdown's rows of devices, `host` those of host memory (repacked weights too).
    """

    name: str
    build: str | None
    settings: Mapping[str, str]
    types: tuple[str, str] | None
    moved: int | None
    layers: int | None
    kv: Printed | None
    state: Printed | None
    devices: tuple[BreakdownRow, ...]
    host: tuple[BreakdownRow, ...]

    def as_settings(self) -> dict[str, object]:
        """Give the settings under a recipe's names. Raises InputError for a number that is none."""
        names = {"n_ctx": "n_ctx", "n_batch": "n_batch", "n_ubatch": "n_ubatch", "n_seq_max": "n_parallel"}
        found: dict[str, object] = {}
        for name, setting in names.items():
            if name in self.settings:
                found[setting] = self._number(name)
        if "kv_unified" in self.settings:
            found["kv_unified"] = self.settings["kv_unified"] == "true"
        if "flash_attn" in self.settings:
            found["flash_attn"] = {"enabled": "on", "1": "on", "disabled": "off", "0": "off"}.get(self.settings["flash_attn"], "auto")
        if self.types is not None:
            found["type_k"], found["type_v"] = self.types
        if self.moved is not None:
            found["n_gpu_layers"] = self.moved
        return found

    def _number(self, name: str) -> int:
        value = self.settings[name]
        if not value.isdecimal() or len(value) > 12:
            raise InputError(f"'{name}' is {value!r}, a whole number is expected", where=self.name)
        return int(value)


def read_log(path: Path) -> ServerLog:
    """Read a log. Raises MissingFileError, InputError for what is too large or holds neither a context nor a breakdown."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise MissingFileError(path, reason=f"cannot be read: {error.strerror}", remedy="give the log of a llama-server") from error
    if len(raw) > MAX_BYTES:
        raise InputError(f"the log is larger than {MAX_BYTES} bytes", where=str(path), remedy="cut it to one start of the server")
    return parse_log(raw.decode("utf-8", "replace"), str(path))


def parse_log(text: str, name: str) -> ServerLog:
    """Read a log's text. Raises InputError where it holds neither a context nor a breakdown."""
    lines = [line[:LONGEST_LINE].rstrip() for line in text.splitlines()]
    loaded = _last(lines, "load_tensors: offloaded")
    context = _segment(lines, loaded)
    rows = [row for line in lines[_last(lines, _TABLE) :] if (row := breakdown_row(line))] if _TABLE in text else []
    settings = {found["name"]: found["value"] for line in context if (found := _SETTING.search(line))}
    if not settings and not rows:
        raise InputError(
            "no context and no memory breakdown is in it",
            where=name,
            remedy="start llama-server with -lv 4, end it with Ctrl-C, and give all it prints",
        )
    types = next((found for line in context if (found := _TYPES.search(line))), None)
    offloaded = _OFFLOADED.search(lines[loaded]) if loaded < len(lines) else None
    build = next((found for line in lines if (found := _BUILD.search(line))), None)
    return ServerLog(
        name=name,
        build=f"b{build['number']}" if build else None,
        settings=settings,
        types=(types["type_k"], types["type_v"]) if types else None,
        moved=int(offloaded["moved"]) if offloaded else None,
        layers=int(offloaded["layers"]) if offloaded else None,
        kv=_total(context, "llama_kv_cache"),
        state=_total(context, "llama_memory_recurrent"),
        devices=tuple(row for row in rows if not _of_host(row)),
        host=tuple(row for row in rows if _of_host(row)),
    )


def _of_host(row: BreakdownRow) -> bool:
    return row.device == HOST or row.device.startswith(_OF_HOST)


def _last(lines: Sequence[str], text: str) -> int:
    """Give the place of the last line with a text, 0 where there is none."""
    return next((place for place in range(len(lines) - 1, -1, -1) if text in lines[place]), 0)


def _segment(lines: Sequence[str], start: int) -> Sequence[str]:
    """Give the lines of the first context made after a place, up to where the next is made; all of them where none says so."""
    begins = [place for place in range(start, len(lines)) if _CONTEXT in lines[place]]
    if not begins:
        return lines
    return lines[begins[0] : begins[1]] if len(begins) > 1 else lines[begins[0] :]


def _total(lines: Sequence[str], source: str) -> Printed | None:
    totals = [figure for line in lines if source in line and (figure := total_of(line))]
    return Printed.added(totals) if totals else None
