"""An engine that answers from a recording: programs of its names, which say what the real ones said."""

from __future__ import annotations

import json
import re
import shutil
import stat
import sys
from pathlib import Path

import pytest

from generator.catalog import Catalog
from generator.measure.engine import find_engine
from generator.measure.referee import Verdict, measure

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).resolve().parents[2]

FIT_PARAMS = """\
#!{python}
import json, os, pathlib, sys, time
here = pathlib.Path(__file__).parent
record = json.loads((here / "record.json").read_text())
words = sys.argv[1:]
mode = (here / "mode").read_text() if (here / "mode").exists() else ""
with (here / "calls").open("a") as calls:
    calls.write(json.dumps([words, sorted(name for name in os.environ if name.startswith("LLAMA_"))]) + "\\n")
if words == ["--version"]:
    sys.stderr.write(record["version"]["stderr"])
elif "--list-devices" in words:
    served = "--rpc" in words
    sys.stdout.write(record["devices_rpc"] if served else record.get("own_devices", record["devices"]))
else:
    at = words.index("-fitp") + 2
    flags = words[at:]
    for name, length in (("--rpc", 2), ("-dev", 2), ("--no-repack", 1)):
        if name in flags:
            place = flags.index(name)
            del flags[place : place + length]
    asked = [json.loads(line)[0] for line in (here / "calls").read_text().splitlines()]
    count = sum("-fitp" in call for call in asked)
    if mode == "garbage":
        print("Segmentation fault (but politely)")
    elif mode == "slow":
        time.sleep(60)
    elif mode == "crash" and count > 1:
        sys.stderr.write("ggml_abort: out of everything\\n")
        sys.exit(134)
    elif mode == "wait" and count > 1:
        (here / "waiting").touch()
        time.sleep(60)
    else:
        head = open(words[words.index("-m") + 1], "rb")
        assert head.read(4) == b"GGUF"
        text = record["answers"][" ".join(flags)]
        if "own_devices" in record:
            text = text.replace("RPC0", "CUDA0")
        if mode == "more":
            text = text.replace("CUDA0 8089 742", "CUDA0 8091 742").replace("RPC0 8089 742", "RPC0 8091 742")
        sys.stdout.write(text)
"""

RPC_SERVER = """\
#!{python}
import os, pathlib, socket, sys
here = pathlib.Path(__file__).parent
with (here / "servers").open("a") as servers:
    servers.write(f"{{os.getpid()}}\\n")
with socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("-p") + 1]))) as server:
    while True:
        server.accept()[0].close()
"""


def program(path: Path, text: str) -> Path:
    """Write a program."""
    path.write_text(text.replace("{python}", sys.executable).replace("{{", "{").replace("}}", "}"), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class FakeEngine:
    """A folder with the engine's programs; `mode` makes them misbehave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = json.loads((DATA / "apodex-mini.json").read_text(encoding="utf-8"))
        self.save()
        program(folder / "llama-fit-params", FIT_PARAMS)
        program(folder / "ggml-rpc-server", RPC_SERVER)

    def save(self) -> None:
        (self.folder / "record.json").write_text(json.dumps(self.record), encoding="utf-8")

    def mode(self, word: str) -> None:
        (self.folder / "mode").write_text(word, encoding="utf-8")

    def has_card(self) -> None:
        """Give the engine a device of its own."""
        self.record["own_devices"] = "Available devices:\n  CUDA0: a card (12227 MiB, 11000 MiB free)\n"
        self.save()

    @property
    def calls(self) -> list[tuple[list[str], list[str]]]:
        return [tuple(json.loads(line)) for line in (self.folder / "calls").read_text(encoding="utf-8").splitlines()]

    @property
    def servers(self) -> list[int]:
        """The processes that posed as a GPU."""
        path = self.folder / "servers"
        return [int(line) for line in path.read_text(encoding="utf-8").split()] if path.exists() else []


@pytest.fixture
def engine(tmp_path: Path) -> FakeEngine:
    folder = tmp_path / "engine"
    folder.mkdir()
    return FakeEngine(folder)


def copied(folder: Path) -> Path:
    """Copy the repository's recipes, without what an engine said."""
    shutil.copytree(ROOT / "recipes", folder / "recipes", ignore=shutil.ignore_patterns("*.measure.lock.json"))
    return folder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recipes with a ladder of one rung, so that an engine is soon through: that and the two fallbacks."""
    folder = copied(tmp_path / "repository")
    recipe = folder / "recipes/models/apodex-mini/rtx-5070.yml"
    ladder = "ladder:\n  cache: [[q8_0, q8_0]]\n  rows: [[26, 65536]]\n"
    text, count = re.subn(r"(?m)^ladder:\n(?:  .*\n)+", ladder, recipe.read_text(encoding="utf-8"))
    assert count == 1
    recipe.write_text(text, encoding="utf-8")
    monkeypatch.setenv("GEN_ROOT", str(folder))
    return folder


@pytest.fixture(scope="session")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[FakeEngine, Catalog, Verdict]:
    """The whole ladder asked once: the engine, the catalogue and the verdict. Not to be changed."""
    folder = tmp_path_factory.mktemp("answered")
    (folder / "engine").mkdir()
    fake, found = FakeEngine(folder / "engine"), Catalog.open(copied(folder / "repository"))
    return fake, found, measure(found, "apodex-mini", "rtx-5070", find_engine(str(fake.folder), "b10666"))


@pytest.fixture
def catalog(root: Path) -> Catalog:
    return Catalog.open(root)
