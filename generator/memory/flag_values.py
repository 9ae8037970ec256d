"""Readers of flag values: what llama.cpp makes of the words after a flag, and what it refuses there (common/arg.cpp).

Each reader is given a flag's use and the name of the setting it sizes, and gives the setting's value. It raises RefusedSettings
where the engine stops, and FlagValueError where the engine goes on with a value nobody meant: C++'s `stoi` reads `32k` as 32.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from generator.errors import quoted
from generator.memory.flags import AUTO_WORDS, FALSE_WORDS, TRUE_WORDS, Use
from generator.memory.overrides import DENSE, EXPERTS, Override

Reader: TypeAlias = Callable[[Use, str], Any]

INT_MAX = 2**31 - 1
FLOAT_MAX = 3.4028235e38
FLOAT_MIN = 1.1754944e-38

MAX_DEVICES = 16
"""`llama_max_devices` of src/llama.cpp; -ts and -fitt must name fewer."""


def text(use: Use, setting: str) -> str:  # noqa: ARG001 -- a reader
    """Take the value as it is."""
    return use.values[0]


def listed(use: Use, setting: str) -> tuple[str]:  # noqa: ARG001 -- a reader
    """Take the value as it is, to be appended to those of earlier flags."""
    return (use.values[0],)


def scaled_adapters(use: Use, setting: str) -> tuple[str]:
    """Take the value of --lora-scaled as it is if every adapter of it has a scale."""
    if any(len(part.split(":")) != 2 for part in _fields(use, setting)):
        raise use.refused(setting, "FNAME:SCALE, several with commas between them")
    return (use.values[0],)


def model_overrides(use: Use, setting: str) -> tuple[str, ...]:
    """Read metadata overrides, one `key=type:value` each (common/common.cpp, `string_parse_kv_override`)."""
    parts = _fields(use, setting)
    if any(re.match(r"[^=]{0,127}=(?:int:|float:|str:.{0,127}\Z|bool:(?:true|false)\Z)", part, re.DOTALL) is None for part in parts):
        raise use.refused(setting, "key=type:value with a type of int, float, bool or str, several with commas between them")
    return tuple(parts)


def switched_on(use: Use, setting: str) -> bool:  # noqa: ARG001 -- a reader
    """Give True for a switch's plain name and False for one that negates it."""
    return not use.negates


def switched_off(use: Use, setting: str) -> bool:  # noqa: ARG001 -- a reader
    """Give True for the name that negates a switch."""
    return use.negates


def whole(use: Use, setting: str) -> int:
    """Read a whole number of 32 bits."""
    accepted = "a whole number, written out"
    found = re.match(r"\s*([+-]?[0-9]+)", use.values[0])
    if found is None or len(found[1]) > 20 or not -INT_MAX - 1 <= int(found[1]) <= INT_MAX:
        raise use.refused(setting, accepted)
    if found.end() != len(use.values[0]):
        raise use.misread(f"llama.cpp reads '{use.values[0]}' as {int(found[1])}", accepted)
    return int(found[1])


def count(use: Use, setting: str) -> int:
    """Read a whole number that the engine keeps without a sign."""
    number = whole(use, setting)
    if number < 0:
        raise use.misread(f"llama.cpp reads {number} as {number + 2**32}", "a whole number from 0 up")
    return number


def between(low: int, high: int) -> Reader:
    """Make a reader of whole numbers within bounds that the engine itself checks."""

    def read(use: Use, setting: str) -> int:
        number = whole(use, setting)
        if not low <= number <= high:
            raise use.refused(setting, f"a whole number from {low} up" if high == INT_MAX else f"a whole number from {low} to {high}")
        return number

    return read


def layers(use: Use, setting: str) -> int | Literal["auto", "all"]:
    """Read a number of layers to offload: -1 is auto and anything below is all (common/common.h, `n_gpu_layers`)."""
    if use.values[0] == "auto" or use.values[0] == "all":
        return "auto" if use.values[0] == "auto" else "all"
    if not re.match(r"\s*[+-]?[0-9]", use.values[0]):
        raise use.refused(setting, "a whole number, 'auto' or 'all'")
    number = whole(use, setting)
    if number < 0:
        return "auto" if number == -1 else "all"
    return number


def choice(use: Use, setting: str) -> str:
    """Read one of the values that the flag's help lists, letter for letter."""
    if use.values[0] not in use.flag.choices:
        raise use.refused(setting, quoted(use.flag.choices))
    return use.values[0]


def switch_word(use: Use, setting: str) -> Literal["on", "off", "auto"]:
    """Read on, off or, where the flag allows it, auto, by any of the engine's words for them."""
    value = use.values[0]
    if value in TRUE_WORDS:
        return "on"
    if value in FALSE_WORDS:
        return "off"
    if value in AUTO_WORDS and "auto" in use.flag.choices:
        return "auto"
    raise use.refused(setting, quoted(use.flag.choices))


def on_word(use: Use, setting: str) -> bool:
    """Read on or off as a truth value."""
    return switch_word(use, setting) == "on"


def device_names(use: Use, setting: str) -> tuple[str, ...]:
    """Read a list of devices, or `none` alone. Whether there are such devices is not known here."""
    names = tuple(use.values[0].split(","))
    if "" in names or (len(names) > 1 and "none" in names):
        raise use.refused(setting, "names of devices with commas between them, or 'none' alone")
    return names


