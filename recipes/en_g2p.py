"""Make the bundled model `en-g2p`: train on the CMU dictionary, halve the precision, evaluate.

    make en-g2p

Training takes an hour on one core, and goes on where it was interrupted. The model is between the
paper's two sizes, the largest that fits in 6 MB; after 12 epochs little more is gained.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import hardalign
from hardalign.bundled import model_folder
from hardalign.cli.progress import TrainingProgress
from hardalign.config import ModelConfig
from hardalign.data.example import Example, Symbols
from hardalign.decoding import Search
from hardalign.files import make_folder, write_json
from hardalign.folder import WEIGHTS, read_description, write_description
from hardalign.metrics import evaluate
from hardalign.tensors import read_tensors, write_tensors

SAMPLE = 500
"""Test words that a test of the package evaluates again."""


def learn(folder: Path) -> None:
    """Train by the paper's recipe; one word in seven is held out, and the split never changes."""
    hardalign.train(
        hardalign.load_corpus("cmudict"),
        out=folder,
        system="hard",
        size=ModelConfig(embedding=150, encoder=300, decoder=300),
        epochs=12,
        batch_size=40,
        device="cpu",
        threads=1,
        resume=True,
        reporter=TrainingProgress(),
    )


def pack(folder: Path, out: Path) -> None:
    """Copy what predicting needs, with weights of half the precision."""
    make_folder(out)
    write_description(out, read_description(folder))
    tensors, notes = read_tensors(folder / WEIGHTS)
    halves = {name: tensor.astype(np.float16) for name, tensor in tensors.items()}
    write_tensors(out / WEIGHTS, halves, notes)


def predictions(folder: Path, test: list[Example]) -> list[Symbols]:
    return [best.symbols for (best,) in hardalign.load(folder).answers(test, Search())]


def measure(folder: Path, out: Path) -> dict[str, object]:
    """Test figures of the packed model, and on how many words it differs from the original."""
    test = hardalign.load_corpus("cmudict").test
    found, original = predictions(out, test), predictions(folder, test)
    changed = sum(one != other for one, other in zip(found, original, strict=True))
    return {
        "words": len(test),
        "changed by half precision": changed,
        "with stress": figures(found, test),
        "without stress": figures(list(map(unstressed, found)), list(map(bare, test))),
        "sample": {"words": SAMPLE, **figures(found[:SAMPLE], test[:SAMPLE])},
    }


def figures(found: list[Symbols], test: list[Example]) -> dict[str, float]:
    metrics = evaluate(found, [example.targets for example in test])
    return {"wer": round(metrics.wer, 4), "per": round(metrics.per, 6)}


def unstressed(symbols: Symbols) -> Symbols:
    return tuple(symbol.rstrip("012") for symbol in symbols)


def bare(example: Example) -> Example:
    targets = tuple(dict.fromkeys(map(unstressed, example.targets)))
    return Example(example.source, targets)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", type=Path, default=Path("runs/en-g2p"), help="training folder")
    run = parser.parse_args().run
    learn(run)
    out = model_folder("en-g2p")
    pack(run, out)
    result = measure(run, out)
    write_json(out / "figures.json", result)
    print(result)


if __name__ == "__main__":
    main()
