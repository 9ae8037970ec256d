from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from generator.claims.recheck import Night, write_locks
from generator.claims.state import State
from generator.facts import Fact, Lock, Source


@pytest.mark.parametrize(
    ("place", "subject"), [("models/tiny/model.lock.json", "tiny"), ("cards/tiny-8.lock.json", "cards/tiny-8")], ids=["model", "card"]
)
def test_a_first_answer_makes_the_lock_of_what_it_is_of(place: str, subject: str, tmp_path: Path) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    size = Fact("file.q4_k_m.size", 1000, "B", source=Source("https://example.org"))
    written = write_locks(Night(datetime(2026, 12, 1, tzinfo=UTC), changed={path: [size]}), State.read(tmp_path / "state.json"))
    assert written == [path]
    assert Lock.read(path).subject == subject
    assert Lock.read(path).facts["file.q4_k_m.size"].value == 1000
