from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import InputError, MissingFileError, UnknownNameError
from generator.facts import ORIGINS, STATUSES, Fact, Facts, Lock, LockError, Source, write_whole
from generator.quantity import BYTE, SHOWN, TOKEN_PER_SECOND

MONDAY, TUESDAY, WEDNESDAY = date(2026, 8, 31), date(2026, 9, 1), date(2026, 9, 2)
SOURCE = Source("https://example.org/a", purl="pkg:huggingface/a/b@c", title="a/b: c", revision="c", sha256="00", retrieved=MONDAY)
LOCKED = Path(__file__).resolve().parents[1] / "recipes" / "models" / "apodex-mini" / "model.lock.json"


def fact(
    key: str = "a", value: object = 1, unit: str = "B", *, checked: date | None = MONDAY, source: Source = SOURCE, **more: Any
) -> Fact:
    return Fact(key, value, unit, source=source, checked=checked, **more)


# --- facts ---------------------------------------------------------------------------------------

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**15), 10**15), st.floats(allow_nan=False), st.text(max_size=20))
VALUES = st.recursive(
    SCALARS, lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(st.text(max_size=6), below, max_size=6)), max_leaves=12
)
DAYS = st.one_of(st.none(), st.dates(date(2000, 1, 1), date(2100, 1, 1)))
WORDS = st.text(max_size=12)
SOURCES = st.builds(Source, WORDS, purl=WORDS, title=WORDS, revision=WORDS, sha256=WORDS, retrieved=DAYS)
FACTS = st.builds(
    Fact,
    st.text("abc.", min_size=1, max_size=8),
    VALUES,
    unit=st.sampled_from(sorted(SHOWN)),
    origin=st.sampled_from(ORIGINS),
    source=SOURCES,
    first_seen=DAYS,
    changed=DAYS,
    checked=DAYS,
    status=st.sampled_from(STATUSES),
    note=WORDS,
)


@given(FACTS)
def test_a_fact_survives_json(fact: Fact) -> None:
    again = Fact.from_dict(fact.key, json.loads(json.dumps(fact.as_dict())))
    assert again == fact


def test_what_is_not_known_of_a_fact_is_left_out_and_its_value_never() -> None:
    assert Fact("a", None, status="not_published").as_dict() == {"value": None, "origin": "transcribed", "status": "not_published"}
    assert Fact("a", "", origin="declared").as_dict() == {"value": "", "origin": "declared", "status": "ok"}


@pytest.mark.parametrize(
    ("value", "status", "known"),
    [(1, "ok", True), (0, "ok", True), (None, "not_published", False), (1, "gone", False), (1, "changed", True)],
)
def test_a_fact_is_known_where_there_is_a_value_to_work_with(value: object, status: str, known: bool) -> None:
    assert Fact("a", value, status=status).known is known


def test_a_fact_becomes_a_quantity_in_its_base_unit_that_leads_back_to_it() -> None:
    size = fact("card.memory", 12, "GiB")
    quantity = size.quantity()
    assert (quantity.value, quantity.unit, quantity.key) == (12 * 2**30, BYTE, "card.memory")
    assert quantity.derivation.fact is size  # type: ignore[union-attr]


def test_a_decimal_fact_is_taken_as_written_and_not_as_a_binary_float() -> None:
    assert fact("speed", 64.87, "tok/s").quantity().value == Fraction(6487, 100)
    assert fact("speed", 64.87, "tok/s").quantity().unit == TOKEN_PER_SECOND
    assert type(fact("size", 0.5, "GiB").quantity().value) is int


def test_a_list_of_numbers_becomes_a_list() -> None:
    assert fact("sizes", [1, 2], "KiB").quantity().value == (1024, 2048)


@pytest.mark.parametrize("value", ["12", None, True, ["12"], [True], {"a": 1}])
def test_what_is_no_number_is_not_computed_with(value: object) -> None:
    with pytest.raises(InputError, match="fact 'a' is no number"):
        fact(value=value).quantity()


