"""``make hashes``: hashes.txt, every pinned version with the sha256 of all its files on PyPI.

The environments of development and CI are installed from it, so that a file that was exchanged on
the way is refused. PyTorch is not in it: machines without a GPU take it from another index, whose
files are others.
"""

from __future__ import annotations

import re
import sys
import urllib.parse
import urllib.request
from pathlib import Path

INDEX = "https://pypi.org/simple"
LEFT_OUT = ("torch",)
LINK = re.compile(r'href="[^"]*/([^"/#]+)#sha256=([0-9a-f]{64})"')


def main() -> None:
    """Reads constraints.txt, asks the index, writes hashes.txt."""
    lines = ["# Made by `make hashes` from constraints.txt; do not edit."]
    for pin in Path("constraints.txt").read_text().split():
        name, _, version = pin.partition("==")
        if name.lower() in LEFT_OUT:
            continue
        page = urllib.request.urlopen(f"{INDEX}/{canonical(name)}/", timeout=60).read().decode()
        sums = sorted({found for file, found in LINK.findall(page) if is_of(file, name, version)})
        if not sums:
            sys.exit(f"{pin}: no such files on {INDEX}")
        lines.append(" \\\n    ".join([pin, *(f"--hash=sha256:{one}" for one in sums)]))
    Path("hashes.txt").write_text("\n".join(lines) + "\n")


def canonical(name: str) -> str:
    """Returns a project's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_of(file: str, name: str, version: str) -> bool:
    """Tells whether a file is a wheel or source archive of that version."""
    file = urllib.parse.unquote(file).removesuffix(".tar.gz").removesuffix(".zip")
    if file.endswith(".whl"):
        project, found, *_ = file.split("-")
    else:
        project, _, found = file.rpartition("-")
    return canonical(project) == canonical(name) and found == version


if __name__ == "__main__":
    main()
