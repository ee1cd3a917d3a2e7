"""What `make bench` prints: speeds as ratios in one run, since machines are noisy.

Training steps of `hard` and `soft`, ours, step by step in batches, and as the tests' reference has
them, word by word; of the systems that go on from `hard`; greedy decoding; peak memory; and how far
all that is from the machine's own matrix-multiply rate. What decodes is NumPy, on as many threads
as OPENBLAS_NUM_THREADS says.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from hardalign.batches import predictions
from hardalign.config import SIZES
from hardalign.data.corpora import load_corpus
from hardalign.data.formats import training_pairs
from hardalign.data.vocabulary import Encoded, Indexer, Vocabulary, shuffled_batches
from hardalign.systems import SYSTEMS
from hardalign.systems.build import build_model
from hardalign.systems.network import Network, collate
from hardalign.training.checkpoint import arrays
from stepwise import Stepwise

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import reference

BATCH = 20
PAPER = ("hard", "soft")
BEYOND = [name for name, row in SYSTEMS.items() if row.paper == "–"]
Loss = Callable[[list[Encoded]], torch.Tensor]


@dataclass
class Work:
    """Floating-point operations of the model's matrix products, padding and dead ends left out."""

    source: int = 0
    target: int = 0
    config = SIZES["small"]

    def add(self, pairs: list[Encoded]) -> None:
        self.source += sum(len(pair.source) for pair in pairs)
        self.target += sum(len(pair.target) for pair in pairs)

    def forward(self, symbols: int) -> float:
        e, n, h = self.config.embedding, self.config.encoder, self.config.decoder
        joint = h + 2 * n
        encoder = 2 * 4 * n * (e + n)
        decoder = 4 * h * (e + h)
        keys = 2 * n * (h + joint)  # T and the encoder half of S
        queries = h * joint + joint * symbols  # the other half, and W at one position
        return 2.0 * (self.source * (encoder + keys) + self.target * (decoder + queries))


def gemm_rate(seconds: float = 1.0) -> float:
    """FLOP/s of a large float32 matrix product, the best of several."""
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    best, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        a @ b
        best = max(best, 2 * 1024**3 / (time.perf_counter() - start))
    return best


def loops(model: torch.nn.Module, system: str, batch: list[Encoded]) -> torch.Tensor:
    """The loss by the paper's equations as plain loops."""
    p = reference.parameters(model)
    found = [reference.log_likelihood(p, system, one.source, one.target) for one in batch]
    return -torch.stack(found)


def steps(loss: Loss, model: torch.nn.Module, batches: list[list[Encoded]]) -> float:
    """Seconds for one optimizer step on each batch."""
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    start = time.perf_counter()
    for batch in batches:
        optimizer.zero_grad()
        loss(batch).mean().backward()
        optimizer.step()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warm", type=int, default=900, help="training steps before measuring")
    parser.add_argument("--steps", type=int, default=60, help="steps per measurement")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    corpus = load_corpus("cmudict", stress=False)
    vocabulary = Vocabulary.of(corpus.train)
    pairs = [Indexer(vocabulary).pair(p) for p in training_pairs(corpus.train)]
    batches = shuffled_batches(pairs, BATCH, random.Random(0))
    warm, rest = batches[: options.warm], batches[options.warm :]
    systems: dict[str, tuple[torch.nn.Module, Loss]] = {}
    for name in (*PAPER, *BEYOND):
        torch.manual_seed(0)
        model = Network(replace(SIZES["small"], system=name), vocabulary)
        systems[name] = (model, lambda b, m=model: m.loss(collate(b)))
        if name in PAPER:
            plain = Stepwise(SIZES["small"], vocabulary, hard=name == "hard")
            systems[f"{name}, step by step"] = (plain, lambda b, m=plain: m.loss(collate(b)))
            systems[f"{name}, tests/reference.py"] = (model, partial(loops, model, name))
    for name in (*PAPER, *BEYOND):
        model, loss = systems[name]
        seconds = steps(loss, model, warm)
        print(f"warmed up {name}: {len(warm)} steps in {seconds:.0f} s", flush=True)
    rate = gemm_rate()
    words: dict[str, list[float]] = {name: [] for name in systems}
    shares: dict[str, list[float]] = {name: [] for name in systems}
    for turn in range(3):  # in turns, so that a noisy moment hits all alike
        part = rest[turn * options.steps : (turn + 1) * options.steps]
        work = Work()
        for batch in part:
            work.add(batch)
        mixed = [pair for batch in part for pair in batch]
        random.Random(turn).shuffle(mixed)
        unsorted = [mixed[start : start + BATCH] for start in range(0, len(mixed), BATCH)]
        for name, (model, loss) in systems.items():
            given = unsorted if "step" in name else part[:1] if "reference" in name else part
            seconds = steps(loss, model, given)
            words[name].append(sum(map(len, given)) / seconds)
            flops = 3 * work.forward(len(vocabulary.target)) / len(mixed)  # of a word
            shares[name].append(flops * words[name][-1] / rate)
    rate = max(rate, gemm_rate())
    print(f"\nmatrix products: {rate / 1e9:.0f} GFLOP/s, {options.threads} threads")
    print(f"\n{'training, small, batch 20':<28}{'words/s':>9}{'to soft':>9}{'of GEMM rate':>14}")
    best = {name: max(values) for name, values in words.items()}
    for name, value in best.items():
        if name not in BEYOND:
            print(f"{name:<28}{value:>9.0f}{best['soft'] / value:>8.2f}x{max(shares[name]):>13.0%}")
    print(f"\n{'beyond the paper':<28}{'words/s':>9}{'to hard':>9}")
    for name in ("hard", *BEYOND):
        print(f"{name:<28}{best[name]:>9.0f}{best['hard'] / best[name]:>8.2f}x")
    print(f"\n{'greedy decoding':<28}{'words/s':>9}{'to soft':>9}{'of GEMM rate':>14}")
    sources = [replace(pair, target=[]) for pair in pairs[:8000]]
    speed = {}
    for name in PAPER:
        config = replace(SIZES["small"], system=name)
        runtime = build_model(config, arrays(systems[name][0]), vocabulary)
        predictions(runtime, sources[:500])
        start = time.perf_counter()
        found = predictions(runtime, sources)
        seconds = time.perf_counter() - start
        work = Work(sum(len(s.source) for s in sources), sum(len(f.symbols) + 1 for f in found))
        share = work.forward(len(vocabulary.target)) / seconds / rate
        speed[name] = (len(sources) / seconds, share)
    for name, (value, share) in speed.items():
        print(f"{name:<28}{value:>9.0f}{speed['soft'][0] / value:>8.2f}x{share:>13.0%}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory of all this: {peak:.0f} MB")


if __name__ == "__main__":
    main()
