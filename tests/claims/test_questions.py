from __future__ import annotations

from pathlib import Path

from generator.catalog import Catalog
from generator.claims.questions import questions

SAMPLE = Path(__file__).parents[1] / "catalogue"


def test_the_files_of_a_repository_are_asked_for_and_one_of_the_readers_making_is_not() -> None:
    assert Catalog.open(SAMPLE).model("tiny").quant("Q8_0").converted
    found = {each.key for each in questions(Catalog.open(SAMPLE), [("tiny", "tiny-8")]) if each.ask.kind == "hub_file"}
    assert found == {f"file.{quant}.{field}" for quant in ("q4_k_m", "iq2_m") for field in ("size", "sha256")}
