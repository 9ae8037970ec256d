"""Ports of this machine, for a program that is started here and spoken to over them. Nothing leaves the machine."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """Give a TCP port that nobody serves just now; another program may take it before it is used."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_served(port: int) -> bool:
    """Tell whether somebody accepts connections at a port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((LOOPBACK, port)) == 0
