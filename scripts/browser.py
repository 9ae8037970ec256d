"""Open the site in the system's Chromium: build it, serve it on this machine only, launch the browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Switches that keep Chromium from asking its maker for anything."""


class NoBrowserError(Exception):
    """There is no browser to drive here, and what to install."""


def chromium() -> str:
    """Give the path of the system's Chromium or Chrome. Raises NoBrowserError where it cannot be driven."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise NoBrowserError("no Chromium on this machine (Debian: apt install chromium libatomic1)")
    driver = subprocess.run([sys.executable, "-m", "playwright", "--version"], check=False, capture_output=True, text=True)
    if driver.returncode:
        raise NoBrowserError(f"Playwright does not start (Debian: apt install libatomic1): {driver.stderr.strip()}")
    return found


def build_site(folder: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    """Build the site into `folder`; exit code and words as mkdocs leaves them: 0, or 1 on any warning."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config), "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, env=quiet, check=False, capture_output=True, text=True)


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve `folder` on the loopback address while the context lasts; give its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def browser() -> Iterator[Browser]:
    """Launch Chromium while the context lasts. Raises NoBrowserError where it cannot be driven."""
    executable = chromium()
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=list(QUIET))
        try:
            yield launched
        finally:
            launched.close()
