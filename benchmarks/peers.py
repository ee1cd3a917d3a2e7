"""What `make bench-peers` prints: our speed beside yoyodyne's, models of the same sizes.

Both train on the same pairs, in turns, so that a noisy moment hits both alike. Ours come in batches
by length, as we train; yoyodyne's at random, as it trains, and by length as well, to show how much
of the difference that is. Dropout and sizes are those of `small`.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from hardalign.batches import predictions
from hardalign.config import SIZES
from hardalign.data.corpora import load_corpus
from hardalign.data.formats import Example, training_pairs
from hardalign.data.vocabulary import Encoded, Indexer, Vocabulary, shuffled_batches
from hardalign.systems.build import build_model
from hardalign.systems.network import Network, collate
from hardalign.training.checkpoint import arrays

BATCH = 20
OURS = ("hard", "soft", "soft-feed")
PEERS = ("hard", "soft")
Result = dict[str, float]


class Ours:
    """One of our systems, with its optimizer."""

    def __init__(self, system: str, vocabulary: Vocabulary) -> None:
        torch.manual_seed(0)
        self.config = replace(SIZES["small"], system=system)
        self.vocabulary = vocabulary
        self.model = Network(self.config, vocabulary)
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3, fused=True)

    def train(self, batches: Sequence[Sequence[Encoded]]) -> Result:
        self.model.train()
        start = time.perf_counter()
        for batch in batches:
            self.optimizer.zero_grad()
            self.model.loss(collate(batch)).mean().backward()
            self.optimizer.step()
        words = sum(map(len, batches))
        return self._result(words, time.perf_counter() - start)

    def decode(self, pairs: Sequence[Encoded]) -> Result:
        runtime = build_model(self.config, arrays(self.model), self.vocabulary)
        sources = [replace(pair, target=[]) for pair in pairs]
        start = time.perf_counter()
        found = predictions(runtime, sources)
        seconds = time.perf_counter() - start
        right = sum(
            list(f.symbols) == pair.target[:-1] for f, pair in zip(found, pairs, strict=True)
        )
        return self._result(len(pairs), seconds) | {"correct": right / len(pairs)}

    def _result(self, words: int, seconds: float) -> Result:
        return {"parameters": self.parameters, "words_per_second": words / seconds}


class Peer:
    """A process that runs yoyodyne and answers one request at a time."""

    def __init__(self, python: Path, folder: Path, pairs: Sequence[Example], threads: int) -> None:
        self.folder = folder
        script = Path(__file__).with_name("peer_yoyodyne.py")
        self.process = subprocess.Popen(
            [python, script, self._write(pairs), "--batch", str(BATCH), "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, task: str, system: str, pairs: Sequence[Example]) -> Result:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(task, system, self._write(pairs), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("yoyodyne's process ended early; see its message above")
        result: Result = json.loads(answer)
        return result

    def close(self) -> None:
        self.process.communicate()

    def _write(self, pairs: Sequence[Example]) -> Path:
        path = self.folder / "pairs.tsv"
        lines = (f"{''.join(pair.source)}\t{' '.join(pair.targets[0])}\n" for pair in pairs)
        path.write_text("".join(lines), encoding="utf-8")
        return path


def best(results: Sequence[Result]) -> Result:
    return max(results, key=lambda result: result["words_per_second"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", type=Path, default=Path(".venv-peers/bin/python"))
    parser.add_argument("--warm", type=int, default=900, help="training steps before measuring")
    parser.add_argument("--steps", type=int, default=60, help="steps per measurement")
    parser.add_argument("--words", type=int, default=2000, help="unseen words to decode")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if not options.peer.exists():
        sys.exit(f"no yoyodyne at {options.peer}; `make bench-peers` installs it there")
    torch.set_num_threads(options.threads)
    corpus = load_corpus("cmudict", stress=False)
    vocabulary = Vocabulary.of(corpus.train)
    examples = list(training_pairs(corpus.train))
    numbers = Indexer(vocabulary)
    pairs = [numbers.pair(p) for p in examples]
    spelled = {id(pair): example for pair, example in zip(pairs, examples, strict=True)}
    batches = [b for b in shuffled_batches(pairs, BATCH, random.Random(0)) if len(b) == BATCH]

    def plain(batches: Sequence[Sequence[Encoded]]) -> list[Example]:
        return [spelled[id(pair)] for batch in batches for pair in batch]

    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(options.peer, Path(folder), examples, options.threads)
        ours = {name: Ours(name, vocabulary) for name in OURS}
        warm, rest = batches[: options.warm], batches[options.warm :]
        mixed = random.Random(0).sample(plain(warm), len(warm) * BATCH)
        for name, system in ours.items():
            rate = system.train(warm)["words_per_second"]
            print(f"warmed up hardalign {name}: {rate:.0f} words/s", flush=True)
        for name in PEERS:
            rate = peer.ask("train", name, mixed)["words_per_second"]
            print(f"warmed up yoyodyne {name}: {rate:.0f} words/s", flush=True)
        trained: dict[tuple[str, str], list[Result]] = {}
        for turn in range(3):
            part = rest[turn * options.steps : (turn + 1) * options.steps]
            by_length = plain(part)
            mixed = random.Random(turn).sample(by_length, len(by_length))
            for name, system in ours.items():
                trained.setdefault(("hardalign", name), []).append(system.train(part))
            for name in PEERS:
                for how, words in ((name, mixed), (f"{name}, by length", by_length)):
                    answer = peer.ask("train", name, words)
                    trained.setdefault(("yoyodyne", how), []).append(answer)
        dev = [replace(e, targets=e.targets[:1]) for e in corpus.dev[: options.words]]
        dev.sort(key=lambda example: len(example.source))
        unseen = [numbers.pair(p) for p in dev]
        decoded: dict[tuple[str, str], list[Result]] = {}
        for _ in range(3):
            for name, system in ours.items():
                decoded.setdefault(("hardalign", name), []).append(system.decode(unseen))
            for name in PEERS:
                answer = peer.ask("decode", name, dev)
                decoded.setdefault(("yoyodyne", name), []).append(answer)
        peer.close()

    for title, runs in ((f"training, batch {BATCH}", trained), ("greedy decoding", decoded)):
        print(f"\n{title:<28}{'parameters':>12}{'words/s':>9}{'to ours':>9}{'correct':>9}")
        for (tool, name), results in runs.items():
            result = best(results)
            speed = result["words_per_second"]
            counterpart = best(runs["hardalign", name.split(",")[0]])["words_per_second"]
            correct = f"{result['correct']:>9.0%}" if "correct" in result else ""
            print(
                f"{tool + ' ' + name:<28}{result['parameters']:>12,}{speed:>9.0f}"
                f"{speed / counterpart:>8.2f}x{correct}"
            )
    print("\nyoyodyne's soft attention is read by the next step, like that of our soft-feed;")
    print(
        f"correct: of {len(dev)} unseen words after {len(warm) + 3 * options.steps} steps or more"
    )


if __name__ == "__main__":
    main()
