"""Plot accuracy by amount of data and by training time, for runs of `recipes/amounts.py`.

    python benchmarks/amounts.py runs/amounts/runs --all RUN --words 17008 --output docs/amounts.svg

also prints a table. Time is for training and validation, as recorded in the runs.
"""

from __future__ import annotations

import argparse
from itertools import accumulate
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from hardalign.experiments.run import Result, epochs_of, read_result, read_results

COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#000000")
MARKERS = "osD^vP"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, help="folder of the runs, corpora first-100 and so on")
    parser.add_argument("--all", type=Path, required=True, help="a run on all words")
    parser.add_argument("--words", type=int, required=True, help="their number")
    parser.add_argument("--output", type=Path, required=True, help="an SVG file")
    options = parser.parse_args()
    named = [(options.runs / result.run.name, result) for result in read_results(options.runs)]
    named.append((options.all, read_result(options.all)))
    rows = sorted(
        (amount_of(result, options.words), recipe_of(result), folder, result)
        for folder, result in named
    )
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    print("| words | recipe | WER | epochs | seconds |\n|---|---|---|---|---|")
    for amount, recipe, _, result in rows:
        figures = f"{result.metrics['wer']:.1f} | {result.epochs} | {result.seconds:.0f}"
        print(f"| {amount:,} | {recipe} | {figures} |")
    for recipe, style in zip(sorted({row[1] for row in rows}), ("o-", "s--"), strict=False):
        points = [(row[0], row[3].metrics["acc"]) for row in rows if row[1] == recipe]
        left.plot(
            *zip(*points, strict=True),
            style,
            color=COLOURS[0 if style == "o-" else 4],
            ms=4,
            label=f"recipe {recipe}",
        )
    plain = [row for row in rows if row[1] == "auto"]
    for (amount, _, folder, _), colour, marker in zip(plain, COLOURS, MARKERS, strict=False):
        epochs = epochs_of(folder)
        seconds = list(accumulate(row["seconds"] for row in epochs))
        right.plot(
            seconds,
            [row["dev_acc"] for row in epochs],
            marker + "-",
            color=colour,
            ms=3,
            label=f"{amount:,} words",
        )
    label(left, "training words", "words of the test set right, %")
    label(right, "seconds of training", "words of the development set right, %")
    FigureCanvasSVG(figure).print_svg(options.output, metadata={"Date": None})


def amount_of(result: Result, words: int) -> int:
    """Returns the number of training words of a run."""
    name = result.run.corpus
    return int(name.removeprefix("first-")) if name.startswith("first-") else words


def recipe_of(result: Result) -> str:
    """Return a run's recipe; the default of plans is the paper's."""
    return str(result.run.overrides.get("recipe", "paper"))


def label(axis: Axes, across: str, up: str) -> None:
    """Sets a panel's scale, labels and legend."""
    axis.set_xscale("log")
    axis.set_ylim(0, 80)
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    main()
