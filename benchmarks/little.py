"""What little data gives: accuracy against training examples and time; table and plot.

    HARDALIGN_DATA=DIR python benchmarks/little.py run RUNS --groups curve quechua low
    HARDALIGN_DATA=DIR python benchmarks/little.py run RUNS --part test
    python benchmarks/little.py show RUNS --part test --output docs/data.svg

`run` trains what is not there yet, and goes on with what was interrupted. Choices are made on the
development sets; test sets are looked at once, by the second command, when models are complete.
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

LOW = ("ady", "gre", "ice", "ita", "khm")
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


def run(task: Task, data: Path, out: Path, part: str) -> dict[str, Any]:
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
    hardalign.train(train, dev, out=folder, **settings, **task.options)  # at once, if complete
    seconds = time.process_time() - started
    model = hardalign.load(folder)
    first = hardalign.load(folder / "member-0") if task.members > 1 else model
    file = data / (task.dev if part == "dev" else task.test)
    items = evaluation_items(read_examples(file, layout, "evaluation"))
    scores = {}
    for name, predictor in (("one", first), ("all", model)):
        words = [best.symbols for (best,) in predictor.answers(items, Search())]
        scores[name] = evaluate(words, [item.targets for item in items]).acc
    return {**asdict(task), "examples": len(train), "cpu_seconds": seconds, **scores}


def show(results: list[dict[str, Any]], output: Path) -> None:
    """Prints a table, and draws the curve."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    print("| data | examples | CPU seconds of a model | one model | members | all together |")
    print("|---" * 6 + "|")
    for one in results:
        print(
            f"| {one['name']} | {one['examples']} | {_seconds(one):.0f} | {one['one']:.1f} "
            f"| {one['members']} | {one['all']:.1f} |"
        )
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    curve = [one for one in results if one["name"].startswith("NETtalk")]
    fives = [one for one in curve if one["members"] == 5]
    for axis, label, style, points in (
        (left, "one model", "o-", [(one["examples"], one["one"]) for one in curve]),
        (left, "five members", "s--", [(one["examples"], one["all"]) for one in fives]),
        (right, "one model", "o-", [(_seconds(one), one["one"]) for one in curve]),
        (right, "five members", "s--", [(one["cpu_seconds"], one["all"]) for one in fives]),
    ):
        axis.semilogx(*zip(*sorted(points), strict=True), style, label=label)
        axis.grid(alpha=0.3)
    left.set_xlabel("training words")
    right.set_xlabel("seconds of training, one core")
    left.set_ylabel("words right, %")
    left.legend()
    FigureCanvasSVG(figure).print_svg(output, metadata={"Date": None})


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _seconds(result: dict[str, Any]) -> float:
    """Returns what one of the members took, in the mean."""
    return float(result["cpu_seconds"] / result["members"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "show"))
    parser.add_argument("runs", type=Path)
    parser.add_argument("--groups", nargs="+", default=["curve", "quechua", "low"])
    parser.add_argument("--part", choices=("dev", "test"), default="dev")
    parser.add_argument("--output", type=Path, default=Path("docs/data.svg"))
    options = parser.parse_args()
    file = options.runs / f"little-{options.part}.jsonl"
    results = _read(file)
    if options.command == "show":
        seconds = {
            one["name"]: one["cpu_seconds"] for one in _read(options.runs / "little-dev.jsonl")
        }
        show([one | {"cpu_seconds": seconds[one["name"]]} for one in results], options.output)
        return
    options.runs.mkdir(parents=True, exist_ok=True)
    known = {one["name"] for one in results}
    for group in options.groups:
        for task in tasks(group):
            if task.name not in known:
                data = Path(os.environ["HARDALIGN_DATA"])
                result = run(task, data, options.runs, options.part)
                with file.open("a") as lines:
                    lines.write(json.dumps(result) + "\n")
                print(task.name, f"one {result['one']:.2f}, all {result['all']:.2f}", flush=True)


if __name__ == "__main__":
    main()
