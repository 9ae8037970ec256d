"""Take the pictures of the README: `.venv/bin/python -m scripts.screenshots` writes docs/guide.png.

Needs Chromium and the test extra; builds the site from what lies in site/.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from scripts.browser import ROOT, NoBrowserError, browser, build_site, served

GUIDE = "guides/apodex-mini/rtx-5070/"


def main() -> int:
    """Write the pictures and say where; give 1 where there is no browser or the site does not build."""
    picture = ROOT / "docs" / "guide.png"
    with tempfile.TemporaryDirectory() as folder:
        built = build_site(Path(folder))
        if built.returncode:
            print(built.stderr, file=sys.stderr)
            return 1
        try:
            with served(Path(folder)) as address, browser() as launched:
                page = launched.new_page(viewport={"width": 1280, "height": 1080}, color_scheme="light", reduced_motion="reduce")
                page.goto(f"{address}/{GUIDE}", wait_until="networkidle")
                page.screenshot(path=picture)
        except NoBrowserError as error:
            print(error, file=sys.stderr)
            return 1
    print(picture.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
