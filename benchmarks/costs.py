"""What a step of one system costs beside one of another: the first steps, and later ones.

    HARDALIGN_DATA=DIR python benchmarks/costs.py news15/JnJk news15/EnKo
    HARDALIGN_DATA=DIR python benchmarks/costs.py g2p/NETtalk --systems hard-feed hard

The first is `hard` beside `soft` where the alphabets are large.

Processor time of one thread, which a busy machine changes little, on the same batches in turns.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace
from statistics import median

import torch

from hardalign.config import SIZES
from hardalign.data.corpora import load_corpus
from hardalign.data.formats import training_pairs
from hardalign.data.vocabulary import Encoded, Indexer, Vocabulary, shuffled_batches
from hardalign.systems.network import Network, collate

BATCH = 20


class Trainee:
    """A model in training."""

    def __init__(self, system: str, size: str, vocabulary: Vocabulary) -> None:
        torch.manual_seed(0)
        self.model = Network(replace(SIZES[size], system=system), vocabulary)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3, fused=True)

    def step(self, batch: list[Encoded]) -> float:
        """Returns the processor seconds of a step."""
        start = time.process_time()
        self.optimizer.zero_grad()
        self.model.loss(collate(batch)).mean().backward()
        self.optimizer.step()
        return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--systems", nargs=2, default=["hard", "soft"])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--marks", type=int, nargs="+", default=[0, 100, 300, 600])
    parser.add_argument("--steps", type=int, default=50, help="steps that are measured at a mark")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.corpora:
        corpus = load_corpus(name)
        vocabulary = Vocabulary.of(corpus.train)
        pairs = [Indexer(vocabulary).pair(p) for p in training_pairs(corpus.train)]
        draw = random.Random(0)
        batches = shuffled_batches(pairs, BATCH, draw)
        epoch = len(batches)
        while len(batches) < options.marks[-1] + options.steps:
            batches += shuffled_batches(pairs, BATCH, draw)
        trainees = {system: Trainee(system, options.size, vocabulary) for system in options.systems}
        sizes = f"{len(vocabulary.source)} source and {len(vocabulary.target)} target symbols"
        print(f"{name}, {options.size}: {sizes}, {epoch} steps an epoch", flush=True)
        times: dict[str, list[float]] = {system: [] for system in options.systems}
        for batch in batches[: options.marks[-1] + options.steps]:
            for system, trainee in trainees.items():
                times[system].append(trainee.step(batch))
            last = len(times[options.systems[0]])
            if last - options.steps in options.marks:
                one, other = (
                    1000 * median(times[system][last - options.steps :])
                    for system in options.systems
                )
                print(
                    f"after {last - options.steps:>5} steps: {options.systems[0]} {one:.1f} ms a "
                    f"step, {options.systems[1]} {other:.1f} ms, {one / other:.2f} times",
                    flush=True,
                )


if __name__ == "__main__":
    main()
