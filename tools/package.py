"""``make package``: build wheel and source distribution, test both in empty environments.

    python tools/package.py [--out dist]

Each is installed with its four dependencies only: prediction must need no more.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = "import hardalign; print(hardalign.load('en-g2p')('action').text)"


def run(*command: object, text: str | None = None) -> str:
    """Return what a command prints; stop if it fails."""
    print("$", *command, flush=True)
    return subprocess.run(
        list(map(str, command)), input=text, stdout=subprocess.PIPE, encoding="utf-8", check=True
    ).stdout


def smoke_test(archive: Path) -> None:
    """Install an archive in an empty environment and predict a pronunciation, twice."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder, "Scripts" if sys.platform == "win32" else "bin")
        pins = ROOT / "requirements/constraints.txt"
        run(programs / "pip", "install", "--quiet", "--constraint", pins, archive)
        said = run(programs / "hardalign", "predict", "en-g2p", "-", text="action\n")
        assert said == "action\tAE1 K SH AH0 N\n", said
        said = run(programs / "python", "-c", PYTHON)
        assert said == "AE1 K SH AH0 N\n", said
        installed = run(programs / "pip", "list", "--format", "freeze")
        assert "torch" not in installed, installed
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB, works")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as built:
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", built, ROOT)
        archives = sorted(Path(built).iterdir())
        assert [archive.suffix for archive in archives] == [".whl", ".gz"], archives
        for archive in archives:
            smoke_test(archive)
        out.mkdir(exist_ok=True)
        for archive in archives:
            (out / archive.name).write_bytes(archive.read_bytes())


if __name__ == "__main__":
    main()
