"""How fast and how good searches are, and whether their probabilities can be believed.

    python benchmarks/search.py MODEL FILE [--beam N] [--alone N]

Words per second of processor time (set OPENBLAS_NUM_THREADS=1) of greedy search, of beam search in
batches and of the same beam search word by word; accuracy of both searches; and a reliability
table: the probability of the best answer against the share of such answers that are right.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import hardalign
from hardalign.data.formats import Example, evaluation_items
from hardalign.data.reading import read_examples
from hardalign.predictor import Prediction
from hardalign.search import Search

T = TypeVar("T")
BINS = 10


def timed(work: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()  # what others do on the machine does not count
    result = work()
    return result, time.process_time() - start


def right(found: Prediction, item: Example) -> bool:
    return found.symbols in item.targets


def accuracy(found: Iterable[Prediction], items: list[Example]) -> float:
    return sum(map(right, found, items)) / len(items)


def reliability(found: list[Prediction], items: list[Example]) -> None:
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for one, item in zip(found, items, strict=True):
        probability = min(1.0, math.exp(one.log_prob))
        bins[min(BINS - 1, int(BINS * probability))].append((probability, right(one, item)))
    print("probability   words   mean probability   accuracy")
    error = 0.0
    for k, content in enumerate(bins):
        share = f"{k / BINS:.1f} to {(k + 1) / BINS:.1f}"
        if not content:
            print(f"{share}  {0:8}")
            continue
        probability = sum(p for p, _ in content) / len(content)
        correct = sum(ok for _, ok in content) / len(content)
        error += abs(probability - correct) * len(content) / len(found)
        print(f"{share}  {len(content):8}   {probability:16.3f}   {correct:8.3f}")
    print(f"expected calibration error {error:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("file")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--alone", type=int, default=100, help="words to search for one by one")
    arguments = parser.parse_args()

    predictor = hardalign.load(arguments.model)
    read = read_examples(arguments.file, predictor.description.format, "evaluation")
    items = evaluation_items(read)
    search = Search(beam=arguments.beam)

    def answers(words: list[Example], search: Search, exact: bool = False) -> list[Prediction]:
        return [best for (best,) in predictor.answers(words, search, exact=exact)]

    answers(items[:50], search)  # nobody measures the first call

    greedy, seconds = timed(lambda: answers(items, Search()))
    beams, beam_seconds = timed(lambda: answers(items, search))
    # Every so many words, so that they are of all lengths.
    few = items[:: max(1, len(items) // arguments.alone)]
    _, alone_seconds = timed(lambda: [answers([word], search) for word in few])

    speeds = len(items) / seconds, len(items) / beam_seconds, len(few) / alone_seconds
    scored = answers(items, search, exact=True)
    name = f"beam {arguments.beam}"
    print(f"{predictor.description.model.system}: {len(items)} words")
    print(f"greedy             {speeds[0]:7.0f} words/s   ACC {100 * accuracy(greedy, items):.2f}")
    print(f"{name:<18} {speeds[1]:7.0f} words/s   ACC {100 * accuracy(beams, items):.2f}")
    print(f"{name + ' by word':<18} {speeds[2]:7.0f} words/s   ({speeds[1] / speeds[2]:.1f} times)")
    differ = sum(a.text != b.text for a, b in zip(greedy, beams, strict=True))
    print(f"{differ} words differ; scores: {predictor.system.score}")
    reliability(scored, items)


if __name__ == "__main__":
    main()
