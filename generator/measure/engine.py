"""An engine on this machine: its programs, its build, its devices, and asking it what it would allocate.

Programs are run without a shell, without the environment's LLAMA_ARG_… (which are flags in disguise), and for a limited time.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from types import FrameType
from typing import NoReturn

from generator.measure.errors import EngineError, EngineNotFound, printable
from generator.sources.loopback import LOOPBACK, free_port, is_served

FIT_PARAMS = "llama-fit-params"
RPC_SERVER = "ggml-rpc-server"

PATIENCE = 300.0
"""Seconds that one question may take; seconds are usual."""

STARTING = 20.0
"""Seconds that a server which poses as a GPU may take to serve."""

NO_REPACK = "--no-repack"
"""A card's host buffers leave weights as they are; without them the engine repacks what the CPU computes, and prints it nowhere."""

MOST_SAID = 16 * 2**20
"""Bytes that an answer may have; some hundred are usual, and megabytes where a program warns a lot."""

TRIES = 3

_VERSION = re.compile(r"^version: (?P<text>(?P<name>[\w.+-]+)(?: \((?P<rest>[^)]*)\))?)", re.MULTILINE)
_NUMBERS = re.compile(r"b\d+$|v\d+\.\d+\.\d+(?=$|[-+])")
_DEVICE = re.compile(r"^ +(?P<name>[A-Za-z_]\w*): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Version:
    """What a program says of itself: `name` is its build (b10666) or version (v0.5.0-dev), `text` all it says."""

    name: str
    text: str

    @property
    def rules(self) -> str | None:
        """The build whose memory rules it follows, without what follows a version's numbers; None where that is no build."""
        found = _NUMBERS.match(self.name)
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine's programs in one folder."""

    fit_params: Path
    patience: float = field(default=PATIENCE, compare=False)

    @property
    def rpc_server(self) -> Path:
        """Where the program that poses as a GPU is, whether or not it is there."""
        return self.fit_params.with_name(RPC_SERVER)

    def version(self) -> Version:
        """Give what the program says of its build. Raises EngineError."""
        command = [str(self.fit_params), "--version"]
        ended = self._run(command)
        found = _VERSION.search(ended.stderr + ended.stdout)
        if found is None:
            raise EngineError("it does not say its version", command=command, said=ended.stderr or ended.stdout)
        name = found["name"]
        return Version(f"b{name}" if name.isdecimal() else f"v{name.removeprefix('v')}", printable(found["text"], 120))

    def devices(self, *extra: str) -> list[str]:
        """Give the names of the devices it would use beside the host. Raises EngineError."""
        command = [str(self.fit_params), *extra, "--list-devices"]
        ended = self._run(command)
        if ended.returncode:
            raise EngineError("it cannot list its devices", command=command, said=ended.stderr)
        return [found["name"] for found in _DEVICE.finditer(ended.stdout)]

    def ask(self, model: Path, flags: Sequence[str]) -> str:
        """Give what llama-fit-params prints of a model under some flags. Raises EngineError."""
        ended, command = self._run(self.question(model, flags)), self.question(Path(model.name), flags)
        if ended.returncode:
            reason = f"was ended by signal {-ended.returncode}" if ended.returncode < 0 else f"ended with code {ended.returncode}"
            raise EngineError(f"it {reason}", command=command, said=ended.stderr or ended.stdout)
        return ended.stdout

    def question(self, model: Path, flags: Sequence[str]) -> list[str]:
        """Give the command that asks."""
        return [str(self.fit_params), "-m", str(model), "-fitp", "on", *flags]

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        process = _started(command, said=True)
        try:
            out, err = (said.decode(errors="replace") for said in _said(process, self.patience))
        except subprocess.TimeoutExpired as error:
            raise EngineError(f"it gave no answer within {self.patience:g} seconds", command=command) from error
        except _TooMuch as error:
            raise EngineError(f"it says more than {MOST_SAID // 2**20} MiB, which is no answer", command=command) from error
        finally:
            _end_all(process)
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def find_engine(given: str | None, build: str, *, patience: float = PATIENCE) -> Engine:
    """Give the engine in a folder, behind a program, or on the PATH where nothing is given. Raises EngineNotFound.

    `build` is the one the error names for getting it.
    """
    if given is None:
        found = shutil.which(FIT_PARAMS)
        if found is None:
            raise EngineNotFound(FIT_PARAMS, "PATH", build)
        return Engine(Path(found), patience)
    path = Path(given)
    program = path / FIT_PARAMS if path.is_dir() else path
    if not program.is_file() or program.name != FIT_PARAMS or not os.access(program, os.X_OK):
        raise EngineNotFound(FIT_PARAMS, given, build)
    return Engine(program.absolute(), patience)


class _TooMuch(Exception):
    """A program that does not stop talking."""


def _said(process: subprocess.Popen[bytes], patience: float) -> tuple[bytes, bytes]:
    """Give what a program says until it ends, on either stream. Raises TimeoutExpired, and _TooMuch before memory is at stake."""
    assert process.stdout is not None
    assert process.stderr is not None
    give_up = monotonic() + patience
    out, err = bytearray(), bytearray()
    with selectors.DefaultSelector() as open_streams:
        open_streams.register(process.stdout, selectors.EVENT_READ, out)
        open_streams.register(process.stderr, selectors.EVENT_READ, err)
        while open_streams.get_map():
            left = give_up - monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, patience)
            for stream, _ in open_streams.select(left):
                piece = os.read(stream.fd, 65536)
                stream.data.extend(piece)
                if not piece:
                    open_streams.unregister(stream.fileobj)
                if len(stream.data) > MOST_SAID:
                    raise _TooMuch
    process.wait(max(give_up - monotonic(), 0))
    return bytes(out), bytes(err)


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End a program that has not ended, and all that it started, which are in a session of their own."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _environment() -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LLAMA_ARG_")}
    return kept | {"LC_ALL": "C", "GGML_NO_BACKTRACE": "1"}