def proportions(use: Use, setting: str) -> tuple[Fraction, ...]:
    """Read the shares of -ts, divided by commas or slashes, as exact ratios."""
    return tuple(_share(use, setting, part) for part in _parts(use, setting))


def margins(use: Use, setting: str) -> tuple[int, ...]:
    """Read -fitt: MiB a device, or one number for all of them."""
    parts = _parts(use, setting)
    if any(re.match(r"\s*[+-]?[0-9]", part) is None for part in parts):
        raise use.refused(setting, "whole numbers of MiB")
    if any(re.fullmatch(r"\s*\+?[0-9]{1,13}", part) is None for part in parts):
        raise use.misread(f"llama.cpp reads '{use.values[0]}' as other numbers", "whole numbers of MiB")
    return tuple(int(part) for part in parts)


def speculative_types(use: Use, setting: str) -> tuple[str, ...]:
    """Read kinds of speculative decoding; `none` ends the list and empties it (common/speculative.cpp)."""
    names: list[str] = []
    for name in use.values[0].split(","):
        if name == "none":
            return ()
        if name not in use.flag.choices:
            raise use.refused(setting, quoted(use.flag.choices))
        names.append(name)
    return tuple(names)


def tensor_overrides(use: Use, setting: str) -> tuple[Override, ...]:
    """Read -ot: `pattern=buffer type`, several with commas between them. Which buffer types there are is not known here."""
    overrides = []
    for part in use.values[0].split(","):
        pattern, equals, buffer_type = part.partition("=")
        if not equals or not buffer_type:
            raise use.refused(setting, "a pattern, '=' and a buffer type, such as exps=CPU")
        overrides.append(Override(_pattern(use, setting, pattern), buffer_type))
    return tuple(overrides)


def experts_on_host(use: Use, setting: str) -> tuple[Override, ...]:
    """Read -cmoe, or -ncmoe and its number of blocks; no entry for 0 blocks."""
    return _blocks_on_host(use, setting, EXPERTS)


def dense_on_host(use: Use, setting: str) -> tuple[Override, ...]:
    """Read -ncffn and its number of blocks; no entry for 0 blocks."""
    return _blocks_on_host(use, setting, DENSE)


def _blocks_on_host(use: Use, setting: str, pattern: str) -> tuple[Override, ...]:
    if not use.values:
        return (Override(pattern),)
    blocks = between(0, INT_MAX)(use, setting)
    return (Override(pattern, blocks=blocks),) if blocks else ()


_REGEX_TOKEN = re.compile(r"\\.|\[(?P<empty>\^?\])?(?:\\.|[^\]\\])*\]|\(\?[:=!]|\{[0-9]+(?:,[0-9]*)?\}|(?P<refused>\(\?.?|\{)|.", re.DOTALL)
"""What a pattern is made of, as far as the engine's std::regex (ECMAScript) reads it otherwise than we do."""

_OTHER_ESCAPES = (r"\A", r"\Z", r"\N", r"\U")


def _pattern(use: Use, setting: str, pattern: str) -> str:
    """Give a pattern back that means the same here as in the engine's std::regex."""
    for token in _REGEX_TOKEN.finditer(pattern):
        if token["refused"]:
            raise use.refused(setting, f"a regular expression of ECMAScript; '{pattern}' is none at '{token[0]}'")
        if token["empty"] or token[0] in _OTHER_ESCAPES:
            raise use.misread(f"'{token[0]}' in '{pattern}' means another thing to llama.cpp", "an expression without it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            re.compile(pattern)
    except FutureWarning as warning:
        raise use.misread(f"the brackets of '{pattern}' mean another thing here: {warning}", "simple ranges such as [0-9]") from warning
    except (re.error, RecursionError, OverflowError) as error:
        raise use.refused(setting, f"a regular expression; '{pattern}' is none: {error}") from error
    return pattern


def _fields(use: Use, setting: str) -> list[str]:
    """Split at commas, with quotation marks around an item that has one (common/arg.cpp, `parse_csv_row`)."""
    try:
        return next(csv.reader([use.values[0]]), [""]) or [""]
    except csv.Error as error:
        raise use.refused(setting, f"items with commas between them: {error}") from error


def _parts(use: Use, setting: str) -> list[str]:
    """Split at runs of commas and slashes; a last empty part does not count (`std::sregex_token_iterator`)."""
    parts = re.split(r"[,/]+", use.values[0])
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    if len(parts) >= MAX_DEVICES:
        raise use.refused(setting, f"fewer than {MAX_DEVICES} numbers")
    return parts


def _share(use: Use, setting: str, part: str) -> Fraction:
    accepted = "numbers with commas between them, such as 3,1"
    found = re.match(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", part)
    if found is None:
        raise use.refused(setting, accepted)
    share = float(found[0])
    if abs(share) > FLOAT_MAX or 0 < abs(share) < FLOAT_MIN:
        raise use.refused(setting, accepted)
    if found.end() != len(part):
        raise use.misread(f"'{part}' goes on after the number {share:g}", accepted)
    return Fraction(repr(share))
