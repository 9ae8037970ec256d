"""The other estimators that `estimators.py` runs: how they are installed, and how a llama.cpp command line is put to each.

A peer gets the most favourable reading of a command line. What its interface has no word for it cannot say, and that is counted as
such and not as an error; what it has a word for and gets wrong is an error.
"""

# ruff: noqa: INP001, S603
from __future__ import annotations

import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

LLAMA_MDL = "llama-mdl==0.14.0"
NODE_LLAMA_CPP, NODE_VERSION = "node-llama-cpp", "3.22.1"
HERE = Path(__file__).resolve().parent

VALUED = frozenset(
    "-ngl -c -ctk -ctv -fa -b -ub -np -ncmoe -ncffn -ot -sm -ts --spec-type --spec-draft-n-max".split()  # noqa: SIM905
)
SWITCHES = frozenset({"-kvu", "-nkvo", "-cmoe", "--swa-full", "--no-op-offload"})
SERVER_SLOTS = 4
"""How many slots llama-server opens where none are asked for; they share one cache."""

MDL_SILENT = frozenset("-ot -ncffn -nkvo --no-op-offload --spec-draft-n-max -sm -ts".split())  # noqa: SIM905
NODE_SILENT = MDL_SILENT | {"-ncmoe", "-cmoe", "--spec-type"}


def flags_of(text: str) -> dict[str, str]:
    """Give the flags of a recorded command line with their values, "" for a switch. Raises ValueError for one that is not known."""
    words = iter(shlex.split(text))
    found = {}
    for word in words:
        if word not in VALUED | SWITCHES:
            raise ValueError(f"the benchmark does not know the flag {word}")
        found[word] = next(words) if word in VALUED else ""
    return found


def for_llama_mdl(text: str, program: str, gpus: int) -> dict[str, object] | str:
    """Give the arguments of `mdl_fit.model.Flags` for a command line, or why llama-mdl cannot say.

    They are what its own `parse_argv` reads, but for the slots that llama-server opens unasked, which are spelt out for it; a context
    of 0 means the trained one, and the driver puts that in. What `parse_argv` skips or notes as not modelled, it cannot say.
    """
    flags = flags_of(text)
    if gpus > 1:
        return "two devices"
    for flag in flags:
        if flag in MDL_SILENT:
            return flag
    if flags.get("--spec-type", "draft-mtp") != "draft-mtp":
        return f"--spec-type {flags['--spec-type']}"
    slots, unified = slots_of(flags, program)
    return {
        "ngl": int(flags["-ngl"]),
        "ctx": int(flags["-c"]),
        "ctk": flags["-ctk"],
        "ctv": flags["-ctv"],
        "fa": flags["-fa"] != "off",
        "b": int(flags["-b"]),
        "ub": int(flags["-ub"]),
        "np": slots,
        "kvu": unified,
        "ncmoe": 999 if "-cmoe" in flags else int(flags.get("-ncmoe", 0)),
        "swa_full": "--swa-full" in flags,
        "mtp": "--spec-type" in flags,
    }


def for_node_llama_cpp(text: str, program: str, gpus: int) -> dict[str, object] | str:
    """Give the options of `GgufInsights` for a command line, or why node-llama-cpp cannot say.

    Its context size is that of one sequence, its sequences never share a cache, and its batch size is the engine's micro-batch (it sets
    `n_ubatch = n_batch`), which its own default cuts to the context. A null context size means the trained one; the driver puts that
    in, and cuts the layers to those there are, as the library does.
    """
    flags = flags_of(text)
    if gpus > 1:
        return "two devices"
    for flag in flags:
        if flag in NODE_SILENT:
            return flag
    slots, unified = slots_of(flags, program)
    if unified and slots > 1:
        return "-kvu" if "-kvu" in flags else "llama-server's four slots"
    context = -(-int(flags["-c"]) // slots) or None
    batch = min(int(flags["-b"]), int(flags["-ub"]))
    return {
        "gpuLayers": int(flags["-ngl"]) if gpus else 0,
        "contextSize": context,
        "sequences": slots,
        "batchSize": min(batch, context * slots) if context else batch,
        "flashAttention": flags["-fa"] != "off",
        "swaFullCache": "--swa-full" in flags,
        "kvCacheKeyType": flags["-ctk"].upper(),
        "kvCacheValueType": flags["-ctv"].upper(),
    }


def slots_of(flags: dict[str, str], program: str) -> tuple[int, bool]:
    """Give how many sequences a command line runs and whether they share one cache."""
    if "-np" in flags or program != "llama-server":
        return int(flags.get("-np", 1)), "-kvu" in flags
    return SERVER_SLOTS, True


# --- installing and running ----------------------------------------------------------------------


def install(folder: Path) -> None:
    """Put both peers under a folder, unless they are there: a virtual environment and node_modules. No script of a package is run."""
    folder.mkdir(parents=True, exist_ok=True)
    if not mdl_python(folder).exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        pip = [str(mdl_python(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        subprocess.run([*pip, LLAMA_MDL], check=True)
    npm = shutil.which("npm")
    if npm and not (folder / "node_modules" / NODE_LLAMA_CPP).exists():
        packages = [f"{NODE_LLAMA_CPP}@{NODE_VERSION}", f"@node-llama-cpp/{binary_name()}@{NODE_VERSION}"]
        quiet = ["--silent", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--omit=optional"]
        subprocess.run([npm, "install", "--prefix", str(folder), *quiet, *packages], check=True)


def binary_name() -> str:
    """Give npm's name of node-llama-cpp's prebuilt engine for this machine's processor alone."""
    if sys.platform == "darwin":
        return "mac-arm64-metal" if platform.machine() == "arm64" else "mac-x64"
    return "linux-arm64" if platform.machine() == "aarch64" else "linux-x64"


def mdl_python(folder: Path) -> Path:
    """Give the interpreter that llama-mdl is installed for."""
    return folder / "venv/bin/python"


def commands(folder: Path) -> dict[str, list[str]]:
    """Give the command that answers a list of jobs, by peer. Each gets a file of jobs as its last argument."""
    node = shutil.which("node")
    found = {"llama-mdl": [str(mdl_python(folder)), str(HERE / "estimators_mdl.py")]}
    if node and (folder / "node_modules" / NODE_LLAMA_CPP).exists():
        found["node-llama-cpp"] = [node, str(HERE / "estimators.mjs"), str(folder.resolve())]
    return found


PUT = {"llama-mdl": for_llama_mdl, "node-llama-cpp": for_node_llama_cpp}
"""How a command line is put to each."""