def test_a_fact_that_is_not_there_is_an_error_that_names_the_near_ones() -> None:
    facts = Facts([fact("card.memory"), fact("card.memory_bus"), fact("engine.margin")])
    with pytest.raises(UnknownNameError) as caught:
        facts["card.memry"]
    assert caught.value.near[0] == "card.memory"
    assert "did you mean 'card.memory'" in str(caught.value)


def test_facts_are_listed_laid_over_and_looked_up_by_their_keys() -> None:
    facts = Facts([fact("b.y", 1), fact("b.x", 2), fact("bb", 3)])
    assert [each.key for each in facts.under("b")] == ["b.x", "b.y"]
    assert [each.key for each in facts] == ["b.y", "b.x", "bb"]
    laid = facts.merged([fact("b.x", 9)])
    assert (laid["b.x"].value, laid["b.y"].value, len(laid)) == (9, 1, 3)
    assert facts["b.x"].value == 2
    assert "b.x" in facts and "b" not in facts


# --- the lock's text -----------------------------------------------------------------------------


@given(st.lists(FACTS, max_size=5))
def test_a_lock_written_read_and_written_again_is_the_same_bytes(tmp_path_factory: pytest.TempPathFactory, facts: list[Fact]) -> None:
    path = tmp_path_factory.mktemp("lock") / "model.lock.json"
    lock = Lock("some model", Facts(facts))
    lock.write(path)
    first = path.read_bytes()
    again = Lock.read(path)
    assert list(again.facts) == sorted(lock.facts, key=lambda each: each.key)
    assert again.text().encode() == first
    assert not again.write(path)


def test_the_committed_lock_is_what_writing_it_gives() -> None:
    assert Lock.read(LOCKED).text().encode() == LOCKED.read_bytes()


def test_the_text_of_a_lock_does_not_depend_on_the_order_its_facts_came_in() -> None:
    table = {name: {"z": 1, "a": {"y": 2, "b": 3}} for name in "edcba"}
    turned = {name: {"a": {"b": 3, "y": 2}, "z": 1} for name in "abcde"}
    one, other = [fact("b", table), fact("a", [[{"z": 1, "a": 2}]])], [fact("a", [[{"a": 2, "z": 1}]]), fact("b", turned)]
    assert Lock("m", Facts(one)).text() == Lock("m", Facts(other)).text()


def test_a_lock_has_one_fact_a_block_with_sorted_keys_and_a_row_of_a_table_a_line() -> None:
    text = Lock("m", Facts([fact("b", [["x", 1], ["y", 2]]), fact("a", 5, source=Source("https://example.org/"))])).text()
    rows = json.loads(text)
    assert list(rows["facts"]) == ["a", "b"]
    assert all(list(block) == sorted(block) for block in rows["facts"].values())
    assert '    ["x", 1],\n    ["y", 2]\n' in text
    assert text.index('"a": {') < text.index('"value": 5') < text.index('"b": {')


def test_text_outside_ascii_is_written_as_it_is() -> None:
    assert "größer als 1 µs" in Lock("m", Facts([fact(note="größer als 1 µs")])).text()


