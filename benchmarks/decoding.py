"""How fast trained models decode: words per second of greedy search, in one run.

python benchmarks/decoding.py FILE MODEL [MODEL ...] [--threads N]
"""

from __future__ import annotations

import argparse
import time

import torch

import hardalign
from hardalign.data.encoding import encode_sources
from hardalign.data.reading import read_examples
from hardalign.decoding.batches import predictions

WORDS = 8000
TURNS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="source words, and targets that do not matter")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    best: dict[str, float] = {}
    predictors = {name: hardalign.load(name) for name in options.models}
    for turn in range(TURNS + 1):  # in turns, so that a noisy moment hits all alike
        for name, predictor in predictors.items():
            description = predictor.description
            examples = list(read_examples(options.file, description.format, "prediction"))[:WORDS]
            sources = encode_sources(examples, description.vocabulary)
            start = time.perf_counter()
            predictions(predictor.model, sources)
            speed = len(sources) / (time.perf_counter() - start)
            if turn:  # nobody measures the first call
                best[name] = max(best.get(name, 0.0), speed)
    for name, speed in best.items():
        print(f"{predictors[name].description.model.system:<18}{speed:7.0f} words/s   {name}")


if __name__ == "__main__":
    main()
