"""The inputs of the fuzzer: small files of every format, and a tiny model of every system."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from attack.harness import call_line
from hardalign.config import SIZES
from hardalign.systems import SYSTEMS

FILES = {
    "pairs": "ab\tAB\nba\tBA\nabc\tABC\ncab\tCAB\né\tE\n",
    "lexicon": "ab\tA B\nba\tB A\nabc\tA B C\ncab\tC A B\né\tE\n",
    "spaced": "a b\tA B\nb a\tB A\na b c\tA B C\nc a b\tC A B\né\tE\n",
    "sigmorphon": "ab\tabs\tN;PL\nba\tba\tN;SG\nabc\tabced\tV;PST\ncab\tcabs\tN;PL\né\tés\tN\n",
    "news": '<?xml version="1.0" encoding="UTF-8"?>\n<TransliterationCorpus CorpusID="a" SourceLang'
    '="en" TargetLang="ko">\n<Name ID="1"><SourceName>ab</SourceName><TargetName ID="1">가</'
    'TargetName><TargetName ID="2">나</TargetName></Name>\n<Name ID="2"><SourceName>ba</'
    'SourceName><TargetName ID="1">가나</TargetName></Name>\n</TransliterationCorpus>\n',
}
"""A good file of every format."""
SUFFIXES = {"news": "xml"}
PLAN = """\
systems = ["hard", "soft"]
corpora = ["toy:copy", "mine"]
sizes = ["small"]
seeds = [0, 1]
[overrides]
words = 60
epochs = 1
dropout = 0.1
[data.mine]
train = "pairs.tsv"
dev = "pairs.tsv"
test = "pairs.tsv"
format = "pairs"
"""


@dataclass(frozen=True)
class World:
    """The files and models, to be copied for every case."""

    folder: Path
    systems: tuple[str, ...]

    def model(self, name: str) -> Path:
        """Returns the folder of a model: a system's, or one of another format."""
        return self.folder / "models" / name

    @contextmanager
    def copy(self, *models: str) -> Iterator[Path]:
        """A new folder with the files and some of the models (or the grid), then removed."""
        case = self.folder / "case"
        shutil.rmtree(case, ignore_errors=True)
        shutil.copytree(self.folder / "files", case)
        for name in models:
            shutil.copytree(self.model(name), case / name)
        try:
            yield case
        finally:
            shutil.rmtree(case, ignore_errors=True)


def make_world(folder: Path, systems: tuple[str, ...] = tuple(SYSTEMS)) -> World:
    """Makes the files, and models of one epoch or none; sizes stay tiny afterwards."""
    SIZES["small"] = replace(SIZES["small"], embedding=3, encoder=4, decoder=5)
    SIZES["large"] = replace(SIZES["large"], embedding=3, encoder=4, decoder=5)
    files = folder / "files"
    files.mkdir(parents=True)
    for name, text in FILES.items():
        (files / f"{name}.{SUFFIXES.get(name, 'tsv')}").write_text(text, encoding="utf-8")
    (files / "plan.toml").write_text(PLAN, encoding="utf-8")
    (files / "words.txt").write_text("ab\ncab\n", encoding="utf-8")
    _grid(folder / "models" / "grid")
    for system in systems:
        _train(folder / "models" / system, files, "pairs", system, 1)
    for name in ("lexicon", "sigmorphon", "news"):
        _train(folder / "models" / name, files, name, "hard", 0)
    return World(folder, systems)


def _train(folder: Path, files: Path, layout: str, system: str, epochs: int) -> None:
    data = str(files / f"{layout}.{SUFFIXES.get(layout, 'tsv')}")
    options = ["--format", layout, "--system", system, "--epochs", str(epochs)]
    options += ["--set", "copying=true"] if layout == "sigmorphon" else []
    outcome = call_line(["train", data, "--dev", data, "--out", str(folder), *options], b"", files)
    assert outcome.code == 0, outcome


def _grid(folder: Path) -> None:
    """A folder as ``hardalign reproduce`` leaves it, with results and a failure."""
    for system in ("hard", "soft"):
        for seed in (0, 1):
            run = {"corpus": "g2p/NETtalk", "system": system, "size": "small", "seed": seed}
            run["overrides"] = {}
            one = folder / f"g2p-NETtalk.{system}.small.{seed}"
            (one / "model").mkdir(parents=True)
            (one / "run.json").write_text(json.dumps(run))
            if (system, seed) == ("soft", 1):
                failure = {"error": "no data", "traceback": None, "attempt": 1}
                (one / "failure.json").write_text(json.dumps(failure))
                continue
            metrics = {"n": 4, "acc": 50.0, "wer": 50.0, "per": 0.5, "per_corpus": 0.5}
            result = {
                "run": run,
                "metrics": {**metrics, "mfs": 0.5, "mld": 1.0},
                "parameters": 100,
                "epochs": 1,
                "seconds": 1.0,
                "sources": 4,
                "correct": [1, 0, 1, seed],
                "sources_sha256": "0" * 64,
                "version": "1.0",
            }
            (one / "result.json").write_text(json.dumps(result))
            row = {"epoch": 1, "loss": 1.0, "dev_log_likelihood": -1.0, "seconds": 1.0}
            (one / "model" / "metrics.jsonl").write_text(json.dumps(row) + "\n")