def test_a_lock_carries_the_digest_of_its_canonical_content() -> None:
    lock = Lock("m", Facts([fact("a", 5)]))
    rows = json.loads(lock.text())
    canonical = json.dumps([1, "m", rows["facts"]], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert rows["digest"] == "sha256:" + sha256(canonical.encode()).hexdigest()


# --- what cannot be trusted ----------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A small lock on disk."""
    path = tmp_path / "model.lock.json"
    Lock("m", Facts([fact("a", 5), fact("b", "text", "")])).write(path)
    return path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"value": 5', '"value": 6'),
        ('"checked": "2026-08-31"', '"checked": "2026-09-01"'),
        ("https://example.org/a", "https://example.org/b"),
        ('"subject": "m"', '"subject": "n"'),
        ('"status": "ok"', '"status": "gone"'),
        ('"a": {', '"c": {'),
        ('"digest": "sha256:', '"digest": "sha256:0'),
        ('"value": "text"', '"value": "\\ud800"'),
    ],
)
def test_an_edit_by_hand_is_noticed_and_the_remedy_given(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(LockError, match="edited by hand") as caught:
        Lock.read(path)
    assert caught.value.where == str(path)
    assert "git checkout" in caught.value.remedy and "gen lock" in caught.value.remedy
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("\x00\xff", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no lock of format 1"),
        ("7", "no lock of format 1"),
        ("{}", "no lock of format 1 (found None)"),
        ('{"format": 2}', "no lock of format 1 (found 2)"),
        ('{"format": 1}', "edited by hand"),
        ('{"format": 1, "facts": []}', "edited by hand"),
    ],
)
def test_what_is_no_lock_is_refused_naming_the_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "model.lock.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(LockError) as caught:
        Lock.read(path)
    assert message in str(caught.value)
    assert caught.value.where == str(path)
    assert caught.value.remedy


def test_a_lock_cut_anywhere_is_refused(path: Path) -> None:
    whole = path.read_text()
    for end in range(len(whole.rstrip()) - 1):
        path.write_text(whole[:end])
        with pytest.raises(LockError):
            Lock.read(path)


def test_a_lock_that_is_not_there_is_told_with_the_command_that_writes_it(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="does not exist") as caught:
        Lock.read(tmp_path / "model.lock.json")
    assert (caught.value.where, caught.value.remedy) == (str(tmp_path / "model.lock.json"), "write it with `gen lock`")


def test_a_folder_where_the_lock_should_be_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="cannot be read"):
        Lock.read(tmp_path)


