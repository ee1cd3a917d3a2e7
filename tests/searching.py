"""Models that do as they are told, for searches to follow, and short ways to call searches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardalign.batches import Batch
from hardalign.data.vocabulary import BEGIN, END, RESERVED, Encoded
from hardalign.decoding import Hypothesis, beam_search, greedy
from hardalign.systems.lattice import Lattice
from hardalign.systems.model import Answering, Step, Targets, Words
from hardalign.systems.ops.numpy import Ints
from helpers import random_pair, random_pairs

WORDS = random_pairs(12, longest=6, seed=5)


def numbers(word: str) -> list[int]:
    return ["xyz".index(letter) + RESERVED for letter in word]


def sources(lengths: Sequence[int]) -> list[Encoded]:
    return [Encoded(random_pair(length, 0).source, 0, []) for length in lengths]


def strings(hypotheses: Sequence[Hypothesis]) -> list[tuple[int, ...]]:
    return [tuple(hypothesis.symbols) for hypothesis in hypotheses]


def greedily(
    runtime: Answering, pairs: Sequence[Encoded], words: Words | None = None
) -> list[Hypothesis]:
    """Greedy search for all of some words."""
    return greedy(Batch(runtime, pairs, words), np.arange(len(pairs)))


def beams(
    runtime: Answering, pairs: Sequence[Encoded], width: int, **options: Any
) -> list[list[Hypothesis]]:
    """Beam search for all of some words."""
    batch = Batch(runtime, pairs, options.pop("words", None))
    return beam_search(batch, np.arange(len(pairs)), width, **options)


def noisy(pairs: Sequence[Encoded], columns: int, seed: int) -> Words:
    """Words with more columns of padding than are needed, filled with random symbols."""
    words = Words.of(pairs)
    shape = (len(words), words.symbols.shape[1] + columns)
    symbols = np.random.default_rng(seed).integers(0, RESERVED + 3, shape)
    for row, pair in zip(symbols, pairs, strict=True):
        row[: len(pair.source)] = pair.source
    return Words(symbols, words.lengths, words.tag_counts)


@dataclass(frozen=True)
class Place:
    word: Ints  # [N]
    at: Ints  # [N]


class Told(Answering):
    """Reads nothing; ``batch_sizes`` tells how many hypotheses took each step."""

    symbols = 4

    def __init__(self) -> None:
        self.batch_sizes: list[int] = []

    def read(self, words: Words) -> Words:
        self.width = words.symbols.shape[1]
        return words

    def start(self, memory: Words) -> Place:
        return Place(np.arange(len(memory)), np.zeros(len(memory), np.intp))

    def follow(self, memory: Words, targets: Targets) -> Lattice:
        raise NotImplementedError


class Scripted(Told):
    """Says what it was told to: for each word a list of letters, then an end, or none."""

    def __init__(self, scripts: Sequence[str | None]) -> None:
        super().__init__()
        self.scripts = scripts
        self.previous: list[list[int]] = [[] for _ in scripts]

    def step(self, state: Place, rows: Ints, symbols: Ints, tolerance: float = 0.0) -> Step:
        self.batch_sizes.append(len(rows))
        log_probs = np.full((len(rows), 4), -5.0)
        alpha = np.zeros((len(rows), self.width))
        word, at = state.word[rows], state.at[rows]
        for k, symbol in enumerate(symbols.tolist()):
            self.previous[word[k]].append(symbol)
            log_probs[k, self.choice(word[k], at[k])] = -0.5 - word[k]
            alpha[k, at[k] % self.width] = 1.0
        return Step(log_probs, alpha, Place(word, at + 1))

    def choice(self, word: int, position: int) -> int:
        script = self.scripts[word]
        if script is None:
            return 1
        return "xyz".index(script[position]) + 1 if position < len(script) else 0


class Table(Told):
    """Probabilities of the actions after each node, and the node that each leads to."""

    def __init__(self, table: Sequence[Mapping[int, tuple[float, int]]], silent: int = -1) -> None:
        super().__init__()
        self.step_action = silent
        self.symbols = 4 + (silent >= 0)
        self.log_probs = np.full((len(table), self.symbols), -np.inf)
        self.leads = np.zeros((len(table), self.symbols), np.intp)
        for node, row in enumerate(table):
            for action, (probability, next_node) in row.items():
                self.log_probs[node, action] = math.log(probability)
                self.leads[node, action] = next_node

    def step(self, state: Place, rows: Ints, symbols: Ints, tolerance: float = 0.0) -> Step:
        self.batch_sizes.append(len(rows))
        at = state.at[rows]
        at = np.where(symbols == BEGIN, at, self.leads[at, np.maximum(symbols - END, 0)])
        return Step(self.log_probs[at], np.ones((len(at), 4)), Place(state.word[rows], at))


String = tuple[int, ...]


def distribution(runtime: Answering, word: Encoded, longest: int) -> dict[String, float]:
    """p(y | x) of every string of at most ``longest`` letters, all its paths summed."""
    total: dict[String, float] = {}
    row = np.array([0])

    def visit(state: Any, previous: int, string: String, share: float) -> None:
        step = runtime.step(state, row, np.array([previous]))
        for number, log_prob in enumerate(step.log_probs[0].tolist(), start=END):
            product = share * math.exp(log_prob)
            if number == END:
                total[string] = total.get(string, 0.0) + product
            elif product and number == runtime.step_action:
                visit(step.state, number, string, product)
            elif product and len(string) < longest:
                visit(step.state, number, (*string, number), product)

    visit(runtime.start(runtime.read(Words.of([word]))), BEGIN, (), 1.0)
    return total
