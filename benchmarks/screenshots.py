"""Screenshots of the page for the documents: light, dark, phone width.

    python benchmarks/screenshots.py MODEL [MODEL] [--word WORD] [--out docs/serve]

The dark one compares two models if two are given, the others show the first alone. Needs
playwright and Debian's chromium.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from serving import served

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from browser.chromium import launch

PICTURES = {
    # name: colour scheme, width, height, compare
    "light": ("light", 1100, 720, False),
    "dark": ("dark", 1100, 720, True),
    "phone": ("light", 390, 800, False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--word", default="psychology")
    parser.add_argument("--out", type=Path, default=Path("docs/serve"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    names = [Path(model.partition("=")[0]).name for model in arguments.models]

    with served(arguments.models) as address, sync_playwright() as playwright:
        browser = launch(playwright)
        for name, (scheme, width, height, compare) in PICTURES.items():
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme=scheme,  # type: ignore[arg-type]
                device_scale_factor=2,
            )
            query = {"word": arguments.word, "model": names[0]}
            if compare and len(names) > 1:
                query["with"] = names[1]
            page.goto(f"{address}/?{urlencode(query)}")
            # The cell that the arrow keys start from: the first symbol's most probable origin.
            starts = page.locator("[role=gridcell][tabindex='0']")
            starts.last.wait_for()
            starts.first.hover()
            page.screenshot(path=arguments.out / f"{name}.png", full_page=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
