"""What a ledger says of an estimate: every figure goes back to values of the configuration and to the size of the file."""

from __future__ import annotations

from datetime import date

from generator.config.estimate import Estimate, estimated
from generator.facts import Fact, Facts, Source
from generator.guide.ledger import Book, Ledger
from tests.config.heads import DAY, config_of, facts_of_config, header

WHOLE = Source("", title="config in model.yml")
CODE = Source("https://example.org/code")
SIZE = Fact("file.q4_k_m.size", 5027783488, "B", source=Source("https://example.org/files"), checked=date(2026, 8, 30))


def estimate(*, is_converted: bool = False) -> Estimate:
    facts = facts_of_config(config_of(header("qwen3-8b")) | {"attention.head_count_kv": [8] * 36})
    facts = [Fact(each.key, each.value, source=CODE, checked=DAY) if each.key == "config.block_count" else each for each in facts]
    quant = "Q8_0" if is_converted else "Q4_K_M"
    return estimated("qwen3", Facts([*facts, SIZE]), quant, WHOLE, where="model.yml", is_converted=is_converted)


def ledger(found: Estimate) -> Ledger:
    book = Book()
    book.add("header.block_count", found.model.number("block_count"))
    book.add("header.attention.head_count_kv.7", found.model.per_block("attention.head_count_kv", 7))
    book.add("weights.file", found.size.quantity())
    book.add("weights.tensors", found.model.size_of(found.model.tensors, "every tensor of the file"))
    return Ledger.of({}, book, (), Facts())


def test_a_hyperparameter_has_the_source_of_its_own_value() -> None:
    rows = ledger(estimate())
    for key, source in (("header.block_count", CODE), ("header.attention.head_count_kv.7", Source("https://example.org/config.json"))):
        assert (rows[key].kind, rows[key].sources, rows[key].checked) == ("transcribed", (source,), DAY)


def test_shared_out_bytes_follow_from_the_size_and_the_shape() -> None:
    rows = ledger(estimate())
    assert rows["weights.tensors"].inputs == ("estimate.q4_k_m.tensors",)
    table = rows["estimate.q4_k_m.tensors"]
    assert (table.kind, table.display, table.sources, table.checked) == ("derived", "399", (), date(2026, 8, 30))
    shape: tuple[str, ...] = (
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.value_length",
        "block_count",
    )
    shape += ("context_length", "embedding_length", "feed_forward_length", "vocab_size")
    assert {*table.inputs} >= {"file.q4_k_m.size", *(f"config.{name}" for name in shape)}
    assert rows["config.block_count"].sources == (CODE,)
    assert rows["config.vocab_size"].display == "151,936"
    assert "151936" in str(rows["config.vocab_size"].as_dict()["value"])


def test_a_converted_files_size_follows_from_the_shape_alone() -> None:
    rows = ledger(estimate(is_converted=True))
    for key in ("file.q8_0.size", "estimate.q8_0.tensors"):
        assert rows[key].kind == "derived"
        assert {each.partition(".")[0] for each in rows[key].inputs} == {"config"}
    assert "file.q4_k_m.size" not in rows.rows
