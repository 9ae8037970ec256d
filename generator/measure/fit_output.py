"""What llama-fit-params prints with `-fitp on`: a line a device, then the host's: name, model, context and compute in whole MiB cut off.

Source: llama.cpp common/fit.cpp, `common_fit_print`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from generator.measure.errors import printable

HOST = "Host"

_LINE = re.compile(r"(?P<device>\S{1,64}) (?P<weights>\d{1,9}) (?P<context>\d{1,9}) (?P<compute>\d{1,9})")


@dataclass(frozen=True, slots=True)
class Reading:
    """One device's memory as an engine prints it, in MiB cut off: weights, context (cache and state), compute buffers."""

    device: str
    weights: int
    context: int
    compute: int


class NoAnswer(ValueError):
    """What was printed is not what llama-fit-params prints."""


def readings_of(text: str) -> tuple[Reading, ...]:
    """Give the devices' readings in the order printed, the host last. Raises NoAnswer, which quotes what cannot be read."""
    readings = []
    for line in text.splitlines():
        if not line.strip():
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise NoAnswer(f"no line of a device: {printable(line.strip(), 100)!r}")
        readings.append(Reading(found["device"], *(int(found[name]) for name in ("weights", "context", "compute"))))
    names = [reading.device for reading in readings]
    if not readings or names[-1] != HOST or len(set(names)) != len(names):
        raise NoAnswer(f"devices and at last '{HOST}' are expected, each once; found {', '.join(map(printable, names)) or 'nothing'}")
    return tuple(readings)
