"""How the cost of a training step grows with length, alphabet and batch size: table and plot."""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from hardalign.config import SIZES
from hardalign.data.vocabulary import BEGIN, END, RESERVED, Alphabet, Encoded, Vocabulary
from hardalign.systems.network import Network, collate

SWEEPS = {
    "length": [4, 8, 16, 32, 64],
    "alphabet": [40, 160, 640, 2500, 4000],
    "batch": [1, 5, 20, 50, 100],
}
"""What grows; the rest stays at 12 symbols, 40 letters, batch 20."""


def pairs(length: int, alphabet: int, batch: int) -> tuple[Vocabulary, list[Encoded]]:
    """Random words."""
    letters = tuple(map(str, range(alphabet)))
    draw = random.Random(0)

    def word() -> list[int]:
        return [draw.randrange(RESERVED, RESERVED + alphabet) for _ in range(length)]

    words = [Encoded([BEGIN, *word(), END], 0, [*word(), END]) for _ in range(batch)]
    return Vocabulary(Alphabet(letters), Alphabet(letters)), words


def measure(system: str, length: int, alphabet: int, batch: int) -> tuple[float, float]:
    """Milliseconds per word of loss and gradient, and the megabytes that they needed at most."""
    vocabulary, words = pairs(length, alphabet, batch)
    model = Network(replace(SIZES["small"], system=system), vocabulary)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    data = collate(words)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(3):
        start = time.perf_counter()
        model.loss(data).mean().backward()
        times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return min(times) / batch * 1000, peak / 1024


def apart(system: str, sizes: dict[str, int]) -> tuple[float, float]:
    """The same in a process of its own, because peak memory never falls."""
    arguments = [system, *(str(sizes[name]) for name in ("length", "alphabet", "batch"))]
    command = [sys.executable, __file__, "--one", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    milliseconds, megabytes = map(float, result.stdout.split())
    return milliseconds, megabytes


def plot(found: dict[tuple[str, str], list[float]], path: Path) -> None:
    """One panel per sweep, both axes logarithmic."""
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    axes: Sequence = figure.subplots(1, len(SWEEPS), sharey=True)
    for axis, (name, values) in zip(axes, SWEEPS.items(), strict=True):
        for system, style in (("hard", "o-"), ("soft", "s--")):
            axis.loglog(values, found[name, system], style, label=system)
        axis.set_xlabel({"length": "|x| = |y|", "alphabet": "|Σ|", "batch": "batch size"}[name])
        axis.set_xticks(values, map(str, values), fontsize=8, rotation=30)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("ms per word, forward and backward")
    axes[0].legend()
    FigureCanvasSVG(figure).print_svg(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/growth.svg"))
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.one:
        print(*measure(options.one[0], *map(int, options.one[1:])))
        return
    found: dict[tuple[str, str], list[float]] = {}
    for name, values in SWEEPS.items():
        print(f"\n{name:<10}{'hard ms/word':>14}{'soft ms/word':>14}{'ratio':>7}{'hard MB':>9}")
        for value in values:
            sizes = {"length": 12, "alphabet": 40, "batch": 20, name: value}
            (hard, memory), (soft, _) = (apart(system, sizes) for system in ("hard", "soft"))
            found.setdefault((name, "hard"), []).append(hard)
            found.setdefault((name, "soft"), []).append(soft)
            print(f"{value:<10}{hard:>14.2f}{soft:>14.2f}{hard / soft:>7.2f}{memory:>9.0f}")
    plot(found, options.output)


if __name__ == "__main__":
    main()
