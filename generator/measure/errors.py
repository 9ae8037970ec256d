"""What goes wrong between us and an engine's program."""

from __future__ import annotations

from collections.abc import Sequence

from generator.errors import GenError, InputError

RELEASES = "https://github.com/ggml-org/llama.cpp/releases"


class EngineNotFound(InputError):
    """There is no llama-fit-params where it was looked for; the remedy says how to get one."""

    def __init__(self, program: str, where: str, build: str) -> None:
        self.program = program
        super().__init__(
            f"there is no {program} here",
            where=where,
            remedy=f"take a release ({RELEASES}/tag/{build}), or build it: cmake -B build -DGGML_RPC=ON && cmake --build build "
            "--target llama-fit-params ggml-rpc-server; then give its folder: --engine build/bin",
        )


class EngineError(GenError):
    """The engine did not answer: it ended with an error, took too long, or said what is no answer."""

    def __init__(self, problem: str, *, command: Sequence[str], said: str = "", remedy: str = "") -> None:
        self.command = tuple(command)
        self.said = said
        last = [line.strip() for line in said.splitlines() if line.strip()][-1:]
        told = f"; it says: {printable(last[0])}" if last else ""
        super().__init__(f"{problem}{told}", where=self.command[0], remedy=remedy or f"try it by hand: {' '.join(self.command)}")


def printable(text: str, longest: int = 300) -> str:
    """Give foreign text without what a terminal would obey, and not too much of it."""
    return "".join(character if character.isprintable() else "�" for character in text[:longest])