def sealed(path: Path, facts: object, subject: object = "m") -> Path:
    """Write a lock with a right digest around whatever content."""
    canonical = json.dumps([1, str(subject), facts], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    rows = {"format": 1, "subject": subject, "digest": "sha256:" + sha256(canonical.encode()).hexdigest(), "facts": facts}
    path.write_text(json.dumps(rows))
    return path


@pytest.mark.parametrize(
    "block",
    [
        {},
        7,
        {"value": 1, "origin": "guessed"},
        {"value": 1, "status": "fine"},
        {"value": 1, "unit": "furlongs"},
        {"value": 1, "unit": ["B"]},
        {"value": 1, "checked": "yesterday"},
        {"value": 1, "source": {"address": "x"}},
        {"value": 1, "source": 7},
        {"value": 1, "colour": "red"},
    ],
)
def test_a_fact_that_is_not_one_is_refused_by_its_key_whatever_the_digest_says(tmp_path: Path, block: object) -> None:
    path = sealed(tmp_path / "model.lock.json", {"a.key": block})
    with pytest.raises(LockError, match=r"fact 'a\.key'") as caught:
        Lock.read(path)
    assert caught.value.where == str(path)
    assert "gen lock" in caught.value.remedy


# --- updating ------------------------------------------------------------------------------------


def test_a_new_fact_is_first_seen_when_it_was_checked() -> None:
    lock = Lock("m").updated([fact("a", checked=MONDAY), fact("b", checked=None)], TUESDAY)
    assert (lock.facts["a"].first_seen, lock.facts["b"].first_seen) == (MONDAY, TUESDAY)
    assert lock.facts["a"].changed is None


def test_an_unchanged_fact_keeps_its_first_day_and_moves_its_check() -> None:
    lock = Lock("m").updated([fact("a", 1, checked=MONDAY)], MONDAY).updated([fact("a", 1, checked=WEDNESDAY)], WEDNESDAY)
    known = lock.facts["a"]
    assert (known.first_seen, known.changed, known.checked) == (MONDAY, None, WEDNESDAY)


@pytest.mark.parametrize(
    "change", [{"value": 2}, {"unit": "kB"}, {"value": None, "status": "not_published"}, {"value": 1.5}, {"value": "1"}, {"value": True}]
)
def test_a_changed_fact_says_since_when_and_keeps_its_first_day(change: dict[str, Any]) -> None:
    lock = Lock("m").updated([fact("a", 1)], MONDAY).updated([fact("a", **({"value": 1} | change), checked=TUESDAY)], TUESDAY)
    known = lock.facts["a"]
    assert (known.first_seen, known.changed, known.checked) == (MONDAY, TUESDAY, TUESDAY)
    later = lock.updated([fact("a", **({"value": 1} | change), checked=WEDNESDAY)], WEDNESDAY).facts["a"]
    assert (later.first_seen, later.changed, later.checked) == (MONDAY, TUESDAY, WEDNESDAY)


@pytest.mark.parametrize("change", [{"note": "other"}, {"source": Source("https://example.org/moved")}, {"origin": "fetched"}])
def test_another_note_source_or_origin_is_no_change_of_value(change: dict[str, Any]) -> None:
    lock = Lock("m").updated([fact("a", 1)], MONDAY).updated([fact("a", 1, **change)], TUESDAY)
    assert lock.facts["a"].changed is None
    assert Lock("m").updated([fact("a", 1, **change)], MONDAY).facts["a"].note == lock.facts["a"].note


def test_a_table_that_was_read_back_as_lists_did_not_change(path: Path) -> None:
    table = {"sections": (1, 2), "rows": [("a", 1)]}
    lock = Lock.read(path).updated([fact("t", table)], MONDAY)
    lock.write(path)
    again = Lock.read(path).updated([fact("t", table, checked=MONDAY)], TUESDAY)
    assert again.facts["t"].changed is None
    assert again.text() == lock.text()


def test_facts_that_were_not_looked_at_stay_as_they_are() -> None:
    lock = Lock("m").updated([fact("a"), fact("b")], MONDAY).updated([fact("b", 2, checked=TUESDAY)], TUESDAY)
    assert lock.facts["a"] == fact("a", first_seen=MONDAY)


# --- writing whole -------------------------------------------------------------------------------


def test_writing_tells_whether_the_content_is_new(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "page.md"
    assert write_whole(path, "größer\n")
    assert path.read_bytes() == "größer\n".encode()
    before = path.stat().st_mtime_ns
    assert not write_whole(path, "größer\n")
    assert path.stat().st_mtime_ns == before
    assert write_whole(path, "new\n")
    assert path.read_text() == "new\n"
    assert [each.name for each in path.parent.iterdir()] == ["page.md"]


def test_what_is_written_can_be_read_by_everyone(tmp_path: Path) -> None:
    write_whole(tmp_path / "page.md", "x")
    assert stat.S_IMODE((tmp_path / "page.md").stat().st_mode) == 0o644


def _failing(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["replace", "chmod", "fdopen"])
@pytest.mark.parametrize(("fails", "error"), [(_failing, OSError), (_interrupted, KeyboardInterrupt)])
def test_a_failure_leaves_the_old_file_whole_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fails: Callable[..., None], error: type[BaseException]
) -> None:
    path = tmp_path / "model.lock.json"
    write_whole(path, "old\n")
    monkeypatch.setattr(os, name, fails)
    with pytest.raises(error):
        write_whole(path, "new\n")
    monkeypatch.undo()
    assert path.read_text() == "old\n"
    assert [each.name for each in tmp_path.iterdir()] == ["model.lock.json"]


def test_a_reader_sees_the_old_file_or_the_new_one_and_never_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.md"
    write_whole(path, "old\n")
    seen = []
    replace = os.replace

    def watched(source: str, target: Path) -> None:
        seen.append((path.read_text(), Path(source).read_text(), Path(source).parent == path.parent))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    write_whole(path, "new\n")
    assert seen == [("old\n", "new\n", True)]
    assert path.read_text() == "new\n"
