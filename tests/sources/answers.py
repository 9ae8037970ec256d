"""Answers that several tests let the server give."""

from __future__ import annotations

import json

from tests.sources.server import Answer, Server

JSON = {"Content-Type": "application/json; charset=utf-8"}
HTML = {"Content-Type": "text/html; charset=utf-8"}
GOOD = Answer(200, JSON, b'{"good": true}')
UNICORN = b"<!DOCTYPE html><html><body>We are having a problem</body></html>"


def other_name(server: Server) -> str:
    """Give the server's address under another name, so that it is another host to a client."""
    return server.address.replace("127.0.0.1", "localhost")


def answered(value: object, **headers: str) -> Answer:
    """Give an answer in JSON."""
    return Answer(200, {"Content-Type": "application/json", **headers}, json.dumps(value).encode())
