from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader, GGUFWriter

from generator.gguf import read_header, read_sharded, shard_names
from generator.gguf.errors import DuplicateTensor, IncompleteSet, ShardMismatch
from tests.gguf.raw import INT32, STRING, UINT16, File, Memory, Row, Typed


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """Give a set of three files, two tensors and a bit in each but the last, written by the gguf package."""
    out = GGUFWriter(tmp_path / "model.gguf", "llama", split_max_tensors=2)
    out.add_uint32("llama.block_count", 4)
    for number in range(5):
        out.add_tensor(f"blk.{number}.w", np.zeros((number + 1, 8), np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    found = sorted(tmp_path.glob("*.gguf"))
    assert [path.name for path in found] == [f"model-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    return found


def test_a_set_is_one_inventory_whichever_file_is_named(shards: list[Path]) -> None:
    for path in shards:
        model = read_sharded(path)
        theirs = [(t.name, number, int(t.n_bytes)) for number, file in enumerate(shards) for t in GGUFReader(file).tensors]
        assert [(t.name, t.shard, t.nbytes) for t in model.tensors] == theirs
        assert model.architecture == "llama"
        assert model.get("block_count") == 4
        assert model.file_sizes == tuple(file.stat().st_size for file in shards)
        assert model.tensor_bytes == 32 * (1 + 2 + 3 + 4 + 5)
        assert [len(shard.tensors) for shard in model.shards] == [2, 2, 1]


def test_a_set_may_be_given_as_sources_in_any_order(shards: list[Path]) -> None:
    sources = [Memory(path.read_bytes()) for path in reversed(shards)]
    assert read_sharded(sources).tensors == read_sharded(shards[0]).tensors


def test_one_file_of_a_set_can_be_read_alone(shards: list[Path]) -> None:
    assert [t.name for t in read_header(shards[1]).tensors] == ["blk.2.w", "blk.3.w"]


def test_a_model_in_one_file_is_a_set_of_one(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(File([("general.architecture", Typed(STRING, "llama"))], [Row("t")], data=bytes(128)).bytes())
    model = read_sharded(path)
    assert (model.tensors, model.metadata) == (read_header(path).tensors, read_header(path).metadata)
    assert len(model.shards) == 1


def test_missing_files_are_named(shards: list[Path]) -> None:
    shards[0].unlink()
    shards[2].unlink()
    with pytest.raises(IncompleteSet, match="download every file") as caught:
        read_sharded(shards[1])
    assert caught.value.missing == ("model-00001-of-00003.gguf", "model-00003-of-00003.gguf")


def test_missing_sources_are_named(shards: list[Path]) -> None:
    with pytest.raises(IncompleteSet) as by_name:
        read_sharded([shards[0], shards[2]])
    assert by_name.value.missing == ("model-00002-of-00003.gguf",)
    with pytest.raises(IncompleteSet) as by_number:
        read_sharded([Memory(shards[2].read_bytes())])
    assert by_number.value.missing == ("file 1 of 3", "file 2 of 3")
    with pytest.raises(IncompleteSet):
        read_sharded([])


def test_a_shard_under_another_name_is_found_out(shards: list[Path]) -> None:
    lone = shards[1].rename(shards[1].with_name("renamed.gguf"))
    with pytest.raises(IncompleteSet) as caught:
        read_sharded(lone)
    assert caught.value.missing == ("file 1 of 3", "file 3 of 3")


def test_the_same_file_under_two_names_is_found_out(shards: list[Path]) -> None:
    shards[2].write_bytes(shards[1].read_bytes())
    with pytest.raises(ShardMismatch) as caught:
        read_sharded(shards[0])
    assert (caught.value.key, caught.value.found) == ("split.no", 1)


def shard(number: int, count: int, tensors: int, *rows: Row) -> Memory:
    places = [("split.no", UINT16, number), ("split.count", UINT16, count), ("split.tensors.count", INT32, tensors)]
    return Memory(File([(key, Typed(kind, value)) for key, kind, value in places], list(rows), data=bytes(256)).bytes())


def test_files_of_sets_of_different_sizes_do_not_belong_together() -> None:
    with pytest.raises(ShardMismatch) as caught:
        read_sharded([shard(0, 2, 2, Row("a")), shard(1, 3, 2, Row("b"))])
    assert (caught.value.key, caught.value.found, caught.value.expected) == ("split.count", 3, 2)


def test_a_set_without_all_its_tensors_is_refused() -> None:
    with pytest.raises(ShardMismatch) as caught:
        read_sharded([shard(0, 2, 3, Row("a")), shard(1, 2, 3, Row("b"))])
    assert (caught.value.key, caught.value.found, caught.value.expected) == ("split.tensors.count", 3, 2)


def test_a_tensor_in_two_files_is_refused() -> None:
    with pytest.raises(DuplicateTensor) as caught:
        read_sharded([shard(0, 2, 2, Row("a")), shard(1, 2, 2, Row("a"))])
    assert caught.value.tensor == "a"


def test_files_without_a_place_in_a_set_do_not_make_one() -> None:
    plain = File(rows=[Row("a")], data=bytes(128)).bytes()
    with pytest.raises(ShardMismatch):
        read_sharded([Memory(plain), Memory(plain)])


def test_names_of_a_set_follow_from_any_of_them() -> None:
    names = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")
    assert shard_names(names[0]) == shard_names(names[1]) == names
    assert shard_names("model.gguf") == ("model.gguf",)
    assert shard_names("m-00003-of-00002.gguf") == ("m-00003-of-00002.gguf",)
    assert shard_names("m-00000-of-00000.gguf") == ("m-00000-of-00000.gguf",)
