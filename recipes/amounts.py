"""Accuracy against the amount of data: a plan of runs on the first words of a training file.

    python recipes/amounts.py NETtalk.train NETtalk.dev NETtalk.test spaced runs/amounts
    hardalign reproduce runs/amounts/plan.toml --out runs/amounts/runs

Every amount is tried as it is, and up to ``FEW`` examples with more dropout too.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hardalign.config import ModelConfig, default_batch_size
from hardalign.files import make_folder, write_bytes

AMOUNTS = (100, 300, 1000, 3000, 10_000)
FEW = 3000
DROPOUT = 0.4

GRID = """
[[grid]]
systems = ["hard-hmm"]
corpora = ["first-{amount}"]
overrides = {{ batch_size = {batch}, dropout = {dropout} }}
"""
DATA = """
[data.first-{amount}]
train = "{amount}.tsv"
dev = "{dev}"
test = "{test}"
format = "{format}"
"""


def main() -> None:
    """Writes the files and the plan into the folder that the command line names."""
    train, dev, test = (Path(name).absolute() for name in sys.argv[1:4])
    layout, folder = sys.argv[4], Path(sys.argv[5])
    lines = train.read_text("utf-8").splitlines(keepends=True)
    make_folder(folder)
    plan = []
    for amount in AMOUNTS:
        write_bytes(folder / f"{amount}.tsv", "".join(lines[:amount]).encode())
        plan.append(DATA.format(amount=amount, dev=dev, test=test, format=layout))
        usual = ModelConfig.dropout
        for dropout in (usual, DROPOUT) if amount <= FEW else (usual,):
            batch = default_batch_size(amount)
            plan.append(GRID.format(amount=amount, batch=batch, dropout=dropout))
    write_bytes(folder / "plan.toml", "".join(plan).encode())


if __name__ == "__main__":
    main()
