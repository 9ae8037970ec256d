"""The words of `gen measure`."""

from __future__ import annotations

import argparse

HELP = """
Ask a built engine what it would allocate for a recipe, and write its figures into the lock beside ours. No weights are needed: its
allocation pass reads a header and the file's length.

  gen measure apodex-mini rtx-5070 --engine build/bin
  gen measure apodex-mini rtx-5070 --log server.log --build b10666
  gen measure apodex-mini rtx-5070 --log server.log -- -ncmoe 24
  gen measure --cases FOLDER

Exit 0 when weights and context agree (with --cases: cache and state of every complete case), 3 when not.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a model of the catalogue")
    parser.add_argument("card", nargs="?", metavar="CARD", help="a card of the catalogue")
    parser.add_argument("--engine", metavar="PATH", help="folder with llama-fit-params, or the program itself (default: on the PATH)")
    parser.add_argument(
        "--header", metavar="FILE", help="the model's header: a GGUF file or its head, or 'hub' to read it there (default: from the lock)"
    )
    parser.add_argument("--log", metavar="FILE", help="read a llama-server's log instead of asking an engine")
    parser.add_argument("--build", metavar="BUILD", help="the build that wrote the log, where it does not say")
    parser.add_argument("--cases", metavar="FOLDER", help="compare our arithmetic with recorded runs instead")
