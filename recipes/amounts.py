"""A plan for learning curves: runs on the first words of a training file.

    python recipes/amounts.py NETtalk.train NETtalk.dev NETtalk.test spaced runs/amounts
    hardalign reproduce runs/amounts/plan.toml --out runs/amounts/runs

Each amount is run with both recipes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hardalign.files import make_folder, write_bytes

AMOUNTS = (100, 300, 1000, 3000, 10_000)
PLAN = """
systems = ["hard-hmm"]
corpora = [{corpora}]
overrides = {{ recipe = ["auto", "paper"] }}
"""
DATA = """
[data.first-{amount}]
train = "{amount}.tsv"
dev = "{dev}"
test = "{test}"
format = "{format}"
"""


def main() -> None:
    """Writes the files and the plan to the folder given on the command line."""
    train, dev, test = (Path(name).absolute() for name in sys.argv[1:4])
    layout, folder = sys.argv[4], Path(sys.argv[5])
    lines = train.read_text("utf-8").splitlines(keepends=True)
    make_folder(folder)
    plan = [PLAN.format(corpora=", ".join(f'"first-{amount}"' for amount in AMOUNTS))]
    for amount in AMOUNTS:
        write_bytes(folder / f"{amount}.tsv", "".join(lines[:amount]).encode())
        plan.append(DATA.format(amount=amount, dev=dev, test=test, format=layout))
    write_bytes(folder / "plan.toml", "".join(plan).encode())


if __name__ == "__main__":
    main()
