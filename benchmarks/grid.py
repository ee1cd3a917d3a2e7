"""How much faster two workers finish a grid than one: python benchmarks/grid.py

Four equal runs by `hardalign reproduce`, with one worker and with two, on a machine that should
have nothing else to do. The aim is at most 0.6 of the time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLAN = """
systems = ["hard"]
corpora = ["toy:reduplication"]
seeds = [0, 1, 2, 3]
overrides = { words = 4000, epochs = 3 }
"""
AIM = 0.6


def seconds(folder: Path, workers: int) -> float:
    plan, out = folder / "plan.toml", folder / str(workers)
    plan.write_text(PLAN)
    command = [sys.executable, "-m", "hardalign", "reproduce"]
    started = time.perf_counter()
    subprocess.run([*command, plan, "--out", out, "--workers", str(workers)], check=True)
    return time.perf_counter() - started


def main() -> None:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        one, two = (seconds(Path(folder), workers) for workers in (1, 2))
    print(f"1 worker   {one:6.1f} s\n2 workers  {two:6.1f} s\nratio      {two / one:6.2f}")
    if two / one > AIM:
        sys.exit(f"more than {AIM}")


if __name__ == "__main__":
    main()
