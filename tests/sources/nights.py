"""Sessions against the emulator."""

from __future__ import annotations

import requests

from generator.sources.session import Session
from generator.sources.validators import Validators
from tests.emulator import Clock, Emulator


def new_session(emulator: Emulator, validators: Validators) -> Session:
    """Give the session of another run, by the emulator's clock, to which every https address is one of the emulator's."""
    assert isinstance(emulator.clock, Clock)
    http = requests.Session()
    emulator.mount(http)
    return Session(validators, sleep=emulator.clock.sleep, clock=emulator.clock, chance=lambda: 0.5, http=http)
