"""How long reading a large GGUF header takes, beside the gguf package and npm's @huggingface/gguf; and `gen --help`.

    python benchmarks/gguf_header.py

The header is that of a mixture-of-experts model with 753 tensors and a tokenizer of 248,320 tokens and 247,200 merges, about 10 MB,
written by the gguf package. Each reader reads it in a process of its own; imports are not counted. The npm package is fetched
into a temporary folder and left out where there is no node. The gguf package takes half a minute.
"""

# ruff: noqa: INP001, S603, T201
from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

BLOCKS, EMBEDDING, EXPERTS, EXPERT_FF, TOKENS, MERGES = 40, 2048, 256, 512, 248_320, 247_200
NPM_PACKAGE = "@huggingface/gguf@0.4.6"
TIMES = {"gen": 15, "gguf": 1, "npm": 5}
"""How often each reader reads; the best time counts."""

REQUIRED = {"gguf": 200, "npm": 50}
"""How many times longer each is to take than ours."""

NPM_READER = r"""
import {gguf} from '@huggingface/gguf';
import {readFileSync} from 'node:fs';
const memory = (field) => {
  try { return +readFileSync('/proc/self/status', 'utf8').match(new RegExp(field + ':\\s*(\\d+)'))[1] * 1024; }
  catch { return null; }
};
const before = memory('VmRSS'), seconds = [];
for (let n = 0; n < +process.argv[3]; n++) {
  const start = performance.now();
  const read = await gguf(process.argv[2], {allowLocalFile: true});
  seconds.push((performance.now() - start) / 1000);
  if (read.tensorInfos.length !== 753) throw new Error('wrong number of tensors');
}
console.log(JSON.stringify({seconds, memory: before === null ? null : memory('VmHWM') - before}));
"""


# --- the header ----------------------------------------------------------------------------------


