"""Training curves of some model folders on one plot: development log-likelihood by epoch."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="that `hardalign train` wrote")
    parser.add_argument("--output", type=Path, required=True, help="an SVG file")
    options = parser.parse_args()
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axis = figure.subplots()
    for folder, style in zip(options.folders, ("o-", "s--", "^:", "d-."), strict=False):
        system = json.loads((folder / "config.json").read_text())["model"]["system"]
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        epochs = [row["epoch"] for row in rows]
        axis.plot(epochs, [row["dev_log_likelihood"] for row in rows], style, ms=4, label=system)
    axis.set_xlabel("epoch")
    axis.set_ylabel("development log p(y | x) per word, nats")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)
    axis.legend()
    FigureCanvasSVG(figure).print_svg(options.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
