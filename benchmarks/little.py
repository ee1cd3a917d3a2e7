"""What little data gives: accuracy against training examples and time; table and plot.

    HARDALIGN_DATA=DIR python benchmarks/little.py run RUNS curve quechua low
    python benchmarks/little.py show RUNS --output docs/data.svg

`run` trains what is not there yet, goes on with what was interrupted, and looks at a test set
once, when a model is complete. `show` needs its results only.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RESULTS = "little.jsonl"
LOW = ("ady", "gre", "ice", "ita", "khm")
SCORES = ("one_dev", "one_test", "all_dev", "all_test")
CURVE = (100, 300, 1000, 3000, 10_000)


@dataclass(frozen=True)
class Task:
    """One model, and what it learns from."""

    name: str
    train: str
    dev: str
    test: str
    format: str
    examples: int | None
    """How many of the training examples, from the first on; None for all."""
    members: int
    options: dict[str, Any] = field(default_factory=dict)
    """Of ``hardalign.train``."""


def tasks(group: str) -> Iterator[Task]:
    """Gives the models of a group."""
    if group == "curve":
        parts = [f"g2p/NETtalk.{part}" for part in ("train", "dev", "test")]
        for examples in CURVE:
            members, options = 5 if examples <= 1000 else 1, {"system": "hard-monotonic"}
            yield Task(f"NETtalk-{examples}", *parts, "spaced", examples, members, options)
    elif group == "quechua":
        parts = [f"conll2017/quechua-{part}" for part in ("train-high", "dev", "uncovered-test")]
        for examples in (90, 540):
            for invent in (0, 1500):
                options = {"system": "hard", "invent": invent, "copying": True}
                name = f"quechua-{examples}-{invent}"
                yield Task(name, *parts, "sigmorphon", examples, 1, options)
    elif group == "low":
        for language in LOW:
            parts = [f"sig2021-g2p/{language}_{part}.tsv" for part in ("train", "dev", "test")]
            yield Task(language, *parts, "lexicon", None, 5, {"system": "hard-monotonic"})
    else:
        raise SystemExit(f"no group is called {group}; there are curve, quechua, low")


def run(task: Task, data: Path, out: Path) -> dict[str, Any]:
    """Trains a model, or several, and evaluates them: the first of them alone, and all together."""
    import hardalign
    from hardalign.data.example import evaluation_items
    from hardalign.data.formats import FORMATS
    from hardalign.data.reading import read_examples
    from hardalign.decoding import Search
    from hardalign.metrics import evaluate

    layout = FORMATS[task.format]
    train, dev = (
        list(read_examples(data / file, layout, "training")) for file in (task.train, task.dev)
    )
    train = train[: task.examples]
    started = time.process_time()
    folder = out / task.name
    settings = {"format": layout, "threads": 1, "resume": True, "members": task.members}
    model = hardalign.train(train, dev, out=folder, **settings, **task.options)
    seconds = time.process_time() - started
    first = hardalign.load(folder / "member-0") if task.members > 1 else model
    parts = {"dev": dev, "test": list(read_examples(data / task.test, layout, "evaluation"))}
    scores = {}
    for name, predictor in (("one", first), ("all", model)):
        for part, examples in parts.items():
            items = evaluation_items(examples)
            words = [best.symbols for (best,) in predictor.answers(items, Search())]
            scores[f"{name}_{part}"] = evaluate(words, [item.targets for item in items]).acc
    return {**asdict(task), "examples": len(train), "cpu_seconds": seconds, **scores}


def show(results: list[dict[str, Any]], output: Path) -> None:
    """Prints a table, and draws the curve."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    print("| data | examples | members | CPU seconds | one dev | one test | all dev | all test |")
    print("|---" * 8 + "|")
    for one in results:
        scores = " | ".join(f"{one[key]:.1f}" for key in SCORES)
        print(
            f"| {one['name']} | {one['examples']} | {one['members']} "
            f"| {one['cpu_seconds']:.0f} | {scores} |"
        )
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    curve = [one for one in results if one["name"].startswith("NETtalk")]
    fives = [one for one in curve if one["members"] == 5]
    for axis, label, style, points in (
        (left, "one model", "o-", [(one["examples"], one["one_test"]) for one in curve]),
        (left, "five members", "s--", [(one["examples"], one["all_test"]) for one in fives]),
        (right, "one model", "o-", [(_seconds(one), one["one_test"]) for one in curve]),
        (right, "five members", "s--", [(one["cpu_seconds"], one["all_test"]) for one in fives]),
    ):
        axis.semilogx(*zip(*sorted(points), strict=True), style, label=label)
        axis.grid(alpha=0.3)
    left.set_xlabel("training words")
    right.set_xlabel("seconds of training, one core")
    left.set_ylabel("words right, %")
    left.legend()
    FigureCanvasSVG(figure).print_svg(output, metadata={"Date": None})


def _seconds(result: dict[str, Any]) -> float:
    """Returns what one of the members took, in the mean."""
    return float(result["cpu_seconds"] / result["members"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "show"))
    parser.add_argument("runs", type=Path)
    parser.add_argument("groups", nargs="*", default=["curve", "quechua", "low"])
    parser.add_argument("--output", type=Path, default=Path("docs/data.svg"))
    options = parser.parse_args()
    file = options.runs / RESULTS
    results = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    if options.command == "show":
        show(results, options.output)
        return
    options.runs.mkdir(parents=True, exist_ok=True)
    known = {one["name"] for one in results}
    for group in options.groups:
        for task in tasks(group):
            if task.name not in known:
                with file.open("a") as lines:
                    result = run(task, Path(os.environ["HARDALIGN_DATA"]), options.runs)
                    lines.write(json.dumps(result) + "\n")
                print(task.name, {key: round(result[key], 2) for key in SCORES}, flush=True)


if __name__ == "__main__":
    main()
