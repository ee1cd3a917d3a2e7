"""How fast `hard` trains with one thread and with two, alone and beside one busy process.

    python benchmarks/busy.py NETtalk.train --rounds 3

Each figure is the best of the rounds, because other work only ever slows a run down; each
measurement is a process of its own, since OpenMP reads its settings when it starts.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from itertools import cycle, islice

WORDS, BATCH, WARM = 4000, 20, 10
SETTINGS: dict[str, tuple[int, dict[str, str]]] = {
    "2 threads, as OpenMP has it": (2, {}),
    "2 threads, passive": (2, {"OMP_WAIT_POLICY": "passive"}),
    "2 threads, spin 1000": (2, {"GOMP_SPINCOUNT": "1000"}),
    "2 threads, spin 10000": (2, {"GOMP_SPINCOUNT": "10000"}),
    "1 thread": (1, {}),
}
OPENMP = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def measure(path: str, threads: int, seconds: float) -> float:
    """Words per second of training steps from the start, for so many seconds."""
    import torch

    from hardalign.config import SIZES
    from hardalign.data.formats import FORMATS, training_pairs
    from hardalign.data.reading import read_examples
    from hardalign.data.vocabulary import Indexer, Vocabulary, shuffled_batches
    from hardalign.systems.network import Network, collate

    torch.set_num_threads(threads)
    examples = list(islice(read_examples(path, FORMATS["spaced"], "training"), WORDS))
    vocabulary = Vocabulary.of(examples)
    pairs = [Indexer(vocabulary).pair(p) for p in training_pairs(examples)]
    torch.manual_seed(0)
    model = Network(replace(SIZES["small"], system="hard"), vocabulary)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    started, words = time.perf_counter(), 0
    for step, batch in enumerate(cycle(shuffled_batches(pairs, BATCH, random.Random(0)))):
        if step == WARM:
            started, words = time.perf_counter(), 0
        elif step > WARM and time.perf_counter() - started > seconds:
            break
        optimizer.zero_grad()
        model.loss(collate(batch)).mean().backward()
        optimizer.step()
        words += len(batch)
    return words / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="of words, blank-separated symbols on both sides")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="per measurement")
    parser.add_argument("--threads", type=int, help="measure only this, in this environment")
    options = parser.parse_args()
    if options.threads is not None:
        print(measure(options.file, options.threads, options.seconds))
        return
    best = {(name, busy): 0.0 for name in SETTINGS for busy in (False, True)}
    for turn in range(options.rounds):
        for name, busy in best:
            threads, environment = SETTINGS[name]
            others = {key: value for key, value in os.environ.items() if key not in OPENMP}
            command = [sys.executable, __file__, options.file, "--threads", str(threads)]
            command += ["--seconds", str(options.seconds)]
            other = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if busy else None
            try:
                output = subprocess.check_output(command, env={**others, **environment})
            finally:
                if other is not None:
                    other.kill()
                    other.wait()
            speed = float(output)
            best[name, busy] = max(best[name, busy], speed)
            print(f"round {turn}: {name}{', busy' * busy}: {speed:.0f} words/s", flush=True)
    print(f"\n{'words/s':<32}{'alone':>8}{'beside a busy process':>24}")
    for name in SETTINGS:
        print(f"{name:<32}{best[name, False]:>8.0f}{best[name, True]:>24.0f}")


if __name__ == "__main__":
    main()
