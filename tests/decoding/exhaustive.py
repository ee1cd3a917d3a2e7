"""All strings up to a length with their probabilities, by plain recursion over single actions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END
from hardalign.runtime import Runtime, Words

String = tuple[int, ...]


def distribution(runtime: Runtime[Any, Any], word: Encoded, longest: int) -> dict[String, float]:
    """p(y | x) of every string of at most ``longest`` letters, all its paths summed."""
    total: dict[String, float] = {}
    row = np.array([0])

    def visit(state: Any, previous: int, string: String, share: float) -> None:
        step = runtime.step(state, row, np.array([previous]))
        for number, log_prob in enumerate(step.log_probs[0].tolist(), start=END):
            product = share * math.exp(log_prob)
            if number == END:
                total[string] = total.get(string, 0.0) + product
            elif product and number == runtime.silent:
                visit(step.state, number, string, product)
            elif product and len(string) < longest:
                visit(step.state, number, (*string, number), product)

    visit(runtime.start(runtime.read(Words.of([word]))), BEGIN, (), 1.0)
    return total
