"""``make hashes``: write requirements/hashes.txt, the sha256 of every pinned version's files.

Development and CI install from it with ``pip --require-hashes``, the build backend included. Wheels
for other Pythons and rare platforms are left out. PyTorch is too: machines without a GPU take it
from another index, whose files differ.
"""

from __future__ import annotations

import re
import sys
import urllib.parse
import urllib.request
from pathlib import Path

INDEX = "https://pypi.org/simple"
LEFT_OUT = ("torch",)
PINS, HASHES = Path("requirements/constraints.txt"), Path("requirements/hashes.txt")
SUPPORTED = re.compile(r"-(py3|py2\.py3|cp3\d+-abi3|cp31[123]-cp31[123])-|-none-(?!any)")
RARE = re.compile(r"musllinux|i686|win32|armv|ppc64|s390x|riscv|loongarch|ios|android|wasm|arm64e")
LINK = re.compile(r'href="[^"]*/([^"/#]+)#sha256=([0-9a-f]{64})"')


def main() -> None:
    """Read the pins, ask the index for their files, write the hashes."""
    lines = ["# Made by `make hashes` from constraints.txt; do not edit."]
    for pin in PINS.read_text().split():
        name, _, version = pin.partition("==")
        if name.lower() in LEFT_OUT:
            continue
        page = urllib.request.urlopen(f"{INDEX}/{canonical(name)}/", timeout=60).read().decode()
        sums = sorted({found for file, found in LINK.findall(page) if is_of(file, name, version)})
        if not sums:
            sys.exit(f"{pin}: no such files on {INDEX}")
        lines.append(" \\\n    ".join([pin, *(f"--hash=sha256:{one}" for one in sums)]))
    HASHES.write_text("\n".join(lines) + "\n")


def canonical(name: str) -> str:
    """Return a project's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_of(file: str, name: str, version: str) -> bool:
    """Tell whether a file is a source archive, or a wheel we support, of that version."""
    file = urllib.parse.unquote(file).removesuffix(".tar.gz").removesuffix(".zip")
    if file.endswith(".whl"):
        project, found, *_ = file.split("-")
        if RARE.search(file) or not SUPPORTED.search(file):
            return False
    else:
        project, _, found = file.rpartition("-")
    return canonical(project) == canonical(name) and found == version


if __name__ == "__main__":
    main()
