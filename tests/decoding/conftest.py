"""Models that do as they are told, for searches to follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from hardalign.networks.rows import Rows
from torch import Tensor

from conftest import random_pair, random_pairs
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import END, RESERVED
from hardalign.networks.batch import Batch, collate
from hardalign.networks.transducer import Step, Transducer

WORDS = random_pairs(12, longest=6, seed=5)


@dataclass(frozen=True)
class Place(Rows):
    word: Tensor  # [N]
    position: Tensor  # [N]


class Scripted(Transducer):
    """Says what it was told to: for each word a list of letters, then an end, or none."""

    def __init__(self, scripts: Sequence[str | None]) -> None:
        super().__init__()
        self.scripts = scripts
        self.previous: list[list[int]] = [[] for _ in scripts]
        self.batch_sizes: list[int] = []

    def begin(self, batch: Batch) -> Place:
        self.width = batch.source.shape[1]
        return Place(torch.arange(len(batch)), torch.zeros(len(batch), dtype=torch.long))

    def step(self, state: Rows, previous: Tensor) -> Step:
        assert isinstance(state, Place)
        self.batch_sizes.append(len(previous))
        log_probs = torch.full((len(previous), 4), -5.0)
        alignment = torch.zeros(len(previous), self.width)
        for row, (word, position) in enumerate(zip(state.word, state.position, strict=True)):
            self.previous[word].append(int(previous[row]))
            log_probs[row, self.choice(int(word), int(position))] = -0.5 - int(word)
            alignment[row, position % self.width] = 1.0
        return Step(log_probs, alignment, Place(state.word, state.position + 1))

    def choice(self, word: int, position: int) -> int:
        script = self.scripts[word]
        if script is None:
            return 1
        return "xyz".index(script[position]) + 1 if position < len(script) else 0

    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        raise NotImplementedError

    def align(self, batch: Batch) -> Tensor:
        raise NotImplementedError


def numbers(word: str) -> list[int]:
    return ["xyz".index(letter) + RESERVED for letter in word]


def sources(lengths: Sequence[int]) -> Batch:
    return collate([Encoded(random_pair(length, 0).source, 0, []) for length in lengths])


def lean(model: Transducer, amount: float) -> Transducer:
    """Make an end more or less likely."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("output.bias"):
                parameter[END] += amount
    return model
