"""A process that runs commands in children of its own, for a test to kill: they start at once, with everything imported.

It reads one JSON object a line: `words` of the command, `root` of the project, `log` for what is printed, `places` (a real address and
where it is played; "" for the rest of the web), and `kill` (with which write to die, and whether before or after its rename) or null. It
answers with the child's pid, and when that has ended with its exit status, negative for a signal.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from generator import cli, nightly
from generator.sources.hub_client import hub_library


class Elsewhere(HTTPAdapter):
    """Sends requests for real addresses to where they are played."""

    def __init__(self, places: dict[str, str]) -> None:
        super().__init__()
        self._places = places

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        real = str(request.url)
        host = urlsplit(real).netloc
        there = request.copy()
        there.url = (
            self._places[host] + real.partition(host)[2] if host in self._places else f"{self._places['']}/{real.partition('://')[2]}"
        )
        response = super().send(there, *args, **kwargs)
        response.url, response.request = real, request
        return response


def main() -> None:
    """Serve until there is no more to read."""
    hub_library().HfApi  # noqa: B018  a lazy import
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            run(asked)
        answer(pid)
        _, status = os.waitpid(pid, 0)
        answer(os.waitstatus_to_exitcode(status))


def answer(number: int) -> None:
    """Write a number to the one who asked."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def run(asked: dict[str, Any]) -> None:
    """Run a command, and end the process."""
    with Path(asked["log"]).open("w", encoding="utf-8") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.environ["GEN_ROOT"] = asked["root"]
    opened = nightly.open_live

    def open_live(root: Path) -> Any:
        live, session = opened(root)
        session._http.mount("https://", Elsewhere(asked["places"]))
        return live, session

    nightly.open_live = open_live
    number, when = asked["kill"] or (0, "")
    written = die_at(number, when)
    code = cli.main(asked["words"])
    sys.stdout.flush()
    Path(asked["log"] + ".writes").write_text(str(len(written)), encoding="utf-8")
    os._exit(code)


def die_at(number: int, when: str) -> list[str]:
    """Be killed with a certain rename of a written file; give the list of files that are written."""
    rename, written = os.replace, list[str]()

    def replace(source: str, target: str) -> None:
        written.append(str(target))
        last = len(written) == number
        if last and when == "before":
            os.truncate(source, Path(source).stat().st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        rename(source, target)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = replace  # type: ignore[assignment]
    return written


if __name__ == "__main__":
    main()