def write_header(path: Path) -> int:
    """Write the file, its tensor data a hole, and give the bytes before the data."""
    import numpy as np
    from gguf import GGMLQuantizationType, GGUFWriter
    from gguf.constants import GGML_QUANT_SIZES

    out = GGUFWriter(path, "qwen35moe")
    for key in ("block_count", "context_length", "embedding_length", "attention.head_count", "expert_count", "expert_used_count"):
        out.add_uint32(f"qwen35moe.{key}", 1)
    out.add_tokenizer_model("gpt2")
    out.add_token_list([f"tok{number:06d}x" for number in range(TOKENS)])
    out.add_token_types([1] * TOKENS)
    out.add_token_merges([f"tok{number:06d} x" for number in range(MERGES)])
    out.add_chat_template("{{ messages }}" * 500)
    data = 0
    for name, shape, type_name in tensors():
        kind = GGMLQuantizationType[type_name]
        elements, size = GGML_QUANT_SIZES[kind]
        nbytes = int(np.prod(shape)) // elements * size
        out.add_tensor_info(name, list(reversed(shape)), np.dtype(np.float32), nbytes, kind)
        data += -(-nbytes // 32) * 32
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_ti_data_to_file()
    out.close()
    header = -(-path.stat().st_size // 32) * 32
    with path.open("r+b") as file:
        file.truncate(header + data)
    return header


def tensors() -> list[tuple[str, tuple[int, ...], str]]:
    """Give name, shape and type of 753 tensors, like those of a hybrid mixture of experts."""
    rows: list[tuple[str, tuple[int, ...], str]] = [
        ("output.weight", (EMBEDDING, TOKENS), "Q6_K"),
        ("token_embd.weight", (EMBEDDING, TOKENS), "Q4_K"),
    ]
    for number in range(BLOCKS):
        block = f"blk.{number}"
        rows += [(f"{block}.ffn_{part}_exps.weight", (EMBEDDING, EXPERT_FF, EXPERTS), "Q4_K") for part in ("down", "gate", "up")]
        rows += [(f"{block}.attn_{part}.weight", (EMBEDDING, EMBEDDING), "Q8_0") for part in ("q", "k", "v", "output", "gate")]
        rows += [(f"{block}.ssm_{part}.weight", (EMBEDDING,), "F32") for part in ("a", "beta", "alpha", "norm", "out", "dt")]
        rows += [(f"{block}.{part}_norm.weight", (EMBEDDING,), "F32") for part in ("attn", "post_attention", "ffn", "q")]
    rows += [(f"blk.{BLOCKS}.nextn.{number}.weight", (EMBEDDING,), "F32") for number in range(753 - len(rows))]
    return rows


# --- one reader in a process of its own ----------------------------------------------------------


def measure(reader: str, path: str) -> None:
    """Read the file as often as the reader is to, and print the seconds and the memory it took at its peak, as JSON."""
    read: Callable[[], Sequence[object]]
    if reader == "gen":
        from generator.gguf import read_header

        read = lambda: read_header(path).tensors  # noqa: E731
    else:
        from gguf import GGUFReader

        read = lambda: GGUFReader(path).tensors  # noqa: E731
    before = memory("VmRSS")
    seconds = []
    for _ in range(TIMES[reader]):
        start = time.perf_counter()
        found = len(read())
        seconds.append(time.perf_counter() - start)
        if found != 753:
            raise SystemExit(f"{reader} found {found} tensors, not 753")
    print(json.dumps({"seconds": seconds, "memory": None if before is None else (memory("VmHWM") or 0) - before}))


def memory(field: str) -> int | None:
    """Give a field of this process's memory in bytes, None where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), None)


def node_command(folder: Path, path: Path) -> list[str] | str:
    """Fetch the npm package and give the command that measures it, or say why it cannot be measured."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return "there is no node on this machine"
    fetched = subprocess.run([npm, "install", "--silent", "--prefix", str(folder), NPM_PACKAGE], check=False, capture_output=True)
    if fetched.returncode:
        return f"npm could not fetch {NPM_PACKAGE}"
    script = folder / "read.mjs"
    script.write_text(NPM_READER)
    return [node, str(script), str(path), str(TIMES["npm"])]


# --- the table -----------------------------------------------------------------------------------


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "header.gguf"
        header = write_header(path)
        print(f"header of {header:,} bytes: 753 tensors, {TOKENS:,} tokens, {MERGES:,} merges\n")
        commands: dict[str, list[str] | str] = {
            reader: [sys.executable, __file__, "measure", reader, str(path)] for reader in ("gen", "gguf")
        }
        commands["npm"] = node_command(folder, path)
        print(f"{'reader':<8}{'first':>13}{'best':>13}{'peak memory':>14}{'/ header':>10}{'x ours':>9}{'required':>10}")
        ours = 0.0
        for reader, command in commands.items():
            if isinstance(command, str):
                print(f"{reader:<8}  left out: {command}")
                continue
            result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            best, peak = min(result["seconds"]), result["memory"]
            ours = ours or best
            shown = f"{peak / 1e6:11,.1f} MB{peak / header:10.2f}" if peak is not None else f"{'unknown':>14}{'':>10}"
            required = f">= {REQUIRED[reader]}" if reader in REQUIRED else "mem < 3"
            print(f"{reader:<8}{result['seconds'][0] * 1e3:10,.1f} ms{best * 1e3:10,.1f} ms{shown}{best / ours:9,.0f}{required:>10}")
        report_ranges(path, header)
    report_help()


def report_ranges(path: Path, header: int) -> None:
    """Print how many ranges of a server reading asks for, and how much beyond the header."""
    from generator.gguf import read_header

    class Counting:
        name = "counting"
        size = None
        asked = 0
        fetched = 0

        def read(self, start: int, length: int) -> bytes:
            with path.open("rb") as file:
                file.seek(start)
                given = file.read(length)
            self.asked += 1
            self.fetched += len(given)
            return given

    source = Counting()
    read_header(source)
    print(f"\nover HTTP: {source.asked} requests (at most 6), header {source.fetched - header:+,} bytes (at most +1,048,576)")


def report_help() -> None:
    """Print the time of `gen --help`, start of the interpreter and all."""
    seconds = []
    for _ in range(10):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "generator.cli", "--help"], check=False, capture_output=True)
        seconds.append(time.perf_counter() - start)
        if done.returncode:
            print("\ngen --help: not to be had here")
            return
    print(f"\ngen --help: best {min(seconds) * 1e3:.0f} ms, median {sorted(seconds)[5] * 1e3:.0f} ms (at most 250 ms)")


if __name__ == "__main__":
    measure(*sys.argv[2:]) if sys.argv[1:2] == ["measure"] else main()
