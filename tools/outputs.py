"""Run the commands of documentation pages in full and write their output into the pages.

    python tools/outputs.py docs/start/pronunciation.md [PAGE ...]

Tests run the same commands on less data (tests/docs/test_commands.py) and cannot check the figures.
Only output that a page shows is replaced: the text around it must be checked by hand.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:[^$].*\n)*)", re.MULTILINE)
DOWNLOADS = ("hardalign corpora fetch", "conll2017/danish", "wikidata-names")


def output(line: str, folder: Path) -> str:
    """Returns the standard output of a line of bash."""
    print(f"$ {line}", flush=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return result.stdout


def renewed(text: str, folder: Path) -> str:
    """Returns a page with its commands' current output."""

    def command(match: re.Match[str]) -> str:
        line, shown = match.groups()
        if any(name in line for name in DOWNLOADS):
            return match[0]
        printed = output(line, folder)
        return f"$ {line}\n{printed if shown else ''}"

    def block(match: re.Match[str]) -> str:
        language, body = match.groups()
        if language == "console":
            return f"```console\n{COMMAND.sub(command, body)}```"
        subprocess.run([sys.executable, "-c", body], cwd=folder, check=True)
        return match[0]

    return FENCE.sub(block, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, nargs="+")
    for page in parser.parse_args().pages:
        with tempfile.TemporaryDirectory() as folder:
            data = ROOT / "docs/data"
            shutil.copytree(data, Path(folder) / data.relative_to(ROOT))
            page.write_text(renewed(page.read_text("utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