# --- a device ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeviceFlags:
    """The device that stands for the card: its name, and the flags that make the engine use it alone."""

    name: str
    flags: tuple[str, ...]
    posed: bool


@contextmanager
def one_device(engine: Engine, build: str) -> Iterator[DeviceFlags]:
    """Give the engine's first device, or where it has none, a server on the CPU that poses as one, until the block ends.

    The server is ended however the block is left. Raises EngineError, EngineNotFound.
    """
    names = engine.devices()
    if names:
        yield DeviceFlags(names[0], ("-dev", names[0]), posed=False)
        return
    if not engine.rpc_server.is_file():
        raise EngineNotFound(RPC_SERVER, f"{engine.rpc_server.parent}, and {FIT_PARAMS} finds no device to stand for the card", build)
    with _serving(engine) as address:
        names = engine.devices("--rpc", address)
        if not names:
            command = [str(engine.fit_params), "--rpc", address, "--list-devices"]
            raise EngineError("the server that poses as a GPU is no device to it", command=command)
        yield DeviceFlags(names[0], ("--rpc", address, NO_REPACK), posed=True)


@contextmanager
def _serving(engine: Engine) -> Iterator[str]:
    """Run the server at a free port of this machine, and give its address once it is served."""
    command = [str(engine.rpc_server)]
    for _ in range(TRIES):
        port = free_port()
        command = [str(engine.rpc_server), "-H", LOOPBACK, "-p", str(port)]
        process = _started(command)
        try:
            if _answers(process, port):
                yield f"{LOOPBACK}:{port}"
                return
        finally:
            _end(process)
    raise EngineError(f"it serves at none of {TRIES} ports tried", command=command)


def _started(command: Sequence[str], *, said: bool = False) -> subprocess.Popen[bytes]:
    """Start a program, in a session of its own where what it says is read. Raises EngineError."""
    stream = subprocess.PIPE if said else subprocess.DEVNULL
    try:
        return subprocess.Popen(  # noqa: S603  no shell, and a program the user named, or one beside it
            command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=_environment(), start_new_session=said
        )
    except OSError as error:
        raise EngineError(f"it cannot be run: {error.strerror}", command=command, remedy="is it a program for this machine?") from error


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the server's port is served; False where it ended, as it does when its port was taken, or never gets there."""
    give_up = monotonic() + STARTING
    while process.poll() is None and monotonic() < give_up:
        if is_served(port):
            return process.poll() is None
        sleep(0.02)
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Make SIGTERM and a closed terminal's SIGHUP an exception while the block runs, so that what was started or made is tidied up.

    Only a main thread can. A signal that is ignored, as SIGHUP is under nohup, stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        for number, handler in before.items():
            if handler != signal.SIG_IGN:
                signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
